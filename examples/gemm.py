"""The GEMM of README.md: on NumPy arrays in the simulator, or with --gpu on torch tensors."""

import sys

import ml_dtypes
import numpy as np

import tileloom as tl


@tl.jit
def gemm(a: tl.view, b: tl.view, c: tl.view,
         BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto, BK: tl.constexpr = tl.auto):
    """c[M, N] = a[M, K] @ b[N, K].T"""
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.store([m, n], acc.to(c.dtype))


def simulated():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((rows, 200)).astype(ml_dtypes.bfloat16) for rows in (200, 328))
    c = np.full((200, 328), np.nan, ml_dtypes.bfloat16)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    for target in ("sm_90a", "sm_100a"):
        c[...] = np.nan
        run = gemm(a, b, c, target=target)  # raises KernelFault if the simulator finds anything
        error = np.linalg.norm(c - wanted) / np.linalg.norm(wanted)
        print(f"{target}: {run.instructions} warp instructions, nothing found, relative error against fp64 {error:.1e}")
        if not error < 4e-3:
            sys.exit("wrong")


def on_gpu():
    import torch
    a, b = (torch.randn(4096, 7168, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.full((4096, 4096), float("nan"), device="cuda", dtype=torch.bfloat16)
    gemm(a, b, c)
    wanted = a.double() @ b.double().T
    error = ((c.double() - wanted).norm() / wanted.norm()).item()
    print(f"{torch.cuda.get_device_name()}: relative error against fp64 {error:.1e}")
    if not error < 4e-3:
        sys.exit("wrong")


if __name__ == "__main__":
    on_gpu() if "--gpu" in sys.argv[1:] else simulated()
