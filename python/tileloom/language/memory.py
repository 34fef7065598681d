"""Memory through pointers: load, store, and the arithmetic on addresses.

A pointer keeps its uniform offset apart from its tile of offsets (values.py). Sums of two tiles of offsets are made in 64 bits unless
both are known to be small, as every addition to a pointer in Triton is.
"""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .dtypes import int32, int64
from .values import describe, pointer, tensor

_SMALL = 1 << 29  # two offsets below this add up in 32 bits


def offset_pointer(name, a, b):
    """pointer + integer, integer + pointer, pointer - integer."""
    if isinstance(b, pointer):
        if name == "sub" or isinstance(a, pointer):
            raise ProgramError(f"{describe(a)} {'-' if name == 'sub' else '+'} {describe(b)}: needed a pointer and an integer")
        a, b = b, a
    if isinstance(b, float) or (isinstance(b, tensor) and not b.dtype.is_int()):
        raise ProgramError(f"{describe(a)} offset by {describe(b)}; needed an integer")
    if name == "sub":
        b = semantic.negate(b)
    if isinstance(b, int) and b == 0:
        return a
    if not isinstance(b, tensor) or not b.shape:
        return a.replace(scalar=_add(a.scalar, b))
    if a.offsets is None:
        return a.replace(offsets=b if b.dtype.bits >= 32 else semantic.cast(b, int32))
    return a.replace(offsets=_add(a.offsets, b))


def _add(total, step):
    step = semantic.to_tensor(step, int64)
    if total is None:
        return semantic.cast(step, int64)
    if total.shape and _small(total) and _small(step):
        return semantic.binary("add", total, step)
    return semantic.binary("add", semantic.cast(total, int64), semantic.cast(step, int64))


def _small(value):
    return value.dtype is int32 and value.bounds is not None and -_SMALL < value.bounds[0] and value.bounds[1] < _SMALL


def address(value):
    """The SSA i64 of a scalar pointer."""
    if value.scalar is None:
        return value.base
    b = builder()
    size = b.value(f"arith.constant {value.element.itemsize} : i64")
    step = b.value(f"arith.muli {value.scalar.handle}, {size} : i64")
    return b.value(f"arith.addi {value.base}, {step} : i64")


def addresses(value):
    """A pointer, or a tile of pointers, as integers (int64)."""
    scalar = tensor(address(value), int64)
    if value.offsets is None:
        return scalar
    steps = semantic.binary("mul", semantic.cast(value.offsets, int64), value.element.itemsize)
    return semantic.binary("add", scalar, steps)


def _place(value):
    """Base and offset operands of an access, with the offset's type."""
    if value.offsets is not None:
        offsets = value.offsets if value.offsets.dtype in (int32, int64) else semantic.cast(value.offsets, int64)
        return address(value), offsets.handle, tensor_type(value.shape, offsets.dtype.mlir)
    scalar = value.scalar if value.scalar is not None else semantic.full((), 0, int64)
    return value.base, scalar.handle, "i64"


def _pointer(value, name):
    if not isinstance(value, pointer):
        raise ProgramError(f"{name}: the pointer is {describe(value)}; needed a pointer (a tensor argument without annotation, plus offsets)")
    return value


def _mask(mask, shape, name):
    """The mask as an i1 operand of the access's shape; None if there is none."""
    if mask is None or mask is True:
        return None
    mask = semantic.operand(mask)
    if not isinstance(mask, tensor):
        return semantic.full(shape, bool(mask), dtypes.int1)
    _fits(mask, shape, f"{name}: mask")
    return semantic.broadcast_to(semantic.truth(mask), shape)


def _fits(value, shape, what):
    """Refuses a value that cannot be broadcast to the pointer's shape."""
    if not isinstance(value, tensor):
        return
    if len(value.shape) > len(shape) or any(a not in (1, b) for a, b in zip(reversed(value.shape), reversed(shape))):
        raise ProgramError(f"{what} is {describe(value)}; needed a shape that broadcasts to the pointer's {list(shape)}")


