"""Programs whose roles await each product at once, through the passes that overlap them, in the simulator against NumPy in fp64: none, one, two and
more iterations of their loops, ragged ends, random interleavings."""

import functools
import math

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


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("batch, length, heads", [(1, 128, 1), (2, 200, 2), (1, 384, 1)])
def test_attention(program, causal, batch, length, heads):
    rng = np.random.default_rng(length)
    q, k, v = (bf16(rng.standard_normal((batch, length, heads, 128))) for _ in range(3))
    o = np.full_like(q, 0x7FC0)
    lse = np.full((batch, heads, length), np.nan, np.float32)
    pairs, tiles, scale = batch * heads, -(-length // 128), 128**-0.5 * math.log2(math.e)
    if causal:
        counter = np.zeros(2, np.int32)
        run(program("attention_d128_causal"), (q, k, v, o, lse, counter, heads, length, pairs, tiles, 2, scale))
        assert not counter.any()
    else:
        run(program("attention_d128"), (q, k, v, o, lse, heads, length, pairs, tiles, scale), seed=length)
    x, y, z = (fp64(t).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = x @ y.transpose(0, 1, 3, 2) * 128**-0.5
    if causal:
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    assert error(fp64(o), (weights / total @ z).transpose(0, 2, 1, 3)) < 5e-3
    assert np.abs(lse - (top + np.log(total))[..., 0]).max() < 1e-4
