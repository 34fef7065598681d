"""What the compiler knows of an argument: the specialisation of a kernel, made of a value or of a signature.

| value | fact |
|---|---|
| parameter annotated tl.constexpr | constant |
| parameter annotated tl.view | view: element type, rank; extents that the program needs at compile time |
| tensor | pointer: element type, whether the address is a multiple of 16 bytes |
| int | scalar i32 (i64 beyond its range), whether a multiple of 16, whether 1 |
| float, bool, None | scalar f32, scalar i1, constant |
| tuple or list | tuple: the facts of its elements, which are named `name[0]`, `name[1]`, ... |
"""

from collections import namedtuple

from ..frontend.names import element_name
from ..language import dtypes
from ..runtime import elements
from ..runtime.arguments import describe as describe_value
from ..runtime.errors import ArgumentError

Fact = namedtuple("Fact", "kind dtype value aligned rank extents divisible_extents divisible_strides",
                  defaults=(None, None, False, None, None, (), ()))


def constant(value):
    return Fact("constant", value=value)


def scalar(value, where=""):
    """The fact of a Python number."""
    if isinstance(value, bool):
        return Fact("scalar", dtypes.int1)
    if isinstance(value, int):
        if value == 1:
            return Fact("scalar", dtypes.int32, value=1)
        if not -(1 << 63) <= value < 1 << 63:
            raise ArgumentError(f"{where}: is {value}; needed {-(1 << 63)}..{(1 << 63) - 1} (int64)")
        return Fact("scalar", dtypes.int32 if -(1 << 31) <= value < 1 << 31 else dtypes.int64, aligned=value % 16 == 0)
    return Fact("scalar", dtypes.float32)


class Tensor(namedtuple("Tensor", "dtype shape strides address device")):
    """A tensor on the host side. strides: elements. device: a CUDA ordinal, -1 for host memory, -2 if not known."""

    __slots__ = ()


_torch_types = {}  # torch's types to those of the language; False for what it has not


def tensor_of(value, where):
    """The Tensor of a torch tensor, an array, or a holder of an array interface or DLPack; None if `value` is none of these."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        dtype = _torch_types.get(value.dtype)
        if dtype is None:
            dtype = _torch_types[value.dtype] = dtypes._ALIASES.get(str(value.dtype).split(".")[-1], False)
        if not dtype:
            raise ArgumentError(f"{where}: element type {value.dtype} is not supported; needed one of {', '.join(t.name for t in dtypes.ALL)}")
        return Tensor(dtype, tuple(value.shape), tuple(value.stride()), value.data_ptr(), value.get_device())
    element = getattr(value, "element", None)  # sim.Element: an array with a meaning
    if element is not None and hasattr(value, "array"):
        found = tensor_of(value.array, where)
        return found._replace(dtype=dtypes.named(element))
    if not (hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__") or
            (hasattr(value, "__array_interface__") and getattr(value, "shape", ()) != ())):
        return None
    spec = _Spec(where + ": ")
    packed = describe_value(value, None, spec)
    import struct
    kind, number, device, rank, address = struct.unpack_from("<IIiIQ", packed)
    shape = struct.unpack_from(f"<{rank}q", packed, 24)
    strides = struct.unpack_from(f"<{rank}q", packed, 24 + 64)
    if number >= len(elements.NAMES) or elements.NAMES[number] not in dtypes.BY_ELEMENT:
        raise ArgumentError(f"{where}: its element type is not supported; needed one of {', '.join(t.name for t in dtypes.ALL)}")
    return Tensor(dtypes.BY_ELEMENT[elements.NAMES[number]], shape, strides, address, device)


class _Spec:
    """What arguments.describe asks of the argument that it describes."""

    kind, element, element_name = 0, 0xFFFFFFFF, "a tensor"

    def __init__(self, prefix):
        self.prefix = prefix


def of_value(parameter, value, where):
    """The fact of an argument."""
    if parameter.is_constexpr:
        return constant(value)
    if isinstance(value, (tuple, list)):
        return Fact("tuple", value=tuple(of_one(parameter, one, f"{where}, element {index}", False) for index, one in enumerate(value)))
    return of_one(parameter, value, where, parameter.is_view)


def of_one(parameter, value, where, must_be_view):
    """The fact of an argument that is no tuple, or of an element of one."""
    if value is None:
        return constant(None)
    if isinstance(value, (bool, int, float)) and not must_be_view:
        return scalar(value, where)
    tensor = None if isinstance(value, (tuple, list)) else tensor_of(value, where)
    if tensor is None:
        if not must_be_view and hasattr(value, "__index__"):
            return scalar(int(value), where)
        if not must_be_view and hasattr(value, "__float__"):
            return scalar(float(value))
        needed = "a tensor" if must_be_view else "a tensor, a number or None"
        raise ArgumentError(f"{where}: is of type {type(value).__name__}; needed {needed}")
    if parameter.is_view:
        return view(tensor.dtype, tensor.shape)
    return Fact("pointer", tensor.dtype, aligned=tensor.address % 16 == 0)


def view(dtype, extents):
    if not 1 <= len(extents) <= 5:
        raise ArgumentError(f"a view of rank {len(extents)}; needed 1 to 5")
    return Fact("view", dtype, rank=len(extents), extents=tuple(extents))


def of_signature(parameter, text, where):
    """The fact of an entry of a signature: "*bf16" or "*bf16:16" (pointer, aligned), "i32", "i32:16", "f32", "1" for parameters
    without annotation; ("bf16", 2), ("bf16", (None, 64)) or "bf16[?,64]" for views; a list of these for a tuple."""
    if isinstance(text, list):
        return Fact("tuple", value=tuple(_of_text(parameter.is_view and _is_view(one), one, f"{where}, element {index}")
                                         for index, one in enumerate(text)))
    return _of_text(parameter.is_view, text, where)


def _is_view(text):
    return isinstance(text, tuple) or isinstance(text, str) and text.endswith("]")


def _of_text(is_view, text, where):
    if is_view:
        if isinstance(text, str) and text.endswith("]") and "[" in text:
            element, _, inside = text[:-1].partition("[")
            extents = [None if part.strip() in ("?", "") else int(part) for part in inside.split(",")]
        elif isinstance(text, (tuple, list)) and len(text) == 2:
            element, extents = text
            extents = (None,) * extents if isinstance(extents, int) else extents
        else:
            raise ArgumentError(f"{where}: signature {text!r}; needed (\"bf16\", rank), (\"bf16\", (None, 64)) or \"bf16[?,64]\" for a view")
        return view(dtypes.named(element), extents)
    if text is None:
        return constant(None)
    if text == 1 or text == "1":
        return scalar(1)
    if not isinstance(text, (str, dtypes.dtype)):
        raise ArgumentError(f"{where}: signature {text!r}; needed \"*bf16\", \"i32\" and the like")
    name, _, divisor = str(text).partition(":")
    if divisor not in ("", "16"):
        raise ArgumentError(f"{where}: signature {text!r}; needed ':16' after the type, or nothing")
    if name.startswith("*"):
        return Fact("pointer", dtypes.named(name[1:]), aligned=divisor == "16")
    dtype = dtypes.named(name)
    if dtype not in (dtypes.int1, dtypes.int32, dtypes.int64, dtypes.float32):
        raise ArgumentError(f"{where}: scalar of type {dtype}; needed int32, int64, float32 or bool")
    return Fact("scalar", dtype, aligned=divisor == "16")
