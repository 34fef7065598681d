"""The kernel library's arguments that lie on another device than the first: refused before anything is compiled or launched."""

import itertools

import pytest

import tileloom as tl
from support import make_torch
from tileloom import kernels
from tileloom.dispatch import function


@pytest.fixture
def torch(monkeypatch, fake):
    def compiled(*_, **__):
        raise AssertionError("something was compiled")
    monkeypatch.setattr(function, "compile_program", compiled)
    return make_torch(monkeypatch)


def calls(torch):
    """(name, function, its tensors)"""
    addresses = itertools.count(1 << 30, 1 << 20)

    def bf16(*shape):
        return torch.Tensor(shape, torch.bfloat16, next(addresses))

    def i32(*shape):
        return torch.Tensor(shape, torch.int32, next(addresses))

    def f32(*shape):
        return torch.Tensor(shape, torch.float32, next(addresses))
    row, cache = bf16(2, 1, 2, 64), bf16(2, 128, 2, 64)
    packed = {"out": bf16(80, 2, 64), "lse": f32(2, 80)}
    yield "gemm", lambda **t: kernels.gemm(**t), {"a": bf16(64, 64), "b": bf16(64, 64), "out": bf16(64, 64), "bias": bf16(64)}
    yield "grouped_gemm_contiguous", lambda **t: kernels.grouped_gemm_contiguous(**t), {
        "a": bf16(128, 64), "b": bf16(2, 64, 64), "labels": i32(128), "out": bf16(128, 64)}
    yield "grouped_gemm_masked", lambda **t: kernels.grouped_gemm_masked(**t), {
        "a": bf16(2, 128, 64), "b": bf16(2, 64, 64), "counts": i32(2), "out": bf16(2, 128, 64)}
    yield "attention", lambda **t: kernels.attention(**t), {"q": row, "k": cache, "v": cache, "out": bf16(2, 1, 2, 64), "lse": f32(2, 2, 1)}
    yield "attention_varlen", lambda **t: kernels.attention_varlen(max_seqlen_q=64, **t), {
        "q": bf16(80, 2, 64), "k": bf16(90, 2, 64), "v": bf16(90, 2, 64), "cu_seqlens_q": i32(3), "cu_seqlens_k": i32(3), "seqused_k": i32(2), **packed}
    yield "attention_kvcache", lambda **t: kernels.attention_kvcache(num_splits=1, **t), {
        "q": row, "k_cache": cache, "v_cache": cache, "cache_seqlens": i32(2), "cache_batch_idx": i32(2), "cache_leftpad": i32(2), "out": bf16(2, 1, 2, 64), "lse": f32(2, 2, 1)}
    yield "attention_kvcache", lambda **t: kernels.attention_kvcache(num_splits=1, **t), {
        "q": row, "k_cache": bf16(8, 64, 2, 64), "v_cache": bf16(8, 64, 2, 64), "cache_seqlens": i32(2), "page_table": i32(2, 4), "out": bf16(2, 1, 2, 64), "lse": f32(2, 2, 1)}
    yield "softmax", lambda **t: kernels.softmax(**t), {"x": f32(4, 64), "out": f32(4, 64)}
    yield "layer_norm", lambda **t: kernels.layer_norm(**t), {"x": f32(4, 64), "weight": f32(64), "bias": f32(64), "out": f32(4, 64)}


def test_every_argument(torch):
    seen = set()
    for name, call, tensors in calls(torch):
        first = next(iter(tensors))
        for own, tensor in tensors.items():
            if own == first:
                continue
            for device, place in ((-1, "the CPU"), (1, "CUDA device 1")):
                moved = torch.Tensor(tensor.shape, tensor.dtype, device=device)
                with pytest.raises(tl.ArgumentError, match=f"^{name}: '{own}' is on {place}; needed CUDA device 0, where '{first}' is$"):
                    call(**{**tensors, own: moved})
            seen.add((name, own))
    assert len(seen) >= 30
