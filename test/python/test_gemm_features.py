"""What GEMM does beside the product, in the simulator against fp64: steps after the loop, batches, types, gated products, refusals."""

import math

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from products import error, wide
from tileloom import kernels

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
TARGETS = pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
erf = np.vectorize(math.erf)


def values(rng, *shape, dtype=BF16):
    return rng.standard_normal(shape).astype(dtype)


def factors(rng, m, n, k, dtype=BF16, other=None):
    return values(rng, m, k, dtype=dtype), values(rng, n, k, dtype=other or dtype).T


def poison(*shape, dtype=BF16):
    return np.full(shape, np.nan, dtype)


ACTIVATIONS = {"relu": lambda v: np.maximum(v, 0), "gelu": lambda v: v * (1 + erf(v / math.sqrt(2))) / 2, "silu": lambda v: v / (1 + np.exp(-v)),
               "gelu_tanh": lambda v: v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) / 2}


@TARGETS
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_bias_and_activation(activation, target):
    rng = np.random.default_rng(1)
    a, b = factors(rng, 200, 136, 72)
    bias, out = values(rng, 136), poison(200, 136)
    kernels.gemm(a, b, out, bias=bias, activation=activation, target=target)
    assert error(out, ACTIVATIONS[activation](wide(a) @ wide(b) + wide(bias))) < 4e-3


@pytest.mark.parametrize("activation, limit", [("gelu", 7e-7), ("gelu_tanh", 1.6e-5)])
def test_gelu_is_as_close_as_it_says(activation, limit):
    """On the values themselves: products with one, stored in float32. Its tail vanishes, and NaN and infinities stay what they are."""
    x = np.zeros((1024, 8), np.float32)
    x[:, 0] = np.linspace(-12, 12, 1024)
    x = x.astype(BF16)
    x[:4, 0] = [-np.inf, np.inf, np.nan, -300]
    ones = np.zeros((8, 8), BF16)
    ones[0] = 1
    out = kernels.gemm(x, ones, activation=activation, out_dtype=tl.float32)
    found = out[:, 0].astype(np.float64)
    assert found[1] == np.inf and np.isnan(found[2]) and abs(found[3]) < 1e-29
    wanted = ACTIVATIONS[activation](wide(x[4:, 0]))
    assert np.abs(found[4:] - wanted).max() < limit


@TARGETS
@pytest.mark.parametrize("m, n, k, rows, columns, schedule", [(5, 200, 200, 8, 64, {}), (21, 192, 520, 24, 64, {"split": 3}), (13, 300, 136, 16, 128, {}),
                                                              (13, 300, 136, 16, 64, {"use": "pingpong"}), (40, 136, 64, 32, 128, {}), (7, 72, 0, 16, 64, {})])
def test_tiles_of_few_rows(m, n, k, rows, columns, schedule, target):
    """Fewer rows than the tensor core takes: the product is transposed (tile-swap-operands), with all that follows it."""
    if target == "sm_100a":
        if schedule.get("use"):
            pytest.skip("one tensor core for all")
        columns = 128
    rng = np.random.default_rng(m)
    a, b = factors(rng, m, n, k)
    bias, amax, out = values(rng, n), np.zeros(m, np.float32), poison(m, n)
    kernels.gemm(a, b, out, bias=bias, activation="silu", row_amax=amax, BM=rows, BN=columns, BK=64, schedule=schedule, target=target)
    wanted = ACTIVATIONS["silu"](wide(a) @ wide(b) + wide(bias))
    assert error(out, wanted) < 4e-3
    assert np.allclose(amax, np.abs(wanted).max(1), rtol=1e-4)


