"""Memory of the launch, and what programs that share their work need to find the last of them."""

from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .values import constant_of, describe, pointer, tensor

def workspace(shape, dtype, zero=False):
    """A pointer to memory for `shape` elements (integers of the host: constants, and what is computed from the kernel's integer arguments), which no
    launch on another stream has. The same for all programs. It may hold anything; zero=True: zeros, and the kernel leaves zeros."""
    name = "tl.workspace"
    if not isinstance(dtype, dtypes.dtype):
        raise ProgramError(f"{name}: dtype is {describe(dtype)}; needed an element type")
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    size = semantic.to_tensor(dtype.itemsize, dtypes.int64)
    for index, extent in enumerate(extents):
        extent = semantic.operand(extent)
        if isinstance(extent, float) or isinstance(extent, tensor) and (extent.shape or not extent.dtype.is_int()):
            raise ProgramError(f"{name}: extent {index} is {describe(extent)}; needed an integer")
        size = semantic.binary("mul", size, semantic.cast(semantic.to_tensor(extent, dtypes.int64), dtypes.int64))
    text = "zero " if constant_of(zero, f"{name}: zero", bool) else ""
    return pointer(builder().value(f"tile.workspace {size.handle} {text}of {dtype.memory}"), dtype)


def last_arrival(index, count, extent):
    """Counts an arrival at `index`, which is below `extent` (of the host, as in tl.workspace), and says whether it is the last of `count`. What each of
    the others did before it arrived is done, and seen by what follows the last arrival. Nobody waits. Afterwards the count is zero again. One warpgroup
    has the tiles of such a program."""
    counters = workspace(extent, dtypes.int32, zero=True)
    numbers = []
    for what, value in (("index", semantic.operand(index)), ("count", semantic.operand(count))):
        if isinstance(value, float) or isinstance(value, tensor) and (value.shape or not value.dtype.is_int()):
            raise ProgramError(f"tl.last_arrival: {what} is {describe(value)}; needed an integer")
        numbers.append(semantic.cast(semantic.to_tensor(value, dtypes.int32), dtypes.int32).handle)
    return tensor(builder().value(f"tile.last_arrival {counters.base}[{numbers[0]}] of {numbers[1]}"), dtypes.int1, ())
