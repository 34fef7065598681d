"""Attention, forward, over sequences of different lengths with few queries: heads as rows, keys in parts."""

import tileloom as tl

from . import arrays
from .attention_arguments import tile_keys, tile_rows
from .online_softmax import attend, descaled, key_tiles, logarithm
from .parts import finish_part, hand_in, keys_of_tile, part, rows_of_heads, rows_together, space_for, two_slots, write_together
from .sequences import load_rows, sequence, store_rows


@tl.jit(candidates={"BM": tile_rows, "BN": tile_keys})
def varlen_parts_kernel(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, starts_q, starts_k, used_q, used_k, batch, steps, longest, most, splits,
                        R: tl.constexpr, ROWS: tl.constexpr, TOGETHER: tl.constexpr, scale, CAUSAL: tl.constexpr, left=None, right=None, chunk=None,
                        sinks=None, softcap=None, score_mod: tl.constexpr = None, mask_mod: tl.constexpr = None, arguments=(), DK: tl.constexpr = 128,
                        DV: tl.constexpr = 128, THRESHOLD: tl.constexpr = 0.0, scales=(None, None, None), space=None, BM: tl.constexpr = tl.auto,
                        BN: tl.constexpr = tl.auto):
    """As varlen_kernel, with the keys in `splits` parts (TOGETHER: rows of put_together; 0: one part). A tile has ROWS rows for each query, the first R of them a
    head's each."""
    H, G = q.shape[-2], k.shape[-2]
    for b, group, m, z in tl.tiles(batch, H // R, (longest * ROWS, BM), splits):
        of_q, S = sequence(b, starts_q, used_q, steps[0], q.shape[-3], longest)
        of_k, T = sequence(b, starts_k, used_k, steps[1], k.shape[-3], most)
        if m < S * ROWS:
            of_v = b * steps[2] if starts_k is None else of_k
            of_o = b * steps[3] if starts_q is None else of_q
            of_lse = b.to(tl.int64) * H * q.shape[-3] if starts_q is None else of_q.to(tl.int64)
            g = group // (H // R // G)
            band = S, T, CAUSAL, left, right, chunk
            row, first, i, h = rows_of_heads(group, m, R, ROWS, BM)
            tiles = part(key_tiles(first, first + BM // ROWS, band, BN), z, splits)
            mods = softcap, score_mod, mask_mod, (b, h[:, None]), arguments
            qt = load_rows(q, (of_q, S, group * R), first, BM, DK, 0, ROWS)  # rows of other groups where ROWS is more than R
            sums = attend(qt, k, v, ((of_k, T, g), (of_v, T, g)), load_rows, i, tiles, band, descaled(scale, scales, b * G + g), mods, DV, BN, THRESHOLD)
            there = (i < S) & (row % ROWS < R)
            out, rest = finish_part(sums, sinks, h, z, there, scales[2], b * G + g)
            step = q.shape[-3]
            if TOGETHER:
                blocks, rows = tl.cdiv(longest * ROWS, BM), tl.minimum(longest * ROWS, BM)
                tile = (b * (H // R) + group) * blocks + m // BM
                last, found = hand_in(out, logarithm(rest), row, there, (z, splits, splits, tile, batch * (H // R) * blocks), rows, space)
                if last:
                    of = first, S, group * R, tl.minimum(S * ROWS - m, BM)
                    write_together(found, of, o.ptr + of_o * o.stride(-3), (o.stride(-3), o.stride(-2)), o.shape[-1], 0, lse + of_lse, (1, step), R, ROWS,
                                   TOGETHER, DV)
            else:
                if ROWS == R:
                    store_rows(o, (of_o, S, group * R), first, out.to(o.dtype), ROWS)
                else:
                    d = tl.arange(0, DV)
                    tl.store(o.ptr + ((of_o + i) * o.stride(-3) + h * o.stride(-2))[:, None] + d[None, :], out.to(o.dtype),
                             there[:, None] & (d < o.shape[-1])[None, :])
                tl.store(lse + of_lse + h * step + i, logarithm(rest), there)


def over_varlen_parts(q, k, v, out, lse, index, batch, steps, longest, most, given, scales, splits, R, ROWS, launch):
    """Launches varlen_parts_kernel. index: starts and used rows of q and k. Several parts are put together in the launch: rows that do not count are not
    written, which a launch of its own would not know."""
    facts, size = arrays.facts_of(q, "", "q"), arrays.facts_of(k, "", "k").dtype.itemsize
    if splits > 1 or longest * ROWS <= 64:
        launch = {"BM": 64, **launch}
    if longest * ROWS <= 64:
        launch = {"BN": keys_of_tile(sum(given[-3:-1]) * size, 32 // size), **two_slots(sum(given[-3:-1]) * size, 32 // size, launch)}
    if splits > 1:
        arrays.require(launch["BM"] == 64, "attention_varlen", "BM", f"is {launch['BM']}", "64 with num_splits above 1")
    together = rows_together(longest * ROWS, splits, given[-2], launch, always=True)
    rows = longest * ROWS
    space = space_for(q, batch * (facts.shape[-2] // R) * -(-rows // 64), splits, min(rows, 64), given[-2]) if together else None
    varlen_parts_kernel(q, k, v, out, lse, *index, batch, steps, longest, most, splits, R, ROWS, together, *given, scales, space, **launch)
