"""The kernel library in the simulator, with all its checks, against NumPy in fp64: odd sizes, layouts, guard bands."""

import math

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from tileloom import kernels

BF16 = ml_dtypes.bfloat16


def error(found, wanted):
    found = np.asarray(found, np.float64)
    return np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30)


def guarded(shape, dtype=BF16, pad=8, fill=7):
    """An array inside of a larger one that is full of `fill`; and the larger one."""
    outer = np.full([extent + 2 * pad for extent in shape], fill).astype(dtype)
    inside = tuple(slice(pad, pad + extent) for extent in shape)
    return outer[inside], outer, inside


def matrix(rng, rows, columns, by_columns=False, dtype=BF16):
    values = rng.standard_normal((columns, rows) if by_columns else (rows, columns)).astype(dtype)
    return values.T if by_columns else values


@pytest.mark.parametrize("layout", ["NT", "NN", "TN", "TT"])
@pytest.mark.parametrize("m, n, k", [(128, 128, 64), (200, 136, 88)])
def test_gemm_layouts(layout, m, n, k):
    rng = np.random.default_rng(m + k)
    a, b = matrix(rng, m, k, layout[0] == "T"), matrix(rng, k, n, layout[1] == "T")
    out, outer, inside = guarded((m, n))
    kernels.gemm(a, b, out)
    assert error(out, a.astype(np.float64) @ b.astype(np.float64)) < 4e-3
    outer[inside] = 7
    assert (outer == 7).all(), "nothing was written beside the matrix"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gemm_output_bias_and_accumulation(dtype):
    rng = np.random.default_rng(3)
    a, b, bias = matrix(rng, 136, 72), matrix(rng, 72, 264, True), rng.standard_normal(264).astype(BF16)
    out = rng.standard_normal((136, 264)).astype(getattr(ml_dtypes, dtype, None) or dtype)
    wanted = a.astype(np.float64) @ b.astype(np.float64) + bias.astype(np.float64) + out.astype(np.float64)
    kernels.gemm(a, b, out, bias=bias, accumulate=True)
    assert error(out, wanted) < 4e-3


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (128, 128, 511), (7, 1, 65), (1, 300, 9), (65, 33, 3)])
@pytest.mark.parametrize("layout", ["NT", "TN"])
def test_gemm_of_any_pitch(layout, m, n, k):
    rng = np.random.default_rng(m * n * k)
    a, b = matrix(rng, m, k, layout[0] == "T"), matrix(rng, k, n, layout[1] == "T")
    bias = rng.standard_normal(n).astype(BF16)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert error(kernels.gemm(a, b), wanted) < 4e-3
    out = np.full((m + 2, n + 3), 7, np.float32)
    kernels.gemm(a, b, out[1:-1, 1:-2], bias=bias, accumulate=True)
    assert error(out[1:-1, 1:-2], wanted + bias.astype(np.float64) + 7) < 1e-5
    out[1:-1, 1:-2] = 7
    assert (out == 7).all()


def test_gemm_without_elements():
    a, b = np.zeros((40, 0), BF16), np.zeros((0, 24), BF16)
    assert not kernels.gemm(a, b).astype(np.float32).any()
    assert kernels.gemm(np.zeros((0, 64), BF16), np.zeros((64, 24), BF16)).shape == (0, 24)


def test_gemm_refuses():
    a, b = np.zeros((64, 64), BF16), np.zeros((64, 64), BF16)

    def refused(message, *arguments, **more):
        with pytest.raises(tl.ArgumentError, match=message):
            kernels.gemm(*arguments, **more)
    refused(r"gemm: 'b' has shape \[32, 64\]; needed 64 rows, as 'a' has 64 columns", a, b[:32])
    refused("gemm: 'b' is of float16; needed bfloat16, as 'a'", a, b.astype(np.float16))
    refused("gemm: 'b' is of bfloat16; needed float32, as 'a'", a.astype(np.float32), b)
    refused("gemm: 'a' is of int8; needed float16 or bfloat16 or float32", a.astype(np.int8), b)
    refused(r"gemm: 'out' has shape \[64, 32\]; needed \[64, 64\]", a, b, np.zeros((64, 32), BF16))
    refused(r"gemm: 'bias' has shape \[32\]; needed one that broadcasts to \[64, 64\]", a, b, bias=np.zeros(32, BF16))
    refused("gemm: 'out' is not given with accumulate", a, b, accumulate=True)


