"""Python numbers as tensors: constants, and the forms in which operations take their operands."""

import math

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes
from .values import constexpr, describe, tensor

_INFINITY = {"f8E5M2": "0x7C", "f16": "0x7C00", "bf16": "0x7F80", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}
_MINUS_INFINITY = {"f8E5M2": "0xFC", "f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
_NAN = {"f8E4M3FN": "0x7F", "f8E5M2": "0x7E", "f16": "0x7E00", "bf16": "0x7FC0", "f32": "0x7FC00000", "f64": "0x7FF8000000000000"}


def is_number(value):
    return isinstance(value, (bool, int, float))


def _literal(value, dtype):
    if dtype.is_bool():
        return "true" if value else "false"
    if not dtype.is_floating():
        return str(int(value))
    value = float(value)
    if math.isinf(value) or math.isnan(value):
        table = _NAN if math.isnan(value) else _INFINITY if value > 0 else _MINUS_INFINITY
        if dtype.mlir not in table:
            raise ProgramError(f"{value!r} cannot be written in {dtype}; needed a finite number")
        return table[dtype.mlir]
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + mark + exponent


def full(shape, value, dtype):
    """A tile (or, for (), a scalar) of one Python number."""
    shape = tuple(shape)
    if dtype.is_int():
        low, high = (-(1 << dtype.bits - 1), (1 << dtype.bits) - 1)
        if isinstance(value, float) and not value.is_integer() or not low <= value <= high:
            raise ProgramError(f"{value!r} does not fit in {dtype}")
    literal = _literal(value, dtype)
    if not shape and dtype.is_bool():
        handle = builder().value(f"arith.constant {literal}")
    else:
        literal = f"dense<{literal}>" if shape else literal
        handle = builder().value(f"arith.constant {literal} : {tensor_type(shape, dtype.mlir)}")
    integer = not dtype.is_floating()
    return tensor(handle, dtype, shape, host=int(value) if integer and not shape else None,
                  bounds=(int(value), int(value)) if integer else None)


def to_tensor(value, dtype=None):
    """A tensor of what may be a Python number."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, tensor):
        return value
    dynamic = getattr(value, "make_dynamic", None)
    if dynamic is not None:
        return dynamic()
    if not is_number(value):
        raise ProgramError(f"found {describe(value)}; needed a tensor or a number")
    return full((), value, dtype or dtypes.of_python(value))


def operand(value):
    """A tensor or a Python number: the form in which operations take their operands."""
    if isinstance(value, constexpr):
        value = value.value
    dynamic = getattr(value, "make_dynamic", None)
    if dynamic is not None:
        value = dynamic()
    if isinstance(value, tensor) or is_number(value):
        return value
    raise ProgramError(f"operand is {describe(value)}; needed a tensor or a number")
