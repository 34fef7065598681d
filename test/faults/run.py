#!/usr/bin/env python3
"""The seeded-fault suite: every mutation of table.py must be found by the right check, and no correct kernel may have a finding.

    test/faults/run.py [--seeds 20] [--only REGEX] [--markdown docs/simulator-faults.md] [--gpu results.json]
    test/faults/run.py --export FOLDER       kernels, recipes and inputs for on_gpu.py

Needs the built library ($TILELOOM_LIBRARY) and `python` of the repository on PYTHONPATH. A mutant runs in the default schedule and, until
it is found, with seeds 1 to 19. Exit status 1 if something slipped through.
"""

import argparse
import hashlib
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402

import kernels  # noqa: E402
from library import LIBRARY, load  # noqa: E402
from mutate import NoSite  # noqa: E402
from simulate import simulate  # noqa: E402
from table import FAULTS  # noqa: E402


def examine(fault, seeds=20):
    """(right kinds found, all kinds found, seed, text); the seed is that of the first run with a right kind, or None."""
    kernel = kernels.load(fault.kernel)
    ptx, recipe = fault.change(kernel.ptx, kernel.recipe)
    seen, text = set(), ""
    for seed in range(seeds):
        kinds, text = simulate(kernel, ptx, recipe, seed=seed, checks=fault.checks)
        seen |= kinds
        if kinds & set(fault.kinds):
            return kinds & set(fault.kinds), seen, seed, text
    return set(), seen, None, text


def clean(name, seeds, checks=None):
    """Findings of the correct kernel over `seeds` schedules, as text; empty if there are none."""
    for seed in range(seeds):
        kinds, text = simulate(kernels.load(name), seed=seed, checks=checks)
        if kinds:
            return f"seed {seed}: {text}"
    return ""


def digest(data):
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def digests(kernel):
    """(of the PTX, of each output after a run in the simulator)"""
    outputs = {}
    simulate(kernel, outputs=outputs)
    compared = [i for i, argument in enumerate(kernel.arguments) if isinstance(argument, kernels.Array) and argument.wanted is not None]
    return digest(kernel.ptx.encode()), [digest(outputs[i].tobytes()) for i in compared]


def agreement(kernel, recorded):
    """How the simulator's outputs compare with those of the GPU, whose digests were recorded."""
    ptx, mine = digests(kernel)
    if recorded.get("ptx") != ptx:
        return "not run: other PTX than on the GPU"
    if mine == recorded["digests"]:
        return "identical"
    return "right (approximate functions)" if re.search(r"\.approx", kernel.ptx) else "**different**"


def slug(fault):
    return re.sub(r"[^a-z0-9]+", "-", fault.id.lower()).strip("-")


def export(folder, faults):
    """One .ptx and .json per case, one .npz of inputs and expected outputs per kernel, and index.json."""
    os.makedirs(folder, exist_ok=True)
    index = []

    def write(case, kernel, ptx, recipe, kinds):
        for extension, text in (("ptx", ptx), ("json", json.dumps(recipe))):
            with open(os.path.join(folder, f"{case}.{extension}"), "w") as file:
                file.write(text)
        index.append({"case": case, "kernel": kernel.name, "target": kernel.target, "found_in_simulator": sorted(kinds), "ptx": digest(ptx.encode())})

    for name in [*dict.fromkeys(fault.kernel for fault in faults), *LIBRARY]:
        kernel = load(name)
        if any(isinstance(argument, kernels.Array) and argument.described for argument in kernel.arguments):
            continue  # tensors that reach beyond their memory
        arrays, arguments = {}, []
        for i, argument in enumerate(kernel.arguments):
            if not isinstance(argument, kernels.Array):
                arguments.append({"value": argument})
                continue
            arrays[f"in{i}"] = argument.data
            entry = {"array": f"in{i}", "element": argument.element}
            if argument.wanted is not None:
                arrays[f"want{i}"] = np.asarray(argument.wanted, np.float64)
                entry.update(wanted=f"want{i}", tolerance=2e-2 if name in LIBRARY else argument.tolerance)
            arguments.append(entry)
        np.savez_compressed(os.path.join(folder, name + ".npz"), **arrays)
        with open(os.path.join(folder, name + ".arguments.json"), "w") as file:
            json.dump(arguments, file)
        write(name, kernel, kernel.ptx, kernel.recipe, ())
    for fault in faults:
        kernel = kernels.load(fault.kernel)
        ptx, recipe = fault.change(kernel.ptx, kernel.recipe)
        write(slug(fault), kernel, ptx, recipe, examine(fault)[1])
    with open(os.path.join(folder, "index.json"), "w") as file:
        json.dump(index, file, indent=1)
    print(f"{len(index)} cases in {folder}")


