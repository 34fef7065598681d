"""`triton.language.extra.libdevice`, as far as the language has it: element-wise functions by libdevice's names.

    from tileloom.language import libdevice     # in a kernel: libdevice.atan2(y, x)

Functions of float32 are the hardware's approximations and polynomials (docs/plain-kernels.md), not libdevice's code."""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .functions import (abs, ceil, cos, div_rn, erf, exp, exp2, fast_tanh, fdiv, floor, fma, log, log2, rsqrt, sin, sqrt, sqrt_rn, tanh)  # noqa: F401
from .functions import umulhi as _umulhi
from .values import describe, tensor

fast_expf, fast_logf, fast_log2f, fast_sinf, fast_cosf, fast_tanhf, fast_dividef = exp, log, log2, sin, cos, fast_tanh, fdiv


def _unary(name, op, doc):
    def function(x):
        return semantic.unary(f"math.{op}", semantic.to_tensor(x), f"libdevice.{name}")
    function.__name__, function.__doc__ = name, doc
    return function


acos = _unary("acos", "acos", "The arc cosine.")
asin = _unary("asin", "asin", "The arc sine.")
atan = _unary("atan", "atan", "The arc tangent.")
cbrt = _unary("cbrt", "cbrt", "The cubic root.")
erfc = _unary("erfc", "erfc", "1 - erf(x).")
expm1 = _unary("expm1", "expm1", "exp(x) - 1.")
log10 = _unary("log10", "log10", "The logarithm to the base 10.")
log1p = _unary("log1p", "log1p", "log(1 + x).")
rint = nearbyint = _unary("rint", "roundeven", "The nearest integer, of two the even one.")
round = _unary("round", "round", "The nearest integer, of two the one away from zero.")
trunc = _unary("trunc", "trunc", "The integer towards zero.")


def _binary(name, op, doc):
    def function(x, y):
        x, y = semantic.unify(semantic.to_tensor(x), semantic.to_tensor(y))
        if x.dtype not in (dtypes.float32, dtypes.float64):
            raise ProgramError(f"libdevice.{name} of {describe(x)}: needed float32 or float64; convert with .to(tl.float32)")
        return tensor(builder().value(f"math.{op} {x.handle}, {y.handle} : {tensor_type(x.shape, x.dtype.mlir)}"), x.dtype, x.shape)
    function.__name__, function.__doc__ = name, doc
    return function


atan2 = _binary("atan2", "atan2", "The angle of the point (y, x).")
copysign = _binary("copysign", "copysign", "The first one's size with the second one's sign.")


def popc(x):
    """How many bits of an integer are one (int32)."""
    return _bits("popc", "ctpop", x)


def clz(x):
    """How many bits of an integer are zero above the highest one (int32)."""
    return _bits("clz", "ctlz", x)


def _bits(name, op, x):
    x = semantic.to_tensor(x)
    if not x.dtype.is_int() or x.dtype.bits < 32:
        raise ProgramError(f"libdevice.{name} of {describe(x)}; needed integers of 32 or 64 bits")
    found = tensor(builder().value(f"math.{op} {x.handle} : {tensor_type(x.shape, x.dtype.mlir)}"), x.dtype, x.shape)
    return semantic.cast(found, dtypes.int32)


def isnan(x):
    """Whether a float is NaN (int1; libdevice: int32)."""
    return semantic.compare("ne", x, x)


def isinf(x):
    """Whether a float is infinite."""
    return semantic.compare("eq", abs(x), float("inf"))


def float_as_int(x):
    """The bits of a float32 as int32."""
    return semantic.cast(x, dtypes.int32, bitcast=True)


def int_as_float(x):
    """The float32 of these bits."""
    return semantic.cast(x, dtypes.float32, bitcast=True)


def umulhi(x, y):
    """The upper half of an unsigned product."""
    return _umulhi(x, y)
