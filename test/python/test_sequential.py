"""Programs whose roles await each product at once, through the passes that overlap them, in the simulator against NumPy in fp64: none, one, two and
more iterations of their loops, ragged ends, random interleavings."""

import functools

import numpy as np
import pytest

from programs import bf16, error, fp64, load, run


@pytest.fixture
def program():
    return functools.partial(load, "sequential")


def chain(program, name, blocks, rows=200, extra=(), middle=None):
    rng = np.random.default_rng(blocks)
    x, w1, w2 = (bf16(rng.standard_normal((n, 64)) * s) for n, s in ((rows, 0.3), (64 * blocks, 0.3), (64 * blocks, 1)))
    y = np.full((rows, 64), 0x7FC0, np.uint16)
    run(program(name), (x, w1, w2, y, -(-rows // 128), blocks, *extra), seed=blocks)
    h = fp64(x) @ fp64(w1).T
    return fp64(y), h, fp64(w2)


@pytest.mark.parametrize("blocks", [1, 2, 3, 6])
def test_gelu_chain(program, blocks):
    y, h, w2 = chain(program, "gelu_chain", blocks)
    assert error(y, (h / (1 + np.exp2(-2.4555 * h))) @ w2) < 8e-3


def test_gelu_chain_without_blocks(program):
    y, h, w2 = chain(program, "gelu_chain", 0)
    assert not y.any()


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_squared_chain(program, blocks):
    y, h, w2 = chain(program, "squared_chain", blocks)
    assert error(y, h * h @ w2 / (h * h).sum(1, keepdims=True)) < 8e-3


@pytest.mark.parametrize("blocks, end", [(1, 64), (1, 40), (2, 128), (4, 200), (4, 70)])
def test_running_scale(program, blocks, end):
    y, h, w2 = chain(program, "running_scale", blocks, extra=(end,))
    h[:, end:] = 0
    assert error(y, h @ w2) < 8e-3
