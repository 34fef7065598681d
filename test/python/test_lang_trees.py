"""Reductions, scans and orders by any function, in the simulator, against NumPy."""

import numpy as np
import pytest

import tileloom as tl
from dsl import refused

TARGETS = ["sm_90a", "sm_100a"]


@tl.jit
def best(value_a, index_a, value_b, index_b):
    """The larger value and its index; of equal ones the first."""
    take = (value_b > value_a) | ((value_b == value_a) & (index_b < index_a))
    return tl.where(take, value_b, value_a), tl.where(take, index_b, index_a)


@tl.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    return mean_a + delta * count_b / count, m2_a + m2_b + delta * delta * count_a * count_b / count, count


@tl.jit
def affine(a, b, c, d):
    """x -> a x + b, then x -> c x + d: associative, not commutative."""
    return a * c, b * c + d


@tl.jit
def bits_or(a, b):
    return a | b


@tl.jit
def reduced(x, out, places, moments, mask, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    most, place = tl.reduce((value, tl.broadcast_to(tl.arange(0, N)[None, :], (M, N))), 1, best)
    tl.store(out + tl.arange(0, M), most)
    tl.store(places + tl.arange(0, M), place)
    mean, m2, count = tl.reduce((value, tl.zeros_like(value), tl.full_like(value, 1.0)), None, welford)
    tl.store(moments, mean)
    tl.store(moments + 1, m2 / count)
    tl.store(mask + tl.arange(0, N), tl.reduce((value * 8).to(tl.int32), 0, bits_or))
    tl.store(mask + N, tl.xor_sum((value * 8).to(tl.int32)))
    tl.store(mask + N + 1, tl.reduce_or((value * 8).to(tl.int32), None))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n", [(8, 64), (1, 32), (16, 1)])
def test_reductions(target, m, n):
    rng = np.random.default_rng(m)
    x = rng.integers(-50, 50, (m, n)).astype(np.float32)
    out, places, moments = np.full(m, np.nan, np.float32), np.full(m, -1, np.int32), np.full(2, np.nan, np.float32)
    mask = np.full(n + 2, 7, np.int32)
    reduced[(1,)](x, out, places, moments, mask, M=m, N=n, target=target)
    assert (out == x.max(1)).all() and (places == x.argmax(1)).all()
    assert np.allclose(moments, (x.astype(np.float64).mean(), x.astype(np.float64).var()), rtol=1e-5, atol=1e-4)
    integers = (x * 8).astype(np.int32)
    assert (mask[:n] == np.bitwise_or.reduce(integers, 0)).all() and mask[n] == np.bitwise_xor.reduce(integers, None)
    assert mask[n + 1] == np.bitwise_or.reduce(integers, None)


@tl.jit
def recurrence(a, b, out, back, M: tl.constexpr, N: tl.constexpr):
    """h[i] = a[i] h[i - 1] + b[i] along each row, from both ends."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x, y = tl.load(a + at), tl.load(b + at)
    _, h = tl.associative_scan((x, y), 1, affine)
    tl.store(out + at, h)
    _, h = tl.associative_scan((x, y), 1, affine, reverse=True)
    tl.store(back + at, h)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n", [(4, 64), (2, 1), (1, 256)])
def test_recurrence(target, m, n):
    rng = np.random.default_rng(n)
    a, b = rng.uniform(-1, 1, (m, n)).astype(np.float32), rng.standard_normal((m, n)).astype(np.float32)
    out, back = (np.full((m, n), np.nan, np.float32) for _ in range(2))
    recurrence[(1,)](a, b, out, back, M=m, N=n, target=target)
    for found, order in ((out, range(n)), (back, range(n - 1, -1, -1))):
        h = np.zeros(m)
        for i in order:
            h = a[:, i].astype(np.float64) * h + b[:, i]
            assert np.allclose(found[:, i], h, rtol=1e-4, atol=1e-5)


@tl.jit
def ordered(x, up, down, top, both, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    tl.store(up + at, tl.sort(value))
    tl.store(down + at, tl.sort(value, 1, descending=True))
    tl.store(top + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], tl.topk(value, K))
    tl.store(both + tl.arange(0, 2 * N), tl.cat(tl.load(x + tl.arange(0, N)), tl.load(x + tl.arange(0, N)) * 2, can_reorder=True))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "int64"])
@pytest.mark.parametrize("m, n, k", [(4, 32, 4), (1, 128, 128), (2, 2, 1)])
def test_orders(target, m, n, k, dtype):
    if target == "sm_100a" and dtype != "float32":
        pytest.skip("types do not depend on the target")
    rng = np.random.default_rng(n)
    x = rng.integers(0, 100, (m, n)).astype(dtype) if np.dtype(dtype).kind == "u" else (rng.standard_normal((m, n)) * 50).astype(dtype)
    up, down, top, both = np.full_like(x, 3), np.full_like(x, 3), np.zeros((m, k), x.dtype), np.zeros(2 * n, x.dtype)
    ordered[(1,)](x, up, down, top, both, M=m, N=n, K=k, target=target)
    wanted = np.sort(x, 1)
    assert (up == wanted).all() and (down == wanted[:, ::-1]).all() and (top == wanted[:, ::-1][:, :k]).all()
    assert (both == np.concatenate([x[0], x[0] * 2])).all()


@tl.jit
def merged(x, up, down, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(up + at, tl.bitonic_merge(tl.load(x + at)))
    tl.store(down + at, tl.bitonic_merge(tl.load(x + at), descending=True))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 2, 64])
def test_merge(target, n):
    x = np.random.default_rng(n).integers(-99, 99, n).astype(np.int32)
    x = np.concatenate([np.sort(x[:n // 2]), np.sort(x[n // 2:])[::-1]])
    up, down = np.zeros(n, np.int32), np.zeros(n, np.int32)
    merged[(1,)](x, up, down, N=n, target=target)
    assert (up == np.sort(x)).all() and (down == np.sort(x)[::-1]).all()


@tl.jit
def along(x, up, low, turned, first, second, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    """Everything along the second of three dimensions."""
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    at = (i * B + j) * C + k
    value = tl.load(x + at)
    tl.store(up + at, tl.sort(value, 1))
    tl.store(low + (i * K + tl.arange(0, K)[None, :, None]) * C + k, tl.topk(value, K, 1, descending=False))
    tl.store(turned + at, tl.flip(value, -2))
    tl.store(first + (tl.arange(0, 2 * A)[:, None, None] * B + j) * C + k, tl.cat(value, value + 1))
    tl.store(second + (i * 2 * B + tl.arange(0, 2 * B)[None, :, None]) * C + k, tl.cat(value, value + 1, dim=1))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape, k", [((2, 8, 4), 2), ((1, 16, 8), 16), ((4, 4, 16), 1)])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_other_dimensions(target, shape, k, dtype):
    a, b, c = shape
    x = np.random.default_rng(b).integers(-50, 50, shape).astype(dtype)
    up, turned, low, first, second = (np.full(s, 77, dtype) for s in (shape, shape, (a, k, c), (2 * a, b, c), (a, 2 * b, c)))
    along[(1,)](x, up, low, turned, first, second, A=a, B=b, C=c, K=k, target=target)
    wanted = np.sort(x, 1)
    assert (up == wanted).all() and (low == wanted[:, :k]).all() and (turned == x[:, ::-1]).all()
    assert (first == np.concatenate([x, x + 1])).all() and (second == np.concatenate([x, x + 1], 1)).all()


# Errors -----------------------------------------------------------------------------------------

@tl.jit
def one_of_two(a, b, c, d):
    return a + c


@tl.jit
def half_given(x):
    value = tl.load(x + tl.arange(0, 16))
    tl.reduce((value, value), 0, one_of_two)


@tl.jit
def of_24(x):
    tl.sort(tl.load(x + tl.arange(0, 24)))


@tl.jit
def no_function(x):
    tl.associative_scan(tl.load(x + tl.arange(0, 16)), 0, max)


@tl.jit
def three_of_them(x):
    tl.topk(tl.load(x + tl.arange(0, 16)), 3)


@tl.jit
def unlike(x):
    tl.cat(tl.load(x + tl.arange(0, 16)), tl.arange(0, 16))


def test_refused():
    where = {"x": "*f32"}
    refused(half_given, "tl.reduce: combine_fn 'one_of_two' gives float32[8]; needed float32[8], float32[8], as it takes", "tl.reduce(", where)
    refused(of_24, "tl.sort: extent 0 of float32[24] is 24; needed a power of two", "tl.sort(", where)
    refused(unlike, "tl.cat of float32[16] and int32[16]; needed two tiles of one type and shape", "tl.cat(", where)
    refused(no_function, "tl.associative_scan: combine_fn is ", "tl.associative_scan(", where)
    refused(three_of_them, "tl.topk: k is 3; needed a power of two, at most 16", "tl.topk(", where)
