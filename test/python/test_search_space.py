"""Schedules of the space that bench/search.py searches: each is compiled without serialised products and spills, or refused with the reason, and runs in the
simulator with all checks on small ragged shapes. A spread sample here; TILELOOM_SEARCH_SPACE=N (or "all") takes more of them."""

import os
import random
import re
import sys

import ml_dtypes
import numpy as np
import pytest

from tileloom import kernels
from tileloom.dispatch.compiled import compile_program
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
    assert clean(gemm_kernel.compile(a, b, out, schedule=own, **constants)), name


space_of = space()


def clean(compiled):
    """Whether ptxas neither serialised products nor spilled a register."""
    return not re.search(r"C75\d\d|spills registers", compiled.diagnostics)


WIDE = [(256, 208), (208, 256), (256, 192), (192, 256), (256, 176), (176, 256), (256, 160), (160, 256), (80, 256), (96, 256), (256, 80)]
ROLES = [{}, {"use": "pingpong"}, {"keep": "rows"}, {"cluster": 2, "multicast": "columns"}, {"cluster": 2, "multicast": "rows", "keep": "rows"},
         {"split": 2}, {"split": 3, "pending": 0}, {"cluster": 2, "multicast": "rows", "split": 8}, {"use": "pingpong", "epilogue": 64, "buffers": 1},
         {"use": "pingpong", "cluster": 2, "multicast": "rows"}]
NEAR = [(rows, columns, place) for rows, columns in WIDE for place in range(len(ROLES))]


@pytest.mark.parametrize("rows, columns, place", NEAR if SAMPLE == "all" else random.Random(6).sample(NEAR, 3 * int(SAMPLE)))
def test_sums_near_the_limit(rows, columns, place):
    """The widest sums, beside all that the role that copies may have to compute: refused by the model with the reason, or without a spill."""
    shape, constants = (4904, 2696, 1096), {"BM": rows, "BN": columns, "BK": 64}
    arguments, emit = gemm_kernel._open(*candidates.facts_of(*shape))
    program = emit(constants)
    values = [candidates.model._number(binding, arguments) for binding in program.bindings]
    found = candidates.model.predict(program.text, candidates.TARGET, {"split": 1, "cluster": 1, **ROLES[place]}, values)
    if found.reason:
        assert b"there" in found.reason and found.reason.split()[1].isdigit(), "says what is needed and what is there"
        return
    program = gemm_kernel._program(candidates.facts_of(*shape)[0], constants, ROLES[place])
    assert clean(compile_program(program, candidates.TARGET)), (constants, ROLES[place])


def test_208_registers_are_foreseen():
    """Beside a sum of 208 registers the role that copies has 24, too few for its places: the model says so, ptxas need not."""
    lines = gemm_kernel.explain(*(candidates.Extents(4904, columns) for columns in (1096, 1096, 2696)), BM=256, BN=208, BK=64).split("\n")[1:]
    assert lines and all("registers: " in line and " there" in line for line in lines)
