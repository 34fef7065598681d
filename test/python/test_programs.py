"""The Hopper programs by hand, compiled and run in the simulator with all checks, against NumPy in fp64: ragged sizes, one and no block of K,
poisoned outputs, random interleavings."""

import functools
import math

import numpy as np
import pytest

from programs import bf16, error, fp32, load, run


@pytest.fixture
def program():
    return functools.partial(load, "warp")


TILES = {"gemm_cooperative": (128, 256), "gemm_pingpong": (64, 256), "gemm_pingpong_128x192": (128, 192), "gemm_small_m": (64, 64)}


@pytest.mark.parametrize("name", TILES)
@pytest.mark.parametrize("m, n, k", [(128, 256, 64), (200, 328, 456), (72, 520, 128)])
def test_gemm(program, name, m, n, k):
    rng = np.random.default_rng(m + n + k)
    a, b = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k)))
    c = np.full((m, n), 0x7FC0, np.uint16)
    rows, columns = TILES[name]
    run(program(name), (a, b, c, -(-m // rows), -(-n // columns), -(-k // 64)), seed=k)
    wanted = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    assert error(fp32(c), wanted) < 4e-3


@pytest.mark.parametrize("name", TILES)
def test_gemm_without_k(program, name):
    a, b = np.zeros((128, 0), np.uint16), np.zeros((256, 0), np.uint16)
    c = np.full((128, 256), 0x7FC0, np.uint16)
    rows, columns = TILES[name]
    run(program(name), (a, b, c, -(-128 // rows), -(-256 // columns), 0))
    assert not c.any()


@pytest.mark.parametrize("folder, causal", [("warp", False), ("warp", True), ("scheduled", False)])
@pytest.mark.parametrize("batch, length, heads", [(1, 128, 1), (2, 200, 2), (1, 384, 1), (3, 300, 1)])
def test_attention(folder, causal, batch, length, heads):
    program = functools.partial(load, folder)
    rng = np.random.default_rng(length)
    q, k, v = (bf16(rng.standard_normal((batch, length, heads, 128))) for _ in range(3))
    o = np.full_like(q, 0x7FC0)
    lse = np.full((batch, heads, length), np.nan, np.float32)
    pairs, tiles, scale = batch * heads, -(-length // 128), 128**-0.5 * math.log2(math.e)
    if causal:
        run(program("attention_d128_causal"), (q, k, v, o, lse, heads, length, pairs, tiles, 2, scale), seed=length)
    else:
        run(program("attention_d128"), (q, k, v, o, lse, heads, length, pairs, tiles, scale), seed=length)
    x, y, z = (fp32(t).astype(np.float64).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = x @ y.transpose(0, 1, 3, 2) * 128**-0.5
    if causal:
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    wanted = (weights / total @ z).transpose(0, 2, 1, 3)
    assert error(fp32(o), wanted) < 5e-3
    assert np.abs(lse - (top + np.log(total))[..., 0]).max() < 1e-4
