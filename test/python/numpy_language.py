"""The language run by NumPy: kernels of the tests as Python functions of arrays, one program after the other. Each operation rounds to the type that the
language gives it; sums, products and functions are taken in fp64 and rounded once. `run(text, name, grid, arguments, constants)` changes the arrays."""

import builtins
import itertools
import types

import numpy as np

from numpy_values import NUMPY, OF_NUMPY, P, T, V, cast, scalar, unify

from tileloom.language import dtypes

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


def gather(x, index, axis):
    return T(np.take_along_axis(x.a, index.a.astype(np.int64), axis), x.dtype)


def histogram(x, bins, mask=None):
    inside = _mask(mask, x.shape) & (x.a >= 0) & (x.a < bins)
    return T(np.bincount(x.a[inside].astype(np.int64), minlength=bins), dtypes.int32)


def descriptor(p, shape, strides, block_shape):
    """A view of the memory behind a pointer whose boxes have one shape."""
    extents, steps = [int(n) for n in shape], [int(n) * p.memory.itemsize for n in strides]
    bits = p.memory[int(p.at) :].view(f"u{p.memory.itemsize}")
    view = V(np.lib.stride_tricks.as_strided(bits, extents, steps).view(p.memory.dtype))
    read, box = view.load, list(block_shape)
    view.load = lambda offsets: read([o if isinstance(o, T) else T(o, dtypes.int32) for o in offsets], box)
    return view


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
    gather=gather,
    histogram=histogram,
    make_tensor_descriptor=descriptor,
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
