"""Tile programs, from one sequential text to roles, run in the simulator with all checks against NumPy in fp64."""

import math
import os

import numpy as np
import pytest

from tileloom import compiler
from test_programs import bf16, error, fp32, run

PROGRAMS = os.path.join(os.path.dirname(__file__), "..", "programs", "tile")
_compiled = {}


def program(name, target="sm_90a", schedule=None):
    """The compiled program; `schedule` is the text of a #tile.schedule."""
    key = name, target, schedule
    if key not in _compiled:
        with open(os.path.join(PROGRAMS, name + ".mlir")) as file:
            text = file.read()
        if schedule:
            text = text.replace("{tile.kernel}", "{tile.kernel, tile.schedule = #tile.schedule<%s>}" % schedule)
        _compiled[key] = compiler.compile(text, target, name=name, cubin=False)
    return _compiled[key]


SCHEDULES = [None, 'use = "pingpong"', "stages = 2", "epilogue = 64", "replicas = 1"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("m, n, k", [(128, 256, 64), (200, 328, 456)])
def test_gemm(schedule, m, n, k):
    rng = np.random.default_rng(m + n + k)
    a, b = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k)))
    c = np.full((m, n), 0x7FC0, np.uint16)
    run(program("gemm", schedule=schedule), (a, b, c, m, n, k), multiprocessors=2, seed=k)
    wanted = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    assert error(fp32(c), wanted) < 4e-3


@pytest.mark.parametrize("m, n, k", [(128, 256, 64), (200, 328, 456)])
def test_gemm_blackwell(m, n, k):
    rng = np.random.default_rng(m + n + k)
    a, b = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k)))
    c = np.full((m, n), 0x7FC0, np.uint16)
    run(program("gemm", "sm_100a"), (a, b, c, m, n, k), multiprocessors=2, seed=k)
    wanted = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    assert error(fp32(c), wanted) < 4e-3


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_gemm_without_k(target):
    a, b = np.zeros((128, 0), np.uint16), np.zeros((256, 0), np.uint16)
    c = np.full((128, 256), 0x7FC0, np.uint16)
    run(program("gemm", target), (a, b, c, 128, 256, 0), multiprocessors=2)
    assert not c.any()


@pytest.mark.parametrize("batch, length, heads", [(1, 128, 1), (2, 200, 2), (1, 384, 1)])
def test_attention(batch, length, heads):
    rng = np.random.default_rng(length)
    q, k, v = (bf16(rng.standard_normal((batch, length, heads, 128))) for _ in range(3))
    o = np.full_like(q, 0x7FC0)
    lse = np.full((batch, heads, length), np.nan, np.float32)
    scale = 128**-0.5 * math.log2(math.e)
    run(program("attention"), (q, k, v, o, lse, batch, heads, length, scale), multiprocessors=2, seed=length)
    x, y, z = (fp32(t).astype(np.float64).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = x @ y.transpose(0, 1, 3, 2) * 128**-0.5
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    assert error(fp32(o), (weights / total @ z).transpose(0, 2, 1, 3)) < 5e-3
    assert np.abs(lse - (top + np.log(total))[..., 0]).max() < 1e-4
