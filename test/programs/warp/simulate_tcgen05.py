"""Compiles the sm_100a programs of this folder and the one with clusters on sm_90a, runs them in the simulator on small problems and compares with NumPy.

    python test/programs/warp/simulate_tcgen05.py --opt build/bin/kernel-opt --sim build/bin/kernel-sim [PROGRAM ...]

Needs NumPy only: bf16 travels as its 16 bits. Exit status 1 if a program is wrong or the simulator finds something.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).parent


def to_bf16(x):
    """Round to nearest even, as 16-bit integers."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def random_bf16(rng, *shape):
    return to_bf16(rng.standard_normal(shape, np.float32))


def gemm(rng, tile_m, tiles_m, tiles_n, blocks):
    m, n, k = tile_m * tiles_m, 256 * tiles_n, 64 * blocks
    a, b = random_bf16(rng, m, k), random_bf16(rng, n, k)
    arguments = [("a", a), ("b", b), ("c", np.zeros((m, n), np.uint16)), tiles_m, tiles_n, blocks]
    return arguments, from_bf16(a) @ from_bf16(b).T


def attention(rng, rows, heads, blocks):
    s, t, d = 256 * rows, 128 * blocks, 128
    q, k, v = random_bf16(rng, heads * s, d), random_bf16(rng, heads * t, d), random_bf16(rng, heads * t, d)
    scale = np.float32(1.4426950408889634 / np.sqrt(d))
    expected = np.empty((heads * s, d), np.float32)
    for h in range(heads):
        x = from_bf16(q[h * s:(h + 1) * s]) @ from_bf16(k[h * t:(h + 1) * t]).T * scale
        p = np.exp2(x - x.max(1, keepdims=True))
        expected[h * s:(h + 1) * s] = p @ from_bf16(v[h * t:(h + 1) * t]) / p.sum(1, keepdims=True)
    arguments = [("q", q), ("k", k), ("v", v), ("c", np.zeros((heads * s, d), np.uint16)), rows, heads, blocks, scale]
    return arguments, expected


def e4m3_values():
    """What each of the 256 bytes means."""
    byte = np.arange(256)
    exponent, fraction = byte >> 3 & 15, byte & 7
    value = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10.0))
    return np.where(byte & 0x80, -value, value).astype(np.float32)


