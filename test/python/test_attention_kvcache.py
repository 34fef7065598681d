"""Attention over a cache of keys and values, in the simulator, against fp64. What lies outside of the sequences is NaN."""

import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, alibi, alibi_numpy, check, prefix, prefix_numpy, sequence
from tileloom import kernels
from tileloom.kernels.decode_plan import choose_splits


def cache(seed, lengths, capacity, H, G, D=64, S=1, E=None, dtype=BF16, padding=None):
    """(q, k, v) with NaN behind the lengths (and in front of the padding)."""
    rng = np.random.default_rng(seed)
    B = len(lengths)
    q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in ((B, S, H, D), (B, capacity, G, D), (B, capacity, G, E or D)))
    for b, length in enumerate(lengths):
        for tensor in (k, v):
            tensor[b, length:] = np.nan
            tensor[b, :padding[b] if padding is not None else 0] = np.nan
    return q, k, v


def paged(seed, k, v, lengths, page, spare=3):
    """The same cache in pages in random order, the table of pages (entries beyond a sequence are out of range), NaN in pages that are not used."""
    rng = np.random.default_rng(seed)
    B, capacity = k.shape[:2]
    count = -(-capacity // page)
    order = rng.permutation(B * count + spare).astype(np.int32)
    tensors = []
    for tensor in (k, v):
        pool = np.full((B * count + spare, page, *tensor.shape[2:]), np.nan).astype(tensor.dtype)
        for b in range(B):
            for p in range(count):
                rows = tensor[b, p * page:(p + 1) * page]
                pool[order[b * count + p], :len(rows)] = rows
        tensors.append(pool)
    table = order[:B * count].reshape(B, count).copy()
    for b, length in enumerate(lengths):
        table[b, -(-int(length) // page):] = 2**30
    return (*tensors, table)


def run(q, k, v, seed=0, **options):
    B, S, H = q.shape[:3]
    out, lse = np.full((B, S, H, v.shape[-1]), np.nan).astype(q.dtype), np.full((B, H, S), np.nan, np.float32)
    kernels.attention_kvcache(q, k, v, out, lse=lse, simulator={"seed": seed}, **options)
    return out, lse


def compare(found, q, k, v, lengths, padding=None, **options):
    for b, length in enumerate(lengths):
        start = 0 if padding is None else padding[b]
        check((found[0][b], found[1][b]), sequence(q[b], k[b, start:length], v[b, start:length], **options))


def i32(values):
    return np.array(values, np.int32)


@pytest.mark.parametrize("splits", [1, 2, 5, None])
@pytest.mark.parametrize("heads, groups", [(1, 1), (8, 1), (6, 2), (14, 2), (12, 1), (64, 1)])
def test_one_query(heads, groups, splits):
    lengths = [300, 1, 0, 129]
    q, k, v = cache(heads, lengths, 310, heads, groups)
    compare(run(q, k, v, cache_seqlens=i32(lengths), num_splits=splits), q, k, v, lengths)


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("s", [2, 5, 40, 130])
def test_several_queries(s, causal, pack):
    lengths = [200, 100, 3]
    q, k, v = cache(s, lengths, 256, 6, 2, S=s)
    for splits in (1, 3):
        compare(run(q, k, v, cache_seqlens=i32(lengths), causal=causal, pack_gqa=pack, num_splits=splits), q, k, v, lengths, causal=causal)


@pytest.mark.parametrize("d, e", [(128, 128), (256, 256), (192, 128), (96, 96), (72, 50)])
def test_head_dimensions(d, e):
    lengths = [150, 77]
    q, k, v = cache(d, lengths, 160, 4, 2, d, S=2, E=e, dtype=np.float16)
    if e % 8:
        v = np.pad(v, ((0, 0), (0, 0), (0, 0), (0, 8 - e % 8)))[..., :e]
    for splits in (1, 2):
        compare(run(q, k, v, cache_seqlens=i32(lengths), causal=True, num_splits=splits), q, k, v, lengths, causal=True)


@pytest.mark.parametrize("page", [1, 3, 16, 48, 64, 128, 256])
@pytest.mark.parametrize("splits", [1, 3])
def test_pages(page, splits):
    lengths = [300, 1, 0, 257]
    q, k, v = cache(page, lengths, 300, 8, 2, S=2)
    own_k, own_v, table = paged(page, k, v, lengths, page)
    found = run(q, own_k, own_v, page_table=table, cache_seqlens=i32(lengths), causal=True, num_splits=splits)
    compare(found, q, k, v, lengths, causal=True)


def test_pages_of_one_buffer():
    """K and V side by side in one buffer, heads before rows, and fewer sequences than rows of the table."""
    lengths = [130, 64]
    q, k, v = cache(1, lengths, 192, 4, 2)
    own_k, own_v, table = paged(1, k, v, lengths, 64)
    whole = np.stack([own_k.swapaxes(1, 2), own_v.swapaxes(1, 2)], 1)  # [pages, 2, G, page, D]
    own_k, own_v = whole[:, 0].swapaxes(1, 2), whole[:, 1].swapaxes(1, 2)
    table = np.concatenate([np.full((3, table.shape[1]), 2**30, np.int32), table])
    compare(run(q, own_k, own_v, page_table=table, cache_batch_idx=i32([3, 4]), cache_seqlens=i32(lengths)), q, k, v, lengths)


def test_places_and_padding():
    lengths, padding = [100, 90, 64], [10, 0, 64]
    q, k, v = cache(2, lengths, 120, 4, 2, S=3, padding=padding)
    found = run(q, k, v, cache_seqlens=i32(lengths), cache_leftpad=i32(padding), causal=True)
    compare(found, q, k, v, lengths, padding, causal=True)
    order = [2, 0, 1]
    wide_k, wide_v = (np.concatenate([t[order], np.full_like(t[:1], np.nan)]) for t in (k, v))
    places = [order.index(b) for b in range(3)]
    compare(run(q, wide_k, wide_v, cache_seqlens=i32(lengths), cache_batch_idx=i32(places), cache_leftpad=i32(padding)), q, k, v, lengths, padding)


def test_little_cache():
    """NaN in every place that does not count (flash-attention#1745)."""
    q, k, v = cache(3, [1, 3], 3, 1, 1, dtype=np.float16)
    compare(run(q, k, v, cache_seqlens=i32([1, 3])), q, k, v, [1, 3])


def test_logarithms_of_parts():
    """GQA, three sequences, four parts: every LSE at its place (vllm's flash-attention#87)."""
    lengths = [500, 130, 260]
    q, k, v = cache(4, lengths, 512, 32, 8)
    compare(run(q, k, v, cache_seqlens=i32(lengths), num_splits=4), q, k, v, lengths)


@pytest.mark.parametrize("options", [{"window": (100, 0)}, {"window": (64, 30)}, {"attention_chunk": 70, "causal": True}, {"softcap": 2.0},
                                     {"sinks": np.linspace(-1, 2, 6, dtype=np.float32)}])
@pytest.mark.parametrize("s, splits", [(1, 1), (1, 3), (9, 2)])
def test_options(options, s, splits):
    lengths = [400, 50]
    q, k, v = cache(5, lengths, 400, 6, 2, S=s)
    compare(run(q, k, v, cache_seqlens=i32(lengths), num_splits=splits, **options), q, k, v, lengths, **options)


def test_mods():
    lengths = [200, 70]
    q, k, v = cache(6, lengths, 200, 6, 2, S=4)
    slopes = np.linspace(0, 0.1, 6, dtype=np.float32)
    compare(run(q, k, v, cache_seqlens=i32(lengths), score_mod=alibi, mod_arguments=(slopes,)), q, k, v, lengths, score=alibi_numpy(slopes))
    compare(run(q, k, v, cache_seqlens=i32(lengths), mask_mod=prefix, mod_arguments=(30,)), q, k, v, lengths, mask=prefix_numpy(30))


def rotate(x, positions, cos, sin, interleaved):
    """x [S, H, D] in fp64, rounded once to its type."""
    value, half = np.asarray(x, np.float64).copy(), cos.shape[1]
    c, s = (np.asarray(t, np.float64)[positions][:, None] for t in (cos, sin))
    first, second = (value[..., 0:2 * half:2], value[..., 1:2 * half:2]) if interleaved else (value[..., :half], value[..., half:2 * half])
    first, second = first * c - second * s, second * c + first * s
    if interleaved:
        value[..., 0:2 * half:2], value[..., 1:2 * half:2] = first, second
    else:
        value[..., :half], value[..., half:2 * half] = first, second
    return value.astype(x.dtype)


@pytest.mark.parametrize("page", [None, 16, 64])
@pytest.mark.parametrize("interleaved, half, causal", [(True, 32, True), (False, 32, True), (False, 16, False), (None, 0, True)])
def test_append(interleaved, half, causal, page):
    lengths, new = [130, 0, 63], 2
    S = 2
    q, k, v = cache(7, lengths, 192, 4, 2, S=S)
    rng = np.random.default_rng(8)
    k_new, v_new = (rng.standard_normal((3, new, 2, 64)).astype(BF16) for _ in range(2))
    options, turned, turned_k = {}, q, k_new
    if half:
        angles = np.arange(200)[:, None] * 10000.0 ** (-np.arange(half) / half)
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        options = {"rotary_cos": cos, "rotary_sin": sin, "rotary_interleaved": interleaved}
        turned = np.stack([rotate(q[b], lengths[b] + np.arange(S) * causal, cos, sin, interleaved) for b in range(3)])
        turned_k = np.stack([rotate(k_new[b], lengths[b] + np.arange(new), cos, sin, interleaved) for b in range(3)])
    own_k, own_v, pages = k.copy(), v.copy(), {}
    if page:
        own_k, own_v, table = paged(7, k, v, [length + new for length in lengths], page)
        pages = {"page_table": table}
    found = run(q, own_k, own_v, cache_seqlens=i32(lengths), k_new=k_new, v_new=v_new, causal=causal, **options, **pages)
    for b, length in enumerate(lengths):
        k[b, length:length + new], v[b, length:length + new] = turned_k[b], v_new[b]
    total = [length + new for length in lengths]
    compare(found, turned, k, v, total, causal=causal)
    if not page:
        for b, length in enumerate(total):
            difference = np.abs(own_k[b, :length].astype(np.float32) - k[b, :length].astype(np.float32)).max()
            assert difference < 0.03 and (own_v[b, :length] == v[b, :length]).all(), "what was appended"
            assert np.isnan(own_k[b, length:].astype(np.float32)).all(), "nothing else was written"


@pytest.mark.parametrize("seed", range(6))
def test_random(seed):
    rng = np.random.default_rng(seed)
    B, G, S = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 7, 33]))
    lengths = [int(n) for n in rng.choice([0, 1, 40, 64, 127, 128, 250], B)]
    q, k, v = cache(seed, lengths, 260, G * int(rng.integers(1, 9)), G, S=S)
    options = {"causal": bool(rng.integers(0, 2)), "num_splits": int(rng.integers(0, 5)), "pack_gqa": rng.choice([None, True, False])}
    if rng.integers(0, 2):
        page = int(rng.choice([2, 16, 32, 64]))
        own_k, own_v, table = paged(seed, k, v, lengths, page)
        found = run(q, own_k, own_v, page_table=table, cache_seqlens=i32(lengths), seed=seed, **options)
    else:
        found = run(q, k, v, cache_seqlens=i32(lengths), seed=seed, **options)
    compare(found, q, k, v, lengths, causal=options["causal"])


