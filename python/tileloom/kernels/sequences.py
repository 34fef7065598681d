"""Sequences within tensors of rows: where each begins and ends is read on the device, and copies of boxes end where it ends.

The hardware's copies leave out what lies outside of a tensor, not of a sequence in it. So the tensor [rows, G, D] gets a descriptor of five dimensions,
(_, row, n, G, D), of which the first three walk over rows. Addresses are sums modulo 2^64, so an index 2^30 with a step of 2^34 bytes less a row takes 2^30
rows off, and n, which may go to 2^30, can begin at 2^30 - size: rows from `size` on are outside (as in Triton's ragged descriptors).
"""

import tileloom as tl


@tl.jit
def sequence(b, starts, used, batch_rows, length, most):
    """(first row, number of rows) of sequence b: from `starts`, or batch_rows * b and `length`; at most used[b] rows, and `most`."""
    if starts is None:
        first, size = b * batch_rows, length
    else:
        first = tl.load(starts + b)
        size = tl.minimum(tl.load(starts + b + 1) - first, most)
    if used is not None:
        size = tl.minimum(size, tl.load(used + b))
    return first, size


@tl.jit
def _descriptor(x: tl.view, BM: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr = 1):
    step = x.stride(-3)
    far: tl.constexpr = (1 << 34) // (x.dtype.primitive_bitwidth // 8)
    return tl.make_tensor_descriptor(x.ptr, [0x7fff0000, 0x7fff0000, 1 << 30, x.shape[-2], x.shape[-1]], [far - step, step, step, x.stride(-2), 1],
                                     [1, 1, BM // HEADS, HEADS, D])


@tl.jit
def load_rows(x: tl.view, place, n, BM: tl.constexpr, D: tl.constexpr, column=0, HEADS: tl.constexpr = 1):
    """The rows from n on of a sequence in x [..., rows, G, columns] as a tile [BM, D] of the columns from `column` on; zeros beyond its end. place:
    (first row, number of rows, head). HEADS: so many heads from this one on of each row, one below the other."""
    first, size, g = place
    return _descriptor(x, BM, D, HEADS).load([1 << 30, first + size, (1 << 30) - size + n, g, column]).reshape(BM, D)


@tl.jit
def store_rows(x: tl.view, place, n, value, HEADS: tl.constexpr = 1):
    """Stores a tile [BM, D] at the rows from n on; what lies beyond the end of the sequence is left out."""
    first, size, g = place
    BM, D = value.shape
    _descriptor(x, BM, D, HEADS).store([1 << 30, first + size, (1 << 30) - size + n, g, 0], value.reshape(1, 1, BM // HEADS, HEADS, D))


@tl.jit
def load_pages(x: tl.view, place, n, BM: tl.constexpr, D: tl.constexpr, column=0):
    """The same of a sequence in pages of x [pages, PAGE, G, D]; PAGE is a multiple or a divisor of BM. place: (its row of the table
    of pages, rows from page to page, number of rows, head, PAGE)."""
    table, step, size, g, PAGE = place
    BOX: tl.constexpr = min(PAGE, BM)
    last = tl.maximum(size - 1, 0) // PAGE  # beyond it the table may have ended
    boxes = ()
    for part in tl.static_range(BM // BOX):
        row = n + part * BOX
        page = row // PAGE
        rows = tl.maximum(tl.minimum(size - page * PAGE, PAGE), 0)
        first = tl.load(table + tl.minimum(page, last)) * step
        boxes = boxes + ((1 << 30, first + rows, (1 << 30) - rows + row - page * PAGE, g, column),)
    return _descriptor(x, BOX, D).load(boxes).reshape(BM, D)


@tl.jit
def gather_pages(x: tl.view, place, n, BM: tl.constexpr, D: tl.constexpr, column=0):
    """The same for any PAGE, row by row."""
    table, _, size, g, PAGE = place
    rows, columns = n + tl.arange(0, BM), column + tl.arange(0, D)
    inside = rows < size
    page = tl.load(table + rows // PAGE, inside, 0).to(tl.int64)
    start = page * x.stride(0) + (rows % PAGE) * x.stride(1) + g * x.stride(2)
    return tl.load(x.ptr + start[:, None] + columns[None, :], inside[:, None] & (columns < x.shape[3])[None, :], 0)
