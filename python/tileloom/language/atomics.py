"""Atomic operations through pointers, with Triton's arguments: the values before are their results."""

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .memory import _data, _fits, _mask, _mask_text, _place, _pointer
from .values import constant_of, describe, tensor

_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_SCOPES = {"cta": "cta", "gpu": "gpu", "sys": "sys"}


def _choice(value, known, default, what):
    if value is None:
        return default
    value = constant_of(value, what, str)
    if value not in known:
        raise ProgramError(f"{what} is {value!r}; needed one of {', '.join(known)}")
    return value


def _check(name, kind, value):
    """Refuses element types that the hardware has no such operation for."""
    element = value.element
    if kind == "add":
        fits, needed = element.is_floating() and not element.is_fp8() or element.bits in (32, 64), "floats, or integers of 32 or 64 bits"
    elif kind in ("xchg", "cas"):
        fits, needed = element.bits in (32, 64), "elements of 32 or 64 bits"
    elif kind in ("max", "min"):
        fits, needed = element.bits in (32, 64), "integers or floats of 32 or 64 bits"
    else:
        fits, needed = element.is_int() and element.bits in (32, 64), "integers of 32 or 64 bits"
    if not fits or element.is_bool():
        raise ProgramError(f"{name} on {describe(value)}; needed {needed}")


def _emit(kind, value, data, mask, order, scope, compare=None):
    base, offset, offset_type = _place(value)
    type = tensor_type(value.shape, data.dtype.mlir)
    tail = f" compare({compare.handle} : {type})" if compare is not None else ""
    tail += (f" order({order})" if order != "relaxed" else "") + (f" scope({scope})" if scope != "gpu" else "")
    text = f"tile.atomic {kind} {data.handle} to {base}[{offset}]{_mask_text(mask)}{tail} : {type}, {offset_type} -> {type}"
    return tensor(builder().value(text), data.dtype, value.shape)


def _atomic(kind, name, value, data, mask, sem, scope):
    value = _pointer(value, name)
    _check(name, kind, value)
    order = _choice(sem, _ORDERS, "acq_rel", f"{name}: sem")
    scope = _choice(scope, _SCOPES, "gpu", f"{name}: scope")
    data = _data(value, data, name)
    mask = _mask(mask, value.shape, name)
    if kind in ("max", "min") and value.element.is_floating():
        return _extreme_of_floats(kind, value, data, mask, order, scope)
    if kind in ("max", "min") and value.element.is_int_unsigned():
        kind = f"u{kind}"
    return _emit(kind, value, data, mask, order, scope)


def _extreme_of_floats(kind, value, data, mask, order, scope):
    """Floats of one sign are ordered as their bits are: as integers if the operand is positive, in reverse if it is negative."""
    signed, unsigned = (dtypes.int32, dtypes.uint32) if value.element.bits == 32 else (dtypes.int64, dtypes.uint64)
    bits = semantic.cast(data, signed, bitcast=True)
    positive = semantic.compare("ge", bits, 0)
    results = []
    for own, operation, dtype in ((positive, kind, signed), (semantic.invert(positive), "umin" if kind == "max" else "umax", unsigned)):
        both = own if mask is None else semantic.binary("and", own, mask)
        old = _emit(operation, value, tensor(bits.handle, dtype, bits.shape), both, order, scope)
        results.append(semantic.cast(tensor(old.handle, signed, old.shape), value.element, bitcast=True))
    return semantic.where(positive, *results)


def atomic_add(pointer, val, mask=None, sem=None, scope=None):
    """Adds `val` to the elements at `pointer` where `mask` is true, each in one step, and gives the values before (0 where it is false).
    `sem`: "acq_rel" (default), "acquire", "release" or "relaxed"; `scope`: "gpu" (default), "cta" or "sys"."""
    return _atomic("add", "tl.atomic_add", pointer, val, mask, sem, scope)


def atomic_max(pointer, val, mask=None, sem=None, scope=None):
    """The larger of memory and `val`; otherwise as atomic_add."""
    return _atomic("max", "tl.atomic_max", pointer, val, mask, sem, scope)


def atomic_min(pointer, val, mask=None, sem=None, scope=None):
    """The smaller of memory and `val`; otherwise as atomic_add."""
    return _atomic("min", "tl.atomic_min", pointer, val, mask, sem, scope)


def atomic_and(pointer, val, mask=None, sem=None, scope=None):
    return _atomic("and", "tl.atomic_and", pointer, val, mask, sem, scope)


def atomic_or(pointer, val, mask=None, sem=None, scope=None):
    return _atomic("or", "tl.atomic_or", pointer, val, mask, sem, scope)


def atomic_xor(pointer, val, mask=None, sem=None, scope=None):
    return _atomic("xor", "tl.atomic_xor", pointer, val, mask, sem, scope)


def atomic_xchg(pointer, val, mask=None, sem=None, scope=None):
    """Writes `val`, and gives the values before."""
    return _atomic("xchg", "tl.atomic_xchg", pointer, val, mask, sem, scope)


def atomic_cas(pointer, cmp, val, sem=None, scope=None):
    """Writes `val` where memory equals `cmp` (bit by bit), and gives the values before."""
    name = "tl.atomic_cas"
    value = _pointer(pointer, name)
    _check(name, "cas", value)
    order = _choice(sem, _ORDERS, "acq_rel", f"{name}: sem")
    scope = _choice(scope, _SCOPES, "gpu", f"{name}: scope")
    _fits(semantic.operand(cmp), value.shape, f"{name}: cmp")
    return _emit("cas", value, _data(value, val, name), None, order, scope, compare=_data(value, cmp, name))


def atomic_load(pointer, mask=None, sem=None, scope=None):
    """The elements at `pointer` (32 or 64 bits) where `mask` is true, each in one step: an atomic or with zero, so the memory must be writable. `sem`: "acquire"
    (default) or "relaxed"."""
    name = "tl.atomic_load"
    value = _pointer(pointer, name)
    _check(name, "xchg", value)
    order = _choice(sem, ("acquire", "relaxed"), "acquire", f"{name}: sem")
    dtype = {32: dtypes.int32, 64: dtypes.int64}[value.element.bits]
    bits = _emit("or", value, semantic.full(value.shape, 0, dtype), _mask(mask, value.shape, name), order, _choice(scope, _SCOPES, "gpu", f"{name}: scope"))
    return semantic.cast(tensor(bits.handle, dtype, value.shape), value.element, bitcast=True)


def atomic_store(pointer, val, mask=None, sem=None, scope=None):
    """Writes `val` to the elements at `pointer` (32 or 64 bits) where `mask` is true, each in one step: an exchange. `sem`: "release" (default) or "relaxed"."""
    name = "tl.atomic_store"
    value = _pointer(pointer, name)
    _check(name, "xchg", value)
    order = _choice(sem, ("release", "relaxed"), "release", f"{name}: sem")
    _emit("xchg", value, _data(value, val, name), _mask(mask, value.shape, name), order, _choice(scope, _SCOPES, "gpu", f"{name}: scope"))
