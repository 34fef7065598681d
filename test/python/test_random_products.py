"""Random persistent products: tiles, sizes down to none, what is done to operand A and to the sum, schedules; against fp64."""

import random

import ml_dtypes
import numpy as np
import pytest

TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
BEFORE = {"as it is": ("x", lambda a: a), "scaled": ("(x.to(tl.float32) * 0.5).to(x.dtype)", lambda a: 0.5 * a), "relu": ("tl.maximum(x, 0.0)", lambda a: np.maximum(a, 0))}
AFTER = {  # of the sum of a tile, and of that tile in NumPy with the columns of the whole that it has
    "tl.maximum(acc, 0.0)": lambda w, columns, N: np.maximum(w, 0),
    "acc * acc * 0.01": lambda w, columns, N: w * w * 0.01,
    "acc.to(tl.float16).to(tl.float32)": lambda w, columns, N: w.astype(np.float16).astype(np.float64),
    "tl.where(acc > 1.0, acc, -0.5 * acc)": lambda w, columns, N: np.where(w > 1, w, -0.5 * w),
    "acc + (n + tl.arange(0, BN))[None, :].to(tl.float32) * 0.1": lambda w, columns, N: w + columns * 0.1,
    "acc - tl.sum(tl.where((n + tl.arange(0, BN))[None, :] < N, acc, 0.0), 1, keep_dims=True) * 0.01":
        lambda w, columns, N: w - np.where(columns < N, w, 0).sum(1, keepdims=True) * 0.01,
    "acc + tl.max(acc, 0, keep_dims=True) * 0.1": lambda w, columns, N: w + w.max(0, keepdims=True) * 0.1,
}
TEXT = """import tileloom as tl


@tl.jit
def kernel(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            x = a.load([m, k], [BM, BK])
            acc = tl.dot({before}, b.load([n, k], [BN, BK]).T, acc)
        {after}
        c.store([m, n], acc.to(c.dtype))
"""


@pytest.mark.parametrize("seed", range(64))
def test_products(seed, module_of):
    draw = random.Random(seed)
    target, dtype, result = draw.choice(["sm_90a", "sm_100a"]), draw.choice(list(TYPES)), draw.choice(list(TYPES))
    BM, BN, BK = draw.choice([64, 128, 192] if target == "sm_90a" else [64, 128]), draw.choice([16, 32, 48, 64, 96, 128]), draw.choice([32, 64])
    M, N, K = draw.choice([1, 64, 100, 200, 300]), draw.choice([8, 64, 136, 200]), draw.choice([0, 8, 64, 72, 200])
    before = draw.choice(list(BEFORE)) if dtype != "float32" else "as it is"
    after = [draw.choice(list(AFTER)) for _ in range(draw.randint(0, 3))]
    schedule = draw.choice([None, {"use": "pingpong"}, {"scheduler": "dynamic"}, {"pending": 0}]) if target == "sm_90a" else None
    text = TEXT.format(before=BEFORE[before][0], after="\n        ".join(f"acc = {line}" for line in after) or "pass")
    module = module_of(text)
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal((rows, K)).astype(TYPES[dtype]) for rows in (M, N))
    c = np.full((M, N), np.nan, TYPES[result])
    module.kernel(a, b, c, BM=BM, BN=BN, BK=BK, target=target, simulator={"seed": draw.randint(0, 5)}, **({"schedule": schedule} if schedule else {}))

    wanted = np.zeros((-(-M // BM) * BM, -(-N // BN) * BN))
    wanted[:M, :N] = BEFORE[before][1](a.astype(np.float64)) @ b.astype(np.float64).T
    for m in range(0, M, BM):
        for n in range(0, N, BN):
            tile = wanted[m:m + BM, n:n + BN]
            for line in after:
                tile = AFTER[line](tile, n + np.arange(BN)[None, :], N)
            wanted[m:m + BM, n:n + BN] = tile
    limit = 0.02 if "bfloat16" in (dtype, result) else 6e-3
    assert np.linalg.norm(c.astype(np.float64) - wanted[:M, :N]) < limit * np.linalg.norm(wanted[:M, :N]) + 1e-6, text
