"""What memory tensors (of facts) have in common: results may share it neither with what is read for other elements, nor between two of their own."""

import math

from .arrays import require


def require_own(kernel, results, read=None, same=()):
    """Results, {name: facts}, that have an element of its own for each index, and share no memory with each other or with what is read. same: names
    among `read` that may be the result itself, as each element is read only where it is written."""
    for name, result in results.items():
        require(_distinct(result), kernel, name, f"has strides {list(result.strides)}", "an element of its own for each index")
        for other, tensor in {**(read or {}), **results}.items():
            if other != name and not (other in same and is_same(result, tensor)):
                require(not share(result, tensor), kernel, name, f"shares memory with '{other}'", "memory of its own")


def is_same(one, other):
    """Whether two tensors are one: each index means the same element."""
    return one[:4] == other[:4]


def share(one, other):
    """Whether two tensors have bytes in common; True too where that is not known: rows that begin at unlike distances."""
    if one.device != other.device or 0 in one.shape or 0 in other.shape:
        return False
    (begin, end, row, steps), (other_begin, other_end, other_row, other_steps) = _bytes(one), _bytes(other)
    if end <= other_begin or other_end <= begin:
        return False
    period = math.gcd(*steps, *other_steps)
    if row + other_row > period:
        return True
    after = (other_begin - begin) % period
    return not row <= after <= period - other_row


def _bytes(tensor):
    """(first byte, the one behind the last, bytes that follow each other, distances in bytes between such rows)."""
    size = tensor.dtype.itemsize
    begin, end, row, steps = tensor.address, tensor.address + size, size, []
    for step, extent in sorted((step * size, extent) for extent, step in zip(tensor.shape, tensor.strides) if extent > 1 and step):
        if step < 0:
            begin += step * (extent - 1)
        else:
            end += step * (extent - 1)
        if step == row:
            row *= extent
        else:
            steps.append(step)
    return begin, end, row, steps


def _distinct(tensor):
    """Whether no two indices mean the same element (of tensors whose dimensions lie within each other, which all that one meets do)."""
    reach = 1
    for step, extent in sorted((abs(step), extent) for extent, step in zip(tensor.shape, tensor.strides) if extent > 1):
        if step < reach and 0 not in tensor.shape:
            return False
        reach += step * (extent - 1)
    return True
