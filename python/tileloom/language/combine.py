"""Reductions and scans with a function of the user. The function is run on two symbols; what it does to them has to be one of the
combinations that the machine's reductions know."""

import re

from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes
from .reductions import _numbers, _reduce, _scan
from .values import describe, tensor

_KINDS = {"addi": "add", "addf": "add", "muli": "mul", "mulf": "mul", "maxsi": "max", "minsi": "min", "maxnumf": "max", "minnumf": "min"}
_OPERATION = re.compile(r"(%\w+) = arith\.(\w+) (%\w+), (%\w+)\b")
_NEEDED = "needed a + b, a * b, max or min of its two arguments"


def _kind_of(function, dtype, name):
    """The combination that a jitted function of two scalars stands for."""
    if not hasattr(function, "bind_call"):
        raise ProgramError(f"{name}: combine_fn is {describe(function)}; needed a function with @tl.jit")
    from ..frontend.visitor import Visitor
    b = builder()
    symbols = [tensor(f"%combine_{side}", dtype) for side in "ab"]
    calls, place = b.calls, b.place
    with b.nested() as block:
        b.calls = (place, *calls)
        result = Visitor(function.source, b, function.bind_call(symbols, {})).run()
        b.calls = calls
        b.at(*place)
    text = "\n".join(block)
    found = _OPERATION.search(text)
    simple = (len(block) == 1 and found and isinstance(result, tensor) and result.handle == found[1] and
              {found[3], found[4]} == {symbol.handle for symbol in symbols} and found[2] in _KINDS)
    if not simple:
        raise ProgramError(f"{name}: combine_fn '{function.__name__}' does something else than one combination; {_NEEDED}")
    return _KINDS[found[2]]


def _one(input, name):
    if isinstance(input, (tuple, list)):
        raise ProgramError(f"{name} of a tuple of tiles; needed one tile")
    return _numbers(input, name)


def reduce(input, axis, combine_fn, keep_dims=False):
    """The elements along `axis` (all, if it is None) combined by `combine_fn`, which must be associative and commutative."""
    x = _one(input, "tl.reduce")
    return _reduce(_kind_of(combine_fn, x.dtype, "tl.reduce"), x, axis, keep_dims, "tl.reduce")


def associative_scan(input, axis, combine_fn, reverse=False):
    """Running combinations along `axis`."""
    x = _one(input, "tl.associative_scan")
    return _scan(_kind_of(combine_fn, x.dtype, "tl.associative_scan"), x, axis, reverse, "tl.associative_scan")


def cumprod(input, axis=0, reverse=False):
    """Running products along `axis`."""
    x = _numbers(input, "tl.cumprod")
    if x.dtype.is_bool() or (x.dtype.is_int() and x.dtype.bits < 32):
        from .semantic import cast
        x = cast(x, dtypes.int32)
    return _scan("mul", x, axis, reverse, "tl.cumprod")
