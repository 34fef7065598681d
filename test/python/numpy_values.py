"""Values of the language in NumPy: tiles and scalars (T), pointers (P), views (V), and the arithmetic between them. numpy_language.py has the functions."""

import builtins
import types

import ml_dtypes
import numpy as np

from tileloom.language import dtypes

NUMPY = {
    dtypes.int1: np.bool_,
    dtypes.float16: np.float16,
    dtypes.bfloat16: ml_dtypes.bfloat16,
    dtypes.float32: np.float32,
    dtypes.float64: np.float64,
    dtypes.float8e4nv: ml_dtypes.float8_e4m3fn,
    dtypes.float8e5: ml_dtypes.float8_e5m2,
    **{getattr(dtypes, f"{s}int{b}"): getattr(np, f"{s}int{b}") for s in ("", "u") for b in (8, 16, 32, 64)},
}
OF_NUMPY = {np.dtype(own): dtype for dtype, own in NUMPY.items()}


class T:
    """A tile or scalar: an array and its type. tiled: an offset of a tile, for boxes that leave out dimensions."""

    __array_ufunc__ = None

    def __init__(self, array, dtype, tiled=False):
        self.a, self.dtype, self.tiled = np.asarray(array, NUMPY[dtype]), dtype, tiled

    @property
    def shape(self):
        return self.a.shape

    def __bool__(self):
        assert self.a.ndim == 0
        return builtins.bool(self.a)

    def __index__(self):
        assert self.a.ndim == 0 and not self.dtype.is_floating()
        return int(self.a)

    def __getitem__(self, index):
        return T(self.a[index], self.dtype)

    @property
    def T(self):
        return T(self.a.T, self.dtype)

    def to(self, dtype, bitcast=False):
        return cast(self, dtype, bitcast)

    def __neg__(self):
        if self.dtype.is_floating():
            return T(-self.a, self.dtype)
        return binary("sub", 0, self)

    def __invert__(self):
        return binary("xor", self, True if self.dtype.is_bool() else -1)


def scalar(value):
    """An argument or number as a run-time scalar."""
    return value if isinstance(value, T) else T(value, dtypes.of_python(value))


def cast(x, dtype, bitcast=False):
    x = scalar(x)
    if x.dtype is dtype:
        return x
    if bitcast:
        return T(x.a.view(NUMPY[dtype]), dtype)
    with np.errstate(all="ignore"):
        if dtype.is_bool():
            return T(x.a != 0, dtype)
        if x.dtype.is_floating() and dtype.is_floating():
            middle = x.a.astype(np.float32) if x.dtype.bits <= 16 or dtype.bits == 8 and x.dtype.bits == 32 else x.a
            return T(middle.astype(NUMPY[dtype]), dtype)
        if x.dtype.is_floating():
            return T(np.trunc(x.a.astype(np.float64)).astype(np.int64 if not (dtype.is_int_unsigned() and dtype.bits == 64) else np.uint64), dtypes.int64).to(
                dtype
            )
        if dtype.is_floating():
            if dtype.bits == 8:
                return cast(cast(x, dtypes.float32), dtype)
            return T(x.a.astype(np.float64 if x.dtype.bits < 64 else np.float32 if dtype.bits <= 32 else np.float64).astype(NUMPY[dtype]), dtype)
        return T(x.a.astype(NUMPY[dtype]), dtype)


def unify(a, b, division=False):
    numbers = [not isinstance(v, T) for v in (a, b)]
    if all(numbers):
        dtype = dtypes.promotion(dtypes.of_python(a), dtypes.of_python(b), division)
    elif any(numbers):
        number, other = (a, b) if numbers[0] else (b, a)
        dtype = dtypes.weak_promotion(other.dtype, number, division)
    else:
        dtype = dtypes.promotion(a.dtype, b.dtype, division)

    def typed(value):
        if isinstance(value, T):
            return cast(value, dtype)
        if dtype.is_int():
            return T(np.array(value & ((1 << dtype.bits) - 1), np.uint64).astype(NUMPY[dtype]), dtype)
        return T(np.asarray(value).astype(NUMPY[dtype]), dtype)

    return typed(a), typed(b)


def _divide(a, b):
    """Toward zero; the least number of a narrow type has no absolute value in it."""
    a, b = (v.astype(np.int64) if v.dtype.itemsize < 8 else v for v in (a, b))
    q = np.abs(a) // np.abs(b)
    return np.where((a < 0) != (b < 0), -q, q)


COMPARE = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}


