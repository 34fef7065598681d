"""What happens to a tile of sums before it is stored: a chain of steps, each a jitted function (value, *operands) -> value.

A kernel gets the chain as a constant, STEPS = ((function, (KIND, ...)), ...), and a tuple: batch (or None), rows and columns of the result, then three entries for each operand: a tensor or number, its row stride, its batch stride. KIND says along what the tensor extends: (batch, rows, columns) as bools,
None for a number, "amax" of rows or columns for a place that is updated; "copied" for columns: hardware copies can take the tensor, whose part then waits
in shared memory when the sum is done. Operands arrive as tiles that broadcast to the value.
"""

import tileloom as tl


@tl.jit
def finish(value, at, operands, STEPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The value after all steps, in float32. at: batch index or none, first row, first column of the tile."""
    place = 3
    for step, kinds in STEPS:
        loaded = ()
        for kind in kinds:
            x, row_stride, batch_stride = operands[place:place + 3]
            place += 3
            if kind is not None:
                x = _tile(x, row_stride, batch_stride, kind, at, operands[:3], BM, BN)
            loaded = loaded + (x,)
        value = step(value, *loaded)
    return value


@tl.jit
def _tile(x, row_stride, batch_stride, KIND: tl.constexpr, at, extents, BM: tl.constexpr, BN: tl.constexpr):
    """The part of a tensor that belongs to a tile; for amax its addresses, which of them exist, and which elements of the value do."""
    batch, M, N = extents
    if KIND[2] == "copied":
        if KIND[0]:
            part = tl.make_tensor_descriptor(x, [batch, M, N], [batch_stride, row_stride, 1], [1, BM, BN]).load(at).reshape(BM, BN)
        elif KIND[1]:
            part = tl.make_tensor_descriptor(x, [M, N], [row_stride, 1], [BM, BN]).load(at[-2:])
        else:
            part = tl.make_tensor_descriptor(x, [N], [1], [BN]).load([at[-1]])[None, :]
        return part.to(tl.float32)
    rows, columns = at[-2] + tl.arange(0, BM), at[-1] + tl.arange(0, BN)
    inside = rows < M, columns < N
    if KIND[0]:
        x = x + at[0] * batch_stride
    if KIND[-1] == "amax":
        both = inside[0][:, None] & inside[1][None, :]
        return (x + rows * row_stride, inside[0], both) if KIND[1] else (x + columns, inside[1], both)
    if KIND[1] and KIND[2]:
        return tl.load(x + rows.to(tl.int64)[:, None] * row_stride + columns[None, :], inside[0][:, None] & inside[1][None, :], 0).to(tl.float32)
    if KIND[1]:
        return tl.load(x + rows * row_stride, inside[0], 0).to(tl.float32)[:, None]
    if KIND[2]:
        return tl.load(x + columns, inside[1], 0).to(tl.float32)[None, :]
    return tl.load(x).to(tl.float32)


@tl.jit
def put(c: tl.view, at, value, RAGGED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Stores a tile. RAGGED: rows of c are no multiples of 16 bytes, which copies of boxes need."""
    if RAGGED:
        rows, columns = at[-2] + tl.arange(0, BM), at[-1] + tl.arange(0, BN)
        start = c.ptr + at[0] * c.stride(0) if len(at) == 3 else c.ptr
        tl.store(start + rows.to(tl.int64)[:, None] * c.stride(-2) + columns[None, :], value.to(c.dtype),
                 (rows < c.shape[-2])[:, None] & (columns < c.shape[-1])[None, :])
    else:
        c.store(at, value.to(c.dtype))


# Steps ------------------------------------------------------------------------------------------

@tl.jit
def multiply(value, factor):
    return value * factor


@tl.jit
def add(value, other):
    return value + other


@tl.jit
def add_scaled(value, other, factor):
    return value + other * factor


@tl.jit
def relu(value):
    return tl.maximum(value, 0.0, propagate_nan=True)


@tl.jit
def gelu(value):
    """value * P(X <= value) for a normal X, as max(value, 0) - |value| * P(X <= -|value|), without the cancellation for negative values. The
    logarithm of the probability is nearly a polynomial: this one (fitted here, least largest error to 6) is within 6e-6 of it, and the product
    within 6e-7 everywhere. One exponential and no reciprocal: the special function unit is what an epilogue waits for."""
    z = tl.minimum(tl.abs(value), 16.0)
    log = -0.9999952912 + z * (-1.1512510777 + z * (-0.4584643841 + z * (-0.05396007374 + z * (0.008507893421 + z * (
        -0.0009305255953 + z * (6.159839540e-05 + z * -1.834816544e-06))))))
    return tl.maximum(value, 0.0, propagate_nan=True) - z * tl.exp2(log)


@tl.jit
def gelu_narrow(value):
    """gelu for results of 16 bits and fewer: two terms less, the probability within 1.6e-4 for |value| up to 5 and the product within 2.3e-5."""
    z = tl.minimum(tl.abs(value), 16.0)
    log = -1.000228331 + z * (-1.147788969 + z * (-0.4669073448 + z * (-0.04631939975 + z * (0.005297362162 + z * -0.0002699188452))))
    return tl.maximum(value, 0.0, propagate_nan=True) - z * tl.exp2(log)


@tl.jit
def gelu_tanh(value):
    """value * (1 + tanh(u)) / 2 for u = sqrt(2 / pi) * (value + 0.044715 * value^3), in the same way; within 1.5e-5."""
    z = tl.minimum(tl.abs(value), 9.0)
    log = -0.9998749495 + z * (-1.1547249556 + z * (-0.4421170652 + z * (-0.08168309182 + z * (0.03273528814 + z * (
        -0.01019187178 + z * (0.001249689027 + z * -5.732532008e-05))))))
    return tl.maximum(value, 0.0, propagate_nan=True) - z * tl.exp2(log)


@tl.jit
def gelu_tanh_narrow(value):
    """gelu_tanh for results of 16 bits and fewer, by the hardware's tanh (off by 1e-5 at most on an H200): six instructions instead of eleven. -inf
    gives NaN, as in PyTorch."""
    half = 0.5 * value
    return half + half * tl.fast_tanh(value * (0.7978845608 + 0.03567740814 * (value * value)))


@tl.jit
def silu(value):
    return value * tl.sigmoid(value)


@tl.jit
def amax_of_rows(value, place):
    """Floats that are not negative are in the order of their bits; NaN is above infinity."""
    pointers, exists, inside = place
    bits = tl.where(inside, tl.abs(value), 0.0).to(tl.int32, bitcast=True)
    tl.atomic_max(pointers, tl.max(bits, 1), exists)
    return value


@tl.jit
def amax_of_columns(value, place):
    pointers, exists, inside = place
    bits = tl.where(inside, tl.abs(value), 0.0).to(tl.int32, bitcast=True)
    tl.atomic_max(pointers, tl.max(bits, 0), exists)
    return value


ACTIVATIONS = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}


def activations(dtype):
    """The functions by name, for a result of this type."""
    return {**ACTIVATIONS, "gelu": gelu_narrow, "gelu_tanh": gelu_tanh_narrow} if dtype.itemsize <= 2 else ACTIVATIONS
