"""Layer norm along the rows of a matrix, forward."""

import tileloom as tl

from . import arrays
from .overlap import require_own
from .remember import remembered


@tl.jit
def layer_norm_kernel(x, out, weight, bias, mean, rstd, x_stride, out_stride, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row.to(tl.int64) * x_stride + at, inside, 0).to(tl.float32)
    center = tl.sum(value, 0) / columns
    shifted = tl.where(inside, value - center, 0.0)
    scale = tl.rsqrt(tl.sum(shifted * shifted, 0) / columns + epsilon)
    result = shifted * scale
    if weight is not None:
        result = result * tl.load(weight + at, inside, 0).to(tl.float32)
    if bias is not None:
        result = result + tl.load(bias + at, inside, 0).to(tl.float32)
    tl.store(out + row.to(tl.int64) * out_stride + at, result.to(out.dtype.element_ty), inside)
    if mean is not None:
        tl.store(mean + row, center)
        tl.store(rstd + row, scale)


@remembered
def layer_norm(x, weight=None, bias=None, out=None, *, epsilon=1e-5, mean=None, rstd=None, **launch):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias for every row of x [rows, columns]. weight, bias: [columns] or None. mean, rstd:
    [rows] in float32, both or neither, to be filled in."""
    name = "layer_norm"
    out, given, result = arrays.row_kernel(name, x, out)
    rows, columns = given.shape
    others = {"out": result}
    for own, value, length in (("weight", weight, columns), ("bias", bias, columns), ("mean", mean, rows), ("rstd", rstd, rows)):
        if value is not None:
            others[own] = arrays.facts_of(value, name, own)
            dtype = others[own].dtype if own in ("weight", "bias") else tl.float32
            arrays.require_type(others[own], (*arrays.HALF, tl.float32), name, own)
            arrays.require_contiguous(others[own], (length,), dtype, name, own, "by the shape of 'x'")
    arrays.require((mean is None) == (rstd is None), name, "rstd", "and 'mean' are not given together", "both or neither")
    arrays.require(arrays.is_number(epsilon) and not isinstance(epsilon, bool), name, "epsilon", f"is {epsilon!r}", "a number")
    arrays.require_device(("x", given), others, name)
    results = {own: tensor for own, tensor in others.items() if own in ("out", "mean", "rstd")}
    require_own(name, results, {"x": given, **{own: others[own] for own in ("weight", "bias") if own in others}}, same=("x",))
    if rows and columns:
        block = max(tl.next_power_of_2(columns), 32)
        layer_norm_kernel[(rows,)](x, out, weight, bias, mean, rstd, given.strides[0], result.strides[0], columns, float(epsilon), block,
                                   **{"num_warps": arrays.row_warps(block, 4, rows), **launch})
    return out
