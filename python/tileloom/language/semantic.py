"""What operators and element-wise functions mean: conversion, broadcasting and the choice of the operation.

Triton's rules: Python numbers take the type of the tensor they meet, integers divide toward zero, `/` gives a float, shapes are
aligned at their last dimension. Additions and multiplications of floats may contract to FMAs and quotients are within 2 ulp (`tl.div_rn`
rounds correctly), as Triton's do.
"""

import operator

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes
from .constants import full, is_number, operand, to_tensor  # noqa: F401: others take them from here
from .dtypes import float32, int1, int32, int64
from .values import describe, pointer, tensor

_FLAGS = {"add": " fastmath<contract>", "sub": " fastmath<contract>", "mul": " fastmath<contract>", "div": " fastmath<afn>"}


# Conversion ---------------------------------------------------------------------------------------


def _convert(value, dtype, op):
    source = tensor_type(value.shape, value.dtype.mlir)
    target = tensor_type(value.shape, dtype.mlir)
    return tensor(builder().value(f"arith.{op} {value.handle} : {source} to {target}"), dtype, value.shape)


def cast(value, dtype, bitcast=False):
    """`value` in another element type; with `bitcast` the same bits."""
    value = to_tensor(value)
    if not isinstance(dtype, dtypes.dtype):
        raise ProgramError(f"the type to convert to is {describe(dtype)}; needed one such as tl.float32")
    source = value.dtype
    if source is dtype or source == dtype:
        return value
    if source.is_ptr() or dtype.is_ptr():
        return _cast_pointer(value, dtype)
    if bitcast:
        if source.bits != dtype.bits:
            raise ProgramError(f"bitcast of {describe(value)} to {dtype}: {source.bits} bits to {dtype.bits}; needed equal widths")
        return tensor(value.handle, dtype, value.shape) if source.mlir == dtype.mlir else _convert(value, dtype, "bitcast")
    if source.is_floating() and dtype.is_floating():
        if source.bits == dtype.bits or 8 in (source.bits, dtype.bits) and 64 in (source.bits, dtype.bits):  # through a type that holds both
            return cast(cast(value, float32), dtype)
        return _convert(value, dtype, "extf" if source.bits < dtype.bits else "truncf")
    if source.is_floating():
        if dtype.is_bool():
            return compare("ne", value, 0.0)
        if source.bits < 32:
            value = cast(value, float32)
        return _convert(value, dtype, "fptoui" if dtype.is_int_unsigned() else "fptosi")
    if dtype.is_floating():
        unsigned = source.is_int_unsigned() or source.is_bool()
        if dtype.is_fp8():
            return cast(cast(value, float32), dtype)
        return _convert(value, dtype, "uitofp" if unsigned else "sitofp")
    return _cast_integer(value, dtype)


def _cast_integer(value, dtype):
    source = value.dtype
    if dtype.is_bool():
        return compare("ne", value, 0)
    if source.bits == dtype.bits:
        return tensor(value.handle, dtype, value.shape, tiled=value.tiled, host=value.host)
    if source.bits > dtype.bits:
        result = _convert(value, dtype, "trunci")
    else:
        result = _convert(value, dtype, "extui" if source.is_int_unsigned() or source.is_bool() else "extsi")
    result.tiled, result.host, result.bounds = value.tiled, value.host, value.bounds
    return result


def _cast_pointer(value, dtype):
    from . import memory
    if not value.shape and not value.dtype.is_ptr() and dtype.is_ptr() and value.dtype.is_int():
        return pointer(cast(value, int64).handle, dtype.element_ty)
    if isinstance(value, pointer) and not value.shape and dtype in (int64, dtypes.uint64):
        return tensor(memory.address(value), dtype)
    raise ProgramError(f"{describe(value)} cannot be converted to {dtype}; needed a scalar address and int64, or an int64 and a "
                       "pointer type")


# Shapes of operands -------------------------------------------------------------------------------