def attention_in_fp64(q, k, v, causal, scale):
    q, k, v = (np.asarray(t, np.float64).transpose(0, 2, 1, 3) for t in (q, k, v))
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * scale
    S, T = scores.shape[-2:]
    if causal:
        scores = np.where(np.arange(T)[None, :] <= np.arange(S)[:, None] + T - S, scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(total > 0, weights / total, 0) @ v
        lse = (top + np.log(total))[..., 0]
    return out.transpose(0, 2, 1, 3), lse


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("batch, s, t, heads, groups, d", [(1, 128, 128, 1, 1, 128), (2, 200, 200, 2, 1, 64), (1, 72, 300, 4, 2, 64), (1, 300, 72, 1, 1, 64)])
def test_attention(causal, batch, s, t, heads, groups, d):
    rng = np.random.default_rng(s + t)
    q = rng.standard_normal((batch, s, heads, d)).astype(BF16)
    k, v = (rng.standard_normal((batch, t, groups, d)).astype(BF16) for _ in range(2))
    out, lse = kernels.attention(q, k, v, causal=causal)
    wanted, wanted_lse = attention_in_fp64(q, k, v, causal, 1 / math.sqrt(d))
    assert error(out, wanted) < 5e-3
    finite = np.isfinite(wanted_lse)
    assert (np.isfinite(lse) == finite).all() and np.abs(lse[finite] - wanted_lse[finite]).max() < 1e-3
    assert (lse[~finite] == -np.inf).all() and not np.isnan(out.astype(np.float32)).any()


def test_attention_refuses():
    q = np.zeros((1, 64, 4, 64), BF16)

    def refused(message, *arguments, **more):
        with pytest.raises(tl.ArgumentError, match=message):
            kernels.attention(*arguments, **more)
    refused("attention: 'q' has head dimension 264; needed 1 to 256", *(np.zeros((1, 64, 4, 264), BF16),) * 3)
    refused("attention: 'k' has 3 heads; needed a divisor of the 4 heads of 'q'", q, q[:, :, :3], q[:, :, :3])
    refused("attention: 'softmax_scale' is -1.0; needed a number above 0", q, q, q, softmax_scale=-1.0)
    refused(r"attention: 'v' has shape \[1, 32, 4, 64\]; needed \[1, 64, 4, 64\]", q, q, q[:, :32])
    refused("attention: 'q' has shape .*; needed four dimensions", q[0], q, q)


@pytest.mark.parametrize("columns", [1, 33, 300, 1024, 2000])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softmax(columns, dtype):
    rng = np.random.default_rng(columns)
    x = rng.standard_normal((3, columns)).astype(getattr(ml_dtypes, dtype, None) or dtype)
    out, outer, inside = guarded((3, columns), x.dtype)
    kernels.softmax(x, out)
    wanted = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    assert error(out, wanted / wanted.sum(1, keepdims=True)) < (1e-6 if dtype == "float32" else 4e-3)
    outer[inside] = 7
    assert (outer == 7).all()


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("columns", [37, 2048])
def test_few_rows(rows, columns):
    x = np.random.default_rng(columns).standard_normal((rows, columns)).astype(np.float32)
    wide, out = x.astype(np.float64), np.full_like(x, np.nan)
    e = np.exp(wide - wide.max(1, keepdims=True))
    assert error(kernels.softmax(x, out), e / e.sum(1, keepdims=True)) < 1e-6
    wanted = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    assert error(kernels.layer_norm(x, out=out), wanted) < 1e-5


@pytest.mark.parametrize("columns", [1, 100, 1000, 4104])
def test_layer_norm(columns):
    rng = np.random.default_rng(columns)
    x = (3 * rng.standard_normal((5, columns)) + 2).astype(np.float32)
    weight, bias = (rng.standard_normal(columns).astype(np.float32) for _ in range(2))
    mean, rstd = np.full(5, np.nan, np.float32), np.full(5, np.nan, np.float32)
    out = kernels.layer_norm(x, weight, bias, mean=mean, rstd=rstd)
    wide = x.astype(np.float64)
    average, spread = wide.mean(1, keepdims=True), 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    assert error(out, (wide - average) * spread * weight + bias) < 1e-5
    assert error(mean, average[:, 0]) < 1e-6 and error(rstd, spread[:, 0]) < 1e-5
    assert error(kernels.layer_norm(x), (wide - average) * spread) < 1e-5


def test_grouped_contiguous():
    rng = np.random.default_rng(5)
    a, b = matrix(rng, 512, 72), rng.standard_normal((3, 136, 72)).astype(BF16)
    a[300:384] = np.nan  # padding
    labels = np.repeat(np.array([2, 0, 1, -1], np.int32), 128)
    labels[200:256] = -1
    labels[300:384] = -1
    out, outer, inside = guarded((512, 136))
    kernels.grouped_gemm_contiguous(a, b, labels, out)
    wanted = np.einsum("mk,mnk->mn", np.nan_to_num(a.astype(np.float64)), b.astype(np.float64)[labels])
    valid = labels >= 0
    assert error(out[valid], wanted[valid]) < 4e-3
    assert (out[~valid].astype(np.float32) == 7).all(), "rows of padding are not written"
    outer[inside] = 7
    assert (outer == 7).all()


def test_grouped_masked():
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((4, 200, 72)).astype(BF16), rng.standard_normal((4, 136, 72)).astype(BF16)
    counts = np.array([200, 0, 33, 129], np.int32)
    out = np.full((4, 200, 136), 7).astype(BF16)
    kernels.grouped_gemm_masked(a, b, counts, out)
    for e, count in enumerate(counts):
        if count:
            assert error(out[e, :count], a[e, :count].astype(np.float64) @ b[e].astype(np.float64).T) < 4e-3
        assert (out[e, count:].astype(np.float32) == 7).all()


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("k", [0, 72])
def test_grouped_masked_in_wide_tiles(target, k):
    """Tiles of more registers than one store through pointers takes, which the last rows of a group go through."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((3, 200, k)).astype(BF16), rng.standard_normal((3, 301, k)).astype(BF16)
    counts = np.array([200, 0, 33], np.int32)
    out, outer, inside = guarded((3, 200, 301))
    kernels.grouped_gemm_masked(a, b, counts, out, BM=128, BN=208, BK=64, schedule={"replicas": 1}, target=target)
    for e, count in enumerate(counts):
        assert np.linalg.norm(out[e, :count] - a[e, :count].astype(np.float64) @ b[e].astype(np.float64).T) <= 4e-3 * np.linalg.norm(out[e, :count].astype(float))
        assert (out[e, count:].astype(np.float32) == 7).all()
    outer[inside] = 7
    assert (outer == 7).all()


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("keys", [1, 161, 400])
def test_attention_in_tiles_of_160_keys(target, keys):
    """The scores of a row take more registers than are kept, in slices that are no power of two."""
    rng = np.random.default_rng(keys)
    q, k, v = (rng.standard_normal((1, rows, 2, 64)).astype(BF16) for rows in (200, keys, keys))
    o, lse = np.full_like(q, np.nan), np.full((1, 2, 200), np.nan, np.float32)
    kernels.attention(q, k, v, o, causal=True, lse=lse, BM=128, BN=160, target=target)
    wanted, wanted_lse = attention_in_fp64(q, k, v, True, 1 / 8)
    assert error(o, wanted) < 5e-3
    seen = np.isfinite(wanted_lse)
    assert error(lse[seen], wanted_lse[seen]) < 1e-4 and np.isinf(lse[~seen]).all()
