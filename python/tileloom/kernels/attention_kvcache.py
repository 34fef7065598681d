"""Attention, forward, over a cache of keys and values: decoding, few queries for each sequence."""

import tileloom as tl

from . import arrays
from .append import append, rotation
from .attention_arguments import TYPES, cache_rows, checked, descales, indices, launch_options, multiprocessors, options, result_type, width
from .combine import combine
from .decode_plan import choose_splits, most_parts, rows_of_groups
from .online_softmax import attend, descaled, finish, key_tiles, logarithm
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
def part(tiles, z, splits):
    """Part z of `splits` of the tiles of keys; at least one tile, which nobody sees if none is left."""
    count, end = tiles
    each = tl.cdiv(count, splits)
    start = end - count + z * each
    count = tl.maximum(tl.minimum(each, end - start), 1)
    return count, start + count


@tl.jit
def cached(b, g, lengths, added, capacity, most, places, left_padding, table, table_step, steps, PAGE: tl.constexpr):
    """(number of keys of sequence b, what READ takes for k and v of head g)."""
    T = capacity if lengths is None else tl.minimum(tl.load(lengths + b) + added, most)
    at = b if places is None else tl.load(places + b)
    if table is not None:
        row = table + at.to(tl.int64) * table_step
        return T, (row, steps[0], T, g, PAGE), (row, steps[1], T, g, PAGE)
    padding = 0
    if left_padding is not None:
        padding = tl.load(left_padding + b)
        T = T - padding
    return T, (at * steps[0] + padding, T, g), (at * steps[1] + padding, T, g)


