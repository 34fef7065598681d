"""Plans for caches of sequences of unequal lengths, and processors that are left to others."""

import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, check, sequence
from tileloom import kernels


def cache(seed, lengths, capacity, S=1, H=8, G=2, D=64):
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal(shape).astype(BF16) for shape in ((len(lengths), S, H, D), (len(lengths), capacity, G, D), (len(lengths), capacity, G, D)))
    for b, length in enumerate(lengths):
        k[b, length:] = v[b, length:] = np.nan
    return q, k, v


def compare(found, q, k, v, lengths, **options):
    for b, length in enumerate(lengths):
        check((found[0][b], found[1][b]), sequence(q[b], k[b, :length], v[b, :length], **options))


def run(q, k, v, lengths, **options):
    out, lse = np.full(q.shape, np.nan).astype(BF16), np.full((q.shape[0], q.shape[2], q.shape[1]), np.nan, np.float32)
    return kernels.attention_kvcache(q, k, v, out, lse=lse, cache_seqlens=np.array(lengths, np.int32), **options)


def plan(lengths, S=1, H=8, G=2, most=4096, **options):
    return kernels.get_scheduler_metadata(np.array(lengths, np.int32), max_seqlen_q=S, max_seqlen_k=most, num_heads=H, num_heads_k=G, **options)


def counts(lengths, **options):
    """The number of parts of each sequence, after a look at the list of parts."""
    metadata, batch = plan(lengths, **options), len(lengths)
    found = metadata[:batch]
    listed = [256 * b + z for b in range(batch) for z in range(found[b])]
    assert metadata[batch:batch + len(listed)].tolist() == listed and (metadata[batch + len(listed):] == -1).all()
    return found


def test_parts_by_length():
    """Tiles of 128 keys: 32, 1, 0, 8, 1 of them, twice, for 132 processors: one tile each would be 84 parts."""
    assert counts([4000, 77, 0, 900, 1]).tolist() == [32, 1, 1, 8, 1]
    assert counts([4000] * 64).tolist() == [1] * 64
    assert counts([8192, 128, 128, 128], most=8192).tolist() == [32, 1, 1, 1], "67 tiles, twice, are more than 132: two each"
    assert counts([8192, 128, 128, 128], most=1000).tolist() == [8, 1, 1, 1], "no sequence is longer"
    assert plan([], most=1000).shape == (66,)
    assert counts(list(range(0, 140000, 100)), most=200000).max() <= 66, "more sequences than one block of the plan"
    assert counts([100000], most=200000, sm_margin=32).tolist() == [49], "1564 tiles, 16 each"


@pytest.mark.parametrize("s", [1, 5])
@pytest.mark.parametrize("seed", range(3))
def test_plan(s, seed):
    lengths = [3000, 0, 260, 1, 129]
    q, k, v = cache(seed, lengths, 3072, s)
    metadata = plan(lengths, s)
    found = run(q, k, v, lengths, scheduler_metadata=metadata, causal=True, simulator={"seed": seed})
    compare(found, q, k, v, lengths, causal=True)
    again = run(q, k, v, lengths, scheduler_metadata=metadata, causal=True, deterministic=True, simulator={"seed": seed + 10})
    assert all((one == other).all() for one, other in zip(found, again))


def test_plan_of_other_lengths():
    """A plan is about speed only: lengths may have grown, parts may be more than tiles."""
    lengths = [700, 650]
    q, k, v = cache(4, lengths, 768)
    for planned in ([1, 1], [8000, 10], [0, 4000]):
        for splits in (None, 1, 4):
            compare(run(q, k, v, lengths, scheduler_metadata=plan(planned, most=8192), num_splits=splits), q, k, v, lengths)


def test_counts_of_combine():
    rng = np.random.default_rng(5)
    partial, lse = rng.standard_normal((5, 3, 2, 4, 40)).astype(np.float32), rng.standard_normal((5, 3, 2, 4)).astype(np.float32)
    counts = np.array([5, 1, 3], np.int32)
    for b, count in enumerate(counts):
        partial[count:, b] = lse[count:, b] = np.nan
    out, total = kernels.combine(partial, lse, counts=counts)
    for b, count in enumerate(counts):
        weights = np.exp(lse[:count, b].astype(np.float64))
        assert np.abs(out[b] - (partial[:count, b] * weights[..., None]).sum(0) / weights.sum(0)[..., None]).max() < 1e-5
        assert np.abs(total[b] - np.log(weights.sum(0)).T).max() < 1e-5


def test_margin():
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((1, 300, 4, 64)).astype(BF16) for _ in range(3))
    first = kernels.attention(q, k, v, causal=True, simulator={"multiprocessors": 4})
    again = kernels.attention(q, k, v, causal=True, sm_margin=3, simulator={"multiprocessors": 4})
    assert all((one == other).all() for one, other in zip(first, again))
    with pytest.raises(Exception, match="a margin of 4 of 4 multiprocessors; needed room for 1 CTAs beside it"):
        kernels.attention(q, k, v, causal=True, sm_margin=4, simulator={"multiprocessors": 4})
    for wrong in (-1, 1.5, 2000):
        with pytest.raises(tl.ArgumentError, match="sm_margin is .*needed an int from 0 to 1024"):
            kernels.attention(q, k, v, sm_margin=wrong)
    with pytest.raises(tl.ArgumentError, match="kernel 'combine_kernel': sm_margin is given for a kernel whose grid the caller gives"):
        kernels.combine(np.zeros((2, 1, 1, 1, 8), np.float32), np.zeros((2, 1, 1, 1), np.float32), sm_margin=1)


def test_refuses():
    lengths = np.array([10, 20], np.int32)
    q, k, v = cache(7, lengths, 32)
    for message, options in (("'scheduler_metadata' has shape", {"scheduler_metadata": np.ones(3, np.int32)}),
                             ("'scheduler_metadata' is of int64", {"scheduler_metadata": np.ones(9, np.int64)})):
        with pytest.raises(tl.ArgumentError, match="attention_kvcache: " + message):
            run(q, k, v, lengths, **options)
    for message, options in (("'num_heads_k' is 3; needed a divisor of num_heads, 8", {"G": 3}), ("'max_seqlen_q' is 0", {"S": 0}),
                             ("'sm_margin' is 132; needed less than the 132 multiprocessors", {"sm_margin": 132})):
        with pytest.raises(tl.ArgumentError, match="get_scheduler_metadata: " + message):
            plan(lengths, **options)