@pytest.mark.parametrize("k", [100, 300, 456])
@pytest.mark.parametrize("schedule", [{"use": "pingpong", "stages": 1, "pending": 1}, {"stages": 1, "pending": 1}, {"stages": 2, "pending": 1}])
def test_few_slots_with_a_product_in_flight(schedule, k):
    """A product in flight holds its slot while the next one is taken: with one slot nothing may be in flight (it hung)."""
    rng = np.random.default_rng(k)
    a, b = factors(rng, 70, 264, k)
    out = poison(70, 264)
    kernels.gemm(a, b, out, BM=64, BN=128, BK=64, schedule=schedule)
    assert error(out, wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("layout", ["NN", "TN", "TT"])
def test_few_rows_of_other_layouts(layout):
    rng = np.random.default_rng(3)
    a, b = factors(rng, 11, 200, 152)
    x = np.ascontiguousarray(np.asarray(a).T).T if layout[0] == "T" else a
    y = b if layout[1] == "T" else np.ascontiguousarray(b)
    out = poison(11, 200)
    kernels.gemm(x, y, out, BM=16, BN=64, BK=64)
    assert error(out, wide(a) @ wide(b)) < 4e-3


def test_few_rows_of_a_gated_product():
    rng = np.random.default_rng(4)
    a, b = factors(rng, 9, 2 * 96, 200)
    out = poison(9, 96)
    kernels.gemm_swiglu(a, b, out, BM=16, BN=64, BK=64)
    gate, up = wide(a) @ wide(b[:, ::2]), wide(a) @ wide(b[:, 1::2])
    assert error(out, ACTIVATIONS["silu"](gate) * up) < 4e-3


@pytest.mark.parametrize("activation, limit", [("gelu", lambda x: 2.3e-5), ("gelu_tanh", lambda x: np.abs(x) / 2 * 2.0**-11)])
@pytest.mark.parametrize("dtype, unit", [(BF16, 2.0**-7), (np.float16, 2.0**-10)])
def test_gelu_of_16_bits(dtype, unit, activation, limit):
    """Half a unit of the last place, and 2.3e-5 or what the hardware's tanh may be off."""
    x = np.zeros((1024, 8), dtype)
    x[:, 0] = np.linspace(-12, 12, 1024)
    x[:3, 0] = [-np.inf, np.inf, np.nan]
    ones = np.zeros((8, 8), dtype)
    ones[0] = 1
    found = wide(kernels.gemm(x, ones, activation=activation)[:, 0])
    assert found[1] == np.inf and np.isnan(found[2])
    wanted = ACTIVATIONS[activation](wide(x[3:, 0]))
    assert (np.abs(found[3:] - wanted) <= 0.5 * unit * np.abs(wanted) * 1.01 + limit(wide(x[3:, 0]))).all()


def test_relu_keeps_nan():
    a, b = np.full((64, 64), np.nan, BF16), np.ones((64, 64), BF16)
    assert np.isnan(wide(kernels.gemm(a, b.T, activation="relu"))).all()


@tl.jit
def twice_and_shifted(value, row, factor):
    return value * factor + row


@tl.jit
def clipped(value):
    return tl.clamp(value, -1.0, 1.0)


@TARGETS
@pytest.mark.parametrize("m, n, k", [(200, 136, 72), (65, 33, 0), (1, 300, 200)])
def test_all_steps_in_order(m, n, k, target):
    """Every step at once, on ragged sizes, none of which commutes with its neighbours; two steps of the user's."""
    rng = np.random.default_rng(m)
    a, b = factors(rng, m, n, k)
    c, residual, bias = values(rng, m, n), values(rng, m, n, dtype=np.float32), values(rng, n, dtype=np.float32)
    column, scale_a, scale_b = values(rng, m, 1), rng.random(m).astype(np.float32), rng.random((1, n)).astype(np.float32)
    rows, columns = np.zeros(m, np.float32), np.full(n, 0.25, np.float32)
    out = poison(m, n)
    kernels.gemm(a, b, out, alpha=0.5, scale_a=scale_a, scale_b=scale_b, c=c, beta=-2.0, bias=bias, activation=clipped, epilogue=twice_and_shifted,
                 epilogue_args=(column, 3), residual=residual, row_amax=rows, column_amax=columns, out_scale=np.float32(0.125), target=target)
    value = np.clip(0.5 * scale_a[:, None] * scale_b * (wide(a) @ wide(b)) - 2 * wide(c) + bias, -1, 1) * 3 + wide(column) + residual
    assert error(out, value / 8) < 4e-3
    assert error(rows, np.abs(value).max(1)) < 1e-3 and error(columns, np.maximum(np.abs(value).max(0), 0.25)) < 1e-3


def test_amax_of_a_nan_is_nan():
    a, b, rows = np.ones((64, 64), BF16), np.ones((64, 64), BF16), np.zeros(64, np.float32)
    a[5] = np.nan
    kernels.gemm(a, b.T, row_amax=rows)
    assert np.isnan(rows[5]) and (np.delete(rows, 5) == 64).all()


@TARGETS
def test_output_in_fp8(target):
    rng = np.random.default_rng(2)
    a, b = factors(rng, 136, 144, 64)
    scale = np.array([8.0], np.float32)
    for dtype in (E4M3, E5M2):
        out = np.zeros((136, 144), dtype)
        kernels.gemm(a, b, out, out_scale=scale, target=target)
        wanted = np.clip(8 * wide(a) @ wide(b), -wide(ml_dtypes.finfo(dtype).max), wide(ml_dtypes.finfo(dtype).max))
        assert error(out, wanted) < (4e-2 if dtype is E4M3 else 8e-2)
    assert abs(wide(kernels.gemm(a * 100, b, out_dtype="float8_e4m3fn", target=target))).max() == 448  # saturates


@TARGETS
@pytest.mark.parametrize("layout", ["NT", "NN", "TN", "TT"])
@pytest.mark.parametrize("which", ["both", "a", "b", "b of one", "a expanded"])
def test_batches(which, layout, target):
    rng = np.random.default_rng(3)
    m, n, k = 130, 72, 88
    a = values(rng, 3, k, m).swapaxes(1, 2) if layout[0] == "T" else values(rng, 3, m, k)
    b = values(rng, 3, n, k).swapaxes(1, 2) if layout[1] == "T" else values(rng, 3, k, n)
    if which == "a":
        b = b[0]
    elif which == "b":
        a = a[0]
    elif which == "b of one":
        b = b[:1]
    elif which == "a expanded":
        a = np.broadcast_to(a[:1], a.shape)
    bias, residual, out = values(rng, 3, 1, n), values(rng, m, n), poison(3, m, n)
    rows = np.zeros((3, m), np.float32)
    kernels.gemm(a, b, out, bias=bias, residual=residual, row_amax=rows, target=target)
    wanted = wide(a) @ wide(b) + wide(bias) + wide(residual)
    assert out.shape == wanted.shape and error(out, wanted) < 4e-3 and error(rows, np.abs(wanted).max(2)) < 1e-3


def test_batch_with_ragged_rows_and_of_none():
    rng = np.random.default_rng(4)
    a, b = values(rng, 2, 33, 40), values(rng, 2, 40, 13)
    assert error(kernels.gemm(a, b), wide(a) @ wide(b)) < 4e-3
    assert kernels.gemm(a[:0], b[:1]).shape == (0, 33, 13)


@TARGETS
@pytest.mark.parametrize("m, n, k", [(200, 136, 200), (128, 128, 1), (65, 40, 500)])
def test_tf32(m, n, k, target):
    """Operands are cut to 10 bits of mantissa: exact for such values."""
    rng = np.random.default_rng(5)
    a, b = factors(rng, m, n, k, np.float32)
    assert error(kernels.gemm(a, b, target=target), wide(a) @ wide(b)) < 1.5e-3
    short = lambda x: (x.view(np.uint32) & 0xFFFFE000).view(np.float32)  # noqa: E731
    a, b = short(a), short(b.T.copy()).T
    assert error(kernels.gemm(a, b, target=target), wide(a) @ wide(b)) < 2e-6


@TARGETS
@pytest.mark.parametrize("types", [(E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3), (E5M2, E5M2)])
@pytest.mark.parametrize("rowwise", [False, True])
def test_fp8(types, rowwise, target):
    rng = np.random.default_rng(6)
    m, n, k = 200, 136, 208
    a, b = factors(rng, m, n, k, *types)
    x = rng.random((m, 1)).astype(np.float32) if rowwise else np.float32(0.5)
    y = rng.random(n).astype(np.float32) if rowwise else rng.random(1).astype(np.float32)
    out = kernels.gemm(a, b, scale_a=x, scale_b=y, target=target)
    assert out.dtype == BF16 and error(out, wide(a) @ wide(b) * x * y) < 4e-3


@TARGETS
@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("m, n, k", [(200, 136, 136), (64, 5, 72), (3, 40, 0)])
def test_swiglu(interleaved, m, n, k, target):
    rng = np.random.default_rng(7)
    a, b = factors(rng, m, 2 * n, k)
    out = poison(m, n)
    kernels.gemm_swiglu(a, b, out, interleaved=interleaved, target=target)
    both = wide(a) @ wide(b)
    gate, up = (both[:, ::2], both[:, 1::2]) if interleaved else (both[:, :n], both[:, n:])
    assert error(out, ACTIVATIONS["silu"](gate) * up) < 5e-3


def test_swiglu_of_fp8_with_scales():
    rng = np.random.default_rng(8)
    a, b = factors(rng, 130, 96, 144, E4M3)
    x, y = rng.random(130).astype(np.float32), np.float32(0.25)
    both = wide(a) @ wide(b) * x[:, None] * y
    assert error(kernels.gemm_swiglu(a, b, scale_a=x, scale_b=y, activation="gelu"), ACTIVATIONS["gelu"](both[:, ::2]) * both[:, 1::2]) < 5e-3


def test_long_sums_are_in_float32():
    """Alternating large terms cancel exactly; a sum in 16 bits would lose the small ones. K = 16384."""
    k = 16384
    a, b = np.full((64, k), 1, np.float16), np.full((64, k), 2.0**-11, np.float16)
    b[:, 0::4], b[:, 1::4] = 128, -128
    assert (kernels.gemm(a, b.T, out_dtype="float32") == k // 2 * 2.0**-11).all()


def test_same_bits_for_other_interleavings():
    rng = np.random.default_rng(9)
    a, b = factors(rng, 136, 264, 520)
    results = [kernels.gemm(a, b, bias=values(np.random.default_rng(0), 264), activation="gelu", simulator={"seed": seed, "multiprocessors": 1 + seed}).view(np.uint16)
               for seed in range(4)]
    assert all((result == results[0]).all() for result in results)


@tl.jit
def takes_two(value, other):
    return value + other


REFUSED = [
    (dict(activation="swish"), r"'activation' is 'swish'; needed 'relu' or 'gelu'"),
    (dict(activation=math.tanh), r"'activation' is <built-in function tanh>; needed a function with @tl.jit"),
    (dict(activation=takes_two), r"'activation' is takes_two, which takes 2 arguments; needed 1: the value"),
    (dict(epilogue=takes_two), r"'epilogue' is takes_two, which takes 2 arguments; needed 1"),
    (dict(epilogue=takes_two, epilogue_args=(np.ones(63, BF16),)), r"'epilogue_args\[0\]' has shape \[63\]; needed one that broadcasts to \[64, 128\]"),
    (dict(bias=np.ones(64, BF16)), r"'bias' has shape \[64\]; needed one that broadcasts to \[64, 128\]"),
    (dict(bias=np.ones(128, np.int32)), r"'bias' is of int32; needed float16"),
    (dict(bias=np.ones(256, BF16)[::2]), r"'bias' has strides \[2\]; needed a last stride of 1"),
    (dict(scale_a=np.ones(128, np.float32)), r"'scale_a' has shape \[128, 1\]; needed a number, or one element, or 64 of them, one for each row"),
    (dict(scale_b=np.ones(64, np.float32)), r"'scale_b' has shape \[64\]; needed a number, or one element, or 128 of them, one for each column"),
    (dict(scale_b=np.ones(128, BF16)), r"'scale_b' is of bfloat16; needed float32"),
    (dict(out_scale=np.ones(128, np.float32)), r"'out_scale' has shape \[128\]; needed a number, or one element"),
    (dict(row_amax=np.ones(128, np.float32)), r"'row_amax' has shape \[128\]; needed \[64\]"),
    (dict(column_amax=np.ones(128, np.float64)), r"'column_amax' is of float64; needed float32"),
    (dict(accumulate=True), r"'out' is not given with accumulate"),
    (dict(out_dtype="int8"), r"'out' is of int8; needed float16"),
]


@pytest.mark.parametrize("arguments, message", REFUSED)
def test_refused_arguments(arguments, message):
    a, b = factors(np.random.default_rng(0), 64, 128, 64)
    with pytest.raises(tl.ArgumentError, match=message):
        kernels.gemm(a, b, **arguments)


def test_refused_factors():
    rng = np.random.default_rng(0)
    a, b = factors(rng, 64, 128, 64, E4M3)
    for left, right, message in [
            (a, b.copy(), r"'b' is of float8e4nv and has strides \[128, 1\]; needed contiguous columns: tensor cores read float8e4nv along K alone"),
            (values(rng, 64, 64, dtype=np.float32).T, values(rng, 64, 64, dtype=np.float32).T, "'a' is of float32 .* needed contiguous rows"),
            (a, b.astype(BF16), "'b' is of bfloat16; needed an 8-bit float, as 'a'"),
            (a.astype(np.int8), b.astype(np.int8), "'a' is of int8; needed float16"),
            (values(rng, 2, 64, 64), values(rng, 3, 64, 64), "'b' has a batch of 3; needed 2, as 'a', or 1"),
            (values(rng, 64), b, r"'a' has shape \[64\]; needed a matrix, or a batch of matrices")]:
        with pytest.raises(tl.ArgumentError, match=message):
            kernels.gemm(left, right)
    with pytest.raises(tl.ArgumentError, match="'b' has 127 columns; needed an even number: gate and up"):
        kernels.gemm_swiglu(a, b[:, :127])
    with pytest.raises(tl.ArgumentError, match="contiguous columns: copies cannot take every other element of a row"):
        kernels.gemm_swiglu(values(rng, 64, 64), values(rng, 64, 64))
