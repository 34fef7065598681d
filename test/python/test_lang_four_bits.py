"""A product with weights of 4 bits, as it is written for Triton, in the simulator, against NumPy in fp64."""

import numpy as np
import pytest

import tileloom as tl

TARGETS = ["sm_90a", "sm_100a"]


@tl.jit
def four_bits(a_ptr, q_ptr, scales_ptr, zeros_ptr, c_ptr, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a @ ((q - zero) * scale): eight weights of four bits in an int32 along K, scales and zeros for GROUP of them."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    shift = (k % 8) * 4
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        at = start + k
        a = tl.load(a_ptr + m[:, None] * K + at[None, :], mask=(m[:, None] < M) & (at[None, :] < K), other=0.0)
        inside = (at[:, None] < K) & (n[None, :] < N)
        packed = tl.load(q_ptr + (at[:, None] // 8) * N + n[None, :], mask=inside, other=0)
        group = start // GROUP
        scale = tl.load(scales_ptr + group * N + n, mask=n < N, other=0.0)
        zero = tl.load(zeros_ptr + group * N + n, mask=n < N, other=0)
        b = (((packed >> shift[:, None]) & 15) - zero[None, :]).to(tl.float16) * scale[None, :]
        acc = tl.dot(a, tl.where(at[:, None] < K, b, 0.0), acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k, tiles", [(70, 96, 128, (64, 64, 64)), (5, 40, 64, (16, 32, 32))])
def test_four_bits(target, m, n, k, tiles):
    rng = np.random.default_rng(m)
    bm, bn, bk = tiles
    a = rng.standard_normal((m, k)).astype(np.float16)
    q, zero = rng.integers(0, 16, (k, n)), rng.integers(0, 16, (k // bk, n)).astype(np.int32)
    scale = (rng.uniform(0.5, 1.5, (k // bk, n)) / 8).astype(np.float16)
    packed = sum(q[i::8].astype(np.uint32) << np.uint32(4 * i) for i in range(8)).astype(np.uint32).view(np.int32)
    c = np.full((m, n), np.nan, np.float16)
    four_bits[(tl.cdiv(m, bm), tl.cdiv(n, bn))](a, packed, scale, zero, c, m, n, k, GROUP=bk, BM=bm, BN=bn, BK=bk, target=target)
    weights = ((q - np.repeat(zero, bk, 0)) * np.repeat(scale, bk, 0).astype(np.float64)).astype(np.float16)
    wanted = a.astype(np.float64) @ weights.astype(np.float64)
    assert np.linalg.norm(c.astype(np.float64) - wanted) < 2e-3 * np.linalg.norm(wanted)
