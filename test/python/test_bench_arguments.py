"""bench/attention.py times every argument of the attention functions."""

import inspect
import os
import re

import pytest

from tileloom import kernels

BENCH = os.path.join(os.path.dirname(__file__), "..", "..", "bench")


@pytest.mark.parametrize("name", ["attention", "attention_varlen", "attention_kvcache"])
def test_every_argument_has_a_row(name):
    text = ""
    for file in ("attention.py", "attention_arguments.py"):
        with open(os.path.join(BENCH, file)) as source:
            text += source.read()
    text = text.replace('{own}_descale', "q_descale k_descale v_descale ")
    parameters = inspect.signature(getattr(kernels, name)).parameters.values()
    missing = [own.name for own in parameters if own.kind is own.KEYWORD_ONLY and not re.search(rf"\b{own.name}\b", text)]
    assert not missing
