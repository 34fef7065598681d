"""Products of tiles that are read through pointers or computed, in the simulator, against NumPy in fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused
from test_lang_triton import matmul

TARGETS = ["sm_90a", "sm_100a"]
BF16 = ml_dtypes.bfloat16


def close(found, wanted, bound=4e-3):
    found = np.asarray(found).astype(np.float64)
    return np.linalg.norm(found - wanted) <= bound * max(np.linalg.norm(wanted), 1e-30)


def run_matmul(target, m, n, k, tiles, dtype=np.float16, activation="", transposed=False, **launch):
    rng = np.random.default_rng(m + n + k)
    a = rng.standard_normal((m, k)).astype(dtype)
    b = rng.standard_normal((n, k)).astype(dtype).T if transposed else rng.standard_normal((k, n)).astype(dtype)
    c = np.full((m, n + 8), np.nan, np.float16)
    item = b.dtype.itemsize
    matmul[(tl.cdiv(m, tiles[0]) * tl.cdiv(n, tiles[1]),)](
        a, b.T if transposed else b, c, m, n, k, k, 1, *(s // item for s in b.strides), n + 8, 1, BLOCK_M=tiles[0], BLOCK_N=tiles[1],
        BLOCK_K=tiles[2], GROUP_M=8, ACTIVATION=activation, target=target, **launch)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    if activation:
        wanted = np.where(wanted >= 0, wanted, 0.01 * wanted)
    assert close(c[:, :n], wanted)
    assert np.isnan(c[:, n:]).all(), "nothing was written beside the matrix"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k, tiles", [(64, 64, 32, (64, 64, 32)), (200, 136, 200, (128, 128, 64)), (100, 72, 44, (64, 64, 32)),
                                            (33, 17, 0, (64, 64, 32)), (130, 300, 70, (128, 256, 64))])
def test_matmul(target, m, n, k, tiles):
    run_matmul(target, m, n, k, tiles, activation="leaky_relu")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float8_e4m3fn"])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_types(target, dtype, transposed):
    run_matmul(target, 72, 80, 96, (64, 64, 64), getattr(ml_dtypes, dtype, None) or np.dtype(dtype), transposed=transposed)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tiles", [(16, 16, 32), (32, 64, 32), (16, 128, 64)])
def test_small_products(target, tiles):
    """Fewer rows than a warpgroup multiplies: mma.sync, in one role."""
    run_matmul(target, 50, 40, 70, tiles)
    run_matmul(target, 20, 130, 64, tiles, transposed=True, num_warps=2)


@tl.jit
def grouped(a, b, c, tokens, experts, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c[i] = a[tokens[i]] @ b[experts[i // BM]]: rows are gathered by a list of tokens; -1 is none."""
    m, n = tl.program_id(0), tl.program_id(1)
    rows, columns, ks = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    token = tl.load(tokens + rows)
    expert = tl.load(experts + m)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + token[:, None] * K + (k + ks)[None, :], (token >= 0)[:, None] & (k + ks < K)[None, :], other=0.0)
        w = tl.load(b + expert * N * K + columns[None, :] * K + (k + ks)[:, None], (columns < N)[None, :] & (k + ks < K)[:, None], other=0.0)
        acc += tl.dot(x, w)
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(c.dtype.element_ty), (token >= 0)[:, None] & (columns < N)[None, :])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n, k", [(64, 64), (72, 200)])
def test_rows_by_tokens(target, n, k):
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((50, k)).astype(BF16), rng.standard_normal((3, n, k)).astype(BF16)
    tokens, experts = rng.integers(-1, 50, 3 * 64).astype(np.int32), np.array([2, 0, 1], np.int32)
    c = np.full((3 * 64, n), np.nan, np.float32)
    grouped[(3, tl.cdiv(n, 64))](a, b, c, tokens, experts, n, k, BM=64, BN=64, BK=64, target=target)
    there = tokens >= 0
    wanted = np.einsum("ik,ink->in", a.astype(np.float64)[tokens], b.astype(np.float64)[np.repeat(experts, 64)])
    assert close(c[there], wanted[there]) and np.isnan(c[~there]).all()


