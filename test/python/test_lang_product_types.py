"""Products by the types of their elements and sums, in the simulator, against NumPy in fp64: integers, sums in half precision,
operands of 8 bits in either order."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused
from test_lang_products import TARGETS, close

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


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
