"""Parts of the keys of a tile of rows as items of work: which keys a part has, and how the last one to arrive puts all of them together."""

import tileloom as tl

from . import arrays
from .online_softmax import LN2, LOG2E, finish


@tl.jit
def part(tiles, z, splits):
    """Part z of `splits` of the tiles of keys; at least one tile, which nobody sees if none is left."""
    count, end = tiles
    each = tl.cdiv(count, splits)
    start = end - count + z * each
    count = tl.maximum(tl.minimum(each, end - start), 1)
    return count, start + count


@tl.jit
def rows_of_heads(group, m, R: tl.constexpr, ROWS: tl.constexpr, BM: tl.constexpr):
    """A tile of BM rows from m on, ROWS for each query, of which the first R are a head's each of a group: (rows in the tile, the first row's query, each row's
    query, each row's head)."""
    row = tl.arange(0, BM)
    first = m // ROWS
    return row, first, first + row // ROWS, group * R + tl.minimum(row % ROWS, R - 1)


@tl.jit
def finish_part(sums, sinks, h, z, there, scale, at):
    """What `finish` makes of a part's sums, with the sinks of heads h in the first part and v's scale number `at`, where there are any."""
    sink = None if sinks is None else tl.where(there & (z == 0), tl.load(sinks + h, there, 0).to(tl.float32), -tl.inf)
    out, rest = finish(sums, sink)
    if scale is not None:
        out = out * tl.load(scale + at)
    return out, rest


@tl.jit
def hand_in(own, own_lse, row, there, item, rows, space):
    """Leaves `own` [BM, D] and its logarithms [BM], of which the rows that are `there` count, for the last part of a tile to arrive. Gives whether this is
    the last one, and what `put_together` takes. row: arange(0, BM). item: (z, how many parts this tile has, and at most has any, number of the tile, of how many
    tiles). rows: that a tile has at most. space: float32 [tiles, splits, rows, D] and [tiles, splits, rows]."""
    z, count, splits, tile, tiles = item
    D: tl.constexpr = own.shape[1]
    parts, logarithms = space
    first = tile.to(tl.int64) * splits * rows  # row of the first part
    mine = z * rows + row
    tl.store(parts + first * D + (mine[:, None] * D + tl.arange(0, D)[None, :]), own, there[:, None])
    tl.store(logarithms + first + mine, own_lse, there)
    return tl.last_arrival(tile, count, tiles), (parts + first * D, logarithms + first, count, rows)


@tl.jit
def put_together(found, start, TOGETHER: tl.constexpr, D: tl.constexpr):
    """TOGETHER rows from `start` on out of all parts, in their order: (out [TOGETHER * D], logarithms [TOGETHER]). The parts are read as lines of memory, many
    at a time: as a tile of rows the few rows that there are would be one warp's. Rows that there are not may be anything."""
    parts, logarithms, count, rows = found
    MANY: tl.constexpr = tl.next_power_of_2(8192 // (TOGETHER * D) + 1) // 2
    at, row = tl.arange(0, TOGETHER * D), start + tl.arange(0, TOGETHER)
    top, total, acc = tl.full((TOGETHER,), -tl.inf, tl.float32), tl.zeros((TOGETHER,), tl.float32), tl.zeros((TOGETHER * D,), tl.float32)
    for z in tl.range(0, count, MANY):
        n = z + tl.arange(0, MANY)
        there = (n < count)[:, None] & (row < rows)[None, :]
        own = tl.load(logarithms + (n[:, None] * rows + row[None, :]), there, -tl.inf) * LOG2E
        value = tl.load(parts + ((n * rows + start)[:, None] * D + at[None, :]), (n < count)[:, None] & (at < (rows - start) * D)[None, :], 0)
        new = tl.maximum(top, tl.max(own, 0))
        shift = tl.where(new == -tl.inf, 0.0, new)
        alpha, weight = tl.exp2(top - shift), tl.exp2(own - shift[None, :])
        total = total * alpha + tl.sum(weight, 0)
        wide = tl.broadcast_to(weight[:, :, None], (MANY, TOGETHER, D)).reshape(MANY, TOGETHER * D)
        scale = tl.broadcast_to(alpha[:, None], (TOGETHER, D)).reshape(TOGETHER * D)
        acc = acc * scale + tl.sum(tl.where(wide > 0, value * wide, 0.0), 0)
        top = new
    inverse = tl.broadcast_to(tl.where(total > 0, 1.0 / total, 0.0)[:, None], (TOGETHER, D)).reshape(TOGETHER * D)
    return acc * inverse, (top + tl.log2(total)) * LN2


@tl.jit
def write_together(found, of, o, o_steps, E, column, lse, lse_steps, R: tl.constexpr, ROWS: tl.constexpr, TOGETHER: tl.constexpr, D: tl.constexpr):
    """Writes the rows of a tile out of its parts. of: (first query, number of queries, first head, rows of the tile). o, lse: where the sequence's begin;
    steps: from query to query and from head to head. column: of E that there are, the first of these D."""
    first, S, head, rows = of
    for start in tl.range(0, rows, TOGETHER):
        at = tl.arange(0, TOGETHER * D)
        line, d = start + at // D, column + at % D
        i, h = first + line // ROWS, head + line % ROWS
        out, total = put_together(found, start, TOGETHER, D)
        tl.store(o + (i * o_steps[0] + h * o_steps[1] + d), out.to(o.dtype.element_ty), (i < S) & (line % ROWS < R) & (d < E))
        line = start + tl.arange(0, TOGETHER)
        i, h = first + line // ROWS, head + line % ROWS
        tl.store(lse + (i * lse_steps[0] + h * lse_steps[1]), total, (i < S) & (line % ROWS < R) & (column == 0))


def space_for(like, tiles, splits, rows, width):
    """What hand_in leaves parts in, on the device of `like`."""
    return tuple(arrays.empty(like, shape, tl.float32) for shape in ((tiles, splits, rows, width), (tiles, splits, rows)))


def rows_together(rows, splits, width, launch, always=False):
    """How many of a tile's `rows` the last of `splits` parts to arrive puts together at a time; 0: a launch of its own does it, by all processors.
    One processor reads 64 KB of parts in the time of a launch, or 1 us less (docs/notes/attention.md)."""
    if splits == 1 or launch.get("BM") != 64 or not always and min(rows, 64) * splits * width * 4 > 80 << 10:
        return 0
    return min(tl.next_power_of_2(rows), tl.next_power_of_2(1024 // width + 1) // 2)


def keys_of_tile(bytes_of_key, step):
    """Keys of a tile of few rows, whose bound is memory: 24 or 32 KB (docs/notes/attention.md). step: keys that the tensor core takes at once."""
    tile = 32 << 10 if bytes_of_key >= 512 or step > 16 else 24 << 10
    return max(32, min(128, tile // bytes_of_key // step * step))


def two_slots(bytes_of_key, step, launch):
    """The launch's options for such tiles of rows that lie one behind the other: with 64 KB on the way to each processor memory is up to 2 % faster than
    with 96 (docs/notes/attention.md). Tiles of 8 bits are transposed on the way, and want a third slot, as pages do."""
    own = launch.get("schedule")
    if bytes_of_key < 512 or step > 16 or "BN" in launch or "num_stages" in launch or isinstance(own, str):
        return launch
    return {**launch, "schedule": {"stages": 2, **(own or {})}}
