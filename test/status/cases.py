"""What docs/status.md is about: the tile programs and the kernel library, feature by feature, each with arrays and what fp64 says.

A case is a function of (run, large): `run` launches, and the case gives [(found, wanted, tolerance)]. With `large` it only has to launch at a
size of real work, so that what is assembled is also what the host would choose there; nothing reads the arrays then.
"""

import math
import os
import sys

import ml_dtypes
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from attention_reference import alibi, alibi_numpy, batch as attention_reference, sequence  # noqa: E402
from tileloom import kernels  # noqa: E402

BF16 = ml_dtypes.bfloat16
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs")
CASES = {}  # (program, feature): function(run, large)


def case(program, feature, **fixed):
    """Decorators apply from the last to the first: the table's rows are in that order."""
    def add(function):
        CASES[program, feature] = lambda run, large: function(run, large, **fixed)
        return function
    return add


def error(found, wanted):
    """The norm of the difference, relative; infinite if a NaN was left."""
    found = np.asarray(found).astype(np.float64)
    value = np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30)
    return value if math.isfinite(value) else math.inf


def values(shape, large, dtype=BF16, seed=0):
    return np.zeros(shape, dtype) if large else np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def poison(shape, large, dtype=BF16):
    return np.zeros(shape, dtype) if large else np.full(shape, np.nan, dtype)


def wide(array):
    return array.astype(np.float64)


# Tile programs ----------------------------------------------------------------------------------

@case("gemm.mlir", "NT, ragged")
def tile_gemm(run, large):
    m, n, k = 200, 328, 456
    a, b, c = values((m, k), False), values((n, k), False), poison((m, n), False)
    run.tile("gemm", a, b, c, m, n, k)
    return [(c, wide(a) @ wide(b).T, 4e-3)]


@case("attention.mlir", "D 128, ragged")
def tile_attention(run, large):
    batch, length, heads = 1, 200, 2
    q, k, v = (values((batch, length, heads, 128), False, seed=seed) for seed in range(3))
    o, lse = poison(q.shape, False), poison((batch, heads, length), False, np.float32)
    run.tile("attention", q, k, v, o, lse, batch, heads, length, 128**-0.5 * math.log2(math.e))
    wanted, wanted_lse = attention_in_fp64(q, k, v, False)
    return [(o, wanted, 5e-3), (lse, wanted_lse, 1e-4)]


@case("moe.mlir", "rows sorted by expert, padding")
def tile_moe(run, large):
    rows, n, k = 384, 136, 200
    labels = np.repeat(np.array([1, -1, -1, 0], np.int32), [70, 58, 128, 128])
    a, b, c = values((rows, k), False), values((3, n, k), False), poison((rows, n), False)
    run.tile("moe", a, b, c, c, labels, rows, n, k)
    used = labels >= 0
    wanted = np.einsum("ik,ink->in", wide(a), wide(b)[np.maximum(labels, 0)])
    return [(c[used], wanted[used], 4e-3)]


@case("moe_masked.mlir", "a count of rows for each expert")
def tile_moe_masked(run, large):
    m, n, k, counts = 200, 136, 200, np.array([200, 129, 64], np.int32)
    a, b, c = values((3, m, k), False), values((3, n, k), False), poison((3, m, n), False)
    run.tile("moe_masked", a, b, c, c, counts, 3, m, n, k)
    wanted = np.einsum("eik,enk->ein", wide(a), wide(b))
    return [(c[e, :count], wanted[e, :count], 4e-3) for e, count in enumerate(counts)]


@case("mlp.mlir", "two chained products, tanh between")
def tile_mlp(run, large):
    rows, features = 200, 192
    x, w1, w2, y = values((rows, 64), False), values((features, 64), False), values((64, features), False), poison((rows, 64), False)
    run.tile("mlp", x, w1, w2, y, rows, features)
    h = wide(x) @ wide(w1).T
    g = 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h**3)))
    return [(y, g @ wide(w2).T, 8e-3)]


