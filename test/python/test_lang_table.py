"""The table of Triton's language in docs/language.md says what is there."""

import os
import re

import pytest

import tileloom as tl
from tileloom.frontend import context
from tileloom.frontend.builder import Builder
from tileloom.frontend.errors import ProgramError

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "language.md")


def rows():
    with open(PATH) as file:
        text = file.read()
    table = text[text.index("## Triton's language"):text.index("## Parameters that the host chooses")]
    for left, right in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.M):
        for name in re.findall(r"`(\w+)`", left):
            yield name, right


ROWS = list(rows())


def test_the_table_is_read():
    assert len(ROWS) > 90 and len({name for name, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("name, text", ROWS)
def test_row(name, text):
    if name == "tensor_descriptor":
        return  # what make_tensor_descriptor gives
    function = getattr(tl, name)
    refuses = False
    with context.building(Builder()):
        try:
            if name not in ("range", "static_range", "static_assert", "static_print"):
                function()
        except ProgramError as error:
            refuses = "is not supported" in str(error)
        except TypeError:
            pass  # arguments are missing
    assert refuses == text.startswith("no")
