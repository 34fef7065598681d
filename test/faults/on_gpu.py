#!/usr/bin/env python3
"""Runs the cases that `run.py --export FOLDER` wrote on a GPU, through tileloom.runtime, each in a child process with a time limit.

    PYTHONPATH=python python3 test/faults/on_gpu.py FOLDER [--json results.json] [--only REGEX] [--limit 20] [--repeat 20] [--jobs 1]

Needs torch, NumPy and the installed wheel (or $TILELOOM_LIBRARY); no compiler. Outcome of a case:
  passes   the right result, every time         wrong    a wrong result, at least once
  hang     no end within the limit              fault    an error of the driver while it ran
  refused  the driver's assembler, the recipe or the launch says no
Cases of another architecture are left out. A correct kernel that does not pass makes the exit status 1.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def child(folder, case, kernel_name, repeat):
    """Prints one JSON line: {"outcome": ..., "detail": ...}."""
    import numpy as np
    import torch

    from tileloom.runtime import Kernel

    def done(outcome, detail=""):
        print("\n@@" + json.dumps({"outcome": outcome, "detail": str(detail)[:300]}), flush=True)
        os._exit(0)  # a broken context may not come down cleanly

    data = np.load(os.path.join(folder, kernel_name + ".npz"))
    with open(os.path.join(folder, kernel_name + ".arguments.json")) as file:
        arguments = json.load(file)
    with open(os.path.join(folder, case + ".ptx"), "rb") as file:
        ptx = file.read()
    with open(os.path.join(folder, case + ".json")) as file:
        recipe = json.load(file)
    view = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}
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
    done("passes")


def run(folder, case, limit, repeat):
    command = [sys.executable, os.path.abspath(__file__), folder, "--child", case["case"], case["kernel"], "--repeat", str(repeat)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"outcome": "hang", "detail": f"no end within {limit} s"}
    for line in reversed(result.stdout.splitlines()):
        if line.startswith("@@"):
            return json.loads(line[2:])
    return {"outcome": "fault", "detail": (result.stderr.strip().splitlines() or ["the process ended without a word"])[-1][:300]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--json", help="write the outcomes here (after each case)")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=20, help="seconds for a case, the start of the process included")
    parser.add_argument("--repeat", type=int, default=20, help="launches of a case")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time; a kernel that hangs only slows the others down")
    parser.add_argument("--child", nargs=2, metavar=("CASE", "KERNEL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.folder, *options.child, options.repeat)
    import torch
    major, minor = torch.cuda.get_device_capability()
    target = f"sm_{major}{minor}a"
    with open(os.path.join(options.folder, "index.json")) as file:
        cases = [case for case in json.load(file) if case["target"] == target and re.search(options.only, case["case"])]
    device, results, failed = torch.cuda.get_device_name(), [], False
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(lambda case: run(options.folder, case, options.limit, options.repeat), cases)
        for case, outcome in zip(cases, outcomes):
            results.append({**case, **outcome})
            correct = case["case"] == case["kernel"]
            failed |= correct and outcome["outcome"] != "passes"
            print(f"{outcome['outcome']:8} {case['case']}  {outcome['detail']}", flush=True)
            if options.json:
                with open(options.json, "w") as file:
                    json.dump({"device": device, "cases": results}, file, indent=1)
    return failed


if __name__ == "__main__":
    sys.exit(main())