@case("scaled.mlir", "an operand made in registers")
def tile_scaled(run, large):
    rows, columns, k = 200, 136, 200
    x, w, s = values((rows, k), False), values((columns, k), False), values((rows,), False, np.float32)
    y = poison((rows, columns), False, np.float32)
    run.tile("scaled", x, w, s, y, rows, columns, k)
    return [(y, (wide(x) * wide(s)[:, None]) @ wide(w).T, 4e-3)]


@case("square.mlir", "a loop of copies without products")
def tile_square(run, large):
    x, y = values((200, 136), False, np.float32), poison((200, 136), False, np.float32)
    run.tile("square", x, y, 200, 136)
    return [(y, wide(x)**2 + 1, 1e-6)]


@case("twice.mlir", "two sums that share loads")
def tile_twice(run, large):
    rows, k = 200, 200
    a, b, c = values((rows, k), False), values((64, k), False), values((64, k), False, seed=9)
    d1, d2 = (poison((rows, 64), False, np.float32) for _ in range(2))
    run.tile("twice", a, b, c, d1, d2, rows, k)
    return [(d1, wide(a) @ wide(b).T, 1e-4), (d2, wide(a) @ wide(c).T, 1e-4)]


@case("decay.mlir", "a sum scaled between products")
def tile_decay(run, large):
    rows, k = 200, 200
    a, b, f = values((rows, k), False), values((256, k), False), np.random.default_rng(3).random(rows).astype(np.float32)
    d = poison((rows, 256), False, np.float32)
    run.tile("decay", a, b, f, d, rows, k)
    wanted = np.ones((rows, 256))
    for at in range(0, k, 64):
        wanted = wanted * wide(f)[:, None] + wide(a)[:, at:at + 64] @ wide(b)[:, at:at + 64].T
    return [(d, wanted, 1e-5)]


@case("gated.mlir", "two products make one operand")
def tile_gated(run, large):
    rows, features = 200, 200
    x, g, u, w = values((rows, 64), False), values((features, 64), False), values((features, 64), False, seed=9), values((64, features), False)
    y = poison((rows, 64), False)
    run.tile("gated", x, g, u, w, y, rows, features)
    return [(y, (wide(x) @ wide(u).T / (1 + np.exp(-(wide(x) @ wide(g).T)))) @ wide(w).T, 8e-3)]


@case("rms.mlir", "rows of a product normalised")
def tile_rms(run, large):
    rows, k = 200, 200
    a, b, y = values((rows, k), False), values((256, k), False), poison((rows, 256), False)
    run.tile("rms", a, b, y, rows, k)
    d = wide(a) @ wide(b).T
    return [(y, d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-12), 4e-3)]


# The kernel library -----------------------------------------------------------------------------

@case("gemm", "NT, 64 rows", layout="NT", rows=64)
@case("gemm", "NT, f32 out", layout="NT", out=np.float32)
@case("gemm", "NT, accumulate", layout="NT", accumulate=True)
@case("gemm", "NT, bias", layout="NT", bias=True)
@case("gemm", "NT, fp16", layout="NT", dtype=np.float16)
@case("gemm", "TT", layout="TT")
@case("gemm", "TN", layout="TN")
@case("gemm", "NN", layout="NN")
@case("gemm", "NT", layout="NT")
def gemm(run, large, layout, dtype=BF16, out=None, bias=False, accumulate=False, rows=None):
    """layout: of a and b; T as in BLAS for a; NT is the usual product with the weights of a linear layer, [N, K]."""
    m, n, k = (rows or 4096, 4096, 7168) if large else (rows or 200, 136, 200)
    a = values((k, m), large, dtype).T if layout[0] == "T" else values((m, k), large, dtype)
    b = values((n, k), large, dtype).T if layout[1] == "T" else values((k, n), large, dtype)
    row = values((n,), large, dtype) if bias else None
    c = values((m, n), large, out or dtype, seed=1) if accumulate else poison((m, n), large, out or dtype)
    before = None if large else wide(c)
    run.kernel(kernels.gemm, a, b, c, bias=row, accumulate=accumulate)
    if large:
        return []
    wanted = wide(a) @ wide(b) + (wide(row) if bias else 0) + (before if accumulate else 0)
    return [(c, wanted, 1e-5 if out is np.float32 else 4e-3)]