def broadcast_to(value, shape, dtype=None):
    """`value` repeated to `shape`: unit dimensions grow, missing ones are put in front."""
    shape = tuple(shape)
    if not isinstance(value, tensor):
        return full(shape, value, dtype or dtypes.of_python(value))
    if value.shape == shape:
        return value
    if isinstance(value, pointer):
        offsets = value.offsets if value.offsets is not None else full((), 0, int32)
        return value.replace(offsets=broadcast_to(offsets, shape))
    if not value.shape:
        handle = builder().value(f"tile.splat {value.handle} : {value.dtype.mlir} -> {tensor_type(shape, value.dtype.mlir)}")
        return tensor(handle, value.dtype, shape, bounds=value.bounds)
    from .shapes import expand_dims
    original = value
    while len(value.shape) < len(shape):
        value = expand_dims(value, 0)
    if len(value.shape) > len(shape) or any(a != b and a != 1 for a, b in zip(value.shape, shape)):
        raise ProgramError(f"shape {list(original.shape)} cannot be broadcast to {list(shape)}")
    if value.shape == shape:
        return value
    before, after = (tensor_type(s, value.dtype.mlir) for s in (value.shape, shape))
    return tensor(builder().value(f"tile.broadcast {value.handle} : {before} -> {after}"), value.dtype, shape, bounds=value.bounds)


def common_shape(*values):
    shapes = [value.shape for value in values if isinstance(value, tensor)]
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for index, extent in enumerate((1,) * (rank - len(shape)) + shape):
            if result[index] == 1:
                result[index] = extent
            elif extent not in (1, result[index]):
                raise ProgramError("operands have shapes " + " and ".join(str(list(s)) for s in shapes) +
                                   f"; needed equal extents, or 1, in dimension {index}")
    return tuple(result)


def unify(a, b, division=False):
    """Both operands as tensors of one type and shape. division: of / // and %."""
    numbers = [not isinstance(value, tensor) for value in (a, b)]
    if all(numbers):
        dtype = dtypes.promotion(dtypes.of_python(a), dtypes.of_python(b), division)
    elif any(numbers):
        number, other = (a, b) if numbers[0] else (b, a)
        if other.dtype.is_ptr():
            raise ProgramError(f"operation of {describe(other)} and {number!r}; needed an addition or subtraction of an integer")
        dtype = dtypes.weak_promotion(other.dtype, number, division)
        if dtype.is_int() and isinstance(number, int) and not -(1 << dtype.bits - 1) <= number < 1 << dtype.bits:
            raise ProgramError(f"{number} does not fit in {dtype}, the type of the other operand")
        if dtype.is_int_unsigned() and number < 0:
            raise ProgramError(f"operation of {describe(other)} and {number}; needed a number that is not negative, or .to(tl.int{dtype.bits})")
        if division:
            _check_signs(a, b, other.dtype, dtypes.of_python(number) if dtype is not other.dtype else other.dtype)
    else:
        if a.dtype.is_ptr() or b.dtype.is_ptr():
            raise ProgramError(f"operation of {describe(a)} and {describe(b)}; needed an addition or subtraction of an integer offset")
        dtype = dtypes.promotion(a.dtype, b.dtype, division)
        if dtype is None:
            raise ProgramError(f"operation of {describe(a)} and {describe(b)}, which have no common type; convert one with .to(dtype)")
        if division:
            _check_signs(a, b, a.dtype, b.dtype)
    shape = common_shape(a, b)
    return tuple(_as(value, dtype, shape) for value in (a, b))


def _check_signs(a, b, first, second):
    """Quotients and remainders of integers are refused where one type has a sign and the other one has none (a bool has none), as in Triton."""
    if not first.is_floating() and not second.is_floating() and (first.kind == "int") != (second.kind == "int"):
        raise ProgramError(f"division of {describe(a)} and {describe(b)}, of which one has a sign; convert one with .to(dtype)")


def _as(value, dtype, shape):
    if not isinstance(value, tensor):
        return full(shape, value, dtype)
    return broadcast_to(cast(value, dtype), shape)


# Operators ----------------------------------------------------------------------------------------

_PYTHON = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "floordiv": operator.floordiv,
           "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "shl": operator.lshift,
           "shr": operator.rshift, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
           "ne": operator.ne, "pow": operator.pow}
_FLOAT = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "mod": "remf"}
_INTEGER = {"add": "addi", "sub": "subi", "mul": "muli", "floordiv": ("divsi", "divui"), "mod": ("remsi", "remui"), "and": "andi",
            "or": "ori", "xor": "xori", "shl": "shli", "shr": ("shrsi", "shrui")}
