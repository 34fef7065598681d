"""Attention, forward, over the blocks of keys that a list names for each block of queries."""

from collections import namedtuple

import tileloom as tl

from . import arrays
from .online_softmax import attend, dense, descaled, finish, logarithm

BlockMask = namedtuple("BlockMask", "kv_num_blocks kv_indices full_kv_num_blocks full_kv_indices BLOCK_SIZE", defaults=(None, None, (128, 128)))
BlockMask.__doc__ = """Which blocks of keys each block of queries sees, as torch's flex_attention has it: kv_num_blocks [B, H, blocks of queries] and kv_indices
[B, H, blocks of queries, blocks of keys], int32, where mask_mod decides for each pair; full_kv_num_blocks and full_kv_indices, or None, where all pairs
count. B and H may be 1: the same for all. BLOCK_SIZE: (queries, keys) of a block."""


@tl.jit
def blocks_of(counts, lists, of_sequence, of_head, of_block, b, h, block, most):
    """(how many blocks, the list of them) of a block of queries. of_: from sequence to sequence and head to head in blocks, block to block in the lists."""
    place = b.to(tl.int64) * of_sequence + h.to(tl.int64) * of_head + block
    return tl.minimum(tl.load(counts + place), most), lists + place * of_block


@tl.jit
def both(counts, lists, steps, b, h, block, most):
    """(blocks that mask_mod decides on, their list, full blocks, their list or None): blocks_of the two lists."""
    asked, first = blocks_of(counts[0], lists[0], steps[0], steps[1], steps[2], b, h, block, most)
    if counts[1] is None:
        return asked, first, 0, None
    whole, second = blocks_of(counts[1], lists[1], steps[3], steps[4], steps[5], b, h, block, most)
    return asked, first, whole, second


@tl.jit
def part_of_blocks(tiles, z, splits):
    """(first tile, how many, perhaps none) of part z of `splits` of the tiles of the lists."""
    each = tl.cdiv(tiles, splits)
    return tl.minimum(z * each, tl.maximum(tiles - 1, 0)), tl.maximum(tl.minimum(each, tiles - z * each), 0)


