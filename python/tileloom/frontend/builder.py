"""Writes the text of a tile program: SSA names, nested blocks, kernel arguments, a location on every operation.

A block is a list of lines; a nested region is built in a block of its own and put in when its header is known, so that a loop
body may be visited before the types that it carries are.
"""

import contextlib
import re
from collections import namedtuple

from .names import parameter_of


_PURE = re.compile(r" *(%[\w.]+) = (?:tile\.(?!atomic|last_arrival)|arith\.|math\.)")  # reads are without effect, too
_NAME = re.compile(r"%[\w.]+")


class Argument(namedtuple("Argument", "ssa name type attributes binding")):
    """An argument of the kernel. binding: what the launcher puts there, such as ("scalar", "n") or ("shape", "a", 0)."""

    __slots__ = ()

    @property
    def parameter(self):
        """The user's parameter that it comes from."""
        return self.origin[0]

    @property
    def origin(self):
        """The parameter, and the index of the element if it is a tuple."""
        return parameter_of(self.binding[1][1] if self.binding[0] == "descriptor" else self.binding[1])


class Builder:
    """The function under construction. `file`, `line`, `column` and `calls` say what source is being compiled."""

    def __init__(self):
        self.block = []
        self.indent = 1
        self.arguments = {}  # binding -> Argument, in the order of first use
        self._next = 0
        self.place = ("<source>", 1, 1)
        self.calls = ()  # places of the calls that led here, innermost first
        self._location = None
        self.uses_program_id = False
        self.has_tile_loop = False
        self.scheduler = None  # of the tile loop, if the program says
        self.tile_indices = None  # inside the tile loop: the numbers of the tile
        self.prints_outside = False
        self.kernel, self.debug = "", False  # its name; whether device_assert is compiled
        self.depth = 0  # regions of control flow around the place

    # Locations ------------------------------------------------------------------------------------

    def at(self, file, line, column):
        self.place = (file, line, column)
        self._location = None

    def location(self):
        if self._location is None:
            text = _place_text(self.place)
            for call in self.calls:
                text = f"callsite({text} at {_place_text(call)})"
            self._location = f"loc({text})"
        return self._location

    # Operations -----------------------------------------------------------------------------------

    def name(self):
        self._next += 1
        return f"%{self._next}"

    def line(self, text):
        self.block.append("  " * self.indent + text)

    def op(self, text):
        """An operation without results."""
        self.line(f"{text} {self.location()}")

    def value(self, text):
        """An operation with one result; gives its name."""
        name = self.name()
        self.line(f"{name} = {text} {self.location()}")
        return name

    # Blocks ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def nested(self, block=None):
        """Appends to `block` (a new one by default), one level deeper, and gives it."""
        outer = self.block
        self.block = [] if block is None else block
        self.indent += 1
        self.depth += 1
        try:
            yield self.block
        finally:
            self.block = outer
            self.indent -= 1
            self.depth -= 1

    def region(self, header, *blocks, between=(), end="}"):
        """An operation with regions: the header up to its brace, the blocks, what stands between them, the end."""
        self.line(header)
        for index, block in enumerate(blocks):
            if index:
                self.line(between[index - 1])
            self.block.extend(block)
        self.line(f"{end} {self.location()}")

    # The function ---------------------------------------------------------------------------------

    def argument(self, binding, name, type, attributes=()):
        """The kernel argument of a binding (dispatch/launch.py); made at first use. Gives its SSA name."""
        known = self.arguments.get(binding)
        if known is None:
            ssa = "%" + "".join(c if c.isalnum() or c in "_." else "_" for c in name.replace("[", "").replace("]", ""))
            while any(ssa == other.ssa for other in self.arguments.values()):
                ssa += "_"
            known = self.arguments[binding] = Argument(ssa, name, type, tuple(attributes), binding)
        return known.ssa

    def argument_type(self, binding):
        return self.arguments[binding].type

    def drop_unused(self):
        """Takes out operations without effect whose results nobody reads, and then arguments that nobody reads."""
        lines, used = [], set()
        for line in reversed(self.block):
            result = _PURE.match(line)
            if result and result[1] not in used:
                continue
            used.update(_NAME.findall(line))
            lines.append(line)
        self.block = lines[::-1]
        self.arguments = {binding: argument for binding, argument in self.arguments.items() if argument.ssa in used}

    def ordered(self, parameters):
        """The arguments in the order of the user's parameters; of one parameter the tensor first, then its extents and strides."""
        rank = {name: index for index, name in enumerate(parameters)}
        kinds = ("view", "descriptor", "pointer", "scalar", "address", "shape", "stride")

        def order(argument):
            axis = argument.binding[2] if argument.binding[0] in ("shape", "stride") else 0
            parameter, element = argument.origin
            return rank[parameter], element or 0, kinds.index(argument.binding[0]), axis
        return sorted(self.arguments.values(), key=order)

    def function(self, name, arguments, attributes, places):
        """The text of the kernel; the location is that of the function. places: where each parameter stands."""
        parameters = []
        for argument in arguments:
            attrs = ", ".join([f'tile.name = "{argument.name}"', *argument.attributes])
            parameters.append(f"{argument.ssa}: {argument.type} {{{attrs}}} loc({_place_text(places[argument.parameter])})")
        head = f"func.func @{name}({', '.join(parameters)})\n    attributes {{{', '.join(attributes)}}} {{"
        location = self.location()
        return "\n".join([head, *self.block, f"  return {location}", f"}} {location}", ""])


def _place_text(place):
    file, line, column = place
    quoted = file.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}":{line}:{column}'


def tensor_type(shape, element):
    """The MLIR type of a tile; of one element if the shape is empty."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>" if shape else element
