"""Tiles put together, taken apart and turned round, scans and reductions by a function, in the simulator, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused

TARGETS = ["sm_90a", "sm_100a"]


@tl.jit
def rearranged(x, y, joined, first, second, turned, mixed, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    at = rows * N + columns
    a, b = tl.load(x + at), tl.load(y + at)
    pair = tl.join(a, b)
    tl.store(joined + at[:, :, None] * 2 + tl.arange(0, 2)[None, None, :], pair)
    p, q = tl.split(pair)
    tl.store(first + at, p)
    tl.store(second + at, q)
    tl.store(turned + at, tl.flip(a, 1))
    tl.store(mixed + rows * (2 * N) + tl.arange(0, 2 * N)[None, :], tl.interleave(a, b))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n", [(8, 32), (1, 2), (16, 64)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "int64", "float8_e4m3fn", "float8_e5m2"])
def test_rearranged(target, m, n, dtype):
    rng = np.random.default_rng(m)
    dtype = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    x, y = (rng.integers(-100, 100, (m, n)).astype(dtype) for _ in range(2))
    joined, mixed = np.full((m, n, 2), 1, dtype), np.full((m, 2 * n), 1, dtype)
    first, second, turned = (np.full((m, n), 1, dtype) for _ in range(3))
    rearranged[(1,)](x, y, joined, first, second, turned, mixed, M=m, N=n, target=target)
    assert (joined == np.stack([x, y], -1)).all() and (first == x).all() and (second == y).all()
    assert (turned == x[:, ::-1]).all() and (mixed == np.stack([x, y], -1).reshape(m, 2 * n)).all()


@tl.jit
def split_of_signs(x, out):
    p, q = tl.split(tl.load(x + tl.arange(0, 8)[:, None] * 2 + tl.arange(0, 2)[None, :]))
    tl.store(out + tl.arange(0, 8), p)
    tl.store(out + 8 + tl.arange(0, 8), q)


def test_split_keeps_the_bits():
    x = np.array([[-0.0, np.nan], [np.inf, -0.0], [0.0, -np.inf], [1e-40, -1e-40]] * 2, np.float32)
    out = np.zeros((2, 8), np.float32)
    split_of_signs[(1,)](x, out)
    assert (out.view(np.uint32) == x.T.copy().view(np.uint32)).all()


@tl.jit
def larger(a, b):
    return tl.maximum(a, b)


@tl.jit
def product(a, b):
    return b * a


@tl.jit
def scanned(x, out, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(out + at, tl.cumsum(v, AXIS, reverse=REVERSE))
    tl.store(out + M * N + at, tl.cumprod(v, AXIS, reverse=REVERSE))
    tl.store(out + 2 * M * N + at, tl.associative_scan(v, AXIS, larger, reverse=REVERSE))
    tl.store(out + 3 * M * N + at, tl.associative_scan(v, AXIS, product))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(axis, reverse):
    rng = np.random.default_rng(axis)
    x = (1 + 0.1 * rng.standard_normal((16, 64))).astype(np.float32)
    out = np.full((4, 16, 64), np.nan, np.float32)
    scanned[(1,)](x, out, AXIS=axis, REVERSE=reverse, M=16, N=64)
    wide = x.astype(np.float64)
    turn = (lambda v: np.flip(v, axis)) if reverse else (lambda v: v)
    for found, wanted in zip(out, (turn(np.cumsum(turn(wide), axis)), turn(np.cumprod(turn(wide), axis)),
                                   turn(np.maximum.accumulate(turn(wide), axis)), np.cumprod(wide, axis))):
        assert np.abs(found / wanted - 1).max() < 1e-5


@tl.jit
def reduced(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    rows = tl.arange(0, M)
    tl.store(out + rows, tl.reduce(v, 1, product))
    best, where = tl.max(v, 1, return_indices=True)
    tl.store(out + M + rows, best)
    tl.store(out + 2 * M + rows, where)
    tl.store(out + 3 * M + rows, tl.argmin(v, 1))
    least, at_least = tl.min(v, 0, return_indices=True)
    columns = tl.arange(0, N)
    tl.store(out + 4 * M + columns, at_least)
    tl.store(out + 4 * M + N, tl.reduce(v, None, larger))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n", [(16, 32), (64, 24)])
def test_reductions(target, m, n):
    x = np.random.default_rng(n).uniform(0.8, 1.2, (m, n)).astype(np.float32)
    x[:, 5] = x[:, 7]  # equal ones: the first counts
    out = np.full(4 * m + n + 1, np.nan, np.float32)
    reduced[(1,)](x, out, M=m, N=n, target=target)
    parts = np.split(out, [m, 2 * m, 3 * m, 4 * m, 4 * m + n])
    wide = x.astype(np.float64)
    assert np.abs(parts[0] / wide.prod(1) - 1).max() < 1e-5
    assert (parts[1] == x.max(1)).all() and (parts[2] == x.argmax(1)).all() and (parts[3] == x.argmin(1)).all()
    assert (parts[4] == x.argmin(0)).all() and parts[5][0] == x.max()


@tl.jit
def cube(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Three dimensions: loads, element-wise code, reductions along each, another shape, another order."""
    at = (tl.arange(0, A)[:, None, None] * B + tl.arange(0, B)[None, :, None]) * C + tl.arange(0, C)[None, None, :]
    v = tl.load(x + at) * 2.0 + 1.0
    tl.store(out + tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :], tl.sum(v, 0))
    tl.store(out + B * C + tl.arange(0, A)[:, None] * C + tl.arange(0, C)[None, :], tl.max(v, 1))
    tl.store(out + (A + B) * C + tl.arange(0, A * B), tl.sum(v.reshape(A * B, C), 1))


