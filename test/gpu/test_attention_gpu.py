"""Attention's arguments on a real GPU, against fp64: dense, sequences of different lengths, caches. See conftest.py for when it is skipped. What lies outside
of the sequences is NaN. Shapes in the names of tests are those of bug reports of other libraries (docs/notes/attention.md)."""

import math
import os
import random
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from arrays_gpu import i32, numpy, poison, randn  # noqa: E402
from attention_reference import alibi, alibi_numpy, batch, check, prefix, prefix_numpy, sequence  # noqa: E402
from tileloom import kernels  # noqa: E402

try:
    import torch
except ImportError:
    torch = None  # conftest.py skips everything


def options_of(rng, heads, T):
    """(arguments of ours, of the reference)."""
    own, reference = {}, {}
    if rng.random() < 0.5:
        own["causal"] = True
    if rng.random() < 0.4:
        own["window"] = (rng.choice([-1, 0, 5, 100, 333]), rng.choice([-1, 0, 7, 128]))
    if rng.random() < 0.2:
        own["attention_chunk"] = rng.choice([1, 64, 100, 256])
    if rng.random() < 0.3:
        own["softcap"] = rng.choice([1.0, 20.0])
    if rng.random() < 0.3:
        own["softmax_scale"] = 0.3
    reference.update(own)
    if rng.random() < 0.3:
        sinks = torch.randn(heads, device="cuda")
        own["sinks"], reference["sinks"] = sinks, numpy(sinks)
    if rng.random() < 0.3:
        slopes = torch.rand(heads, device="cuda") * 0.1
        own.update(score_mod=alibi, mod_arguments=(slopes,))
        reference["score"] = alibi_numpy(numpy(slopes))
    elif rng.random() < 0.3:
        own.update(mask_mod=prefix, mod_arguments=(50,))
        reference["mask"] = prefix_numpy(50)
    return own, reference


LENGTHS = [1, 5, 64, 127, 128, 129, 200, 256, 500]


@pytest.mark.parametrize("index", range(60))
def test_dense(index):
    rng = random.Random(index)
    G, d = rng.choice([1, 2]), rng.choice([64, 96, 128, 192, 256, 72])
    H, e, dtype = G * rng.choice([1, 2, 3]), rng.choice([d, 64, 128]), rng.choice(["bfloat16", "bfloat16", "float16"])
    B, S, T = rng.choice([1, 2]), rng.choice(LENGTHS), rng.choice(LENGTHS)
    q, k, v = randn(B, S, H, d, dtype=dtype), randn(B, T, G, d, dtype=dtype), randn(B, T, G, e, dtype=dtype)
    own, reference = options_of(rng, H, T)
    out, lse = kernels.attention(q, k, v, poison(B, S, H, e, dtype=dtype), **own)
    check((numpy(out), numpy(lse)), batch(*map(numpy, (q, k, v)), **reference), 6e-3)


@pytest.mark.parametrize("d", range(8, 257, 8))
def test_head_dimension(d):
    q, k, v = (randn(1, 150, 2, d) for _ in range(3))
    out, lse = kernels.attention(q, k, v, poison(1, 150, 2, d), causal=True)
    check((numpy(out), numpy(lse)), batch(*map(numpy, (q, k, v)), causal=True), 6e-3)


def packed(lens_q, lens_k, H, G, d, used_k=None):
    q, k, v = randn(sum(lens_q), H, d), randn(sum(lens_k), G, d), randn(sum(lens_k), G, d)
    starts = [torch.tensor([0, *own]).cumsum(0).to(torch.int32).cuda() for own in (lens_q, lens_k)]
    for b, used in enumerate(used_k or ()):
        for tensor in (k, v):
            tensor[starts[1][b] + used:starts[1][b + 1]] = math.nan
    return q, k, v, starts


