"""Block pointers: make_block_ptr, advance, and what load and store do with them.

A block pointer is a value of compile time: a pointer, and for each dimension an extent, a stride and an offset, which are numbers or scalars.
Loops and branches carry those of them that change (frontend/carry.py). An access is one of a tile of addresses; where a dimension is checked, its
positions are compared with 0 and the extent.
"""

from ..frontend.errors import ProgramError
from . import dtypes, memory, semantic
from .shapes import _expand, arange
from .values import constant_of, describe, pointer, shape_of, tensor

_MOST = (1 << 31) - 1  # of a position, which has 32 bits
_PADDINGS = ("", "zero", "nan")


class block_pointer:
    """What `tl.make_block_ptr` gives. base: a scalar pointer. shape, strides, offsets: ints or integer scalars, in elements."""

    def __init__(self, base, shape, strides, offsets, block_shape, order):
        self.base, self.shape, self.strides, self.offsets = base, tuple(shape), tuple(strides), tuple(offsets)
        self.block_shape, self.order = block_shape, order

    @property
    def description(self):
        return f"a block pointer to {self.base.element}{list(self.block_shape)}"

    @property
    def dtype(self):
        return self.base.dtype

    type = dtype

    @property
    def numbers(self):
        """What loops may carry besides the base."""
        return (*self.shape, *self.strides, *self.offsets)

    def with_parts(self, base, numbers):
        rank = len(self.block_shape)
        return block_pointer(base, numbers[:rank], numbers[rank:2 * rank], numbers[2 * rank:], self.block_shape, self.order)

    def advance(self, offsets):
        return advance(self, offsets)


def make_block_ptr(base, shape, strides, offsets, block_shape, order):
    """A pointer to the block of `block_shape` elements at `offsets` of a tensor of `shape` and `strides` (elements; of each one number for a
    dimension) that begins at `base`. `order`, dimensions from the fastest to the slowest in memory, is a hint. Positions have 32 bits."""
    name = "tl.make_block_ptr"
    if not isinstance(base, pointer) or base.shape:
        raise ProgramError(f"{name}: base is {describe(base)}; needed a scalar pointer")
    block = shape_of(block_shape, f"{name}: block_shape")
    for index, extent in enumerate(block):
        if extent & (extent - 1) and extent % 8:
            raise ProgramError(f"{name}: extent {index} of the block is {extent}; needed a power of two, or a multiple of 8")
    shape, strides = _numbers(shape, len(block), f"{name}: shape"), _numbers(strides, len(block), f"{name}: strides")
    offsets = [_position(value) for value in _numbers(offsets, len(block), f"{name}: offsets")]
    order = _sequence(order)
    found = [constant_of(value, f"{name}: order") for value in order]
    if sorted(found) != list(range(len(block))):
        raise ProgramError(f"{name}: order is {describe(order)}; needed an order of 0 to {len(block) - 1}")
    return block_pointer(base, shape, strides, offsets, block, tuple(found))


def advance(base, offsets):
    """The block pointer `base` moved by `offsets`, elements for each dimension. `base` stays as it is."""
    name = "tl.advance"
    if not isinstance(base, block_pointer):
        raise ProgramError(f"{name}: base is {describe(base)}; needed what tl.make_block_ptr gives")
    steps = _numbers(offsets, len(base.block_shape), f"{name}: offsets")
    # What stays where it is stays the same value, which no loop has to carry.
    moved = [old if isinstance(step, int) and step == 0 else _position(semantic.binary("add", old, step)) for old, step in zip(base.offsets, steps)]
    return base.with_parts(base.base, (*base.shape, *base.strides, *moved))


def _sequence(values):
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _numbers(values, rank, what):
    """`rank` integers: Python's, or scalars of the kernel."""
    values = _sequence(values)
    if len(values) != rank:
        raise ProgramError(f"{what} has {len(values)} numbers for a block of rank {rank}; needed {rank}")
    found = []
    for index, value in enumerate(values):
        value = semantic.operand(value)
        if isinstance(value, (bool, float)) or isinstance(value, tensor) and (value.shape or not value.dtype.is_int()):
            raise ProgramError(f"{what}: number {index} is {describe(value)}; needed an integer scalar")
        found.append(value)
    return found


def _position(value):
    """A position in 32 bits."""
    if not isinstance(value, tensor):
        if not -_MOST <= value <= _MOST:
            raise ProgramError(f"an offset of a block pointer is {value}; needed one that int32 can hold")
        return value
    return semantic.cast(value, dtypes.int32)


