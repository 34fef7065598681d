"""A first look: compiles a Hopper and a Blackwell GEMM, written by hand at the warp level, to PTX, prints the main loop of each (and where the whole
text is) and its report, and runs them: on the GPU if it is a Hopper, else in the simulator with all its checks. Says which, with the error against
fp64 (and the speed on a GPU)."""

import os
import re
import sys

import numpy as np

from tileloom import compiler, sim
from tileloom.runtime import Kernel

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = os.path.join(ROOT, "test", "programs", "warp")
FOLDER = os.path.join(os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build")), "demo")
WIDTH = 150


def hopper_torch():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == 9 else None


def bf16(values):
    """fp32 to bf16 bits, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def fp32(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def main_loop(ptx):
    """The lines of the innermost loop around the matrix products."""
    lines = ptx.splitlines()
    products = [i for i, line in enumerate(lines) if "wgmma.mma_async" in line or "tcgen05.mma" in line]
    labels = {line[:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\$\w+:", line)}
    branches = ((i, re.search(r"\bbra(?:\.uni)?\s+(\$\w+);", line)) for i, line in enumerate(lines))
    loops = [(labels[target[1]], end) for end, target in branches if target and labels[target[1]] <= products[0] and end >= products[-1]]
    start, _ = min(loops, key=lambda loop: loop[1] - loop[0])
    return lines[start:max(end for first, end in loops if first == start) + 1]


def show(name, ptx):
    """Prints the main loop, long lines cut, and writes the whole text to a file."""
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, name + ".ptx")
    with open(path, "w") as file:
        file.write(ptx)
    loop = main_loop(ptx)
    print(f"PTX: {path}, {len(ptx.splitlines())} lines; its main loop, {len(loop)} lines:")
    for line in loop:
        line = line.expandtabs(4)
        print("   ", line if len(line) <= WIDTH else line[:WIDTH] + " ...")
    print()


def simulate(compiled, m, n, k, tile):
    rng = np.random.default_rng(0)
    a, b = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k)))
    c = np.full((m, n), 0x7FC0, np.uint16)  # NaN
    x, y, z = (sim.Element(array, "bf16") for array in (a, b, c))
    run = sim.run_recipe(compiled.ptx, compiled.recipe, x, y, z, -(-m // tile[0]), -(-n // tile[1]), -(-k // 64), multiprocessors=2)
    run.check()
    wanted = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    error = np.linalg.norm(fp32(c) - wanted) / np.linalg.norm(wanted)
    print(f"simulated {m} x {n} x {k} on the CPU, all checks on, nothing found: relative error against fp64 {error:.1e}")
    return error


def run(torch, compiled, m, n, k, tile):
    a, b = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (m, n))
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    kernel = Kernel.load(compiled.cubin or compiled.ptx.encode(), compiled.recipe)
    arguments = (a, b, c, -(-m // tile[0]), -(-n // tile[1]), -(-k // 64))
    kernel(*arguments)
    wanted = a.double() @ b.double().T
    error = ((c.double() - wanted).norm() / wanted.norm()).item()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(20):
        kernel(*arguments)
    end.record()
    torch.cuda.synchronize()
    speed = 2 * m * n * k * 20 / start.elapsed_time(end) / 1e9
    print(f"ran {m} x {n} x {k} on {torch.cuda.get_device_name()}: {speed:.0f} TFLOP/s, relative error against fp64 {error:.1e}")
    return error


def main():
    torch = hopper_torch()
    worst = 0.0
    for name, target, tile in (("gemm_cooperative", "sm_90a", (128, 256)), ("gemm_tcgen05", "sm_100a", (128, 256))):
        with open(os.path.join(PROGRAMS, name + ".mlir")) as file:
            compiled = compiler.compile(file.read(), target, name=name + ".mlir", report=True)
        print(f"== {name}.mlir for {target}")
        show(name, compiled.ptx)
        print(compiled.report_text)
        if torch and target == "sm_90a":
            worst = max(worst, run(torch, compiled, 8192, 8192, 8192, tile))
        else:
            worst = max(worst, simulate(compiled, 256, 512, 192, tile))
        print()
    if not worst < 4e-3:
        sys.exit(f"demo: relative error {worst}; needed below 4e-3")


if __name__ == "__main__":
    main()