@tl.jit(candidates={"BM": (128, 64), "BN": (128, 64, 96, 48, 32, 16)})
def block_sparse_kernel(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, counts, lists, steps, scale, sinks, softcap, score_mod: tl.constexpr,
                        mask_mod: tl.constexpr, arguments, DK: tl.constexpr, DV: tl.constexpr, THRESHOLD: tl.constexpr, scales, QUERIES: tl.constexpr,
                        KEYS: tl.constexpr, WHOLE: tl.constexpr, BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto):
    """As attention_kernel. counts, lists: of blocks that mask_mod decides on, and of full ones (None: there are none), with three steps each; QUERIES, KEYS:
    of a block; WHOLE: T is a multiple of KEYS."""
    tl.static_assert(QUERIES % BM == 0, "BM: a tile of queries lies in one block")
    tl.static_assert(KEYS % BN == 0, "BN: a block of keys is whole tiles")
    B, S, H = q.shape[:3]
    T, G = k.shape[1:3]
    for b, h, m in tl.tiles(B, H, (S, BM)):
        g = h // (H // G)
        rows = m + tl.arange(0, BM)
        band = S, T, False, None, None, None
        own = descaled(scale, scales, b * G + g)
        qt = q.load([b, m, h, 0], [BM, DK])
        block, most = m // QUERIES, tl.cdiv(T, KEYS)
        asked, first, whole, second = both(counts, lists, steps, b, h, block, most)
        # One loop over both lists: two loops would share the slots of shared memory, one for each of their rings.
        sums = attend(qt, k, v, ((b, g),) * 2, dense, rows, ((asked + whole) * (KEYS // BN), 0), band, own, (softcap, score_mod, mask_mod, (b, h), arguments),
                      DV, BN, THRESHOLD, (), (0,), (first, asked, second, KEYS, WHOLE, 0))
        out, rest = finish(sums, None if sinks is None else tl.load(sinks + h).to(tl.float32))
        if scales[2] is not None:
            out = out * tl.load(scales[2] + b * G + g)
        o.store([b, m, h, 0], out.to(o.dtype))
        if lse is not None:
            tl.store(lse + (b.to(tl.int64) * H + h) * S + rows, logarithm(rest), rows < S)


def over_blocks(q, k, v, out, lse, given, scales, blocks, T, launch):
    """Launches block_sparse_kernel. given: what `options` gives; blocks: what checked_blocks gives."""
    scale, _, _, _, _, *others, DK, DV, threshold = given
    counts, lists, steps, *size = blocks
    for own, extent in zip(("BM", "BN"), size):
        fitting = [one for one in block_sparse_kernel.candidates[own] if extent % one == 0]
        launch = {own: fitting[0], **launch}
    block_sparse_kernel(q, k, v, out, lse, counts, lists, steps, scale, *others, DK, DV, threshold, scales, *size, T % size[1] == 0, **launch)


def checked_blocks(name, block_mask, q, T, given, ratio, pack_gqa):
    """((counts, lists, steps, QUERIES, KEYS) for block_sparse_kernel, pack_gqa, the facts of their tensors), after checks. q: the facts of q; given: what
    `options` gives; ratio: heads for each of the keys."""
    arrays.require(given[1:5] == (False, None, None, None), name, "block_mask", "is given with causal, window or attention_chunk", "these in mask_mod")
    fields = [getattr(block_mask, own, None) for own in BlockMask._fields]
    arrays.require(fields[0] is not None and fields[1] is not None, name, "block_mask", f"is of type {type(block_mask).__name__}",
                   "a BlockMask: kv_num_blocks and kv_indices at least")
    size, step = fields[4], 32 // q.dtype.itemsize
    arrays.require(isinstance(size, (tuple, list)) and len(size) == 2 and all(hasattr(own, "__index__") for own in size) and size[0] % 64 == 0 and
                   size[1] % step == 0 and min(size) > 0, name, "block_mask.BLOCK_SIZE", f"is {size!r}", f"(queries, keys): multiples of 64 and of {step}")
    (B, S, H), found, counts, lists, steps = q.shape[:3], {}, [], [], []
    rows, columns = -(-S // size[0]), -(-T // size[1])
    for prefix, count, index in (("", *fields[:2]), ("full_", *fields[2:4])):
        one, two = f"block_mask.{prefix}kv_num_blocks", f"block_mask.{prefix}kv_indices"
        arrays.require((count is None) == (index is None), name, one if count is None else two, "is missing", "both, or none")
        if count is None:
            counts.append(None), lists.append(None), steps.extend((0, 0, 0))
            continue
        found[one], found[two] = arrays.facts_of(count, name, one), arrays.facts_of(index, name, two)
        arrays.require_rank(found[two], 4, name, two, "[batch, heads, blocks of queries, blocks of keys]")
        batch, heads, _, width = found[two].shape
        arrays.require(batch in (1, B) and heads in (1, H) and width >= columns, name, two, f"has shape {list(found[two].shape)}",
                       f"[1 or {B}, 1 or {H}, {rows}, at least {columns}]")
        arrays.require_contiguous(found[two], (batch, heads, rows, width), tl.int32, name, two, "by the lengths and BLOCK_SIZE")
        arrays.require_contiguous(found[one], (batch, heads, rows), tl.int32, name, one, f"as '{two}'")
        counts.append(count), lists.append(index)
        steps.extend((rows * heads if batch > 1 else 0, rows if heads > 1 else 0, width))
    if any(steps[1::3]) and ratio > 1:
        arrays.require(not pack_gqa, name, "pack_gqa", "is given with lists of blocks for each head", "the same lists for all heads")
        pack_gqa = False
    return (tuple(counts), tuple(lists), tuple(steps), int(size[0]), int(size[1])), pack_gqa, found