def pack_scales(scales):
    """[rows, blocks of 32] to blocks of 128 rows x 4 scales, as rows of 16 bytes."""
    rows, blocks = scales.shape
    x = scales.reshape(rows // 128, 4, 32, blocks // 4, 4)  # row block, quarter, row, K block, scale
    return np.ascontiguousarray(x.transpose(0, 3, 2, 1, 4)).reshape(-1, 16)


def gemm_mxf8(rng, tiles_m, tiles_n, blocks):
    m, n, k = 128 * tiles_m, 256 * tiles_n, 128 * blocks
    values = e4m3_values()

    def operand(rows):
        data = (rng.integers(0, 2, (rows, k)) << 7 | rng.integers(0, 0x60, (rows, k))).astype(np.uint8)
        scales = rng.integers(122, 132, (rows, k // 32)).astype(np.uint8)
        return data, scales, values[data] * np.repeat(2.0**(scales.astype(np.float32) - 127), 32, 1)

    (a, sa, x), (b, sb, y) = operand(m), operand(n)
    arguments = [("a", a, "e4m3"), ("b", b, "e4m3"), ("sa", pack_scales(sa).view(np.int8), "i8"),
                 ("sb", pack_scales(sb).view(np.int8), "i8"), ("c", np.zeros((m, n), np.uint16)), tiles_m, tiles_n, blocks]
    return arguments, x @ y.T


def gemm_nvf4(rng, tiles_m, tiles_n, blocks):
    m, n, k = 128 * tiles_m, 128 * tiles_n, 256 * blocks
    e4m3 = e4m3_values()
    e2m1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6], np.float32)

    def operand(rows):
        data = rng.integers(0, 16, (rows, k)).astype(np.uint8)
        scales = rng.integers(0x28, 0x48, (rows, k // 16)).astype(np.uint8)
        # kernel-sim takes a byte for each element of a buffer, a recipe half of one: the second half of the bytes is unused.
        packed = np.zeros((2, rows * k // 2), np.uint8)
        packed[0] = (data[:, ::2] | data[:, 1::2] << 4).ravel()
        return packed.reshape(rows, k), scales, e2m1[data] * np.repeat(e4m3[scales], 16, 1)

    (a, sa, x), (b, sb, y) = operand(m), operand(n)
    arguments = [("a", a, "e2m1"), ("b", b, "e2m1"), ("sa", pack_scales(sa).view(np.int8), "i8"),
                 ("sb", pack_scales(sb).view(np.int8), "i8"), ("c", np.zeros((m, n), np.uint16)), tiles_m, tiles_n, blocks]
    return arguments, x @ y.T


PROGRAMS = {
    "gemm_tcgen05": lambda rng: [gemm(rng, 128, 1, 1, 1), gemm(rng, 128, 2, 2, 6)],
    "gemm_tcgen05_m64": lambda rng: [gemm(rng, 64, 3, 1, 5)],
    "gemm_tcgen05_mxf8": lambda rng: [gemm_mxf8(rng, 1, 1, 1), gemm_mxf8(rng, 2, 2, 3)],
    "gemm_tcgen05_nvf4": lambda rng: [gemm_nvf4(rng, 1, 1, 1), gemm_nvf4(rng, 2, 2, 3)],
    "gemm_multicast": lambda rng: [gemm(rng, 256, 1, 1, 1), gemm(rng, 256, 2, 2, 6)],
    "gemm_tcgen05_pair": lambda rng: [gemm(rng, 256, 1, 1, 1), gemm(rng, 256, 2, 2, 7)],
    "attention_tcgen05": lambda rng: [attention(rng, 1, 1, 1), attention(rng, 1, 2, 3)],
}


def run(program, target, problem, options, tolerance=1e-2, output="c"):
    arguments, expected = problem
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ptx, recipe = folder / "kernel.ptx", folder / "kernel.json"
        source = HERE / (program + ".mlir")
        subprocess.run([options.opt, source, "--target=" + target, "--emit=ptx", "-o", ptx], check=True)
        subprocess.run([options.opt, source, "--target=" + target, "--emit=recipe", "-o", recipe], check=True)
        recipe.write_text(json.dumps({"target": target, **json.loads(recipe.read_text())}))
        command = [options.sim, ptx, "--recipe", recipe, "--out", f"{output}={folder}/out.npy", "--quiet"]
        if options.schedules:
            command += ["--seed", "1", "--schedules", str(options.schedules)]
        for argument in arguments:
            if isinstance(argument, tuple):
                name, array, element = (*argument, "bf16")[:3]
                np.save(folder / (name + ".npy"), array)
                command += ["--arg", f"buf:{name}:{element}@{folder}/{name}.npy"]
            elif isinstance(argument, np.float32):
                command += ["--arg", f"f32:{argument}"]
            else:
                command += ["--arg", f"i32:{argument}"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            return result.stdout + result.stderr
        out = np.load(folder / "out.npy")
        elements = {argument[0]: (*argument, "bf16")[2] for argument in arguments if isinstance(argument, tuple)}
        out = (from_bf16(out.view(np.uint16)) if elements[output] == "bf16" else out).reshape(expected.shape)
    error = np.abs(out - expected).max() / np.abs(expected).max()
    return "" if error < tolerance else f"relative error {error:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", default="kernel-opt")
    parser.add_argument("--sim", default="kernel-sim")
    parser.add_argument("--target", default="sm_100a")
    parser.add_argument("--schedules", type=int, default=0, help="random interleavings to try")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    options = parser.parse_args()
    failed = False
    for program in options.programs:
        for i, problem in enumerate(PROGRAMS[program](np.random.default_rng(0))):
            target = "sm_90a" if program == "gemm_multicast" else options.target
            message = run(program, target, problem, options)
            failed |= bool(message)
            print(f"{program} problem {i}: {message or 'ok'}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
