"""Attention over sequences of different lengths, in the simulator, against fp64. What lies outside of the sequences is NaN."""

import numpy as np
import pytest

import tileloom as tl
from attention_reference import BF16, alibi, alibi_numpy, check, sequence
from tileloom import kernels


def starts(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def packed(seed, lens_q, lens_k, H, G, D, E=None, used_q=None, used_k=None, dtype=BF16):
    """q, k, v of all sequences, NaN in rows that do not count."""
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in ((sum(lens_q), H, D), (sum(lens_k), G, D), (sum(lens_k), G, E or D)))
    for lengths, used, tensors in ((lens_q, used_q, (q,)), (lens_k, used_k, (k, v))):
        for b, start in enumerate(starts(lengths)[:-1] if used is not None else ()):
            for tensor in tensors:
                tensor[start + used[b]:start + lengths[b]] = np.nan
    return q, k, v


def compare(q, k, v, lens_q, lens_k, used_q=None, used_k=None, longest=None, reference=None, seed=0, **options):
    H = q.shape[1]
    out = np.full((*q.shape[:2], v.shape[-1]), np.nan).astype(q.dtype)
    lse = np.full((H, q.shape[0]), np.nan, np.float32)
    own = {"cu_seqlens_q": starts(lens_q), "cu_seqlens_k": starts(lens_k), "max_seqlen_q": longest or max(lens_q)}
    for name, used in (("seqused_q", used_q), ("seqused_k", used_k)):
        if used is not None:
            own[name] = np.array(used, np.int32)
    kernels.attention_varlen(q, k, v, out, lse=lse, simulator={"seed": seed}, **own, **options)
    for b, (i, n) in enumerate(zip(starts(lens_q), starts(lens_k[:]))):
        if b == len(lens_q):
            break
        S, T = (used_q or lens_q)[b], (used_k or lens_k)[b]
        wanted = sequence(q[i:i + S], k[n:n + T], v[n:n + T], **(reference or options))
        check((out[i:i + S], lse[:, i:i + S]), wanted)
        assert np.isnan(out[i + S:i + lens_q[b]].astype(np.float32)).all() and np.isnan(lse[:, i + S:i + lens_q[b]]).all(), "rows that do not count"
    return out, lse


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lens_q, lens_k", [([100, 30, 200], [100, 30, 200]), ([3, 1, 7], [0, 5, 300]), ([130, 0, 1, 64], [1, 70, 0, 513]), ([1], [1])])
def test_lengths(lens_q, lens_k, causal):
    """Also kv lengths of zero, whose LSE has a place of its own (flash-attention#2842)."""
    compare(*packed(sum(lens_q), lens_q, lens_k, 2, 1, 64), lens_q, lens_k, causal=causal)


@pytest.mark.parametrize("d, e", [(128, 128), (96, 96), (192, 128), (80, 80)])
def test_head_dimensions(d, e):
    lens_q, lens_k = [150, 20], [170, 300]
    compare(*packed(d, lens_q, lens_k, 2, 2, d, e, dtype=np.float16), lens_q, lens_k, causal=True)


def test_one_key_a_sequence():
    """Most rows see no key: zeros and -inf, the last row of each sequence has V (flash-attention#443)."""
    lens_q, lens_k = [76, 34, 146], [1, 1, 1]
    q, k, v = packed(1, lens_q, lens_k, 1, 1, 32, dtype=np.float16)
    out, _ = compare(q, k, v, lens_q, lens_k, causal=True)
    assert (out[starts(lens_q)[1:] - 1] == v).all()


@pytest.mark.parametrize("causal", [False, True])
def test_rows_that_do_not_count(causal):
    lens_q, lens_k, used_q, used_k = [100, 140, 30], [200, 65, 128], [100, 70, 0], [129, 0, 128]
    compare(*packed(2, lens_q, lens_k, 2, 1, 64, used_q=used_q, used_k=used_k), lens_q, lens_k, used_q, used_k, causal=causal)


def test_neighbours_do_not_leak():
    """A sequence of NaN beside another one."""
    lens = [70, 50, 90]
    q, k, v = packed(3, lens, lens, 1, 1, 64)
    for tensor in (q, k, v):
        tensor[70:120] = np.nan
    out = np.zeros_like(q)
    kernels.attention_varlen(q, k, v, out, cu_seqlens_q=starts(lens), cu_seqlens_k=starts(lens), max_seqlen_q=90)
    assert np.isnan(out[70:120].astype(np.float32)).all()
    for i, n in ((0, 70), (120, 210)):
        check((out[i:n], np.zeros((1, 0))), (sequence(q[i:n], k[i:n], v[i:n])[0], np.zeros((1, 0))))


@pytest.mark.parametrize("options", [{"window": (60, 10)}, {"window": (90, None), "causal": True}, {"attention_chunk": 50, "causal": True}, {"softcap": 3.0},
                                     {"sinks": np.array([0.5, -2], np.float32)}])
def test_options(options):
    lens_q, lens_k = [130, 7, 65], [200, 90, 65]
    compare(*packed(4, lens_q, lens_k, 2, 1, 64), lens_q, lens_k, **options)


