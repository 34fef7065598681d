"""The source of a jitted function: its AST with places in the user's file, its parameters, its globals."""

import ast
import builtins
import inspect
import textwrap
import types

from ..language import dtypes
from ..language.values import _Auto, constexpr
from ..runtime.errors import TileloomError
from .errors import ProgramError


class Source:
    """`tree`: the function's AST. `file`: where it stands."""

    def __init__(self, function):
        self.function = function
        self.file = inspect.getsourcefile(function) or "<source>"
        try:
            lines, self.first_line = inspect.getsourcelines(function)
        except OSError as error:
            raise TileloomError(f"@tl.jit on {function.__name__}: its source cannot be read ({error}); needed a function in a file") from None
        self.text = textwrap.dedent("".join(lines))
        self.margin = len(lines[0]) - len(lines[0].lstrip())
        self.tree = ast.parse(self.text).body[0]
        if not isinstance(self.tree, ast.FunctionDef):
            raise TileloomError(f"@tl.jit on {function.__name__}: needed a function written with def")

    def place(self, node):
        """Line and column (from 1) of a node in the file."""
        return node.lineno + self.first_line - 1, node.col_offset + self.margin + 1

    def parameter_places(self):
        """{parameter: (file, line, column)}."""
        arguments = self.tree.args
        return {node.arg: (self.file, *self.place(node)) for node in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}

    def lookup(self, name):
        """The compile-time value of a global, closure variable or Python builtin."""
        function = self.function
        if name in function.__code__.co_freevars:
            value = function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
        elif name in function.__globals__:
            value = function.__globals__[name]
        elif hasattr(builtins, name):
            return getattr(builtins, name)
        else:
            raise ProgramError(f"name '{name}' is not defined")
        if isinstance(value, constexpr):
            return value.value
        if (value is None or isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, dtypes.dtype, _Auto))
                or hasattr(value, "bind_call")):
            return value
        raise ProgramError(f"global '{name}' is {value!r}, which may change between compilations; needed tl.constexpr: {name} = "
                           f"tl.constexpr({value!r}), or a parameter")
