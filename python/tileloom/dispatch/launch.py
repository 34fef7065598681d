"""Launching a compiled variant: on a GPU through the runtime, or on NumPy arrays in the simulator.

What the recipe's arguments are was fixed by the front end (bindings): tensors, their extents and strides, addresses, numbers, and tensors
that Triton's descriptors describe in terms of other arguments. For torch tensors the code that packs them is generated, once for
each variant.
"""

import ctypes
import os
import struct
import sys

from ..frontend.names import parameter_of
from ..language import dtypes
from ..runtime import elements, library
from ..runtime.arguments import PACK
from ..runtime.errors import ArgumentError
from ..runtime.kernel import _find_torch, _stream_number
from . import facts
from .keys import torch_tensor

_UNKNOWN = library.UNKNOWN_DEVICE
_GRID = ctypes.c_uint32 * 3
_EMPTY, _SIMULATE = object(), object()
PRELOAD = object()  # stands for a grid: load, and do not launch


def launch_target(arguments):
    """The target for the device that the arguments lie on; for host arrays $TILELOOM_TARGET, or sm_90a."""
    for _, argument in _parts(arguments):
        if isinstance(argument, torch_tensor()) and argument.get_device() >= 0:
            return _device_target(argument.get_device())
    return os.environ.get("TILELOOM_TARGET", "sm_90a")


def _parts(arguments):
    """(index or indices, value) of the arguments, tuples taken apart."""
    for index, value in enumerate(arguments):
        if isinstance(value, (tuple, list)):
            yield from (((index, element), one) for element, one in enumerate(value))
        else:
            yield (index,), value


