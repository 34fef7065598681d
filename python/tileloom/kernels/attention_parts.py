"""Attention, forward, of few queries: heads as rows, keys in parts, over a cache or dense tensors."""

import tileloom as tl

from . import arrays
from .attention_arguments import launch_options, multiprocessors, tile_rows, width
from .attention_blocks import both, part_of_blocks
from .combine import combine
from .decode_plan import choose_splits, keys_seen, most_parts
from .online_softmax import attend, dense, descaled, key_tiles, logarithm
from .parts import finish_part, hand_in, keys_of_tile, part, rows_of_heads, rows_together, space_for, two_slots, write_together
from .sequences import gather_pages, load_pages, load_rows


@tl.jit
def load_group(q: tl.view, b, i, g, R: tl.constexpr, ROWS: tl.constexpr, BM: tl.constexpr, D: tl.constexpr, column=0):
    """Queries from i on of a group of R heads of q [B, S, G * R, columns], a tile [BM, D] of ROWS rows for each query and of the columns from `column` on;
    zeros from R on."""
    B, S, H, E = q.shape
    step = q.stride(2)
    desc = tl.make_tensor_descriptor(q.ptr, [B, S, H // R, R, E], [q.stride(0), q.stride(1), step * R, step, 1], [1, BM // ROWS, 1, ROWS, D])
    return desc.load([b, i, g, 0, column]).reshape(BM, D)


@tl.jit
def store_group(o: tl.view, b, i, g, value, R: tl.constexpr, ROWS: tl.constexpr, column=0):
    """Stores what belongs to queries and heads that there are."""
    B, S, H, E = o.shape
    BM: tl.constexpr = value.shape[0]
    D: tl.constexpr = value.shape[1]
    step = o.stride(2)
    desc = tl.make_tensor_descriptor(o.ptr, [B, S, H // R, R, E], [o.stride(0), o.stride(1), step * R, step, 1], [1, BM // ROWS, 1, ROWS, D])
    desc.store([b, i, g, 0, column], value.reshape(1, BM // ROWS, 1, ROWS, D))


@tl.jit
def cached(b, g, lengths, added, capacity, most, places, left_padding, table, table_step, steps, PAGE: tl.constexpr):
    """(number of keys of sequence b, what READ takes for k and v of head g)."""
    T = capacity if lengths is None else tl.minimum(tl.load(lengths + b) + added, most)
    if steps is None:  # any tensors: READ is `dense`
        return T, (b, g), (b, g)
    at = b if places is None else tl.load(places + b)
    if table is not None:
        row = table + at.to(tl.int64) * table_step
        return T, (row, steps[0], T, g, PAGE), (row, steps[1], T, g, PAGE)
    padding = 0
    if left_padding is not None:
        padding = tl.load(left_padding + b)
        T = T - padding
    return T, (at * steps[0] + padding, T, g), (at * steps[1] + padding, T, g)


@tl.jit(candidates={"BM": lambda target: (64, *tile_rows(target)), "BN": (128, 112, 96, 64)})
def kvcache_kernel(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, lse_steps, lengths, added, most, places, left_padding, table, table_step, steps,
                   splits, R: tl.constexpr, ROWS: tl.constexpr, PAGE: tl.constexpr, READ: tl.constexpr, scale, CAUSAL: tl.constexpr, left=None, right=None,
                   chunk=None, sinks=None, softcap=None, score_mod: tl.constexpr = None, mask_mod: tl.constexpr = None, arguments=(), DK: tl.constexpr = 128,
                   DV: tl.constexpr = 128, THRESHOLD: tl.constexpr = 0.0, scales=(None, None, None), plan=None, items=None, qv: tl.view = None,
                   HALVES: tl.constexpr = 1, TOGETHER: tl.constexpr = 0, space=None, counts=None, lists=None, list_steps=None,
                   QUERIES: tl.constexpr = 0, KEYS: tl.constexpr = 0, WHOLE: tl.constexpr = False, APART: tl.constexpr = False,
                   BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto):
    """q [B, S, H, D], k and v [batches or pages, rows, G, ...], o [splits * B, S, H, E]. A tile has ROWS rows for each query, the first R of them a
    head's each. plan: None, or how many of the `splits` parts the keys of each sequence have, and from plan[B] on `items` parts
    (decode_plan.py). qv: None, or [B, S, H, E]: scores are q k^T + qv v^T. HALVES: 2 where v has 2 * DV columns, each half a tile's. TOGETHER: 0, or so
    many rows at a time the last part of a tile puts together, in `space`; o is [B, S, H, E] then. counts to WHOLE: None, or blocks of keys
    (block_sparse_kernel). APART: the scores' two products have the factors of k and of v; else both have k's."""
    B, S, H = q.shape[:3]
    G = k.shape[2]
    for b, group, m, z in tl.tiles(B if items is None else items, H // R, (S * ROWS, BM), (splits if items is None else 1) * HALVES):
        count, column = splits, 0
        if HALVES > 1:
            column, z = z % HALVES * DV, z // HALVES
        if plan is not None:
            entry = tl.load(plan + B + b)
            b, z = tl.maximum(entry, 0) // 256, entry % 256
            count = tl.minimum(tl.load(plan + b), splits)
        if plan is None or (entry >= 0 and z < count):
            g = group // (H // R // G)
            T, of_k, of_v = cached(b, g, lengths, added, k.shape[1], most, places, left_padding, table, table_step, steps, PAGE)
            band = S, T, CAUSAL, left, right, chunk
            row, first, i, h = rows_of_heads(group, m, R, ROWS, BM)
            mods = softcap, score_mod, mask_mod, (b, h[:, None]), arguments
            tiles, named = None, None
            if counts is None:
                tiles = part(key_tiles(first, first + BM // ROWS, band, BN), z, count)
            else:
                tl.static_assert(QUERIES % (BM // ROWS) == 0, "BM: a tile of queries lies in one block")
                tl.static_assert(KEYS % BN == 0, "BN: a block of keys is whole tiles")
                asked, one, whole, two = both(counts, lists, list_steps, b, group * R, first // QUERIES, tl.cdiv(most, KEYS))
                begin, number = part_of_blocks((asked + whole) * (KEYS // BN), z, count)
                tiles, named = (number, 0), (one, asked, two, KEYS, WHOLE, begin)
            sides = (column,) if HALVES == 1 else (column, DV - column)
            parts = ()
            if qv is not None:
                for side in sides:
                    parts = parts + (load_group(qv, b, first, group, R, ROWS, BM, DV, side),)
            own, apart = descaled(scale, (scales[0], None if APART else scales[1]), b * G + g), None
            if APART:
                apart = descaled(1.0, scales[1:2], b * G + g), descaled(1.0, scales[2:], b * G + g)
            sums = attend(load_group(q, b, first, group, R, ROWS, BM, DK), k, v, (of_k, of_v), READ, i, tiles, band, own, mods, DV, BN, THRESHOLD, parts,
                          sides, named, apart)
            there = (i < S) & (row % ROWS < R)
            out, rest = finish_part(sums, sinks, h, z, there, scales[2], b * G + g)
            if TOGETHER:
                blocks, rows = tl.cdiv(S * ROWS, BM), tl.minimum(S * ROWS, BM)
                tile = ((b * (H // R) + group) * blocks + m // BM) * HALVES + column // DV
                last, found = hand_in(out, logarithm(rest), row, there, (z, count, splits, tile, B * (H // R) * blocks * HALVES), rows, space)
                if last:
                    of = first, S, group * R, tl.minimum(S * ROWS - m, BM)
                    write_together(found, of, o.ptr + b * o.stride(0), (o.stride(1), o.stride(2)), o.shape[3], column,
                                   lse + b.to(tl.int64) * lse_steps[0], (lse_steps[2], lse_steps[1]), R, ROWS, TOGETHER, DV)
            else:
                store_group(o, z * B + b, first, group, out.to(o.dtype), R, ROWS, column)
                tl.store(lse + (z * B + b).to(tl.int64) * lse_steps[0] + h * lse_steps[1] + i * lse_steps[2], logarithm(rest), there & (column == 0))


def over_parts(q, k, v, out, lse, given, scales, *, groups, splits, most, lengths=None, added=0, places=None, padding=None, table=None, page=None,
               steps=None, plan=None, qv=None, blocks=None, apart=False, **launch):
    """Launches kvcache_kernel, whose arguments these are, in `splits` parts (0: a choice); `combine` after it, where that is faster than in the same launch.
    given: what `options` gives. page: rows of a page; steps: None where k and v are dense tensors. groups: what rows_of_groups gives. blocks: None, or what
    checked_blocks gives."""
    facts, result = arrays.facts_of(q, "", "q"), arrays.facts_of(out, "", "out")
    (B, S, H, D), E = facts.shape, result.shape[3]
    scale, causal, *others = given
    (R, ROWS, tiles), halves = groups, 1
    if qv is not None:
        qv = arrays.boxed(qv, arrays.facts_of(qv, "", "qv"))
        launch = {"BM": 64, **({"BN": 64 if E <= 256 else 32} if blocks is None else {}), **launch}
        others[-3:-1], halves = (width(D), width(min(E, 256))), 1 if E <= 256 else 2
    step = 32 // facts.dtype.itemsize
    if blocks is not None:
        blocks = *blocks, lengths is None and most % blocks[4] == 0
        keys = keys_of_tile((D + E) * facts.dtype.itemsize, step) if S * ROWS <= 64 or halves > 1 else 128 if max(D, E) <= 128 else 64
        launch = {"BM": 64 if S * ROWS <= 64 or blocks[3] % (128 // ROWS) else 128,
                  "BN": next(own for own in range(keys - keys % step, 0, -step) if blocks[4] % own == 0), **launch}
    launch, read = _tiles(page, S * ROWS, max(D, E), (D + E) * facts.dtype.itemsize, step, launch)
    if steps is None:
        read = dense
    tiles = -(-S * ROWS // launch["BM"]) if "BM" in launch else tiles
    processors = max(multiprocessors(facts) - (launch.get("sm_margin") or 0), 1)
    if plan is not None:
        splits = splits or most_parts(H // R * tiles, processors)
    elif not splits:
        splits = choose_splits(B * (H // R) * tiles, -(-keys_seen(most, S, *given[1:5]) // 128), processors)
    if splits == 1:
        plan = None
    items = None if plan is None else arrays.facts_of(plan, "", "plan").shape[0] - B
    together = rows_together(S * ROWS, splits, others[-2], launch)
    space = space_for(q, B * (H // R) * tiles * halves, splits, min(S * ROWS, 64), others[-2]) if together else None
    stored, whole = arrays.boxed_result(out, result)
    logarithms, lse_steps, in_launch = lse, (H * S, S, 1), splits == 1 or together
    listed = (None, None, None, 0, 0, False) if blocks is None else blocks
    if not in_launch:
        parts = arrays.empty(q, (splits, B, S, H, -(-E // 4) * 4), tl.float32)
        stored, logarithms, lse_steps = parts.reshape(splits * B, *parts.shape[2:]), arrays.empty(q, (splits, B, S, H), tl.float32), (S * H, 1, H)
    step = None if table is None else arrays.facts_of(table, "", "page_table").strides[0]
    kvcache_kernel(q, k, v, stored, logarithms, lse_steps, lengths, added, most, places, padding, table, step, steps, splits, R, ROWS, page, read, scale,
                   causal and S > 1, *others, scales, plan, items, qv, halves, together, space, *listed, apart, **launch)  # one query sees all keys
    if not in_launch:
        combine(parts[..., :E], logarithms, out, lse, counts=None if plan is None else plan[:B], **launch_options(launch))
    elif whole is not out:
        arrays.write(out, whole)


def _tiles(page, rows, widest, bytes_of_key, step, launch):
    """The launch's options with tiles for so many rows, such pages, the wider one of the head dimensions and bytes of a key and its value, and how to
    read k and v. step: keys that the tensor core takes at once."""
    wanted = 128 if widest <= 128 else 64
    if rows <= 64:
        launch = {"BM": 64, **launch}
        wanted = keys_of_tile(bytes_of_key, step)
        if page is None:
            launch = {"BN": wanted, **two_slots(bytes_of_key, step, launch)}
    if page is None:
        return launch, load_rows
    keys = launch.get("BN", wanted)
    if "BN" not in launch and page % keys and keys % page:
        keys = 64
    if page % 8 == 0 and (page % keys == 0 or keys % page == 0):
        return {"BN": keys, **launch}, load_pages
    fitting = [own for own in (128, 112, 96, 80, 64, 48) if own <= max(keys, 64) and page % own == 0 and own % step == 0]
    if fitting and "BN" not in launch:
        return {"BN": fitting[0], **launch}, load_pages
    return {"BN": 64, **launch}, gather_pages
