"""Helpers for the tests of the language: tile text of a function, and its checks."""

import os
import re
import subprocess

import pytest

import tileloom as tl
from tileloom.dispatch import facts
from tileloom.frontend.generate import generate

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def program(function, signature=None, schedule=None, **constants):
    """The Program of a jitted function: `signature` for run-time parameters, keywords for constants."""
    known = {}
    values = function._bind((), {**constants, **(signature or {})}, tl.ArgumentError)
    for parameter in function.parameters:
        name = parameter.name
        known[name] = (facts.of_signature(parameter, signature[name], name) if signature and name in signature
                       else facts.of_value(parameter, values[name], name))
    return generate(function, known, schedule)


def tile(function, signature=None, schedule=None, **constants):
    """The tile text, after the compiler has parsed and verified it."""
    text = program(function, signature, schedule, **constants).text
    verify(text)
    return text


def verify(text):
    """Parses and verifies, and runs the canonicaliser, whose folders must take it."""
    tool = os.path.join(os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build")), "bin", "kernel-opt")
    done = subprocess.run([tool, "-", "--pass-pipeline=builtin.module(canonicalize,cse)", "-o", os.devnull], input=text, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr + text


def plain(text):
    """Tile text without locations."""
    return re.sub(r' loc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)', "", text)


def ops(text):
    """Names of the operations, in order."""
    return re.findall(r"(?:= |^ +)((?:tile|arith|math|scf)\.\w+)", plain(text), re.M)


POINTERS = {"x": "*f32", "out": "*f32", "n": "i32"}


def refused(function, message, under, signature=POINTERS, **constants):
    """Checks that a program is refused with `message`, and that the caret is below the text `under` of the line shown."""
    with pytest.raises(tl.CompilationError) as caught:
        program(function, signature, **constants)
    check_caret(str(caught.value), message, under)
    return caught.value


def check_caret(text, message, under):
    lines = text.splitlines()
    assert re.match(r"\S*\.py:\d+:\d+: error: ", lines[0]), text
    assert message in lines[0], text
    assert lines[2].strip() == "^", text
    assert lines[1][lines[2].index("^"):].startswith(under), text
    line, column = map(int, re.match(r".*?:(\d+):(\d+): ", lines[0]).groups())
    assert open(lines[0].split(":")[0]).read().splitlines()[line - 1][column - 1:].startswith(under)
