#!/usr/bin/env python3
"""Runs the cases that `run.py --export FOLDER` wrote on a GPU, through tileloom.runtime, each in a process of its own with a time limit.

    PYTHONPATH=python python3 test/faults/on_gpu.py FOLDER [--json results.json] [--only REGEX] [--limit 5] [--repeat 20] [--jobs 1]

Needs torch, NumPy and the installed wheel (or $TILELOOM_LIBRARY); no compiler. Outcome of a case:
  passes   the right result, every time         wrong    a wrong result, at least once
  hang     no end within the limit              fault    an error of the driver while it ran
  refused  the driver's assembler, the recipe or the launch says no
Cases of another architecture are left out; those that deadlock in the simulator come last, as they cost the limit. What --json has
already is kept, for the cases that are not run. A correct kernel that does not pass makes the exit status 1.
"""

import argparse
import hashlib
import json
import os
import re
import select
import signal
import sys
import time

import numpy as np
import torch

from tileloom.runtime import Kernel

START = 60  # seconds until a process, one of many that begin at once, has its context and its module


def child(folder, case, kernel_name, repeat, pipe):
    """Writes "." into the pipe when all is ready for the first launch, and {"outcome": ..., "detail": ...}."""
    def done(outcome, detail="", **more):
        os.write(pipe, json.dumps({"outcome": outcome, "detail": str(detail)[:300], **more}).encode())
        os._exit(0)  # a broken context may not come down cleanly

    data = np.load(os.path.join(folder, kernel_name + ".npz"))
    with open(os.path.join(folder, kernel_name + ".arguments.json")) as file:
        arguments = json.load(file)
    with open(os.path.join(folder, case + ".ptx"), "rb") as file:
        ptx = file.read()
    with open(os.path.join(folder, case + ".json")) as file:
        recipe = json.load(file)
    view = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    try:
        kernel = Kernel.load(ptx, recipe)
    except Exception as error:
        done("refused", error)
    # The inputs once; the outputs anew for every launch.
    launched = False
    for _ in range(repeat):
        values, outputs = [], []
        for entry in arguments:
            if "value" in entry:
                values.append(entry["value"])
                continue
            bits = data[entry["array"]]
            signed = bits.view({2: np.int16, 1: np.uint8}.get(bits.itemsize, bits.dtype)) if entry["element"] in view else bits
            tensor = torch.from_numpy(np.ascontiguousarray(signed)).cuda()
            if entry["element"] in view:
                tensor = tensor.view(view[entry["element"]])
            values.append(tensor)
            if "wanted" in entry:
                outputs.append((tensor, entry))
        torch.cuda.synchronize()
        if not launched:
            os.write(pipe, b".")
        try:
            kernel(*values)
            launched = True
        except Exception as error:
            done("fault" if launched else "refused", error)
        try:
            torch.cuda.synchronize()
        except Exception as error:
            done("fault", error)
        for tensor, entry in outputs:
            wanted = data[entry["wanted"]]
            found = tensor.double().cpu().numpy() if tensor.is_floating_point() else tensor.cpu().numpy().astype(np.float64)
            error = np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-30)
            if not error <= entry["tolerance"]:
                done("wrong", f"relative error {error:.3g}")
    done("passes", digests=[hashlib.blake2b(t.contiguous().view(torch.uint8).cpu().numpy().tobytes(), digest_size=8).hexdigest() for t, _ in outputs])


class Run:
    """A case in a forked process: torch is imported once, by the parent, which never touches the GPU."""

    def __init__(self, folder, case, options):
        self.case, self.limit = case, options.limit
        self.pipe, end = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                child(folder, case["case"], case["kernel"], options.repeat, end)
            except BaseException as error:
                os.write(end, json.dumps({"outcome": "fault", "detail": repr(error)[:300]}).encode())
            os._exit(0)
        os.close(end)
        self.text, self.deadline = b"", time.monotonic() + START

    def look(self):
        """The outcome, or None as long as it runs."""
        if select.select([self.pipe], [], [], 0)[0]:
            text = os.read(self.pipe, 4096)
            if text.startswith(b"."):
                self.deadline = time.monotonic() + self.limit
            self.text += text.lstrip(b".")
            if not text:
                return self.end(json.loads(self.text) if self.text else {"outcome": "fault", "detail": "the process ended without a word"})
        if time.monotonic() > self.deadline:
            os.kill(self.pid, signal.SIGKILL)
            return self.end({"outcome": "hang", "detail": f"no end within {self.limit} s"})
        return None

    def end(self, outcome):
        os.close(self.pipe)
        os.waitpid(self.pid, os.WNOHANG)  # one that hangs takes a while to come down
        return outcome


def run_all(folder, cases, options):
    """Yields (case, outcome), in the order in which they end."""
    waiting, running = list(cases), []
    while waiting or running:
        while waiting and len(running) < options.jobs:
            running.append(Run(folder, waiting.pop(0), options))
        for one in list(running):
            outcome = one.look()
            if outcome:
                running.remove(one)
                yield one.case, outcome
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--json", help="write the outcomes here (after each case)")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=5, help="seconds for the launches of a case")
    parser.add_argument("--repeat", type=int, default=20, help="launches of a case")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time; a kernel that hangs only slows the others down")
    parser.add_argument("--device", default="NVIDIA H200", help="its name, for the results")
    parser.add_argument("--target", default="sm_90a", help="architecture of the GPU")
    options = parser.parse_args()
    with open(os.path.join(options.folder, "index.json")) as file:
        cases = [case for case in json.load(file) if case["target"] == options.target and re.search(options.only, case["case"])]
    results, failed = {}, False
    if options.json and os.path.exists(options.json):
        with open(options.json) as file:
            results = {case["case"]: case for case in json.load(file)["cases"]}
    cases.sort(key=lambda case: ("deadlock" in case["found_in_simulator"], case["case"] in results))
    for case, outcome in run_all(options.folder, cases, options):
        results[case["case"]] = {"case": case["case"], "outcome": outcome["outcome"]}
        if case["case"] == case["kernel"] and "digests" in outcome:  # a correct kernel: which bits it gave
            results[case["case"]].update(ptx=case["ptx"], digests=outcome["digests"])
        failed |= case["case"] == case["kernel"] and outcome["outcome"] != "passes"
        print(f"{outcome['outcome']:8} {case['case']}  {outcome['detail'][:100]}", flush=True)
        if options.json:
            with open(options.json + ".new", "w") as file:
                lines = ",\n".join(json.dumps(case) for case in results.values())
                file.write(f'{{"device": {json.dumps(options.device)}, "cases": [\n{lines}\n]}}\n')
            os.replace(options.json + ".new", options.json)
    return failed


if __name__ == "__main__":
    sys.exit(main())
