"""Arguments of the kernel library that share memory, have odd strides or wrong types: refused with what is needed, or right. Results in the simulator against
fp64."""

import numpy as np
import pytest

import tileloom as tl
from tileloom import kernels

RNG = np.random.default_rng(0)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def f16(*shape):
    return RNG.standard_normal(shape).astype(np.float16)


def rows_over_each_other(rows, columns, step, dtype):
    return np.lib.stride_tricks.as_strided(np.zeros(rows * columns, dtype), (rows, columns), (step * np.dtype(dtype).itemsize, np.dtype(dtype).itemsize))


X, A, B = f32(5, 40), f16(64, 64), f16(64, 64)
LONG, WIDE = f16(80, 64), f16(64, 128)
Q = f16(1, 64, 2, 64)
LABELS = np.zeros(128, np.int32)

REFUSED = {
    "results of softmax over each other": (lambda: kernels.softmax(X, rows_over_each_other(5, 40, 0, np.float32)),
                                           r"softmax: 'out' has strides \[0, 1\]; needed an element of its own for each index"),
    "softmax a row on": (lambda: kernels.softmax(LONG[:64], LONG[1:65]), "softmax: 'out' shares memory with 'x'; needed memory of its own"),
    "softmax of integers": (lambda: kernels.softmax(X, np.zeros((5, 40), np.int8)), "softmax: 'out' is of int8; needed float16 or bfloat16 or float32"),
    "every other weight": (lambda: kernels.layer_norm(X, f32(80)[::2]), r"layer_norm: 'weight' has strides \[2\]; needed a contiguous tensor"),
    "one bias for all": (lambda: kernels.layer_norm(X, None, np.broadcast_to(f32(1), (40,))), r"'bias' has strides \[0\]; needed a contiguous tensor"),
    "weights of integers": (lambda: kernels.layer_norm(X, np.arange(40)), "'weight' is of int64; needed float16 or bfloat16 or float32"),
    "means of 16 bits": (lambda: kernels.layer_norm(X, mean=np.zeros(5, np.float16), rstd=np.zeros(5, np.float32)), "'mean' is of float16; needed float32"),
    "every other mean": (lambda: kernels.layer_norm(X, mean=f32(10)[::2], rstd=f32(5)), r"'mean' has strides \[2\]; needed a contiguous tensor"),
    "mean and rstd in one": (lambda: [kernels.layer_norm(X, mean=own, rstd=own) for own in [f32(5)]], "'mean' shares memory with 'rstd'"),
    "no epsilon": (lambda: kernels.layer_norm(X, epsilon=None), "layer_norm: 'epsilon' is None; needed a number"),
    "a result over a": (lambda: kernels.gemm(A, B, A), "gemm: 'out' shares memory with 'a'; needed memory of its own"),
    "a result over b": (lambda: kernels.gemm(A, B, B), "gemm: 'out' shares memory with 'b'"),
    "a result over a part of a": (lambda: kernels.gemm(LONG[:64], B, LONG[16:]), "gemm: 'out' shares memory with 'a'"),
    "a residual a row on": (lambda: kernels.gemm(A, B, LONG[:64], residual=LONG[1:65]),
                            "gemm: 'residual' shares memory with 'out', and is not the same; needed 'out' itself, or memory of its own"),
    "amax in the result": (lambda: [kernels.gemm(A, B, own, row_amax=own[0]) for own in [f32(64, 64)]], "gemm: 'out' shares memory with 'row_amax'"),
    "results over each other": (lambda: kernels.gemm(A, B, rows_over_each_other(64, 64, 8, np.float16)), r"'out' has strides \[8, 1\]; needed an element"),
    "an array for alpha": (lambda: kernels.gemm(A, B, alpha=f32(64)), "gemm: 'alpha' is of type ndarray; needed a number"),
    "no beta": (lambda: kernels.gemm(A, B, c=A, beta=None), "gemm: 'beta' is of type NoneType; needed a number"),
    "arguments without a tuple": (lambda: kernels.gemm(A, B, epilogue=scaled, epilogue_args=3), "gemm: 'epilogue_args' is of type int; needed a tuple"),
    "gated over a": (lambda: kernels.gemm_swiglu(WIDE, f16(128, 128).T, WIDE[:, :64]), "gemm_swiglu: 'out' shares memory with 'a'"),
    "groups over a": (lambda: [kernels.grouped_gemm_contiguous(own, B[None], LABELS, own) for own in [f16(128, 64)]], "'out' shares memory with 'a'"),
    "attention over q": (lambda: kernels.attention(Q, f16(1, 64, 2, 64), f16(1, 64, 2, 64), Q), "attention: 'out' shares memory with 'q'"),
    "a cache over its result": (lambda: kernels.attention_kvcache(f16(1, 64, 2, 64), Q, f16(1, 64, 2, 64), Q), "'out' shares memory with 'k_cache'"),
}


@tl.jit
def scaled(value, factor):
    return value * factor


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(tl.ArgumentError, match=message):
        call()


def test_in_place():
    for function in (kernels.softmax, kernels.layer_norm):
        x = X.copy()
        wanted = function(x)
        np.testing.assert_array_equal(function(x, out=x), wanted)


def test_slices_of_one_buffer():
    """Columns beside each other share rows, and no memory."""
    both = f16(64, 128)
    kernels.gemm(both[:, :64], B, both[:, 64:])
    np.testing.assert_allclose(both[:, 64:], both[:, :64].astype(float) @ B, atol=0.05)
    heads = f16(1, 64, 4, 2, 64)  # q, k, v and out of each position
    q, k, v, out = (heads[:, :, own] for own in range(4))
    wanted = kernels.attention(q, k, v)[0]
    kernels.attention(q, k, v, out)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("columns", [47, 48])
@pytest.mark.parametrize("given", ["accumulate", "c", "residual"])
def test_a_result_that_is_added_to(given, columns):
    """47: rows that hardware copies cannot write, so that other threads read an element than store it."""
    b, out = f16(64, columns), f16(70, columns)
    a = f16(70, 64)
    wanted = a.astype(float) @ b + out
    kernels.gemm(a, b, out, **({"accumulate": True} if given == "accumulate" else {given: out}))
    np.testing.assert_allclose(out, wanted, atol=0.05)


def test_nothing_is_read_for_a_beta_of_zero():
    out = np.full((64, 64), np.nan, np.float16)
    kernels.gemm(A, B, out, accumulate=True, beta=0.0)
    np.testing.assert_allclose(out, A.astype(float) @ B, atol=0.05)


def test_rows_in_reverse():
    """A negative stride goes through a copy."""
    for a, b in ((A[::-1], B), (A, B[::-1]), (A[:, ::-1], B[:, ::-1])):
        np.testing.assert_allclose(kernels.gemm(a, b), a.astype(float) @ b, atol=0.05)
