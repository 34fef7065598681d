"""The language run by NumPy: kernels of the tests as Python functions of arrays, one program after the other. Each operation rounds to the type that the
language gives it; sums, products and functions are taken in fp64 and rounded once. `run(text, name, grid, arguments, constants)` changes the arrays."""

import builtins
import itertools
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
            own = cast(self, dtypes.float16) if self.dtype.is_fp8() else self
            return T(-own.a, own.dtype)
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
        dtype = dtypes.weak_promotion(other.dtype, number)
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


# The functions of `tl`.


def _mask(mask, shape):
    mask = True if mask is None else mask
    return np.broadcast_to(mask.a != 0 if isinstance(mask, T) else mask, shape)


def load(p, mask=None, other=None):
    mask = _mask(mask, p.at.shape)
    dtype = p.dtype.element_ty
    fill = np.broadcast_to(cast(other, dtype).a if isinstance(other, T) else np.asarray(other or 0).astype(NUMPY[dtype]), p.at.shape)
    assert ((p.at >= 0) & (p.at < len(p.memory)))[mask].all()
    return T(np.where(mask, p.memory[np.where(mask, p.at, 0)] if len(p.memory) else fill, fill), dtype)


def store(p, x, mask=None):
    mask = _mask(mask, p.at.shape)
    x = np.broadcast_to(cast(x, p.dtype.element_ty).a if isinstance(x, T) else np.asarray(x).astype(p.memory.dtype), p.at.shape)
    assert ((p.at >= 0) & (p.at < len(p.memory)))[mask].all()
    p.memory[p.at[mask]] = x[mask]


def _atomic(function):
    def atomic(p, x, mask=None, sem=None, scope=None):
        mask = _mask(mask, p.at.shape)
        x = np.broadcast_to(cast(x, p.dtype.element_ty).a, p.at.shape)
        old = np.zeros(p.at.shape, p.memory.dtype)
        with np.errstate(all="ignore"):
            for i in np.ndindex(p.at.shape):
                if mask[i]:
                    old[i] = p.memory[p.at[i]]
                    p.memory[p.at[i]] = function(old[i], x[i])
        return T(old, p.dtype.element_ty)

    return atomic


def atomic_cas(p, compare, x, sem=None, scope=None):
    x, compare = (np.broadcast_to(cast(v, p.dtype.element_ty).a, p.at.shape) for v in (x, compare))
    old = np.zeros(p.at.shape, p.memory.dtype)
    for i in np.ndindex(p.at.shape):
        old[i] = p.memory[p.at[i]]
        if old[i] == compare[i]:
            p.memory[p.at[i]] = x[i]
    return T(old, p.dtype.element_ty)


def _alike(x, y):
    return (x, y) if isinstance(x, T) and isinstance(y, T) and x.dtype is y.dtype else unify(x, y)


def where(c, x, y):
    x, y = _alike(x, y)
    return T(np.where(cast(c, dtypes.int1).a, x.a, y.a), x.dtype)


def _extreme_of_two(name):
    def function(x, y, propagate_nan=False):
        if not isinstance(x, T) and not isinstance(y, T):
            return getattr(builtins, name)(x, y)
        x, y = unify(x, y)
        if x.dtype.is_fp8():
            x, y = cast(x, dtypes.float16), cast(y, dtypes.float16)
        if x.dtype.is_floating() and not propagate_nan:
            own = getattr(np, "f" + name)(x.a.astype(np.float64), y.a.astype(np.float64))
        else:
            own = getattr(np, name + "imum")(x.a, y.a)
        return T(own, x.dtype)

    return function


maximum, minimum = _extreme_of_two("max"), _extreme_of_two("min")


def arange(start, end):
    return T(np.arange(start, end), dtypes.int32)


def full(shape, value, dtype=dtypes.float32):
    return T(np.broadcast_to(cast(value, dtype).a if isinstance(value, T) else np.asarray(value).astype(NUMPY[dtype]), shape), dtype)


def dot(a, b, acc=None, out_dtype=None):
    whole = a.dtype is dtypes.int8
    x, y = (v.a.astype(np.int64 if whole else np.float64) for v in (a, b))
    r = x @ y + (acc.a.astype(x.dtype) if acc is not None else 0)
    out = dtypes.int32 if whole else acc.dtype if acc is not None else out_dtype or dtypes.float32
    return T(r.astype(np.int32) if whole else r.astype(NUMPY[out]), out)


