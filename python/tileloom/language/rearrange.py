"""Tiles put together, taken apart and turned round: join, split, interleave, flip. Each is made of broadcasts, selections and sums of
integers along a dimension of extent two, so that they work in any layout."""

from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .reductions import _axis, _reduce
from .shapes import _expand, _reshape, arange
from .values import describe, tensor

_BITS = {8: dtypes.int8, 16: dtypes.int16, 32: dtypes.int32, 64: dtypes.int64}


def _as_bits(x):
    """The same bits as integers: sums of them lose nothing."""
    if x.dtype.is_bool():
        return semantic.cast(x, dtypes.int8)
    return semantic.cast(x, _BITS[x.dtype.bits], bitcast=True)


def _from_bits(bits, dtype):
    if dtype.is_bool():
        return semantic.cast(bits, dtype)
    return semantic.cast(bits, dtype, bitcast=True)


def _which(rank):
    """0 and 1 along the last of `rank` dimensions."""
    index = arange(0, 2)
    while len(index.shape) < rank:
        index = _expand(index, 0)
    return index


def _numbers(name, *values):
    values = [semantic.to_tensor(value) for value in values]
    for value in values:
        if value.dtype.is_ptr():
            raise ProgramError(f"{name} of {describe(value)}; needed numbers: rearrange the offsets, and add them to the pointer")
    return values


def join(a, b):
    """Both in a new last dimension of extent 2."""
    a, b = _numbers("tl.join", a, b)
    if a.dtype is not b.dtype or a.shape != b.shape:
        a, b = semantic.unify(a, b)
    rank = len(a.shape)
    first = semantic.compare("eq", _which(rank + 1), 0)
    return semantic.where(first, _expand(a, rank), _expand(b, rank))


def split(a):
    """The two halves along the last dimension, whose extent is 2."""
    a, = _numbers("tl.split", a)
    if not a.shape or a.shape[-1] != 2:
        raise ProgramError(f"tl.split of {describe(a)}; needed a last dimension of extent 2")
    bits, rank = _as_bits(a), len(a.shape)
    halves = []
    for half in range(2):
        own = semantic.where(semantic.compare("eq", _which(rank), half), bits, 0)
        halves.append(_from_bits(_reduce("add", own, rank - 1, False, "tl.split"), a.dtype))
    return tuple(halves)


def interleave(a, b):
    """The elements of both in turn along the last dimension."""
    a, b = _numbers("tl.interleave", a, b)
    joined = join(a, b)
    if len(joined.shape) == 1:
        return joined
    return _reshape(joined, (*joined.shape[:-2], joined.shape[-2] * 2))


def flip(x, dim=None):
    """The elements along `dim` (by default the last) in reverse order."""
    x, = _numbers("tl.flip", x)
    if not x.shape:
        raise ProgramError(f"tl.flip of {describe(x)}; needed a tile")
    at = _axis(x, len(x.shape) - 1 if dim is None else dim, "tl.flip")
    extent = x.shape[at]
    if extent & (extent - 1):
        raise ProgramError(f"tl.flip: extent {at} of {describe(x)} is {extent}; needed a power of two")
    bits, outer = _as_bits(x), 1
    while outer < extent:
        # Swaps neighbours that differ in one bit of their number: each is the sum of both less itself.
        shape = (*x.shape[:at], outer, 2, extent // outer // 2, *x.shape[at + 1:])
        pairs = _reshape(bits, shape)
        both = _reduce("add", pairs, at + 1, True, "tl.flip")
        bits = _reshape(semantic.binary("sub", both, pairs), x.shape)
        bits = tensor(bits.handle, bits.dtype, bits.shape)
        outer *= 2
    return _from_bits(bits, x.dtype)