def test_nothing():
    q, k = np.ones((2, 3, 4, 64), BF16), np.ones((2, 0, 2, 64), BF16)
    for options in ({}, {"num_splits": 3}, {"cache_seqlens": i32([0, 0])}):
        out, lse = run(q, k, k, **options)
        assert not out.astype(np.float32).any() and (lse == -np.inf).all()
    assert kernels.attention_kvcache(q[:0], k[:0], k[:0])[0].shape == (0, 3, 4, 64)


def test_choice_of_splits():
    """As many parts as fill the machine; none where it is full anyway, and never an empty one."""
    assert choose_splits(256, 64, 132) == 1 and choose_splits(132, 64, 132) == 1
    assert choose_splits(1, 1, 132) == 1
    for tiles, keys in ((1, 512), (8, 64), (16, 1000), (60, 37)):
        splits = choose_splits(tiles, keys, 132)
        assert 1 < splits <= keys and (splits - 1) * -(-keys // splits) < keys


def test_combine():
    rng = np.random.default_rng(9)
    partial, lse = rng.standard_normal((3, 2, 5, 4, 80)).astype(np.float32), rng.standard_normal((3, 2, 5, 4)).astype(np.float32)
    lse[:, 0, 1], lse[0, 1, 2] = -np.inf, -np.inf
    out, total = kernels.combine(partial, lse)
    weights = np.exp(lse.astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.nan_to_num(np.einsum("zbsh,zbshd->bshd", weights, partial.astype(np.float64)) / weights.sum(0)[..., None])
        wanted_lse = np.log(weights.sum(0)).transpose(0, 2, 1)
    check((out, total), (wanted, wanted_lse), 1e-5)


def test_refuses():
    q, k, v = cache(0, [64, 64], 64, 4, 2)
    lengths = i32([64, 64])

    def refused(message, q=q, k=k, v=v, **options):
        with pytest.raises(tl.ArgumentError, match="^attention_kvcache: " + message):
            kernels.attention_kvcache(q, k, v, **options)
    refused("'k_cache' has a batch of 1; needed 2, as 'q', or cache_batch_idx", k=k[:1], v=v[:1])
    refused(r"'v_cache' has shape \[2, 32, 2, 64\]; needed \[2, 64, 2, 64\], as 'k_cache'", v=v[:, :32])
    refused("'k_new' is given alone; needed both k_new and v_new, or none", k_new=k[:, :1])
    refused("'cache_seqlens' is missing; needed the lengths before 'k_new'", k_new=k[:, :1], v_new=v[:, :1])
    refused("'cache_seqlens' is missing; needed the lengths of the sequences in the pages", page_table=np.zeros((2, 1), np.int32))
    refused("'cache_leftpad' is given with page_table; needed one of the two", page_table=np.zeros((2, 1), np.int32), cache_leftpad=lengths,
            cache_seqlens=lengths)
    refused(r"'page_table' has shape \[1, 1\]; needed \[2, pages of a sequence\]", page_table=np.zeros((1, 1), np.int32), cache_seqlens=lengths)
    refused("'num_splits' is -1; needed None or 0", num_splits=-1)
    refused("'rotary_cos' is given alone; needed both", rotary_cos=np.zeros((64, 8), np.float32))
    refused(r"'rotary_cos' has shape \[64, 40\]; needed \[positions, at most 32\]", rotary_cos=np.zeros((64, 40), np.float32),
            rotary_sin=np.zeros((64, 40), np.float32))
    odd = np.zeros((2, 64, 2, 65), BF16)[..., :64]
    refused(r"'k_cache' has strides \[.*\] and the address .*; needed a last stride of 1, other strides and the address at multiples of 16 bytes", k=odd, v=odd)


@pytest.mark.parametrize("heads", [65, 71, 128])
@pytest.mark.parametrize("pack", [True, False])
def test_more_heads_than_rows(heads, pack):
    """A tile has as many heads of a group as divide it: 13, 1, 64."""
    q, k, v = cache(heads, [70], 96, heads, 1)
    compare(run(q, k, v, cache_seqlens=i32([70]), pack_gqa=pack), q, k, v, [70])
