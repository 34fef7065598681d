"""Attention, forward: softmax(q k^T * scale) v, with the online softmax of FlashAttention (online_softmax.py)."""

import tileloom as tl

from . import arrays
from .attention_blocks import checked_blocks, over_blocks
from .attention_arguments import checked, descales, latent_columns, multiprocessors, options, result_type, splits_of, tile_keys, tile_rows
from .attention_parts import over_parts
from .decode_plan import choose_splits, keys_seen, rows_of_groups
from .online_softmax import attend, dense, descaled, finish, key_tiles, logarithm
from .overlap import require_own
from .remember import remembered


@tl.jit(candidates={"BM": tile_rows, "BN": tile_keys})
def attention_kernel(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, scale, CAUSAL: tl.constexpr, left=None, right=None, chunk=None, sinks=None,
                     softcap=None, score_mod: tl.constexpr = None, mask_mod: tl.constexpr = None, arguments=(), DK: tl.constexpr = 128,
                     DV: tl.constexpr = 128, THRESHOLD: tl.constexpr = 0.0, scales=(None, None, None), BM: tl.constexpr = tl.auto,
                     BN: tl.constexpr = tl.auto):
    """q [B, S, H, D]; k [B, T, G, D], v [B, T, G, E], H a multiple of G; o [B, S, H, E]; lse [B, H, S], float32; scale > 0
    includes log2(e). DK, DV: D and E, or more, where tiles have columns of zeros. scales: [B, G] for q, k, v. The rest: online_softmax.py."""
    B, S, H = q.shape[:3]
    T, G = k.shape[1:3]
    for b, h, m in tl.tiles(B, H, (S, BM)):
        g = h // (H // G)
        rows = m + tl.arange(0, BM)
        band = S, T, CAUSAL, left, right, chunk
        mods = softcap, score_mod, mask_mod, (b, h), arguments
        own = descaled(scale, scales, b * G + g)
        sums = attend(q.load([b, m, h, 0], [BM, DK]), k, v, ((b, g),) * 2, dense, rows, key_tiles(m, m + BM, band, BN), band, own, mods, DV, BN, THRESHOLD)
        out, rest = finish(sums, None if sinks is None else tl.load(sinks + h).to(tl.float32))
        if scales[2] is not None:
            out = out * tl.load(scales[2] + b * G + g)
        o.store([b, m, h, 0], out.to(o.dtype))
        if lse is not None:
            tl.store(lse + (b.to(tl.int64) * H + h) * S + rows, logarithm(rest), rows < S)


