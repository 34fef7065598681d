"""Products of block-scaled operands (the OCP microscaling formats), by conversion: values times scales are exact in bfloat16, whose products
the tensor core of every target has."""

from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .functions import dot
from .shapes import _expand, _reshape, arange, trans
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
    common = dtypes.float16 if "fp16" in formats and lhs_scale is None and rhs_scale is None else dtypes.bfloat16
    a = _operand(name, "lhs", lhs, lhs_scale, formats[0], 1, fast, common)
    b = _operand(name, "rhs", rhs, rhs_scale, formats[1], 0, fast, common)
    return dot(a, b, acc, out_dtype=out_dtype)


def _format(name, side, value):
    value = constant_of(value, f"{name}: {side}_format", str)
    if value not in _FORMATS:
        raise ProgramError(f"{name}: {side}_format is {value!r}; needed one of {', '.join(_FORMATS)}")
    return value


def _operand(name, side, value, scale, format, k, fast, common):
    """The operand with its scales, in `common`; `k`: its dimension along K."""
    value = semantic.to_tensor(value)
    dtype = _FORMATS[format]
    if len(value.shape) != 2:
        raise ProgramError(f"{name}: {side} is {describe(value)}; needed two dimensions")
    wanted = [dtypes.uint8, dtypes.int8] if dtype is None else [dtype, dtypes.uint8] if dtype.bits == 8 else [dtype]
    if value.dtype not in wanted:
        raise ProgramError(f"{name}: {side} is {describe(value)}; needed {' or '.join(map(str, wanted))}, by its format {format!r}")
    if dtype is None:
        wide = _from_e2m1(value, k)
    else:
        wide = semantic.cast(semantic.cast(value, dtype, bitcast=True) if value.dtype is not dtype else value, dtypes.float32)
    if scale is None:
        return semantic.cast(wide, common)
    scale = semantic.to_tensor(scale)
    needed = (wide.shape[1 - k], wide.shape[k] // _BLOCK)
    if scale.shape != needed or scale.dtype not in (dtypes.uint8, dtypes.int8) or wide.shape[k] % _BLOCK:
        raise ProgramError(f"{name}: {side}_scale is {describe(scale)}; needed uint8{list(needed)}: one for {_BLOCK} values along K = {wide.shape[k]}")
    scale = tensor(scale.handle, dtypes.uint8, scale.shape)
    if k == 0:
        scale = trans(scale)
    scale = semantic.broadcast_to(_expand(scale, k + 1), (*scale.shape[:k + 1], _BLOCK, *scale.shape[k + 1:]))
    factor = _power_of_two(_reshape(scale, wide.shape), fast)
    return semantic.cast(semantic.binary("mul", wide, factor), common)


def _power_of_two(scale, fast):
    """2 ** (scale - 127) in float32; 255 is NaN."""
    wide = semantic.cast(scale, dtypes.int32)
    bits = semantic.binary("shl", wide, 23)
    bits = semantic.where(semantic.compare("eq", wide, 0), 1 << 22, bits)
    if not fast:
        bits = semantic.where(semantic.compare("eq", wide, 255), 0x7FC00000, bits)
    return semantic.cast(bits, dtypes.float32, bitcast=True)


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
