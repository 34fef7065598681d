"""How the keys of the sequences of a cache are divided among the processors: the same number of parts for all, or a plan by their lengths."""

import tileloom as tl

from . import arrays
from .attention_arguments import multiprocessors
from .remember import remembered


@tl.jit
def parts_of(lengths, b, batch, added, most, each, limit, BN: tl.constexpr):
    """(tiles of BN keys, parts of at most `each` of them) of the sequences b; none beyond `batch`."""
    size = tl.minimum(tl.maximum(tl.load(lengths + b, b < batch, 0) + added, 0), most)
    tiles = tl.where(b < batch, (size + (BN - 1)) // BN, 0)
    return tiles, tl.where(b < batch, tl.minimum(tl.maximum((tiles + each - 1) // each, 1), limit), 0)


@tl.jit
def plan_kernel(lengths, plan, batch, items, added, most, work, processors, limit, BN: tl.constexpr, BLOCK: tl.constexpr):
    """plan[b] = how many parts sequence b has: as many as there are pieces of `each` tiles of BN keys, at most `limit`. `each` is such that all sequences,
    each of them `work` times (heads, rows), give every processor one. From plan[batch] on the parts: 256 * b + number, then -1 up to `items`."""
    at = tl.arange(0, BLOCK)
    total = 0
    for first in tl.range(0, batch, BLOCK):
        total += tl.sum(parts_of(lengths, first + at, batch, added, most, 1, limit, BN)[0], 0)
    each = tl.maximum((total * work + processors - 1) // processors, 1)
    place = 0
    for first in tl.range(0, batch, BLOCK):
        b = first + at
        _, parts = parts_of(lengths, b, batch, added, most, each, limit, BN)
        tl.store(plan + b, parts, b < batch)
        start = place + tl.cumsum(parts, 0) - parts
        for z in tl.range(tl.max(parts, 0)):
            tl.store(plan + batch + start + z, 256 * b + z, z < parts)
        place += tl.sum(parts, 0)
    for first in tl.range(place, items, BLOCK):
        tl.store(plan + batch + first + at, tl.full((BLOCK,), -1, tl.int32), first + at < items)


def rows_of_groups(S, ratio, pack_gqa):
    """(heads of a group in one tile, rows for each query, tiles of rows) for S queries of `ratio` heads for each of the keys."""
    together = next(own for own in range(min(ratio, 64), 0, -1) if ratio % own == 0)
    pack = pack_gqa if pack_gqa is not None else S * together <= 256
    R = together if pack else 1
    rows = tl.next_power_of_2(R)
    return R, rows, -(-S * rows // (64 if S * rows <= 64 else 128))


def most_parts(work, processors):
    """No sequence of a plan has more: `work` tiles of rows for each sequence."""
    return min(max(1, -(-processors // max(work, 1))), 256)


@remembered
def get_scheduler_metadata(cache_seqlens, *, max_seqlen_q, max_seqlen_k, num_heads, num_heads_k, headdim=128, num_new=0, pack_gqa=None, sm_margin=0, **launch):
    """A plan for attention_kvcache(scheduler_metadata=...) over sequences of these lengths ([B], int32): the number of parts of each, and a list of these
    ([B + parts, and some that are not used], int32), so that long and short sequences keep all processors busy for the same time. It is
    made on the device, by one small launch, and serves every layer of a step; lengths may have grown since. num_new: rows of k_new. headdim: the wider one.
    num_heads, num_heads_k: of q and of the cache."""
    name = "get_scheduler_metadata"
    facts = arrays.facts_of(cache_seqlens, name, "cache_seqlens")
    arrays.require_rank(facts, 1, name, "cache_seqlens", "one dimension")
    arrays.require_contiguous(facts, facts.shape, tl.int32, name, "cache_seqlens", "one for each sequence")
    numbers = {"max_seqlen_q": max_seqlen_q, "max_seqlen_k": max_seqlen_k, "num_heads": num_heads, "num_heads_k": num_heads_k, "headdim": headdim}
    for own, value in {**numbers, "num_new": num_new, "sm_margin": sm_margin}.items():
        arrays.require(hasattr(value, "__index__") and value >= (own in numbers), name, own, f"is {value!r}", f"an int of at least {int(own in numbers)}")
    arrays.require(num_heads % num_heads_k == 0, name, "num_heads_k", f"is {num_heads_k}", f"a divisor of num_heads, {num_heads}")
    processors = multiprocessors(facts) - sm_margin
    arrays.require(processors > 0, name, "sm_margin", f"is {sm_margin}", f"less than the {multiprocessors(facts)} multiprocessors")
    R, _, blocks = rows_of_groups(max_seqlen_q, num_heads // num_heads_k, pack_gqa)
    work = num_heads // R * blocks
    batch = facts.shape[0]
    items = batch + most_parts(work, processors)
    plan = arrays.empty(cache_seqlens, (batch + items,), tl.int32)
    if batch:
        plan_kernel[(1,)](cache_seqlens, plan, batch, items, num_new, max(max_seqlen_k, 2), work, processors, most_parts(work, processors),
                          128 if headdim <= 128 else 64, min(1024, tl.next_power_of_2(max(batch, 32))), **launch)
    return plan


def keys_seen(keys, queries, causal, left, right, chunk):
    """No tile of up to so many queries sees more of the `keys`."""
    queries = min(queries, 128)
    if left is not None and (causal or right is not None):
        keys = min(keys, left + (0 if causal else right) + queries)
    if chunk is not None:
        keys = min(keys, chunk + queries)
    return keys


def choose_splits(tiles, keys, processors):
    """Parts of the keys (counted in tiles) with which the machine is busy for the shortest time. In units of a tile of keys: a part takes 2 more to begin
    and to end, and putting parts together takes 4, and one for each 32 parts."""
    best = 1, float("inf")
    for splits in range(1, min(keys, 128) + 1):
        each = -(-keys // splits)
        if -(-keys // each) != splits:
            continue  # the last part would be empty
        rounds = -(-tiles * splits // processors)
        time = rounds * (each + 2) + (4 + splits / 32 if splits > 1 else 0)
        if time < 0.97 * best[1]:
            best = splits, time
    return best[0]
