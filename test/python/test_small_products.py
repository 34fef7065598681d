"""Products too small for wgmma, whose operands are computed: mma.sync has its operands in another order at every width of elements."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl


@tl.jit
def product(x, y, out, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, KIND: tl.constexpr, DTYPE: tl.constexpr):
    """out[M, N] = f(x[M, K]) @ g(y[K, N]), both converted to DTYPE; K a multiple of BK."""
    i, j = tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BK):
        c = k + tl.arange(0, BK)
        a, b = tl.load(x + i[:, None] * K + c[None, :]), tl.load(y + c[:, None] * N + j[None, :])
        if KIND == "convert":
            a, b = a.to(DTYPE), b.to(DTYPE)
        elif KIND == "choose":
            a, b = tl.where(a > 0, a.to(DTYPE), (0.5 * a).to(DTYPE)).to(DTYPE), tl.where(b < 0, b, -b).to(DTYPE)
        elif KIND == "scale":
            a, b = (a.to(tl.float32) * 0.5).to(DTYPE), (b.to(tl.float32) + c[:, None].to(tl.float32)).to(DTYPE)
        acc = tl.dot(a, b, acc)
    tl.store(out + i[:, None] * N + j[None, :], acc)


TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8": ml_dtypes.float8_e4m3fn, "i8": np.int8}


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("kind", ["convert", "choose", "scale"])
@pytest.mark.parametrize("source, to", [("f32", "f16"), ("f32", "bf16"), ("f16", "f32"), ("bf16", "f16"), ("f8", "f16"), ("f16", "f8"), ("i8", "f16"), ("f16", "f16")])
@pytest.mark.parametrize("shape", [(16, 32, 32, 96), (32, 16, 64, 64)])
def test_computed_operands(shape, source, to, kind, target):
    m, n, bk, k = shape
    rng = np.random.default_rng(k + m)
    x, y = ((4 * rng.random(own) - 2).round(4).astype(TYPES[source]) if source != "i8" else rng.integers(-5, 6, own, np.int8) for own in ((m, k), (k, n)))
    out = np.full((m, n), np.nan, np.float32)
    dtype = {"f16": tl.float16, "bf16": tl.bfloat16, "f32": tl.float32, "f8": tl.float8e4nv}[to]
    product[(1,)](x, y, out, k, M=m, N=n, BK=bk, KIND=kind, DTYPE=dtype, target=target)

    def rounded(values):  # a product of f32 takes ten bits of the fraction
        return values if to == "f32" else values.astype(np.float32).astype(TYPES[to]).astype(np.float64)

    a, b = x.astype(np.float64), y.astype(np.float64)
    if kind == "choose":
        a, b = np.where(a > 0, a, 0.5 * a), -np.abs(b)
    elif kind == "scale":
        a, b = 0.5 * a, b + np.arange(k)[:, None]
    wanted = rounded(a) @ rounded(b)
    assert np.linalg.norm(out - wanted) < 2e-3 * np.linalg.norm(wanted)
