"""Reductions and scans along a dimension: sum, max, min, argmax, cumsum."""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .values import constant_of, describe, tensor


def _axis(x, axis, name):
    axis = constant_of(axis, f"{name}: axis")
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise ProgramError(f"{name}: axis {axis} of {describe(x)}; needed {-rank} to {rank - 1}")
    return axis % rank


def _reduce(kind, x, axis, keep_dims, name):
    from .shapes import _reshape, ravel
    if not x.shape:
        raise ProgramError(f"{name} of {describe(x)}; needed a tile")
    shape = x.shape
    if axis is None:
        x, at, kept = ravel(x), 0, (1,) * len(shape)
    else:
        at = _axis(x, axis, name)
        kept = (*shape[:at], 1, *shape[at + 1:])
    reduced = (*x.shape[:at], *x.shape[at + 1:])
    before, after = (tensor_type(s, x.dtype.mlir) for s in (x.shape, reduced))
    result = tensor(builder().value(f"tile.reduce {kind} {x.handle} dim({at}) : {before} -> {after}"), x.dtype, reduced)
    if not constant_of(keep_dims, f"{name}: keep_dims", bool):
        return result
    if axis is not None and reduced:
        from .shapes import _expand
        return _expand(result, at)
    return semantic.broadcast_to(result, kept) if not reduced else _reshape(result, kept)


def _numbers(x, name):
    x = semantic.to_tensor(x)
    if x.dtype.is_ptr():
        raise ProgramError(f"{name} of {describe(x)}; needed numbers")
    return x


def sum(input, axis=None, keep_dims=False, dtype=None):
    """The sum along `axis` (of all elements by default). Integers of fewer than 32 bits are summed in 32."""
    x = _numbers(input, "tl.sum")
    if dtype is not None:
        x = semantic.cast(x, dtype)
    elif x.dtype.is_bool() or (x.dtype.is_int() and x.dtype.bits < 32):
        x = semantic.cast(x, dtypes.uint32 if x.dtype.is_int_unsigned() else dtypes.int32)
    return _reduce("add", x, axis, keep_dims, "tl.sum")


def _widened(x):
    if x.dtype.bits >= 32:
        return x
    return semantic.cast(x, dtypes.float32 if x.dtype.is_floating() else dtypes.int32)


def _extreme(kind, input, axis, return_indices, keep_dims):
    name = f"tl.{kind}"
    x = _widened(_numbers(input, name))
    if x.dtype.is_int_unsigned():
        raise ProgramError(f"{name} of {describe(x)}; needed signed integers or floats")
    best = _reduce(kind, x, axis, keep_dims, name)
    if not constant_of(return_indices, f"{name}: return_indices", bool):
        return best
    return best, _place_of(kind, x, axis, keep_dims)


def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The largest element along `axis`; of a number and a NaN the number. 16-bit floats give float32."""
    return _extreme("max", input, axis, return_indices, keep_dims)


def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    return _extreme("min", input, axis, return_indices, keep_dims)


def _place_of(kind, x, axis, keep_dims):
    """The index of the first extreme element: the least index among those that equal it."""
    from .shapes import _expand, arange, ravel
    if axis is None:
        x, at = ravel(x), 0
    else:
        at = _axis(x, axis, f"tl.arg{kind}")
    best = _reduce(kind, x, at, True, f"tl.arg{kind}")
    extent = x.shape[at]
    indices = arange(0, extent)
    for dim in range(len(x.shape)):
        if dim != at:
            indices = _expand(indices, dim)
    chosen = semantic.where(semantic.compare("eq", x, best), indices, extent - 1)
    return _reduce("min", chosen, at, keep_dims, f"tl.arg{kind}")


def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """The index of the largest element along `axis`; of equal ones the first."""
    return _place_of("max", _widened(_numbers(input, "tl.argmax")), axis, keep_dims)


def argmin(input, axis, tie_break_left=True, keep_dims=False):
    return _place_of("min", _widened(_numbers(input, "tl.argmin")), axis, keep_dims)


def _scan(kind, x, axis, reverse, name):
    if not x.shape:
        raise ProgramError(f"{name} of {describe(x)}; needed a tile")
    at = _axis(x, axis, name)
    back = " reverse" if constant_of(reverse, f"{name}: reverse", bool) else ""
    handle = builder().value(f"tile.scan {kind} {x.handle} dim({at}){back} : {tensor_type(x.shape, x.dtype.mlir)}")
    return tensor(handle, x.dtype, x.shape)


def cumsum(input, axis=0, reverse=False, dtype=None):
    """Running sums along `axis`, with `reverse` from its end."""
    x = _numbers(input, "tl.cumsum")
    if dtype is not None:
        x = semantic.cast(x, dtype)
    elif x.dtype.is_bool() or (x.dtype.is_int() and x.dtype.bits < 32):
        x = semantic.cast(x, dtypes.int32)
    return _scan("add", x, axis, reverse, "tl.cumsum")