def _widened(x):
    return x if x.dtype.bits >= 32 else cast(x, dtypes.float32 if x.dtype.is_floating() else dtypes.int32)


def _result(r, x, axis, keep_dims, dtype=None):
    if keep_dims:
        r = np.expand_dims(r, axis) if axis is not None else np.reshape(r, (1,) * x.a.ndim)
    return T(r, dtype or x.dtype)


def sum(x, axis=None, keep_dims=False, dtype=None):
    if dtype is not None:
        x = cast(x, dtype)
    elif x.dtype.is_bool() or x.dtype.is_int() and x.dtype.bits < 32:
        x = cast(x, dtypes.uint32 if x.dtype.is_int_unsigned() else dtypes.int32)
    with np.errstate(all="ignore"):
        r = x.a.astype(np.float64).sum(axis) if x.dtype.is_floating() else x.a.sum(axis, dtype=x.a.dtype)
    return _result(r, x, axis, keep_dims)


def _extreme(name):
    def function(x, axis=None, return_indices=False, keep_dims=False):
        x = _widened(x)
        r = _result(getattr(x.a.astype(np.float64) if x.dtype.is_floating() else x.a, name)(axis), x, axis, keep_dims)
        return (r, _result(getattr(x.a, "arg" + name)(axis), x, axis, keep_dims, dtypes.int32)) if return_indices else r

    return function


def argmax(x, axis, tie_break_left=True, keep_dims=False):
    return _result(_widened(x).a.argmax(axis), x, axis, keep_dims, dtypes.int32)


def argmin(x, axis, tie_break_left=True, keep_dims=False):
    return _result(_widened(x).a.argmin(axis), x, axis, keep_dims, dtypes.int32)


def _scan(function):
    def scan(x, axis=0, reverse=False, dtype=None):
        x = cast(x, dtype) if dtype is not None else cast(x, dtypes.int32) if x.dtype.is_bool() or x.dtype.is_int() and x.dtype.bits < 32 else x
        a = x.a.astype(np.float64) if x.dtype.is_floating() else x.a
        a = np.flip(a, axis) if reverse else a
        with np.errstate(all="ignore"):
            r = function(a, axis, dtype=a.dtype)
        return T(np.flip(r, axis) if reverse else r, x.dtype)

    return scan


def _function(function):
    def unary(x):
        with np.errstate(all="ignore"):
            return T(function(x.a.astype(np.float64)), x.dtype) if isinstance(x, T) else float(function(x))

    return unary


def absolute(x):
    with np.errstate(all="ignore"):
        return T(x.a if x.dtype.is_bool() or x.dtype.is_int_unsigned() else np.abs(x.a), x.dtype)


def reshape(x, *shape):
    return T(x.a.reshape(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape), x.dtype)


def trans(x, *dims):
    return T(x.a.transpose(*dims), x.dtype)


def broadcast_to(x, *shape):
    return T(np.broadcast_to(x.a, shape[0] if isinstance(shape[0], tuple) else shape), x.dtype)


def join(a, b):
    a, b = _alike(a, b)
    return T(np.stack(np.broadcast_arrays(a.a, b.a), -1), a.dtype)


def split(x):
    return T(x.a[..., 0], x.dtype), T(x.a[..., 1], x.dtype)


def interleave(a, b):
    r = join(a, b)
    return T(r.a.reshape(*r.shape[:-2], -1), r.dtype)


def flip(x, dim=None):
    return T(np.flip(x.a, -1 if dim is None else dim), x.dtype)


def sort(x, dim=None, descending=False):
    r = np.sort(x.a.astype(np.float64) if x.dtype.is_floating() else x.a, -1)
    return T(np.flip(r, -1) if descending else r, x.dtype)


def topk(x, k):
    return T(sort(x, descending=True).a[..., :k], x.dtype)


def cat(a, b):
    return T(np.concatenate([a.a, b.a]), a.dtype)


def xor_sum(x, axis=None, keep_dims=False):
    return _result(np.bitwise_xor.reduce(x.a, axis if axis is not None else tuple(builtins.range(x.a.ndim))), x, axis, keep_dims)


