"""Expressions of a kernel: names, operators, comparisons, attributes, subscripts and calls."""

import ast
import builtins
import re
import types

from ..language import control, debug, dtypes, functions, semantic
from ..language.blocks import block_pointer
from ..language.values import constexpr, describe, tensor
from ..language.views import descriptor
from .errors import ProgramError

_OPERATORS = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "FloorDiv": "floordiv", "Mod": "mod", "BitAnd": "and",
              "BitOr": "or", "BitXor": "xor", "LShift": "shl", "RShift": "shr", "Pow": "pow"}
_WRONG_CALL = re.compile(r"\w+\(\) (missing|takes|got) .*argument")
_COMPARISONS = {"Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "Eq": "eq", "NotEq": "ne"}
_REFUSED = {"JoinedStr": "f-strings", "ListComp": "comprehensions: use tl.static_range", "SetComp": "comprehensions", "DictComp":
            "comprehensions", "GeneratorExp": "generators", "Lambda": "lambda: define a function with @tl.jit", "Dict": "dictionaries",
            "Set": "sets", "Await": "await", "Yield": "yield", "YieldFrom": "yield", "NamedExpr": "assignment expressions", "Starred":
            "starred expressions"}
# Python's own functions that mean something in a kernel.
_BUILTINS = {"range": control.range, "min": functions.minimum, "max": functions.maximum, "abs": functions.abs}
_AT_COMPILE_TIME = (len, isinstance, bool, int, float, tuple, list, str, print, round, sum, divmod, pow)


class Expressions:
    """A part of Visitor."""

    def expression(self, node):
        kind = type(node).__name__
        method = getattr(self, f"visit_{kind}", None)
        self.mark(node)
        if kind in _REFUSED or method is None:
            raise ProgramError(f"the language has no {_REFUSED.get(kind, kind)}")
        return method(node)

    def visit_Constant(self, node):
        if isinstance(node.value, (bool, int, float, str)) or node.value is None or node.value is Ellipsis:
            return node.value
        raise ProgramError(f"constant {node.value!r}; needed a number, a string or None")

    def visit_Name(self, node):
        return self.read(node.id)

    def visit_Tuple(self, node):
        return tuple(self.expression(part) for part in node.elts)

    visit_List = visit_Tuple

    def visit_Slice(self, node):
        parts = [None if part is None else self.expression(part) for part in (node.lower, node.upper, node.step)]
        return slice(*parts)

    def visit_BinOp(self, node):
        left, right = self.expression(node.left), self.expression(node.right)
        return self.operate(node.op, left, right, node, isinstance(node.left, ast.Call), isinstance(node.right, ast.Call))

    def operate(self, op, left, right, node, fresh_left=False, fresh_right=False):
        """fresh_left, fresh_right: the operand is the value of a call, so nothing else uses it."""
        self.mark(node)
        if isinstance(op, ast.Add):
            for fresh, product, other in ((fresh_right, right, left), (fresh_left, left, right)):
                fused = functions.accumulated(product, other) if fresh else None
                if fused is not None:  # acc + tl.dot(a, b)
                    return fused
        name = _OPERATORS.get(type(op).__name__)
        if name is None:
            raise ProgramError("a @ b: needed tl.dot(a, b)" if isinstance(op, ast.MatMult) else f"the operator {type(op).__name__}")
        sequences = [isinstance(value, (tuple, list, str)) for value in (left, right)]
        try:
            if any(sequences) and not isinstance(left, tensor) and not isinstance(right, tensor):
                if name == "add" and all(sequences):
                    return tuple(left) + tuple(right) if not isinstance(left, str) else left + right
                if name == "mul":
                    return left * right
            return semantic.binary(name, left, right)
        except (ZeroDivisionError, OverflowError, TypeError, ValueError) as error:
            raise ProgramError(f"{describe(left)} {semantic._SIGN[name]} {describe(right)}: {error}") from None

    def visit_UnaryOp(self, node):
        value = self.expression(node.operand)
        self.mark(node)
        if isinstance(node.op, ast.USub):
            return semantic.negate(value)
        if isinstance(node.op, ast.Invert):
            return semantic.invert(value)
        if isinstance(node.op, ast.Not):
            return not value if not _is_number_like(value) else semantic.logical_not(value)
        return semantic.operand(value)

    def visit_Compare(self, node):
        left = self.expression(node.left)
        result = None
        for op, right_node in zip(node.ops, node.comparators):
            right = self.expression(right_node)
            self.mark(node)
            one = self.compare(op, left, right)
            if result is None:
                result = one
            elif isinstance(result, tensor) or isinstance(one, tensor):
                result = semantic.logical("and", result, one)
            else:
                result = result and one
            left = right
        return result

    def compare(self, op, left, right):
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = left is right or (left == right if isinstance(left, dtypes.dtype) else False)
            return same == isinstance(op, ast.Is)
        if isinstance(op, (ast.In, ast.NotIn)):
            if isinstance(left, tensor) or not isinstance(right, (tuple, list, str)):
                raise ProgramError(f"{describe(left)} in {describe(right)}; needed compile-time values")
            if isinstance(right, str) and not isinstance(left, str):
                raise ProgramError(f"{describe(left)} in {describe(right)}; needed a string in a string")
            return (left in right) == isinstance(op, ast.In)
        name = _COMPARISONS[type(op).__name__]
        if _is_number_like(left) and _is_number_like(right):
            return semantic.binary(name, left, right)
        if name in ("eq", "ne") and not isinstance(left, tensor) and not isinstance(right, tensor):
            return (left == right) == (name == "eq")
        raise ProgramError(f"{describe(left)} compared with {describe(right)}; needed numbers or tensors")

    def visit_BoolOp(self, node):
        name = "and" if isinstance(node.op, ast.And) else "or"
        value = self.expression(node.values[0])
        for part in node.values[1:]:
            dynamic = isinstance(value, tensor)
            if not dynamic and bool(value) != (name == "and"):
                return value
            other = self.expression(part)
            self.mark(node)
            if dynamic and not isinstance(other, tensor) and isinstance(other, bool):
                value = value if other == (name == "and") else other
            else:
                value = semantic.logical(name, value, other) if dynamic else other
        return value

    def visit_Attribute(self, node):
        owner = self.expression(node.value)
        self.mark(node)
        if isinstance(owner, types.ModuleType):
            found = getattr(owner, node.attr, None)
            if found is None:
                raise ProgramError(f"module '{owner.__name__}' has no '{node.attr}'")
            return unwrap(found)
        if node.attr.startswith("_") or node.attr in ("handle", "make_static", "make_dynamic", "host", "bounds", "tiled"):
            raise ProgramError(f"{describe(owner)} has no attribute '{node.attr}'")
        try:
            return unwrap(getattr(owner, node.attr))
        except AttributeError:
            raise ProgramError(f"{describe(owner)} has no attribute '{node.attr}'") from None

    def visit_Subscript(self, node):
        owner = self.expression(node.value)
        index = self.expression(node.slice)
        self.mark(node)
        if isinstance(owner, (tuple, list)):
            if isinstance(index, slice):
                return tuple(owner)[index]
            at = self.constant(index, "the index of a tuple")
            if not -len(owner) <= at < len(owner):
                raise ProgramError(f"index {at} of a tuple of {len(owner)}")
            return owner[at]
        if isinstance(owner, descriptor):
            raise ProgramError(f"the {owner.description} is indexed; needed {owner.name}.load([coordinates], [box])")
        if isinstance(owner, tensor):
            return owner[index]
        raise ProgramError(f"{describe(owner)} cannot be indexed")

    def text(self, node):
        """A message: a string, or an f-string of compile-time values."""
        if isinstance(node, ast.JoinedStr):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else _shown(self.expression(part.value)) for part in node.values)
        return _shown(self.expression(node))

    # Calls ----------------------------------------------------------------------------------------

    def visit_Call(self, node):
        callee = self.expression(node.func)
        if (callee is control.static_assert or callee is control.static_print) and not node.keywords:
            return self.static_call(callee, node)
        arguments = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments.extend(self.expression(argument.value))
            else:
                arguments.append(self.expression(argument))
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ProgramError("the language has no ** in calls")
            keywords[keyword.arg] = self.expression(keyword.value)
        self.mark(node)
        return self.call(callee, arguments, keywords, node)

    def static_call(self, callee, node):
        texts = [self.text(argument) for argument in (node.args if callee is control.static_print else node.args[1:])]
        if callee is control.static_print:
            print(*texts)
            return None
        if not node.args:
            raise ProgramError("tl.static_assert(): no condition")
        condition = self.expression(node.args[0])
        self.mark(node)
        return self.check(condition, " ".join(texts))

    def call(self, callee, arguments, keywords, node):
        if hasattr(callee, "bind_call"):
            return self.inline(callee, arguments, keywords, node)
        if callee is constexpr:
            if len(arguments) != 1 or keywords:
                raise ProgramError(f"tl.constexpr() with {len(arguments)} arguments; needed one")
            return self.static(arguments[0], "the value of a tl.constexpr")
        module = getattr(callee, "__module__", None) or ""
        own = module.startswith("tileloom.language") or isinstance(getattr(callee, "__self__", None), (tensor, descriptor, block_pointer, dtypes.dtype))
        name = getattr(callee, "__name__", None) or describe(callee)
        if isinstance(callee, dtypes.dtype):
            raise ProgramError(f"{callee!r} is called; needed tl.cast(value, {callee!r}) or value.to({callee!r})")
        if not callable(callee) or isinstance(callee, (tensor, descriptor)):
            raise ProgramError(f"{describe(callee)} is called; needed a function")
        if not own:
            return self.call_python(callee, name, arguments, keywords)
        try:
            return callee(*arguments, **keywords)
        except TypeError as error:
            if not _WRONG_CALL.search(str(error)):
                raise
            raise ProgramError(re.sub(r"^(?:\w+\.)?__init__\(\)", f"{name}()", str(error))) from None

    def call_python(self, callee, name, arguments, keywords):
        """A call of something that is not of the language; what it says to wrong arguments is said of the program."""
        try:
            return self.call_known(callee, name, arguments, keywords)
        except (TypeError, ValueError, OverflowError, IndexError, ZeroDivisionError) as error:
            raise ProgramError(f"{name}: {error}") from None

    def call_known(self, callee, name, arguments, keywords):
        replaced = _BUILTINS.get(name) if getattr(builtins, name, None) is callee else None
        if replaced is not None:
            if len(arguments) > 2 and replaced is not control.range:
                first = replaced(*arguments[:2])
                return self.call_python(callee, name, [first, *arguments[2:]], keywords)
            return replaced(*arguments, **keywords)
        if callee is float and arguments and isinstance(arguments[0], str):
            return float(arguments[0])
        if callee is print and any(isinstance(argument, tensor) for argument in arguments):
            return debug.device_print(*arguments, **keywords)
        if isinstance(callee, types.FunctionType):
            raise ProgramError(f"'{name}' is an ordinary Python function; needed one with @tl.jit")
        if any(callee is known for known in _AT_COMPILE_TIME) or getattr(callee, "__module__", None) == "math":
            if callee is len and isinstance(arguments[0], (tuple, list)):
                return len(arguments[0])
            if callee is isinstance:
                return isinstance(*arguments)
            values = [self.static(argument, f"argument {index} of {name}, which runs at compile time,") for index, argument in
                      enumerate(arguments)]
            return callee(*values, **keywords)
        raise ProgramError(f"{describe(callee)} '{name}' cannot be called in a kernel")


def unwrap(value):
    return value.value if isinstance(value, constexpr) else value


def _shown(value):
    return value if isinstance(value, str) else describe(value)


def _is_number_like(value):
    return isinstance(value, (bool, int, float, tensor, constexpr))