def _checked(block, boundary_check, name):
    """The dimensions to check, in order."""
    found = sorted(constant_of(dim, f"{name}: boundary_check") for dim in _sequence(boundary_check if boundary_check is not None else ()))
    rank = len(block.block_shape)
    if any(not 0 <= dim < rank for dim in found) or len(set(found)) != len(found):
        raise ProgramError(f"{name}: boundary_check is {describe(tuple(found))}; needed different dimensions, of 0 to {rank - 1}")
    return found


def _addresses(block, checked):
    """The tile of addresses of the block, and the mask of the dimensions to check (None: all elements are inside)."""
    place, mask, rank = block.base, None, len(block.block_shape)
    for dim, (extent, shape, stride, offset) in enumerate(zip(block.block_shape, block.shape, block.strides, block.offsets)):
        index = arange(0, extent)
        for other in range(rank):
            if other != dim:
                index = _expand(index, other)
        place = memory.offset_pointer("add", place, _product(offset, stride))
        place = memory.offset_pointer("add", place, _product(index, stride))
        if dim not in checked:
            continue
        position = semantic.binary("add", index, offset)
        for inside in _inside(position, shape):
            mask = inside if mask is None else semantic.binary("and", mask, inside)
    place = semantic.broadcast_to(place, block.block_shape)
    return place, mask if mask is None else semantic.broadcast_to(mask, block.block_shape)


def _product(position, stride):
    """position * stride in 64 bits, unless it is known to be small."""
    if isinstance(stride, int) and stride == 1 or isinstance(position, int) and isinstance(stride, int):
        return position * stride if isinstance(position, int) else position
    if isinstance(stride, int) and isinstance(position, tensor) and position.shape and abs(stride) * max(map(abs, position.bounds)) < 1 << 29:
        return semantic.binary("mul", position, stride)
    wide = [semantic.cast(semantic.to_tensor(value, dtypes.int64), dtypes.int64) for value in (position, stride)]
    return semantic.binary("mul", *wide)


def _inside(position, shape):
    """The conditions for positions to be in a dimension of extent `shape`."""
    if position.bounds is None or position.bounds[0] < 0:
        yield semantic.compare("ge", position, 0)
    if isinstance(shape, tensor) and shape.dtype.bits != 32:
        shape = semantic.cast(semantic.minimum_maximum("min", shape, _MOST) if shape.dtype.bits > 32 else shape, dtypes.int32)
    elif isinstance(shape, int):
        shape = min(shape, _MOST)
    yield semantic.compare("lt", position, shape)


def load_block(block, mask, other, boundary_check, padding_option):
    """The elements of a block: `tl.load` of a block pointer."""
    name = "tl.load"
    if mask is not None or other is not None:
        raise ProgramError(f"{name}: {'mask' if mask is not None else 'other'} is given for {describe(block)}; needed boundary_check and padding_option")
    padding = constant_of(padding_option if padding_option is not None else "", f"{name}: padding_option", str)
    if padding not in _PADDINGS:
        raise ProgramError(f"{name}: padding_option is {padding!r}; needed \"\", \"zero\" or \"nan\"")
    if padding == "nan" and not block.base.element.is_floating():
        raise ProgramError(f"{name}: padding_option is \"nan\" for {describe(block)}; needed \"zero\", as integers have no NaN")
    place, inside = _addresses(block, _checked(block, boundary_check, name))
    return memory.load(place, inside, float("nan") if padding == "nan" and inside is not None else None)


def store_block(block, value, mask, boundary_check):
    """`tl.store` to a block pointer: the value has the block's shape, or is a scalar."""
    name = "tl.store"
    if mask is not None:
        raise ProgramError(f"{name}: mask is given for {describe(block)}; needed boundary_check")
    value, element = semantic.operand(value), block.base.element
    if isinstance(value, tensor):
        if value.shape not in ((), block.block_shape):
            raise ProgramError(f"{name}: the value is {describe(value)} for {describe(block)}; needed the block's shape, or a scalar")
        if value.dtype is not element:
            raise ProgramError(f"{name}: the value is {describe(value)} for {describe(block)}; needed equal types: convert with .to(tl.{element})")
    place, inside = _addresses(block, _checked(block, boundary_check, name))
    memory.store(place, value, inside)
