"""Attention forward in Triton, as its tutorial has it (one program a block of queries): the peer of bench/attention.py."""

import triton
import triton.language as tl
from measure import fastest

CONFIGS = ((128, 128, 3, 8), (128, 64, 3, 8), (128, 64, 4, 4), (64, 64, 3, 4))  # queries, keys, stages, warps


@triton.jit
def attention_kernel(q, k, v, o, S, T, H, G, scale, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """q, o [B, S, H, D], k, v [B, T, G, D], contiguous; S a multiple of BM, T of BN."""
    blocks = tl.cdiv(S, BM)
    m = (blocks - 1 - tl.program_id(0) if CAUSAL else tl.program_id(0)) * BM
    b, h = tl.program_id(1) // H, tl.program_id(1) % H
    g = h // (H // G)
    rows, columns, d = m + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    own = q + (b * S + rows).to(tl.int64)[:, None] * (H * D) + h * D + d[None, :]
    x = tl.load(own)
    keys = k + b.to(tl.int64) * T * G * D + columns[None, :] * (G * D) + g * D + d[:, None]
    values = v + b.to(tl.int64) * T * G * D + columns[:, None] * (G * D) + g * D + d[None, :]
    acc = tl.zeros((BM, D), tl.float32)
    top, total = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32)
    whole = m // BN * BN if CAUSAL else T
    for n in tl.range(0, whole, BN):
        s = tl.dot(x, tl.load(keys + n * (G * D)))
        new = tl.maximum(top, tl.max(s, 1) * scale)
        p = tl.exp2(s * scale - new[:, None])
        alpha = tl.exp2(top - new)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype.element_ty), tl.load(values + n * (G * D)), acc * alpha[:, None])
        top = new
    if CAUSAL:
        for n in tl.range(whole, m + BM, BN):
            s = tl.dot(x, tl.load(keys + n * (G * D)))
            s = tl.where(rows[:, None] >= n + columns[None, :], s * scale, -float("inf"))
            new = tl.maximum(top, tl.max(s, 1))
            p = tl.exp2(s - new[:, None])
            alpha = tl.exp2(top - new)
            total = total * alpha + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype.element_ty), tl.load(values + n * (G * D)), acc * alpha[:, None])
            top = new
    tl.store(o + (b * S + rows).to(tl.int64)[:, None] * (H * D) + h * D + d[None, :], (acc / total[:, None]).to(o.dtype.element_ty))


def attention(q, k, v, o, causal, scale):
    """A launch as a function, with the fastest of a few configurations."""
    (B, S, H, D), (T, G) = q.shape, k.shape[1:3]

    def launcher(bm, bn, stages, warps):
        return lambda: attention_kernel[(S // bm, B * H)](q, k, v, o, S, T, H, G, scale * 1.4426950408889634, causal, D, bm, bn, num_stages=stages, num_warps=warps)

    return fastest([launcher(*config) for config in CONFIGS], triton.runtime.errors.OutOfResources)
