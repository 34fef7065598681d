"""Memory by lifetimes: what shares bytes, that it is right in every interleaving tried, and that wrong sharing is found."""

import re

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from tileloom import sim
from test_lang_triton import matmul

BF16 = ml_dtypes.bfloat16


@tl.jit
def one_tile(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    (M, K), N = a.shape, b.shape[0]
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
    c.store([m, n], acc.to(c.dtype))


def views(m, n, k, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((n, k)).astype(BF16)
    return a, b, np.full((m, n), np.nan, BF16), a.astype(np.float64) @ b.astype(np.float64).T


def pointers(m, n, k):
    rng = np.random.default_rng(m + n + k)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    return a, b, np.full((m, n), np.nan, np.float16), a.astype(np.float64) @ b.astype(np.float64)


def close(found, wanted):
    return np.linalg.norm(np.asarray(found).astype(np.float64) - wanted) <= 6e-3 * max(np.linalg.norm(wanted), 1e-30)


def memory(compiled, what="shared"):
    """Rows of the memory map, and the names of those that have bytes of others."""
    rows = {row["name"]: row for row in compiled.report["kernels"][0][what]}
    return rows, {name for name, row in rows.items() if "over" in row}


def test_rearranged_results():
    """The tutorial's product: 16-byte stores rearrange 64 KB of results, where the operands were; four slots of 48 KB, not three."""
    a, b, c, wanted = pointers(130, 272, 336)
    arguments, constants = (130, 272, 336, 336, 1, 272, 1, 272, 1), dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8, ACTIVATION="")
    rows, over = memory(matmul.compile(a, b, c, *arguments, **constants))
    assert any("scratch" in name for name in over) and max(row.get("slots", 0) for row in rows.values()) == 4
    for seed in range(20):
        c[:] = np.nan
        matmul[(4,)](a, b, c, *arguments, **constants, simulator={"seed": seed})
        assert close(c, wanted)


@pytest.mark.parametrize("k", [0, 64, 200])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_staged_results(target, k):
    """Results that TMA stores lie over the operands, which have seven slots instead of six."""
    a, b, c, wanted = views(200, 264, k)
    rows, over = memory(one_tile.compile(a, b, c, BM=128, BN=128, BK=64, target=target))
    assert over and max(row.get("slots", 0) for row in rows.values()) == 7
    for seed in range(20):
        c[:] = np.nan
        one_tile[(2, 3)](a, b, c, BM=128, BN=128, BK=64, target=target, simulator={"seed": seed})
        assert close(c, wanted)


def test_without_the_meeting():
    """The replicas do not wait for each other: one writes results where the other still reads operands. The simulator says so."""
    a, b, c, _ = views(128, 128, 448)
    compiled = one_tile.compile(a, b, c, BM=128, BN=128, BK=64, target="sm_90a")
    ptx, count = re.subn(r"mbarrier\.try_wait\.parity\.shared\.b64 (%%p\d+), \[tileloom_shared\+%d\], [^;]*;" % memory(compiled)[0]["meeting"]["offset"],
                         r"setp.eq.b32 \1, 0, 0;", compiled.ptx)
    assert count == 1
    recipe = {**compiled.recipe, "launch": {**compiled.recipe["launch"], "grid": {"x": 1, "y": 1, "z": 1}}}
    found = [finding for seed in range(20)
             for finding in sim.run_recipe(ptx, recipe, a, 448, b, c, seed=seed, multiprocessors=2).findings]
    assert any(finding["kind"] == "race" for finding in found)


@tl.jit
def in_turn(x: tl.view, out: tl.view, D: tl.constexpr, W: tl.constexpr):
    """Products one after the other, each of the one before: four sums, three of them operands as well, of 1024 columns in all."""
    a = x.load([0, 0], [D, W])
    p = tl.dot(a, a.T).to(out.dtype)
    q = tl.dot(p, a).to(out.dtype)
    r = tl.dot(q, a.T).to(out.dtype)
    out.store([0, 0], tl.dot(r, a).to(out.dtype))


def test_columns():
    rng = np.random.default_rng(3)
    x, out = (rng.standard_normal((128, 256)) / 16).astype(BF16), np.full((128, 256), np.nan, BF16)
    rows, over = memory(in_turn.compile(x, out, D=128, W=256, target="sm_100a"), "tensor")
    assert sum(row["columns"] for row in rows.values()) > 512 and over
    a = x.astype(np.float64)
    wanted = a
    for factor in (a.T, a, a.T, a):
        wanted = wanted @ factor
    for seed in range(20):
        out[:] = np.nan
        in_turn[(1,)](x, out, D=128, W=256, target="sm_100a", simulator={"seed": seed})
        assert np.linalg.norm(out.astype(np.float64) - wanted) <= 2e-2 * np.linalg.norm(wanted)
