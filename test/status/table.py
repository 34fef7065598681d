#!/usr/bin/env python3
"""Writes docs/status.md: what compiles, what assembles cleanly and what is right in the simulator, found by doing it.

    test/status/table.py [--output docs/status.md] [--only TEXT] [--seeds 5] [--jobs 2] [--limit SECONDS] [--gpu FILE.json]
    test/status/table.py --measure FILE.json     on a machine with a Hopper GPU and torch: runs the cases there, writes what --gpu reads

Each case (cases.py) runs in a process of its own, for each target, so that a crash or an endless loop is a failure of that case only. Ends
with status 1 if a cell says something other than yes. The JSON file: {"PROGRAM, FEATURE": "yes" or what went wrong}.
"""

import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.dirname(os.path.abspath(__file__))]

TARGETS = ("sm_90a", "sm_100a")
STEPS = ("assembles", "simulated")
NOT_NUMPYS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # types of ml_dtypes, by torch's names
CPU_SECONDS = 120  # of one case, for one target; ptxas apart

HEAD = """# Status

Made by `test/status/table.py`, which compiles, assembles and runs every case; do not edit.

- **assembles**: ptxas takes it without spills and without C75xx messages (products serialised). For the kernel library twice: with the tiles and the
  schedule that the host chooses for the small size below, and for a size of real work (GEMM 4096 x 4096 x 7168, attention 4 x 4096 x 16 heads, rows of
  4096).
- **simulated**: right against fp64 on small ragged sizes, outputs poisoned before, all checks of the simulator on, SEEDS schedules (seed 0 and random
  interleavings).
- **GPU**: the same sizes on an H200 (`--measure`), against fp64; empty where it has not been run for this table.

An empty cell was not reached or not done. What is not `yes` is below the table.

"""


class Run:
    """What a case launches through: remembers what was compiled, and simulates it with one seed unless `simulate` is False."""

    compiled = {}  # tile programs of this process

    def __init__(self, target, seed=0, simulate=True):
        self.target, self.seed, self.simulate = target, seed, simulate
        self.programs = []

    def tile(self, name, *arguments):
        from cases import PROGRAMS
        from tileloom import compiler, sim
        with open(os.path.join(PROGRAMS, name + ".mlir")) as file:
            text = file.read()
        self.programs.append(text)
        if self.simulate:
            if name not in self.compiled:
                self.compiled[name] = compiler.compile(text, self.target, name=name + ".mlir", cubin=False)
            compiled = self.compiled[name]
            sim.run_recipe(compiled.ptx, compiled.recipe, *arguments, multiprocessors=4, seed=self.seed).check()

    def kernel(self, function, *arguments, **keywords):
        from tileloom.dispatch.function import JITFunction
        from tileloom.dispatch.launch import Variant
        original, compiling = Variant.launch, JITFunction._compile

        def launch(variant, *rest):
            self.programs.append(variant.compiled.tile)
            return original(variant, *rest) if self.simulate else None

        def compiles(kernel, *facts, assemble):
            return compiling(kernel, *facts, assemble=assemble or not self.simulate)  # the host's choice hears what ptxas says, as on a GPU
        Variant.launch, JITFunction._compile = launch, compiles
        try:
            function(*arguments, target=self.target, simulator={"seed": self.seed}, **keywords)
        finally:
            Variant.launch, JITFunction._compile = original, compiling


