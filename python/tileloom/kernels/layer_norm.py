"""Layer norm along the rows of a matrix, forward."""

import tileloom as tl

from . import arrays
from .softmax import warps


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


def layer_norm(x, weight=None, bias=None, out=None, *, epsilon=1e-5, mean=None, rstd=None, **launch):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias for every row of x [rows, columns]. weight, bias: [columns] or None. mean, rstd:
    [rows] in float32, both or neither, to be filled in."""
    name = "layer_norm"
    given = arrays.facts_of(x, name, "x")
    arrays.require_rank(given, 2, name, "x", "a matrix")
    arrays.require_type(given, (*arrays.HALF, tl.float32), name, "x")
    rows, columns = given.shape
    arrays.require(columns <= 65536, name, "x", f"has {columns} columns", "at most 65536")
    arrays.require(columns < 2 or given.strides[1] == 1, name, "x", f"has strides {list(given.strides)}", "a last stride of 1")
    out = arrays.empty(x, (rows, columns), given.dtype) if out is None else out
    result = arrays.facts_of(out, name, "out")
    arrays.require_shape(result, (rows, columns), name, "out", "as 'x'")
    arrays.require(columns < 2 or result.strides[1] == 1, name, "out", f"has strides {list(result.strides)}", "a last stride of 1")
    others = {"out": result}
    for own, value, length in (("weight", weight, columns), ("bias", bias, columns), ("mean", mean, rows), ("rstd", rstd, rows)):
        if value is not None:
            others[own] = arrays.facts_of(value, name, own)
            arrays.require_shape(others[own], (length,), name, own, "by the shape of 'x'")
    arrays.require((mean is None) == (rstd is None), name, "rstd", "and 'mean' are not given together", "both or neither")
    arrays.require_device(("x", given), others, name)
    if rows and columns:
        block = max(tl.next_power_of_2(columns), 32)
        layer_norm_kernel[(rows,)](x, out, weight, bias, mean, rstd, given.strides[0], result.strides[0], columns, float(epsilon), block,
                                   **{"num_warps": warps(block), **launch})
    return out
