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


def zeros_like(input):
    return full(input.shape, 0, input.dtype)


def full_like(value, fill):
    return full(value.shape, fill, value.dtype)


def expand_dims(input, axis):
    """Inserts dimensions of extent one; `axis` counts in the result."""
    value = semantic.to_tensor(input)
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


def broadcast_to(input, *shape):
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return semantic.broadcast_to(semantic.to_tensor(input), shape_of(shape, "tl.broadcast_to"))


def broadcast(input, other):
    """Both operands at their common shape."""
    a, b = semantic.to_tensor(input), semantic.to_tensor(other)
    shape = semantic.common_shape(a, b)
    return semantic.broadcast_to(a, shape), semantic.broadcast_to(b, shape)


def reshape(input, *shape, can_reorder=False):
    """The same elements, row-major (always), under another shape."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return _reshape(semantic.to_tensor(input), shape_of(shape, "tl.reshape"))


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


def ravel(x, can_reorder=False):
    """The elements, row-major (always), in one dimension."""
    return _reshape(x, (x.numel,))


def squeeze(x, dim):
    """x without dimension `dim`, whose extent is one."""
    x, at = _of_rank(x, dim, 0, "tl.squeeze")
    if x.shape[at] != 1:
        raise ProgramError(f"tl.squeeze: extent {at} of {describe(x)} is {x.shape[at]}; needed 1")
    return _reshape(x, (*x.shape[:at], *x.shape[at + 1:]))


def unsqueeze(x, dim):
    """x with a dimension of extent one before dimension `dim`."""
    x, at = _of_rank(x, dim, 1, "tl.unsqueeze")
    return _expand(x, at)


def _of_rank(x, dim, more, name):
    x, dim = semantic.to_tensor(x), constant_of(dim, f"{name}: dim")
    rank = len(x.shape) + more
    if not -rank <= dim < rank:
        raise ProgramError(f"{name}: dim {dim} of {describe(x)}; needed {-rank} to {rank - 1}")
    return x, dim % rank


def trans(input, *dims):
    """The dimensions in the order `dims`: dimension i of the result is dimension dims[i]. Without an order the last two are swapped."""
    value = semantic.to_tensor(input)
    rank = len(value.shape)
    if not dims:
        if rank < 2:
            raise ProgramError(f"tl.trans of {describe(value)}; needed two dimensions or more")
        dims = (*range(rank - 2), rank - 1, rank - 2)
    return _ordered(value, dims, "tl.trans")


def permute(input, *dims):
    """The dimensions in the order `dims`: dimension i of the result is dimension dims[i]."""
    return _ordered(semantic.to_tensor(input), dims, "tl.permute")


def _ordered(value, dims, name):
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    rank = len(value.shape)
    dims = tuple(constant_of(d, f"{name}: dimension") for d in dims)
    if sorted(dims) != list(range(rank)) or rank < 1:
        raise ProgramError(f"{name}: dimensions {list(dims)} of {describe(value)}; needed an order of 0 to {rank - 1}")
    if isinstance(value, pointer):
        return value.replace(offsets=_ordered(value.offsets, dims, name))
    shape = tuple(value.shape[d] for d in dims)
    large = [d for d in dims if value.shape[d] != 1]
    kept = sorted(large)
    if large == kept:  # no element moves
        return _reshape(value, shape)
    # Dimensions of extent one are taken out: what is left may be a matrix, which products take as it lies.
    source = _reshape(value, tuple(value.shape[d] for d in kept))
    order = tuple(kept.index(d) for d in large)
    result = tuple(source.shape[d] for d in order)
    swap = order == (*range(len(order) - 2), len(order) - 1, len(order) - 2)
    before, after = (tensor_type(s, value.dtype.mlir) for s in (source.shape, result))
    handle = builder().value(f"tile.trans {source.handle}{'' if swap else ' ' + str(list(order))} : {before} -> {after}")
    return _reshape(tensor(handle, value.dtype, result, bounds=value.bounds), shape)


def cast(input, dtype, fp_downcast_rounding=None, bitcast=False):
    """`input` in another element type, rounded to nearest even; with `bitcast` the same bits."""
    if fp_downcast_rounding not in (None, "rtne"):
        raise ProgramError(f"tl.cast: fp_downcast_rounding is {describe(fp_downcast_rounding)}; needed None or \"rtne\", to nearest even")
    return semantic.cast(input, dtype, constant_of(bitcast, "bitcast", bool))
