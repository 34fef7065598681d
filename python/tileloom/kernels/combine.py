"""Parts of an attention over keys, put together: out = sum of out_z * exp(lse_z - lse), lse = log(sum of exp(lse_z))."""

import tileloom as tl

from . import arrays
from .online_softmax import LN2, LOG2E
from .overlap import require_own
from .remember import remembered


@tl.jit
def combine_kernel(partial, partial_lse, out: tl.view, lse, splits, counts, rows, step, Z: tl.constexpr, D: tl.constexpr):
    """partial [splits, B, S, H, E], partial_lse [splits, B, S, H]; out [B, S, H, E], lse [B, H, S]. A program for each row (of B * S * H), which reads Z
    parts at a time; step: from row to row. counts: None, or the number of parts of each of B."""
    S, H, E = out.shape[1:]
    r = tl.program_id(0)
    b, i, h = r // (S * H), r // H % S, r % H
    z, d = tl.arange(0, Z), tl.arange(0, D)
    count = splits if counts is None else tl.minimum(tl.load(counts + b), splits)
    top, total, acc = -tl.inf, 0.0, tl.zeros((D,), tl.float32)
    for first in tl.range(0, count, Z):
        part = first + z
        there = part < count
        row = part.to(tl.int64) * rows + r
        own = tl.load(partial_lse + row, there, -tl.inf) * LOG2E
        value = tl.load(partial + row[:, None] * step + d[None, :], there[:, None] & (d < E)[None, :], 0)
        new = tl.maximum(top, tl.max(own, 0))
        shift = tl.where(new == -tl.inf, 0.0, new)
        alpha, weight = tl.exp2(top - shift), tl.exp2(own - shift)
        total = total * alpha + tl.sum(weight, 0)
        acc = acc * alpha + tl.sum(tl.where(weight[:, None] > 0, value * weight[:, None], 0.0), 0)
        top = new
    inverse = tl.where(total > 0, 1.0 / total, 0.0)
    place = b * out.stride(0) + i * out.stride(1) + h * out.stride(2)
    tl.store(out.ptr + place + d, (acc * inverse).to(out.dtype), d < E)
    tl.store(lse + (b * H + h) * S + i, (top + tl.log2(total)) * LN2)


@remembered
def combine(partial, partial_lse, out=None, lse=None, *, counts=None, **launch):
    """partial [splits, B, S, H, E] and partial_lse [splits, B, S, H], both float32 and contiguous (rows may be longer than E): results of
    attention over different keys. Gives (out [B, S, H, E], lse [B, H, S]) over all of them; a part without keys has -inf (and anything), a row
    without keys gives zeros and -inf. counts [B], int32: only so many parts of each of B are there."""
    name = "combine"
    given, own = arrays.facts_of(partial, name, "partial"), arrays.facts_of(partial_lse, name, "partial_lse")
    arrays.require_rank(given, 5, name, "partial", "[splits, batch, length, heads, head dimension]")
    splits, B, S, H, E = given.shape
    arrays.require_type(given, (tl.float32,), name, "partial")
    step = given.strides[3]
    arrays.require(given.strides == (B * S * H * step, S * H * step, H * step, step, 1) or 0 in given.shape, name, "partial",
                   f"has strides {list(given.strides)}", "a contiguous tensor, but for its rows")
    arrays.require_contiguous(own, (splits, B, S, H), tl.float32, name, "partial_lse", "by the shape of 'partial'")
    arrays.require(E <= 512, name, "partial", f"has head dimension {E}", "at most 512")
    given_counts = {}
    if counts is not None:
        given_counts["counts"] = arrays.facts_of(counts, name, "counts")
        arrays.require_contiguous(given_counts["counts"], (B,), tl.int32, name, "counts", "by the batch of 'partial'")
    out = arrays.empty(partial, (B, S, H, E), tl.float32) if out is None else out
    lse = arrays.empty(partial, (B, H, S), tl.float32) if lse is None else lse
    results = {"out": arrays.facts_of(out, name, "out"), "lse": arrays.facts_of(lse, name, "lse")}
    arrays.require_shape(results["out"], (B, S, H, E), name, "out", "by the shape of 'partial'")
    arrays.require_type(results["out"], (*arrays.HALF, tl.float32), name, "out")
    arrays.require(E < 2 or results["out"].strides[-1] == 1, name, "out", f"has strides {list(results['out'].strides)}", "a last stride of 1")
    arrays.require_contiguous(results["lse"], (B, H, S), tl.float32, name, "lse", "by the shape of 'partial'")
    arrays.require_device(("partial", given), {"partial_lse": own, **given_counts, **results}, name)
    require_own(name, results, {"partial": given, "partial_lse": own, **given_counts})
    if B * S * H * E:
        width = max(16, tl.next_power_of_2(E))
        parts = min(tl.next_power_of_2(splits), 8192 // width)
        combine_kernel[(B * S * H,)](partial, partial_lse, out, lse, splits, counts, B * S * H, step, parts, width, **launch)
    return out, lse
