"""Attention, forward, over a cache of keys and values: decoding, few queries for each sequence."""

import tileloom as tl

from . import arrays
from .append import append, rotation
from .attention_arguments import cache_rows, checked, descales, indices, latent_columns, options, result_type, splits_of
from .attention_blocks import checked_blocks
from .attention_parts import over_parts
from .decode_plan import rows_of_groups
from .overlap import require_own
from .remember import remembered


@remembered
def attention_kvcache(q, k_cache, v_cache, out=None, *, qv=None, cache_seqlens=None, k_new=None, v_new=None, cache_batch_idx=None, cache_leftpad=None,
                      page_table=None, rotary_cos=None, rotary_sin=None, rotary_interleaved=True, causal=False, softmax_scale=None, window=None,
                      attention_chunk=None, softcap=None, sinks=None, score_mod=None, mask_mod=None, mod_arguments=(), block_mask=None, num_splits=None,
                      pack_gqa=None, max_seqlen_k=None, scheduler_metadata=None, deterministic=False, q_descale=None, k_descale=None, v_descale=None,
                      rescale_threshold=None, lse=None, **launch):
    """Attention of q [B, S, H, D] over a cache: k_cache [batches, capacity, G, D] and v_cache [..., E], or pages of it, [pages, page size, G, ...] with
    page_table [B, pages of a sequence]. Gives (out [B, S, H, E], lse [B, H, S]). The index tensors are int32; what lies behind a sequence may hold anything.

    qv [B, S, H, E]      scores are q k^T + qv v^T (multi-head latent attention); E up to 512 then. q_descale is of both. q and k_cache of 576 columns with
                         v_cache = k_cache[..., :512] are the same, where k_descale is of all columns and v_descale of the values
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
    found = latent_columns(name, q, k_cache, v_cache, ("k_cache", "v_cache")) if qv is None else None
    if found:
        q, qv, k_cache = found
        if k_new is not None:
            v_new = k_new[..., :512] if v_new is None else v_new
            k_new = k_new[..., 512:]
        own = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "k_new": k_new, "v_new": v_new, "qv": qv}
    facts = {own: arrays.facts_of(value, name, own) for own, value in own.items() if value is not None}
    for one, tensor in facts.items():
        arrays.require_rank(tensor, 4, name, one, "four dimensions: batch or pages, length, heads, head dimension")
    wide = None if qv is None else 512
    D, E, H, G = checked(name, facts, ("k_cache", "v_cache"), widest_v=wide)
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
    require_own(name, results, {**facts, **index})
    rotary = rotary_cos, rotary_sin, rotation(name, facts, rotary_cos, rotary_sin), rotary_interleaved
    added = 0 if k_new is None else facts["k_new"].shape[1]
    arrays.require(not (added or rotary_cos is not None) or cache_seqlens is not None, name, "cache_seqlens", "is missing", "the lengths before 'k_new'")
    most = capacity
    if max_seqlen_k is not None:
        arrays.require(hasattr(max_seqlen_k, "__index__") and max_seqlen_k >= 0, name, "max_seqlen_k", f"is {max_seqlen_k!r}", "an int above 0, or None")
        most = min(most, int(max_seqlen_k))
    most = max(most, 2)  # a constant 1 would be a variant of its own
    splits, blocks = splits_of(name, num_splits), None
    if block_mask is not None:
        blocks, pack_gqa, lists = checked_blocks(name, block_mask, facts["q"], most, given, H // G, pack_gqa)
        arrays.require_device(("q", facts["q"]), lists, name)
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
    if 0 in facts["k_cache"].shape or page_table is not None and not pages.shape[1]:  # nothing that a copy could begin at
        k_cache, v_cache = (arrays.empty(q, (B, 1, G, -(-extent // 16) * 16), facts["q"].dtype) for extent in (D, E))
        cache_seqlens, steps, page_table, cache_batch_idx, cache_leftpad, page = arrays.zeros(q, (B,), tl.int32), (1, 1), None, None, None, None
        arrays.require(not added, name, "k_new", f"has {added} rows", "a cache that they fit into")
    q = append(q, k_cache, v_cache, k_new, v_new, facts, cache_seqlens, cache_batch_idx, page_table, rotary, causal or window is not None, launch)
    q = arrays.boxed(q, arrays.facts_of(q, name, "q"))
    over_parts(q, k_cache, v_cache, out, lse, given, tuple(scales.values()), groups=rows_of_groups(S, H // G, pack_gqa), splits=splits, most=most,
               lengths=cache_seqlens, added=added, places=cache_batch_idx, padding=cache_leftpad, table=page_table, page=page, steps=steps, plan=plan, qv=qv,
               blocks=blocks, apart=qv is not None and not found and k_descale is not v_descale, **launch)
    return out, lse
