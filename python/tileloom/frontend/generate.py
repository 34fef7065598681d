"""From a jitted function and the facts about its arguments to the text of a tile program."""

from ..language import semantic
from ..language.values import pointer, tensor
from ..language.views import view
from . import context
from .builder import Builder
from .errors import CompilationError, ProgramError
from .names import element_name
from .visitor import Visitor

class Program:
    """text: the tile program. bindings: what the launcher passes, in order (builder.Argument). has_tile_loop: whether the compiler
    chooses the grid. static: (view, axis) pairs whose extents are constants of the program."""

    def __init__(self, name, text, bindings, has_tile_loop, static):
        self.name, self.text, self.bindings, self.has_tile_loop, self.static = name, text, bindings, has_tile_loop, static


def generate(function, facts, schedule=None):
    """`facts`: for each parameter a fact of dispatch/facts.py."""
    builder = Builder()
    builder.kernel, builder.debug = function.__name__, function.debug
    source = function.source
    place = (source.file, *source.place(source.tree))
    builder.at(*place)
    static = set()
    with context.building(builder):
        try:
            values = {parameter.name: _value(parameter.name, facts[parameter.name], builder, static) for parameter in function.parameters}
        except ProgramError as error:
            raise CompilationError(str(error), *place) from None
        try:
            result = Visitor(source, builder, values).run()
        except CompilationError as error:
            raise error.with_traceback(None) from None  # the visitor's frames say nothing to the user
        builder.at(*place)
        if result is not None:
            raise CompilationError("a kernel returns a value; needed a store to memory", *place)
    try:
        attributes = ["tile.kernel", *schedule_attribute(_with_scheduler(schedule, builder.scheduler))]
    except ProgramError as error:
        raise CompilationError(str(error), *place) from None
    builder.drop_unused()
    arguments = builder.ordered([parameter.name for parameter in function.parameters])
    text = builder.function(function.__name__, arguments, attributes, source.parameter_places())
    return Program(function.__name__, text, [argument.binding for argument in arguments], builder.has_tile_loop, static)


def _value(name, fact, builder, static):
    """The compile-time value of a parameter, or of an element of one that is a tuple."""
    kind = fact.kind
    if kind == "constant":
        return fact.value
    if kind == "tuple":
        return tuple(_value(element_name(name, index), one, builder, static) for index, one in enumerate(fact.value))
    if kind == "view":
        divisible = {("shape", name, axis) for axis in fact.divisible_extents} | {("stride", name, axis) for axis in fact.divisible_strides}
        if fact.aligned:
            divisible.add(("address", name))
        return view(name, fact.dtype, fact.rank, fact.extents, divisible, lambda owner, axis: static.add((owner, axis)))
    if fact.value is not None:
        return semantic.full((), fact.value, fact.dtype)
    divisibility = ["tile.divisibility = 16 : i32"] if fact.aligned else []
    if kind == "pointer":
        binding = ("pointer", name)
        base = builder.argument(binding, name, "i64", [f"tile.pointer = {fact.dtype.memory}", *divisibility])
        return pointer(base, fact.dtype, origin=binding)
    binding = ("scalar", name)
    handle = builder.argument(binding, name, fact.dtype.mlir, divisibility)
    return tensor(handle, fact.dtype, host=("argument", binding) if fact.dtype.is_int() else None)


def _with_scheduler(schedule, scheduler):
    """The schedule with what tl.tiles(scheduler=...) says; a caller's own scheduler comes first."""
    if scheduler is None:
        return schedule
    if isinstance(schedule, str):
        return schedule if "scheduler" in schedule else f'{schedule}, scheduler = "{scheduler}"'.lstrip(", ")
    return {"scheduler": scheduler, **(schedule or {})}


def schedule_attribute(schedule):
    """The attribute of a schedule: a dict, or the text between the brackets of #tile.schedule<...>."""
    if not schedule:
        return []
    if isinstance(schedule, str):
        return [f"tile.schedule = #tile.schedule<{schedule}>"]
    fields = []
    for name, value in schedule.items():
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, (int, float)):
            text = repr(value)
        elif isinstance(value, str):
            text = f'"{value}"'
        else:
            raise ProgramError(f"schedule: field '{name}' is {value!r}; needed a number, a bool or a string")
        fields.append(f"{name} = {text}")
    return [f"tile.schedule = #tile.schedule<{', '.join(fields)}>"]


