"""Element-wise functions, by Triton's names. They work on tiles, scalars and, where Python can, compile-time numbers."""

import math as _math

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .semantic import is_number
from .values import constant_of, describe, tensor


def _function(name, op, python=None, doc=None):
    def function(x):
        if is_number(semantic.operand(x)) and python:
            return python(semantic.operand(x))
        return semantic.unary(op, x, f"tl.{name}")
    function.__name__, function.__doc__ = name, doc or f"{name} of every element (float32 or float64)."
    return function


exp = _function("exp", "math.exp", _math.exp)
exp2 = _function("exp2", "math.exp2", lambda x: 2.0 ** x)
log = _function("log", "math.log", _math.log)
log2 = _function("log2", "math.log2", _math.log2)
rsqrt = _function("rsqrt", "math.rsqrt", lambda x: 1.0 / _math.sqrt(x))
sin = _function("sin", "math.sin", _math.sin)
cos = _function("cos", "math.cos", _math.cos)
tanh = _function("tanh", "math.tanh", _math.tanh)


def fast_tanh(x):
    """tanh by one instruction: within 2^-11 of its value, relative (float32)."""
    if is_number(semantic.operand(x)):
        return _math.tanh(semantic.operand(x))
    return semantic.unary("math.tanh", x, "tl.fast_tanh", (32,), " fastmath<afn>")


def sqrt(x):
    """The square root of every element: of float32 the hardware's approximation, within 1 ulp; of float64 rounded correctly."""
    x = semantic.operand(x)
    if is_number(x):
        return _math.sqrt(x)
    return semantic.unary("math.sqrt", x, "tl.sqrt", flags=" fastmath<afn>" if x.dtype is dtypes.float32 else "")


def sqrt_rn(x):
    """The square root of every element, rounded correctly (float32 or float64)."""
    x = semantic.operand(x)
    return _math.sqrt(x) if is_number(x) else semantic.unary("math.sqrt", x, "tl.sqrt_rn")


erf = _function("erf", "math.erf", _math.erf)
floor = _function("floor", "math.floor", lambda x: float(_math.floor(x)))
ceil = _function("ceil", "math.ceil", lambda x: float(_math.ceil(x)))


def abs(x):
    """The absolute value."""
    x = semantic.operand(x)
    if is_number(x):
        return x if x >= 0 else -x
    if x.dtype.is_fp8():
        return semantic.cast(abs(semantic.cast(x, dtypes.float32)), x.dtype)
    if x.dtype.is_floating():
        return semantic.unary("math.absf", x, "tl.abs", (16, 32, 64))
    if x.dtype.is_int_unsigned() or x.dtype.is_bool():
        return x
    if x.dtype.is_ptr():
        raise ProgramError(f"tl.abs of {describe(x)}; needed numbers")
    return tensor(builder().value(f"math.absi {x.handle} : {tensor_type(x.shape, x.dtype.mlir)}"), x.dtype, x.shape)


class PropagateNan:
    """What minimum, maximum and clamp give of a number and a NaN: NONE the number, ALL the NaN."""
    NONE, ALL = False, True


def maximum(x, y, propagate_nan=PropagateNan.NONE):
    """The larger one; of a number and a NaN the number, unless `propagate_nan`."""
    return semantic.minimum_maximum("max", x, y, constant_of(propagate_nan, "propagate_nan", bool))


def minimum(x, y, propagate_nan=PropagateNan.NONE):
    return semantic.minimum_maximum("min", x, y, constant_of(propagate_nan, "propagate_nan", bool))


def clamp(x, min, max, propagate_nan=PropagateNan.NONE):
    """`x` held between `min` and `max`. Bounds meet each other first, as in Triton: two Python floats are float32."""
    x, min, max = (semantic.operand(value) for value in (x, min, max))
    if not all(map(is_number, (x, min, max))):
        min, max = semantic.unify(min, max)
    return minimum(maximum(x, min, propagate_nan), max, propagate_nan)


def umulhi(x, y):
    """The upper half of the product of two integers of 32 or 64 bits, taken as unsigned."""
    x, y = semantic.unify(semantic.operand(x), semantic.operand(y))
    if not isinstance(x, tensor) or not x.dtype.is_int() or x.dtype.bits < 32:
        raise ProgramError(f"tl.umulhi of {describe(x)} and {describe(y)}; needed integers of 32 or 64 bits")
    both = [semantic.cast(semantic.cast(v, dtypes.uint32 if v.dtype.bits == 32 else dtypes.uint64), dtypes.uint64) for v in (x, y)]
    return semantic.cast(_upper_half(*both, x.dtype.bits), x.dtype)


