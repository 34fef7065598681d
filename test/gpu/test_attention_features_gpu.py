"""Attention in 8 bits over sequences and caches, plans, latent attention and block-sparse masks on a real GPU, against fp64. See conftest.py for when it is
skipped."""

import math
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from arrays_gpu import i32, numpy, poison, randn  # noqa: E402
from attention_reference import check, prefix, prefix_numpy, sequence  # noqa: E402
from tileloom import kernels  # noqa: E402

try:
    import torch
except ImportError:
    torch = None  # conftest.py skips everything


def hide(lengths, *caches):
    """NaN behind each sequence."""
    for b, length in enumerate(lengths):
        for cache in caches:
            cache[b, length:] = torch.full_like(cache[b, length:].float(), math.nan).to(cache.dtype)


def lists_of(kinds):
    lists = []
    for kind in (1, 2):
        named = kinds == kind
        lists += [named.sum(-1).to(torch.int32), torch.argsort(named.to(torch.int32), dim=-1, descending=True, stable=True).to(torch.int32)]
    return lists


@pytest.mark.parametrize("lengths", [[300, 0, 77], [5000, 1, 129]])
@pytest.mark.parametrize("splits", [None, 1, 5])
def test_eight_bits_in_caches(lengths, splits):
    q, k, v = randn(3, 1, 16, 128, dtype="float8_e4m3fn"), randn(3, 5120, 2, 128, dtype="float8_e4m3fn"), randn(3, 5120, 2, 128, dtype="float8_e4m3fn")
    hide(lengths, k, v)
    scales = [torch.rand(3, 2, device="cuda") + 0.5 for _ in range(3)]
    out, lse = kernels.attention_kvcache(q, k, v, poison(*q.shape), cache_seqlens=i32(lengths), num_splits=splits, q_descale=scales[0], k_descale=scales[1],
                                         v_descale=scales[2])
    for b, length in enumerate(lengths):
        own = [numpy(scale[b])[None, :, None] for scale in scales]
        wanted = sequence(numpy(q[b]) * own[0].repeat(8, 1), numpy(k[b, :length]) * own[1], numpy(v[b, :length]) * own[2])
        check((numpy(out[b]), numpy(lse[b])), wanted, 0.03)


@pytest.mark.parametrize("causal", [False, True])
def test_eight_bits_in_sequences(causal):
    lengths = [130, 0, 1000, 1, 640]
    starts = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32).cuda()
    q, k, v = (randn(sum(lengths), heads, 128, dtype="float8_e4m3fn") for heads in (4, 2, 2))
    out, lse = kernels.attention_varlen(q, k, v, poison(*q.shape), cu_seqlens_q=starts, cu_seqlens_k=starts, max_seqlen_q=1000, max_seqlen_k=1000, causal=causal)
    for begin, end in zip(starts.tolist(), starts.tolist()[1:]):
        if begin < end:
            check((numpy(out[begin:end]), numpy(lse[:, begin:end])), sequence(*(numpy(t[begin:end]) for t in (q, k, v)), causal=causal), 0.03)


@pytest.mark.parametrize("s", [1, 4])
def test_plan(s):
    lengths = [20000, 0, 260, 1, 3000, 129]
    q, k, v = randn(6, s, 16, 128), randn(6, 20480, 2, 128), randn(6, 20480, 2, 128)
    hide(lengths, k, v)
    plan = kernels.get_scheduler_metadata(i32(lengths), max_seqlen_q=s, max_seqlen_k=20480, num_heads=16, num_heads_k=2)
    first = None
    for margin in (0, 0, 0, 40):
        found = kernels.attention_kvcache(q, k, v, poison(*q.shape), cache_seqlens=i32(lengths), scheduler_metadata=plan, causal=True, sm_margin=margin)
        first = first or found
        if not margin:
            assert all(torch.equal(one, other) for one, other in zip(found, first))
        for b, length in enumerate(lengths):
            check((numpy(found[0][b]), numpy(found[1][b])), sequence(*map(numpy, (q[b], k[b, :length], v[b, :length])), causal=True), 6e-3)


