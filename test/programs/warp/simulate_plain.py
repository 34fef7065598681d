"""Compiles the plain kernels of this folder (one role, no rings), runs them in the simulator on small problems and compares with NumPy in fp64.

    python test/programs/warp/simulate_plain.py --opt build/bin/kernel-opt --sim build/bin/kernel-sim [--schedules N] [PROGRAM ...]

Exit status 1 if a program is wrong or the simulator finds something.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from simulate_tcgen05 import HERE, from_bf16, random_bf16


def softmax(rng, rows, columns, stride):
    x = random_bf16(rng, rows, stride)
    v = from_bf16(x)[:, :columns].astype(np.float64)
    e = np.exp(v - v.max(1, keepdims=True))
    y = np.zeros((rows, stride), np.uint16)
    expected = np.zeros((rows, stride))
    expected[:, :columns] = e / e.sum(1, keepdims=True)
    return [("x", x, "bf16"), ("y", y, "bf16"), rows, columns, stride], "y", expected, 8e-3


def layer_norm(rng, rows, columns):
    x = random_bf16(rng, rows, columns)
    w, b = rng.standard_normal((2, columns), np.float32)
    v = from_bf16(x).astype(np.float64)
    d = v - v.mean(1, keepdims=True)
    expected = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    y = np.zeros((rows, columns), np.uint16)
    return [("x", x, "bf16"), ("y", y, "bf16"), ("w", w, "f32"), ("b", b, "f32"), rows, columns, np.float32(1e-5)], "y", expected, 8e-3


def vector_add(rng, n):
    a, b = rng.standard_normal((2, n), np.float32)
    return [("a", a, "f32"), ("b", b, "f32"), ("c", np.zeros(n, np.float32), "f32"), n], "c", a.astype(np.float64) + b, 1e-6


def column_sum(rng, rows, columns):
    x = rng.standard_normal((rows, columns), np.float32)
    sums = rng.standard_normal(columns, np.float32)
    return [("x", x, "f32"), ("sums", sums, "f32"), rows, columns], "sums", sums + x.astype(np.float64).sum(0), 1e-5


PROBLEMS = {
    "softmax": [(softmax, 3, 4096, 4096), (softmax, 2, 1000, 1024), (softmax, 1, 1, 8), (softmax, 2, 4095, 4104)],
    "layer_norm": [(layer_norm, 2, 2048), (layer_norm, 3, 784), (layer_norm, 1, 16)],
    "vector_add": [(vector_add, 2048), (vector_add, 1027), (vector_add, 1)],
    "column_sum": [(column_sum, 64, 128), (column_sum, 300, 212), (column_sum, 1, 4)],
}


def run(program, problem, options, target="sm_90a"):
    arguments, result, expected, tolerance = problem
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ptx, recipe = folder / "kernel.ptx", folder / "kernel.json"
        source = HERE / (program + ".mlir")
        for artifact, path in ("ptx", ptx), ("recipe", recipe):
            subprocess.run([options.opt, source, "--target=" + target, "--emit=" + artifact, "-o", path], check=True)
        command = [options.sim, ptx, "--recipe", recipe, "--out", f"{result}={folder}/out.npy", "--quiet"]
        if options.schedules:
            command += ["--seed", "1", "--schedules", str(options.schedules)]
        for argument in arguments:
            if isinstance(argument, tuple):
                name, array, element = argument
                np.save(folder / (name + ".npy"), array)
                command += ["--arg", f"buf:{name}:{element}@{folder}/{name}.npy"]
            elif isinstance(argument, np.float32):
                command += ["--arg", f"f32:{argument}"]
            else:
                command += ["--arg", f"i32:{argument}"]
        outcome = subprocess.run(command, capture_output=True, text=True)
        if outcome.returncode:
            return outcome.stdout + outcome.stderr
        out = np.load(folder / "out.npy")
        dtype = {name: element for name, _, element in (a for a in arguments if isinstance(a, tuple))}[result]
        out = (from_bf16(out.view(np.uint16)) if dtype == "bf16" else out).reshape(expected.shape)
    error = np.abs(out - expected).max() / np.abs(expected).max()
    return "" if error <= tolerance else f"relative error {error:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", default="kernel-opt")
    parser.add_argument("--sim", default="kernel-sim")
    parser.add_argument("--schedules", type=int, default=0, help="random interleavings to try")
    parser.add_argument("programs", nargs="*", default=list(PROBLEMS))
    options = parser.parse_args()
    failed = False
    for program in options.programs:
        for i, (make, *shape) in enumerate(PROBLEMS[program]):
            message = run(program, make(np.random.default_rng(i), *shape), options)
            failed |= bool(message)
            print(f"{program} problem {i}: {message or 'ok'}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
