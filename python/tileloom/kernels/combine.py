"""Parts of an attention over keys, put together: out = sum of out_z * exp(lse_z - lse), lse = log(sum of exp(lse_z))."""

import tileloom as tl

from . import arrays
from .online_softmax import LN2, LOG2E


@tl.jit
def combine_kernel(partial, partial_lse, out: tl.view, lse, splits, rows, step, BM: tl.constexpr, D: tl.constexpr):
    """partial [splits, B, S, H, E], partial_lse [splits, B, S, H]; out [B, S, H, E], lse [B, H, S]. rows: B * S * H; step: from row to row."""
    S, H, E = out.shape[1:]
    r, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    there = r < rows
    mask = there[:, None] & (d < E)[None, :]
    top = tl.full((BM,), -tl.inf, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for z in tl.range(splits):
        own = tl.load(partial_lse + z.to(tl.int64) * rows + r, there, -tl.inf) * LOG2E
        value = tl.load(partial + (z.to(tl.int64) * rows + r)[:, None] * step + d[None, :], mask, 0)
        new = tl.maximum(top, own)
        shift = tl.where(new == -tl.inf, 0.0, new)
        alpha, weight = tl.exp2(top - shift), tl.exp2(own - shift)
        total = total * alpha + weight
        acc = acc * alpha[:, None] + value * weight[:, None]
        top = new
    inverse = tl.where(total > 0, 1.0 / total, 0.0)
    b, i, h = r // (S * H), r // H % S, r % H
    place = b * out.stride(0) + i * out.stride(1) + h * out.stride(2)
    tl.store(out.ptr + place[:, None] + d[None, :], (acc * inverse[:, None]).to(out.dtype), mask)
    tl.store(lse + (b * H + h) * S + i, (top + tl.log2(total)) * LN2, there)


def combine(partial, partial_lse, out=None, lse=None, **launch):
    """partial [splits, B, S, H, E] and partial_lse [splits, B, S, H], both float32 and contiguous (rows may be longer than E): results of attention over different keys. Gives (out [B, S, H, E],
    lse [B, H, S]) over all of them; a part without keys has -inf (and numbers), a row without keys gives zeros and -inf."""
    name = "combine"
    given, own = arrays.facts_of(partial, name, "partial"), arrays.facts_of(partial_lse, name, "partial_lse")
    arrays.require_rank(given, 5, name, "partial", "[splits, batch, length, heads, head dimension]")
    splits, B, S, H, E = given.shape
    arrays.require_type(given, (tl.float32,), name, "partial")
    step = given.strides[3]
    arrays.require(given.strides == (B * S * H * step, S * H * step, H * step, step, 1) or 0 in given.shape, name, "partial", f"has strides {list(given.strides)}",
                   "a contiguous tensor, but for its rows")
    arrays.require_contiguous(own, (splits, B, S, H), tl.float32, name, "partial_lse", "by the shape of 'partial'")
    arrays.require(E <= 256, name, "partial", f"has head dimension {E}", "at most 256")
    out = arrays.empty(partial, (B, S, H, E), tl.float32) if out is None else out
    lse = arrays.empty(partial, (B, H, S), tl.float32) if lse is None else lse
    results = {"out": arrays.facts_of(out, name, "out"), "lse": arrays.facts_of(lse, name, "lse")}
    arrays.require_shape(results["out"], (B, S, H, E), name, "out", "by the shape of 'partial'")
    arrays.require_type(results["out"], (*arrays.HALF, tl.float32), name, "out")
    arrays.require(E < 2 or results["out"].strides[-1] == 1, name, "out", f"has strides {list(results['out'].strides)}", "a last stride of 1")
    arrays.require_contiguous(results["lse"], (B, H, S), tl.float32, name, "lse", "by the shape of 'partial'")
    arrays.require_device(("partial", given), {"partial_lse": own, **results}, name)
    if B * S * H * E:
        width = max(16, tl.next_power_of_2(E))
        block = max(1, 512 // width)
        combine_kernel[(-(-B * S * H // block),)](partial, partial_lse, out, lse, splits, B * S * H, step, block, width, **launch)
    return out, lse