def _upper_half(x, y, bits):
    """Of two uint64, which hold numbers of `bits` bits."""
    add, mul, shr = (lambda a, b, name=name: semantic.binary(name, a, b) for name in ("add", "mul", "shr"))
    if bits == 32:
        return shr(mul(x, y), 32)
    # By halves: each sum of a product of halves and two halves fits in 64 bits.
    low = lambda value: semantic.cast(semantic.cast(value, dtypes.uint32), dtypes.uint64)
    x_low, x_high, y_low, y_high = low(x), shr(x, 32), low(y), shr(y, 32)
    middle = add(mul(x_high, y_low), shr(mul(x_low, y_low), 32))
    other = add(mul(x_low, y_high), low(middle))
    return add(add(mul(x_high, y_high), shr(middle, 32)), shr(other, 32))


def where(condition, x, y):
    """`x` where `condition` is true, else `y`; both are computed."""
    return semantic.where(condition, x, y)


def fma(x, y, z):
    """x * y + z in one rounding."""
    x, y = semantic.unify(semantic.operand(x), semantic.operand(y))
    x, z = semantic.unify(x, semantic.operand(z))
    y = semantic.broadcast_to(semantic.cast(y, x.dtype), x.shape)
    if not x.dtype.is_floating():
        raise ProgramError(f"tl.fma of {describe(x)}; needed floats")
    type = tensor_type(x.shape, x.dtype.mlir)
    return tensor(builder().value(f"math.fma {x.handle}, {y.handle}, {z.handle} : {type}"), x.dtype, x.shape)


def fdiv(x, y, ieee_rounding=False, approx=False):
    """x / y within 2 ulp, as the operator; with `ieee_rounding` rounded correctly. `approx` has no effect."""
    return semantic.divide_rounded(x, y) if constant_of(ieee_rounding, "tl.fdiv: ieee_rounding", bool) else semantic.binary("div", x, y)


def add(x, y, sanitize_overflow=True):
    """x + y. `sanitize_overflow`, here and below, has no effect: integers wrap."""
    return semantic.binary("add", x, y)


def sub(x, y, sanitize_overflow=True):
    """x - y."""
    return semantic.binary("sub", x, y)


def mul(x, y, sanitize_overflow=True):
    """x * y."""
    return semantic.binary("mul", x, y)


def to_tensor(x):
    """A Python number as a scalar, of the type that it has when it meets no tensor; a tensor as it is."""
    return semantic.to_tensor(x)


def div_rn(x, y):
    """x / y of float32 or float64, rounded correctly."""
    return semantic.divide_rounded(x, y)


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    below = semantic.binary("add", 1.0, exp(semantic.negate(x)))
    if not isinstance(below, tensor):
        return 1.0 / below
    # Never below one: the hardware's reciprocal, within 1 ulp, is all that it takes.
    type = tensor_type(below.shape, below.dtype.mlir)
    one = semantic.full(below.shape, 1.0, below.dtype)
    return tensor(builder().value(f"arith.divf {one.handle}, {below.handle} fastmath<arcp> : {type}"), below.dtype, below.shape)