@case("gemm", "NT, bias and gelu", activation="gelu")
@case("gemm", "NT, bias and silu", activation="silu")
def gemm_activation(run, large, activation):
    m, n, k = (4096, 4096, 7168) if large else (200, 136, 200)
    a, b, row, c = values((m, k), large), values((n, k), large).T, values((n,), large), poison((m, n), large)
    run.kernel(kernels.gemm, a, b, c, bias=row, activation=activation)
    if large:
        return []
    v = wide(a) @ wide(b) + wide(row)
    return [(c, v * (1 + np.vectorize(math.erf)(v / math.sqrt(2))) / 2 if activation == "gelu" else v / (1 + np.exp(-v)), 4e-3)]


@case("gemm", "NT, residual, row amax")
def gemm_residual(run, large):
    m, n, k = (4096, 4096, 7168) if large else (200, 136, 200)
    a, b, residual, c = values((m, k), large), values((n, k), large).T, values((m, n), large, seed=1), poison((m, n), large)
    amax = np.zeros(m, np.float32)
    run.kernel(kernels.gemm, a, b, c, residual=residual, row_amax=amax)
    wanted = None if large else wide(a) @ wide(b) + wide(residual)
    return [] if large else [(c, wanted, 4e-3), (amax, np.abs(wanted).max(1), 1e-5)]


@case("gemm", "NT, batch of 3")
def gemm_batched(run, large):
    m, n, k = (4096, 4096, 7168) if large else (200, 136, 200)
    a, b, c = values((3, m, k), large), values((3, n, k), large).swapaxes(1, 2), poison((3, m, n), large)
    run.kernel(kernels.gemm, a, b, c)
    return [] if large else [(c, wide(a) @ wide(b), 4e-3)]


@case("gemm", "NT, float32 as tf32", dtype=np.float32, tolerance=1.5e-3)
@case("gemm", "NT, fp8, scales of rows and columns", dtype=ml_dtypes.float8_e4m3fn, scaled=True, tolerance=4e-3)
def gemm_narrow(run, large, dtype, tolerance, scaled=False):
    m, n, k = (4096, 4096, 7168) if large else (200, 136, 208)
    a, b, c = values((m, k), large, dtype), values((n, k), large, dtype).T, poison((m, n), large, np.float32)
    x, y = (np.abs(values((extent,), False, np.float32)) for extent in (m, n))
    run.kernel(kernels.gemm, a, b, c, **(dict(scale_a=x, scale_b=y) if scaled else {}))
    return [] if large else [(c, wide(a) @ wide(b) * (x[:, None] * y if scaled else 1), tolerance)]


@case("gemm_swiglu", "NT")
def gemm_swiglu(run, large):
    m, n, k = (4096, 4096, 7168) if large else (200, 136, 200)
    a, b, c = values((m, k), large), values((2 * n, k), large).T, poison((m, n), large)
    run.kernel(kernels.gemm_swiglu, a, b, c)
    if large:
        return []
    both = wide(a) @ wide(b)
    return [(c, both[:, ::2] / (1 + np.exp(-both[:, ::2])) * both[:, 1::2], 5e-3)]


