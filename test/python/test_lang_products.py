"""Products of tiles that are read through pointers or computed, in the simulator, against NumPy in fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused
from test_lang_triton import matmul

TARGETS = ["sm_90a", "sm_100a"]
BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


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


# Block scales -----------------------------------------------------------------------------------

@tl.jit
def scaled(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr,
           PB: tl.constexpr):
    rows, columns, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    x = tl.load(a + rows[:, None] * (K // PA) + tl.arange(0, K // PA)[None, :])
    w = tl.load(b + columns[None, :] * (K // PB) + tl.arange(0, K // PB)[:, None])
    y = tl.dot_scaled(x, tl.load(sa + rows[:, None] * (K // 32) + groups[None, :]), FA, w,
                      tl.load(sb + columns[:, None] * (K // 32) + groups[None, :]), FB)
    tl.store(c + rows[:, None] * N + columns[None, :], y)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def operand(rng, rows, k, format):
    """The stored array, its values, how many of them lie in a byte."""
    if format == "e2m1":
        codes = rng.integers(0, 16, (rows, k))
        return (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8), E2M1[codes], 2
    dtype = {"e4m3": E4M3, "e5m2": ml_dtypes.float8_e5m2, "bf16": BF16}[format]
    x = rng.standard_normal((rows, k)).astype(dtype)
    return x, x.astype(np.float64), 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fa, fb", [("e4m3", "e4m3"), ("e5m2", "e2m1"), ("e2m1", "e2m1"), ("bf16", "e4m3")])
def test_block_scales(target, fa, fb):
    rng = np.random.default_rng(3)
    m, n, k = 64, 32, 128
    (a, x, pa), (b, y, pb) = operand(rng, m, k, fa), operand(rng, n, k, fb)
    sa, sb = rng.integers(120, 134, (m, k // 32)).astype(np.uint8), rng.integers(120, 134, (n, k // 32)).astype(np.uint8)
    c = np.full((m, n), np.nan, np.float32)
    scaled[(1,)](a, sa, b, sb, c, M=m, N=n, K=k, FA=fa, FB=fb, PA=pa, PB=pb, target=target)
    wanted = (x * np.repeat(2.0 ** (sa.astype(int) - 127), 32, 1)) @ (y * np.repeat(2.0 ** (sb.astype(int) - 127), 32, 1)).T
    assert close(c, wanted, 1e-5), "products of such values are exact in fp32"


@tl.jit
def scaled_loop(a: tl.view, sa, b: tl.view, sb, c: tl.view, FB: tl.constexpr, FAST: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c[M, N] = (a * sa) @ (b * sb).T; scales [M, K / 32], [N, K / 32], either of which may be None."""
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        rows, columns = m + tl.arange(0, BM), n + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            groups = k // 32 + tl.arange(0, BK // 32)
            x = None if sa is None else tl.load(sa + rows[:, None] * (K // 32) + groups[None, :], (rows < M)[:, None] & (groups * 32 < K)[None, :], 0)
            y = None if sb is None else tl.load(sb + columns[:, None] * (K // 32) + groups[None, :], (columns < N)[:, None] & (groups * 32 < K)[None, :], 0)
            acc += tl.dot_scaled(a.load([m, k], [BM, BK]), x, "e4m3", b.load([n, k], [BN, BK]).T, y, FB, fast_math=FAST)
        c.store([m, n], acc)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fb, which, k", [("e4m3", "both", 192), ("e5m2", "a", 64), ("fp16", "b", 160), ("bf16", "a", 0)])
def test_block_scales_in_a_loop(target, fb, which, k):
    rng = np.random.default_rng(k)
    m, n, types = 136, 72, {"e4m3": E4M3, "e5m2": ml_dtypes.float8_e5m2, "fp16": np.float16, "bf16": BF16}
    a, b = rng.standard_normal((m, k)).astype(E4M3), rng.standard_normal((n, k)).astype(types[fb])
    sa, sb = (rng.integers(120, 134, (rows, k // 32)).astype(np.uint8) for rows in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    given = sa if which != "b" else None, sb if which != "a" else None
    launch = dict(FB=fb, FAST=which == "both", BM=128, BN=64, BK=64, target=target)
    scaled_loop(a, given[0], b, given[1], c, **launch)
    x, y = (value.astype(np.float64) * (1 if s is None else np.repeat(2.0 ** (s.astype(int) - 127), 32, 1)) for value, s in ((a, given[0]), (b, given[1])))
    wanted = x.astype(np.float32).astype(BF16).astype(np.float64) @ y.astype(np.float32).astype(BF16).astype(np.float64).T
    assert close(c, wanted, 1e-5) if k else (c == 0).all()


def test_block_scales_are_one_operation():
    text = scaled_loop.compile(signature={"a": ("fp8e4nv", 2), "sa": "*u8", "b": ("fp8e4nv", 2), "sb": "*u8", "c": ("f32", 2)}, FB="e4m3", FAST=False, BM=128, BN=64, BK=64).tile
    assert text.count("tile.dot_scaled") == 1 and "acc(" in text and "tile.dot " not in text


@tl.jit
def wrong_scale(x, s):
    at = tl.arange(0, 64)
    v = tl.load(x + at[:, None] * 64 + at[None, :])
    tl.dot_scaled(v, tl.load(s + at[:, None] * 64 + at[None, :]), "e4m3", v, None, "e4m3")


def test_wrong_scale():
    refused(wrong_scale, "tl.dot_scaled: lhs_scale is uint8[64, 64]; needed uint8[64, 2]: one for 32 values along K = 64", "tl.dot_scaled(",
            {"x": "*fp8e4nv", "s": "*u8"})


@tl.jit
def wrong_format(x):
    v = tl.load(x + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :])
    tl.dot_scaled(v, None, "e4m3", v, None, "e3m2")


def test_wrong_format():
    refused(wrong_format, "tl.dot_scaled: rhs_format is 'e3m2'; needed one of e4m3, e5m2, bf16, fp16, e2m1", "tl.dot_scaled(", {"x": "*fp8e4nv"})


@tl.jit
def typed(a: tl.view, b: tl.view, c: tl.view, OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), OUT)
        for k in tl.range(0, K, BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc, out_dtype=OUT)
        c.store([m, n], acc)


@tl.jit
def typed_pointers(a, b, c, M, N, K, OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, ks = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), OUT)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + ks)[None, :], (rows < M)[:, None] & (k + ks < K)[None, :], other=0)
        y = tl.load(b + columns[None, :] * K + (k + ks)[:, None], (columns < N)[None, :] & (k + ks < K)[:, None], other=0)
        acc = tl.dot(x, y, acc, out_dtype=OUT)
    tl.store(c + rows[:, None] * N + columns[None, :], acc, (rows < M)[:, None] & (columns < N)[None, :])


SHAPES = [(64, 64, 64, (64, 64, 64)), (200, 144, 176, (128, 128, 64)), (136, 272, 0, (128, 256, 64)), (16, 32, 96, (64, 32, 32))]


def integers(m, n, k):
    rng = np.random.default_rng(m + n + k)
    a, b = rng.integers(-128, 128, (m, k), np.int8), rng.integers(-128, 128, (n, k), np.int8)
    return a, b, np.full((m, n), -7, np.int32), a.astype(np.int64) @ b.astype(np.int64).T


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k, tiles", SHAPES)
def test_integers(target, m, n, k, tiles):
    a, b, c, wanted = integers(m, n, k)
    typed(a, b, c, OUT=tl.int32, BM=tiles[0], BN=tiles[1], BK=tiles[2], target=target)
    assert (c == wanted).all()
    assert target != "sm_90a" or "wgmma.mma_async.sync.aligned.m64n%dk32.s32.s8.s8" % tiles[1] in typed.compile(
        a, b, c, OUT=tl.int32, BM=tiles[0], BN=tiles[1], BK=tiles[2]).ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tiles", [(128, 128, 64), (16, 64, 32), (64, 40, 32)])
def test_integers_through_pointers(target, tiles):
    """Large tiles by wgmma; 16 rows, and 40 columns, which wgmma does not have for integers, by mma.sync."""
    m, n, k = 150, 90, 200
    a, b, c, wanted = integers(m, n, k)
    typed_pointers[(tl.cdiv(m, tiles[0]), tl.cdiv(n, tiles[1]))](a, b, c, m, n, k, OUT=tl.int32, BM=tiles[0], BN=tiles[1], BK=tiles[2],
                                                                     target=target)
    assert (c == wanted).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float16, E4M3, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("m, n, k, tiles", SHAPES)
def test_sums_in_half_precision(target, dtype, m, n, k, tiles):
    rng = np.random.default_rng(k)
    a, b = ((rng.standard_normal(shape) / 4).astype(dtype) for shape in ((m, k), (n, k)))
    c = np.full((m, n), np.nan, np.float16)
    typed(a, b, c, OUT=tl.float16, BM=tiles[0], BN=tiles[1], BK=tiles[2], target=target)
    assert close(c, a.astype(np.float64) @ b.astype(np.float64).T, 5e-3)


def test_small_sums_in_half_precision():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((40, 72), (50, 72)))
    c = np.full((40, 50), np.nan, np.float16)
    typed_pointers[(3, 2)](a, b, c, 40, 50, 72, OUT=tl.float16, BM=16, BN=32, BK=16)
    assert close(c, a.astype(np.float64) @ b.astype(np.float64).T, 5e-3)


def test_refused_sums():
    for operands, out, needed in [("bf16", tl.float16, "needed float32"), ("f16", tl.int32, "needed float32 or float16")]:
        signature = {"a": f"*{operands}", "b": f"*{operands}", "c": "*f32", "M": "i32", "N": "i32", "K": "i32"}
        refused(typed_pointers, needed, "tl.dot", signature, OUT=out, BM=64, BN=64, BK=64)


@tl.jit
def product_of_views(a: tl.view, b: tl.view, c: tl.view, TA: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a @ b; a is [K, M] with TA."""
    for m, n in tl.tiles((c.shape[0], BM), (c.shape[1], BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, b.shape[0], BK):
            x = a.load([k, m], [BK, BM]).T if TA else a.load([m, k], [BM, BK])
            acc = tl.dot(x, b.load([k, n], [BK, BN]), acc)
        c.store([m, n], acc.to(c.dtype))


@tl.jit
def product_of_sums(a: tl.view, b: tl.view, v: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, E: tl.constexpr):
    """c = relu(a b^T) v in 8 bits: the operand A of the second product is a sum, the rows of v are its K."""
    for (m,) in tl.tiles((c.shape[0], BM)):
        x = a.load([m, 0], [BM, D])
        acc = tl.zeros((BM, E), tl.float32)
        for n in tl.range(0, b.shape[0], BN):
            s = tl.maximum(tl.dot(x, b.load([n, 0], [BN, D]).T), 0.0)
            acc = tl.dot(s.to(v.dtype), v.load([n, 0], [BN, E]), acc)
        c.store([m, 0], acc.to(c.dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("m, n, k, tiles", [(64, 64, 32, (64, 64, 32)), (208, 208, 176, (64, 128, 128)), (128, 96, 400, (128, 48, 96)), (64, 272, 64, (64, 256, 32)),
                                            (64, 16, 352, (64, 16, 192))])
def test_rows_of_8_bits(target, ta, m, n, k, tiles):
    """Tensor cores read 8 bits along K alone: operands that have K first are transposed on their way, in the order that they have."""
    rng = np.random.default_rng(m + n + k)
    a, b = rng.standard_normal((m, k)).astype(E4M3), rng.standard_normal((k, n)).astype(E4M3)
    c = np.full((m, n), np.nan, np.float32)
    product_of_views(np.ascontiguousarray(a.T) if ta else a, b, c, ta, *tiles, target=target)
    assert close(c, a.astype(np.float64) @ b.astype(np.float64), 2e-3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("t, e, tiles", [(32, 64, (128, 32)), (300, 128, (128, 64)), (500, 48, (128, 96)), (96, 256, (128, 160)), (1, 16, (128, 224))])
def test_rows_of_8_bits_after_sums(target, t, e, tiles):
    """As above where A is computed: on Hopper both sides have the keys in an accumulator's order, which must not be seen in the result."""
    rng = np.random.default_rng(t + e)
    a, b = (rng.integers(-2, 3, (n, 64)).astype(E4M3) for n in (130, t))
    v = rng.standard_normal((t, e)).astype(E4M3)
    c = np.full((130, e), np.nan, np.float32)
    product_of_sums(a, b, v, c, *tiles, 64, e, target=target)
    s = np.maximum(a.astype(np.float64) @ b.astype(np.float64).T, 0).astype(np.float32).astype(E4M3).astype(np.float64)
    assert close(c, s @ v.astype(np.float64), 2e-3)


@tl.jit
def in_place(x, w, M, FIRST: tl.constexpr, BM: tl.constexpr):
    """x = x @ w, or (w @ x).T where x is the second operand: rows of 64 are read and written by the same tile."""
    for m, in tl.tiles((M, BM)):
        rows, columns = m + tl.arange(0, BM), tl.arange(0, 64)
        at, mask = rows[:, None] * 64 + columns[None, :], (rows < M)[:, None]
        square = tl.load(w + columns[:, None] * 64 + columns[None, :])
        tile = tl.load(x + at, mask=mask, other=0.0)
        y = tl.dot(tile, square) if FIRST else tl.dot(square, tile.T).T
        tl.store(x + at, y.to(tl.bfloat16), mask=mask)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("m", [64, 200])
def test_in_place(target, first, m):
    rng = np.random.default_rng(m)
    x, w = rng.standard_normal((m, 64)).astype(BF16), rng.standard_normal((64, 64)).astype(BF16)
    wanted = x.astype(np.float64) @ (w if first else w.T).astype(np.float64)
    in_place(x, w, m, FIRST=first, BM=64, target=target)
    assert close(x, wanted)
