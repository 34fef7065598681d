"""What a variable becomes when it passes through the regions of a loop or branch.

A `Form` says how a value is carried: as SSA values of known types, or not at all (compile-time objects, which must stay the same).
Forms of two paths are joined; numbers are weak and take the type of what they meet. All errors name the variable.
"""

from ..language import dtypes, semantic
from ..language.values import constexpr, describe, pointer, tensor
from .builder import tensor_type
from .errors import ProgramError


class Undefined:
    """A name without a value on some path; reading it is an error."""

    def __init__(self, why):
        self.why = why


class Static:
    """A compile-time object, the same on every path."""

    def __init__(self, value):
        self.value = value
        self.types = ()

    def handles(self, value):
        return []

    def rebuild(self, handles):
        return self.value

    def __eq__(self, other):
        return isinstance(other, Static) and (self.value is other.value or (
            type(self.value) is type(other.value) and not isinstance(self.value, tensor) and self.value == other.value))


class Tile:
    """A tensor. `weak`: so far only a Python number was seen. `tiled`: see values.tensor."""

    def __init__(self, dtype, shape, weak=False, tiled=False):
        self.dtype, self.shape, self.weak, self.tiled = dtype, shape, weak, tiled
        self.types = (tensor_type(shape, dtype.mlir),)

    def handles(self, value):
        value = semantic.operand(value)
        if not isinstance(value, tensor):
            value = semantic.full(self.shape, value, self.dtype)
        if value.dtype is not self.dtype:
            value = semantic.cast(value, self.dtype)
        return [value.handle]

    def rebuild(self, handles):
        return tensor(handles.pop(0), self.dtype, self.shape, tiled=self.tiled)

    def __eq__(self, other):
        return (isinstance(other, Tile) and (self.dtype, self.shape, self.weak, self.tiled) ==
                (other.dtype, other.shape, other.weak, other.tiled))


class Pointer:
    """A pointer: its base if paths differ in it, and those of its offsets that are there. Offsets are None or an element type."""

    def __init__(self, base, element, scalar, offsets, shape, origin):
        self.base, self.element, self.scalar, self.offsets, self.shape, self.origin = base, element, scalar, offsets, shape, origin
        self.types = (("i64",) if base is None else ()) + (("i64",) if scalar else ())
        if offsets:
            self.types += (tensor_type(shape, offsets.mlir),)

    def handles(self, value):
        result = [value.base] if self.base is None else []
        if self.scalar:
            result.append((value.scalar if value.scalar is not None else semantic.full((), 0, dtypes.int64)).handle)
        if self.offsets:
            offsets = value.offsets if value.offsets is not None else semantic.full(self.shape, 0, self.offsets)
            result.append(semantic.cast(offsets, self.offsets).handle)
        return result

    def rebuild(self, handles):
        base = handles.pop(0) if self.base is None else self.base
        scalar = tensor(handles.pop(0), dtypes.int64) if self.scalar else None
        offsets = tensor(handles.pop(0), self.offsets, self.shape) if self.offsets else None
        return pointer(base, self.element, scalar, offsets, self.origin if self.base is not None else None)

    def __eq__(self, other):
        return (isinstance(other, Pointer) and self.types == other.types and self.base == other.base and
                self.element is other.element)


class Tuple:
    def __init__(self, parts):
        self.parts = parts
        self.types = tuple(type for part in parts for type in part.types)

    def handles(self, value):
        return [handle for part, one in zip(self.parts, value) for handle in part.handles(one)]

    def rebuild(self, handles):
        return tuple(part.rebuild(handles) for part in self.parts)

    def __eq__(self, other):
        return isinstance(other, Tuple) and self.parts == other.parts


def form_of(value, dynamic):
    """How to carry a value; `dynamic`: a number becomes a run-time value."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, pointer):
        return Pointer(value.base, value.element, value.scalar is not None, value.offsets.dtype if value.offsets is not None else None,
                       value.shape, value.origin)
    if isinstance(value, tensor):
        return Tile(value.dtype, value.shape, tiled=value.tiled)
    if isinstance(value, (tuple, list)):
        return Tuple([form_of(one, dynamic) for one in value])
    if isinstance(value, (bool, int, float)) and dynamic:
        return Tile(dtypes.of_python(value), (), weak=True)
    return Static(value)


def join(name, a, b, where):
    """The form that serves two paths. `where` is a pair of texts that say which paths they are."""
    if a == b:
        return a
    if isinstance(a, Static) and isinstance(b, Static):
        a, b = form_of(a.value, True), form_of(b.value, True)
        if not (isinstance(a, Static) or isinstance(b, Static)):
            return join(name, a, b, where)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Static) and isinstance(one.value, (bool, int, float)) and isinstance(other, Tile):
            return join(name, form_of(one.value, True), other, where)
    if isinstance(a, Tile) and isinstance(b, Tile):
        tiled = a.tiled or b.tiled
        if a.shape == b.shape and a.dtype is b.dtype:
            return Tile(a.dtype, a.shape, a.weak and b.weak, tiled)
        for weak, strong in ((a, b), (b, a)):
            if weak.weak and not strong.shape and not strong.weak and dtypes.promotion(weak.dtype, strong.dtype) is strong.dtype:
                return Tile(strong.dtype, (), False, tiled)
        if a.weak and b.weak:
            return Tile(dtypes.promotion(a.dtype, b.dtype), (), True, tiled)
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.element is b.element and (a.shape == b.shape or not (a.offsets and b.offsets)):
        wide = [o for o in (a.offsets, b.offsets) if o]
        offsets = max(wide, key=lambda t: t.bits) if wide else None
        shapes = {p.shape for p in (a, b)}
        if len(shapes) == 1:
            return Pointer(a.base if a.base == b.base else None, a.element, a.scalar or b.scalar, offsets, a.shape, a.origin)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.parts) == len(b.parts):
        return Tuple([join(f"{name}[{i}]", x, y, where) for i, (x, y) in enumerate(zip(a.parts, b.parts))])
    raise ProgramError(f"variable '{name}' is {_text(a)} {where[0]} but {_text(b)} {where[1]}; needed one type and shape" + _advice(a, b))


def _text(form):
    if isinstance(form, Tile):
        return describe(tensor(None, form.dtype, form.shape))
    if isinstance(form, Pointer):
        return f"a pointer to {form.element}{list(form.shape)}"
    if isinstance(form, Tuple):
        return f"a tuple of {len(form.parts)}"
    return describe(form.value)


def _advice(a, b):
    if isinstance(a, Tile) and isinstance(b, Tile):
        if a.shape != b.shape and a.weak:
            return f": start from tl.zeros({list(b.shape)}, tl.{b.dtype})"
        if a.shape == b.shape:
            return f": convert with .to(tl.{a.dtype})"
    return ""
