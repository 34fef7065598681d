"""The seeded-fault suite (test/faults): each mutation is found by the right check, and no correct kernel has a finding."""

import json
import os
import re
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))

import kernels  # noqa: E402
import run  # noqa: E402
from library import LIBRARY, load  # noqa: E402
from table import FAULTS  # noqa: E402

COMPILED = [name for name in kernels.KERNELS if name.startswith(("gemm_", "attention_"))]


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_correct_kernel(name):
    assert run.clean(name, seeds=3) == ""


@pytest.mark.parametrize("name", [*kernels.KERNELS, *LIBRARY])
def test_correct_kernel_does_all_that_ptx_asks_for(name):
    assert run.simulate(load(name), checks="all,strict") == (set(), "")


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.id for fault in FAULTS])
def test_fault(fault):
    right, seen, _, text = run.examine(fault)
    assert right, f"found {sorted(seen) or 'nothing'}, needed {' or '.join(fault.kinds)}\n{text}"


def recorded():
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "bench", "results", "h200-faults.json")) as file:
        return {case["case"]: case for case in json.load(file)["cases"] if "digests" in case}


@pytest.mark.parametrize("name", [name for name in [*kernels.KERNELS, *LIBRARY] if name in recorded()])
def test_correct_kernel_gives_the_bits_of_the_h200(name):
    found = run.agreement(load(name), recorded()[name])
    if found.startswith("not run"):
        pytest.skip("the compiler makes other PTX than when the H200 was asked")
    assert found in ("identical", "right (approximate functions)")


def test_there_are_enough():
    assert len(FAULTS) >= 40 and len({fault.id for fault in FAULTS}) == len(FAULTS)


def other_code(ptx):
    """The same program as another code generator might write it: other numbers of registers and labels, blocks in another order."""
    head, body, tail = re.match(r"(?s)(.*?\n\{\n(?:\s*\.(?:reg|local|shared)[^\n]*\n)*)(.*)(\n\}.*)", ptx).groups()
    head = re.sub(r"%(\w+)<(\d+)>", lambda m: f"%{m.group(1)}<{int(m.group(2)) + 700}>", head)
    body = re.sub(r"%(r|rd|rs|p|f)(\d+)\b", lambda m: f"%{m.group(1)}{int(m.group(2)) + 700}", body)
    body = re.sub(r"\$L__BB0_(\d+)", r"$elsewhere_\1", body)
    blocks, block = [], []
    for line in body.split("\n"):
        block.append(line)
        if re.match(r"\s*(bra(\.uni)?\s+\S+|ret);", line):
            blocks.append(block)
            block = []
    first, *others = blocks
    return head + "\n".join(sum([first, *reversed(others), block], [])) + tail


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.kernel in COMPILED], ids=lambda fault: fault.id)
def test_fault_in_other_code(fault):
    kernel = kernels.load(fault.kernel)
    ptx, recipe = fault.change(other_code(kernel.ptx), kernel.recipe)
    for seed in range(20):
        kinds, text = run.simulate(kernel, ptx, recipe, seed=seed, checks=fault.checks)
        if kinds & set(fault.kinds):
            return
    raise AssertionError(f"found {sorted(kinds) or 'nothing'}, needed {' or '.join(fault.kinds)}\n{text}")


@pytest.mark.parametrize("name", COMPILED)
def test_other_code_is_correct(name):
    kernel = kernels.load(name)
    assert run.simulate(kernel, other_code(kernel.ptx))[0] == set()
