"""Attention in fp64, one sequence after the other, and the mods that tests use. For the simulator's tests and those on a GPU."""

import math

import ml_dtypes
import numpy as np

import tileloom as tl

BF16 = ml_dtypes.bfloat16


def sequence(q, k, v, causal=False, softmax_scale=None, window=None, attention_chunk=None, softcap=None, sinks=None, score=None, mask=None):
    """(out [S, H, E], lse [H, S]) for q [S, H, D], k [T, G, D], v [T, G, E]. score(scores, h, i, n), mask(h, i, n): mods on NumPy arrays."""
    q, k, v = (np.asarray(t, np.float64) for t in (q, k, v))
    (S, H, D), (T, G) = q.shape, k.shape[:2]
    k, v = (np.repeat(t, H // G, 1) for t in (k, v))
    scores = np.einsum("shd,thd->hst", q, k) * (1 / math.sqrt(D) if softmax_scale is None else softmax_scale)
    h, i, n = np.arange(H)[:, None, None], np.arange(S)[None, :, None], np.arange(T)[None, None, :]
    place = i + T - S
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if score:
        scores = score(scores, h, i, n)
    seen = np.ones(scores.shape, bool)
    left, right = window or (None, None)
    if causal:
        seen &= n <= place
    if right is not None and right >= 0:
        seen &= n <= place + right
    if left is not None and left >= 0:
        seen &= n >= place - left
    if attention_chunk:
        begin = np.maximum(place, 0) // attention_chunk * attention_chunk
        seen &= (n >= begin) & (n < begin + attention_chunk)
    if mask:
        seen &= mask(h, i, n)
    scores = np.where(seen, scores, -np.inf)
    if sinks is not None:
        scores = np.concatenate([scores, np.broadcast_to(np.asarray(sinks, np.float64)[:, None, None], (H, S, 1))], 2)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.einsum("hst,thd->shd", np.where(total > 0, weights / total, 0)[..., :T], v)
        lse = (top + np.log(total))[..., 0]
    return out, lse


def batch(q, k, v, **options):
    """The same for [B, ...]."""
    results = [sequence(*one, **options) for one in zip(q, k, v)]
    return np.stack([out for out, _ in results]), np.stack([lse for _, lse in results])


def check(found, wanted, tolerance=5e-3):
    """(out, lse) against fp64: out in the norm of each row of heads, lse absolute, with -inf where there is -inf."""
    (out, lse), (wanted_out, wanted_lse) = found, wanted
    out, lse = np.asarray(out, np.float64), np.asarray(lse, np.float64)
    assert not np.isnan(out).any(), "NaN, or elements that were not written"
    scale = max(np.linalg.norm(wanted_out) / math.sqrt(max(wanted_out.size, 1)), 1e-30)
    wrong = np.linalg.norm(out - wanted_out) / max(np.linalg.norm(wanted_out), 1e-30)
    assert wrong < tolerance, f"out: relative error {wrong:.1e}"
    assert np.abs(out - wanted_out).max(initial=0) < 40 * tolerance * scale, "out: an element is far off"
    finite = np.isfinite(wanted_lse)
    assert (lse[~finite] == -np.inf).all(), "lse of rows without keys"
    assert np.abs(lse[finite] - wanted_lse[finite]).max(initial=0) < 2e-3 * max(1, np.abs(wanted_lse[finite]).max(initial=0) / 50), "lse"
    assert not out[np.moveaxis(~finite, -2, -1)].any(), "out of rows without keys"


# Mods: what the language sees, and the same for NumPy ----------------------------------------------

@tl.jit
def alibi(score, b, h, i, n, slopes):
    return score + tl.load(slopes + h) * (n - i).to(tl.float32)


def alibi_numpy(slopes):
    return lambda scores, h, i, n: scores + np.asarray(slopes, np.float64)[h] * (n - i)


@tl.jit
def prefix(b, h, i, n, length):
    return (n <= i) | (n < length)


def prefix_numpy(length):
    return lambda h, i, n: (n <= i) | (n < length)


@tl.jit
def documents(b, h, i, n, labels, length):
    return tl.load(labels + i, i < length, -1) == tl.load(labels + n, n < length, -2)


def documents_numpy(labels):
    return lambda h, i, n: (labels[np.minimum(i, len(labels) - 1)] == labels[np.minimum(n, len(labels) - 1)])
