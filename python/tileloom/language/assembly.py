"""The user's assembly on tiles: inline_asm_elementwise."""

import re

from ..frontend.builder import tensor_type
from ..frontend.context import builder
from ..frontend.errors import ProgramError
from . import dtypes, memory, semantic
from .debug import quoted
from .values import constant_of, describe, pointer, tensor

_BITS = {"h": 16, "r": 32, "l": 64, "f": 32, "d": 64}
_OPERAND = re.compile(r"\$(\$|\d+|\{(\d+)[^}]*\})?")
_NAME = "tl.inline_asm_elementwise"


def inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack):
    """PTX for every group of `pack` elements of the tiles `args`, which are broadcast to one shape; gives a tile of element type `dtype`, or for a tuple of
    types one of each. Which elements share a group is not said.

    In `asm`, $0, $1, ... are registers: of the results first, then of the arguments; $$ is a dollar. A tile has a register for each element of the group, but
    elements of less than 32 bits share registers of 32 bits. `constraints` names the registers in order, with commas between: "=r" for a result
    ("=&r": written before all arguments are read), "r" for an argument, or the number of a result whose register it shares; "~{memory}". Letters: h 16 bits, r 32,
    l 64, f float32, d float64. is_pure: the text has no effect but its results."""
    asm, constraints = constant_of(asm, f"{_NAME}: asm", str), constant_of(constraints, f"{_NAME}: constraints", str)
    pack, pure = constant_of(pack, f"{_NAME}: pack"), constant_of(is_pure, f"{_NAME}: is_pure", bool)
    if pack < 1:
        raise ProgramError(f"{_NAME}: pack is {pack}; needed 1 or more")
    inputs = [_input(value, index) for index, value in enumerate(args if isinstance(args, (tuple, list)) else (args,))]
    single = not isinstance(dtype, (tuple, list))
    results = (dtype,) if single else tuple(dtype)
    if not results:
        raise ProgramError(f"{_NAME}: dtype is empty; needed one result or more")
    for one in results:
        if not isinstance(one, dtypes.dtype) or one.is_ptr() or one.is_bool():
            raise ProgramError(f"{_NAME}: dtype is {describe(one)}; needed a number type of 8 to 64 bits, such as tl.float32")
    _check(asm, constraints, results, [value.dtype for value in inputs], pack)
    shape = semantic.common_shape(*inputs)
    inputs = [semantic.broadcast_to(value, shape) for value in inputs]
    b = builder()
    names = [b.name() for _ in results]
    types = ", ".join(tensor_type(shape, value.dtype.mlir) for value in inputs)
    text = f"user.asm {quoted(asm)} constraints {quoted(constraints)}{f' pack {pack}' if pack > 1 else ''}{' pure' if pure else ''}"
    produced = ", ".join(tensor_type(shape, one.mlir) for one in results)
    b.op(f"{', '.join(names)} = {text} ({', '.join(value.handle for value in inputs)}) : ({types}) -> ({produced})")
    tiles = tuple(tensor(name, one, shape) for name, one in zip(names, results))
    return tiles[0] if single else tiles


def _input(value, index):
    value = semantic.to_tensor(value)
    if isinstance(value, pointer):
        return memory.addresses(value)
    if value.dtype.is_bool():
        raise ProgramError(f"{_NAME}: argument {index} is {describe(value)}; needed numbers of 8 to 64 bits: convert with .to(tl.int32)")
    return value


def _per_register(dtype, pack):
    return min(pack, 32 // dtype.bits) if dtype.bits < 32 else 1


def _check(asm, constraints, results, inputs, pack):
    """Refuses constraints that do not fit the types, and registers in the text that there are not."""
    wanted = []
    for types in (results, inputs):
        wanted.append([])
        for own in types:
            shared = _per_register(own, pack)
            if pack % shared:
                raise ProgramError(f"{_NAME}: pack is {pack} for elements of {own}; needed a multiple of {shared}, as {shared} of them share a register")
            wanted[-1] += [own] * (pack // shared)
    found, letters = [0, 0], []
    for part in (part.strip() for part in constraints.split(",")) if constraints.strip() else ():
        if part.startswith("~{") and part.endswith("}"):
            continue
        output = part.startswith("=")
        letter = part[1:].removeprefix("&") if output else part
        if output and found[1]:
            raise ProgramError(f"{_NAME}: constraint {part!r} of a result stands behind one of an argument; needed results first")
        at = found[not output]
        if at >= len(wanted[not output]):
            break
        own = wanted[not output][at]
        if not output and letter.isdigit():
            if int(letter) >= len(letters):
                raise ProgramError(f"{_NAME}: constraint {part!r}; needed the number of a result, 0 to {len(letters) - 1}")
            letter = letters[int(letter)]
        bits = _BITS.get(letter)
        if bits is None:
            raise ProgramError(f"{_NAME}: constraint {part!r}; needed one of h, r, l, f and d{', with = before it for a result' if output else ''}")
        size = own.bits * _per_register(own, pack)
        if bits != size if letter in "fd" else bits < size:
            raise ProgramError(f"{_NAME}: constraint {part!r} is a register of {bits} bits for {size} bits of {own}; needed another letter or pack")
        if output:
            letters.append(letter)
        found[not output] += 1
    else:
        if found == [len(own) for own in wanted]:
            return _check_text(asm, sum(found))
    found = [sum(part.strip().startswith("=") == output for part in constraints.split(",") if part.strip() and not part.strip().startswith("~"))
             for output in (True, False)]
    raise ProgramError(f"{_NAME}: constraints {constraints!r} name {found[0]} registers of results and {found[1]} of arguments; needed {len(wanted[0])} and "
                       f"{len(wanted[1])} for these types and pack {pack}")


def _check_text(asm, count):
    for match in _OPERAND.finditer(asm):
        number = match[2] or match[1]
        if number is None:
            raise ProgramError(f"{_NAME}: asm has {asm[match.start():match.start() + 8]!r}; needed $ and the number of a register, or $$")
        if number != "$" and int(number) >= count:
            raise ProgramError(f"{_NAME}: asm has ${number}, and {count} registers; needed $0 to ${count - 1}")
