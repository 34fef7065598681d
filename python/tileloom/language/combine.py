"""Reductions and scans with a function of the user. The function is run on two symbols: one of the combinations that the machine's reductions know
is done by them, any other one in steps on pairs of elements (trees.py)."""

import re

from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes
from .reductions import _numbers, _reduce, _scan
from .semantic import cast
from .trees import tree_reduce, tree_scan
from .values import describe, tensor

_KINDS = {"addi": "add", "addf": "add", "muli": "mul", "mulf": "mul", "maxsi": "max", "minsi": "min", "maxnumf": "max", "minnumf": "min"}
_OPERATION = re.compile(r"(%\w+) = arith\.(\w+) (%\w+), (%\w+)\b")


def _run(function, arguments):
    """What a jitted function gives for run-time values, inlined here."""
    from ..frontend.visitor import Visitor
    b = builder()
    calls, place = b.calls, b.place
    b.calls = (place, *calls)
    result = Visitor(function.source, b, function.bind_call(arguments, {})).run()
    b.calls = calls
    b.at(*place)
    return result


def _kind_of(function, dtype):
    """The combination of the machine that a jitted function of two scalars stands for; None if it is another one."""
    symbols = [tensor(f"%combine_{side}", dtype) for side in "ab"]
    with builder().nested() as block:
        result = _run(function, symbols)
    found = _OPERATION.search("\n".join(block))
    simple = (len(block) == 1 and found and isinstance(result, tensor) and result.handle == found[1] and
              {found[3], found[4]} == {symbol.handle for symbol in symbols} and found[2] in _KINDS)
    return _KINDS[found[2]] if simple else None


def _inputs(input, function, name):
    if not hasattr(function, "bind_call"):
        raise ProgramError(f"{name}: combine_fn is {describe(function)}; needed a function with @tl.jit")
    values = [_numbers(value, name) for value in (input if isinstance(input, (tuple, list)) else (input,))]
    if not values or not values[0].shape or any(value.shape != values[0].shape for value in values):
        raise ProgramError(f"{name} of {', '.join(map(describe, values)) or 'nothing'}; needed tiles of one shape")
    return values


def _combined(function, name):
    """The function of a user on two lists of tiles, element by element."""
    def combine(a, b):
        results = _run(function, (*a, *b))
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        if len(results) != len(a) or any(not isinstance(r, tensor) or r.dtype != v.dtype or r.shape != v.shape for r, v in zip(results, a)):
            raise ProgramError(f"{name}: combine_fn '{function.__name__}' gives {', '.join(map(describe, results))}; "
                               f"needed {', '.join(map(describe, a))}, as it takes")
        return results
    return combine


def _along(input, combine_fn, name, known, tree):
    """known(kind, x) for a function that the compiler has, tree(tiles, combine) for any other; a tuple for a tuple."""
    values = _inputs(input, combine_fn, name)
    single = not isinstance(input, (tuple, list))
    kind = _kind_of(combine_fn, values[0].dtype) if single else None
    if kind:
        return known(kind, values[0])
    results = tree(values, _combined(combine_fn, name))
    return results[0] if single else tuple(results)


def reduce(input, axis, combine_fn, keep_dims=False):
    """The elements along `axis` (all, if it is None) combined by `combine_fn`, which must be associative and commutative. input: a tile, or a tuple of
    tiles of one shape; then combine_fn takes the elements of two tuples, and gives one, and so does this."""
    name = "tl.reduce"
    return _along(input, combine_fn, name, lambda kind, x: _reduce(kind, x, axis, keep_dims, name),
                  lambda tiles, combine: tree_reduce(tiles, axis, combine, keep_dims, name))


def associative_scan(input, axis, combine_fn, reverse=False):
    """Running combinations along `axis`; the same inputs."""
    name = "tl.associative_scan"
    return _along(input, combine_fn, name, lambda kind, x: _scan(kind, x, axis, reverse, name),
                  lambda tiles, combine: tree_scan(tiles, axis, combine, reverse, name))


def cumprod(input, axis=0, reverse=False, dtype=None):
    """Running products along `axis`."""
    x = _numbers(input, "tl.cumprod")
    if dtype is not None:
        x = cast(x, dtype)
    elif x.dtype.is_bool() or (x.dtype.is_int() and x.dtype.bits < 32):
        x = cast(x, dtypes.int32)
    return _scan("mul", x, axis, reverse, "tl.cumprod")
