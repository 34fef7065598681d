"""Tile programs, from one sequential text to roles, run in the simulator with all checks against NumPy in fp64."""

import functools
import math
import pathlib

import numpy as np
import pytest

from programs import FOLDER, bf16, error, fp32, load, run
from tileloom import compiler

program = functools.partial(load, "")


SCHEDULES = [None, 'use = "pingpong"', 'use = "pingpong", pending = 1', "pending = 1", "stages = 2", "epilogue = 64", "replicas = 1",
             "epilogue = 64, buffers = 2", 'use = "pingpong", pending = 1, epilogue = 32, buffers = 4, keep = "rows"', 'keep = "columns"']


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("m, n, k", [(128, 256, 64), (200, 328, 456)])
def test_gemm(schedule, m, n, k):
    rng = np.random.default_rng(m + n + k)
    a, b = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k)))
    c = np.full((m, n), 0x7FC0, np.uint16)
    run(program("gemm", schedule=schedule), (a, b, c, m, n, k), seed=k)
    wanted = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    assert error(fp32(c), wanted) < 4e-3


@pytest.mark.parametrize("m, n, k", [(128, 256, 64), (200, 328, 456)])
def test_gemm_blackwell(m, n, k, schedule=None):
    rng = np.random.default_rng(m + n + k)
    a, b = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k)))
    c = np.full((m, n), 0x7FC0, np.uint16)
    run(program("gemm", "sm_100a", schedule), (a, b, c, m, n, k), seed=k)
    wanted = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    assert error(fp32(c), wanted) < 4e-3


@pytest.mark.parametrize("schedule", ['buffers = 2, keep = "rows"', "pending = 1, epilogue = 64"])
def test_gemm_blackwell_fields(schedule):
    test_gemm_blackwell(200, 328, 456, schedule)


@pytest.mark.parametrize("target, schedule", [("sm_90a", None), ("sm_100a", None), ("sm_90a", 'use = "pingpong", pending = 1'), ("sm_90a", "pending = 1")])
def test_gemm_without_k(target, schedule):
    a, b = np.zeros((200, 0), np.uint16), np.zeros((328, 0), np.uint16)
    c = np.full((200, 328), 0x7FC0, np.uint16)
    run(program("gemm", target, schedule), (a, b, c, 200, 328, 0))
    assert not c.any()


@pytest.mark.parametrize("batch, length, heads, schedule", [(1, 128, 1, None), (2, 200, 2, None), (1, 384, 1, None), (1, 384, 1, 'skew = "off"'),
                                                            (1, 384, 1, 'guard = "off"'), (1, 384, 1, "fraction = 0.5"),
                                                            *((*size, 'cluster = 2, multicast = "rows"') for size in [(1, 128, 1), (2, 200, 2), (1, 384, 1)])])
def test_attention(batch, length, heads, schedule):
    compiled = program("attention", schedule=schedule)
    assert schedule is None or compiled.ptx != program("attention").ptx, "the field has no effect"
    _attention(compiled, batch, length, heads)


