"""Reductions, scans and orders along a dimension for any combination: log2(extent) steps on pairs of elements. A pair is a dimension of extent two;
what one of a pair holds goes to the other as a sum of bits (rearrange.py), in any layout. What the machine's reductions know is faster (combine.py)."""

from ..frontend.errors import ProgramError
from . import semantic
from .rearrange import _as_bits, _from_bits, _numbers, flip, join
from .reductions import _axis, _reduce
from .shapes import _expand, _reshape, arange, permute, ravel
from .values import constant_of, describe


def _along(extent, rank, at):
    """0 to extent - 1 along dimension `at` of `rank`."""
    index = arange(0, extent) if extent > 1 else semantic.full((1,), 0, semantic.to_tensor(0).dtype)
    for dim in range(rank):
        if dim != at:
            index = _expand(index, dim)
    return index


def _power_of_two(x, at, name):
    if x.shape[at] & (x.shape[at] - 1):
        raise ProgramError(f"{name}: extent {at} of {describe(x)} is {x.shape[at]}; needed a power of two")


def _chosen(bits, condition, dim):
    """The elements where `condition` holds, one along `dim`, which stays with extent 1."""
    return _reduce("add", semantic.where(condition, bits, 0), dim, True, "")


def _split(shape, at, *parts):
    return (*shape[:at], *parts, *shape[at + 1:])


