"""Kernels in Triton with the text of ours: the peers of bench/language.py and bench/launch.py."""

import functools

import triton
import triton.language as tl

from measure import fastest


@triton.jit
def softmax_kernel(out, x, out_stride, x_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + at, at < columns, -float("inf")).to(tl.float32)
    e = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * out_stride + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), at < columns)


@triton.jit
def layer_norm_kernel(x, out, weight, bias, x_stride, out_stride, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row.to(tl.int64) * x_stride + at, inside, 0).to(tl.float32)
    center = tl.sum(value, 0) / columns
    shifted = tl.where(inside, value - center, 0.0)
    scale = tl.rsqrt(tl.sum(shifted * shifted, 0) / columns + epsilon)
    result = shifted * scale * tl.load(weight + at, inside, 0).to(tl.float32) + tl.load(bias + at, inside, 0).to(tl.float32)
    tl.store(out + row.to(tl.int64) * out_stride + at, result.to(out.dtype.element_ty), inside)


@triton.jit
def eight_kernel(out, a, b, c, columns, row, other, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(a + at, inside, 0) + tl.load(b + at, inside, 0) * scale + tl.load(c + at, inside, 0)
    tl.store(out + at, value + (row + other).to(tl.float32), inside)


def _best(launch):
    """`launch(warps)` with the number of warps that is fastest here."""
    return fastest(functools.partial(launch, warps) for warps in (4, 8, 16))


def softmax(x, out):
    block = triton.next_power_of_2(x.shape[1])
    return _best(lambda warps: softmax_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], block, num_warps=warps))


def layer_norm(x, weight, bias, out):
    block = triton.next_power_of_2(x.shape[1])
    return _best(lambda warps: layer_norm_kernel[(x.shape[0],)](x, out, weight, bias, x.stride(0), out.stride(0), x.shape[1], 1e-5, block,
                                                                num_warps=warps))