class DeviceRun:
    """What a case launches through on a GPU: arrays go there as torch tensors, and come back after the launch."""

    target = "sm_90a"

    @staticmethod
    def _tensor(array):
        """A tensor on the GPU with the elements and the order of dimensions of an array (contiguous, or a transposed one)."""
        import torch
        if not array.flags.c_contiguous:
            return DeviceRun._tensor(array.swapaxes(-1, -2)).mT
        if array.dtype.name in NOT_NUMPYS:
            return torch.from_numpy(array.view(f"int{8 * array.itemsize}")).cuda().view(getattr(torch, array.dtype.name))
        return torch.from_numpy(array).cuda()

    @staticmethod
    def _fetch(array, tensor):
        if not array.flags.c_contiguous:
            return DeviceRun._fetch(array.swapaxes(-1, -2), tensor.mT)
        if array.dtype.name in NOT_NUMPYS:
            import torch
            array[...] = tensor.view(getattr(torch, f"int{8 * array.itemsize}")).cpu().numpy().view(array.dtype)
        else:
            array[...] = tensor.cpu().numpy()

    def _launch(self, function, arguments, keywords):
        tensors = {}  # one for an array that is passed twice

        def moved(value):
            if isinstance(value, tuple):
                return tuple(map(moved, value))
            if not hasattr(value, "flags"):
                return value
            if id(value) not in tensors:
                tensors[id(value)] = value, self._tensor(value)
            return tensors[id(value)][1]

        function(*map(moved, arguments), **{name: moved(value) for name, value in keywords.items()})
        for array, tensor in tensors.values():
            self._fetch(array, tensor)

    def tile(self, name, *arguments):
        from cases import PROGRAMS
        from tileloom import compiler
        from tileloom.runtime import Kernel
        with open(os.path.join(PROGRAMS, name + ".mlir")) as file:
            compiled = compiler.compile(file.read(), self.target, name=name + ".mlir")
        self._launch(Kernel.load(compiled.cubin or compiled.ptx.encode(), compiled.recipe), arguments, {})

    def kernel(self, function, *arguments, **keywords):
        self._launch(function, arguments, keywords)


def measure(keys, path):
    """Runs the cases on the GPU and writes their results. A fault of the device leaves all later cases failing too."""
    from cases import CASES
    results = {}
    for key in keys:
        name = ", ".join(key)
        results[name] = attempt(lambda key=key: compare(CASES[key](DeviceRun(), False)))
        print(f"{name}: {results[name].splitlines()[0]}", flush=True)
    with open(path, "w") as file:
        json.dump(results, file, indent=1)
    return any(text != "yes" for text in results.values())


def compare(outputs):
    """What is wrong with [(found, wanted, tolerance)]; "" if nothing."""
    from cases import error
    for index, (found, wanted, tolerance) in enumerate(outputs):
        value = error(found, wanted)
        if not value < tolerance:
            return f"wrong: output {index} has a relative error of {value:.1e}, allowed {tolerance:.0e}"
    return ""


def assemble(text, target):
    """What ptxas has to say against a tile program; "" if nothing."""
    from tileloom import compiler
    report = compiler.compile(text, target, report=True, cubin=True).report
    against = []
    for kernel in report["kernels"]:
        found = kernel["ptxas"]
        spilled = found["spill_store_bytes"] + found["spill_load_bytes"]
        against += [f"{spilled} bytes spilled"] if spilled else []
        against += [f"{message['code']}: {message['text']}" for message in found["messages"]
                    if message.get("code", "").startswith(("C75", "C76"))]
    return ", ".join(against)


def attempt(function):
    """"yes", or what went wrong."""
    try:
        return function() or "yes"
    except Exception as failure:  # noqa: BLE001: any failure is a result here
        return f"{type(failure).__name__}: {failure}".strip()


def perform(key, target, seeds, sender):
    """Does one case for one target; sends (step, result) as they come."""
    import warnings

    from cases import CASES
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    warnings.simplefilter("ignore")  # spills are asked for below
    run_case = CASES[key]

    def assembled():
        texts = {}
        for large in (False, True):
            run = Run(target, simulate=False)
            run_case(run, large)
            for text in run.programs:
                texts[text] = texts.get(text, ()) + (("small", "large")[large],)
        found = [f"{message} ({' and '.join(sizes)} size)" for text, sizes in texts.items() for message in [assemble(text, target)] if message]
        return "; ".join(found)

    def simulated():
        for seed in range(seeds):
            wrong = compare(run_case(Run(target, seed), False))
            if wrong:
                return f"{wrong} (seed {seed})"
        return ""

    for step, function in zip(STEPS, (assembled, simulated)):
        sender.send((step, attempt(function)))


