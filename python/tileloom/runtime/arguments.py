"""From Python values to the argument structs of the C API.

A value is a torch tensor, an object with `__cuda_array_interface__`, `__array_interface__` (host memory) or
`__dlpack__`, a number, or None (a null pointer). What it must be is decided by the C layer, which knows the recipe; here it
is only described. The exceptions are numbers, whose bits depend on the type that the recipe asks for.
"""

import ctypes
import operator
import struct

from . import elements
from .errors import ArgumentError
from .library import HOST, MAX_RANK, POINTER, SCALAR, TENSOR, UNKNOWN_DEVICE, UNKNOWN_ELEMENT

# TileloomArgument for each rank: kind, element, device, rank, value, shape[8], strides[8]; pad bytes are zero.
PACK = [struct.Struct(f"<IIiIQ{r}q{8 * (MAX_RANK - r)}x{r}q{8 * (MAX_RANK - r)}x").pack
        for r in range(MAX_RANK + 1)]
_E2M1 = elements.NUMBER["e2m1"]
_U8 = elements.NUMBER["u8"]


class _DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("ordinal", ctypes.c_int32)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _DLDevice), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13


def _dense(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def tensor(element, device, address, shape, strides, spec):
    """The struct of a tensor. Packed fp4 comes in bytes or pairs; shape and strides count single elements."""
    rank = len(shape)
    if rank > MAX_RANK:
        raise ArgumentError(f"{spec.prefix}rank is {rank}; needed at most {MAX_RANK}")
    if element is None:
        element = UNKNOWN_ELEMENT
    return PACK[rank](TENSOR, element, device, rank, address, *shape, *strides)


def unpacked(shape, strides, spec):
    """Shape and strides in single fp4 elements of a tensor of pairs, whose last dimension is contiguous."""
    if not shape or (strides[-1] != 1 and shape[-1] != 1):
        raise ArgumentError(f"{spec.prefix}packed e2m1 has stride {strides[-1] if strides else 'none'} in its last "
                            "dimension; needed 1")
    return (*shape[:-1], 2 * shape[-1]), (*(2 * s for s in strides[:-1]), 1)


def bytes_as_fp4(element, shape, strides, spec):
    # Frameworks without an fp4 type hold it as bytes.
    if element == _U8 and spec.element == _E2M1:
        return (_E2M1, *unpacked(shape, strides, spec))
    return element, shape, strides


def _from_array_interface(interface, device, element, spec):
    shape = tuple(interface["shape"])
    number, size = elements.from_typestr(interface["typestr"])
    element = number if element is None else element
    strides = interface.get("strides")
    if strides is None:
        strides = _dense(shape)
    elif size and all(step % size == 0 for step in strides):
        strides = tuple(step // size for step in strides)
    else:
        raise ArgumentError(f"{spec.prefix}byte strides are {tuple(strides)}; needed multiples of the "
                            f"{size} bytes of an element")
    element, shape, strides = bytes_as_fp4(element, shape, strides, spec)
    return tensor(element, device, interface["data"][0] or 0, shape, strides, spec)


def _from_dlpack(value, stream, spec):
    kind, ordinal = value.__dlpack_device__()
    kind = int(kind)
    # The producer makes its pending work visible to the stream of the launch (array API, __dlpack__). 0 is ambiguous
    # there; 1 is the legacy default stream.
    capsule = value.__dlpack__(stream=stream or 1) if kind in (_DL_CUDA, _DL_CUDA_MANAGED) else value.__dlpack__()
    # The capsule keeps its name: its own destructor then frees it, and the caller keeps `value` alive.
    t = ctypes.cast(_capsule_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    shape = tuple(t.shape[i] for i in range(t.ndim))
    strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else _dense(shape)
    element = elements.from_dlpack(t.code, t.bits) if t.lanes == 1 else None
    if t.lanes == 2 and (t.code, t.bits) == (17, 4):
        element = _E2M1
        shape, strides = unpacked(shape, strides, spec)
    element, shape, strides = bytes_as_fp4(element, shape, strides, spec)
    device = ordinal if kind in (_DL_CUDA, _DL_CUDA_MANAGED) else HOST
    return tensor(element, device, (t.data or 0) + t.offset, shape, strides, spec)


def _cuda_ordinal(value):
    """Device of an object with `__cuda_array_interface__`, which does not carry it; the C layer asks the driver."""
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[1])
    return UNKNOWN_DEVICE


def _scalar(value, spec):
    name = spec.element_name
    if elements.is_integer(name):
        try:
            number = operator.index(value)
        except TypeError:
            raise ArgumentError(f"{spec.prefix}is {value!r} of type {type(value).__name__}; needed an integer "
                                f"({name})") from None
        least, most = elements.integer_range(name)
        if not least <= number <= most:
            raise ArgumentError(f"{spec.prefix}is {number}; needed {least}..{most} ({name})")
        bits = number & 0xFFFFFFFFFFFFFFFF
    else:
        try:
            bits = elements.float_bits(name, float(value))
        except (TypeError, ValueError):
            raise ArgumentError(f"{spec.prefix}is {value!r} of type {type(value).__name__}; needed a number "
                                f"({name})") from None
        except OverflowError:
            raise ArgumentError(f"{spec.prefix}is {value!r}; needed a number that {name} can hold") from None
    return PACK[0](SCALAR, spec.element, UNKNOWN_DEVICE, 0, bits)


def _is_number(value):
    return isinstance(value, (int, float)) or hasattr(value, "__index__") or hasattr(value, "__float__")


def describe(value, stream, spec):
    """The struct of any value but a torch tensor, for the argument that `spec` describes."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_array_interface(interface, _cuda_ordinal(value), None, spec)
    if hasattr(value, "__array_interface__") and getattr(value, "shape", ()) != ():
        return _from_array_interface(value.__array_interface__, HOST, elements.from_dtype(value.dtype), spec)
    if spec.kind == SCALAR and _is_number(value):
        return _scalar(value, spec)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(value, stream, spec)
    if spec.kind == POINTER and (value is None or isinstance(value, int)):
        return PACK[0](POINTER, UNKNOWN_ELEMENT, UNKNOWN_DEVICE, 0, (value or 0) & 0xFFFFFFFFFFFFFFFF)
    if _is_number(value):
        # A number where memory is needed: the C layer says what is wrong.
        return PACK[0](SCALAR, UNKNOWN_ELEMENT, UNKNOWN_DEVICE, 0, 0)
    needed = {TENSOR: "a tensor", POINTER: "a tensor, an address or None", SCALAR: "a number"}[spec.kind]
    raise ArgumentError(f"{spec.prefix}is of type {type(value).__name__}; needed {needed}")