def _device_target(ordinal):
    torch = sys.modules["torch"]
    capability = getattr(torch.cuda, "get_device_capability", None)
    if capability is None:
        return "sm_90a"
    major, minor = capability(ordinal)
    known = {(9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a"}
    if (major, minor) not in known:
        raise ArgumentError(f"device {ordinal} has compute capability {major}.{minor}; needed one of "
                            f"{', '.join(f'{a}.{b}' for a, b in known)}")
    return known[major, minor]


def on_host(function, arguments):
    """Whether the arguments are host arrays: then the simulator runs the kernel."""
    Tensor = torch_tensor()
    host = False
    for at, value in _parts(arguments):
        if function.parameters[at[0]].is_constexpr or value is None or isinstance(value, (bool, int, float)):
            continue
        if isinstance(value, Tensor) or hasattr(value, "__cuda_array_interface__"):
            return False
        if hasattr(value, "__array_interface__") or hasattr(value, "array"):
            host = host or getattr(getattr(value, "array", value), "shape", ()) != ()
        elif hasattr(value, "__dlpack__"):
            return False
    return host


class Variant:
    """One compiled specialisation of a function."""

    def __init__(self, function, compiled):
        self.function, self.compiled = function, compiled
        self._packer = None
        self._native = None
        self._grids = {None: None} if compiled.has_tile_loop else {}

    # The grid -------------------------------------------------------------------------------------

    def _grid(self, grid, arguments):
        """The C array of a grid's extents (None: the compiler chooses the grid), or _EMPTY; remembered for the next call."""
        if grid is PRELOAD:
            if not on_host(self.function, arguments):
                devices = [argument.get_device() for _, argument in _parts(arguments) if isinstance(argument, torch_tensor())]
                self.compiled.kernel.preload(devices[0] if devices else None)
            return _EMPTY
        given = grid
        if callable(grid):
            grid = grid(dict(zip(self.function._names, arguments)))
        extents = self._extents(grid)
        found = None if extents is None else _EMPTY if 0 in extents else _GRID(*extents)
        if type(given) is tuple and len(self._grids) < 1024:
            self._grids[given] = found
        return found

    def _extents(self, grid):
        name = self.function.__name__
        if grid is not None and not isinstance(grid, (tuple, list)):
            grid = (grid,)
        if self.compiled.has_tile_loop:
            if grid:
                raise ArgumentError(f"kernel '{name}': a grid of {tuple(grid)} for a kernel with tl.tiles, whose grid the compiler chooses; "
                                    f"needed {name}(...)")
            return None
        if not grid or len(grid) > 3:
            raise ArgumentError(f"kernel '{name}': {'no grid' if not grid else f'a grid of {len(grid)} extents'}; needed {name}[(x, y, z)](...) "
                                "with one to three extents")
        extents = []
        for axis, extent in enumerate(grid):
            if isinstance(extent, bool) or not hasattr(extent, "__index__"):
                raise ArgumentError(f"kernel '{name}': grid {'xyz'[axis]} is {extent!r}; needed an integer")
            extent = extent.__index__()
            if not 0 <= extent <= (0x7FFFFFFF if axis == 0 else 65535):
                raise ArgumentError(f"kernel '{name}': grid {'xyz'[axis]} is {extent}; needed 0 to {0x7FFFFFFF if axis == 0 else 65535}")
            extents.append(extent)
        return (*extents, *(1,) * (3 - len(extents)))

    # Launch ---------------------------------------------------------------------------------------

    def launch(self, grid, arguments, stream, simulator):
        """The arguments are of the types that the variant's key tells, so what was found for the first launch holds for all."""
        try:
            extents = self._grids[grid]
        except (KeyError, TypeError):
            extents = self._grid(grid, arguments)
        packer = self._packer or self._prepare(arguments)
        if packer is _SIMULATE:
            return self._simulate(extents, arguments, simulator)
        if extents is _EMPTY:
            return None
        handle, function, fail, count = self._native
        if stream is not None:
            stream = _stream_number(stream)
        packed, device = packer(arguments, stream)
        if stream is None:
            stream = _find_torch().current_stream(device) if device >= 0 else 0
        status = function(handle, packed, count, extents, stream)
        if status:
            fail(status)
        return None

    def _prepare(self, arguments):
        if on_host(self.function, arguments):
            self._packer = _SIMULATE
        else:
            kernel = self.compiled.kernel
            self._native = (kernel._handle, kernel._library.tileloomKernelLaunchGrid, kernel._fail, len(self.compiled.bindings))
            self._packer = self._make_packer({at: type(value) for at, value in _parts(arguments)})
        return self._packer

    def _place(self, name):
        """Where the argument of a binding's name lies: its index, and that of its element in a tuple."""
        parameter, element = parameter_of(name)
        index = self.function._names.index(parameter)
        return (index,) if element is None else (index, element)

    def _argument(self, arguments, name):
        for at in self._place(name):
            arguments = arguments[at]
        return arguments

    # Packing for the GPU --------------------------------------------------------------------------

    def _make_packer(self, kinds):
        """pack(arguments, stream) -> (bytes, device), generated for the types of the arguments."""
        Tensor = torch_tensor()
        bindings = self.compiled.bindings
        torch = _find_torch()
        table = torch.elements if torch else {}
        if not bindings or any(not issubclass(kinds[self._place(_parameter(b))], (Tensor, int, float)) for b in bindings):
            return self._pack_slowly
        recipe = self.compiled.recipe["arguments"]
        format, values, lines, used = "<", [], [], set()
        for binding, own in zip(bindings, recipe):
            at = self._place(_parameter(binding))
            a = self._source(_parameter(binding))
            number = elements.NUMBER[own["element"]]
            if issubclass(kinds[at], Tensor):
                used.add(a)
            if binding[0] == "view":
                rank = own["rank"]
                format += f"IIiIQ{rank}q{8 * (8 - rank)}x{rank}q{8 * (8 - rank)}x"
                values.append(f"0, table[{a}.dtype], {a}.get_device(), {rank}, {a}.data_ptr(), *{a}.shape, *{a}.stride()")
            elif binding[0] == "descriptor":
                _, _, offset, shape, strides, element = binding
                rank = len(shape)
                format += f"IIiIQ{rank}q{8 * (8 - rank)}x{rank}q{8 * (8 - rank)}x"
                shift = f" + {self._number(offset)} * {dtypes.BY_ELEMENT[element].itemsize}" if offset != 0 else ""
                extents = ", ".join(map(self._number, (*shape, *strides)))
                values.append(f"0, table[{a}.dtype], {a}.get_device(), {rank}, {a}.data_ptr(){shift}, {extents}")
            elif binding[0] in ("pointer", "address"):
                format += "IIiIQ128x"
                values.append(f"1, table[{a}.dtype], {a}.get_device(), 0, {a}.data_ptr()")
            elif binding[0] in ("shape", "stride"):
                format += "IIiI" + ("q" if own["element"] == "i64" else "i4x") + "128x"
                values.append(f"2, {number}, {_UNKNOWN}, 0, {self._number(('argument', binding))}")
            else:
                code = {"i32": "i4x", "i64": "q", "f32": "f4x", "i1": "?7x"}[own["element"]]
                format += f"IIiI{code}128x"
                values.append(f"2, {number}, {_UNKNOWN}, 0, {a}")
        first = next((f"{a}.get_device()" for a in sorted(used)), "-1")
        names = ", ".join(f"a{at}" for at in range(len(self.function.parameters)))
        code = f"def pack(arguments, stream):\n  {names}, = arguments\n  try:\n    return packer({', '.join(values)}), {first}\n" \
               "  except (KeyError, OverflowError, StructError):\n    return slow(arguments, stream)\n"
        scope = {"packer": struct.Struct(format).pack, "table": table, "slow": self._pack_slowly, "StructError": struct.error, "compute": _COMPUTE}
        exec(code, scope)
        return scope["pack"]

    def _source(self, name):
        """The Python text of an argument, in generated code."""
        index, *elements_ = self._place(name)
        return "".join((f"a{index}", *(f"[{element}]" for element in elements_)))

    def _number(self, expression):
        """The Python text of a host expression (see `_values`)."""
        if isinstance(expression, int):
            return repr(expression)
        if expression[0] == "argument":
            kind, name, *axis = expression[1]
            suffix = {"shape": ".shape[{}]", "stride": ".stride({})"}.get(kind, "").format(*axis)
            return self._source(name) + suffix
        left, right = map(self._number, expression[1:])
        return f"compute[{expression[0]!r}]({left}, {right})"

    def _values(self, arguments):
        """The host's value of every binding: facts.Tensor objects and numbers."""
        found = {}

        def tensor(name):
            if name not in found:
                parameter = self.function.parameters[self._place(name)[0]]
                found[name] = facts.tensor_of(self._argument(arguments, name), self.function._where(parameter))
            return found[name]

        def number(expression):
            if isinstance(expression, int):
                return expression
            if expression[0] == "argument":
                return value(expression[1])
            return _COMPUTE[expression[0]](number(expression[1]), number(expression[2]))

        def value(binding):
            kind, name = binding[0], binding[1]
            if kind == "shape":
                return tensor(name).shape[binding[2]]
            if kind == "stride":
                return tensor(name).strides[binding[2]]
            if kind == "scalar":
                return self._argument(arguments, name)
            if kind == "descriptor":
                _, origin, offset, shape, strides, element = binding
                base = tensor(origin[1])
                address = base.address + number(offset) * dtypes.BY_ELEMENT[element].itemsize
                return base._replace(address=address, shape=tuple(map(number, shape)), strides=tuple(map(number, strides)))
            return tensor(name)
        return [value(binding) for binding in self.compiled.bindings]

    def _pack_slowly(self, arguments, stream):
        parts, place = [], -1
        recipe = self.compiled.recipe["arguments"]
        for index, (value, own) in enumerate(zip(self._values(arguments), recipe)):
            number = elements.NUMBER[own["element"]]
            if isinstance(value, facts.Tensor):
                rank = len(value.shape) if own["kind"] == "tensor" else 0
                kind = library.TENSOR if own["kind"] == "tensor" else library.POINTER
                shape = (*value.shape, *value.strides) if rank else ()
                parts.append(PACK[rank](kind, elements.NUMBER[value.dtype.element], value.device, rank, value.address, *shape))
                place = value.device if place < 0 else place
                continue
            prefix = f"kernel '{self.compiled.name}', argument {index} '{own['name']}': "
            if elements.is_integer(own["element"]):
                low, high = elements.integer_range(own["element"])
                if not low <= int(value) <= high:
                    raise ArgumentError(f"{prefix}is {value}; needed {low} to {high} ({own['element']})")
                bits = int(value) & 0xFFFFFFFFFFFFFFFF
            else:
                try:
                    bits = elements.float_bits(own["element"], float(value))
                except OverflowError:
                    raise ArgumentError(f"{prefix}is {value!r}; needed a number that {own['element']} can hold") from None
            parts.append(PACK[0](library.SCALAR, number, _UNKNOWN, 0, bits))
        return b"".join(parts), max(place, -1)

    # The simulator --------------------------------------------------------------------------------

    def _simulate(self, extents, arguments, options):
        """Runs on host arrays; raises sim.KernelFault if the simulator finds a fault. Gives its Result."""
        import copy

        from .. import sim
        recipe = self.compiled.recipe
        if extents is _EMPTY:
            return None
        if extents is not None:
            recipe = copy.copy(recipe)
            recipe["launch"] = {**recipe["launch"], "grid": dict(zip("xyz", extents))}
        values = []
        for binding, value in zip(self.compiled.bindings, self._values(arguments)):
            if isinstance(value, facts.Tensor):
                array = self._argument(arguments, _parameter(binding))
                values.append(sim.Described(array, value.address, value.shape, value.strides) if binding[0] == "descriptor" else array)
            else:
                values.append(value)
        result = sim.run_recipe(self.compiled.ptx, recipe, *values, **{"multiprocessors": 4, **(options or {})})
        result.check()
        return result


def _parameter(binding):
    return binding[1][1] if binding[0] == "descriptor" else binding[1]


def _divide(a, b):
    """a / b toward zero, as the kernel divides."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_COMPUTE = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": _divide,
            "mod": lambda a, b: a - b * _divide(a, b), "min": min, "max": max, "cdiv": lambda a, b: _divide(a + b - 1, b)}