def _mask_text(mask):
    return f" mask({mask.handle} : {tensor_type(mask.shape, 'i1')})" if mask is not None else ""


def load(pointer, mask=None, other=None, cache_modifier="", eviction_policy="", volatile=False, boundary_check=(), padding_option=""):
    """The elements at `pointer`, an address or a tile of addresses. Where `mask` is false nothing is read: the element is `other`, or 0.
    `cache_modifier` and `eviction_policy` are accepted and have no effect. `boundary_check` and `padding_option` are for block pointers: the dimensions
    in which positions outside of the tensor are not read, and what they give ("" or "zero": 0; "nan")."""
    from .blocks import block_pointer, load_block
    from .views import descriptor
    if isinstance(pointer, descriptor):
        raise ProgramError(f"tl.load of {describe(pointer)}; needed {pointer.name}.load([...])")
    if isinstance(pointer, block_pointer):
        return load_block(pointer, mask, other, boundary_check, padding_option)
    value = _pointer(pointer, "tl.load")
    _without_boundary("tl.load", value, boundary_check=boundary_check, padding_option=padding_option)
    mask = _mask(mask, value.shape, "tl.load")
    base, offset, offset_type = _place(value)
    element = value.element
    tail = ""
    if other is not None and mask is not None:
        _fits(semantic.operand(other), value.shape, "tl.load: other")
        fill = semantic.broadcast_to(semantic.cast(semantic.to_tensor(other, _number_type(other, element)), element), value.shape)
        if element.is_bool():
            fill = semantic.cast(fill, dtypes.int8)
        tail = f" other({fill.handle} : {tensor_type(value.shape, element.memory)})"
    type = tensor_type(value.shape, element.memory)
    handle = builder().value(f"tile.gather {base}[{offset}]{_mask_text(mask)}{tail} : {offset_type} -> {type}")
    if element.is_bool():
        return semantic.compare("ne", tensor(handle, dtypes.int8, value.shape), 0)
    return tensor(handle, element, value.shape)


def _without_boundary(name, value, **options):
    for option, given in options.items():
        if given is not None and given not in ((), [], ""):
            raise ProgramError(f"{name}: {option} is given for {describe(value)}, whose bounds are not known; needed a mask, or what tl.make_block_ptr gives")


def _number_type(value, element):
    return element if semantic.is_number(value) and (element.is_floating() or not isinstance(value, float)) else None


def store(pointer, value, mask=None, cache_modifier="", eviction_policy="", boundary_check=()):
    """Writes `value` to the elements at `pointer` where `mask` is true; `value` is converted and broadcast. `boundary_check`: as in load."""
    from .blocks import block_pointer, store_block
    from .views import descriptor
    if isinstance(pointer, descriptor):
        raise ProgramError(f"tl.store to {describe(pointer)}; needed {pointer.name}.store([...], value)")
    if isinstance(pointer, block_pointer):
        return store_block(pointer, value, mask, boundary_check)
    to = _pointer(pointer, "tl.store")
    _without_boundary("tl.store", to, boundary_check=boundary_check)
    data = _data(to, value, "tl.store")
    mask = _mask(mask, to.shape, "tl.store")
    base, offset, offset_type = _place(to)
    type = tensor_type(to.shape, to.element.memory)
    builder().op(f"tile.scatter {data.handle} to {base}[{offset}]{_mask_text(mask)} : {type}, {offset_type}")


def debug_barrier():
    """The warps that compute wait for each other: what any of them stored or loaded through pointers before comes before what follows."""
    builder().op("nv.named_barrier")


def _data(value, data, name):
    data = semantic.operand(data)
    _fits(data, value.shape, f"{name}: value")
    element = value.element
    if not isinstance(data, tensor):
        data = semantic.full(value.shape, data, element)
    data = semantic.broadcast_to(semantic.cast(data, element), value.shape)
    return semantic.cast(data, dtypes.int8) if element.is_bool() else data
