"""The tests that docs/reported-faults.md names exist."""

import os
import re

import pytest
from conftest import ROOT


def rows():
    with open(os.path.join(ROOT, "docs", "reported-faults.md")) as file:
        for line in file:
            if line.startswith("| ") and "`" in line:
                report, _, tests = line.strip("| \n").split(" | ")
                yield pytest.param(re.findall(r"`([^`]*)`", tests), id=report)


@pytest.mark.parametrize("tests", list(rows()))
def test_named_tests_exist(tests):
    assert tests
    for name in tests:
        if "::" not in name:
            assert os.path.exists(os.path.join(ROOT, name)), name
            continue
        file, function = name.split("::")
        folder = "gpu" if file.endswith("_gpu.py") else "python"
        with open(os.path.join(ROOT, "test", folder, file)) as text:
            assert f"\ndef {function}(" in text.read(), name
