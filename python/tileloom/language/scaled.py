"""Products of block-scaled operands (the OCP microscaling formats): `tile.dot_scaled`. Operands of four bits are made 16-bit ones here."""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .functions import dot
from .shapes import _expand, _reshape, arange
from .values import constant_of, describe, tensor

_BLOCK = 32  # values along K that share a scale
_FORMATS = {"e4m3": dtypes.float8e4nv, "e5m2": dtypes.float8e5, "bf16": dtypes.bfloat16, "fp16": dtypes.float16, "e2m1": None}


def dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, rhs_k_pack=True,
               out_dtype=dtypes.float32):
    """(lhs * lhs_scale) @ (rhs * rhs_scale) + acc. lhs is [M, K], rhs [K, N]; formats: "e4m3", "e5m2", "bf16", "fp16", and "e2m1", two of
    which lie in a uint8 along K, the first in the low bits. Scales are powers of two (e8m0, in uint8), [M, K / 32] and [N, K / 32], or None.
    With `fast_math` a scale of 255 need not give NaN."""
    name = "tl.dot_scaled"
    for what, packed in (("lhs_k_pack", lhs_k_pack), ("rhs_k_pack", rhs_k_pack)):
        if not constant_of(packed, f"{name}: {what}", bool):
            raise ProgramError(f"{name}: {what} is False; needed True: two values in a byte are neighbours along K")
    fast = constant_of(fast_math, f"{name}: fast_math", bool)
    formats = [_format(name, side, value) for side, value in (("lhs", lhs_format), ("rhs", rhs_format))]
    a, b = _operand(name, "lhs", lhs, formats[0], 1), _operand(name, "rhs", rhs, formats[1], 0)
    if lhs_scale is None and rhs_scale is None:
        common = dtypes.float16 if "fp16" in formats else dtypes.bfloat16
        return dot(semantic.cast(a, common), semantic.cast(b, common), acc, out_dtype=out_dtype)
    scales = [_scale(name, side, scale, value, k) for side, scale, value, k in (("lhs", lhs_scale, a, 1), ("rhs", rhs_scale, b, 0))]
    if a.shape[1] != b.shape[0]:
        raise ProgramError(f"{name}: the operands are {describe(a)} and {describe(b)}; needed as many columns of the first ({a.shape[1]}) as "
                           f"rows of the second ({b.shape[0]})")
    if out_dtype is not dtypes.float32:
        raise ProgramError(f"{name}: out_dtype is {out_dtype}; needed float32")
    return _product(name, a, b, scales, acc, fast)


def _product(name, a, b, scales, acc, fast):
    shape, tail = (a.shape[0], b.shape[1]), ""
    if acc is not None:
        acc = semantic.to_tensor(acc)
        if acc.shape != shape or acc.dtype is not dtypes.float32:
            raise ProgramError(f"{name}: the accumulator is {describe(acc)}; needed float32{list(shape)}")
        tail = f" acc({acc.handle})"
    values = ", ".join(v.handle + (f" scale({s.handle})" if s is not None else "") for v, s in zip((a, b), scales))
    types = ", ".join(tensor_type(v.shape, v.dtype.mlir) + (f" scale {tensor_type(s.shape, s.dtype.mlir)}" if s is not None else "") for v, s in zip((a, b), scales))
    handle = builder().value(f"tile.dot_scaled {values}{tail}{' fast' if fast else ''} : {types} -> {tensor_type(shape, dtypes.float32.mlir)}")
    result = tensor(handle, dtypes.float32, shape)
    result.product = None if acc is not None else lambda total: _product(name, a, b, scales, total, fast)
    return result


def _format(name, side, value):
    value = constant_of(value, f"{name}: {side}_format", str)
    if value not in _FORMATS:
        raise ProgramError(f"{name}: {side}_format is {value!r}; needed one of {', '.join(_FORMATS)}")
    return value


def _operand(name, side, value, format, k):
    """The operand in floats of 8 or 16 bits; `k`: its dimension along K."""
    value = semantic.to_tensor(value)
    dtype = _FORMATS[format]
    if len(value.shape) != 2:
        raise ProgramError(f"{name}: {side} is {describe(value)}; needed two dimensions")
    wanted = [dtypes.uint8, dtypes.int8] if dtype is None else [dtype, dtypes.uint8] if dtype.bits == 8 else [dtype]
    if value.dtype not in wanted:
        raise ProgramError(f"{name}: {side} is {describe(value)}; needed {' or '.join(map(str, wanted))}, by its format {format!r}")
    if dtype is None:
        return semantic.cast(_from_e2m1(value, k), dtypes.bfloat16)
    return semantic.cast(value, dtype, bitcast=True) if value.dtype is not dtype else value


def _scale(name, side, scale, value, k):
    """The scales of an operand, or None."""
    if scale is None:
        return None
    scale = semantic.to_tensor(scale)
    needed = (value.shape[1 - k], value.shape[k] // _BLOCK)
    if scale.shape != needed or scale.dtype not in (dtypes.uint8, dtypes.int8) or value.shape[k] % _BLOCK:
        raise ProgramError(f"{name}: {side}_scale is {describe(scale)}; needed uint8{list(needed)}: one for {_BLOCK} values along K = {value.shape[k]}")
    return scale


def _from_e2m1(packed, k):
    """float32 of the four-bit floats in a tile of bytes, twice as many along dimension `k`."""
    wide = semantic.cast(tensor(packed.handle, dtypes.uint8, packed.shape), dtypes.int32)
    rows, columns = packed.shape
    shape = (rows, columns, 2) if k == 1 else (rows, 2, columns)
    half = _expand(_expand(arange(0, 2), 0), 0) if k == 1 else _expand(_expand(arange(0, 2), 0), 2)
    both = semantic.broadcast_to(_expand(wide, k + 1), shape)
    nibble = semantic.binary("and", semantic.binary("shr", both, semantic.binary("mul", half, 4)), 15)
    nibble = _reshape(nibble, (rows * (2 if k == 0 else 1), columns * (2 if k == 1 else 1)))
    exponent = semantic.binary("and", semantic.binary("shr", nibble, 1), 3)
    mantissa = semantic.binary("and", nibble, 1)
    bits = semantic.binary("or", semantic.binary("shl", semantic.binary("add", exponent, 126), 23), semantic.binary("shl", mantissa, 22))
    small = semantic.binary("mul", mantissa, 0x3F000000)  # 0 or 0.5
    bits = semantic.where(semantic.compare("eq", exponent, 0), small, bits)
    sign = semantic.binary("shl", semantic.binary("shr", nibble, 3), 31)
    return semantic.cast(semantic.binary("or", bits, sign), dtypes.float32, bitcast=True)
