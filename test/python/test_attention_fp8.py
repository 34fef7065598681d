"""8-bit elements over sequences and caches, with their factors, in the simulator against fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, check, sequence
from tileloom import kernels

F8 = ml_dtypes.float8_e4m3fn


def eighths(rng, *shape):
    return rng.standard_normal(shape).astype(F8)


def factors(rng, batch, groups):
    return [rng.uniform(0.5, 1.25, (batch, groups)).astype(np.float32) for _ in range(3)]


def wanted(b, q, k, v, scales, **options):
    ratio = q.shape[1] // k.shape[1]
    own = [np.float64(1) if scale is None else scale[b].astype(np.float64)[None, :, None] for scale in scales]
    wide = [t.astype(np.float64) for t in (q, k, v)]
    return sequence(wide[0] * (np.repeat(own[0], ratio, 1) if scales[0] is not None else 1), wide[1] * own[1], wide[2] * own[2], **options)


def compare(found, lengths, q, k, v, scales, **options):
    for b, length in enumerate(lengths):
        check((found[0][b], found[1][b]), wanted(b, q[b], k[b, :length], v[b, :length], scales, **options), 0.03)


@pytest.mark.parametrize("page", [None, 3, 8, 16, 64])
@pytest.mark.parametrize("splits", [1, 3])
def test_cache(page, splits):
    rng, lengths = np.random.default_rng(page or 0), np.array([300, 0, 77], np.int32)
    q, k, v = eighths(rng, 3, 1, 8, 128), eighths(rng, 3, 320, 2, 128), eighths(rng, 3, 320, 2, 128)
    scales = factors(rng, 3, 2)
    for b, length in enumerate(lengths):
        k[b, length:] = v[b, length:] = np.nan
    caches, table = (k, v), None
    if page:
        count = -(-320 // page)
        table = rng.permutation(3 * count).reshape(3, count).astype(np.int32)
        caches = [np.full((3 * count, page, 2, 128), np.nan).astype(F8) for _ in range(2)]
        for b in range(3):
            for n in range(lengths[b]):
                for pool, own in zip(caches, (k, v)):
                    pool[table[b, n // page], n % page] = own[b, n]
    out, lse = np.full(q.shape, np.nan).astype(BF16), np.full((3, 8, 1), np.nan, np.float32)
    kernels.attention_kvcache(q, *caches, out, lse=lse, cache_seqlens=lengths, page_table=table, num_splits=splits, q_descale=scales[0], k_descale=scales[1],
                              v_descale=scales[2])
    compare((out, lse), lengths, q, k, v, scales)


def test_new_keys():
    """They are written in 8 bits behind each sequence; a factor may be missing."""
    rng, lengths = np.random.default_rng(1), np.array([100, 31], np.int32)
    q, k, v = eighths(rng, 2, 3, 4, 64), eighths(rng, 2, 128, 4, 64), eighths(rng, 2, 128, 4, 64)
    new_k, new_v, scale = eighths(rng, 2, 3, 4, 64), eighths(rng, 2, 3, 4, 64), factors(rng, 2, 4)[0]
    found = kernels.attention_kvcache(q, k, v, cache_seqlens=lengths, k_new=new_k, v_new=new_v, causal=True, k_descale=scale)
    assert found[0].dtype == BF16
    for b, length in enumerate(lengths):
        assert (k[b, length:length + 3].view(np.uint8) == new_k[b].view(np.uint8)).all()
    compare(found, lengths + 3, q, k, v, (None, scale, None), causal=True)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"window": (60, 20)}])
@pytest.mark.parametrize("d", [64, 128])
def test_sequences(d, options):
    rng, lengths = np.random.default_rng(d), [130, 0, 257, 1, 64]
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    q, k, v = eighths(rng, starts[-1], 4, d), eighths(rng, starts[-1], 2, d), eighths(rng, starts[-1], 2, d)
    scales = factors(rng, 5, 2)
    out, lse = np.full(q.shape, np.nan).astype(BF16), np.full((4, starts[-1]), np.nan, np.float32)
    kernels.attention_varlen(q, k, v, out, lse=lse, cu_seqlens_q=starts, cu_seqlens_k=starts, max_seqlen_q=257, max_seqlen_k=257, q_descale=scales[0],
                             k_descale=scales[1], v_descale=scales[2], **options)
    for b, (begin, end) in enumerate(zip(starts, starts[1:])):
        if begin < end:
            check((out[begin:end], lse[:, begin:end]), wanted(b, q[begin:end], k[begin:end], v[begin:end], scales, **options), 0.03)


def test_refuses():
    rng = np.random.default_rng(2)
    q, starts = eighths(rng, 64, 2, 64), np.array([0, 64], np.int32)
    given = {"cu_seqlens_q": starts, "cu_seqlens_k": starts, "max_seqlen_q": 64}
    with pytest.raises(tl.ArgumentError, match=r"'k_descale' has shape \[2\]; needed \[1, 2\]"):
        kernels.attention_varlen(q, q, q, k_descale=np.ones(2, np.float32), **given)
    half = q.astype(BF16)
    with pytest.raises(tl.ArgumentError, match="'v_descale' is given for bfloat16; needed float8_e4m3fn"):
        kernels.attention_varlen(half, half, half, v_descale=np.ones((1, 2), np.float32), **given)
    with pytest.raises(tl.ArgumentError, match="'v_cache' is of bfloat16; needed float8e4nv, as 'q'"):
        kernels.attention_kvcache(q[None], q[None], half[None])
