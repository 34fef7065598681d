"""Attention, forward, over sequences of different lengths."""

import tileloom as tl

from . import arrays
from .attention_arguments import checked, descales, indices, multiprocessors, options, result_type, rows_of, splits_of, tile_keys, tile_rows
from .decode_plan import choose_splits, keys_seen, rows_of_groups
from .online_softmax import attend, descaled, finish, key_tiles, logarithm
from .overlap import require_own
from .remember import remembered
from .sequences import load_rows, sequence, store_rows
from .varlen_parts import over_varlen_parts


@tl.jit(candidates={"BM": tile_rows, "BN": tile_keys})
def varlen_kernel(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, starts_q, starts_k, used_q, used_k, batch, steps, longest, most, scale,
                  CAUSAL: tl.constexpr, left=None, right=None, chunk=None, sinks=None, softcap=None, score_mod: tl.constexpr = None,
                  mask_mod: tl.constexpr = None, arguments=(), DK: tl.constexpr = 128, DV: tl.constexpr = 128, THRESHOLD: tl.constexpr = 0.0,
                  scales=(None, None, None), BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto):
    """As attention_kernel, for `batch` sequences of at most `longest` queries and `most` keys. steps: of q, k, v, o, the rows from batch to batch where
    they have one."""
    H, G = q.shape[-2], k.shape[-2]
    for b, h, m in tl.tiles(batch, H, (longest, BM)):
        of_q, S = sequence(b, starts_q, used_q, steps[0], q.shape[-3], longest)
        of_k, T = sequence(b, starts_k, used_k, steps[1], k.shape[-3], most)
        if m < S:
            of_v = b * steps[2] if starts_k is None else of_k
            of_o = b * steps[3] if starts_q is None else of_q
            of_lse = (b.to(tl.int64) * H + h) * q.shape[-3] if starts_q is None else h.to(tl.int64) * q.shape[-3] + of_q
            g = h // (H // G)
            rows = m + tl.arange(0, BM)
            band = S, T, CAUSAL, left, right, chunk
            mods = softcap, score_mod, mask_mod, (b, h), arguments
            places = (of_k, T, g), (of_v, T, g)
            qt = load_rows(q, (of_q, S, h), m, BM, DK)
            own = descaled(scale, scales, b * G + g)
            sums = attend(qt, k, v, places, load_rows, rows, key_tiles(m, m + BM, band, BN), band, own, mods, DV, BN, THRESHOLD)
            out, rest = finish(sums, None if sinks is None else tl.load(sinks + h).to(tl.float32))
            if scales[2] is not None:
                out = out * tl.load(scales[2] + b * G + g)
            store_rows(o, (of_o, S, h), m, out.to(o.dtype))
            tl.store(lse + of_lse + rows, logarithm(rest), rows < S)


