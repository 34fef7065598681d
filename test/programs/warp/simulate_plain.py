"""Compiles the plain kernels of this folder (one role, no rings), runs them in the simulator on small problems and compares with NumPy in fp64.

    python test/programs/warp/simulate_plain.py --opt build/bin/kernel-opt --sim build/bin/kernel-sim [--schedules N] [PROGRAM ...]

Exit status 1 if a program is wrong or the simulator finds something.
"""

import argparse
import sys

import numpy as np

from simulate_tcgen05 import from_bf16, random_bf16, run


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
            arguments, output, expected, tolerance = make(np.random.default_rng(i), *shape)
            message = run(program, "sm_90a", (arguments, expected), options, tolerance, output)
            failed |= bool(message)
            print(f"{program} problem {i}: {message or 'ok'}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
