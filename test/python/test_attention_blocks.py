"""Block-sparse masks in the simulator against fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, alibi, alibi_numpy, batch, check, prefix, prefix_numpy
from tileloom import kernels


def lists(partial, full=None):
    """kv_num_blocks and kv_indices of [B, H, rows, columns] of truth, with nonsense behind what counts; None stays None."""
    if partial is None:
        return None, None
    counts = partial.sum(-1).astype(np.int32)
    indices = np.argsort(~partial, -1, kind="stable").astype(np.int32)
    indices[np.arange(partial.shape[-1]) >= counts[..., None]] = 2**30
    return counts, indices


def inputs(seed, B, S, T, H, G, D, dtype=BF16):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in ((B, S, H, D), (B, T, G, D), (B, T, G, D)))


def run(q, k, v, mask, **options):
    out = np.full(q.shape, np.nan).astype(BF16 if q.dtype.itemsize == 1 else q.dtype)
    lse = np.full((q.shape[0], q.shape[2], q.shape[1]), np.nan, np.float32)
    return kernels.attention(q, k, v, out, lse=lse, block_mask=mask, **options)


def elements(partial, full, size, S, T, mask=None):
    """mask(h, i, n) of fp64's reference for one sequence: [H, rows, columns] of truth."""
    def seen(h, i, n):
        at = np.broadcast_arrays(h % partial.shape[0], i // size[0], n // size[1])
        inside = mask(h, i, n) if mask else True
        return (partial[tuple(at)] & inside) | (full[tuple(at)] if full is not None else False)
    return seen


def compare(found, q, k, v, partial, full, size, mask=None, tolerance=5e-3, **options):
    for b in range(q.shape[0]):
        own = [None if t is None else t[b % t.shape[0]] for t in (partial, full)]
        wanted = batch(q[b:b + 1], k[b:b + 1], v[b:b + 1], mask=elements(*own, size, q.shape[1], k.shape[1], mask), **options)
        check((found[0][b:b + 1], found[1][b:b + 1]), wanted, tolerance)


@pytest.mark.parametrize("size", [(128, 128), (64, 64), (128, 48), (256, 32)])
@pytest.mark.parametrize("s, t", [(300, 500), (128, 128), (70, 1)])
@pytest.mark.parametrize("with_full", [False, True])
def test_random_blocks(size, s, t, with_full):
    """Lists of each sequence and head; some blocks of queries see nothing."""
    q, k, v = inputs(s + size[1], 2, s, t, 2, 1, 64)
    rng = np.random.default_rng(size[0] + s)
    shape = (2, 2, -(-s // size[0]), -(-t // size[1]))
    kinds = rng.integers(0, 3, shape)
    kinds[0, 0, 0] = 0
    partial, full = kinds == 1, kinds == 2 if with_full else None
    mask = kernels.BlockMask(*lists(partial), *lists(full), size)
    found = run(q, k, v, mask, mask_mod=prefix, mod_arguments=(77,))
    compare(found, q, k, v, partial, full, size, prefix_numpy(77))


def test_the_same_for_all_heads():
    q, k, v = inputs(3, 3, 260, 260, 4, 2, 128)
    kinds = np.array([[2, 0, 0], [1, 2, 0], [0, 1, 1]])[None, None]
    partial, full = kinds == 1, kinds == 2
    mask = kernels.BlockMask(*lists(partial), *lists(full))
    found = run(q, k, v, mask, sinks=np.linspace(-1, 1, 4, dtype=np.float32), softcap=3.0)
    compare(found, q, k, v, partial, full, (128, 128), sinks=np.linspace(-1, 1, 4), softcap=3.0)
    slopes = np.linspace(0, 0.1, 4, dtype=np.float32)
    found = run(q, k, v, mask, score_mod=alibi, mod_arguments=(slopes,))
    compare(found, q, k, v, partial, full, (128, 128), score=alibi_numpy(slopes))


def test_eight_bits():
    q, k, v = inputs(4, 1, 256, 384, 2, 1, 128, ml_dtypes.float8_e4m3fn)
    kinds = np.array([[2, 0, 1], [0, 2, 2]])[None, None]
    found = run(q, k, v, kernels.BlockMask(*lists(kinds == 1), *lists(kinds == 2)))
    compare(found, *(t.astype(np.float64) for t in (q, k, v)), kinds == 1, kinds == 2, (128, 128), tolerance=0.03)


def test_nothing_is_seen():
    q, k, v = inputs(5, 1, 130, 130, 1, 1, 64)
    out, lse = run(q, k, v, kernels.BlockMask(*lists(np.zeros((1, 1, 2, 2), bool))))
    assert not out.astype(np.float32).any() and (lse == -np.inf).all()


@tl.jit
def causal_mask(b, h, i, n):
    return n <= i


def test_what_is_not_named_is_not_read():
    """Causal by blocks: the same bits as causal; NaN behind the diagonal has no influence on rows before it."""
    q, k, v = inputs(6, 1, 300, 300, 2, 2, 64)
    kinds = np.array([[1, 0, 0], [2, 1, 0], [2, 2, 1]])[None, None]
    found = run(q, k, v, kernels.BlockMask(*lists(kinds == 1), *lists(kinds == 2)), mask_mod=causal_mask)
    check(found, batch(q, k, v, causal=True))
    k[:, 256:] = v[:, 256:] = np.nan
    again = run(q, k, v, kernels.BlockMask(*lists(kinds == 1), *lists(kinds == 2)), mask_mod=causal_mask)
    assert (again[0][:, :256] == found[0][:, :256]).all() and (again[1][:, :, :256] == found[1][:, :, :256]).all()


@pytest.mark.parametrize("size", [(64, 48), (128, 128)])
@pytest.mark.parametrize("s, splits", [(1, None), (1, 3), (5, 2), (40, 4), (130, 2)])
@pytest.mark.parametrize("heads", [1, 4])
def test_parts(size, s, splits, heads):
    """Parts of the lists, some of them empty, and heads as rows where all have the same lists."""
    q, k, v = inputs(s + heads, 2, s, 500, 4, 2, 64)
    rng = np.random.default_rng(size[1] + s)
    kinds = rng.integers(0, 3, (2, heads, -(-s // size[0]), -(-500 // size[1])))
    kinds[1, 0, 0] = 0
    mask = kernels.BlockMask(*lists(kinds == 1), *lists(kinds == 2), size)
    options = {"mask_mod": prefix, "mod_arguments": (177,), "num_splits": splits, "sinks": np.linspace(-1, 1, 4, dtype=np.float32)}
    for pack in (None, False, True) if heads == 1 else (None, False):
        found = run(q, k, v, mask, pack_gqa=pack, **options)
        compare(found, q, k, v, kinds == 1, kinds == 2, size, prefix_numpy(177), sinks=options["sinks"])


def test_parts_of_latent_attention():
    q, k, _ = inputs(8, 1, 2, 300, 16, 1, 576)
    kinds = np.array([[2, 0, 1, 0, 1]])[None, None]
    out, lse = np.full((1, 2, 16, 512), np.nan).astype(BF16), np.full((1, 16, 2), np.nan, np.float32)
    found = kernels.attention(q, k, k[..., :512], out, lse=lse, block_mask=kernels.BlockMask(*lists(kinds == 1), *lists(kinds == 2), (64, 64)), mask_mod=prefix,
                              mod_arguments=(150,), num_splits=2)
    compare(found, q, k, k[..., :512], kinds == 1, kinds == 2, (64, 64), prefix_numpy(150))


@pytest.mark.parametrize("page", [None, 16, 12])
@pytest.mark.parametrize("splits", [1, 3])
def test_blocks_of_a_cache(page, splits):
    """What lies behind a sequence counts for nothing though a block names it; blocks beyond max_seqlen_k are left out."""
    lengths, rng = np.array([300, 0, 77], np.int32), np.random.default_rng(splits)
    q, k, v = inputs(9, 3, 2, 384, 8, 2, 64)
    kinds = rng.integers(0, 3, (3, 1, 1, 4))
    for b, length in enumerate(lengths):
        k[b, length:] = v[b, length:] = np.nan
    caches, table = (k, v), None
    if page:
        table = rng.permutation(3 * 384 // page).reshape(3, -1).astype(np.int32)
        caches = [np.empty((3 * 384 // page, page, 2, 64), BF16) for _ in range(2)]
        for pool, own in zip(caches, (k, v)):
            pool[table] = own.reshape(3, -1, page, 2, 64)
    out, lse = np.full(q.shape, np.nan).astype(BF16), np.full((3, 8, 2), np.nan, np.float32)
    kernels.attention_kvcache(q, *caches, out, lse=lse, cache_seqlens=lengths, page_table=table, max_seqlen_k=310, num_splits=splits,
                              block_mask=kernels.BlockMask(*lists(kinds == 1), *lists(kinds == 2), (64, 96)), mask_mod=prefix, mod_arguments=(50,))
    for b, length in enumerate(lengths):
        own = elements(kinds[b] == 1, kinds[b] == 2, (64, 96), 2, length, prefix_numpy(50))
        check((out[b:b + 1], lse[b:b + 1]), batch(q[b:b + 1], k[b:b + 1, :length], v[b:b + 1, :length], mask=own))


def test_refuses():
    q, k, v = inputs(7, 1, 256, 256, 2, 2, 64)
    counts, indices = lists(np.ones((1, 1, 2, 2), bool))
    for message, mask, options in (
            ("'block_mask' is given with causal, window or attention_chunk; needed these in mask_mod", kernels.BlockMask(counts, indices), {"causal": True}),
            ("'block_mask' is of type tuple; needed a BlockMask", (counts, indices), {}),
            (r"'block_mask.kv_indices' has shape \[1, 1, 2, 2\]; needed \[1, 1, 4, 2\]", kernels.BlockMask(counts, indices, BLOCK_SIZE=(64, 128)), {}),
            (r"'block_mask.kv_indices' has shape \[1, 1, 2, 2\]; needed \[1 or 1, 1 or 2, 2, at least 4\]",
             kernels.BlockMask(counts, indices, BLOCK_SIZE=(128, 64)), {}),
            (r"'block_mask.BLOCK_SIZE' is \(100, 128\); needed", kernels.BlockMask(counts, indices, BLOCK_SIZE=(100, 128)), {}),
            (r"'block_mask.BLOCK_SIZE' is \(128, 24\); needed", kernels.BlockMask(counts, indices, BLOCK_SIZE=(128, 24)), {}),
            ("'block_mask.kv_num_blocks' is of int64; needed int32", kernels.BlockMask(counts.astype(np.int64), indices), {}),
            ("'block_mask.full_kv_indices' is missing; needed both, or none", kernels.BlockMask(counts, indices, counts), {})):
        with pytest.raises(tl.ArgumentError, match="^attention: " + message):
            run(q, k, v, mask, **options)
    q, k, v = inputs(7, 1, 2, 256, 4, 2, 64)
    with pytest.raises(tl.ArgumentError, match="'pack_gqa' is given with lists of blocks for each head; needed the same lists for all heads"):
        run(q, k, v, kernels.BlockMask(*lists(np.ones((1, 4, 1, 2), bool))), pack_gqa=True)