@tl.jit
def mixed(a: tl.view, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One operand through a descriptor, the other through pointers and converted."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    ks, columns = tl.arange(0, BK), n + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        w = tl.load(b + (k + ks)[:, None] * N + columns[None, :], (k + ks < K)[:, None] & (columns < N)[None, :], other=0)
        acc = tl.dot(a.load([m, k], [BM, BK]), (w.to(tl.float32) * 0.5).to(tl.bfloat16), acc)
    rows = m + tl.arange(0, BM)
    tl.store(c + rows[:, None] * N + columns[None, :], acc, (rows < a.shape[0])[:, None] & (columns < N)[None, :])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k, bm", [(128, 64, 64, 128), (150, 72, 200, 128), (64, 24, 72, 64)])
def test_mixed_operands(target, m, n, k, bm):
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((m, k)).astype(BF16), rng.integers(-100, 100, (k, n)).astype(np.int8)
    c = np.full((m, n), np.nan, np.float32)
    mixed[(tl.cdiv(m, bm), tl.cdiv(n, 64))](a, b, c, n, k, BM=bm, BN=64, BK=64, target=target)
    assert close(c, a.astype(np.float64) @ (b * 0.5))


@tl.jit
def computed(a: tl.view, b: tl.view, s, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Operand B comes through a descriptor and is scaled in registers."""
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        scale = tl.load(s + n + tl.arange(0, BN), n + tl.arange(0, BN) < N, other=0.0)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            w = (b.load([n, k], [BN, BK]).to(tl.float32) * scale[:, None]).to(tl.bfloat16)
            acc = tl.dot(a.load([m, k], [BM, BK]), w.T, acc)
        c.store([m, n], acc)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k, bm, operands", [(64, 64, 64, 64, "math"), (200, 136, 200, 128, "math"), (64, 64, 64, 64, "gather"),
                                                   (200, 136, 200, 128, "gather"), (200, 136, 200, 192, "auto")])
def test_second_operand_made_in_registers(target, m, n, k, bm, operands):
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((n, k)).astype(BF16)
    s = rng.random(n).astype(np.float32)
    c = np.full((m, n), np.nan, np.float32)
    if target == "sm_100a" and bm == 192:
        pytest.skip("no product of 192 rows")
    computed(a, b, s, c, BM=bm, BN=64, BK=64, target=target, schedule={"operands": operands})
    wanted = a.astype(np.float64) @ (b.astype(np.float64) * s[:, None]).astype(np.float32).astype(BF16).astype(np.float64).T
    assert close(c, wanted)


@tl.jit
def weighted(x: tl.view, s, out: tl.view, K, BM: tl.constexpr, BK: tl.constexpr):
    """X diag(s) X^T: one tile is both operands, one of them scaled."""
    M = x.shape[0]
    for m, n in tl.tiles((M, BM), (M, BM)):
        acc = tl.zeros((BM, BM), tl.float32)
        for k in tl.range(0, K, BK):
            scale = tl.load(s + k + tl.arange(0, BK), k + tl.arange(0, BK) < K, other=0.0)
            left = (x.load([m, k], [BM, BK]).to(tl.float32) * scale[None, :]).to(tl.bfloat16)
            acc = tl.dot(left, x.load([n, k], [BM, BK]).T, acc)
        out.store([m, n], acc)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, k, bm", [(64, 0, 64), (64, 64, 64), (200, 200, 128)])
@pytest.mark.parametrize("operands", ["math", "gather"])
def test_first_operand_made_in_registers(target, m, k, bm, operands):
    rng = np.random.default_rng(m + k)
    x, s = rng.standard_normal((m, max(k, 8))).astype(BF16), rng.random(max(k, 1)).astype(np.float32)
    out = np.full((m, m), np.nan, np.float32)
    weighted(x, s, out, k, BM=bm, BK=64, target=target, schedule={"operands": operands})
    left = (x[:, :k].astype(np.float32) * s[:k]).astype(BF16).astype(np.float64)
    assert close(out, left @ x[:, :k].astype(np.float64).T)


@tl.jit
def chained(x, w, out, n, D: tl.constexpr, BN: tl.constexpr):
    """(X X^T) X: the second product's B is the first one's, through pointers; a product's result is an operand B as well."""
    at = tl.arange(0, 64)[:, None] * D + tl.arange(0, D)[None, :]
    a, b = tl.load(x + at), tl.load(w + at)
    s = tl.dot(a, b.T).to(tl.bfloat16)
    t = tl.dot(a.T, s).to(tl.float32)
    tl.store(out + tl.arange(0, D)[:, None] * 64 + tl.arange(0, 64)[None, :], t)


@pytest.mark.parametrize("target", TARGETS)
def test_chained(target):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 64)).astype(BF16), rng.standard_normal((64, 64)).astype(BF16)
    out = np.full((64, 64), np.nan, np.float32)
    chained[(1,)](x, w, out, 64, D=64, BN=64, target=target)
    s = (x.astype(np.float64) @ w.astype(np.float64).T).astype(np.float32).astype(BF16).astype(np.float64)
    assert close(out, x.astype(np.float64).T @ s)


