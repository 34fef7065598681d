"""Products with scales of blocks along K, in the simulator, against NumPy in fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused
from test_lang_products import TARGETS, close

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


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