def run_all(keys, seeds, jobs, limit):
    """{(key, target, step): text}"""
    begin = time.monotonic()
    context = multiprocessing.get_context("fork")
    waiting = [(key, target) for key in keys for target in TARGETS]
    running, results = {}, {}
    while waiting or running:
        if limit and time.monotonic() - begin > limit:
            waiting.clear()
        while waiting and len(running) < jobs:
            key, target = waiting.pop(0)
            receiver, sender = context.Pipe(False)
            process = context.Process(target=perform, args=(key, target, seeds, sender))
            process.start()
            sender.close()
            running[receiver] = process, key, target
        for receiver in multiprocessing.connection.wait(list(running), timeout=1):
            process, key, target = running[receiver]
            try:
                step, text = receiver.recv()
                results[key, target, step] = text
                print(f"{', '.join(key)}, {target}, {step}: {text.splitlines()[0]}", flush=True)
            except EOFError:
                process.join()
                slow = process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
                why = f"not done in {CPU_SECONDS} seconds of CPU time" if slow else f"the process ended with code {process.exitcode}"
                finish(results, key, target, why)
                del running[receiver]
    return results


def finish(results, key, target, why):
    """The first step that gave nothing failed; later ones were not reached."""
    missing = [step for step in STEPS if (key, target, step) not in results]
    if missing:
        results[key, target, missing[0]] = why
        print(f"{', '.join(key)}, {target}, {missing[0]}: {why}", flush=True)


def short(text):
    if text in ("", "yes"):
        return text
    for word, cell in (("spilled", "spills"), ("C75", "serialised"), ("wrong:", "wrong"), ("KernelFault", "fault"), ("not done", "too slow")):
        if word in text:
            return f"**{cell}**"
    return "**no**"


def markdown(keys, results, seeds, gpu):
    lines = [HEAD.replace("SEEDS", str(seeds)).rstrip(), ""]
    columns = [(target, step) for step in STEPS for target in TARGETS]
    lines.append("| program | feature | " + " | ".join(f"{step}, {target}" for target, step in columns) + " | GPU, sm_90a |")
    lines.append("|" + "---|" * (len(columns) + 3))
    last, details = None, []
    for key in keys:
        cells = [results.get((key, target, step), "") for target, step in columns]
        lines.append("| " + " | ".join(["" if key[0] == last else f"`{key[0]}`", key[1], *map(short, cells), short(gpu.get(", ".join(key), ""))]) + " |")
        last = key[0]
        for (target, step), text in zip(columns, cells):
            if text not in ("", "yes"):
                first = next((line for line in text.splitlines() if line.strip()), "").strip()
                details.append(f"- `{key[0]}`, {key[1]}, {target}, {step}: {first[:300]}")
    count = sum(text == "yes" for text in results.values())
    lines += ["", f"{count} of {len(keys) * len(columns)} cells are yes.", ""]
    details += [f"- `{key[0]}`, {key[1]}, GPU: {gpu[', '.join(key)].splitlines()[0][:300]}"
                for key in keys if gpu.get(", ".join(key), "yes") != "yes"]
    if details:
        lines += ["## What is not yes", "", *details, ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=os.path.join(ROOT, "docs", "status.md"))
    parser.add_argument("--only", default="", help="cases whose name contains this; prints the table instead of writing it")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=0, help="seconds after which no case is begun any more; their cells stay empty")
    parser.add_argument("--gpu", help="JSON file for the column of the GPU")
    parser.add_argument("--measure", help="JSON file to write: run the cases on the GPU here instead")
    arguments = parser.parse_args()
    os.nice(5)
    from cases import CASES  # before forking: NumPy and the package are loaded once
    from tileloom.runtime import library
    library.load()  # without it every cell would fail for the same reason
    keys = [key for key in CASES if arguments.only in ", ".join(key)]
    order = {"attention": 2, "gemm": 1}
    keys.sort(key=lambda key: (not key[0].endswith(".mlir"), order.get(key[0], 3)))
    if arguments.measure:
        return measure(keys, arguments.measure)
    gpu = {}
    if arguments.gpu:
        with open(arguments.gpu) as file:
            gpu = json.load(file)
    results = run_all(keys, arguments.seeds, arguments.jobs, arguments.limit)
    text = markdown(keys, results, arguments.seeds, gpu)
    if arguments.only:
        print(text)
    else:
        with open(arguments.output, "w") as file:
            file.write(text)
    return any(text != "yes" for text in results.values())


if __name__ == "__main__":
    sys.exit(main())
