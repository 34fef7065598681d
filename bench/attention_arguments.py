"""The rows of bench/attention.py that show one argument each beside the plain kernel: what is given, and what fp64 says of it."""

import math

import tileloom as tl
import torch
from tileloom import kernels


@tl.jit
def alibi(score, b, h, i, n, slopes):
    return score + tl.load(slopes + h) * (n - i).to(tl.float32)


@tl.jit
def causal_mask(b, h, i, n):
    return n <= i


@tl.jit
def documents(b, h, i, n, labels, length):
    return tl.load(labels + i, i < length, -1) == tl.load(labels + n, n < length, -2)


def below(scores, i, n):
    return scores.masked_fill(n > i, -math.inf)


def band(left, right):
    return lambda scores, i, n: scores.masked_fill((n > i + right) | (n < i - left), -math.inf)


def block_mask(kinds):
    """BlockMask of a list of lists: 0 not seen, 1 mask_mod decides, 2 full."""
    lists = []
    for kind in (1, 2):
        named = torch.tensor(kinds, device="cuda")[None, None] == kind
        lists += [named.sum(-1).to(torch.int32), torch.argsort(named.to(torch.int32), dim=-1, descending=True, stable=True).to(torch.int32)]
    return kernels.BlockMask(*lists)


def same(scores, i, n):
    return scores


def dense(length, heads, d):
    """{name: (arguments of attention, what becomes of scaled scores, or None with sinks; pairs of queries and keys that are seen)}"""
    slopes, sinks = torch.linspace(0, 0.01, heads, device="cuda"), torch.linspace(-1, 1, heads, device="cuda")
    labels = torch.arange(length, device="cuda", dtype=torch.int32) // 1000
    full, lower, count = length * length, length * (length + 1) // 2, length // 128

    def pairs(left, right):
        i = torch.arange(length)
        return int(((i + right).clamp(max=length - 1) - (i - left).clamp(min=0) + 1).sum())

    return {
        "full": ({}, same, full),
        "causal": ({"causal": True}, below, lower),
        "window 1024,0": ({"window": (1024, 0)}, band(1024, 0), pairs(1024, 0)),
        "window 512,512": ({"window": (512, 512)}, band(512, 512), pairs(512, 512)),
        "chunk 1024, causal": ({"attention_chunk": 1024, "causal": True}, lambda s, i, n: s.masked_fill((n > i) | (n // 1024 != i // 1024), -math.inf),
                               length // 1024 * 1024 * 1025 // 2),
        "softcap 30, causal": ({"softcap": 30.0, "causal": True}, lambda s, i, n: below(30 * torch.tanh(s / 30), i, n), lower),
        "sinks, causal": ({"sinks": sinks, "causal": True}, None, lower),
        "score_mod alibi, causal": ({"score_mod": alibi, "mod_arguments": (slopes,), "causal": True},
                                    lambda s, i, n: below(s + slopes[-1].double() * (n - i), i, n), lower),
        "score_mod alibi": ({"score_mod": alibi, "mod_arguments": (slopes,)}, lambda s, i, n: s + slopes[-1].double() * (n - i), full),
        "mask_mod causal": ({"mask_mod": causal_mask}, below, full),
        "mask_mod documents of 1000": ({"mask_mod": documents, "mod_arguments": (labels, length)},
                                       lambda s, i, n: s.masked_fill(i // 1000 != n // 1000, -math.inf), full),
        "block_mask causal": ({"block_mask": block_mask([[2 if n < i else int(n == i) for n in range(count)] for i in range(count)]),
                               "mask_mod": causal_mask}, below, lower),
        "block_mask a quarter": ({"block_mask": block_mask([[2 * ((7 * i + 3 * n) % 4 == 0) for n in range(count)] for i in range(count)])},
                                 lambda s, i, n: s.masked_fill((7 * (i // 128) + 3 * (n // 128)) % 4 != 0, -math.inf), full // 4),
        "deterministic": ({"deterministic": True}, same, full),
        "sm_margin 16": ({"sm_margin": 16}, same, full),
        "num_splits 2": ({"num_splits": 2}, same, full),
        "pack_gqa": ({"pack_gqa": True}, same, full),
        "rescale_threshold 0": ({"rescale_threshold": 0}, same, full),
        "softmax_scale": ({"softmax_scale": 2 * d**-0.5}, lambda s, i, n: 2 * s, full),
    }


def cache(q, k, v, lengths):
    """{name: (tensors k and v, arguments of attention_kvcache)} that all see the same keys as k and v have."""
    batch, length, groups, d = k.shape
    padding = torch.full((batch,), 8, device="cuda", dtype=torch.int32)
    wide = [torch.cat([torch.zeros_like(t[:, :8]), t, torch.zeros_like(t[:, :8])], 1) for t in (k, v)]
    places = torch.randperm(batch, device="cuda")
    moved = [torch.empty_like(t) for t in (k, v)]
    for to, own in zip(moved, (k, v)):
        to[places] = own
    angles, blocks = torch.zeros(length + 1, d // 2, device="cuda"), -(-length // 128)
    appended = {"cache_seqlens": lengths - 1, "k_new": k[:, -1:].clone(), "v_new": v[:, -1:].clone()}
    behind = [t[:, 8:] for t in wide]
    plan = kernels.get_scheduler_metadata(lengths, max_seqlen_q=1, max_seqlen_k=length, num_heads=q.shape[2], num_heads_k=groups, headdim=d)
    cases = {"cache_seqlens": ((k, v), {}),
             "cache_batch_idx": (moved, {"cache_batch_idx": places.to(torch.int32)}),
             "cache_leftpad": (wide, {"cache_seqlens": lengths + 8, "cache_leftpad": padding}),
             "max_seqlen_k": ((k, v), {"max_seqlen_k": length}),
             "num_splits 2": ((k, v), {"num_splits": 2}),
             "pack_gqa off": ((k, v), {"pack_gqa": False}),
             "scheduler_metadata": ((k, v), {"scheduler_metadata": plan}),
             "block_mask": ((k, v), {"block_mask": block_mask([[2] * blocks])}),
             "k_new, v_new": (behind, appended)}
    for name, given in (("append, rotary", {"rotary_interleaved": False}), ("append, rotary interleaved", {"rotary_interleaved": True})):
        cases[name] = (behind, {**appended, "rotary_cos": angles.cos(), "rotary_sin": angles.sin(), **given})
    for page in (64, 16, 1):
        order = torch.randperm(batch * length // page, device="cuda")
        pools = [torch.empty(batch * length // page, page, groups, d, device="cuda", dtype=k.dtype) for _ in range(2)]
        for pool, own in zip(pools, (k, v)):
            pool[order] = own.view(-1, page, groups, d)
        cases[f"page_table, {page}"] = (pools, {"page_table": order.view(batch, -1).to(torch.int32)})
    return {name: (tensors, {"cache_seqlens": lengths, **given}) for name, (tensors, given) in cases.items()}
