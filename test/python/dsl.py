"""Helpers for the tests of the language: tile text of a function, and its checks."""

import re

import tileloom as tl
from tileloom import compiler
from tileloom.dispatch import facts
from tileloom.frontend.generate import generate


def program(function, signature=None, schedule=None, **constants):
    """The Program of a jitted function: `signature` for run-time parameters, keywords for constants."""
    known = {}
    values = function._bind((), {**constants, **(signature or {})}, tl.ArgumentError)
    for parameter in function.parameters:
        name = parameter.name
        known[name] = (facts.of_signature(parameter, signature[name], name) if signature and name in signature
                       else facts.of_value(parameter, values[name], (), name))
    return generate(function, known, schedule)


def tile(function, signature=None, schedule=None, **constants):
    """The tile text, after the compiler has parsed and verified it."""
    text = program(function, signature, schedule, **constants).text
    verify(text)
    return text


def verify(text):
    compiler.compile(text, "sm_90a", name="program.mlir", ptx=False, stages=("tile",))


def plain(text):
    """Tile text without locations."""
    return re.sub(r' loc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)', "", text)


def ops(text):
    """Names of the operations, in order."""
    return re.findall(r"(?:= |^ +)((?:tile|arith|math|scf)\.\w+)", plain(text), re.M)