@remembered
def attention_varlen(q, k, v, out=None, *, cu_seqlens_q=None, cu_seqlens_k=None, seqused_q=None, seqused_k=None, max_seqlen_q=None, max_seqlen_k=None,
                     causal=False, softmax_scale=None, window=None, attention_chunk=None, softcap=None, sinks=None, score_mod=None, mask_mod=None,
                     mod_arguments=(), q_descale=None, k_descale=None, v_descale=None, num_splits=None, pack_gqa=None, deterministic=False,
                     rescale_threshold=None, lse=None, **launch):
    """Attention of many sequences, one launch. q [rows, H, D] with cu_seqlens_q [batch + 1] (sequence b has the rows cu_seqlens_q[b] to
    cu_seqlens_q[b + 1]), or [batch, S, H, D] without; k [rows, G, D] and v [rows, G, E] with cu_seqlens_k, or [batch, T, G, ...] without. Gives (out, lse):
    out as q, with E; lse [H, rows], or [batch, H, S], float32.

    seqused_q, seqused_k [batch]: how many rows of each sequence count; what lies behind may hold anything. Rows of out and lse behind seqused_q are not
    written. max_seqlen_q: no sequence has more queries; needed with cu_seqlens_q. max_seqlen_k: none has more keys; tiles are chosen by it. The index
    tensors are int32. num_splits, pack_gqa: by the longest sequences. Other arguments: see attention ([batch, G] for the descales); positions and indices
    of mods count within the sequence."""
    name = "attention_varlen"
    facts = {own: arrays.facts_of(value, name, own) for own, value in (("q", q), ("k", k), ("v", v))}
    for own, starts, why in (("q", cu_seqlens_q, "cu_seqlens_q"), ("k", cu_seqlens_k, "cu_seqlens_k"), ("v", cu_seqlens_k, "cu_seqlens_k")):
        arrays.require_rank(facts[own], 4 if starts is None else 3, name, own,
                            f"[batch, length, heads, head dimension] without '{why}'" if starts is None else f"[rows, heads, head dimension] with '{why}'")
    D, E, H, G = checked(name, facts)
    arrays.require(facts["v"].shape[:-1] == facts["k"].shape[:-1], name, "v", f"has shape {list(facts['v'].shape)}", f"{[*facts['k'].shape[:-1], E]}, as 'k'")
    given = options(name, facts["q"], H, D, E, causal, softmax_scale, window, attention_chunk, softcap, sinks, score_mod, mask_mod, mod_arguments,
                    rescale_threshold)
    splits = splits_of(name, num_splits)
    index, batch = indices(name, facts, {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k, "seqused_q": seqused_q, "seqused_k": seqused_k})
    scales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale}
    index.update(descales(name, facts["q"], scales, batch, G))
    rows = facts["q"].shape[-3]
    if cu_seqlens_q is not None:
        arrays.require(hasattr(max_seqlen_q, "__index__"), name, "max_seqlen_q", f"is {max_seqlen_q!r}", "an int: the length of the longest sequence of 'q'")
        rows = min(int(max_seqlen_q), rows)
    most = facts["k"].shape[-3]
    if max_seqlen_k is not None:
        arrays.require(hasattr(max_seqlen_k, "__index__") and max_seqlen_k >= 0, name, "max_seqlen_k", f"is {max_seqlen_k!r}",
                       "an int: the length of the longest sequence of 'k'")
        most = min(most, int(max_seqlen_k))
    most = max(most, 2)  # a constant 1 would be a variant of its own
    out = arrays.empty(q, (*facts["q"].shape[:-1], E), result_type(facts["q"])) if out is None else out
    shape = (batch, H, facts["q"].shape[1]) if cu_seqlens_q is None else (H, facts["q"].shape[0])
    lse = arrays.empty(q, shape, tl.float32) if lse is None else lse
    results = {"out": arrays.facts_of(out, name, "out"), "lse": arrays.facts_of(lse, name, "lse")}
    arrays.require_shape(results["out"], (*facts["q"].shape[:-1], E), name, "out", "by the shapes of 'q' and 'v'")
    arrays.require_type(results["out"], (*arrays.HALF, tl.float32), name, "out")
    arrays.require_contiguous(results["lse"], shape, tl.float32, name, "lse", "by the shape of 'q'")
    arrays.require_device(("q", facts["q"]), {**facts, **index, **results}, name)
    require_own(name, results, {**facts, **index})
    if batch and H and E and rows > 0:
        if 0 in facts["k"].shape:  # nothing that a copy could begin at
            k, v = (arrays.empty(q, (max(batch, 1), 1, G, -(-width // 16) * 16), facts["q"].dtype) for width in (D, E))
            facts.update(k=arrays.facts_of(k, name, "k"), v=arrays.facts_of(v, name, "v"))
            cu_seqlens_k, seqused_k = None, arrays.zeros(q, (batch,), tl.int32)
        stored, result = arrays.boxed_result(out, results["out"])
        whole = [rows_of(value, arrays.facts_of(value, name, own)) for own, value in (("q", q), ("k", k), ("v", v), ("out", stored))]
        (q, _), (k, _), (v, _), (stored, _) = whole
        starts, row_steps, factors = (cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k), tuple(step for _, step in whole), tuple(scales.values())
        R, ROWS, blocks = rows_of_groups(rows, H // G, pack_gqa)
        if not splits:
            processors = max(multiprocessors(facts["q"]) - (launch.get("sm_margin") or 0), 1)
            splits = choose_splits(batch * (H // R) * blocks, -(-keys_seen(most, rows, *given[1:5]) // 128), processors)
        if splits > 1 or R > 1 or rows <= 64:
            over_varlen_parts(q, k, v, stored, lse, starts, batch, row_steps, rows, most, given, factors, splits, R, ROWS, launch)
        else:
            varlen_kernel(q, k, v, stored, lse, *starts, batch, row_steps, rows, most, *given, factors, **launch)
        if result is not out:
            arrays.write(out, result)
    return out, lse
