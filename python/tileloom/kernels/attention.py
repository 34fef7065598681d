"""Attention, forward: softmax(q k^T * scale) v, with the online softmax of FlashAttention."""

import math

import tileloom as tl

from . import arrays


@tl.jit(candidates={"BM": (128, 192), "BN": (128, 160, 112, 96, 64)})
def attention_kernel(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, scale, CAUSAL: tl.constexpr,
                     BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto):
    """q, o [B, S, H, D]; k, v [B, T, G, D], H a multiple of G; lse [B, H, S], float32; scale > 0 includes log2(e).
    With CAUSAL, query i sees the keys up to i + T - S."""
    B, S, H = q.shape[:3]
    T, G = k.shape[1:3]
    D: tl.constexpr = q.shape[3]
    for b, h, m in tl.tiles(B, H, (S, BM)):
        g = h // (H // G)
        rows = m + tl.arange(0, BM)
        qt = q.load([b, m, h, 0], [BM, D])
        acc = tl.zeros((BM, D), tl.float32)
        top = tl.full((BM,), -tl.inf, tl.float32)
        total = tl.zeros((BM,), tl.float32)
        stop = tl.minimum(T, m + BM + T - S) if CAUSAL else T
        tiles = tl.maximum(tl.cdiv(stop, BN), 1)  # without keys, one tile that nobody sees
        for j in tl.range(tiles):  # the last tile first: the mask cuts only those that come first
            n = (tiles - 1 - j) * BN
            s = tl.dot(qt, k.load([b, n, g, 0], [1, BN, 1, D]).reshape(BN, D).T)
            columns = n + tl.arange(0, BN)
            seen = columns[None, :] <= rows[:, None] + (T - S) if CAUSAL else columns[None, :] < T
            s = tl.where(seen, s, -tl.inf)
            new = tl.maximum(top, tl.max(s, 1))
            shift = tl.where(new == -tl.inf, 0.0, new)  # a row that has seen no key yet
            p = tl.exp2(s * scale - (shift * scale)[:, None])
            alpha = tl.exp2((top - shift) * scale)
            total = total * alpha + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype), v.load([b, n, g, 0], [1, BN, 1, D]).reshape(BN, D), acc * alpha[:, None])
            top = new
        inverse = tl.where(total > 0, 1.0 / total, 0.0)
        o.store([b, m, h, 0], (acc * inverse[:, None]).to(o.dtype))
        if lse is not None:
            tl.store(lse + (b.to(tl.int64) * H + h) * S + rows, (top * scale + tl.log2(total)) * 0.6931471805599453, rows < S)


def attention(q, k, v, out=None, *, causal=False, scale=None, lse=None, **launch):
    """q [B, S, H, D], k and v [B, T, G, D] in float16 or bfloat16, H a multiple of G, D 64, 128 or 256; any S and T. Gives (out, lse): out
    [B, S, H, D], lse [B, H, S] in float32 (natural logarithm). scale: by default 1/sqrt(D). With `causal`, query i sees the keys up to
    i + T - S. A row that sees no key gives zeros and -inf. Tensors whose
    rows do not start at multiples of 16 bytes go through a padded copy. launch: BM, BN, schedule, stream, target."""
    name = "attention"
    given = {own: arrays.facts_of(value, name, own) for own, value in (("q", q), ("k", k), ("v", v))}
    for own, tensor in given.items():
        arrays.require_rank(tensor, 4, name, own, "four dimensions: batch, length, heads, head dimension")
        arrays.require_type(tensor, arrays.HALF, name, own)
        arrays.require(tensor.dtype is given["q"].dtype, name, own, f"is of {tensor.dtype}", f"{given['q'].dtype}, as 'q'")
    (B, S, H, D), (_, T, G, _) = given["q"].shape, given["k"].shape
    arrays.require(D in (64, 128, 256), name, "q", f"has head dimension {D}", "64, 128 or 256")
    for own in ("k", "v"):
        arrays.require_shape(given[own], (B, T, G, D), name, own, "by the shapes of 'q' and 'k'")
    arrays.require(G > 0 and H % G == 0, name, "k", f"has {G} heads", f"a divisor of the {H} heads of 'q'")
    scale = 1 / math.sqrt(D) if scale is None else float(scale)
    arrays.require(scale > 0 and math.isfinite(scale), name, "scale", f"is {scale}", "a number above 0")
    out = arrays.empty(q, (B, S, H, D), given["q"].dtype) if out is None else out
    lse = arrays.empty(q, (B, H, S), tl.float32) if lse is None else lse
    results = {"out": arrays.facts_of(out, name, "out"), "lse": arrays.facts_of(lse, name, "lse")}
    arrays.require_shape(results["out"], (B, S, H, D), name, "out", "as 'q'")
    arrays.require_type(results["out"], (*arrays.HALF, tl.float32), name, "out")
    arrays.require_shape(results["lse"], (B, H, S), name, "lse", "by the shape of 'q'")
    arrays.require(results["lse"].strides == (H * S, S, 1), name, "lse", f"has strides {list(results['lse'].strides)}", "a contiguous tensor")
    arrays.require_type(results["lse"], (tl.float32,), name, "lse")
    arrays.require_device(("q", given["q"]), {**given, **results}, name)
    if B * S * H:
        result = arrays.boxed(out, results["out"], fill=False)
        q, k, v = (arrays.boxed(value, given[own]) for own, value in (("q", q), ("k", k), ("v", v)))
        attention_kernel(q, k, v, result, lse, scale * math.log2(math.e), bool(causal), **launch)
        if result is not out:
            out[...] = result
    return out, lse
