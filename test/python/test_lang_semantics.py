"""What operators and functions compute: kernels over views in the simulator, against NumPy."""

import numpy as np
import pytest

import tileloom as tl
from programs import bf16, fp32


@tl.jit
def arithmetic(x: tl.view, y: tl.view, out: tl.view, CASE: tl.constexpr):
    for m, in tl.tiles((x.shape[0], 64)):
        a = x.load([m, 0], [64, 64])
        if CASE not in ("softmax", "index", "mask"):
            b = y.load([m, 0], [64, 64])
        if CASE == "add":
            r = a + b
        elif CASE == "mixed":
            r = 2 * a - b / 4 + (-a) * 0.5
        elif CASE == "divide":
            r = a / b
        elif CASE == "extremes":
            r = tl.maximum(a, b) - tl.minimum(a, 0.25) + tl.clamp(b, -1.0, 1.0)
        elif CASE == "where":
            r = tl.where((a < b) & (a > -1), a, tl.where(a == b, 1.0, b))
        elif CASE == "exponential":
            r = tl.exp(a) + tl.exp2(b) + tl.sigmoid(a)
        elif CASE == "tanh":
            r = tl.tanh(a) + tl.fast_tanh(b) * tl.fast_tanh(0.5)
        elif CASE == "logarithm":
            r = tl.log(tl.abs(a) + 1) + tl.log2(tl.abs(b) + 1) + tl.sqrt(tl.abs(a)) + tl.rsqrt(tl.abs(b) + 1)
        elif CASE == "rows":
            r = a - tl.max(a, 1)[:, None] + tl.sum(b, 1)[:, None]
        elif CASE == "columns":
            r = a - tl.max(a, 0)[None, :] + tl.min(b, 0)[None, :]
        elif CASE == "softmax":
            r = tl.softmax(a, 1)
        elif CASE == "index":
            r = a + tl.arange(0, 64)[:, None] * 2 + (tl.arange(0, 64) % 3)[None, :]
        elif CASE == "distance":
            r = b * ((3 * m + tl.arange(0, 64))[None, :] - (m + tl.arange(0, 64))[:, None]).to(tl.float32) + (m - tl.arange(0, 64)[None, :]).to(tl.float32)
        elif CASE == "mask":
            r = tl.where(m + tl.arange(0, 64)[:, None] < 70, a, 0.0)
        elif CASE == "round":
            r = a.to(tl.bfloat16).to(tl.float32) + b.to(tl.float16).to(tl.float32)
        elif CASE == "integer":
            r = ((a * 10).to(tl.int32) // 3 + (b * 10).to(tl.int32) % 4 - ((a * 10).to(tl.int32) & 6)).to(tl.float32)
        out.store([m, 0], r)


def trunc_divide(a, b):
    return np.trunc(a / b).astype(np.int64)


def expected(case, a, b, m):
    rows, columns = np.arange(64)[:, None], np.arange(64)[None, :]
    ia, ib = np.trunc(np.float32(10) * a.astype(np.float32)).astype(np.int64), np.trunc(np.float32(10) * b.astype(np.float32)).astype(np.int64)
    return {
        "add": lambda: a + b, "mixed": lambda: 2 * a - b / 4 - a * 0.5, "divide": lambda: a / b,
        "extremes": lambda: np.maximum(a, b) - np.minimum(a, 0.25) + np.clip(b, -1, 1),
        "where": lambda: np.where((a < b) & (a > -1), a, np.where(a == b, 1.0, b)),
        "exponential": lambda: np.exp(a) + np.exp2(b) + 1 / (1 + np.exp(-a)),
        "tanh": lambda: np.tanh(a) + np.tanh(b) * np.tanh(0.5),
        "distance": lambda: b * (2 * m + columns - rows) + m - columns,
        "logarithm": lambda: np.log(abs(a) + 1) + np.log2(abs(b) + 1) + np.sqrt(abs(a)) + 1 / np.sqrt(abs(b) + 1),
        "rows": lambda: a - a.max(1, keepdims=True) + b.sum(1, keepdims=True),
        "columns": lambda: a - a.max(0, keepdims=True) + b.min(0, keepdims=True),
        "softmax": lambda: np.exp(a) / np.exp(a).sum(1, keepdims=True),
        "index": lambda: a + rows * 2 + columns % 3, "mask": lambda: np.where(m + rows < 70, a, 0),
        "round": lambda: fp32(bf16(a)) + b.astype(np.float16).astype(np.float64),
        "integer": lambda: trunc_divide(ia, 3) + (ib - 4 * trunc_divide(ib, 4)) - (ia & 6),
    }[case]()


CASES = ["add", "mixed", "divide", "extremes", "where", "exponential", "logarithm", "rows", "columns", "softmax", "index", "mask", "round",
         "integer", "tanh", "distance"]


@pytest.mark.parametrize("case", CASES)
def test_arithmetic(case):
    rng = np.random.default_rng(len(case))
    x, y = rng.standard_normal((2, 128, 64)).astype(np.float32)
    y[::7, ::5] = x[::7, ::5]
    out = np.full_like(x, np.nan)
    arithmetic(x, y, out, case)
    for m in (0, 64):
        a, b = (t[m:m + 64].astype(np.float64) for t in (x, y))
        wanted = expected(case, a, b, m)
        assert np.abs(out[m:m + 64] - wanted).max() <= 3e-6 * np.abs(wanted).max(), case


@tl.jit
def compare_places(out, limit, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(limit)
    value = (at < x).to(tl.int32) + 2 * (at <= x).to(tl.int32) + 4 * (at > x).to(tl.int32) + 8 * (at >= x).to(tl.int32)
    value += 16 * (at == x).to(tl.int32) + 32 * (at != x).to(tl.int32) + 64 * (x < at).to(tl.int32) + 128 * (x >= at).to(tl.int32)
    tl.store(out + at, value)


@pytest.mark.parametrize("limit", [-2**31, -2**31 + 1, -2**31 + 300, -1, 0, 1, 77, 255, 256, 2**31 - 1])
def test_places_against_all_numbers(limit):
    """Places are compared by what a limit is beyond a thread's own: near the ends of int32 that has to saturate."""
    out = np.full(256, -1, np.int32)
    compare_places[(1,)](out, np.array([limit], np.int32), 256)
    at = np.arange(256, dtype=np.int64)
    tests = (at < limit, at <= limit, at > limit, at >= limit, at == limit, at != limit, limit < at, limit >= at)
    assert (out == sum(test * 2**bit for bit, test in enumerate(tests))).all()


@tl.jit
def masked_eighths(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at, at < n, 0.5)
    tl.store(y + at, value)
    tl.store(y + N + at, (value.to(tl.float32) * 2).to(tl.float8e4nv), at < n)


@pytest.mark.parametrize("n", [0, 77, 128])
def test_masked_loads_of_eight_bits(n):
    import ml_dtypes
    x = np.random.default_rng(n).standard_normal(128).astype(ml_dtypes.float8_e4m3fn)
    y = np.full(256, np.nan).astype(x.dtype)
    masked_eighths[(1,)](x, y, n, 128)
    assert (y[:128].astype(np.float32) == np.where(np.arange(128) < n, x.astype(np.float32), 0.5)).all()
    assert (y[128:128 + n].astype(np.float32) == 2 * x[:n].astype(np.float32)).all() and np.isnan(y[128 + n:].astype(np.float32)).all()