@remembered
def attention(q, k, v, out=None, *, causal=False, softmax_scale=None, window=None, attention_chunk=None, softcap=None, sinks=None, score_mod=None,
              mask_mod=None, mod_arguments=(), block_mask=None, q_descale=None, k_descale=None, v_descale=None, num_splits=None,
              pack_gqa=None, deterministic=False, rescale_threshold=None, lse=None, **launch):
    """q [B, S, H, D], k [B, T, G, D], v [B, T, G, E] in float16, bfloat16 or float8_e4m3fn, H a multiple of G, D and E up to 256 (or 576 and 512 with
    v = k[..., :512], multi-head latent attention); any S and T. Gives
    (out, lse): out [B, S, H, E], lse [B, H, S] in float32 (natural logarithm). A row that sees no key gives zeros and -inf. Tensors whose rows do not
    start at multiples of 16 bytes go through a padded copy.

    Query i stands at the key p = i + T - S.
    softmax_scale    by default 1 / sqrt(D)
    causal           keys up to p
    window           (left, right): keys from p - left to p + right; None or a negative number: no limit there
    attention_chunk  only keys n with n // attention_chunk == p // attention_chunk
    softcap          scores become softcap * tanh(score / softcap), before any mask
    sinks            [H], float16, bfloat16 or float32: a score for each head that takes part in the sum but has no value
    score_mod        a @tl.jit function (score, b, h, i, n, *mod_arguments) -> score: of scaled scores [rows, keys] in float32, with indices that broadcast to
                     them, after softcap
    mask_mod         a @tl.jit function (b, h, i, n, *mod_arguments) -> whether query i sees key n, beside the other masks
    mod_arguments    numbers, and tensors, which arrive as pointers
    block_mask       a BlockMask (attention_blocks.py), or torch's: only the blocks of keys that it names are read; mask_mod is asked in those that are
                     not full. Not with causal, window and attention_chunk
    q_descale, k_descale, v_descale  [B, G], float32: factors of the elements of q, k and v; out is bfloat16 then, by default
    num_splits       parts of the keys that are worked on at the same time and put together afterwards, for few queries and many keys; by default (None or 0)
                     as many as fill the machine
    pack_gqa         whether the heads of a group are rows of one tile; by default if there are few queries. With block_mask only where all heads have the
                     same lists
    rescale_threshold  sums are rescaled where a row's largest score has grown by more than this many powers of two since the last time; 0: by anything.
                     By default 8 (in 8 bits 4, the most there) where E is above 64 or, in 16 bits, two warpgroups share a tile, where that is faster, else 0
    deterministic    results are the same bits every time in any case
    launch: BM, BN, schedule, stream, target, and sm_margin: multiprocessors that are left to other kernels."""
    name = "attention"
    qv, latent = None, latent_columns(name, q, k, v)
    if latent:
        q, qv, k = latent
    facts = {own: arrays.facts_of(value, name, own) for own, value in (("q", q), ("k", k), ("v", v))}
    for own in facts:
        arrays.require_rank(facts[own], 4, name, own, "four dimensions: batch, length, heads, head dimension")
    if latent:
        facts["qv"] = arrays.facts_of(qv, name, "q")
    D, E, H, G = checked(name, facts, widest_v=512 if latent else None)
    B, S, T = facts["q"].shape[0], facts["q"].shape[1], facts["k"].shape[1]
    arrays.require_shape(facts["k"], (B, T, G, D), name, "k", "by the shapes of 'q' and 'k'")
    arrays.require_shape(facts["v"], (B, T, G, E), name, "v", "by the shapes of 'q' and 'k'")
    given = options(name, facts["q"], H, D + E if latent else D, E, causal, softmax_scale, window, attention_chunk, softcap, sinks, score_mod, mask_mod,
                    mod_arguments, rescale_threshold)
    scales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale}
    facts.update(descales(name, facts["q"], scales, B, G))
    splits, blocks = splits_of(name, num_splits), None
    if block_mask is not None:
        blocks, pack_gqa, found = checked_blocks(name, block_mask, facts["q"], T, given, H // G, pack_gqa)
        facts.update(found)
    out = arrays.empty(q, (B, S, H, E), result_type(facts["q"])) if out is None else out
    lse = arrays.empty(q, (B, H, S), tl.float32) if lse is None else lse
    results = {"out": arrays.facts_of(out, name, "out"), "lse": arrays.facts_of(lse, name, "lse")}
    arrays.require_shape(results["out"], (B, S, H, E), name, "out", "by the shapes of 'q' and 'v'")
    arrays.require_type(results["out"], (*arrays.HALF, tl.float32), name, "out")
    arrays.require_contiguous(results["lse"], (B, H, S), tl.float32, name, "lse", "by the shape of 'q'")
    arrays.require_device(("q", facts["q"]), {**facts, **results}, name)
    require_own(name, results, facts)
    if B * S * H * E:
        q, k, v = (arrays.boxed(value, facts[own]) for own, value in (("q", q), ("k", k), ("v", v)))
        factors, groups = tuple(scales.values()), rows_of_groups(S, H // G, pack_gqa)
        if not splits and not latent:
            processors = max(multiprocessors(facts["q"]) - (launch.get("sm_margin") or 0), 1)
            splits = choose_splits(B * (H // groups[0]) * groups[2], -(-keys_seen(T, S, *given[1:5]) // 128), processors)
        stored, result = arrays.boxed_result(out, results["out"])
        if splits > 1 or groups[0] > 1 or latent or S <= 64 and not blocks:
            over_parts(q, k, v, stored, lse, given, factors, groups=groups, splits=splits, most=T, qv=qv, blocks=blocks, **launch)
        elif blocks:
            over_blocks(q, k, v, stored, lse, given, factors, blocks, T, launch)
        else:
            attention_kernel(q, k, v, stored, lse, *given, factors, **launch)
        if result is not out:
            arrays.write(out, result)
    return out, lse
