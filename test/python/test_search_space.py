"""Schedules of the space that bench/search.py searches: each is compiled without serialised products, or refused with the reason, and runs in the
simulator with all checks on small ragged shapes. A spread sample here; TILELOOM_SEARCH_SPACE=N (or "all") takes more of them."""

import os
import random
import sys

import ml_dtypes
import numpy as np
import pytest

from tileloom import kernels
from tileloom.frontend.errors import CompilationError
from tileloom.kernels.gemm import gemm_kernel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import candidates  # noqa: E402

SHAPES = [(4096, 4096, 4096), (128, 2112, 7168), (5, 3848, 1336), (336, 104, 12920), (13705, 504, 224), (4096, 32768, 512)]
SAMPLE = os.environ.get("TILELOOM_SEARCH_SPACE", "4")


def space():
    """{name: (constants, schedule)} over the shapes, as many of each as SAMPLE says."""
    found = {}
    for shape in SHAPES:
        names, _ = candidates.schedules(*shape)
        picked = list(names) if SAMPLE == "all" else random.Random(str(shape)).sample(list(names), min(int(SAMPLE), len(names)))
        found.update({name: names[name][1:] for name in picked})
    return found


def test_enough_is_searched():
    for shape in SHAPES:
        found, refused = candidates.schedules(*shape)
        assert len(found) >= 200, shape
        assert len(found) + refused > 300


@pytest.mark.parametrize("name", space())
def test_schedule(name):
    constants, own = space_of[name]
    rng = np.random.default_rng(len(name))
    for m, n, k in ((70, 200, 2 * constants["BK"] + 24), (300, 2 * constants["BN"] + 8, 5 * constants["BK"])):
        a, b = (rng.standard_normal((rows, k)).astype(ml_dtypes.bfloat16) for rows in (m, n))
        out = np.full((m, n), np.nan, ml_dtypes.bfloat16)
        try:
            kernels.gemm(a, b.T, out, schedule=own, simulator={"multiprocessors": 3}, **constants)
        except CompilationError as error:
            assert "expected" in str(error) or "need" in str(error), "refused without what is needed"
            continue
        wanted = a.astype(np.float64) @ b.astype(np.float64).T
        assert np.linalg.norm(out.astype(np.float64) - wanted) < 4e-3 * np.linalg.norm(wanted), (m, n, k)
    slow = gemm_kernel.compile(a, b, out, schedule=own, **constants).slowed_down()
    assert not slow or "C75" not in slow, slow


space_of = space()