def expand_dims(x, axis):
    return T(np.expand_dims(x.a, axis), x.dtype)


def fma(x, y, z):
    return T(x.a.astype(np.float64) * y.a.astype(np.float64) + z.a.astype(np.float64), x.dtype)


def counted(*bounds, num_stages=None, loop_unroll_factor=None):
    for i in builtins.range(*map(int, bounds)):
        yield T(i, dtypes.int32, tiled=len(bounds) == 3 and int(bounds[2]) != 1)


def tiles(*extents, scheduler=None):
    ranges = [
        [T(i, dtypes.int32, tiled=isinstance(e, tuple)) for i in (builtins.range(0, int(e[0]), int(e[1])) if isinstance(e, tuple) else builtins.range(int(e)))]
        for e in extents
    ]
    return itertools.product(*ranges)


_place = [0, 0, 0]
_grid = [1, 1, 1]
language = types.SimpleNamespace(
    **{name: getattr(dtypes, name) for name in dir(dtypes) if isinstance(getattr(dtypes, name), dtypes.dtype)},
    jit=lambda f: f,
    view="view",
    constexpr="constexpr",
    cast=cast,
    load=load,
    store=store,
    where=where,
    maximum=maximum,
    minimum=minimum,
    arange=arange,
    full=full,
    zeros=lambda shape, dtype=dtypes.float32: full(shape, 0, dtype),
    dot=dot,
    sum=sum,
    max=_extreme("max"),
    min=_extreme("min"),
    argmax=argmax,
    argmin=argmin,
    cumsum=_scan(np.cumsum),
    cumprod=_scan(np.cumprod),
    abs=absolute,
    reshape=reshape,
    trans=trans,
    permute=trans,
    broadcast_to=broadcast_to,
    join=join,
    split=split,
    interleave=interleave,
    flip=flip,
    sort=sort,
    topk=topk,
    cat=cat,
    xor_sum=xor_sum,
    expand_dims=expand_dims,
    fma=fma,
    range=counted,
    static_range=builtins.range,
    tiles=tiles,
    program_id=lambda axis: T(_place[axis], dtypes.int32),
    num_programs=lambda axis: T(_grid[axis], dtypes.int32),
    zeros_like=lambda x: full(x.shape, 0, x.dtype),
    cdiv=lambda a, b: (a + (b - 1)) // b,
    atomic_cas=atomic_cas,
    clamp=lambda x, low, high: minimum(maximum(x, low), high),
    **{
        f"atomic_{name}": _atomic(function)
        for name, function in (
            ("add", lambda a, b: a + b),
            ("max", lambda a, b: max(a, b)),
            ("min", lambda a, b: min(a, b)),
            ("and", lambda a, b: a & b),
            ("or", lambda a, b: a | b),
            ("xor", lambda a, b: a ^ b),
            ("xchg", lambda a, b: b),
        )
    },
    **{name: _function(getattr(np, name)) for name in ("exp", "exp2", "log", "log2", "sqrt", "floor", "ceil", "tanh", "sin", "cos")},
    rsqrt=_function(lambda x: 1 / np.sqrt(x)),
    sigmoid=_function(lambda x: 1 / (1 + np.exp(-x))),
    ravel=lambda x: T(x.a.reshape(-1), x.dtype),
    static_assert=lambda *a: None,
)


def run(text, name, grid, arguments, constants=(), views=()):
    """Runs kernel `name` of `text` on NumPy arrays (changed in place) and numbers, for all programs of `grid`. views: names of parameters that are views."""
    scope = {"tl": language, "range": counted, "min": minimum, "max": maximum}
    exec(compile(text.replace("import tileloom as tl", ""), "<kernel>", "exec"), scope)
    given = {}
    for key, value in arguments.items():
        if isinstance(value, np.ndarray):
            given[key] = V(value) if key in views else P(value.reshape(-1), OF_NUMPY[value.dtype])
            assert key in views or np.shares_memory(given[key].memory, value) or not value.size
        else:
            given[key] = scalar(value)
    _grid[:] = (tuple(grid) + (1, 1, 1))[:3]
    for place in itertools.product(*map(range, reversed(_grid))):
        _place[:] = reversed(place)
        scope[name](**given, **dict(constants))
