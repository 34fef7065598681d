"""What the wrappers need of torch tensors and NumPy arrays alike."""

import sys

from ..dispatch import facts
from ..language import dtypes
from ..runtime.errors import ArgumentError
from . import remember

HALF = (dtypes.float16, dtypes.bfloat16)


def facts_of(value, kernel, name):
    """facts.Tensor of an argument; refuses anything else."""
    found = facts.tensor_of(value, f"{kernel}: '{name}'")
    if found is None:
        raise ArgumentError(f"{kernel}: '{name}' is of type {type(value).__name__}; needed a tensor")
    return found


def require(condition, kernel, name, found, needed):
    if not condition:
        raise ArgumentError(f"{kernel}: '{name}' {found}; needed {needed}")


def require_rank(tensor, rank, kernel, name, needed):
    require(len(tensor.shape) == rank, kernel, name, f"has shape {list(tensor.shape)}", needed)


def require_type(tensor, types, kernel, name):
    require(tensor.dtype in types, kernel, name, f"is of {tensor.dtype}", " or ".join(t.name for t in types))


def require_shape(tensor, shape, kernel, name, why):
    require(tuple(tensor.shape) == tuple(shape), kernel, name, f"has shape {list(tensor.shape)}", f"{list(shape)}, {why}")


def require_contiguous(tensor, shape, dtype, kernel, name, why):
    """A tensor of this shape and type, one element behind the other; one without elements has no order."""
    require_shape(tensor, shape, kernel, name, why)
    require_type(tensor, (dtype,), kernel, name)
    if 0 in tensor.shape:
        return
    step = 1
    for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides)):
        require(stride == step or extent < 2, kernel, name, f"has strides {list(tensor.strides)}", "a contiguous tensor")
        step *= extent


def require_device(reference, others, kernel):
    """All tensors on the device of the first."""
    name, first = reference
    for other, tensor in others.items():
        require(tensor.device == first.device, kernel, other, f"is on {_device(tensor)}", f"{_device(first)}, where '{name}' is")


def _device(tensor):
    return "the CPU" if tensor.device == -1 else f"CUDA device {tensor.device}"


def empty(like, shape, dtype, zeros=False):
    """A new tensor or array on the device of `like`. dtype: of the language."""
    name = {"float8e4nv": "float8_e4m3fn", "float8e5": "float8_e5m2"}.get(dtype.name, dtype.name)
    if hasattr(like, "data_ptr"):
        torch = sys.modules["torch"]
        result = (torch.zeros if zeros else torch.empty)(shape, dtype=getattr(torch, name), device=like.device)
        remember.created(result, shape, zeros)
        return result
    import numpy
    make = numpy.zeros if zeros else numpy.empty
    if dtype in (dtypes.bfloat16, dtypes.float8e4nv, dtypes.float8e5):
        import ml_dtypes
        return make(shape, getattr(ml_dtypes, name))
    return make(shape, name)


def zeros(like, shape, dtype):
    """The same, of zeros."""
    return empty(like, shape, dtype, zeros=True)


def write(target, value):
    """Copies elements, by torch or NumPy."""
    remember.copied()
    target[...] = value


def as_dtype(value, kernel, name):
    """A type of the language out of one of torch's or NumPy's, or a name."""
    try:
        return dtypes.named(getattr(value, "name", None) or getattr(value, "__name__", None) or value)
    except Exception:
        raise ArgumentError(f"{kernel}: '{name}' is {value!r}; needed an element type") from None


def fits(tensor, stored=False):
    """Whether hardware copies can take a tensor (of facts): address and rows at multiples of 16 bytes, the last stride 1.

    stored: it is written. A store through a tensor map ends at 16 bytes, not at the last element of a row (measured on an H200): rows of
    another length would spoil what lies behind them."""
    size = tensor.dtype.itemsize
    if tensor.address % 16 or (tensor.shape and tensor.strides[-1] != 1 and tensor.shape[-1] > 1):
        return False
    if stored and tensor.shape[-1] * size % 16:
        return False
    return all(step >= 0 and step * size % 16 == 0 for extent, step in zip(tensor.shape[:-1], tensor.strides) if extent > 1)


