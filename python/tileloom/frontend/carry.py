"""What a variable becomes when it passes through the regions of a loop or branch.

A `Form` says how a value is carried: as SSA values of known types, or not at all (compile-time objects, which must stay the same).
Forms of two paths are joined; numbers are weak and take the type of what they meet. All errors name the variable.
"""

from ..language import dtypes, semantic
from ..language.blocks import block_pointer
from ..language.values import constexpr, describe, pointer, tensor
from .builder import tensor_type
from .errors import ProgramError


class Undefined:
    """A name without a value on some path; reading it is an error."""

    def __init__(self, why):
        self.why = why


class _Uncarried:
    """What is the same on all paths, so that nothing carries it."""
    types = ()

    def __init__(self, value):
        self.value = value

    def handles(self, value):
        return []

    def rebuild(self, handles):
        return self.value


class Static(_Uncarried):
    """A compile-time object, the same on every path."""

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
    """A pointer. Its base, scalar and tile of offsets are each the same SSA value on all paths, or carried. `base`: a name, or None if
    carried. scalar, offsets: None, the tensor, or the element type of the carried one."""

    def __init__(self, element, shape, base, scalar, offsets, origin):
        self.element, self.shape, self.base, self.scalar, self.offsets, self.origin = element, shape, base, scalar, offsets, origin
        self.types = ("i64",) if base is None else ()
        for part, extents in ((scalar, ()), (offsets, shape)):
            if isinstance(part, dtypes.dtype):
                self.types += (tensor_type(extents, part.mlir),)

    def handles(self, value):
        result = [value.base] if self.base is None else []
        for part, own, extents in ((self.scalar, value.scalar, ()), (self.offsets, value.offsets, self.shape)):
            if isinstance(part, dtypes.dtype):
                result.append(semantic.cast(own, part).handle if own is not None else semantic.full(extents, 0, part).handle)
        return result

    def rebuild(self, handles):
        base = handles.pop(0) if self.base is None else self.base
        scalar, offsets = (tensor(handles.pop(0), part, extents) if isinstance(part, dtypes.dtype) else part
                           for part, extents in ((self.scalar, ()), (self.offsets, self.shape)))
        return pointer(base, self.element, scalar, offsets, self.origin if self.base is not None else None)

    def __eq__(self, other):
        return (isinstance(other, Pointer) and self.element is other.element and self.shape == other.shape and
                (self.base, _same(self.scalar), _same(self.offsets)) == (other.base, _same(other.scalar), _same(other.offsets)))

    def join(self, other):
        """The form of both; None if there is none."""
        shapes = {form.shape for form in (self, other) if form.offsets is not None}
        if self.element is not other.element or len(shapes) > 1:
            return None
        parts = []
        for a, b in ((self.scalar, other.scalar), (self.offsets, other.offsets)):
            if _same(a) == _same(b):
                parts.append(a)
                continue
            found = [part if isinstance(part, dtypes.dtype) else part.dtype for part in (a, b) if part is not None]
            parts.append(max(found, key=lambda dtype: dtype.bits))
        return Pointer(self.element, next(iter(shapes), ()), self.base if self.base == other.base else None, *parts, self.origin)


def _same(part):
    return part.handle if isinstance(part, tensor) else part


class Kept(_Uncarried):
    """A scalar that is the same SSA value on all paths."""

    def __eq__(self, other):
        return isinstance(other, Kept) and self.value.handle == other.value.handle

    def carried(self):
        return Tile(self.value.dtype, self.value.shape)


class Block:
    """A block pointer, `like` another one: the forms of its base and of its numbers, those that change carried."""

    def __init__(self, like, base, numbers):
        self.like, self.base, self.numbers = like, base, numbers
        self.types = tuple(type for part in (base, *numbers) for type in part.types)

    def handles(self, value):
        own = zip((self.base, *self.numbers), (value.base, *value.numbers))
        return [handle for part, one in own for handle in part.handles(one)]

    def rebuild(self, handles):
        base = self.base.rebuild(handles)
        return self.like.with_parts(base, [part.rebuild(handles) for part in self.numbers])

    def __eq__(self, other):
        return isinstance(other, Block) and self.kind == other.kind and (self.base, self.numbers) == (other.base, other.numbers)

    @property
    def kind(self):
        return self.like.block_shape, self.like.order

    def join(self, other, name, where):
        """The form of both; None if there is none."""
        base = self.base.join(other.base)
        if self.kind != other.kind or base is None:
            return None
        return Block(self.like, base, [join(name, a, b, where) for a, b in zip(self.numbers, other.numbers)])


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
        return Pointer(value.element, value.shape, value.base, value.scalar, value.offsets, value.origin)
    if isinstance(value, tensor):
        return Tile(value.dtype, value.shape, tiled=value.tiled)
    if isinstance(value, block_pointer):
        numbers = [Kept(number) if isinstance(number, tensor) else Static(number) for number in value.numbers]
        return Block(value, form_of(value.base, dynamic), numbers)
    if isinstance(value, (tuple, list)):
        return Tuple([form_of(one, dynamic) for one in value])
    if isinstance(value, (bool, int, float)) and dynamic:
        return Tile(dtypes.of_python(value), (), weak=True)
    return Static(value)


def join(name, a, b, where):
    """The form that serves two paths. `where` is a pair of texts that say which paths they are."""
    if a == b:
        return a
    a, b = (form.carried() if isinstance(form, Kept) else form for form in (a, b))
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
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        joined = a.join(b)
        if joined is not None:
            return joined
    if isinstance(a, Block) and isinstance(b, Block):
        joined = a.join(b, name, where)
        if joined is not None:
            return joined
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.parts) == len(b.parts):
        return Tuple([join(f"{name}[{i}]", x, y, where) for i, (x, y) in enumerate(zip(a.parts, b.parts))])
    raise ProgramError(f"variable '{name}' is {_text(a)} {where[0]} but {_text(b)} {where[1]}; needed one type and shape" + _advice(a, b))


def _text(form):
    if isinstance(form, Tile):
        return describe(tensor(None, form.dtype, form.shape))
    if isinstance(form, Pointer):
        return f"a pointer to {form.element}{list(form.shape)}"
    if isinstance(form, Block):
        return form.like.description
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
