"""The language on a real GPU: the programs that test/python runs in the simulator, with the same arrays and the same wanted results. See
conftest.py for when it is skipped."""

import importlib
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))

MODULES = ("assembly", "atomics", "blocks", "cases", "counters", "debug", "division", "indexed", "kernels", "permute", "products", "random", "readers", "rearrange", "scaled", "semantics", "trees",
           "triton", "types")
WITHOUT_LAUNCH = {"tile", "refused", "program", "text", "KernelFault", "SimulatorError"}  # what tests of texts and refusals name

pytest.register_assert_rewrite(*(f"test_lang_{module}" for module in MODULES))


def launches(test):
    return not WITHOUT_LAUNCH & set(test.__code__.co_names)


for _module in MODULES:
    for _name, _test in list(vars(importlib.import_module(f"test_lang_{_module}")).items()):
        if _name.startswith("test_") and callable(_test) and launches(_test):
            globals()[f"test_{_module}_{_name.removeprefix('test_')}"] = _test


@pytest.fixture(autouse=True)
def device():
    from on_device import on_device
    with on_device() as launched:
        yield launched