@tl.jit
def while_there_is_more(a, b, c, starts, n, BM: tl.constexpr, BK: tl.constexpr):
    """A loop over a list of blocks of K that ends at -1."""
    rows, ks = tl.arange(0, BM), tl.arange(0, BK)
    acc = tl.zeros((BM, BM), tl.float32)
    i = 0
    start = tl.load(starts)
    while start >= 0:
        x = tl.load(a + rows[:, None] * n + (start + ks)[None, :])
        y = tl.load(b + rows[None, :] * n + (start + ks)[:, None])
        acc = tl.dot(x, y, acc)
        i += 1
        start = tl.load(starts + i)
    tl.store(c + rows[:, None] * BM + rows[None, :], acc)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("starts", [[-1], [64, -1], [128, 0, 192, -1]])
def test_while(target, starts):
    rng = np.random.default_rng(len(starts))
    a, b = rng.standard_normal((64, 256)).astype(BF16), rng.standard_normal((64, 256)).astype(BF16)
    c = np.full((64, 64), np.nan, np.float32)
    while_there_is_more[(1,)](a, b, c, np.array(starts, np.int32), 256, BM=64, BK=64, target=target)
    columns = np.concatenate([np.arange(s, s + 64) for s in starts[:-1]] or [np.zeros(0, int)]).astype(int)
    assert close(c, a.astype(np.float64)[:, columns] @ b.astype(np.float64)[:, columns].T)


@tl.jit
def in_place(x, w, turns, M, FIRST: tl.constexpr, BM: tl.constexpr):
    """Twice x = x @ w, or (w @ x.T).T where x is the second operand; the second time reads what the first one wrote. The atomic
    operation between orders the program."""
    for m, in tl.tiles((M, BM)):
        rows, columns = m + tl.arange(0, BM), tl.arange(0, 64)
        at, mask = rows[:, None] * 64 + columns[None, :], (rows < M)[:, None]
        square = tl.load(w + columns[:, None] * 64 + columns[None, :])
        for turn in tl.range(0, 2):
            tile = tl.load(x + at, mask=mask, other=0.0)
            y = tl.dot(tile, square) if FIRST else tl.dot(square, tile.T).T
            tl.store(x + at, y.to(tl.bfloat16), mask=mask)
            tl.atomic_add(turns, 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("m", [64, 200])
def test_in_place(target, first, m):
    rng = np.random.default_rng(m)
    x, w, turns = rng.standard_normal((m, 64)).astype(BF16), rng.standard_normal((64, 64)).astype(BF16), np.zeros(1, np.int32)
    wanted, square = x, (w if first else w.T).astype(np.float64)
    for _ in range(2):
        wanted = (wanted.astype(np.float64) @ square).astype(BF16)
    in_place(x, w, turns, m, FIRST=first, BM=64, target=target)
    assert close(x, wanted.astype(np.float64))
    assert turns[0] == 2 * -(-m // 64)


@tl.jit
def batches(a, b, c, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ADDED: tl.constexpr):
    """out = c + a b for each entry of a batch."""
    i, m, n, k = tl.arange(0, B)[:, None, None], tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + (i * M + m[None, :, None]) * K + k[None, None, :])
    right = tl.load(b + (i * K + k[None, :, None]) * N + n[None, None, :])
    at = (i * M + m[None, :, None]) * N + n[None, None, :]
    if ADDED:
        tl.store(out + at, tl.dot(left, right, tl.load(c + at)))
    else:
        tl.store(out + at, tl.dot(left, right))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "float8_e4m3fn"])
@pytest.mark.parametrize("shape", [(2, 16, 16, 32), (4, 32, 16, 64), (1, 64, 32, 32)])
def test_batches(target, dtype, shape):
    b, m, n, k = shape
    rng = np.random.default_rng(m)
    kind = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    integers = dtype == "int8"
    x, y = ((rng.integers(-9, 9, s) if integers else rng.standard_normal(s)).astype(kind) for s in ((b, m, k), (b, k, n)))
    c = (rng.integers(-99, 99, (b, m, n)) if integers else rng.standard_normal((b, m, n))).astype(np.int32 if integers else np.float32)
    for added in (False, True):
        out = np.full((b, m, n), -1, c.dtype) if integers else np.full((b, m, n), np.nan, np.float32)
        batches[(1,)](x, y, c, out, B=b, M=m, N=n, K=k, ADDED=added, target=target)
        assert close(out, x.astype(np.float64) @ y.astype(np.float64) + added * c)


def test_refused_batches():
    @tl.jit
    def entries(x, out):
        a = tl.load(x + tl.arange(0, 1024).reshape(2, 16, 32))
        tl.store(out, tl.dot(a, tl.load(x + tl.arange(0, 2048).reshape(4, 32, 16))))
    message = "tl.dot: the operands are float32[2, 16, 32] and float32[4, 32, 16]; needed [B, M, K] and [B, K, N]"
    refused(entries, message, "tl.dot", {"x": "*f32", "out": "*f32"})