@pytest.mark.parametrize("heads, page", [(128, None), (16, None), (128, 64), (16, 1)])
def test_latent(heads, page):
    lengths = [3000, 65]
    q, k = randn(2, 1, heads, 576), randn(2, 3072, 1, 576)
    hide(lengths, k)
    caches, table = k, None
    if page:
        order = torch.randperm(2 * 3072 // page, device="cuda")
        caches = torch.empty(2 * 3072 // page, page, 1, 576, device="cuda", dtype=k.dtype)
        caches[order] = k.view(-1, page, 1, 576)
        table = order.view(2, -1).to(torch.int32)
    found = kernels.attention_kvcache(q, caches, caches[..., :512], poison(2, 1, heads, 512), cache_seqlens=i32(lengths), page_table=table)
    for b, length in enumerate(lengths):
        check((numpy(found[0][b]), numpy(found[1][b])), sequence(*map(numpy, (q[b], k[b, :length], k[b, :length, :, :512]))), 6e-3)


@pytest.mark.parametrize("seed", range(4))
def test_blocks(seed):
    """Random blocks, and torch's own class where it is there."""
    torch.manual_seed(seed)
    q, k, v = randn(2, 700, 4, 128), randn(2, 900, 2, 128), randn(2, 900, 2, 128)
    kinds = torch.randint(0, 3, (2, 4, 6, 8), device="cuda")
    out, lse = kernels.attention(q, k, v, poison(*q.shape), block_mask=kernels.BlockMask(*lists_of(kinds)), mask_mod=prefix, mod_arguments=(300,))
    own = kinds.cpu().numpy()
    for b in range(2):
        def seen(h, i, n, b=b):
            kind = own[b][h, i // 128, n // 128]
            return (kind == 2) | ((kind == 1) & prefix_numpy(300)(h, i, n))
        check((numpy(out[b]), numpy(lse[b])), sequence(*map(numpy, (q[b], k[b], v[b])), mask=seen), 6e-3)


@pytest.mark.parametrize("s, splits", [(1, None), (1, 7), (5, 3), (300, 2)])
@pytest.mark.parametrize("paged", [False, True])
def test_parts_of_blocks(s, splits, paged):
    """Lists for all heads, whose groups are rows of a tile; parts of the lists; dense tensors and a cache in pages."""
    torch.manual_seed(s)
    lengths = [5000, 130]
    q, k, v = randn(2, s, 16, 128), randn(2, 5120, 2, 128), randn(2, 5120, 2, 128)
    kinds = torch.randint(0, 3, (2, 1, -(-s // 128), 40), device="cuda")
    mask, own = kernels.BlockMask(*lists_of(kinds)), kinds.cpu().numpy()
    given = {"block_mask": mask, "mask_mod": prefix, "mod_arguments": (300,), "num_splits": splits}
    if paged:
        hide(lengths, k, v)
        order = torch.randperm(2 * 5120 // 64, device="cuda")
        pools = [torch.empty(2 * 5120 // 64, 64, 2, 128, device="cuda", dtype=k.dtype) for _ in range(2)]
        for pool, whole in zip(pools, (k, v)):
            pool[order] = whole.view(-1, 64, 2, 128)
        found = kernels.attention_kvcache(q, *pools, poison(*q.shape), cache_seqlens=i32(lengths), page_table=order.view(2, -1).to(torch.int32), **given)
    else:
        lengths = [5120, 5120]
        found = kernels.attention(q, k, v, poison(*q.shape), **given)
    for b, length in enumerate(lengths):
        def seen(h, i, n, b=b):
            kind = own[b][0 * h, i // 128, n // 128]
            return (kind == 2) | ((kind == 1) & prefix_numpy(300)(h, i, n))
        check((numpy(found[0][b]), numpy(found[1][b])), sequence(*map(numpy, (q[b], k[b, :length], v[b, :length])), mask=seen), 6e-3)


@pytest.mark.parametrize("d, e, splits", [(64, 512, None), (64, 512, 3), (128, 256, 1)])
def test_eight_bits_with_qv(d, e, splits):
    lengths = [3000, 65]
    q, k, v, qv = (randn(*shape, dtype="float8_e4m3fn") for shape in ((2, 1, 16, d), (2, 3072, 1, d), (2, 3072, 1, e), (2, 1, 16, e)))
    hide(lengths, k, v)
    scales = [torch.rand(2, 1, device="cuda") + 0.5 for _ in range(3)]
    out, lse = kernels.attention_kvcache(q, k, v, poison(2, 1, 16, e), qv=qv, cache_seqlens=i32(lengths), num_splits=splits, q_descale=scales[0],
                                         k_descale=scales[1], v_descale=scales[2])
    for b, length in enumerate(lengths):
        of_q, of_k, of_v = (numpy(scale[b])[0] for scale in scales)
        keys, values = numpy(k[b, :length]) * of_k, numpy(v[b, :length]) * of_v
        queries = torch.cat([q[b].float(), qv[b].float()], -1)
        wanted = sequence(numpy(queries) * of_q, np.concatenate([keys, values], -1), values)
        check((numpy(out[b]), wanted[1]), wanted, 0.03)
        np.testing.assert_allclose(numpy(lse[b]), wanted[1], 3e-3, 3e-3)


@pytest.mark.parametrize("t", [1024, 8192])
@pytest.mark.parametrize("causal", [False, True])
def test_error_of_eight_bits(t, causal):
    """Without a threshold the largest p of each tile of keys is exact."""
    q, k, v = (randn(1, t, 2, 128, dtype="float8_e4m3fn") for _ in range(3))
    out, lse = kernels.attention(q, k, v, poison(*q.shape), causal=causal, rescale_threshold=0)
    rows = slice(t - 128, t)
    wanted = sequence(numpy(q[0, rows]), numpy(k[0]), numpy(v[0]), causal=causal)
    check((numpy(out[0, rows]), numpy(lse[0, :, rows])), wanted, 0.0235)
