"""Kernels as Triton users write them: pointers, program_id, hints. They are parsed and verified as tile programs; those in the simulator run."""

import numpy as np
import pytest

import tileloom as tl
from dsl import ops, plain, tile

@tl.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@tl.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * num_n
    group = pid // in_group
    first = group * GROUP_M
    size = min(num_m - first, GROUP_M)
    m = first + (pid % in_group) % size
    n = (pid % in_group) // size
    tl.assume(m >= 0)
    rows = (m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    rows = tl.max_contiguous(tl.multiple_of(rows, BLOCK_M), BLOCK_M)
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows[:, None] * stride_am + ks[None, :] * stride_ak)
    b_ptrs = b_ptr + (ks[:, None] * stride_bk + columns[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=ks[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(tl.float16)
    cm = m * BLOCK_M + tl.arange(0, BLOCK_M)
    cn = n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * cm[:, None] + stride_cn * cn[None, :]
    tl.store(c_ptrs, c, mask=(cm[:, None] < M) & (cn[None, :] < N))


STRIDES = {name: 1 if name in ("stride_ak", "stride_bn", "stride_cn") else "i32:16"
           for name in ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn")}


def test_matmul_text():
    signature = {"a_ptr": "*f16:16", "b_ptr": "*f16:16", "c_ptr": "*f16:16", "M": "i32:16", "N": "i32:16", "K": "i32:16", **STRIDES}
    tiles = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}
    text = plain(tile(matmul, signature, ACTIVATION="leaky_relu", **tiles))
    assert "arith.select" in text and "arith.select" not in tile(matmul, signature, ACTIVATION="", **tiles)
    names = ops(text)
    assert names.count("tile.gather") == 2 and names.count("tile.dot") == 1 and names.count("tile.scatter") == 1
    loop = text[text.index("scf.for"):text.index("scf.yield")]
    assert "-> (tensor<64x64xf32>, i64, i64)" in loop.splitlines()[0] or "i64" in loop.splitlines()[0], "pointers advance by a uniform amount"
    assert "tensor<64x32xi64>" not in loop, "offsets of tiles stay 32-bit"


@pytest.mark.parametrize("m, n, k", [(64, 64, 32), (100, 72, 48)])
def test_matmul(m, n, k):
    rng = np.random.default_rng(m)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    matmul[lambda meta: (tl.cdiv(m, meta["BLOCK_M"]) * tl.cdiv(n, meta["BLOCK_N"]),)](
        a, b, c, m, n, k, k, 1, n, 1, n, 1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=8, ACTIVATION="")
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert np.linalg.norm(c - wanted) < 2e-3 * np.linalg.norm(wanted)


@tl.jit
def persistent_softmax(out, x, stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(value - tl.max(value, axis=0))
        tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < columns)


def test_persistent_softmax_text():
    text = plain(tile(persistent_softmax, {"out": "*f32:16", "x": "*f32:16", "stride": "i32:16", "rows": "i32", "columns": "i32"}, BLOCK=256, STAGES=4))
    assert "tile.num_programs dim(0)" in text and "{tile.num_stages = 4 : i32}" in text


def test_persistent_softmax():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, 200)).astype(np.float32)
    out = np.full_like(x, np.nan)
    persistent_softmax[(3,)](out, x, 200, 7, 200, BLOCK=256, STAGES=2)
    wanted = np.exp(x.astype(np.float64))
    assert np.abs(out - wanted / wanted.sum(1, keepdims=True)).max() < 1e-6


@tl.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@pytest.mark.parametrize("n", [1, 255, 1000])
def test_add(n):
    x, y = np.random.default_rng(n).standard_normal((2, n)).astype(np.float32)
    out = np.full(n + 8, 7, np.float32)
    add[(tl.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    assert (out[:n] == x + y).all() and (out[n:] == 7).all()


@tl.jit
def copy_through_descriptors(a, b, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(a, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(b, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([m, n], source.load([m, n]) * 2)


def test_descriptors():
    a = np.random.default_rng(0).standard_normal((100, 72)).astype(np.float16)
    b = np.full_like(a, np.nan)
    copy_through_descriptors[(2, 2)](a, b, 100, 72, BM=64, BN=64)
    assert (b == a * 2).all()


@tl.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + at, at < n, other=0), 1, mask=at < n)


def test_atomics():
    x = np.random.default_rng(0).integers(0, 16, 500).astype(np.int32)
    counts = np.zeros(16, np.int32)
    histogram[(4,)](x, counts, 500, BLOCK=128)
    assert (counts == np.bincount(x, minlength=16)).all()


@tl.jit
def row_statistics(x, out, n, BLOCK: tl.constexpr):
    """Several reductions, a scan, a branch, a while loop."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n, other=0.0)
    best, place = tl.max(value, 0, return_indices=True)
    running = tl.cumsum(value, 0)
    steps = 0
    left = n
    while left > 1:
        left = left // 2
        steps += 1
    if best > 1.0:
        tl.store(out, best)
    else:
        tl.store(out, -best)
    tl.store(out + 1, place)
    tl.store(out + 2, tl.sum(running, 0))
    tl.store(out + 3, steps)


def test_row_statistics():
    x = np.random.default_rng(0).standard_normal(100).astype(np.float32)
    out = np.full(4, np.nan, np.float32)
    row_statistics[(1,)](x, out, 100, BLOCK=128)
    total = np.concatenate([np.cumsum(x.astype(np.float64)), np.full(28, x.astype(np.float64).sum())]).sum()
    assert out[0] == (x.max() if x.max() > 1 else -x.max()) and out[1] == x.argmax() and abs(out[2] - total) < 1e-2 and out[3] == 6