@pytest.mark.parametrize("index", range(30))
def test_varlen(index):
    rng = random.Random(100 + index)
    batches, G, d = rng.choice([1, 3, 7]), rng.choice([1, 2]), rng.choice([64, 128, 96])
    H = G * rng.choice([1, 2, 3])
    lens_q, lens_k = ([rng.choice([0, *LENGTHS]) for _ in range(batches)] for _ in range(2))
    used_k = [rng.randint(0, n) for n in lens_k] if rng.random() < 0.5 else None
    lens_q[0] += 1
    q, k, v, starts = packed(lens_q, lens_k, H, G, d, used_k)
    own, reference = options_of(rng, H, 0)
    out, lse = kernels.attention_varlen(q, k, v, poison(sum(lens_q), H, d), cu_seqlens_q=starts[0], cu_seqlens_k=starts[1], max_seqlen_q=max(lens_q),
                                        **({"seqused_k": i32(used_k)} if used_k else {}), **own)
    for b in range(batches):
        i, n = int(starts[0][b]), int(starts[1][b])
        T = (used_k or lens_k)[b]
        wanted = sequence(numpy(q[i:i + lens_q[b]]), numpy(k[n:n + T]), numpy(v[n:n + T]), **reference)
        check((numpy(out[i:i + lens_q[b]]), numpy(lse[:, i:i + lens_q[b]])), wanted, 6e-3)


@pytest.mark.parametrize("lens_q, lens_k", [([3, 1, 7], [0, 5, 300]), ([30, 40], [0, 0])])
@pytest.mark.parametrize("causal", [False, True])
def test_sequences_without_keys(lens_q, lens_k, causal):
    """Zeros and -inf, each at its own place."""
    q, k, v, starts = packed(lens_q, lens_k, 2, 1, 64)
    out, lse = kernels.attention_varlen(q, k, v, poison(sum(lens_q), 2, 64), cu_seqlens_q=starts[0], cu_seqlens_k=starts[1], max_seqlen_q=max(lens_q), causal=causal)
    for b, (S, T) in enumerate(zip(lens_q, lens_k)):
        i, n = int(starts[0][b]), int(starts[1][b])
        check((numpy(out[i:i + S]), numpy(lse[:, i:i + S])), sequence(numpy(q[i:i + S]), numpy(k[n:n + T]), numpy(v[n:n + T]), causal=causal), 6e-3)


