"""What a kernel tells the host while it runs: device_print and device_assert."""

import string

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, functions, memory, semantic
from .shapes import _expand
from .values import constant_of, describe, pointer, tensor


def quoted(text):
    """A text as MLIR writes it."""
    return '"' + "".join(c if c in string.printable and c >= " " and c not in '"\\' else
                         "".join(f"\\{byte:02X}" for byte in c.encode()) for c in text) + '"'


def device_print(prefix, *args, hex=False):
    """Prints a line for every element of each argument (a tile or a scalar): "pid (x, y, z) idx (i, j) prefix: value", in any order, each element
    once. prefix: a string of ASCII. hex: integers in hexadecimal, floats with a hexadecimal mantissa. In a kernel with tl.tiles the pid is the
    number of the tile."""
    name = "tl.device_print"
    prefix = constant_of(prefix, f"{name}: prefix", str)
    if any(c not in string.printable for c in prefix):
        raise ProgramError(f"{name}: prefix is {prefix!r}; needed ASCII")
    hex = constant_of(hex, f"{name}: hex", bool)
    # Triton's: the prefix begins with a space and ends with a colon and a space.
    if args and not prefix.endswith(" "):
        prefix += " "
    if args and not prefix.endswith(": "):
        prefix = prefix[:-1] + ": "
    if len(prefix) > 2 and not prefix.startswith(" "):
        prefix = " " + prefix
    values = [semantic.to_tensor(value) for value in args]
    program = _program()
    head = f"pid ({', '.join(['%u'] * len(program))})"
    if not values:
        return _print(head + prefix.replace("%", "%%"), program)
    for index, value in enumerate(values):
        conversion, shown = _shown(value, hex)
        places = [f"%{len(str(extent - 1))}u" for extent in value.shape]
        text = f"{head} idx ({', '.join(places)}){prefix.replace('%', '%%')}" + (f"(operand {index}) " if len(values) > 1 else "")
        _print(text + conversion, [*program, *_indices(value.shape), shown])


def _print(format, values):
    handles = ", ".join(value.handle for value in values)
    types = ", ".join(tensor_type(value.shape, value.dtype.mlir) for value in values)
    builder().op(f"user.print {quoted(format + chr(10))} ({handles} : {types})")


def _program():
    """The numbers of the program: its place in the grid, or those of the tile."""
    b = builder()
    indices = b.tile_indices
    if indices is None:
        if b.has_tile_loop:
            raise ProgramError("tl.device_print behind the loop over tl.tiles; needed inside of it, where the program has a number")
        b.prints_outside = True
        return [functions.program_id(axis) for axis in (0, 1, 2)]
    zeros = [semantic.full((), 0, dtypes.int32).handle for _ in range(3 - len(indices))]
    return [tensor(handle, dtypes.int32) for handle in (*indices, *zeros)]


def _indices(shape):
    """The index of each element along each dimension, as tiles of the shape."""
    for dim, extent in enumerate(shape):
        index = tensor(builder().value(f"tile.iota : {tensor_type((extent,), 'i32')}"), dtypes.int32, (extent,))
        for other in range(len(shape)):
            if other != dim:
                index = _expand(index, other)
        yield semantic.broadcast_to(index, shape)


def _shown(value, hex):
    """C's conversion for the elements of a tensor, and the tensor as C passes it."""
    if isinstance(value, pointer):
        return "%p", memory.addresses(value)
    dtype = value.dtype
    if dtype.is_floating():
        return "%a" if hex else "%f", semantic.cast(value, dtypes.float32) if dtype.is_fp8() else value
    wide = dtype.bits == 64
    if hex:
        if not dtype.is_int_unsigned() and not dtype.is_bool():
            value = semantic.cast(value, {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}[dtype.bits])
        return f"0x%0{max(1, dtype.bits // 4)}{'ll' if wide else ''}x", value if wide else semantic.cast(value, dtypes.uint32)
    unsigned = dtype.is_int_unsigned() or dtype.is_bool()
    return f"%{'ll' if wide else ''}{'u' if unsigned else 'i'}", value if wide else semantic.cast(value, dtypes.uint32 if unsigned else dtypes.int32)


def device_assert(cond, msg="", mask=None):
    """Ends the launch with an error unless `cond` is true, for all elements where `mask` is. Only in kernels that are compiled with @tl.jit(debug=True) or
    TILELOOM_DEBUG=1, as Triton's with TRITON_DEBUG=1; otherwise nothing of it is left."""
    name = "tl.device_assert"
    cond = semantic.operand(cond)
    if isinstance(cond, tensor) and cond.dtype.is_ptr():
        raise ProgramError(f"{name}: cond is {describe(cond)}; needed a bool")
    msg = constant_of(msg, f"{name}: msg", str)
    cond = semantic.truth(cond)
    if mask is not None:
        mask = semantic.operand(mask)
        cond = semantic.binary("or", cond, semantic.invert(semantic.truth(mask)))
    b = builder()
    if b.debug:
        file, line, _ = b.place
        type = tensor_type(cond.shape, "i1")
        b.op(f"user.assert {cond.handle}, {quoted(msg)} at {quoted(file)} : {line} in {quoted(b.kernel)} : {type}")


def expect_zero(x, mask):
    """`x`, which should be zero where `mask` is true: a device_assert says if it is not."""
    x = semantic.to_tensor(x)
    if builder().debug:
        device_assert(semantic.compare("eq", x, 0), "tl.expect_zero: an element is not zero", mask)
    return x
