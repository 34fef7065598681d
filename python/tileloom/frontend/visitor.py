"""Walks the AST of a jitted function and builds its tile program: statements, names, returns, calls of other jitted functions.

Everything is evaluated on the spot: compile-time values are Python objects, run-time values are tensors whose operators write
operations to the builder. An error gets the place of the innermost expression that was being visited.
"""

import ast

from ..language import control
from ..language.debug import device_assert
from ..language.values import constant_of, constexpr, describe, tensor
from . import carry, names
from .control_flow import ControlFlow
from .errors import CompilationError, ProgramError
from .expressions import Expressions

_MAX_CALLS = 64
_REFUSED = {"Try": "try", "TryStar": "try", "With": "with", "FunctionDef": "nested functions: define it at the module's level, with @tl.jit",
            "AsyncFunctionDef": "async functions", "ClassDef": "classes", "Import": "import", "ImportFrom": "import", "Global": "global",
            "Nonlocal": "nonlocal", "Delete": "del", "Raise": "raise", "Match": "match", "Break": "break: put the condition into a while "
            "loop", "Continue": "continue: put the rest of the body under an if", "AsyncFor": "async for", "AsyncWith": "async with"}


class Return(Exception):
    """Ends the visit of a function's body."""

    def __init__(self, value):
        self.value = value


class Visitor(Expressions, ControlFlow):
    """One function, in one call."""

    def __init__(self, source, builder, values):
        self.source, self.builder = source, builder
        self.names = dict(values)
        self.depth = builder.depth
        self.own_uses = {}  # names that a loop does not carry as it gives them another type: what is wrong with that

    def run(self):
        """Visits the body; gives what the function returns."""
        try:
            self.statements(self.source.tree.body)
        except Return as result:
            return result.value
        return None

    # Places and errors ----------------------------------------------------------------------------

    def mark(self, node):
        """Makes `node` the place of the operations and errors to come. Kept on the node, as names are (names.py)."""
        place = getattr(node, "tileloom_place", None)
        if place is None and hasattr(node, "lineno"):
            place = node.tileloom_place = self.source.file, *self.source.place(node)
        if place is not None:
            self.builder.at(*place)

    def fail(self, error):
        place = self.builder.place
        return CompilationError(str(error), *place, calls=self.builder.calls)

    # Statements -----------------------------------------------------------------------------------

    def statements(self, nodes):
        for node in nodes:
            self.statement(node)

    def statement(self, node):
        self.mark(node)
        kind = type(node).__name__
        method = getattr(self, f"visit_{kind}", None)
        try:
            if kind in _REFUSED or method is None:
                raise ProgramError(f"the language has no {_REFUSED.get(kind, kind)}")
            method(node)
        except ProgramError as error:
            raise self.fail(error) from None

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        self.expression(node.value)

    def visit_Pass(self, node):
        pass

    def visit_Assign(self, node):
        value = self.expression(node.value)
        for target in node.targets:
            self.assign(target, value)

    def visit_AnnAssign(self, node):
        if node.value is None:
            raise ProgramError("a declaration without a value; needed an assignment")
        value = self.expression(node.value)
        annotation = self.expression(node.annotation)
        if annotation is constexpr:
            value = self.static(value, "the value of a tl.constexpr")
        self.assign(node.target, value)

    def visit_AugAssign(self, node):
        if not isinstance(node.target, ast.Name):
            raise ProgramError("assignment to something else than a name; tiles are values: make a new one, or store to memory")
        old = self.read(node.target.id)
        self.assign(node.target, self.operate(node.op, old, self.expression(node.value), node, False, isinstance(node.value, ast.Call)))

    def visit_Return(self, node):
        value = self.expression(node.value) if node.value is not None else None
        self.mark(node)
        if self.builder.depth != self.depth:
            raise ProgramError("return inside a run-time if or a loop; needed one at the end of the function: assign the result in both branches")
        raise Return(value)

    def visit_Assert(self, node):
        condition, message = self.expression(node.test), self.text(node.msg) if node.msg else ""
        self.mark(node)
        if isinstance(condition, tensor) and not hasattr(condition, "make_static"):
            return device_assert(condition, message)
        self.check(condition, message)

    def check(self, condition, message):
        condition = self.static(condition, "the condition of an assertion")
        if not condition:
            raise ProgramError(f"assertion failed{': ' + str(message) if message else ''}")

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            if isinstance(value, (control.range, control.static_range, control.tiles)):
                raise ProgramError("a range is no value; needed it in the head of a for loop")
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, (tuple, list)):
                raise ProgramError(f"{describe(value)} cannot be unpacked into {len(target.elts)} names; needed a tuple")
            if len(value) != len(target.elts):
                raise ProgramError(f"{len(value)} values unpacked into {len(target.elts)} names; needed equal numbers")
            for own, one in zip(target.elts, value):
                self.assign(own, one)
        else:
            self.mark(target)
            raise ProgramError("assignment to something else than a name; tiles are values: make a new one, or store to memory")

    # Names ----------------------------------------------------------------------------------------

    def read(self, name):
        found = self.names.get(name, self)
        if found is self:
            return self.source.lookup(name)
        if isinstance(found, carry.Undefined):
            raise ProgramError(f"'{name}' has no value here: it {found.why}")
        return found

    def read_outside(self, name, node):
        """Whether a name is read elsewhere in the function than in `node`."""
        return names.reads(self.source.tree.body)[name] > names.reads(node)[name]

    def static(self, value, what):
        """A compile-time object; extents of views become constants."""
        if hasattr(value, "make_static"):
            return value.make_static()
        if isinstance(value, (tuple, list)):
            return tuple(self.static(one, what) for one in value)
        if isinstance(value, constexpr):
            return value.value
        return constant_of(value, what, object)

    def constant(self, value, what):
        return constant_of(value, what)

    # Calls of jitted functions --------------------------------------------------------------------

    def inline(self, function, arguments, keywords, node):
        if len(self.builder.calls) >= _MAX_CALLS:
            raise ProgramError(f"more than {_MAX_CALLS} nested calls at '{function.__name__}'; recursion that does not end at compile time?")
        values = function.bind_call(arguments, keywords)
        for parameter in function.parameters:
            if parameter.is_constexpr:
                values[parameter.name] = self.static(values[parameter.name], f"argument '{parameter.name}' of {function.__name__}")
        self.mark(node)
        outer = self.builder.place, self.builder.calls
        self.builder.calls = (self.builder.place, *self.builder.calls)
        result = Visitor(function.source, self.builder, values).run()
        self.builder.calls = outer[1]
        self.builder.at(*outer[0])
        return result