def _attention(compiled, batch, length, heads):
    rng = np.random.default_rng(length)
    q, k, v = (bf16(rng.standard_normal((batch, length, heads, 128))) for _ in range(3))
    o = np.full_like(q, 0x7FC0)
    lse = np.full((batch, heads, length), np.nan, np.float32)
    run(compiled, (q, k, v, o, lse, batch, heads, length, 128**-0.5 * math.log2(math.e)), seed=length)
    x, y, z = (fp32(t).astype(np.float64).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = x @ y.transpose(0, 1, 3, 2) * 128**-0.5
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    assert error(fp32(o), (weights / total @ z).transpose(0, 2, 1, 3)) < 5e-3
    assert np.abs(lse - (top + np.log(total))[..., 0]).max() < 1e-4


TARGETS = ["sm_90a", "sm_100a"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, features", [(128, 64), (200, 192), (100, 0)])
def test_chained_products(target, rows, features):
    """gelu(X W1^T) W2^T: two products with element-wise work between, none and several iterations."""
    rng = np.random.default_rng(rows + features)
    x, w1, w2 = (bf16(rng.standard_normal(s)) for s in ((rows, 64), (features, 64), (64, features)))
    y = np.full((rows, 64), 0x7FC0, np.uint16)
    run(program("mlp", target), (x, w1, w2, y, rows, features), seed=rows)
    h = fp32(x).astype(np.float64) @ fp32(w1).astype(np.float64).T
    g = 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h**3)))
    assert error(fp32(y), g @ fp32(w2).astype(np.float64).T) < 8e-3


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, columns", [(64, 64), (100, 200), (70, 4)])
def test_copy_loop(target, rows, columns):
    x = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
    y = np.full_like(x, np.nan)
    run(program("square", target), (x, y, rows, columns), seed=columns)
    assert np.abs(y - (x.astype(np.float64) ** 2 + 1)).max() < 1e-5


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, columns, k", [(128, 128, 64), (200, 136, 200)])
def test_operand_made_in_registers(target, rows, columns, k):
    rng = np.random.default_rng(k)
    x, w, s = bf16(rng.standard_normal((rows, k))), bf16(rng.standard_normal((columns, k))), rng.random(rows).astype(np.float32)
    y = np.full((rows, columns), np.nan, np.float32)
    run(program("scaled", target), (x, w, s, y, rows, columns, k), seed=k)
    wanted = (fp32(x).astype(np.float64) * s[:, None]) @ fp32(w).astype(np.float64).T
    assert error(y, wanted) < 4e-3


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, k", [(128, 64), (200, 200)])
def test_two_sums(target, rows, k):
    rng = np.random.default_rng(k)
    a, b, c = (bf16(rng.standard_normal((n, k))) for n in (rows, 64, 64))
    d1, d2 = (np.full((rows, 64), np.nan, np.float32) for _ in range(2))
    run(program("twice", target), (a, b, c, d1, d2, rows, k), seed=k)
    for found, other in ((d1, b), (d2, c)):
        assert error(found, fp32(a).astype(np.float64) @ fp32(other).astype(np.float64).T) < 4e-3


@pytest.mark.parametrize("batch, length, heads", [(1, 128, 1), (1, 200, 2)])
def test_attention_blackwell(batch, length, heads):
    _attention(program("attention", "sm_100a"), batch, length, heads)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fixed", [1, 100, 129])
def test_attention_of_a_constant_length(fixed, target):
    """LLVM sees how often the loop runs, not at all behind its first iteration, for one, and that all sums are equal then: they still have
    registers of their own before a product's fence."""
    text = pathlib.Path(FOLDER, "attention.mlir").read_text().replace("%tiles = arith.ceildivui %length,", f"%fixed = arith.constant {fixed} : i32\n  %tiles = arith.ceildivui %fixed,")
    compiled = compiler.compile(text.replace("tile.splat %length", "tile.splat %fixed"), target, name="attention.mlir", cubin=False)
    _attention(compiled, 1, fixed, 2)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_chained_without_a_loop(target):
    a, unused, out = bf16(0.3 * np.random.default_rng(5).standard_normal((64, 64))), np.zeros((32, 512), np.uint16), np.full((64, 64), 0x7FC0, np.uint16)
    compiled = program("chained", target)
    assert compiled.recipe["launch"]["grid"] == {"given": True}
    compiled.recipe["launch"]["grid"] = {"x": 1}
    run(compiled, (a, unused, out))
    square = fp32(a).astype(np.float64) @ fp32(a).astype(np.float64).T
    assert error(fp32(out), fp32(bf16(square)) @ fp32(a).astype(np.float64) + square) < 4e-3


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, n, k, labels", [(256, 128, 64, [(2, 128), (0, 128)]), (384, 136, 200, [(1, 70), (-1, 58), (-1, 128), (0, 128)]),
                                                (200, 72, 72, [(0, 128), (2, 72)]), (128, 64, 0, [(1, 128)])])