def test_score_mod():
    lens_q, lens_k = [130, 7], [100, 190]
    slopes = np.array([0.1, 0.2], np.float32)
    compare(*packed(5, lens_q, lens_k, 2, 1, 64), lens_q, lens_k, score_mod=alibi, mod_arguments=(slopes,), reference={"score": alibi_numpy(slopes)})


@pytest.mark.parametrize("seed", range(5))
def test_random(seed):
    rng = np.random.default_rng(seed)
    batch, G = int(rng.integers(1, 6)), int(rng.integers(1, 3))
    lens_q, lens_k = ([int(n) for n in rng.choice([0, 1, 17, 64, 100, 129], batch)] for _ in range(2))
    lens_q[0] += 1
    used_k = [int(rng.integers(0, n + 1)) for n in lens_k]
    q, k, v = packed(seed, lens_q, lens_k, G * int(rng.integers(1, 4)), G, 64, used_k=used_k)
    compare(q, k, v, lens_q, lens_k, None, used_k, longest=max(lens_q) + int(rng.integers(0, 200)), seed=seed, causal=bool(rng.integers(0, 2)))


@pytest.mark.parametrize("order", ["contiguous", "heads first", "odd"])
def test_padded_batches(order):
    """[B, S, H, D] with lengths beside it, in any order of memory."""
    rng = np.random.default_rng(6)
    used_q, used_k = np.array([30, 100, 0], np.int32), np.array([200, 64, 90], np.int32)
    shapes = (3, 100, 4, 64), (3, 200, 2, 64), (3, 200, 2, 64)
    q, k, v = (rng.standard_normal(shape).astype(BF16) for shape in shapes)
    for b in range(3):
        q[b, used_q[b]:], k[b, used_k[b]:], v[b, used_k[b]:] = np.nan, np.nan, np.nan
    if order == "heads first":
        q, k, v = (np.ascontiguousarray(t.swapaxes(1, 2)).swapaxes(1, 2) for t in (q, k, v))
    elif order == "odd":  # rows from batch to batch that are no multiple of a row
        q, k, v = (np.pad(t, ((0, 0), (0, 1), (0, 0), (0, 0))).reshape(3, -1)[:, :-8] for t in (q, k, v))
        q, k, v = (np.lib.stride_tricks.as_strided(t, shape, (t.strides[0], *np.empty(shape, BF16).strides[1:])) for t, shape in zip((q, k, v), shapes))
    out, lse = np.full((3, 100, 4, 64), np.nan).astype(BF16), np.full((3, 4, 100), np.nan, np.float32)
    kernels.attention_varlen(q, k, v, out, lse=lse, seqused_q=used_q, seqused_k=used_k, causal=True)
    for b, (S, T) in enumerate(zip(used_q, used_k)):
        check((out[b, :S], lse[b, :, :S]), sequence(q[b, :S], k[b, :T], v[b, :T], causal=True))
        assert np.isnan(out[b, S:].astype(np.float32)).all() and np.isnan(lse[b, :, S:]).all()


@pytest.mark.parametrize("causal", [False, True])
def test_nothing(causal):
    q, k = np.ones((2, 70, 2, 64), BF16), np.ones((2, 0, 1, 64), BF16)
    out, lse = kernels.attention_varlen(q, k, k, causal=causal)
    assert not out.astype(np.float32).any() and (lse == -np.inf).all()
    out, lse = kernels.attention_varlen(q[0], k[0], k[0], cu_seqlens_q=starts([30, 40]), cu_seqlens_k=starts([0, 0]), max_seqlen_q=40, causal=causal)
    assert not out.astype(np.float32).any() and (lse == -np.inf).all()
    out, _ = kernels.attention_varlen(q[0], k[0], k[0], cu_seqlens_q=starts([]), cu_seqlens_k=starts([]), max_seqlen_q=40)
    assert out.shape == (70, 2, 64)


def test_refuses():
    q, k, v = packed(0, [64], [64], 4, 2, 64)
    own = {"cu_seqlens_q": starts([64]), "cu_seqlens_k": starts([64]), "max_seqlen_q": 64}

    def refused(message, **changed):
        with pytest.raises(tl.ArgumentError, match="^attention_varlen: " + message):
            kernels.attention_varlen(q, k, v, **{**own, **changed})
    refused(r"'q' has shape \[64, 4, 64\]; needed \[batch, length, heads, head dimension\] without 'cu_seqlens_q'", cu_seqlens_q=None)
    refused("'max_seqlen_q' is None; needed an int", max_seqlen_q=None)
    refused("'cu_seqlens_k' is of int64; needed int32", cu_seqlens_k=starts([64]).astype(np.int64))
    refused(r"'cu_seqlens_k' has shape \[3\]; needed \[2\], by the number of sequences", cu_seqlens_k=starts([60, 4]))
    refused(r"'seqused_k' has shape \[2\]; needed \[1\], by the number of sequences", seqused_k=np.array([1, 1], np.int32))
    refused(r"'lse' has shape \[4, 63\]; needed \[4, 64\], by the shape of 'q'", lse=np.zeros((4, 63), np.float32))
