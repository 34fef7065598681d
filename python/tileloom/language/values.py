"""The values of a kernel at compile time: tiles and scalars (`tensor`), and addresses (`pointer`).

A compile-time constant is a plain Python object, so that arithmetic on constants is Python's own. A `tensor` is an SSA value with
an element type and a shape, () for a scalar. Three facts travel with it: `tiled` (it is an element offset of a tile, so that
a shorter box can find its dimensions), `host` (the same value as an expression of the launch's arguments, or None), `bounds` (inclusive, or None).

A `pointer` is an address argument plus a scalar offset plus a tile of offsets, all counted in elements and kept apart: what is
uniform stays out of the arithmetic on tiles, and 32-bit offsets of tiles stay 32-bit.
"""

import math

from ..frontend.errors import ProgramError
from . import dtypes

MOST_ELEMENTS = 1 << 20  # of a tile, as in Triton; the compiler has the same limit


class constexpr:
    """Marks a parameter as a compile-time constant (`BM: tl.constexpr`), or a global as one (`BM = tl.constexpr(64)`)."""

    def __init__(self, value):
        self.value = value.value if isinstance(value, constexpr) else value

    def __repr__(self):
        return f"tl.constexpr({self.value!r})"

    def __eq__(self, other):
        return self.value == (other.value if isinstance(other, constexpr) else other)

    def __hash__(self):
        return hash(self.value)

    def __index__(self):
        return self.value.__index__()


class const:
    """Marks a parameter as a pointer to memory that the kernel does not write (`x: tl.const`): a hint, without effect."""


class _Auto:
    """The default of a constexpr parameter that the host chooses (tileloom.schedule.choose)."""

    def __repr__(self):
        return "tl.auto"


auto = _Auto()


def describe(value):
    """A value as errors show it."""
    if isinstance(value, tensor):
        return f"{value.dtype}{list(value.shape)}" if value.shape else str(value.dtype)
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(describe, value)) + ")"
    if isinstance(value, dtypes.dtype) or value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return getattr(value, "description", None) or f"a {type(value).__name__}"


class tensor:
    """A tile or scalar. Operators and methods build operations (tileloom.language.semantic)."""

    __slots__ = ("handle", "dtype", "shape", "tiled", "host", "bounds", "reshaped", "product", "load")

    def __init__(self, handle, dtype, shape=(), *, tiled=False, host=None, bounds=None, reshaped=None):
        self.handle, self.dtype, self.shape = handle, dtype, tuple(shape)
        if math.prod(self.shape) > MOST_ELEMENTS:
            raise ProgramError(f"a tile of shape {list(self.shape)} has {math.prod(self.shape)} elements; needed at most {MOST_ELEMENTS}")
        self.tiled, self.host, self.bounds = tiled, host, bounds
        self.reshaped = reshaped  # the tile that this is a reshape of
        self.load = None  # of a box: a function that loads it under another shape, or gives None
        self.product = None  # of a dot without accumulator: the function that makes it with one

    def __repr__(self):
        return f"<{describe(self)}>"

    def __bool__(self):
        raise ProgramError(f"the truth of {describe(self)} is known only at run time; needed a compile-time constant")

    def __iter__(self):
        raise ProgramError(f"{describe(self)} cannot be unpacked or iterated over")

    __hash__ = object.__hash__

    @property
    def type(self):
        return self.dtype

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def T(self):
        return _shapes().trans(self)

    def __getitem__(self, index):
        return _shapes().index(self, index)


def _shapes():
    from . import shapes
    return shapes


def _semantic():
    from . import semantic
    return semantic


def _operator(name):
    def forward(self, other):
        return _semantic().binary(name, self, other)

    def backward(self, other):
        return _semantic().binary(name, other, self)
    return forward, backward


for _python, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("floordiv", "floordiv"), ("mod", "mod"),
                       ("and", "and"), ("or", "or"), ("xor", "xor"), ("lshift", "shl"), ("rshift", "shr")):
    _forward, _backward = _operator(_name)
    setattr(tensor, f"__{_python}__", _forward)
    setattr(tensor, f"__r{_python}__", _backward)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(tensor, f"__{_name}__", _operator(_name)[0])
tensor.__neg__ = lambda self: _semantic().negate(self)
tensor.__invert__ = lambda self: _semantic().invert(self)


class pointer(tensor):
    """An address or a tile of addresses: `base` (an SSA i64), `scalar` and `offsets` (tensors of elements, or None)."""

    __slots__ = ("base", "scalar", "offsets", "origin")

    def __init__(self, base, element, scalar=None, offsets=None, origin=None):
        super().__init__(None, dtypes.pointer_type(element), offsets.shape if offsets is not None else ())
        self.base, self.scalar, self.offsets, self.origin = base, scalar, offsets, origin

    @property
    def element(self):
        return self.dtype.element_ty

    def replace(self, **changes):
        state = {"base": self.base, "element": self.element, "scalar": self.scalar, "offsets": self.offsets, "origin": self.origin}
        return pointer(**{**state, **changes})


def constant_of(value, what, kind=int):
    """A compile-time constant of a kind (int, bool, float, str); errors name `what`."""
    if isinstance(value, constexpr):
        value = value.value
    static = getattr(value, "make_static", None)
    if static is not None and kind is int:
        value = static()
    if isinstance(value, tensor):
        raise ProgramError(f"{what} is {describe(value)}, a run-time value; needed a compile-time constant (a tl.constexpr parameter)")
    if kind is int and hasattr(value, "__index__"):
        return int(value.__index__())
    if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
        raise ProgramError(f"{what} is {describe(value)}; needed {'an' if kind is int else 'a'} {kind.__name__}")
    return value


def shape_of(shape, what):
    """A tuple of positive extents out of a shape given by the user."""
    if not isinstance(shape, (tuple, list)):
        shape = (shape,)
    result = tuple(constant_of(extent, f"{what}: extent {index}") for index, extent in enumerate(shape))
    for index, extent in enumerate(result):
        if extent < 1:
            raise ProgramError(f"{what}: extent {index} is {extent}; needed 1 or more")
    return result


# Methods by the names of the functions.
def _method(module, name):
    def method(self, *args, **keywords):
        import importlib
        return getattr(importlib.import_module(f"tileloom.language.{module}"), name)(self, *args, **keywords)
    method.__name__ = name
    return method


for _module, _names in (("shapes", ("reshape", "trans", "permute", "expand_dims", "broadcast_to", "ravel")), ("shapes", ("cast",)),
                        ("reductions", ("sum", "max", "min", "argmax", "argmin", "cumsum")), ("combine", ("reduce", "associative_scan", "cumprod")),
                        ("rearrange", ("split", "flip")), ("indexed", ("gather", "histogram")),
                        ("functions", ("abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid"))):
    for _name in _names:
        setattr(tensor, _name, _method(_module, _name))
tensor.to = tensor.cast
tensor.view = tensor.reshape