def attention_in_fp64(q, k, v, causal):
    q, k, v = (wide(t).transpose(0, 2, 1, 3) for t in (q, k, v))
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
    rows, columns = scores.shape[-2:]
    if causal:
        scores = np.where(np.arange(columns)[None, :] <= np.arange(rows)[:, None] + columns - rows, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    return (weights / total @ v).transpose(0, 2, 1, 3), (top + np.log(total))[..., 0]


@case("attention", "D 256, causal", d=256, causal=True)
@case("attention", "D 256", d=256)
@case("attention", "D 128, causal, more keys than queries", d=128, causal=True, keys=328)
@case("attention", "D 128, causal, GQA", d=128, causal=True, heads=4, groups=2)
@case("attention", "D 128, causal", d=128, causal=True)
@case("attention", "D 128", d=128)
@case("attention", "D 64, causal", d=64, causal=True)
@case("attention", "D 64", d=64)
def attention(run, large, d, causal=False, heads=1, groups=1, keys=200):
    batch, s, t, h, g = (4, 4096, 4096 + 8 * (keys > 200), 16, 16 * groups // heads) if large else (1, 200, keys, heads, groups)
    q, o = values((batch, s, h, d), large), poison((batch, s, h, d), large)
    k, v = (values((batch, t, g, d), large, seed=seed) for seed in (1, 2))
    lse = poison((batch, h, s), large, np.float32)
    run.kernel(kernels.attention, q, k, v, o, causal=causal, lse=lse)
    if large:
        return []
    wanted, wanted_lse = attention_in_fp64(q, k, v, causal)
    return [(o, wanted, 5e-3), (lse, wanted_lse, 1e-4)]


@case("attention", "float8, causal", causal=True, dtype=ml_dtypes.float8_e4m3fn, tolerance=0.025)
@case("attention", "score_mod", score_mod=alibi)
@case("attention", "softcap, sinks, causal", softcap=20.0, sinks=True, causal=True)
@case("attention", "chunks, causal", attention_chunk=100, causal=True)
@case("attention", "window", window=(100, 30))
@case("attention", "D 192 and 128, causal", d=192, e=128, causal=True)
@case("attention", "D 96, float16", d=96, e=96, dtype=np.float16)
def attention_arguments(run, large, d=128, e=128, dtype=BF16, tolerance=5e-3, sinks=False, score_mod=None, **options):
    b, s, t, h, g = (4, 4096, 4096, 16, 4) if large else (1, 200, 264, 4, 2)
    q, k, v = (values(shape, large, dtype, seed) for seed, shape in enumerate(((b, s, h, d), (b, t, g, d), (b, t, g, e))))
    o, lse = poison((b, s, h, e), large, BF16 if dtype is ml_dtypes.float8_e4m3fn else dtype), poison((b, h, s), large, np.float32)
    own, reference = dict(options), dict(options)
    if sinks:
        own["sinks"] = reference["sinks"] = np.linspace(-1, 1, h, dtype=np.float32)
    if score_mod is not None:
        slopes = np.linspace(0, 0.1, h, dtype=np.float32)
        own.update(score_mod=score_mod, mod_arguments=(slopes,))
        reference["score"] = alibi_numpy(slopes)
    run.kernel(kernels.attention, q, k, v, o, lse=lse, **own)
    if large:
        return []
    wanted, wanted_lse = attention_reference(q, k, v, **reference)
    return [(o, wanted, tolerance), (lse, wanted_lse, 1e-3)]


@case("attention_varlen", "causal, unused rows are NaN", causal=True)
@case("attention_varlen", "D 128")
def attention_varlen(run, large, causal=False, d=128):
    lengths = [4096] * 4 if large else [70, 1, 140]
    h, g = (16, 4) if large else (4, 2)
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    used = np.array([n - n // 4 for n in lengths], np.int32)
    q, k, v = (values((sum(lengths), heads, d), large, seed=seed) for seed, heads in enumerate((h, g, g)))
    o, lse = poison(q.shape, large), poison((h, len(q)), large, np.float32)
    for tensor in () if large else (k, v):
        for b, n in enumerate(used):
            tensor[starts[b] + n:starts[b + 1]] = np.nan
    run.kernel(kernels.attention_varlen, q, k, v, o, lse=lse, cu_seqlens_q=starts, cu_seqlens_k=starts, seqused_k=used, max_seqlen_q=max(lengths), causal=causal)
    if large:
        return []
    wanted = [sequence(q[i:i + n], k[i:i + m], v[i:i + m], causal=causal) for i, n, m in zip(starts, lengths, used)]
    return [(o, np.concatenate([out for out, _ in wanted]), 5e-3), (np.where(np.isinf(lse), 0, lse), np.nan_to_num(np.concatenate([lse for _, lse in wanted], 1), neginf=0), 1e-3)]


@case("attention_kvcache", "three parts of the keys", splits=3)
@case("attention_kvcache", "pages of 16", page=16)
@case("attention_kvcache", "pages of 3", page=3)
@case("attention_kvcache", "grouped heads")
def attention_kvcache(run, large, page=None, splits=1, d=128):
    b, t, h, g = (32, 8190 if page == 3 else 8192, 64, 8) if large else (3, 192, 14, 2)
    lengths = np.full(b, t, np.int32) if large else np.array([150, 1, 192], np.int32)
    q, k, v = (values(shape, large, seed=seed) for seed, shape in enumerate(((b, 1, h, d), (b, t, g, d), (b, t, g, d))))
    o, lse = poison(q.shape, large), poison((b, h, 1), large, np.float32)
    for i, n in enumerate(() if large else lengths):
        k[i, n:], v[i, n:] = np.nan, np.nan
    caches, more = (k, v), {}
    if page:
        order = np.random.default_rng(0).permutation(b * t // page).astype(np.int32)
        more["page_table"] = order.reshape(b, -1)
        caches = [tensor.reshape(-1, page, g, d)[np.argsort(order)] if not large else tensor.reshape(-1, page, g, d) for tensor in (k, v)]
    run.kernel(kernels.attention_kvcache, q, *caches, o, lse=lse, cache_seqlens=lengths, num_splits=splits, **more)
    if large:
        return []
    wanted = [sequence(q[i], k[i, :n], v[i, :n]) for i, n in enumerate(lengths)]
    return [(o, np.stack([out for out, _ in wanted]), 5e-3), (lse, np.stack([lse for _, lse in wanted]), 1e-3)]


@case("grouped_gemm_contiguous", "rows sorted by group, padding")
def contiguous(run, large):
    groups, m, n, k = (8, 4096, 4096, 7168) if large else (3, 384, 136, 136)
    a, b, c = values((m, k), large), values((groups, n, k), large), values((m, n), large, seed=3)
    labels = np.repeat(np.arange(m // 128, dtype=np.int32) % groups, 128)
    labels[200:256] = -1
    wanted = None if large else np.where((labels >= 0)[:, None], np.einsum("mk,mnk->mn", wide(a), wide(b)[labels]), wide(c))
    run.kernel(kernels.grouped_gemm_contiguous, a, b, labels, c)
    return [] if large else [(c, wanted, 4e-3)]


@case("grouped_gemm_masked", "a count of rows for each group")
def masked(run, large):
    groups, m, n, k = (8, 4096, 4096, 7168) if large else (3, 200, 136, 136)
    a, b, c = values((groups, m, k), large), values((groups, n, k), large), values((groups, m, n), large, seed=3)
    counts = np.array(([200, 0, 33] * 3)[:groups], np.int32)
    wanted = None
    if not large:
        wanted = np.where(np.arange(m)[None, :, None] < counts[:, None, None], wide(a) @ wide(b).transpose(0, 2, 1), wide(c))
    run.kernel(kernels.grouped_gemm_masked, a, b, counts, c)
    return [] if large else [(c, wanted, 4e-3)]


@case("softmax", "f32", dtype=np.float32, tolerance=1e-6)
@case("softmax", "bf16", dtype=BF16, tolerance=4e-3)
def softmax(run, large, dtype, tolerance):
    x = values((4096, 4096) if large else (3, 1000), large, dtype)
    out = poison(x.shape, large, dtype)
    run.kernel(kernels.softmax, x, out)
    if large:
        return []
    e = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    return [(out, e / e.sum(1, keepdims=True), tolerance)]


@case("layer_norm", "f32, weight and bias", dtype=np.float32, tolerance=1e-5)
@case("layer_norm", "bf16, weight and bias", dtype=BF16, tolerance=4e-3)
def layer_norm(run, large, dtype, tolerance):
    rows, columns = (4096, 4096) if large else (3, 1000)
    x, weight, bias = values((rows, columns), large, dtype), values((columns,), large, dtype), values((columns,), large, dtype, seed=5)
    out, mean, rstd = poison(x.shape, large, dtype), poison((rows,), large, np.float32), poison((rows,), large, np.float32)
    run.kernel(kernels.layer_norm, x, weight, bias, out, mean=mean, rstd=rstd)
    if large:
        return []
    average, spread = wide(x).mean(1, keepdims=True), 1 / np.sqrt(wide(x).var(1, keepdims=True) + 1e-5)
    return [(out, (wide(x) - average) * spread * wide(weight) + wide(bias), tolerance), (mean, average[:, 0], 1e-5), (rstd, spread[:, 0], 1e-5)]