_SIGN = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^",
         "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "pow": "**"}
_COMPARE_FLOAT = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_COMPARE_INTEGER = {"lt": ("slt", "ult"), "le": ("sle", "ule"), "gt": ("sgt", "ugt"), "ge": ("sge", "uge"), "eq": ("eq", "eq"),
                    "ne": ("ne", "ne")}


def binary(name, a, b):
    """The operator `name` (as in _PYTHON) on two operands, at least one of them a tensor."""
    a, b = operand(a), operand(b)
    if not isinstance(a, tensor) and not isinstance(b, tensor):
        return _PYTHON[name](a, b)
    if isinstance(a, pointer) or isinstance(b, pointer):
        from .memory import offset_pointer
        if name in ("add", "sub"):
            return offset_pointer(name, a, b)
    if name in _COMPARE_FLOAT:
        return compare(name, a, b)
    if name == "pow":
        raise ProgramError(f"{describe(a)} ** {describe(b)}: needed compile-time constants, or tl.exp2 and tl.log2")
    integers = all(not isinstance(v, float) and not (isinstance(v, tensor) and not (v.dtype.is_int() or v.dtype.is_bool()))
                   for v in (a, b))
    original = a, b
    a, b = unify(a, b, division=name in ("div", "mod", "floordiv"))
    if name == "div" and integers:
        a, b = cast(a, float32), cast(b, float32)
    if a.dtype.is_floating():
        if name not in _FLOAT:
            raise ProgramError(f"{describe(original[0])} {_SIGN[name]} {describe(original[1])}: needed integers")
        return cast(_element_wise(_FLOAT[name], *_computable(a, b), _FLAGS.get(name, "")), a.dtype)
    if a.dtype.is_bool() and name not in ("and", "or", "xor"):  # the low bit of what numbers give
        return cast(binary("and", binary(name, cast(a, int32), cast(b, int32)), 1), int1)
    op = _INTEGER[name]
    op = op if isinstance(op, str) else op[a.dtype.is_int_unsigned()]
    result = _element_wise(op, a, b)
    if a.bounds and b.bounds:
        result.bounds = _bounds(name, a.bounds, b.bounds)
    if not result.shape:
        result.host = host_operation(name, *(v if isinstance(v, int) else v.host for v in original))
        result.tiled = name in ("add", "sub", "mul") and any(isinstance(v, tensor) and v.tiled for v in original)
    return result


def divide_rounded(x, y):
    """x / y of float32 or float64, rounded correctly."""
    x, y = unify(operand(x), operand(y), division=True)
    if not isinstance(x, tensor) or x.dtype not in (float32, dtypes.float64):
        raise ProgramError(f"tl.div_rn of {describe(x)} and {describe(y)}: needed tensors of float32 or float64")
    return _element_wise("divf", x, y)


def _computable(*values):
    """8-bit floats in float32: what is computed there is rounded once to their few bits, as if it were exact."""
    return tuple(cast(value, float32) if value.dtype.is_fp8() else value for value in values)


def host_operation(name, a, b):
    """The host's expression of an integer operation; None if one of the operands has none."""
    if a is None or b is None or name not in ("add", "sub", "mul", "floordiv", "mod", "min", "max", "cdiv"):
        return None
    return (name, a, b)


def _bounds(name, a, b):
    if name in ("add", "sub"):
        return (a[0] + b[0], a[1] + b[1]) if name == "add" else (a[0] - b[1], a[1] - b[0])
    if name == "mul":
        products = [x * y for x in a for y in b]
        return min(products), max(products)
    return None


def _element_wise(op, a, b, flags=""):
    text = f"arith.{op} {a.handle}, {b.handle}{flags} : {tensor_type(a.shape, a.dtype.mlir)}"
    return tensor(builder().value(text), a.dtype, a.shape)


def compare(name, a, b):
    a, b = _computable(*unify(operand(a), operand(b)))
    if a.dtype.is_floating():
        op = f"cmpf {_COMPARE_FLOAT[name]}"
    else:
        op = f"cmpi {_COMPARE_INTEGER[name][a.dtype.is_int_unsigned() or a.dtype.is_bool()]}"
    handle = builder().value(f"arith.{op}, {a.handle}, {b.handle} : {tensor_type(a.shape, a.dtype.mlir)}")
    return tensor(handle, int1, a.shape)


