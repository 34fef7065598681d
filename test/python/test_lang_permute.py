"""Dimensions in any order: tl.permute and tl.trans of tiles of any rank, in the simulator, against NumPy."""

import math

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused, tile

FLOATS = {"x": "*f32", "out": "*f32"}
TARGETS = ["sm_90a", "sm_100a"]
DTYPES = [np.float32, ml_dtypes.bfloat16, np.int8, np.float16, np.int32, np.uint8, ml_dtypes.float8_e4m3fn, np.int64]


@tl.jit
def permuted(x, out, SHAPE: tl.constexpr, ORDER: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at.reshape(SHAPE))
    result = tl.permute(value, ORDER)
    tl.store(out + at.reshape(result.shape), result)


def random_case(seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 6))
    while True:
        shape = tuple(int(e) for e in rng.choice([1, 2, 3, 4, 5, 8, 16, 24, 32], rank))
        count = math.prod(shape)
        if 16 <= count <= 4096 and (count & (count - 1) == 0 or count % 8 == 0):
            return shape, tuple(int(d) for d in rng.permutation(rank)), DTYPES[seed % len(DTYPES)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(32))
def test_random_orders(target, seed):
    shape, order, dtype = random_case(seed)
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 100, shape).astype(dtype)
    out = np.full(x.transpose(order).shape, 77).astype(dtype)
    permuted[(1,)](x, out, SHAPE=shape, ORDER=order, N=x.size, target=target)
    assert (out == x.transpose(order)).all(), (shape, order, dtype)


@tl.jit
def chain(x, out, sums, most, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    value = tl.load(x + (i * B + j) * C + k)
    turned = value.permute(2, 0, 1)                          # [C, A, B]
    tl.store(sums + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :], tl.sum(turned, 0))
    tl.store(most + tl.arange(0, C)[:, None] * B + tl.arange(0, B)[None, :], tl.max(turned, 1))
    flat = (turned + turned.permute((0, 1, 2))).reshape(C * A, B)
    back = tl.trans(flat).reshape(B, C, A).trans(2, 0, 1)    # [A, B, C]
    tl.store(out + (i * B + j) * C + k, back)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(4, 8, 16), (16, 2, 32), (24, 8, 8), (1, 16, 8), (32, 8, 40)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_chains(target, shape, dtype):
    a, b, c = shape
    x = np.random.default_rng(a).integers(-50, 50, shape).astype(dtype)
    out, sums, most = np.full(shape, np.nan, dtype), np.full((a, b), np.nan, dtype), np.full((c, b), np.nan, np.float32)
    chain[(1,)](x, out, sums, most, A=a, B=b, C=c, target=target)
    assert (out == 2 * x).all() and (sums == x.sum(2)).all() and (most == x.transpose(2, 0, 1).max(1)).all()


@tl.jit
def heads_first(x: tl.view, out: tl.view, H: tl.constexpr, D: tl.constexpr, BS: tl.constexpr):
    """[S, H, D] to [H, S, D], a block of rows at a time."""
    for s, in tl.tiles((x.shape[0], BS)):
        out.store([0, s, 0], x.load([s, 0, 0], [BS, H, D]).permute(1, 0, 2))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("s, h, d", [(64, 4, 32), (50, 8, 16), (16, 2, 64), (1, 4, 64)])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float32, np.uint8])
def test_views(target, s, h, d, dtype):
    x = np.random.default_rng(s).integers(0, 90, (s, h, d)).astype(dtype)
    out = np.full((h, s, d), 99).astype(dtype)
    heads_first(x, out, H=h, D=d, BS=16, target=target)
    assert (out == x.transpose(1, 0, 2)).all()


@tl.jit
def product(x, w, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, N: tl.constexpr):
    """out[B * A, N] = x[A, B, C] with its first two dimensions swapped, by w[C, N]."""
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    left = tl.load(x + (i * B + j) * C + k).permute(1, 0, 2).reshape(B * A, C)
    right = tl.load(w + tl.arange(0, C)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + tl.arange(0, B * A)[:, None] * N + tl.arange(0, N)[None, :], tl.dot(left, right))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("a, b, c, n", [(8, 16, 32, 32), (4, 4, 64, 16), (32, 4, 16, 64)])
def test_products(target, a, b, c, n):
    rng = np.random.default_rng(a)
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((a, b, c), (c, n)))
    out = np.full((b * a, n), np.nan, np.float32)
    product[(1,)](x, w, out, A=a, B=b, C=c, N=n, target=target)
    assert np.allclose(out, x.transpose(1, 0, 2).reshape(b * a, c).astype(np.float64) @ w.astype(np.float64), atol=1e-3)


@tl.jit
def swapped(x, out):
    at = tl.arange(0, 64).reshape(2, 4, 8)
    tl.store(out + tl.arange(0, 64).reshape(2, 8, 4), tl.load(x + at).T)


def test_without_an_order_the_last_two_are_swapped():
    x, out = np.arange(64, dtype=np.float32), np.full(64, np.nan, np.float32)
    swapped[(1,)](x, out)
    assert (out.reshape(2, 8, 4) == x.reshape(2, 4, 8).swapaxes(1, 2)).all()


def test_text():
    @tl.jit
    def kernel(x, out):
        value = tl.load(x + tl.arange(0, 512).reshape(4, 8, 16))
        tl.store(out + tl.arange(0, 512).reshape(16, 4, 8), value.permute(2, 0, 1))
        tl.store(out + tl.arange(0, 512).reshape(4, 16, 8), value.trans())
        tl.store(out + tl.arange(0, 512).reshape(4, 1, 8, 16), value.reshape(4, 8, 16, 1).permute(0, 3, 1, 2))
    text = tile(kernel, {"x": "*f32", "out": "*f32"})
    assert " [2, 0, 1] : tensor<4x8x16xf32> -> tensor<16x4x8xf32>" in text
    assert text.count("tile.trans") == 2 and " : tensor<4x8x16xf32> -> tensor<4x16x8xf32>" in text


def test_refused_orders():
    @tl.jit
    def twice(x, out):
        tl.store(out, tl.permute(tl.load(x + tl.arange(0, 64).reshape(4, 4, 4)), 0, 1, 1))
    refused(twice, "tl.permute: dimensions [0, 1, 1] of float32[4, 4, 4]; needed an order of 0 to 2", "tl.permute", FLOATS)

    @tl.jit
    def few(x, out):
        tl.store(out, tl.load(x + tl.arange(0, 64).reshape(4, 4, 4)).trans(1, 0))
    refused(few, "tl.trans: dimensions [1, 0] of float32[4, 4, 4]; needed an order of 0 to 2", "tl.load(x", FLOATS)

    @tl.jit
    def vector(x, out):
        tl.store(out, tl.trans(tl.load(x + tl.arange(0, 64))))
    refused(vector, "tl.trans of float32[64]; needed two dimensions or more", "tl.trans", FLOATS)
