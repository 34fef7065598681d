"""Functions that make tiles and change their shapes: arange, full, reshape, trans, indexing with None."""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .values import constant_of, describe, pointer, shape_of, tensor


def arange(start, end):
    """[start, start + 1, ..., end - 1] in int32; end - start is a power of two, or a multiple of 8."""
    start, end = constant_of(start, "tl.arange: start"), constant_of(end, "tl.arange: end")
    count = end - start
    if count < 1 or (count & (count - 1) and count % 8):
        raise ProgramError(f"tl.arange({start}, {end}) has {count} elements; needed a power of two, or a multiple of 8")
    handle = builder().value(f"tile.iota : {tensor_type((count,), 'i32')}")
    result = tensor(handle, dtypes.int32, (count,), bounds=(0, count - 1))
    return result if start == 0 else semantic.binary("add", result, start)


def full(shape, value, dtype=dtypes.float32):
    """A tile of one value."""
    shape = shape_of(shape, "tl.full")
    if not isinstance(dtype, dtypes.dtype):
        raise ProgramError(f"tl.full: the type is {describe(dtype)}; needed one such as tl.float32")
    value = semantic.operand(value)
    if isinstance(value, tensor):
        if value.shape:
            raise ProgramError(f"tl.full: value is {describe(value)}; needed a scalar")
        return semantic.broadcast_to(semantic.cast(value, dtype), shape)
    return semantic.full(shape, value, dtype)


def zeros(shape, dtype=dtypes.float32):
    return full(shape, 0, dtype)


def zeros_like(value):
    return full(value.shape, 0, value.dtype)


def full_like(value, fill):
    return full(value.shape, fill, value.dtype)


def expand_dims(value, axis):
    """Inserts dimensions of extent one; `axis` counts in the result."""
    value = semantic.to_tensor(value)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for one in axes:
        at = constant_of(one, "tl.expand_dims: axis")
        rank = len(value.shape)
        if not -rank - 1 <= at <= rank:
            raise ProgramError(f"tl.expand_dims: axis {at} of {describe(value)}; needed {-rank - 1} to {rank}")
        value = _expand(value, at % (rank + 1))
    return value


def _expand(value, axis):
    if isinstance(value, pointer):
        offsets = value.offsets if value.offsets is not None else semantic.full((), 0, dtypes.int32)
        return value.replace(offsets=_expand(offsets, axis))
    shape = (*value.shape[:axis], 1, *value.shape[axis:])
    if not value.shape:
        return semantic.broadcast_to(value, shape)
    loaded = value.load(shape) if value.load else None
    if loaded is not None:
        return loaded
    before, after = (tensor_type(s, value.dtype.mlir) for s in (value.shape, shape))
    handle = builder().value(f"tile.expand_dims {value.handle} dim({axis}) : {before} -> {after}")
    return tensor(handle, value.dtype, shape, bounds=value.bounds)


def index(value, entries):
    """`value[:, None]` and the like: only `:` and None."""
    entries = entries if isinstance(entries, tuple) else (entries,)
    slices = sum(isinstance(entry, slice) for entry in entries)
    if any(not (entry is None or entry == slice(None)) for entry in entries if not isinstance(entry, tensor)) or any(
            isinstance(entry, tensor) for entry in entries):
        raise ProgramError(f"{describe(value)} indexed with something else than : and None; load single elements through pointers")
    if slices > len(value.shape) or (slices < len(value.shape) and entries):
        raise ProgramError(f"{describe(value)} indexed with {slices} times ':'; needed {len(value.shape)}")
    for axis, entry in enumerate(entries):
        if entry is None:
            value = _expand(value, axis)
    return value


def broadcast_to(value, *shape):
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return semantic.broadcast_to(semantic.to_tensor(value), shape_of(shape, "tl.broadcast_to"))


def broadcast(a, b):
    """Both operands at their common shape."""
    a, b = semantic.to_tensor(a), semantic.to_tensor(b)
    shape = semantic.common_shape(a, b)
    return semantic.broadcast_to(a, shape), semantic.broadcast_to(b, shape)


def reshape(value, *shape):
    """The same elements, row-major, under another shape."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return _reshape(semantic.to_tensor(value), shape_of(shape, "tl.reshape"))


def _reshape(value, shape):
    count = 1
    for extent in shape:
        count *= extent
    if count != value.numel:
        raise ProgramError(f"tl.reshape: {describe(value)} has {value.numel} elements, {list(shape)} has {count}; needed equal numbers")
    if isinstance(value, pointer):
        return value.replace(offsets=_reshape(value.offsets, shape)) if value.offsets is not None else value
    if value.reshaped is not None:
        value = value.reshaped
    if value.shape == shape:
        return value
    if not value.shape:
        return semantic.broadcast_to(value, shape)
    loaded = value.load(shape) if value.load else None
    if loaded is not None:
        return loaded
    before, after = (tensor_type(s, value.dtype.mlir) for s in (value.shape, shape))
    handle = builder().value(f"tile.reshape {value.handle} : {before} -> {after}")
    return tensor(handle, value.dtype, shape, bounds=value.bounds, reshaped=value)


view = reshape


def ravel(value):
    return _reshape(value, (value.numel,))


def trans(value, *dims):
    """The transposed matrix. Of more dimensions than two, only unit ones may move along."""
    value = semantic.to_tensor(value)
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    rank = len(value.shape)
    dims = tuple(constant_of(d, "tl.trans: dimension") for d in dims) or tuple(reversed(range(rank)))
    if sorted(dims) != list(range(rank)) or rank < 1:
        raise ProgramError(f"tl.trans: dimensions {list(dims)} of {describe(value)}; needed an order of 0 to {rank - 1}")
    if isinstance(value, pointer):
        return value.replace(offsets=trans(value.offsets, *dims))
    if dims == tuple(range(rank)):
        return value
    shape = tuple(value.shape[d] for d in dims)
    large = [d for d in dims if value.shape[d] != 1]
    if large == sorted(large):
        return _reshape(value, shape)
    if len(large) != 2:
        raise ProgramError(f"tl.trans: {describe(value)} in the order {list(dims)}; needed two dimensions that are not 1")
    matrix = _reshape(value, tuple(value.shape[d] for d in sorted(large)))
    flipped = tuple(reversed(matrix.shape))
    before, after = (tensor_type(s, value.dtype.mlir) for s in (matrix.shape, flipped))
    result = tensor(builder().value(f"tile.trans {matrix.handle} : {before} -> {after}"), value.dtype, flipped)
    return _reshape(result, shape)


permute = trans


def cast(value, dtype, bitcast=False):
    """`value` in another element type."""
    return semantic.cast(value, dtype, constant_of(bitcast, "bitcast", bool))