@tl.jit(candidates={"BM": (64, 128, 192), "BN": (128, 112, 96, 64)})
def kvcache_kernel(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, lse_steps, lengths, added, most, places, left_padding, table, table_step, steps,
                   splits, R: tl.constexpr, ROWS: tl.constexpr, PAGE: tl.constexpr, READ: tl.constexpr, scale, CAUSAL: tl.constexpr, left=None, right=None,
                   chunk=None, sinks=None, softcap=None, score_mod: tl.constexpr = None, mask_mod: tl.constexpr = None, arguments=(), DK: tl.constexpr = 128,
                   DV: tl.constexpr = 128, THRESHOLD: tl.constexpr = 0.0, scales=(None, None, None), plan=None, items=None, qv: tl.view = None,
                   HALVES: tl.constexpr = 1, BM: tl.constexpr = tl.auto,
                   BN: tl.constexpr = tl.auto):
    """q [B, S, H, D], k and v [batches or pages, rows, G, ...], o [splits * B, S, H, E]. A tile has ROWS rows for each query, the first R of them a
    head's each. plan: None, or how many of the `splits` parts the keys of each sequence have, and from plan[B] on `items` parts
    (decode_plan.py). qv: None, or [B, S, H, E]: scores are q k^T + qv v^T. HALVES: 2 where v has 2 * DV columns, each half a tile's."""
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
            row = tl.arange(0, BM)
            first = m // ROWS
            i = first + row // ROWS
            h = group * R + tl.minimum(row % ROWS, R - 1)
            band = S, T, CAUSAL, left, right, chunk
            mods = softcap, score_mod, mask_mod, (b, h[:, None]), arguments
            tiles = part(key_tiles(first, first + BM // ROWS, band, BN), z, count)
            sides = (column,) if HALVES == 1 else (column, DV - column)
            parts = ()
            if qv is not None:
                for side in sides:
                    parts = parts + (load_group(qv, b, first, group, R, ROWS, BM, DV, side),)
            sums = attend(load_group(q, b, first, group, R, ROWS, BM, DK), k, v, (of_k, of_v), READ, i, tiles, band, descaled(scale, scales, b * G + g),
                          mods, DV, BN, THRESHOLD, parts, sides)
            there = (i < S) & (row % ROWS < R)
            sink = None if sinks is None else tl.where(there & (z == 0), tl.load(sinks + h, there, 0).to(tl.float32), -tl.inf)
            out, rest = finish(sums, sink)
            if scales[2] is not None:
                out = out * tl.load(scales[2] + b * G + g)
            store_group(o, z * B + b, first, group, out.to(o.dtype), R, ROWS, column)
            tl.store(lse + (z * B + b).to(tl.int64) * lse_steps[0] + h * lse_steps[1] + i * lse_steps[2], logarithm(rest), there & (column == 0))


def attention_kvcache(q, k_cache, v_cache, out=None, *, qv=None, cache_seqlens=None, k_new=None, v_new=None, cache_batch_idx=None, cache_leftpad=None,
                      page_table=None, rotary_cos=None, rotary_sin=None, rotary_interleaved=True, causal=False, softmax_scale=None, window=None,
                      attention_chunk=None, softcap=None, sinks=None, score_mod=None, mask_mod=None, mod_arguments=(), num_splits=None, pack_gqa=None,
                      max_seqlen_k=None, scheduler_metadata=None, deterministic=False, q_descale=None, k_descale=None, v_descale=None, rescale_threshold=None,
                      lse=None, **launch):
    """Attention of q [B, S, H, D] over a cache: k_cache [batches, capacity, G, D] and v_cache [..., E], or pages of it, [pages, page size, G, ...] with
    page_table [B, pages of a sequence]. Gives (out [B, S, H, E], lse [B, H, S]). The index tensors are int32; what lies behind a sequence may hold anything.

    qv [B, S, H, E]      scores are q k^T + qv v^T (multi-head latent attention); E up to 512 then, float16 or bfloat16. q and k_cache of 576 columns with
                         v_cache = k_cache[..., :512] are the same
    cache_seqlens [B]    keys in the cache of each sequence; by default all of it
    k_new, v_new         [B, N, G, ...]: written into the cache behind these first, and seen
    cache_batch_idx [B]  the sequence's place in the cache (its row of page_table), by default b
    cache_leftpad [B]    where a sequence begins in its place; not with page_table
    rotary_cos, rotary_sin  [positions, rotary dimension / 2], of q's type or float32: q and k_new are rotated by their positions (q at the end of the
                         cache, one position further for each query if causal or with a window), pairs side by side (rotary_interleaved) or half a
                         rotary dimension apart
    num_splits           parts of the keys that are worked on at the same time and put together afterwards; by default as many as fill the machine
    pack_gqa             whether the heads of a group are rows of one tile; by default if there are few queries
    scheduler_metadata   what get_scheduler_metadata gives: a number of parts for each sequence, by its length; num_splits is then the largest one
    max_seqlen_k         no sequence has more keys; num_splits and tiles are chosen by it. By default the capacity
    Other arguments: see attention; positions count from the beginning of a sequence."""
    name = "attention_kvcache"
    own = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "k_new": k_new, "v_new": v_new, "qv": qv}
    if qv is None and getattr(q, "shape", (0,))[-1] == 576:
        facts = {one: arrays.facts_of(own[one], name, one) for one in ("q", "k_cache", "v_cache")}
        if [tensor.shape[-1] for tensor in facts.values()] == [576, 576, 512]:
            q, qv, k_cache, k_new, v_new = _latent(name, q, k_cache, v_cache, k_new, v_new, facts)
            own = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "k_new": k_new, "v_new": v_new, "qv": qv}
    facts = {own: arrays.facts_of(value, name, own) for own, value in own.items() if value is not None}
    for one, tensor in facts.items():
        arrays.require_rank(tensor, 4, name, one, "four dimensions: batch or pages, length, heads, head dimension")
    wide = None if qv is None else 512
    D, E, H, G = checked(name, facts, ("k_cache", "v_cache"), widest_v=wide, types=TYPES if qv is None else arrays.HALF)
    B, S = facts["q"].shape[:2]
    if qv is not None:
        arrays.require_shape(facts["qv"], (B, S, H, E), name, "qv", "by the shapes of 'q' and 'v_cache'")
    for one, cache in (("k_new", "k_cache"), ("v_new", "v_cache")):
        arrays.require((k_new is None) == (v_new is None), name, one, "is given alone" if one in facts else "is missing", "both k_new and v_new, or none")
        if one in facts:
            arrays.require_shape(facts[one], (B, facts["k_new"].shape[1], G, facts[cache].shape[3]), name, one, f"by the shapes of 'q' and '{cache}'")
    arrays.require(facts["v_cache"].shape[:3] == facts["k_cache"].shape[:3], name, "v_cache", f"has shape {list(facts['v_cache'].shape)}",
                   f"{[*facts['k_cache'].shape[:3], E]}, as 'k_cache'")
    steps = tuple(cache_rows(name, one, facts[one]) for one in ("k_cache", "v_cache"))
    given = options(name, facts["q"], H, D + (0 if qv is None else E), E, causal, softmax_scale, window, attention_chunk, softcap, sinks, score_mod,
                    mask_mod, mod_arguments, rescale_threshold)
    index, _ = indices(name, {"q": facts["q"]}, {"cache_seqlens": cache_seqlens, "cache_batch_idx": cache_batch_idx, "cache_leftpad": cache_leftpad})
    pages, page, capacity = None, None, facts["k_cache"].shape[1]
    if page_table is not None:
        pages = index["page_table"] = arrays.facts_of(page_table, name, "page_table")
        arrays.require_type(pages, (tl.int32,), name, "page_table")
        arrays.require(len(pages.shape) == 2 and (cache_batch_idx is not None or pages.shape[0] == B), name, "page_table", f"has shape {list(pages.shape)}",
                       f"[{B}, pages of a sequence]")
        arrays.require(pages.shape[1] < 2 or pages.strides[1] == 1, name, "page_table", f"has strides {list(pages.strides)}", "a last stride of 1")
        arrays.require(cache_leftpad is None, name, "cache_leftpad", "is given with page_table", "one of the two")
        arrays.require(cache_seqlens is not None, name, "cache_seqlens", "is missing", "the lengths of the sequences in the pages")
        page, capacity = capacity, capacity * pages.shape[1]
    else:
        arrays.require(cache_batch_idx is not None or facts["k_cache"].shape[0] == B, name, "k_cache", f"has a batch of {facts['k_cache'].shape[0]}",
                       f"{B}, as 'q', or cache_batch_idx")
    scales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale}
    index.update(descales(name, facts["q"], scales, B, G))
    out = arrays.empty(q, (B, S, H, E), result_type(facts["q"])) if out is None else out
    lse = arrays.empty(q, (B, H, S), tl.float32) if lse is None else lse
    results = {"out": arrays.facts_of(out, name, "out"), "lse": arrays.facts_of(lse, name, "lse")}
    arrays.require_shape(results["out"], (B, S, H, E), name, "out", "by the shapes of 'q' and 'v_cache'")
    arrays.require_type(results["out"], (*arrays.HALF, tl.float32), name, "out")
    arrays.require_contiguous(results["lse"], (B, H, S), tl.float32, name, "lse", "by the shape of 'q'")
    arrays.require_device(("q", facts["q"]), {**facts, **index, **results}, name)
    rotary = rotary_cos, rotary_sin, rotation(name, facts, rotary_cos, rotary_sin), rotary_interleaved
    added = 0 if k_new is None else facts["k_new"].shape[1]
    arrays.require(not (added or rotary_cos is not None) or cache_seqlens is not None, name, "cache_seqlens", "is missing", "the lengths before 'k_new'")
    most = capacity
    if max_seqlen_k is not None:
        arrays.require(hasattr(max_seqlen_k, "__index__") and max_seqlen_k >= 0, name, "max_seqlen_k", f"is {max_seqlen_k!r}", "an int above 0, or None")
        most = min(most, int(max_seqlen_k))
    most = max(most, 2)  # a constant 1 would be a variant of its own
    arrays.require(num_splits is None or hasattr(num_splits, "__index__") and 0 <= num_splits <= 256, name, "num_splits", f"is {num_splits!r}",
                   "None or 0 (a choice), or 1 to 256")
    splits = int(num_splits or 0)
    margin = launch.get("sm_margin") or 0
    plan = scheduler_metadata
    if plan is not None:
        index["scheduler_metadata"] = arrays.facts_of(plan, name, "scheduler_metadata")
        given_plan = index["scheduler_metadata"]
        arrays.require(len(given_plan.shape) == 1 and given_plan.shape[0] > 2 * B, name, "scheduler_metadata", f"has shape {list(given_plan.shape)}",
                       f"what get_scheduler_metadata gives for {B} sequences")
        arrays.require_contiguous(given_plan, given_plan.shape, tl.int32, name, "scheduler_metadata", "what get_scheduler_metadata gives")
        arrays.require_device(("q", facts["q"]), {"scheduler_metadata": index["scheduler_metadata"]}, name)
    if not B * S * H * E:
        return out, lse
    scale, causal, *others = given
    halves = 1
    if qv is not None:
        others[-3:-1] = width(D), width(E) if E <= 256 else 256
        halves = 1 if E <= 256 else 2
    if 0 in facts["k_cache"].shape or page_table is not None and not pages.shape[1]:  # nothing that a copy could begin at
        k_cache, v_cache = (arrays.empty(q, (B, 1, G, -(-extent // 16) * 16), facts["q"].dtype) for extent in (D, E))
        cache_seqlens, steps, page_table, cache_batch_idx, cache_leftpad, page = arrays.zeros(q, (B,), tl.int32), (1, 1), None, None, None, None
        arrays.require(not added, name, "k_new", f"has {added} rows", "a cache that they fit into")
    q = append(q, k_cache, v_cache, k_new, v_new, facts, cache_seqlens, cache_batch_idx, page_table, rotary, causal or window is not None, launch)
    q = arrays.boxed(q, arrays.facts_of(q, name, "q"))
    R, rows, blocks = rows_of_groups(S, H // G, pack_gqa)
    if qv is not None:
        qv = arrays.boxed(qv, arrays.facts_of(qv, name, "qv"))
        launch = {"BM": 64, "BN": 64 if E <= 256 else 32, **launch}
    launch, read = _tiles(page, S * rows, max(D, E), (D + E) * facts["q"].dtype.itemsize, launch)
    blocks = -(-S * rows // launch["BM"]) if "BM" in launch else blocks
    processors = max(multiprocessors(facts["q"]) - margin, 1)
    if plan is not None:
        splits = splits or most_parts(H // R * blocks, processors)
    elif not splits:
        splits = choose_splits(B * (H // R) * blocks, -(-most // 128), processors)
    if splits == 1:
        plan = None
    stored, result = arrays.boxed_result(out, results["out"])
    logarithms, lse_steps = lse, (H * S, S, 1)
    if splits > 1:
        whole = arrays.empty(q, (splits, B, S, H, -(-E // 4) * 4), tl.float32)
        stored, logarithms, lse_steps = whole.reshape(splits * B, *whole.shape[2:]), arrays.empty(q, (splits, B, S, H), tl.float32), (S * H, 1, H)
    step = None if page_table is None else pages.strides[0]
    kvcache_kernel(q, k_cache, v_cache, stored, logarithms, lse_steps, cache_seqlens, added, most, cache_batch_idx, cache_leftpad, page_table, step, steps,
                   splits, R, rows, page, read, scale, causal and S > 1, *others, tuple(scales.values()), plan,
                   None if plan is None else given_plan.shape[0] - B, qv, halves, **launch)  # one query sees all keys
    if splits > 1:
        combine(whole[..., :E], logarithms, out, lse, counts=None if plan is None else plan[:B], **launch_options(launch))
    elif result is not out:
        out[...] = result
    return out, lse


def _latent(name, q, k_cache, v_cache, k_new, v_new, facts):
    """What q [..., 576], k_cache [..., 576] and v_cache, its first 512 columns, are as products of 64 columns and of 512 (q, qv, and the caches)."""
    k, v = facts["k_cache"], facts["v_cache"]
    arrays.require(v.address == k.address and v.strides == k.strides, name, "v_cache", "is another tensor than 'k_cache', whose head dimension is 576",
                   "its first 512 columns, k_cache[..., :512] (scores with other values: qv)")
    if k_new is not None:
        v_new = k_new[..., :512] if v_new is None else v_new
        k_new = k_new[..., 512:]
    return q[..., 512:], q[..., :512], k_cache[..., 512:], k_new, v_new


def _tiles(page, rows, widest, bytes_of_key, launch):
    """The launch's options with tiles for so many rows, such pages, the wider one of the head dimensions and bytes of a key and its value, and how to
    read k and v."""
    wanted = 128 if widest <= 128 else 64
    if rows <= 64:
        # Memory is the bound, and fastest with 64 to 72 KB on the way to each SM (three slots); 192 KB were 3.5 % slower (docs/notes/attention.md).
        launch = {"BM": 64, **launch}
        wanted = max(32, min(128, (24 << 10) // bytes_of_key // 16 * 16))
        if page is None:
            launch = {"BN": wanted, **launch}
    if page is None:
        return launch, load_rows
    keys = launch.get("BN", wanted)
    if "BN" not in launch and page % keys and keys % page:
        keys = 64
    if page % 8 == 0 and (page % keys == 0 or keys % page == 0):
        return {"BN": keys, **launch}, load_pages
    fitting = [own for own in (128, 112, 96, 80, 64, 48) if own <= max(keys, 64) and page % own == 0]
    if fitting:
        return {"BN": fitting[0], **launch}, load_pages
    return {"BN": 64, **launch}, gather_pages