HEAD = """# Seeded faults

Each row is a mutation of a correct kernel, made by `test/faults/table.py` and `small.py`, with what the simulator says about it, and what an H200 does
with it: `hang`, `wrong` (the result), `fault` (an error of the driver), `refused` (by the assembler or at launch), or **passes**: the right result,
silently. "not run": the mutation is newer than the last run there. Kernels for Blackwell have no column: there is none here to ask.

`{command}`
makes this table; the last column comes from `bench/results/h200-faults.json`, which `test/faults/run.py --export FOLDER` here and
`test/faults/on_gpu.py FOLDER --jobs 14 --json results.json` on a GPU (about a minute) make. {counts}

| kernel | fault | found as | also | H200 |
|---|---|---|---|---|
"""


CORRECT = """
## The correct kernels

The same kernels, and more programs of the compiler (`test/faults/library.py`), on the H200 beside the simulator: "identical" is every bit of every output.
`ex2`, `rcp`, `tanh` and the like have no documented bits; programs with them are compared with fp64 alone.

| kernel | outputs |
|---|---|
"""


def markdown(path, rows, gpu, bits, command, counts):
    with open(path, "w") as file:
        file.write(HEAD.format(command=command, counts=counts))
        for fault, right, others in rows:
            outcome = gpu.get(slug(fault), "not run" if kernels.load(fault.kernel).target == "sm_90a" else "")
            file.write(f"| {fault.kernel} | {fault.name} | {', '.join(sorted(right)) or '**not found**'} | "
                       f"{', '.join(sorted(others - right))} | {'**passes**' if outcome == 'passes' else outcome} |\n")
        file.write(CORRECT)
        for name in [*kernels.KERNELS, *LIBRARY]:
            if name in bits:
                file.write(f"| {name} | {agreement(load(name), bits[name])} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, help="schedules of each correct kernel (default 2)")
    parser.add_argument("--only", default="", help="kernels and faults that match")
    parser.add_argument("--markdown", help="write the table here")
    parser.add_argument("--gpu", help="results of on_gpu.py for the last column")
    parser.add_argument("--export", help="write the cases for on_gpu.py into this folder and do nothing else")
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if re.search(options.only, fault.id)]
    if options.export:
        return export(options.export, faults)
    failed, rows = 0, []
    names = [name for name in kernels.KERNELS if not options.only or any(fault.kernel == name for fault in faults)]
    for name in names:
        text = clean(name, options.seeds)
        failed += bool(text)
        if text:
            print(f"FALSE: {name} is correct, but: {text}")
    for fault in faults:
        try:
            right, seen, seed, text = examine(fault)
        except NoSite as error:
            right, seen, seed, text = set(), set(), None, f"the mutation does not apply: {error}"
        rows.append((fault, right, seen))
        if not right:
            failed += 1
            print(f"MISSED: {fault.id}: found {sorted(seen) or 'nothing'}, needed {' or '.join(fault.kinds)}\n{text[:400]}")
        elif seed:
            print(f"late: {fault.id}: not in the default schedule, but with seed {seed}")
    counts = (f"{len(faults)} mutations of {len(names)} kernels; the correct kernels have no finding in {options.seeds} schedules each.")
    print(counts if not failed else f"{failed} failures")
    if options.markdown:
        gpu, bits = {}, {}
        if options.gpu:
            with open(options.gpu) as file:
                cases = json.load(file)["cases"]
            gpu = {case["case"]: case["outcome"] for case in cases}
            bits = {case["case"]: case for case in cases if "digests" in case}
        markdown(options.markdown, rows, gpu, bits, f"test/faults/run.py --seeds {options.seeds} --markdown docs/simulator-faults.md "
                 "--gpu bench/results/h200-faults.json", counts)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