def test_moe(target, rows, n, k, labels):
    rng = np.random.default_rng(rows + k)
    a, b = bf16(rng.standard_normal((rows, k))), bf16(rng.standard_normal((3, n, k)))
    label = np.concatenate([np.full(count, expert, np.int32) for expert, count in labels])
    c = np.full((rows, n), 0x7FC0, np.uint16)
    run(program("moe", target), (a, b, c, c, label, rows, n, k), seed=k)
    used = label >= 0
    wanted = np.einsum("ik,ink->in", fp32(a).astype(np.float64), fp32(b).astype(np.float64)[np.maximum(label, 0)])
    assert error(fp32(c)[used], wanted[used]) < 4e-3 and (c[~used] == 0x7FC0).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k, counts", [(128, 128, 64, [128, 0, 5]), (200, 136, 200, [200, 129, 64]), (64, 72, 72, [0, 0, 0])])
def test_moe_masked(target, m, n, k, counts):
    rng = np.random.default_rng(m + k)
    a, b = bf16(rng.standard_normal((3, m, k))), bf16(rng.standard_normal((3, n, k)))
    c = np.full((3, m, n), 0x7FC0, np.uint16)
    run(program("moe_masked", target), (a, b, c, c, np.array(counts, np.int32), 3, m, n, k), seed=k)
    wanted = np.einsum("eik,enk->ein", fp32(a).astype(np.float64), fp32(b).astype(np.float64))
    for e, count in enumerate(counts):
        assert error(fp32(c)[e, :count], wanted[e, :count]) < 4e-3 and (c[e, count:] == 0x7FC0).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, k", [(128, 64), (200, 200), (100, 0)])
def test_decaying_sum(target, rows, k):
    """On Blackwell the sum stays in tensor memory, where each row is multiplied in place; none, one and several blocks, from a start of ones."""
    rng = np.random.default_rng(rows + k)
    a, b = bf16(rng.standard_normal((rows, k))), bf16(rng.standard_normal((256, k)))
    f = rng.random(rows).astype(np.float32)
    d = np.full((rows, 256), np.nan, np.float32)
    run(program("decay", target), (a, b, f, d, rows, k), seed=k)
    wanted = np.ones((rows, 256))
    for at in range(0, k, 64):
        wanted = wanted * f[:, None] + fp32(a)[:, at:at + 64].astype(np.float64) @ fp32(b)[:, at:at + 64].astype(np.float64).T
    assert error(d, wanted) < 1e-5


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, features", [(128, 128), (200, 200), (100, 0)])
def test_gated_layer(target, rows, features):
    """Two tiles of 128 columns make one operand, slice by slice on Blackwell."""
    rng = np.random.default_rng(rows + features)
    x, g, u, w = (bf16(rng.standard_normal(s)) for s in ((rows, 64), (features, 64), (features, 64), (64, features)))
    y = np.full((rows, 64), 0x7FC0, np.uint16)
    run(program("gated", target), (x, g, u, w, y, rows, features), seed=rows)
    x64, g64, u64, w64 = (fp32(t).astype(np.float64) for t in (x, g, u, w))
    assert error(fp32(y), (x64 @ u64.T / (1 + np.exp(-(x64 @ g64.T)))) @ w64.T) < 8e-3


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows, k", [(128, 64), (200, 200), (100, 0)])
def test_normalised_rows(target, rows, k):
    """A row of 256 columns is reduced and then scaled: on Blackwell it is read twice, in slices."""
    rng = np.random.default_rng(rows + k)
    a, b = bf16(rng.standard_normal((rows, k))), bf16(rng.standard_normal((256, k)))
    y = np.full((rows, 256), 0x7FC0, np.uint16)
    run(program("rms", target), (a, b, y, rows, k), seed=k)
    d = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    assert error(fp32(y), d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-12)) < 4e-3
