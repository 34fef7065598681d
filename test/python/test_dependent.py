"""Programmatic dependent launch, `dependent = true` in a schedule: the recipe asks for it, and every thread waits for the kernel ahead before
anything of it touches global memory."""

import re

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from tileloom import kernels
from tileloom.kernels.gemm import gemm_kernel

BF16 = ml_dtypes.bfloat16
TOUCHES = re.compile(r"^\s*(@\S+\s+)?((ld|st|red|atom)\.(?!param|shared)|cp\.)")


@tl.jit
def scaled(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2.0 * tl.load(x + at, at < n), at < n)


def first_touch(ptx):
    """(lines of the wait and of the launch of dependents, first line that touches global memory), labels and directives left out."""
    lines = ptx.splitlines()
    where = [next(i for i, line in enumerate(lines) if f"griddepcontrol.{what};" in line) for what in ("wait", "launch_dependents")]
    return *where, next(i for i, line in enumerate(lines) if TOUCHES.match(line))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("schedule", [{}, {"split": 3}, {"use": "pingpong"}])
def test_gemm(schedule, target):
    if target == "sm_100a" and schedule.get("use"):
        pytest.skip("one tensor core for all")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((200, 520)).astype(BF16), rng.standard_normal((136, 520)).astype(BF16)
    out = np.full((200, 136), np.nan, BF16)
    own = {"BM": 128, "BN": 64, "BK": 64, "schedule": {**schedule, "dependent": True}}
    kernels.gemm(a, b.T, out, target=target, **own)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.linalg.norm(out.astype(np.float64) - wanted) / np.linalg.norm(wanted) < 4e-3
    compiled = gemm_kernel.compile(a, b, out, target=target, **own)
    assert compiled.recipe["launch"]["dependent"] is True
    wait, launch, touch = first_touch(compiled.ptx)
    assert wait < launch < touch
    assert max(i for i, line in enumerate(compiled.ptx.splitlines()) if "mbarrier.init" in line) < wait


def test_plain_kernel():
    x, out = np.arange(1000, dtype=np.float32), np.full(1000, np.nan, np.float32)
    scaled[(8,)](x, out, 1000, BLOCK=128, schedule={"dependent": True})
    assert (out == 2 * x).all()
    compiled = scaled.compile(x, out, 1000, BLOCK=128, schedule={"dependent": True})
    assert compiled.recipe["launch"]["dependent"] is True
    wait, launch, touch = first_touch(compiled.ptx)
    assert wait < launch < touch


def test_not_asked_for():
    x = np.zeros(1000, np.float32)
    compiled = scaled.compile(x, x, 1000, BLOCK=128)
    assert compiled.recipe["launch"]["dependent"] is False and "griddepcontrol" not in compiled.ptx


def test_other_values_are_refused():
    x = np.zeros(1000, np.float32)
    with pytest.raises(tl.CompilationError, match="'dependent': expected true or false"):
        scaled.compile(x, x, 1000, BLOCK=128, schedule={"dependent": 3})
