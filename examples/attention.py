"""Attention in one kernel: causal or not, grouped heads, any lengths, the logarithm of the sums. On NumPy arrays in the simulator, or with --gpu on torch
tensors. The library's (tileloom.kernels.attention) is this with masks, modifications of scores and 8 bits."""

import math
import sys

import ml_dtypes
import numpy as np

import tileloom as tl

LN2 = tl.constexpr(math.log(2))


@tl.jit(candidates={"BM": (128, 192), "BN": (128, 160, 112, 96, 64)})
def attention(q: tl.view, k: tl.view, v: tl.view, o: tl.view, lse, scale, CAUSAL: tl.constexpr, D: tl.constexpr = 128,
              BM: tl.constexpr = tl.auto, BN: tl.constexpr = tl.auto):
    """o = softmax(q k^T scale) v, with scale times log2(e) in `scale`; q, o [B, S, H, D], k, v [B, T, G, D]; lse [B, H, S]. Query i stands at key i + T - S."""
    B, S, H = q.shape[:3]
    T, G = k.shape[1:3]
    for b, h, m in tl.tiles(B, H, (S, BM)):
        g = h // (H // G)
        rows = m + tl.arange(0, BM)
        queries = q.load([b, m, h, 0], [BM, D])
        acc = tl.zeros((BM, D), tl.float32)
        top = tl.full((BM,), -tl.inf, tl.float32)
        total = tl.zeros((BM,), tl.float32)
        tiles = tl.maximum(tl.cdiv(tl.minimum(T, m + BM + T - S) if CAUSAL else T, BN), 1)
        for j in tl.range(tiles):  # the last tile of keys first: the diagonal and the end cut only those that come first
            n = (tiles - 1 - j) * BN
            s = tl.dot(queries, k.load([b, n, g, 0], [1, BN, 1, D]).reshape(BN, D).T)
            columns = (n + tl.arange(0, BN))[None, :]
            s = tl.where(columns <= rows[:, None] + (T - S) if CAUSAL else columns < T, s, -tl.inf)
            new = tl.maximum(top, tl.max(s, 1))
            shift = tl.where(new == -tl.inf, 0.0, new)  # a row that has seen no key yet
            p = tl.exp2(s * scale - (shift * scale)[:, None])
            alpha = tl.exp2((top - shift) * scale)
            total = total * alpha + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype), v.load([b, n, g, 0], [1, BN, 1, D]).reshape(BN, D), acc * alpha[:, None])
            top = new
        inverse = tl.where(total > 0, 1.0 / total, 0.0)
        o.store([b, m, h, 0], (acc * inverse[:, None]).to(o.dtype))
        tl.store(lse + (b.to(tl.int64) * H + h) * S + rows, (top * scale + tl.log2(total)) * LN2, rows < S)


def reference(q, k, v, causal):
    """In fp64: (o, lse)."""
    q, k, v = (np.asarray(t, np.float64).transpose(0, 2, 1, 3) for t in (q, k, v))
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
    S, T = scores.shape[-2:]
    if causal:
        scores = np.where(np.arange(T) <= np.arange(S)[:, None] + T - S, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    return (weights / total @ v).transpose(0, 2, 1, 3), (scores.max(-1, keepdims=True) + np.log(total))[..., 0]


def check(o, lse, wanted):
    error = np.linalg.norm(np.asarray(o, np.float64) - wanted[0]) / np.linalg.norm(wanted[0])
    if not error < 6e-3 or not np.abs(lse - wanted[1]).max() < 2e-3:
        sys.exit("wrong")
    return error


def simulated():
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, length, heads, 128)).astype(ml_dtypes.bfloat16) for length, heads in ((200, 4), (300, 2), (300, 2)))
    for target in ("sm_90a", "sm_100a"):
        for causal in (False, True):
            o, lse = np.full_like(q, np.nan), np.full((1, 4, 200), np.nan, np.float32)
            run = attention(q, k, v, o, lse, math.log2(math.e) / math.sqrt(128), causal, target=target)  # raises KernelFault if the simulator finds anything
            print(f"{target}, {'causal' if causal else 'full'}: {run.instructions} warp instructions, nothing found, relative error against fp64 "
                  f"{check(o, lse, reference(q, k, v, causal)):.1e}")


def on_gpu():
    import torch
    q, k, v = (torch.randn(2, length, heads, 128, device="cuda", dtype=torch.bfloat16) for length, heads in ((1000, 16), (1500, 4), (1500, 4)))
    for causal in (False, True):
        o, lse = torch.full_like(q, float("nan")), torch.full((2, 16, 1000), float("nan"), device="cuda")
        attention(q, k, v, o, lse, math.log2(math.e) / math.sqrt(128), causal)
        error = check(o.double().cpu().numpy(), lse.cpu().numpy(), reference(*(t.double().cpu().numpy() for t in (q, k, v)), causal))
        print(f"{torch.cuda.get_device_name()}, {'causal' if causal else 'full'}: relative error against fp64 {error:.1e}")


if __name__ == "__main__":
    on_gpu() if "--gpu" in sys.argv[1:] else simulated()
