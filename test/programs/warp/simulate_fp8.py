"""Compiles the FP8 programs with block scales of this folder, runs them in the simulator on small problems and compares with NumPy in fp64.

    python test/programs/warp/simulate_fp8.py --opt build/bin/kernel-opt --sim build/bin/kernel-sim [--schedules N]

Exit status 1 if a program is wrong or the simulator finds something.
"""

import argparse
import sys

import numpy as np

from simulate_tcgen05 import e4m3_values, run


def gemm(rng, tile, m, n, blocks):
    k = 128 * blocks
    values = e4m3_values().astype(np.float64)

    def operand(rows):  # magnitudes around one, both signs
        return (rng.integers(0, 2, (rows, k)) << 7 | rng.integers(0x20, 0x48, (rows, k))).astype(np.uint8)

    a, b = operand(m), operand(n)
    sa = rng.uniform(0.5, 2, (blocks, m)).astype(np.float32)
    sb = rng.uniform(0.5, 2, (n // 128, blocks)).astype(np.float32)
    x = values[a] * np.repeat(sa.T.astype(np.float64), 128, 1)
    y = values[b] * np.repeat(np.repeat(sb.astype(np.float64), 128, 0), 128, 1)
    arguments = [("a", a, "e4m3"), ("b", b, "e4m3"), ("sa", sa, "f32"), ("c", np.zeros((m, n), np.uint16)), ("sb", sb, "f32"),
                 -(-m // tile[0]), -(-n // tile[1]), blocks]
    return arguments, x @ y.T


# A whole tile; ragged rows with more blocks than the ring has slots; few blocks, also an odd number.
SHAPES = [(256, 256, 3), (400, 512, 7), (64, 256, 1)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", default="kernel-opt")
    parser.add_argument("--sim", default="kernel-sim")
    parser.add_argument("--schedules", type=int, default=0, help="random interleavings to try")
    options = parser.parse_args()
    failed = False
    for tile in [(192, 128), (256, 128), (128, 256), (128, 128)]:
        program = f"gemm_fp8_block_{tile[0]}x{tile[1]}"
        for i, shape in enumerate(SHAPES):
            message = run(program, "sm_90a", gemm(np.random.default_rng(i), tile, *shape), options, tolerance=5e-3)
            failed |= bool(message)
            print(f"{program} problem {i}: {message or 'ok'}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