def binary(name, a, b):
    if isinstance(a, P) or isinstance(b, P):
        return a.offset(b) if isinstance(a, P) else b.offset(a)
    integers = all(not isinstance(v, float) and not (isinstance(v, T) and v.dtype.is_floating()) for v in (a, b))
    tiled = any(isinstance(v, T) and v.tiled for v in (a, b)) and name in ("add", "sub", "mul")
    if name == "div" and integers:
        a, b = cast(a, dtypes.float32), cast(b, dtypes.float32)
    a, b = unify(a, b, name in ("div", "mod"))
    with np.errstate(all="ignore"):
        if name in COMPARE:
            return T(COMPARE[name](a.a, b.a), dtypes.int1)
        if a.dtype.is_bool() and name not in ("and", "or", "xor"):
            a, b = cast(a, dtypes.int32), cast(b, dtypes.int32)
        if a.dtype.is_floating():
            wide = [v.a.astype(np.float64) for v in (a, b)]
            r = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": np.fmod}[name](*wide)
            return T(r.astype(np.float32).astype(NUMPY[a.dtype]) if a.dtype.bits < 64 else r, a.dtype)
        dtype = a.dtype
        if name in ("floordiv", "mod"):
            q = _divide(a.a, b.a).astype(NUMPY[dtype])
            r = q if name == "floordiv" else (a.a - q * b.a)
        else:
            r = {
                "add": np.add,
                "sub": np.subtract,
                "mul": np.multiply,
                "and": np.bitwise_and,
                "or": np.bitwise_or,
                "xor": np.bitwise_xor,
                "shl": np.left_shift,
                "shr": np.right_shift,
            }[name](a.a, b.a)
    return T(r, dtype, tiled=tiled)


for _python, _name in (
    ("add", "add"),
    ("sub", "sub"),
    ("mul", "mul"),
    ("truediv", "div"),
    ("floordiv", "floordiv"),
    ("mod", "mod"),
    ("and", "and"),
    ("or", "or"),
    ("xor", "xor"),
    ("lshift", "shl"),
    ("rshift", "shr"),
):
    setattr(T, f"__{_python}__", lambda self, other, name=_name: binary(name, self, other))
    setattr(T, f"__r{_python}__", lambda self, other, name=_name: binary(name, other, self))
for _name in COMPARE:
    setattr(T, f"__{_name}__", lambda self, other, name=_name: binary(name, self, other))
T.__hash__ = None


class P:
    """A pointer: flat memory and offsets in elements."""

    __array_ufunc__ = None

    def __init__(self, memory, dtype, at=0):
        self.memory, self.dtype, self.at = memory, types.SimpleNamespace(element_ty=dtype), np.asarray(at, np.int64)

    def offset(self, by):
        return P(self.memory, self.dtype.element_ty, self.at + (by.a.astype(np.int64) if isinstance(by, T) else by))

    __add__ = __radd__ = offset


class V:
    """A view."""

    def __init__(self, array):
        self.array, self.dtype = array, OF_NUMPY[array.dtype]
        self.shape = tuple(T(n, dtypes.int32) for n in array.shape)

    def _box(self, coordinates, shape):
        if len(shape) < self.array.ndim:
            full, own = [1] * self.array.ndim, [i for i in builtins.range(self.array.ndim - 1) if isinstance(coordinates[i], T) and coordinates[i].tiled]
            for axis, extent in zip(own, shape):
                full[axis] = extent
            full[-1] = shape[-1]
            shape = full
        places = [int(c) + np.arange(n) for c, n in zip(coordinates, shape)]
        inside = [(p >= 0) & (p < n) for p, n in zip(places, self.array.shape)]
        return np.ix_(*(p[i] for p, i in zip(places, inside))), np.ix_(*(np.nonzero(i)[0] for i in inside)), tuple(shape)

    def load(self, coordinates, box):
        source, place, full = self._box(coordinates, box)
        r = np.zeros(full, self.array.dtype)
        r[place] = self.array[source]
        return T(r.reshape(tuple(box)), self.dtype)

    def store(self, coordinates, value):
        assert value.dtype is self.dtype
        source, place, full = self._box(coordinates, value.shape)
        self.array[source] = value.a.reshape(full)[place]

    def _combine(self, function, coordinates, value):
        source, place, full = self._box(coordinates, value.shape)
        self.array[source] = function(self.array[source], value.a.reshape(full)[place])

    def atomic_add(self, coordinates, value):
        self._combine(np.add, coordinates, value)

    def atomic_max(self, coordinates, value):
        self._combine(np.maximum, coordinates, value)

    def atomic_min(self, coordinates, value):
        self._combine(np.minimum, coordinates, value)