def tree_reduce(values, axis, combine, keep_dims, name):
    """The elements of `values` (tiles of one shape) along `axis` (all, if it is None), combined in order by `combine`, a function of two tuples."""
    rank = len(values[0].shape)
    at = 0 if axis is None else _axis(values[0], axis, name)
    if axis is None:
        values = [ravel(value) for value in values]
    _power_of_two(values[0], at, name)
    keep = constant_of(keep_dims, f"{name}: keep_dims", bool)
    while values[0].shape[at] > 1:
        shape = _split(values[0].shape, at, values[0].shape[at] // 2, 2)
        which = _along(2, len(shape), at + 1)
        halves = []
        for own in (0, 1):
            condition = semantic.compare("eq", which, own)
            halves.append([_from_bits(_reshape(_chosen(_as_bits(_reshape(value, shape)), condition, at + 1), _split(value.shape, at, shape[at])),
                                      value.dtype) for value in values])
        values = combine(*halves)
    results = [_from_bits(_reduce("add", _as_bits(value), at, keep and axis is not None, name), value.dtype) for value in values]
    return [semantic.broadcast_to(result, (1,) * rank) for result in results] if keep and axis is None else results


def tree_scan(values, axis, combine, reverse, name):
    """Running combinations of `values` along `axis`: in step k, what the first half of 2^(k+1) elements gives is combined with each of the second."""
    at = _axis(values[0], axis, name)
    _power_of_two(values[0], at, name)
    reverse = constant_of(reverse, f"{name}: reverse", bool)
    if reverse:
        values = [flip(value, at) for value in values]
    extent, half = values[0].shape[at], 1
    while half < extent:
        blocks = extent // half // 2
        shape, dim = (_split(values[0].shape, at, blocks, 2 * half), at + 1) if blocks > 1 else (values[0].shape, at)
        place = _along(2 * half, len(shape), dim)
        last, second = semantic.compare("eq", place, half - 1), semantic.compare("ge", place, half)
        own = [_reshape(value, shape) for value in values]
        before = [_from_bits(semantic.broadcast_to(_chosen(_as_bits(value), last, dim), shape), value.dtype) for value in own]
        values = [_reshape(semantic.where(second, new, old), value.shape) for new, old, value in zip(combine(before, own), own, values)]
        half *= 2
    return [flip(value, at) for value in values] if reverse else values


def _last(x, dim, name):
    """x with dimension `dim` (by default the last) moved to the end, and the order that moves it back."""
    rank = len(x.shape)
    at = rank - 1 if dim is None else _axis(x, dim, name)
    order = [*(d for d in range(rank) if d != at), at]
    return permute(x, order), [order.index(d) for d in range(rank)]


def sort(x, dim=None, descending=False):
    """The elements in order along `dim` (by default the last; a power of two): a bitonic network. Where NaNs go is not said."""
    x, = _numbers("tl.sort", x)
    if not x.shape:
        raise ProgramError(f"tl.sort of {describe(x)}; needed a tile")
    x, back = _last(x, dim, "tl.sort")
    return permute(_sorted(x, constant_of(descending, "tl.sort: descending", bool), "tl.sort"), back)


def _sorted(x, descending, name):
    at = len(x.shape) - 1
    _power_of_two(x, at, name)
    extent, bits, size = x.shape[at], _as_bits(x), 2
    while size <= extent:
        distance = size // 2
        while distance:
            bits = _exchanged(bits, x.dtype, at, size, distance, descending)
            distance //= 2
        size *= 2
    return _from_bits(bits, x.dtype)


def _exchanged(bits, dtype, at, size, distance, descending):
    """One step: elements `distance` apart in order, in runs of `size` that go up and down in turn; the last run goes as asked."""
    shape = _split(bits.shape, at, bits.shape[at] // distance // 2, 2, distance)
    pairs = _reshape(bits, shape)
    others = semantic.binary("sub", _reduce("add", pairs, at + 1, True, "tl.sort"), pairs)
    own, other = _from_bits(pairs, dtype), _from_bits(others, dtype)
    down = _along(2, len(shape), at + 1)  # whether the larger one belongs here
    if size < bits.shape[at]:
        run = semantic.binary("floordiv", _along(shape[at], len(shape), at), size // distance // 2)
        down = semantic.binary("xor", down, semantic.binary("and", run, 1))
    if descending:
        down = semantic.binary("xor", down, 1)
    takes = semantic.where(semantic.compare("eq", down, 1), semantic.compare("lt", own, other), semantic.compare("gt", own, other))
    return _reshape(semantic.where(takes, others, pairs), bits.shape)


def bitonic_merge(x, dim=None, descending=False):
    """The elements in order along `dim` (by default the last), of a sequence that first goes up and then down, or the other way round."""
    x, = _numbers("tl.bitonic_merge", x)
    if not x.shape:
        raise ProgramError(f"tl.bitonic_merge of {describe(x)}; needed a tile")
    x, back = _last(x, dim, "tl.bitonic_merge")
    at = len(x.shape) - 1
    _power_of_two(x, at, "tl.bitonic_merge")
    descending = constant_of(descending, "tl.bitonic_merge: descending", bool)
    bits, distance = _as_bits(x), x.shape[at] // 2
    while distance:
        bits = _exchanged(bits, x.dtype, at, x.shape[at], distance, descending)
        distance //= 2
    return permute(_from_bits(bits, x.dtype), back)


def topk(x, k, dim=None, descending=True):
    """The k largest elements along `dim` (by default the last), the largest first; not `descending`: the k smallest, the smallest first.
    k: a power of two."""
    k = constant_of(k, "tl.topk: k")
    x, = _numbers("tl.topk", x)
    if not x.shape:
        raise ProgramError(f"tl.topk of {describe(x)}; needed a tile")
    x, back = _last(x, dim, "tl.topk")
    ordered = _sorted(x, constant_of(descending, "tl.topk: descending", bool), "tl.topk")
    extent = ordered.shape[-1]
    if not 1 <= k <= extent or k & (k - 1):
        raise ProgramError(f"tl.topk: k is {k}; needed a power of two, at most {extent}")
    shape = (*ordered.shape[:-1], extent // k, k)
    at = len(shape) - 2
    first = semantic.compare("eq", _along(extent // k, len(shape), at), 0)
    best = _from_bits(_reshape(_chosen(_as_bits(_reshape(ordered, shape)), first, at), (*ordered.shape[:-1], k)), ordered.dtype)
    return permute(best, back)


def cat(input, other, can_reorder=False, dim=0):
    """Two tiles one after the other along `dim` (always in order)."""
    first, second = _numbers("tl.cat", input, other)
    if not first.shape or first.shape != second.shape or first.dtype is not second.dtype:
        raise ProgramError(f"tl.cat of {describe(first)} and {describe(second)}; needed two tiles of one type and shape")
    at, rank = _axis(first, dim, "tl.cat"), len(first.shape)
    # The dimension that joins them goes before the one that they are put together along.
    both = permute(join(first, second), [*range(at), rank, *range(at, rank)])
    return _reshape(both, (*first.shape[:at], 2 * first.shape[at], *first.shape[at + 1:]))


def xor_sum(input, axis=None, keep_dims=False):
    """Exclusive or of the integers along `axis` (all by default)."""
    x, = _numbers("tl.xor_sum", input)
    if x.dtype.is_floating():
        raise ProgramError(f"tl.xor_sum of {describe(x)}; needed integers")
    if not x.shape:
        raise ProgramError(f"tl.xor_sum of {describe(x)}; needed a tile")
    return tree_reduce([x], axis, lambda a, b: [semantic.binary("xor", a[0], b[0])], keep_dims, "tl.xor_sum")[0]


def reduce_or(input, axis, keep_dims=False):
    """Or of the bits of the integers along `axis` (all, if it is None)."""
    x, = _numbers("tl.reduce_or", input)
    if x.dtype.is_floating() or not x.shape:
        raise ProgramError(f"tl.reduce_or of {describe(x)}; needed a tile of integers")
    return tree_reduce([x], axis, lambda a, b: [semantic.binary("or", a[0], b[0])], keep_dims, "tl.reduce_or")[0]