@pytest.mark.parametrize("target", TARGETS)
def test_three_dimensions(target):
    a, b, c = 4, 8, 32
    x = np.random.default_rng(0).standard_normal((a, b, c)).astype(np.float32)
    out = np.full((a + b) * c + a * b, np.nan, np.float32)
    cube[(1,)](x, out, A=a, B=b, C=c, target=target)
    v = x.astype(np.float64) * 2 + 1
    assert np.abs(out[:b * c].reshape(b, c) - v.sum(0)).max() < 1e-5
    assert np.abs(out[b * c:(a + b) * c].reshape(a, c) - v.max(1)).max() < 1e-6
    assert np.abs(out[(a + b) * c:] - v.sum(2).reshape(-1)).max() < 1e-4


@tl.jit
def swizzled(out, GROUP: tl.constexpr):
    i, j = tl.swizzle2d(tl.program_id(0) // 5, tl.program_id(0) % 5, 7, 5, GROUP)
    tl.store(out + tl.program_id(0), i * 5 + j)


@pytest.mark.parametrize("group", [1, 3, 7])
def test_swizzle(group):
    out = np.full(35, -1, np.int32)
    swizzled[(35,)](out, GROUP=group)
    wanted = [(first + row) * 5 + column for first in range(0, 7, group) for column in range(5) for row in range(min(group, 7 - first))]
    assert list(out) == wanted


@tl.jit
def units(x, out):
    value = tl.load(x + tl.arange(0, 64).reshape(4, 16))
    tall = tl.unsqueeze(value, 1)
    tl.static_assert(tall.shape == (4, 1, 16) and tl.unsqueeze(value, -1).shape == (4, 16, 1))
    tl.store(out + tl.arange(0, 64).reshape(4, 16), tl.add(tl.mul(tl.squeeze(tall, -2), 3), tl.sub(value, 1.0)))


def test_dimensions_of_one():
    x, out = np.arange(64, dtype=np.float32), np.full(64, np.nan, np.float32)
    units[(1,)](x, out)
    assert (out == 4 * x - 1).all()


# Errors -----------------------------------------------------------------------------------------

@tl.jit
def squeezed(x):
    tl.squeeze(tl.load(x + tl.arange(0, 16)), 0)


def test_squeeze_of_another_extent():
    refused(squeezed, "tl.squeeze: extent 0 of float32[16] is 16; needed 1", "tl.squeeze(", {"x": "*f32"})


@tl.jit
def split_of_three(x):
    tl.split(tl.load(x + tl.arange(0, 16)))


def test_split_of_another_extent():
    refused(split_of_three, "tl.split of float32[16]; needed a last dimension of extent 2", "tl.split(", {"x": "*f32"})
