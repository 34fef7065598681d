"""Programs of one warp lie side by side in CTAs; nothing that a program can see tells."""

import json

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from tileloom import kernels


@tl.jit
def places(out, sums, total, columns, BLOCK: tl.constexpr):
    """out[program]: its numbers; sums: of 0 .. columns - 1; total: one for each program, or None."""
    x, y = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, BLOCK)
    program = y * tl.num_programs(0) + x
    tl.store(out + program * 4 + at, tl.where(at == 0, x, tl.where(at == 1, y, tl.where(at == 2, tl.num_programs(0), tl.num_programs(1)))), at < 4)
    tl.store(sums + program, tl.sum(tl.where(at < columns, at, 0), 0))
    if total is not None:
        tl.atomic_add(total, 1)


# With one multiprocessor: 8, 4 and 2 programs a CTA, one where the grid is odd, or has too few to go round.
@pytest.mark.parametrize("grid", [(24, 1), (12, 3), (6, 2), (7, 5), (2, 1), (1, 1)])
@pytest.mark.parametrize("counted, seed", [(False, 0), (False, 3), (True, 0)])
def test_numbers_of_programs(grid, counted, seed):
    count = grid[0] * grid[1]
    out, sums, total = np.full((count, 4), -1, np.int32), np.full(count, -1, np.int32), np.zeros(1, np.int32) if counted else None
    places[grid](out, sums, total, 37, BLOCK=64, num_warps=1, simulator={"multiprocessors": 1, "seed": seed})
    wanted = [(x, y, *grid) for y in range(grid[1]) for x in range(grid[0])]
    assert out.tolist() == [list(row) for row in wanted]
    assert (sums == 37 * 18).all() and (not counted or total[0] == count)


@pytest.mark.parametrize("rows", [24, 22, 7])
@pytest.mark.parametrize("columns", [512, 256, 200, 33])
def test_rows(rows, columns):
    rng = np.random.default_rng(rows + columns)
    x = rng.standard_normal((rows, columns)).astype(ml_dtypes.bfloat16)
    out = np.full_like(x, np.nan)
    kernels.softmax(x, out, simulator={"multiprocessors": 1})
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    np.testing.assert_allclose(out.astype(np.float64), e / e.sum(1, keepdims=True), rtol=8e-3)
    weight, bias = (rng.standard_normal(columns).astype(ml_dtypes.bfloat16) for _ in range(2))
    out = np.full_like(x, np.nan)
    kernels.layer_norm(x, weight, bias, out, simulator={"multiprocessors": 1})
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out.astype(np.float64), normal * weight.astype(np.float64) + bias.astype(np.float64), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_what_is_compiled(target):
    signature = {"out": "*i32", "sums": "*i32", "total": None, "columns": "i32"}
    one, two = (places.compile(signature=signature, target=target, BLOCK=64, num_warps=warps) for warps in (1, 2))
    launch = json.loads(one.recipe)["launch"] if isinstance(one.recipe, str) else one.recipe["launch"]
    assert launch["grid"] == {"given": True, "packed": 8} and launch["threads"] == 32
    assert ".maxntid 256" in one.ptx and ".reqntid" not in one.ptx and "bar.sync" not in one.ptx
    assert ".reqntid 64" in two.ptx
    meets = places.compile(signature={**signature, "total": "*i32"}, target=target, BLOCK=64, num_warps=1)
    assert ".reqntid 32" in meets.ptx, "an atomic operation's order has a barrier of the CTA's"
