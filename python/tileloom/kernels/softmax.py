"""Softmax along the rows of a matrix: one program a row, the row in registers."""

import tileloom as tl

from . import arrays


@tl.jit
def softmax_kernel(out, x, out_stride, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + at, at < columns, -tl.inf).to(tl.float32)
    e = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * out_stride + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), at < columns)


def softmax(x, out=None, **launch):
    """Softmax of every row of x [rows, columns] (float16, bfloat16 or float32; at most 65536 columns)."""
    name = "softmax"
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
    arrays.require_device(("x", given), {"out": result}, name)
    if rows and columns:
        block = max(tl.next_power_of_2(columns), 32)
        softmax_kernel[(rows,)](out, x, result.strides[0], given.strides[0], columns, block,
                                **{"num_warps": warps(block), **launch})
    return out


def warps(block):
    """Warps for a row of `block` elements, measured on an H200: 32 elements a thread up to 4096, 64 at most above."""
    return 4 if block <= 4096 else 8 if block <= 8192 else 16
