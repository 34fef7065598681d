"""The examples in the descriptions of all operations parse, verify and come back the same from what is printed, and every operation has one. What an
example uses without a definition is declared with the type that the example gives it; `{ ... }` is an empty region."""

import functools
import json
import os
import re
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
BUILD = os.environ.get("TILELOOM_BUILD", os.path.join(ROOT, "build"))
KERNEL_OPT = os.path.join(BUILD, "bin", "kernel-opt")
DIALECTS = {"tile": "Tile/TileOps.td", "warp": "Warp/Warp.td", "nv": "NV/NVOps.td", "ptx": "PTX/PTX.td"}
EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.S)
UNDECLARED = re.compile(r"<stdin>:(\d+):(\d+): error: use of undeclared SSA value name")
TYPE = re.compile(r"use of value '(%[\w$.-]+)' expects different type than prior uses: '(.*)' vs 'none'")


@functools.cache
def llvm():
    """The folder of the LLVM that the build uses."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
        return re.search(r"^LLVM_DIR:PATH=(.*)/lib/cmake/llvm$", file.read(), re.M)[1]


def descriptions(dialect):
    """(name, description) of each operation, as TableGen knows them."""
    command = [os.path.join(llvm(), "bin", "llvm-tblgen"), "--dump-json", "-I", os.path.join(llvm(), "include"), "-I", ROOT,
               os.path.join(ROOT, "dialects", DIALECTS[dialect])]
    records = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for name in records["!instanceof"]["Op"]:
        record = records[name]
        if records[record["opDialect"]["def"]]["name"] == dialect:
            yield f"{dialect}.{record['opName']}", record["description"]


def complete(example):
    """What kernel-opt prints for the example, in a module that declares what it uses."""
    types = {}
    while True:
        declarations = "".join(f'{name} = "test.value"() : () -> {type}\n' for name, type in types.items())
        text = declarations + example.replace("{ ... }", "{ }")
        result = subprocess.run([KERNEL_OPT, "--allow-unregistered-dialect", "--verify-roundtrip", "-"], input=text, capture_output=True, text=True)
        lines = text.splitlines()
        missing = [re.match(r"%[\w$.-]+", lines[int(line) - 1][int(column) - 1:])[0] for line, column in UNDECLARED.findall(result.stderr)]
        known = {name: "none" for name in missing if name not in types} | types | dict(TYPE.findall(result.stderr))
        if known == types:
            assert result.returncode == 0, text + result.stderr
            return result.stdout
        types = known


@pytest.mark.parametrize("name, description", [pytest.param(*each, id=each[0]) for dialect in DIALECTS for each in descriptions(dialect)])
def test_example(name, description):
    examples = EXAMPLE.findall(description)
    assert examples, "an operation without an example"
    for example in examples:
        assert name in complete(example)
