"""Products of tiles with three dimensions: one product for each entry of the first, the batch."""

from ..frontend.errors import ProgramError
from . import semantic
from .rearrange import _as_bits, _from_bits
from .shapes import _expand, _reshape
from .trees import _along, _chosen
from .values import describe


def _entry(x, index):
    """x[index], by a choice of bits along the batch."""
    here = semantic.compare("eq", _along(x.shape[0], len(x.shape), 0), index)
    return _reshape(_from_bits(_chosen(_as_bits(x), here, 0), x.dtype), x.shape[1:])


def batched_dot(a, b, acc, dot):
    """[B, M, K] by [B, K, N], added to `acc` [B, M, N]; `dot` multiplies two matrices and adds a third one."""
    if len(a.shape) != 3 or len(b.shape) != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise ProgramError(f"tl.dot: the operands are {describe(a)} and {describe(b)}; needed [B, M, K] and [B, K, N]")
    shape = (a.shape[0], a.shape[1], b.shape[2])
    if acc is not None:
        acc = semantic.to_tensor(acc)
        if acc.shape != shape:
            raise ProgramError(f"tl.dot: the accumulator is {describe(acc)}; needed the shape {list(shape)}")
    result = None
    for index in range(shape[0]):
        own = _expand(dot(_entry(a, index), _entry(b, index), None if acc is None else _entry(acc, index)), 0)
        here = semantic.compare("eq", _along(shape[0], 3, 0), index)
        result = own if result is None else semantic.where(here, own, result)
    return result
