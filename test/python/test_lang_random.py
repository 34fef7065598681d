"""Random programs of assignments, branches and loops over integers: the kernel in the simulator gives what Python gives. What a variable
is after any path, which numbers stay constants and what loops carry is all decided by the front end."""

import ast
import random

import numpy as np
import pytest

import tileloom  # noqa: F401 (the generated modules import it)

NAMES = ("a", "b", "c", "d")


class Maker:
    """Text of one program; `loops` are the names of the loops around the place."""

    def __init__(self, seed):
        self.rng, self.loops = random.Random(seed), []

    def number(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            return rng.choice([*NAMES, "n", "m", "(z + 1)", "(z + 5)", "(z - 3)", *self.loops])
        a, b = self.number(depth - 1), self.number(depth - 1)
        return rng.choice([lambda: f"({a} + {b})", lambda: f"({a} - {b})", lambda: f"(({a} * {b}) % 1009)", lambda: f"({a} // {rng.choice([3, 16])})",
                           lambda: f"({a} % {rng.choice([5, 16])})", lambda: f"min({a}, {b})", lambda: f"max({a}, {b})",
                           lambda: f"({a} if {self.condition(depth - 1)} else {b})"])()

    def condition(self, depth):
        test = f"{self.number(depth)} {self.rng.choice(['<', '<=', '==', '!=', '>'])} {self.number(depth)}"
        other = f"{self.number(0)} > {self.number(0)}"
        return self.rng.choice([test, test, f"({test} and {other})", f"({test} or {other})", f"(not {test})"])

    def block(self, depth, indent):
        rng, lines = self.rng, []
        for _ in range(rng.randint(1, 4)):
            kind = rng.random()
            if kind < 0.5 or depth <= 0:
                lines.append(indent + (f"{rng.choice(NAMES)} = ({self.number(2)}) % 1009" if rng.random() < 0.7 else
                                       f"{rng.choice(NAMES)} += {self.number(0)}"))
            elif kind < 0.75:
                lines += [f"{indent}if {self.condition(1)}:", *self.block(depth - 1, indent + "    ")]
                if rng.random() < 0.6:
                    lines += [f"{indent}else:", *self.block(depth - 1, indent + "    ")]
            else:
                name = f"i{len(self.loops)}"
                bounds = rng.choice(["range(n)", "range(m)", "tl.range(n, -1, -2)", "range(1, n, 2)", "tl.static_range(3)", "range(3)"])
                self.loops.append(name)
                lines += [f"{indent}for {name} in {bounds}:", *self.block(depth - 1, indent + "    ")]
                self.loops.pop()
        return lines


def make(seed):
    head = ["import tileloom as tl", "", "", "@tl.jit", "def program(out, n, m, z):", "    a, b, c, d = z + 1, n, z + 3, m"]
    return "\n".join([*head, *Maker(seed).block(3, "    "), *(f"    tl.store(out + {i}, {name})" for i, name in enumerate(NAMES)), ""])


def divide(a, b):
    """As the kernel: toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


class Division(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = {ast.Mod: "remainder", ast.FloorDiv: "divide"}.get(type(node.op))
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []) if name else node


def in_python(text, *arguments):
    """What the program stores, by Python itself; None if a variable has no value."""
    tree = ast.parse(text)
    tree.body = tree.body[1:]
    tree.body[0].decorator_list = []
    stored = {}

    class language:
        static_range = range = range
        store = stored.__setitem__
    scope = {"tl": language, "divide": divide, "remainder": lambda a, b: a - b * divide(a, b)}
    exec(compile(ast.fix_missing_locations(Division().visit(tree)), "<program>", "exec"), scope)
    scope["program"](0, *arguments)
    return [(stored[i] + (1 << 31)) % (1 << 32) - (1 << 31) for i in range(len(NAMES))]


@pytest.mark.parametrize("seed", range(24))
def test_random_program(seed, module_of):
    text = make(seed)
    module = module_of(text)
    for n, m in ((0, 0), (1, 5), (6, 2)):
        out = np.full(len(NAMES), -1, np.int32)
        module.program[(1,)](out, n, m, 0)
        assert out.tolist() == in_python(text, n, m, 0), text
