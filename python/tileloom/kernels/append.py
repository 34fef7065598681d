"""New keys and values on their way into a cache, and rotary embeddings."""

import tileloom as tl

from . import arrays
from .attention_arguments import launch_options


@tl.jit
def rotated(x, mask, place, columns, step, cos, sin, half, INTERLEAVED: tl.constexpr):
    """Rows [heads, columns] of x (pointers to their starts) rotated at a position; elements from 2 * half on as they are."""
    value = tl.load(x + columns[None, :], mask, 0).to(tl.float32)
    if INTERLEAVED:
        pair, is_second = columns // 2, columns % 2 == 1
        other = columns + tl.where(is_second, -1, 1)
    else:
        pair, is_second = tl.where(columns < half, columns, columns - half), columns >= half
        other = tl.where(is_second, columns - half, columns + half)
    turned = columns < 2 * half
    partner = tl.load(x + other[None, :], mask & turned[None, :], 0).to(tl.float32)
    c = tl.load(cos + place.to(tl.int64) * step + pair, turned, 1).to(tl.float32)
    s = tl.load(sin + place.to(tl.int64) * step + pair, turned, 0).to(tl.float32)
    return value * c[None, :] + partner * tl.where(is_second, s, -s)[None, :]


@tl.jit
def append_kernel(q: tl.view, turned_q: tl.view, k: tl.view, v: tl.view, k_cache: tl.view, v_cache: tl.view, lengths, places, table, table_step, cos, sin,
                  rotary_step, half, NEW: tl.constexpr, TURN: tl.constexpr, INTERLEAVED: tl.constexpr, AHEAD: tl.constexpr, PAGED: tl.constexpr, HEADS: tl.constexpr,
                  GROUPS: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr):
    """One query (program_id(0) below B * S) or new key and value of a sequence: turned_q = q rotated; k and v to the places behind the sequence in the caches."""
    B, S, H, D = q.shape
    program = tl.program_id(0)
    d = tl.arange(0, DK)
    if TURN:
        if program < B * S:
            b, i = program // S, program % S
            h = tl.arange(0, HEADS)
            place = tl.load(lengths + b) + (i if AHEAD else 0)
            mask = (h < H)[:, None] & (d < D)[None, :]
            x = q.ptr + b * q.stride(0) + i * q.stride(1) + h[:, None] * q.stride(2)
            out = turned_q.ptr + b * turned_q.stride(0) + i * turned_q.stride(1) + h[:, None] * turned_q.stride(2)
            tl.store(out + d[None, :], rotated(x, mask, place, d, rotary_step, cos, sin, half, INTERLEAVED).to(q.dtype), mask)
    if NEW:
        rest = program - (B * S if TURN else 0)
        if rest >= 0:
            N, G, E = k.shape[1], k.shape[2], v.shape[3]
            b, i = rest // N, rest % N
            g, e = tl.arange(0, GROUPS), tl.arange(0, DV)
            place = tl.load(lengths + b) + i
            at = b if places is None else tl.load(places + b)
            row = place
            if PAGED:
                at = tl.load(table + at.to(tl.int64) * table_step + place // k_cache.shape[1])
                row = place % k_cache.shape[1]
            mask = (g < G)[:, None] & (d < D)[None, :]
            x = k.ptr + b * k.stride(0) + i * k.stride(1) + g[:, None] * k.stride(2)
            key = rotated(x, mask, place, d, rotary_step, cos, sin, half, INTERLEAVED).to(k.dtype) if TURN else tl.load(x + d[None, :], mask, 0)
            tl.store(k_cache.ptr + at * k_cache.stride(0) + row * k_cache.stride(1) + g[:, None] * k_cache.stride(2) + d[None, :], key, mask)
            mask = (g < G)[:, None] & (e < E)[None, :]
            value = tl.load(v.ptr + b * v.stride(0) + i * v.stride(1) + g[:, None] * v.stride(2) + e[None, :], mask, 0)
            tl.store(v_cache.ptr + at * v_cache.stride(0) + row * v_cache.stride(1) + g[:, None] * v_cache.stride(2) + e[None, :], value, mask)


def rotation(name, facts, cos, sin):
    """The facts of rotary_cos and rotary_sin, or None, after checks."""
    for own, value in (("rotary_cos", cos), ("rotary_sin", sin)):
        arrays.require((cos is None) == (sin is None), name, own, "is missing" if value is None else "is given alone", "both rotary_cos and rotary_sin, or none")
    if cos is None:
        return None
    D = facts["q"].shape[3]
    found = {own: arrays.facts_of(value, name, own) for own, value in (("rotary_cos", cos), ("rotary_sin", sin))}
    for own, tensor in found.items():
        arrays.require_type(tensor, (*arrays.HALF, tl.float32), name, own)
        arrays.require(len(tensor.shape) == 2 and 2 * tensor.shape[1] <= D, name, own, f"has shape {list(tensor.shape)}", f"[positions, at most {D // 2}]")
        arrays.require_contiguous(tensor, found["rotary_cos"].shape, found["rotary_cos"].dtype, name, own, "as 'rotary_cos'")
    arrays.require_device(("q", facts["q"]), found, name)
    return found["rotary_cos"]


def append(q, k_cache, v_cache, k_new, v_new, facts, lengths, places, table, rotary, ahead, launch):
    """Writes k_new and v_new into the caches, and gives q, rotated where `rotary` is (cos, sin, their facts, interleaved)."""
    (B, S, H, D), turned, half, new = facts["q"].shape, q, 0, 0 if k_new is None else facts["k_new"].shape[1]
    cos, sin, table_of, interleaved = rotary
    if cos is not None:
        turned = arrays.empty(q, (B, S, H, D), facts["q"].dtype)
        half = table_of.shape[1]
    programs = (B * S if cos is not None else 0) + B * new
    if programs:
        rows = {option: tl.next_power_of_2(extent) for option, extent in (("HEADS", H), ("GROUPS", facts["k_cache"].shape[2]), ("DK", D), ("DV", facts["v_cache"].shape[3]))}
        step = arrays.facts_of(table, "", "").strides[0] if table is not None else 0
        append_kernel[(programs,)](q, turned, q if k_new is None else k_new, q if v_new is None else v_new, k_cache, v_cache, lengths, places, table, step, cos, sin,
                                   half, half, bool(new), cos is not None, bool(interleaved), bool(ahead), table is not None, **rows, **launch_options(launch))
    return turned
