"""Multi-head latent attention: scores with qv, head dimensions 576 and 512, in the simulator against fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, check, sequence
from tileloom import kernels


def run(q, k, v, lengths, E=None, **options):
    out = np.full((*q.shape[:3], E or v.shape[-1]), np.nan).astype(q.dtype)
    lse = np.full((q.shape[0], q.shape[2], q.shape[1]), np.nan, np.float32)
    return kernels.attention_kvcache(q, k, v, out, lse=lse, cache_seqlens=np.array(lengths, np.int32), **options)


def compare(found, q, k, v, lengths, **options):
    """q and k of all columns."""
    for b, length in enumerate(lengths):
        check((found[0][b], found[1][b]), sequence(q[b], k[b, :length], v[b, :length], **options))


@pytest.mark.parametrize("heads, s", [(16, 1), (128, 1), (4, 3)])
@pytest.mark.parametrize("splits", [1, 3])
def test_latent(heads, s, splits):
    """One tensor of 576 columns: the last 64 have the positions, the first 512 are the values, too."""
    lengths = [200, 0, 65]
    rng = np.random.default_rng(heads + splits)
    q, k = (rng.standard_normal(shape).astype(BF16) for shape in ((3, s, heads, 576), (3, 256, 1, 576)))
    for b, length in enumerate(lengths):
        k[b, length:] = np.nan
    found = run(q, k, k[..., :512], lengths, 512, num_splits=splits, causal=True)
    compare(found, q, k, k[..., :512], lengths, causal=True)


@pytest.mark.parametrize("page", [1, 16, 64])
def test_pages(page):
    lengths = np.array([130, 70], np.int32)
    rng, count = np.random.default_rng(page), -(-160 // page)
    q, k = (rng.standard_normal(shape).astype(BF16) for shape in ((2, 1, 16, 576), (2, 160, 1, 576)))
    table = rng.permutation(2 * count).reshape(2, count).astype(np.int32)
    pool = np.full((2 * count, page, 1, 576), np.nan).astype(BF16)
    for b in range(2):
        for n in range(lengths[b]):
            pool[table[b, n // page], n % page] = k[b, n]
    found = run(q, pool, pool[..., :512], lengths, 512, page_table=table)
    compare(found, q, k, k[..., :512], lengths)


@pytest.mark.parametrize("d, e", [(64, 128), (40, 96), (64, 256), (192, 304)])
def test_qv(d, e):
    """Values of their own tensor, other widths, a scale; several heads of keys."""
    lengths, rng = [100, 31], np.random.default_rng(d + e)
    q, k, v, qv = (rng.standard_normal(shape).astype(np.float16) for shape in ((2, 2, 4, d), (2, 128, 2, d), (2, 128, 2, e), (2, 2, 4, e)))
    for b, length in enumerate(lengths):
        k[b, length:] = v[b, length:] = np.nan
    found = run(q, k, v, lengths, qv=qv, window=(40, 0))
    compare(found, np.concatenate([q, qv], -1), np.concatenate([k, v], -1), v, lengths, window=(40, 0))
    found = run(q, k, v, lengths, qv=qv, softmax_scale=0.03, softcap=2.0)
    compare(found, np.concatenate([q, qv], -1), np.concatenate([k, v], -1), v, lengths, softmax_scale=0.03, softcap=2.0)


def test_new_keys():
    """One row of 576 columns behind each sequence: the first 512 into the values."""
    lengths, rng = np.array([50, 0], np.int32), np.random.default_rng(9)
    q, k, new = (rng.standard_normal(shape).astype(BF16) for shape in ((2, 1, 8, 576), (2, 64, 1, 576), (2, 1, 1, 576)))
    found = run(q, k, k[..., :512], lengths, 512, k_new=new)
    for b, length in enumerate(lengths):
        assert (k[b, length] == new[b, 0]).all()
    compare(found, q, k, k[..., :512], lengths + 1)


F8 = ml_dtypes.float8_e4m3fn


def check_eighths(out, lse, wanted):
    """Scores of 576 products of 8 bits are right to 2e-3, mostly: sums of the tensor core have 13 bits or so."""
    check((out, wanted[1]), wanted, 0.03)
    np.testing.assert_allclose(lse, wanted[1], 3e-3, 3e-3)


@pytest.mark.parametrize("d, e, splits", [(64, 128, 1), (48, 96, 3), (64, 256, 1), (192, 304, 2), (64, 512, 2)])
@pytest.mark.parametrize("given", [(), ("q", "k", "v"), ("v",), ("k",)])
def test_eight_bits_with_qv(d, e, splits, given):
    """Each factor is of its own tensor: the products with k and those with v have different ones."""
    lengths, rng = [100, 31, 0], np.random.default_rng(d + e)
    q, k, v, qv = (rng.standard_normal(shape).astype(F8) for shape in ((3, 2, 4, d), (3, 128, 2, d), (3, 128, 2, e), (3, 2, 4, e)))
    for b, length in enumerate(lengths):
        k[b, length:] = v[b, length:] = np.nan
    scales = {own: rng.uniform(0.5, 1.25, (3, 2)).astype(np.float32) for own in given}
    out, lse = np.full((3, 2, 4, e), np.nan).astype(BF16), np.full((3, 4, 2), np.nan, np.float32)
    kernels.attention_kvcache(q, k, v, out, lse=lse, qv=qv, cache_seqlens=np.array(lengths, np.int32), num_splits=splits, causal=True,
                              **{f"{own}_descale": scale for own, scale in scales.items()})
    factor = [scales.get(own, np.ones((3, 2)))[:, None, :, None].astype(np.float64) for own in "qkv"]
    q, qv = (t.astype(np.float64) * np.repeat(factor[0], 2, 2) for t in (q, qv))
    k, v = k.astype(np.float64) * factor[1], v.astype(np.float64) * factor[2]
    for b, length in enumerate(lengths):
        check_eighths(out[b], lse[b], sequence(np.concatenate([q[b], qv[b]], -1), np.concatenate([k[b, :length], v[b, :length]], -1), v[b, :length],
                                               causal=True))


@pytest.mark.parametrize("page", [None, 1, 64])
@pytest.mark.parametrize("splits", [1, 2])
def test_latent_in_eight_bits(page, splits):
    lengths, rng = np.array([200, 0, 65], np.int32), np.random.default_rng(11)
    q, k = (rng.standard_normal(shape).astype(F8) for shape in ((3, 1, 16, 576), (3, 256, 1, 576)))
    for b, length in enumerate(lengths):
        k[b, length:] = np.nan
    cache, table = k, None
    if page:
        table = rng.permutation(3 * 256 // page).reshape(3, -1).astype(np.int32)
        cache = np.empty((3 * 256 // page, page, 1, 576), F8)
        cache[table] = k.reshape(3, -1, page, 1, 576)
    scales = [rng.uniform(0.5, 1.25, (3, 1)).astype(np.float32) for _ in range(2)]
    out, lse = np.full((3, 1, 16, 512), np.nan).astype(BF16), np.full((3, 16, 1), np.nan, np.float32)
    kernels.attention_kvcache(q, cache, cache[..., :512], out, lse=lse, cache_seqlens=lengths, page_table=table, num_splits=splits, k_descale=scales[0],
                              v_descale=scales[1])
    for b, length in enumerate(lengths):
        own = k[b, :length].astype(np.float64)
        check_eighths(out[b], lse[b], sequence(q[b], own * scales[0][b, 0], own[..., :512] * scales[1][b, 0]))


def test_dense_latent_in_eight_bits():
    rng = np.random.default_rng(12)
    q, k = (rng.standard_normal(shape).astype(F8) for shape in ((1, 70, 2, 576), (1, 130, 1, 576)))
    out, lse = np.full((1, 70, 2, 512), np.nan).astype(BF16), np.full((1, 2, 70), np.nan, np.float32)
    kernels.attention(q, k, k[..., :512], out, lse=lse, causal=True)
    check_eighths(out[0], lse[0], sequence(q[0], k[0], k[0, :, :, :512], causal=True))


def test_refuses():
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal(shape).astype(BF16) for shape in ((1, 1, 4, 576), (1, 32, 1, 576), (1, 32, 1, 512)))
    with pytest.raises(tl.ArgumentError, match="'v_cache' is another tensor than 'k_cache', whose head dimension is 576; needed its first 512 columns"):
        run(q, k, v, [3], 512)
    with pytest.raises(tl.ArgumentError, match="'q' has head dimension 576; needed 1 to 256"):
        run(q, k, v[..., :128], [3])
    with pytest.raises(tl.ArgumentError, match=r"'qv' has shape \[1, 1, 4, 64\]; needed \[1, 1, 4, 512\]"):
        run(q[..., :64], k[..., :64], v, [3], qv=q[..., 64:128])
    with pytest.raises(tl.ArgumentError, match="'v_cache' has head dimension 576; needed 1 to 512"):
        run(q[..., :64], k[..., :64], k, [3], qv=q)
