"""Whole random kernels against the same text run by NumPy (numpy_language.py), in the simulator with all checks: plain ones bit for bit, products through
views, products with random schedules, which are right or refused, and kernels that mix all of these. $TILELOOM_RANDOM_KERNELS: how many of each (then also others than the fixed ones)."""

import os
import re

import numpy as np
import numpy_language
import pytest
import random_kernels
import random_mixed
import random_roles

import tileloom as tl

COUNT = int(os.environ.get("TILELOOM_RANDOM_KERNELS", "24"))
REFUSED = ("shared memory: need", "tensor memory: need", "register pool: need", "schedule: ", "field '", "rows: expected a multiple of",
           "columns: expected a multiple of", "a cluster of", "box's rows are", "cannot be split over", "expected scf.if conditions that are the same")


def arrays_of(case):
    """Copies, each with the strides of the original."""
    def copy(value):
        whole = value if value.flags.c_contiguous else value.base
        return whole.copy()[..., :value.shape[-1]] if isinstance(value, np.ndarray) else value
    return {name: copy(value) if isinstance(value, np.ndarray) else value for name, value in case["args"].items()}


def run(case, module):
    """(what the kernel leaves in its arrays, what NumPy leaves): lists of arrays in float64."""
    found, wanted = arrays_of(case), {name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in case["args"].items()}
    with np.errstate(all="ignore"):
        constants = case.get("constants", {})
        numpy_language.run(case["text"], "kernel", case["grid"] or (1,), wanted, constants, case.get("views", ()))
    kernel = module.kernel[case["grid"]] if case["grid"] else module.kernel
    kernel(**found, **constants, **case["options"])
    names = [name for name, value in found.items() if isinstance(value, np.ndarray)]
    exact = all(found[name].dtype.kind in "iub" for name in names)
    return [[values[name] if exact else values[name].astype(np.float64) for name in names] for values in (found, wanted)]


@pytest.mark.parametrize("seed", range(COUNT))
def test_plain(seed, module_of):
    case = random_kernels.make(seed)
    found, wanted = run(case, module_of(case["text"]))
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a, b, err_msg=case["text"])


def close(case, module):
    found, wanted = run(case, module)
    for a, b in zip(found, wanted):
        finite = np.isfinite(b)
        np.testing.assert_array_equal(np.isfinite(a), finite, err_msg=case["text"])
        error = np.abs(a[finite] - b[finite])
        assert np.linalg.norm(error) <= 4e-3 * np.linalg.norm(b[finite]), case["text"]
        assert not error.size or error.max() <= 0.04 * np.abs(b[finite]).max(), case["text"]


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("seed", range(COUNT))
def test_products(seed, scheduled, module_of):
    case = random_roles.make(seed, scheduled)
    try:
        close(case, module_of(case["text"]))
    except tl.TileloomError as error:
        assert re.search("|".join(map(re.escape, REFUSED)), str(error)), case["text"] + str(error)


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("seed", range(COUNT))
def test_mixed(seed, scheduled, module_of):
    case = random_mixed.make(seed, scheduled)
    try:
        found, wanted = run(case, module_of(case["text"]))
    except tl.TileloomError as error:
        assert re.search("|".join(map(re.escape, REFUSED)), str(error)), case["text"] + str(error)
        return
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a, b, err_msg=case["text"])
