"""Elements of tiles at computed places, and how often numbers occur: gather and histogram."""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .rearrange import _numbers
from .reductions import _axis
from .values import constant_of, describe, tensor


def gather(src, index, axis):
    """The elements of `src` that `index` names along `axis`: result[i, j] = src[i, index[i, j]] for axis 1 of two. Indices are at least 0
    and less than the extent; the other extents are those of `src`."""
    src, index = _numbers("tl.gather", src, index)
    if not src.shape:
        raise ProgramError(f"tl.gather of {describe(src)}; needed a tile")
    at = _axis(src, axis, "tl.gather")
    if not index.dtype.is_int():
        raise ProgramError(f"tl.gather: the index is {describe(index)}; needed integers")
    others = [(a, b) for d, (a, b) in enumerate(zip(src.shape, index.shape)) if d != at]
    if len(index.shape) != len(src.shape) or any(a != b for a, b in others):
        raise ProgramError(f"tl.gather: the index is {describe(index)} for {describe(src)}; needed equal extents but along dimension {at}")
    index = semantic.cast(index, dtypes.int32)
    types = ", ".join(tensor_type(v.shape, v.dtype.mlir) for v in (src, index))
    handle = builder().value(f"tile.take {src.handle}[{index.handle}] dim({at}) : {types} -> {tensor_type(index.shape, src.dtype.mlir)}")
    return tensor(handle, src.dtype, index.shape, bounds=src.bounds)


def histogram(input, num_bins, mask=None):
    """How many elements of `input` (32-bit integers, one dimension) are 0, 1, ..., num_bins - 1, in int32; others are not counted, nor are
    those where `mask` is false."""
    x, = _numbers("tl.histogram", input)
    bins = constant_of(num_bins, "tl.histogram: num_bins")
    if len(x.shape) != 1 or not x.dtype.is_int() or x.dtype.bits != 32:
        raise ProgramError(f"tl.histogram of {describe(x)}; needed one dimension of 32-bit integers")
    if bins < 1 or (bins & (bins - 1) and bins % 8):
        raise ProgramError(f"tl.histogram: num_bins is {bins}; needed a power of two, or a multiple of 8")
    x = semantic.cast(x, dtypes.int32)
    if mask is not None:
        mask, = _numbers("tl.histogram", mask)
        if not mask.dtype.is_bool():
            raise ProgramError(f"tl.histogram: the mask is {describe(mask)}; needed bools")
        x = semantic.where(semantic.broadcast_to(mask, x.shape), x, -1)
    handle = builder().value(f"tile.histogram {x.handle} : {tensor_type(x.shape, 'i32')} -> {tensor_type((bins,), 'i32')}")
    return tensor(handle, dtypes.int32, (bins,), bounds=(0, x.numel))