def paged(k, v, lengths, page):
    """Caches in pages in random order, with a table whose entries beyond a sequence are out of range."""
    B, capacity = k.shape[:2]
    count = -(-capacity // page)
    order = torch.randperm(B * count + 3, device="cuda")[:B * count]
    pools = []
    for tensor in (k, v):
        pool = poison(B * count + 3, page, *tensor.shape[2:])
        pool[order] = torch.cat([tensor, poison(B, count * page - capacity, *tensor.shape[2:])], 1).view(B * count, page, *tensor.shape[2:])
        pools.append(pool)
    table = order.view(B, count).to(torch.int32)
    for b, length in enumerate(lengths):
        table[b, -(-length // page):] = 2**30
    return (*pools, table)


def cache(lengths, capacity, H, G, d, S=1):
    q, k, v = randn(len(lengths), S, H, d), randn(len(lengths), capacity, G, d), randn(len(lengths), capacity, G, d)
    for b, length in enumerate(lengths):
        k[b, length:], v[b, length:] = math.nan, math.nan
    return q, k, v


def compare(found, q, k, v, lengths, **reference):
    for b, length in enumerate(lengths):
        wanted = sequence(numpy(q[b]), numpy(k[b, :length]), numpy(v[b, :length]), **reference)
        check((numpy(found[0][b]), numpy(found[1][b])), wanted, 6e-3)


@pytest.mark.parametrize("index", range(60))
def test_kvcache(index):
    rng = random.Random(200 + index)
    B, G, d = rng.choice([1, 3, 5]), rng.choice([1, 2, 4]), rng.choice([64, 128, 128, 96, 256])
    H, S = G * rng.choice([1, 2, 3, 4, 7, 8, 12]), rng.choice([1, 1, 1, 2, 5, 40, 130])
    lengths = [rng.choice([0, 1, 63, 64, 300, 1000, 2000]) for _ in range(B)]
    q, k, v = cache(lengths, 2048, H, G, d, S)
    own, reference = options_of(rng, H, 0)
    own.update(num_splits=rng.choice([0, 0, 1, 2, 5, 16]), pack_gqa=rng.choice([None, None, True, False]), cache_seqlens=i32(lengths))
    caches, page = (k, v), rng.choice([None, None, 1, 16, 32, 48, 64, 128, 256])
    if page:
        *caches, own["page_table"] = paged(k, v, lengths, page)
    compare(kernels.attention_kvcache(q, *caches, poison(*q.shape), **own), q, k, v, lengths, **reference)


def test_windows_that_are_causal():
    """B 1, S 16384, H 8, D 128: (S - 1, 0), (S, 0), (-1, 0) and causal."""
    q, k, v = (randn(1, 16384, 8, 128) for _ in range(3))
    causal = kernels.attention(q, k, v, causal=True)
    for window in ((16383, 0), (16384, 0), (-1, 0)):
        for one, other in zip(kernels.attention(q, k, v, window=window), causal):
            assert (one.float() - other.float()).abs().max() < 2e-2 if one.dtype is torch.bfloat16 else (one - other).abs().max() < 1e-4
    for one, other in zip(kernels.attention(q, k, v, window=(-1, 0)), causal):
        assert torch.equal(one, other)


def test_causal_and_a_window():
    """B 2, S 1024, H 8, D 128: causal with a window that is none is causal, to the bit."""
    q, k, v = (randn(2, 1024, 8, 128) for _ in range(3))
    tiles = {"BM": 128, "BN": 128}
    causal = kernels.attention(q, k, v, causal=True, **tiles)
    assert causal[0].any() and causal[1].isfinite().all()
    for window in ((-1, 0), (-1, -1), (None, 0)):
        for one, other in zip(kernels.attention(q, k, v, causal=True, window=window, **tiles), causal):
            assert torch.equal(one, other)


def test_paged_prefill_with_a_window():
    """Not causal, window_left 333, 300 queries, 4096 keys, 8 heads of 2, D 128, pages of 16."""
    q, k, v = cache([4096], 4096, 8, 2, 128, 300)
    *caches, table = paged(k, v, [4096], 16)
    for pack in (True, False):
        found = kernels.attention_kvcache(q, *caches, cache_seqlens=i32([4096]), page_table=table, window=(333, None), pack_gqa=pack)
        compare(found, q, k, v, [4096], window=(333, None))


@pytest.mark.parametrize("tokens", [256, 257, 511, 512, 513, 1000])
def test_windows_and_pages(tokens):
    """window_left 511, 64 heads of 8, pages of 32: one token more than a multiple of the tile."""
    q, k, v = cache([tokens], 1024, 64, 8, 128, 16)
    *caches, table = paged(k, v, [tokens], 32)
    compare(kernels.attention_kvcache(q, *caches, cache_seqlens=i32([tokens]), page_table=table, window=(511, 0)), q, k, v, [tokens], window=(511, 0))


@pytest.mark.parametrize("ratio", [1, 3, 6, 7, 12])
@pytest.mark.parametrize("s", [1, 5, 130])
def test_ratios(ratio, s):
    lengths = [700, 131]
    q, k, v = cache(lengths, 1024, 2 * ratio, 2, 128, s)
    compare(kernels.attention_kvcache(q, k, v, cache_seqlens=i32(lengths), causal=True), q, k, v, lengths, causal=True)


def test_many_pages_of_one_buffer():
    """65,600 pages of 16 x 8 x 128, K and V side by side: the last ones."""
    pool = torch.zeros(65600, 2, 16, 8, 128, device="cuda", dtype=torch.bfloat16)
    q, k, v = cache([40], 48, 16, 8, 128)
    for page in range(3):
        pool[65599 - page, 0], pool[65599 - page, 1] = k[0, 16 * page:16 * page + 16], v[0, 16 * page:16 * page + 16]
    table = i32([[65599, 65598, 65597]])
    compare(kernels.attention_kvcache(q, pool[:, 0], pool[:, 1], cache_seqlens=i32([40]), page_table=table), q, k, v, [40])


@pytest.mark.parametrize("batches", [65535, 65536, 70000])
def test_many_sequences(batches):
    q, k, v = randn(batches, 1, 2, 64), randn(batches, 8, 1, 64), randn(batches, 8, 1, 64)
    out, lse = kernels.attention_kvcache(q, k, v, poison(*q.shape))
    assert not out.isnan().any()
    for b in (0, 65534, batches - 1):
        check((numpy(out[b]), numpy(lse[b])), sequence(numpy(q[b]), numpy(k[b]), numpy(v[b])), 6e-3)


def test_growing_cache():
    """Decoding step by step, the number of splits left to the host: never NaN."""
    q, k, v = randn(1, 1, 14, 64), poison(1, 2048, 2, 64), poison(1, 2048, 2, 64)
    *caches, table = paged(k, v, [2048], 16)
    lengths = i32([0])
    for step in range(500):
        new = randn(1, 1, 2, 64), randn(1, 1, 2, 64)
        out, _ = kernels.attention_kvcache(q, *caches, cache_seqlens=lengths, page_table=table, k_new=new[0], v_new=new[1])
        lengths += 1
        assert not out.isnan().any(), step


def test_captured_launch():
    """Captured with one key, replayed with 8192."""
    q, k, v = randn(2, 1, 16, 128), randn(2, 8192, 2, 128), randn(2, 8192, 2, 128)
    lengths, out, lse = i32([1, 1]), poison(2, 1, 16, 128), torch.empty(2, 16, 1, device="cuda")
    launch = lambda: kernels.attention_kvcache(q, k, v, out, lse=lse, cache_seqlens=lengths)  # noqa: E731
    launch()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    for length in (1, 77, 8192):
        lengths.fill_(length)
        graph.replay()
        compare((out, lse), q, k, v, [length] * 2)


def test_same_bits():
    q, k, v = cache([5000, 20], 8192, 16, 2, 128)
    first = kernels.attention_kvcache(q, k, v, cache_seqlens=i32([5000, 20]))
    for _ in range(20):
        for one, other in zip(kernels.attention_kvcache(q, k, v, cache_seqlens=i32([5000, 20])), first):
            assert torch.equal(one, other)


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("page", [None, 16])
def test_append(interleaved, page):
    lengths, half = [130, 0, 1000], 32
    q, k, v = cache(lengths, 1024, 8, 2, 128, 2)
    k_new, v_new = randn(3, 2, 2, 128), randn(3, 2, 2, 128)
    angles = torch.arange(1100, device="cuda")[:, None] * 10000.0 ** (-torch.arange(half, device="cuda") / half)
    total = [length + 2 for length in lengths]
    caches, options = (k.clone(), v.clone()), {}
    if page:
        *caches, options["page_table"] = paged(k, v, total, page)
    found = kernels.attention_kvcache(q, *caches, cache_seqlens=i32(lengths), k_new=k_new, v_new=v_new, rotary_cos=angles.cos(), rotary_sin=angles.sin(),
                                      rotary_interleaved=interleaved, causal=True, **options)

    def rotated(x, b):
        c, s = (t[lengths[b]:lengths[b] + 2, None, :].double() for t in (angles.cos(), angles.sin()))
        value = x[b].double()
        first, second = (value[..., :2 * half:2], value[..., 1:2 * half:2]) if interleaved else (value[..., :half], value[..., half:2 * half])
        pair = first * c - second * s, second * c + first * s
        turned = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
        return torch.cat([turned, value[..., 2 * half:]], -1).to(x.dtype)
    turned = torch.stack([rotated(q, b) for b in range(3)])
    for b, length in enumerate(lengths):
        k[b, length:length + 2], v[b, length:length + 2] = rotated(k_new, b), v_new[b]
    compare(found, turned, k, v, total, causal=True)