def boxed(value, tensor, fill=True):
    """`value`, whose facts are `tensor`, if hardware copies can take it; else a copy with padded rows. fill=False: without its elements."""
    if fits(tensor):
        return value
    step = 16 // tensor.dtype.itemsize
    padded = empty(value, (*tensor.shape[:-1], -(-tensor.shape[-1] // step) * step), tensor.dtype)
    result = padded[..., :tensor.shape[-1]]
    if fill:
        write(result, value)
    return result


def boxed_result(value, tensor):
    """(what to store to, what of it belongs into `value`): `value` twice, or a new tensor with longer rows and its first columns."""
    if fits(tensor, stored=True):
        return value, value
    step = 16 // tensor.dtype.itemsize
    padded = empty(value, (*tensor.shape[:-1], -(-tensor.shape[-1] // step) * step), tensor.dtype)
    return padded, padded[..., :tensor.shape[-1]]


def transposed(tensor):
    """The facts of a matrix, or of each of a batch, transposed."""
    swapped = (*range(len(tensor.shape) - 2), -1, -2)
    return tensor._replace(shape=tuple(tensor.shape[axis] for axis in swapped), strides=tuple(tensor.strides[axis] for axis in swapped))


def split_rows(value, extents):
    """A matrix with its rows counted by two indices: [extents[0], extents[1], columns], the same memory."""
    if hasattr(value, "data_ptr"):
        return value.unflatten(0, extents)
    import numpy
    rows, columns = value.strides
    return numpy.lib.stride_tricks.as_strided(value, (*extents, value.shape[1]), (rows * extents[1], rows, columns))


def is_number(value):
    """Whether a value is a number of the host: not a tensor, nor something with elements."""
    if isinstance(value, (bool, int, float)):
        return True
    return not hasattr(value, "data_ptr") and hasattr(value, "__float__") and getattr(value, "shape", ()) == ()


def as_int32(value):
    """A tensor of float32 seen as integers."""
    if hasattr(value, "data_ptr"):
        return value.view(sys.modules["torch"].int32)
    return value.view("int32")


def one_of(table, value, kernel, name):
    """The entry of a table if `value` is a name, else `value` itself."""
    if not isinstance(value, str):
        return value
    require(value in table, kernel, name, f"is {value!r}", " or ".join(map(repr, table)) + ", or a function with @tl.jit")
    return table[value]


def row_kernel(name, x, out):
    """What kernels of one program a row check: (out, facts of x, facts of out) for x [rows, columns]; a new `out` if it is None."""
    given = facts_of(x, name, "x")
    require_rank(given, 2, name, "x", "a matrix")
    require_type(given, (*HALF, dtypes.float32), name, "x")
    require(given.shape[1] <= 65536, name, "x", f"has {given.shape[1]} columns", "at most 65536")
    out = empty(x, given.shape, given.dtype) if out is None else out
    result = facts_of(out, name, "out")
    require_shape(result, given.shape, name, "out", "as 'x'")
    require_type(result, (*HALF, dtypes.float32), name, "out")
    for own, tensor in (("x", given), ("out", result)):
        require(tensor.shape[1] < 2 or tensor.strides[1] == 1, name, own, f"has strides {list(tensor.strides)}", "a last stride of 1")
    return out, given, result


def row_warps(block, least, rows):
    """Warps for a row of `block` elements, by `least` to 16: 32 elements a thread, and 64 where that leaves 8 warps. Fewer elements leave threads idle
    in the reductions, more leave too few registers for other CTAs (measured on an H200). `least`: 2, or 4 where several arrays are loaded for
    each row. One warp, of which the compiler lays several into a CTA, where that has at most 16 elements a thread and rows come in pairs."""
    if block <= 512 and rows % 2 == 0:
        return 1
    warps = min(max(block // 1024, least), 16)
    return max(8, min(block // 2048, 16)) if warps > 8 else warps