def cdiv(x, div):
    """x / div rounded up, for x >= 0 and div > 0."""
    x, div = semantic.operand(x), semantic.operand(div)
    if isinstance(x, int) and isinstance(div, int):
        if div < 1:
            raise ProgramError(f"tl.cdiv: the divisor is {div}; needed 1 or more")
        return -(-x // div)
    for value in (x, div):
        if isinstance(value, float) or (isinstance(value, tensor) and not value.dtype.is_int()):
            raise ProgramError(f"tl.cdiv of {describe(value)}; needed integers")
    if isinstance(div, int) and div == 1:
        return x
    above = semantic.binary("add", x, semantic.binary("sub", div, 1))
    result = semantic.binary("floordiv", above, div)
    if not result.shape:
        result.host = semantic.host_operation("cdiv", *(v if isinstance(v, int) else v.host for v in (x, div)))
    return result


def swizzle2d(i, j, size_i, size_j, size_g):
    """Where tile (i, j) of size_i x size_j, counted row by row, goes if groups of `size_g` rows are walked column by column."""
    add, sub, mul, div, mod = (lambda a, b, name=name: semantic.binary(name, a, b) for name in ("add", "sub", "mul", "floordiv", "mod"))
    flat = add(mul(i, size_j), j)
    in_group = mul(size_g, size_j)
    first = mul(div(flat, in_group), size_g)
    rows = semantic.minimum_maximum("min", sub(size_i, first), size_g)
    return add(first, mod(mod(flat, in_group), rows)), div(mod(flat, in_group), rows)


def next_power_of_2(n):
    """The least power of two that is at least `n` (compile time)."""
    n = constant_of(n, "tl.next_power_of_2")
    return 1 << (n - 1).bit_length() if n > 0 else 1


def multiple_of(input, values):
    """Promises that the input is a multiple of `values`: a hint, kept for scalars."""
    return _hinted(input, values, "multiple_of")


def max_contiguous(input, values):
    """Promises that runs of `values` elements of the input are consecutive: a hint."""
    return _hinted(input, values, "max_contiguous")


def max_constancy(input, values):
    return _hinted(input, values, "max_constancy")


def _hinted(x, values, name):
    # The analyses derive contiguity from iota and divisibility of arguments; what the user adds is checked for form only.
    values = values if isinstance(values, (tuple, list)) else (values,)
    for value in values:
        constant_of(value, f"tl.{name}")
    return x


def assume(cond):
    """Promises that a condition holds."""
    semantic.operand(cond)


def softmax(x, dim=None, *, keep_dims=None, ieee_rounding=False):
    """exp(x - max) / sum along `dim` (by default the first, as in Triton); with `ieee_rounding` the quotients are rounded correctly.
    `keep_dims` has no effect."""
    from .reductions import max as _max, sum as _sum
    x = semantic.to_tensor(x)
    dim = 0 if dim is None else dim
    shifted = exp(semantic.binary("sub", x, _max(x, dim, keep_dims=True)))
    return fdiv(shifted, _sum(shifted, dim, keep_dims=True), ieee_rounding)


def program_id(axis=0):
    """This program's index in the launch grid along `axis` (0 to 2)."""
    return _program("program_id", axis)


def num_programs(axis=0):
    """The launch grid's extent along `axis`."""
    return _program("num_programs", axis)


def _program(name, axis):
    axis = constant_of(axis, f"tl.{name}: axis")
    if axis not in (0, 1, 2):
        raise ProgramError(f"tl.{name}: axis is {axis}; needed 0, 1 or 2")
    b = builder()
    b.uses_program_id = True
    if b.has_tile_loop:
        raise ProgramError(f"tl.{name} in a kernel with tl.tiles, whose grid the compiler chooses; needed one or the other")
    return tensor(b.value(f"tile.{name} dim({axis})"), dtypes.int32, bounds=(int(name == "num_programs"), (1 << 31) - 1))


def dot(input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=dtypes.float32):
    """The matrix product input [M, K] by other [K, N], added to `acc` [M, N]. int8 accumulates in int32; floats (float32 as tf32) in `out_dtype`,
    which is float32, or float16 for float16 and 8-bit operands (less exact: each sum is rounded to float16). Of three dimensions the first is
    the batch: [B, M, K] by [B, K, N], one product after the other."""
    a, b = semantic.to_tensor(input), semantic.to_tensor(other)
    if len(a.shape) == 3 or len(b.shape) == 3:
        from .batched import batched_dot
        return batched_dot(a, b, acc, lambda *matrices: dot(*matrices, input_precision, allow_tf32, max_num_imprecise_acc, out_dtype))
    for name, value in (("the first operand", a), ("the second operand", b)):
        if len(value.shape) != 2:
            raise ProgramError(f"tl.dot: {name} is {describe(value)}; needed two dimensions, or three")
    if a.shape[1] != b.shape[0]:
        raise ProgramError(f"tl.dot: the operands are {describe(a)} and {describe(b)}; needed as many columns of the first ({a.shape[1]}) as "
                           f"rows of the second ({b.shape[0]})")
    if a.dtype is not b.dtype and not (a.dtype.is_fp8() and b.dtype.is_fp8()):
        raise ProgramError(f"tl.dot: the operands are {describe(a)} and {describe(b)}; needed one element type")
    known = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float8e4nv, dtypes.float8e5, dtypes.int8)
    if a.dtype not in known:
        raise ProgramError(f"tl.dot: the element type is {a.dtype}; needed one of {', '.join(map(str, known))}")
    if input_precision not in (None, "tf32") and a.dtype is dtypes.float32:
        raise ProgramError(f"tl.dot: input_precision is {input_precision!r}; needed \"tf32\", the precision of float32 products on tensor cores")
    out = dtypes.int32 if a.dtype is dtypes.int8 else out_dtype
    narrow = a.dtype is dtypes.float16 or a.dtype.is_fp8()
    if a.dtype is not dtypes.int8 and out is not dtypes.float32 and not (out is dtypes.float16 and narrow):
        raise ProgramError(f"tl.dot: out_dtype is {out} for operands of {a.dtype}; needed float32{' or float16' if narrow else ''}")
    shape = (a.shape[0], b.shape[1])
    tail = ""
    if acc is not None:
        acc = semantic.to_tensor(acc)
        if acc.shape != shape or acc.dtype not in ((out,) if out is dtypes.int32 else (out, dtypes.float32)):
            raise ProgramError(f"tl.dot: the accumulator is {describe(acc)}; needed {out}{list(shape)}")
        out = acc.dtype
        tail = f" acc({acc.handle})"
    types = ", ".join(tensor_type(v.shape, v.dtype.mlir) for v in (a, b))
    handle = builder().value(f"tile.dot {a.handle}, {b.handle}{tail} : {types} -> {tensor_type(shape, out.mlir)}")
    result = tensor(handle, out, shape)
    result.product = None if acc is not None else lambda total: dot(a, b, total, out_dtype=out)
    return result


def accumulated(product, other):
    """`product + other` as one dot, where `product` is used nowhere else; None if it is not of that form."""
    if not (isinstance(product, tensor) and product.product and isinstance(other, tensor)):
        return None
    if other.dtype is not product.dtype or other.shape != product.shape:
        return None
    return product.product(other)
