"""A first look: compiles a Hopper and a Blackwell GEMM, written by hand at the warp level, to PTX, prints the report of each, and runs them: on the
GPU if it is a Hopper, else in the simulator with all its checks. Says which, with the error against fp64 (and the speed on a GPU)."""

import os
import sys

import numpy as np

from tileloom import compiler, sim
from tileloom.runtime import Kernel

PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "programs", "warp")


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
        lines = compiled.ptx.splitlines()
        core = [line.strip() for line in lines if any(word in line for word in
                ("wgmma.mma", "tcgen05.mma", "cp.async.bulk.tensor", "mbarrier.try_wait", "stmatrix", "tcgen05.ld"))]
        print(f"== {name}.mlir for {target}: {len(lines)} lines of PTX; its copies, waits and products:")
        for line in dict.fromkeys(line.split("{")[0].split("[")[0].strip() for line in core):
            print("  ", line)
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
