"""Softmax along the rows of a matrix: one program a row, the row in registers."""

import tileloom as tl

from . import arrays
from .overlap import require_own
from .remember import remembered


@tl.jit
def softmax_kernel(out, x, out_stride, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + at, at < columns, -tl.inf).to(tl.float32)
    e = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * out_stride + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), at < columns)


@remembered
def softmax(x, out=None, **launch):
    """Softmax of every row of x [rows, columns] (float16, bfloat16 or float32; at most 65536 columns)."""
    out, given, result = arrays.row_kernel("softmax", x, out)
    rows, columns = given.shape
    arrays.require_device(("x", given), {"out": result}, "softmax")
    require_own("softmax", {"out": result}, {"x": given}, same=("x",))
    if rows and columns:
        block = max(tl.next_power_of_2(columns), 32)
        softmax_kernel[(rows,)](out, x, result.strides[0], given.strides[0], columns, block,
                                **{"num_warps": arrays.row_warps(block, 2, rows), **launch})
    return out
