"""Keys in parts and heads as rows on a real GPU, against fp64. See conftest.py for when it is skipped."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from arrays_gpu import i32, numpy, poison, randn  # noqa: E402
from attention_reference import check, sequence  # noqa: E402
from tileloom import kernels  # noqa: E402

try:
    import torch
except ImportError:
    torch = None  # conftest.py skips everything


@pytest.mark.parametrize("s, t, heads, groups, d, causal", [
    (1, 8192, 64, 8, 128, False), (1, 8192, 8, 8, 128, False), (7, 5000, 12, 2, 64, True), (64, 8192, 4, 4, 128, True), (130, 4000, 4, 2, 128, True),
    (3, 3000, 8, 1, 256, False), (2, 8200, 6, 2, 96, True), (500, 4096, 2, 2, 128, False)])
def test_dense(s, t, heads, groups, d, causal):
    q, k, v = randn(2, s, heads, d), randn(2, t, groups, d), randn(2, t, groups, d)
    wanted = [sequence(*(numpy(own[b]) for own in (q, k, v)), causal=causal) for b in range(2)]
    for splits in (None, 1, 2, 9, 64):
        for pack in (None, True, False):
            out, lse = kernels.attention(q, k, v, poison(*q.shape), causal=causal, num_splits=splits, pack_gqa=pack)
            for b in range(2):
                check((numpy(out[b]), numpy(lse[b])), wanted[b])


@pytest.mark.parametrize("heads, groups", [(8, 8), (16, 2), (6, 1)])
def test_varlen(heads, groups):
    lengths_q, lengths_k = [1, 0, 5, 17, 3], [6000, 100, 0, 4097, 1]
    starts = [torch.tensor([0, *own]).cumsum(0).to(torch.int32).cuda() for own in (lengths_q, lengths_k)]
    q, k, v = randn(sum(lengths_q), heads, 128), randn(sum(lengths_k), groups, 128), randn(sum(lengths_k), groups, 128)
    for splits in (None, 1, 4, 30):
        for pack in (None, True, False):
            out, lse = kernels.attention_varlen(q, k, v, poison(*q.shape), cu_seqlens_q=starts[0], cu_seqlens_k=starts[1], max_seqlen_q=17,
                                                max_seqlen_k=6000, causal=True, num_splits=splits, pack_gqa=pack)
            for b in range(5):
                rows, keys = (slice(own[b].item(), own[b + 1].item()) for own in starts)
                if rows.start < rows.stop:
                    check((numpy(out[rows]), numpy(lse[:, rows])), sequence(numpy(q[rows]), numpy(k[keys]), numpy(v[keys]), causal=True))


def test_the_same_bits_whoever_comes_last():
    """On two streams at once, and as captured launches, where other work disturbs the order of arrival."""
    q, k, v = randn(4, 1, 32, 128), randn(4, 8192, 8, 128), randn(4, 8192, 8, 128)
    lengths = i32([8192, 5000, 1, 8000])
    first = kernels.attention_kvcache(q, k, v, cache_seqlens=lengths, num_splits=13)
    torch.cuda.synchronize()
    streams, results = [torch.cuda.Stream() for _ in range(3)], []
    for turn in range(100):
        for stream in streams:
            with torch.cuda.stream(stream):
                results.append(kernels.attention_kvcache(q, k, v, poison(*q.shape), cache_seqlens=lengths, num_splits=13))
    graph = torch.cuda.CUDAGraph()
    out = poison(*q.shape)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        kernels.attention_kvcache(q, k, v, out, cache_seqlens=lengths, num_splits=13)
    for turn in range(50):
        graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(one[0], first[0]) and torch.equal(one[1], first[1]) for one in results) and torch.equal(out, first[0])


@pytest.mark.parametrize("s, heads, splits", [(1, 128, None), (5, 16, 7), (200, 4, None)])
def test_latent(s, heads, splits):
    q, k = randn(2, s, heads, 576), randn(2, 2000, 1, 576)
    out, lse = kernels.attention(q, k, k[..., :512], poison(2, s, heads, 512), causal=True, num_splits=splits)
    for b in range(2):
        check((numpy(out[b]), numpy(lse[b])), sequence(numpy(q[b]), numpy(k[b]), numpy(k[b, :, :, :512]), causal=True))
