"""The kernel library on a real GPU, against fp64: a random sweep of shapes, layouts and strides, with guard bands and poison; reported
faults that need its size; launches under capture, on streams, and their cost. See conftest.py for when it is skipped."""

import math
import os
import random
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import tileloom as tl
from tileloom import kernels

try:
    import torch
except ImportError:
    torch = None  # conftest.py skips everything

GUARD = 64


def guarded(shape, dtype, fill=7.0):
    """A tensor inside of a larger one that is full of `fill`; and a check that nothing else was written."""
    pitch = -(-shape[-1] // 8) * 8 + GUARD
    outer = torch.full((*shape[:-2], shape[-2] + 2 * GUARD, pitch + GUARD), fill, device="cuda", dtype=dtype)
    inside = outer[..., GUARD:GUARD + shape[-2], GUARD:GUARD + shape[-1]]

    def check():
        kept = inside.clone()
        inside.fill_(fill)
        untouched = bool((outer == fill).all())
        inside.copy_(kept)
        assert untouched, "something was written beside the tensor"
    return inside, check


def poisoned(*shape, dtype, pad=8):
    """A random tensor with rows padded by NaN to a multiple of 8 elements and more."""
    outer = torch.full((*shape[:-1], -(-shape[-1] // 8) * 8 + pad), float("nan"), device="cuda", dtype=dtype)
    inside = outer[..., :shape[-1]]
    inside.copy_(torch.randn(shape, device="cuda"))
    return inside


def error(found, wanted):
    return ((found.double() - wanted).norm() / wanted.norm().clamp_min(1e-30)).item()


def gemm_case(index):
    rng = random.Random(index)
    size = lambda: rng.choice([1, 7, 8, 63, 64, 65, 128, 200, 255, 256, 257, 384, 511, 1000, rng.randint(1, 1500)])  # noqa: E731
    return (size(), size(), rng.choice([0, 1, 8, 63, 64, 65, 128, 200, 512, rng.randint(1, 1500)]), rng.choice(["NT", "NN", "TN", "TT"]),
            rng.choice(["float16", "bfloat16"]), rng.choice(["float16", "bfloat16", "float32"]), rng.random() < 0.3, rng.random() < 0.3)


@pytest.mark.parametrize("index", range(200))
def test_gemm_sweep(index):
    m, n, k, layout, dtype, out_dtype, with_bias, accumulate = gemm_case(index)
    dtype, out_dtype = getattr(torch, dtype), getattr(torch, out_dtype)
    a = poisoned(k, m, dtype=dtype).T if layout[0] == "T" else poisoned(m, k, dtype=dtype)
    b = poisoned(n, k, dtype=dtype).T if layout[1] == "T" else poisoned(k, n, dtype=dtype)
    out, check = guarded((m, n), out_dtype)
    bias = torch.randn(n, device="cuda", dtype=dtype) if with_bias else None
    wanted = a.double() @ b.double() + (bias.double() if with_bias else 0) + (out.double() if accumulate else 0)
    kernels.gemm(a, b, out, bias=bias, accumulate=accumulate)
    assert error(out, wanted) < (1e-5 if out_dtype is torch.float32 else 5e-3), gemm_case(index)
    check()


def attention_in_fp64(q, k, v, causal, scale):
    q, k, v = (t.double().transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * scale
    S, T = scores.shape[-2:]
    if causal:
        row, column = torch.arange(S, device="cuda")[:, None], torch.arange(T, device="cuda")[None, :]
        scores = scores.masked_fill(column > row + T - S, -math.inf)
    lse = scores.logsumexp(-1)
    weights = (scores - lse.nan_to_num(neginf=0.0)[..., None]).exp()
    return (weights @ v).transpose(1, 2), lse


def attention_case(index):
    rng = random.Random(1000 + index)
    groups = rng.choice([1, 2, 4])
    length = lambda: rng.choice([1, 5, 64, 127, 128, 129, 200, 256, 500, rng.randint(1, 700)])  # noqa: E731
    return rng.choice([1, 2, 3]), length(), length(), groups * rng.choice([1, 2, 3]), groups, rng.choice([64, 128, 256]), rng.random() < 0.5


@pytest.mark.parametrize("index", range(60))
def test_attention_sweep(index):
    batch, s, t, heads, groups, d, causal = attention_case(index)
    q = torch.randn(batch, s, heads, d, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(batch, t, groups, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.full_like(q, float("nan"))
    kernels.attention(q, k, v, out, causal=causal)
    _, lse = kernels.attention(q, k, v, out, causal=causal)
    wanted, wanted_lse = attention_in_fp64(q, k, v, causal, 1 / math.sqrt(d))
    assert error(out, wanted) < 6e-3, attention_case(index)
    finite = wanted_lse.isfinite()
    assert bool((lse.isfinite() == finite).all()) and (not finite.any() or (lse[finite] - wanted_lse[finite]).abs().max() < 2e-3)


def grouped_case(index):
    rng = random.Random(2000 + index)
    groups = rng.choice([1, 2, 5, 8])
    return groups, rng.choice([8, 64, 136, 256, 520]), rng.choice([8, 64, 72, 256]), [rng.choice([0, 1, 60, 128, 129, 300]) for _ in range(groups)]


@pytest.mark.parametrize("index", range(30))
def test_grouped_contiguous_sweep(index):
    groups, n, k, sizes = grouped_case(index)
    labels = []
    for group, size in enumerate(sizes):
        labels += [group] * size + [-1] * (-size % 128)
    labels += [-1] * 256  # a tail of padding alone
    m = len(labels)
    a, b = poisoned(m, k, dtype=torch.bfloat16), torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16)
    label = torch.tensor(labels, device="cuda", dtype=torch.int32)
    a[label < 0] = float("nan")
    out, check = guarded((m, n), torch.bfloat16)
    kernels.grouped_gemm_contiguous(a, b, label, out)
    valid = label >= 0
    if valid.any():
        wanted = torch.einsum("mk,mnk->mn", a[valid].double(), b.double()[label[valid].long()])
        assert error(out[valid], wanted) < 5e-3
    assert bool((out[~valid] == 7).all())
    check()


@pytest.mark.parametrize("index", range(30))
def test_grouped_masked_sweep(index):
    groups, n, k, sizes = grouped_case(index)
    a, b = poisoned(groups, 320, k, dtype=torch.bfloat16), torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16)
    counts = torch.tensor(sizes, device="cuda", dtype=torch.int32)
    for e, count in enumerate(sizes):
        a[e, count:] = float("nan")
    out, check = guarded((groups, 320, n), torch.bfloat16)
    kernels.grouped_gemm_masked(a, b, counts, out)
    for e, count in enumerate(sizes):
        if count:
            assert error(out[e, :count], a[e, :count].double() @ b[e].double().T) < 5e-3
        assert bool((out[e, count:] == 7).all())
    check()


def test_hint_free_masked_groups():
    """16 groups of very different sizes."""
    sizes = [4001, 1425, 0, 0, 0, 0, 0, 571, 503, 0, 26, 12, 1232, 0, 0, 224]
    for k, n in ((4096, 3072), (1536, 4096)):
        a, b = torch.randn(16, 4096, k, device="cuda", dtype=torch.bfloat16), torch.randn(16, n, k, device="cuda", dtype=torch.bfloat16)
        out = kernels.grouped_gemm_masked(a, b, torch.tensor(sizes, device="cuda", dtype=torch.int32))
        for e, count in enumerate(sizes):
            if count:
                assert error(out[e, :count], (a[e, :count] @ b[e].T).double()) < 5e-3


def test_long_tail_of_padding():
    """Labels of -1 inside the padding of each group, and 10240 rows of nothing else behind; then one group of one row, N 24576, K 1536."""
    labels = torch.full((1024 + 10240,), -1, device="cuda", dtype=torch.int32)
    for e, rows in enumerate((128, 1, 77, 0, 200)):
        labels[256 * e:256 * e + rows] = e
    labels = labels[:1024 + 10240].clone()
    a, b = torch.randn(len(labels), 512, device="cuda", dtype=torch.bfloat16), torch.randn(5, 1024, 512, device="cuda", dtype=torch.bfloat16)
    a[labels < 0] = float("nan")
    out = torch.full((len(labels), 1024), 7.0, device="cuda", dtype=torch.bfloat16)
    kernels.grouped_gemm_contiguous(a, b, labels, out)
    for e in range(5):
        own = labels == e
        if own.any():
            assert error(out[own], a[own].double() @ b[e].double().T) < 5e-3
    assert bool((out[labels < 0] == 7).all())
    a, b = torch.randn(1, 1536, device="cuda", dtype=torch.bfloat16), torch.randn(1, 24576, 1536, device="cuda", dtype=torch.bfloat16)
    out = kernels.grouped_gemm_contiguous(a, b, torch.zeros(1, device="cuda", dtype=torch.int32))
    assert error(out, a.double() @ b[0].double().T) < 5e-3


def test_gradients_of_groups_without_rows():
    """Products along the rows of groups, some of which have none (2048 x 768)."""
    from test_lang_cases import weight_gradients
    splits = [162, 0, 2577, 446, 0, 83]
    a, b = torch.randn(sum(splits) + 100, 2048, device="cuda", dtype=torch.bfloat16), torch.randn(sum(splits) + 100, 768, device="cuda", dtype=torch.bfloat16)
    a[sum(splits):], b[sum(splits):] = float("nan"), float("nan")
    out = torch.full((len(splits), 2048, 768), float("nan"), device="cuda", dtype=torch.bfloat16)
    weight_gradients(a, b, out, torch.tensor(splits, device="cuda").cumsum(0).int(), BM=128, BN=128, BK=64)
    first = 0
    for found, count in zip(out, splits):
        rows = slice(first, first + count)
        assert error(found, a[rows].double().T @ b[rows].double()) < 5e-3 if count else not found.any()
        first += count


def test_more_than_2_to_the_31_elements():
    m, k, n = 73728, 128, 36864
    a, b = torch.randn(m, k, device="cuda", dtype=torch.bfloat16), torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
    out = kernels.gemm(a, b)
    rows = torch.tensor([0, 1, m // 2, m - 2, m - 1], device="cuda")
    assert error(out[rows], a[rows].double() @ b.double()) < 5e-3


def test_experts_beyond_2_to_the_31():
    b = torch.randn(512, 2048, 4096, device="cuda", dtype=torch.bfloat16)
    a = torch.randn(256, 4096, device="cuda", dtype=torch.bfloat16)
    label = torch.tensor([0] * 128 + [511] * 128, device="cuda", dtype=torch.int32)
    out = kernels.grouped_gemm_contiguous(a, b, label)
    assert error(out[:128], a[:128].double() @ b[0].double().T) < 5e-3 and error(out[128:], a[128:].double() @ b[511].double().T) < 5e-3


@pytest.mark.parametrize("batch", [65535, 65536, 70000])
def test_large_batches(batch):
    q = torch.randn(batch, 1, 1, 64, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(batch, 16, 1, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out, _ = kernels.attention(q, k, v)
    wanted, _ = attention_in_fp64(q[-64:], k[-64:], v[-64:], False, 0.125)
    assert error(out[-64:], wanted) < 6e-3


@pytest.mark.parametrize("d", [72, 128])
def test_attention_beyond_2_to_the_31(d):
    """More bytes, and with 128 more elements, than 32 bits count, in a long batch (flash-attention#2214)."""
    q, k, v = (torch.randn(1600, 729, 16, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    out, _ = kernels.attention(q, k, v)
    for batch in (0, 799, 1599):
        wanted, _ = attention_in_fp64(q[batch:batch + 1], k[batch:batch + 1], v[batch:batch + 1], False, 1 / math.sqrt(d))
        assert error(out[batch:batch + 1], wanted) < 6e-3


def test_more_queries_than_keys():
    """The first 1024 of 2048 rows see no key."""
    q = torch.randn(1, 2048, 8, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, 1024, 8, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out, lse = kernels.attention(q, k, v, torch.full_like(q, float("nan")), causal=True)
    assert not out[:, :1024].any() and bool((lse[..., :1024] == -math.inf).all())
    wanted, wanted_lse = attention_in_fp64(q, k, v, True, 1 / math.sqrt(128))
    assert error(out[:, 1024:], wanted[:, 1024:]) < 6e-3 and (lse[..., 1024:] - wanted_lse[..., 1024:]).abs().max() < 2e-3


@pytest.mark.parametrize("columns", [256, 1000, 4096, 16384])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows(columns, dtype):
    x = torch.randn(4096, columns, device="cuda", dtype=getattr(torch, dtype))
    limit = 1e-5 if dtype == "float32" else 5e-3
    assert error(kernels.softmax(x), x.double().softmax(1)) < limit
    weight, bias = torch.randn(2, columns, device="cuda")
    assert error(kernels.layer_norm(x, weight, bias), torch.nn.functional.layer_norm(x.double(), (columns,), weight.double(), bias.double())) < limit


def test_same_bits_every_time():
    a, b = torch.randn(2, 2048, 2048, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(2, 1000, 4, 128, device="cuda", dtype=torch.bfloat16)
    first = kernels.gemm(a, b), *kernels.attention(q, q, q, causal=True)
    side = torch.cuda.Stream()
    for _ in range(20):
        with torch.cuda.stream(side):
            again = kernels.gemm(a, b), *kernels.attention(q, q, q, causal=True)
        side.synchronize()
        assert all(torch.equal(x, y) for x, y in zip(first, again))


def test_first_use_inside_a_capture():
    a, b = torch.randn(2, 320, 320, device="cuda", dtype=torch.float16)
    out = torch.empty(320, 320, device="cuda", dtype=torch.float16)
    kernels.gemm(a, b, out, BM=64, BN=64, BK=32)  # compiles; the next combination is new to the device
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernels.gemm(a, b, out, BM=64, BN=128, BK=32)
    out.fill_(float("nan"))
    graph.replay()
    assert error(out, a.double() @ b.double()) < 5e-3


def test_wrong_device():
    a, b = torch.randn(2, 64, 64, device="cuda", dtype=torch.float16)
    with pytest.raises(tl.ArgumentError, match="gemm: 'b' is on the CPU; needed CUDA device 0, where 'a' is"):
        kernels.gemm(a, b.cpu())
    labels = torch.zeros(64, dtype=torch.int32)
    weights = torch.randn(2, 64, 64, device="cuda", dtype=torch.float16)
    with pytest.raises(tl.ArgumentError, match="'labels' is on the CPU; needed CUDA device 0"):
        kernels.grouped_gemm_contiguous(a, weights, labels)
    with pytest.raises(tl.ArgumentError, match="'counts' is on the CPU; needed CUDA device 0"):
        kernels.grouped_gemm_masked(weights, weights, labels[:2])
    assert error(kernels.gemm(a, b), a.double() @ b.double()) < 5e-3, "the device is as it was"
