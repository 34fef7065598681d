"""A persistent matrix product in Triton, through tensor descriptors: the peer of bench/gemm.py."""

import torch
import triton
import triton.language as tl
from measure import fastest
from triton.tools.tensor_descriptor import TensorDescriptor

CONFIGS = ((128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (64, 128, 128, 4, 4))  # rows, columns, depth, stages, warps


@triton.jit
def gemm_kernel(a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), rows * columns, PROGRAMS, flatten=True):
        group = tile // (GROUP * columns)
        height = min(rows - group * GROUP, GROUP)
        row, column = group * GROUP + tile % height, tile % (GROUP * columns) // height
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row * BM, k * BK]), b.load([column * BN, k * BK]).T, acc)
        c.store([row * BM, column * BN], acc.to(c.dtype))


def gemm(a, b, c):
    """c = a @ b^T with the fastest of a few configurations; a launch as a function. a [M, K], b [N, K], c [M, N]."""
    (m, k), n = a.shape, b.shape[0]
    programs = torch.cuda.get_device_properties(0).multi_processor_count

    def launcher(bm, bn, bk, stages, warps):
        bk = bk * 2 // a.element_size()
        x, y, z = (TensorDescriptor.from_tensor(tensor, box) for tensor, box in ((a, [bm, bk]), (b, [bn, bk]), (c, [bm, bn])))
        return lambda: gemm_kernel[(programs,)](x, y, z, m, n, k, programs, bm, bn, bk, 8, num_stages=stages, num_warps=warps)

    launches = [launcher(*config) for config in CONFIGS if config[0] <= 64 or m > 64]
    return fastest(launches, triton.runtime.errors.OutOfResources)