def negate(value):
    value = operand(value)
    if not isinstance(value, tensor):
        return -value
    if value.dtype.is_ptr():
        raise ProgramError(f"-{describe(value)}: needed a number")
    if value.dtype.is_floating():
        wide, = _computable(value)
        handle = builder().value(f"arith.negf {wide.handle} : {tensor_type(wide.shape, wide.dtype.mlir)}")
        return cast(tensor(handle, wide.dtype, wide.shape), value.dtype)
    return binary("sub", 0, value)


def invert(value):
    value = operand(value)
    if not isinstance(value, tensor):
        if isinstance(value, float):
            raise ProgramError(f"~{value!r}: needed an integer")
        return ~value
    if not (value.dtype.is_int() or value.dtype.is_bool()):
        raise ProgramError(f"~{describe(value)}: needed integers")
    return binary("xor", value, True if value.dtype.is_bool() else (1 << value.dtype.bits) - 1 if value.dtype.is_int_unsigned() else -1)


def logical_not(value):
    value = operand(value)
    return not value if not isinstance(value, tensor) else invert(truth(value))


def truth(value):
    """`value` as a bool (a tile of bools)."""
    return cast(to_tensor(value), int1)


def logical(name, a, b):
    """`a and b` or `a or b` of run-time values: both are computed."""
    a, b = operand(a), operand(b)
    return binary("and" if name == "and" else "or", truth(a), truth(b))


def minimum_maximum(name, a, b, propagate_nan=False):
    """name: "min" or "max". Of a number and a NaN the number, unless `propagate_nan`."""
    a, b = operand(a), operand(b)
    if not isinstance(a, tensor) and not isinstance(b, tensor):
        return min(a, b) if name == "min" else max(a, b)
    original = a, b
    a, b = unify(a, b)
    if a.dtype.is_floating():
        op = {"min": "minimumf" if propagate_nan else "minnumf", "max": "maximumf" if propagate_nan else "maxnumf"}[name]
        return cast(_element_wise(op, *_computable(a, b)), a.dtype)
    unsigned = a.dtype.is_int_unsigned() or a.dtype.is_bool()
    result = _element_wise(f"{name}{'ui' if unsigned else 'si'}", a, b)
    if not result.shape:
        result.host = host_operation(name, *(v if isinstance(v, int) else v.host for v in original))
        result.tiled = any(isinstance(v, tensor) and v.tiled for v in original)
    return result


def where(condition, x, y):
    condition, x, y = operand(condition), operand(x), operand(y)
    if not isinstance(condition, tensor):
        condition = full((), bool(condition), int1)
    if isinstance(x, pointer) or isinstance(y, pointer):
        raise ProgramError(f"tl.where of {describe(x)} and {describe(y)}: choose offsets, and add them to the pointer")
    condition = truth(condition)
    if not (isinstance(x, tensor) and isinstance(y, tensor) and x.dtype is y.dtype):  # floats of 8 bits are chosen as they are
        x, y = unify(x, y)
    if condition.shape or x.shape:
        shape = common_shape(condition, x)
        x, y = broadcast_to(x, shape), broadcast_to(y, shape)
        if condition.shape:
            condition = broadcast_to(condition, shape)
    type = tensor_type(x.shape, x.dtype.mlir)
    types = f"{tensor_type(condition.shape, 'i1')}, {type}" if condition.shape else type
    handle = builder().value(f"arith.select {condition.handle}, {x.handle}, {y.handle} : {types}")
    return tensor(handle, x.dtype, x.shape, tiled=x.tiled or y.tiled)


def unary(op, value, name, floats=(32, 64), flags=""):
    """A function of math or arith on floats of the widths `floats`. flags: behind the operand, " fastmath<afn>"."""
    value = to_tensor(value)
    if not value.dtype.is_floating() or value.dtype.bits not in floats:
        raise ProgramError(f"{name} of {describe(value)}: needed {' or '.join(f'float{bits}' for bits in floats)}; convert with "
                           ".to(tl.float32)")
    handle = builder().value(f"{op} {value.handle}{flags} : {tensor_type(value.shape, value.dtype.mlir)}")
    return tensor(handle, value.dtype, value.shape)
