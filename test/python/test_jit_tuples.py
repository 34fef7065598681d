"""Kernel parameters that are tuples of tensors and numbers: programs, variants, packing, and runs in the simulator."""

import numpy as np
import pytest

import tileloom as tl
from dsl import program
from support import make_torch
from test_jit_launch import stub, tensors  # noqa: F401 (a fixture)


@tl.jit
def weighted(inputs, out, n, BLOCK: tl.constexpr):
    """out = the sum of tensor * number over the pairs of `inputs`; None counts as 1."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for index in tl.static_range(0, len(inputs) // 2):
        x, factor = inputs[2 * index:2 * index + 2]
        value = tl.load(x + at, at < n, 0).to(tl.float32)
        total += value if factor is None else value * factor
    tl.store(out + at, total, at < n)


@tl.jit
def copied(views: tl.view, out: tl.view, BM: tl.constexpr):
    for m in tl.tiles((out.shape[0], BM)):
        out.store([m, 0], views[0].load([m, 0], [BM, 32]) * views[1])


def test_program():
    found = program(weighted, {"inputs": ["*bf16:16", "f32", "*f32", None], "out": "*f32", "n": "i32"}, BLOCK=64)
    assert [binding for binding in found.bindings] == [("pointer", "inputs[0]"), ("scalar", "inputs[1]"), ("pointer", "inputs[2]"),
                                                       ("pointer", "out"), ("scalar", "n")]
    assert 'tile.name = "inputs[2]"' in found.text and found.text.count("tile.gather") == 2


def test_runs():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(100).astype(np.float32), rng.standard_normal(100).astype(np.float16)
    out = np.zeros(100, np.float32)
    for factor in (2.0, 3.0):
        weighted[(2,)]((x, factor, y, None), out, 100, 64)
        assert np.allclose(out, x * np.float32(factor) + y, atol=1e-6)
    weighted[(2,)]([x, 3], out, 100, 64)
    assert np.allclose(out, x * 3)
    view, result = rng.standard_normal((40, 32)).astype(np.float32), np.zeros((40, 32), np.float32)
    copied((view, 2.5), result, 16)
    assert np.allclose(result, view * np.float32(2.5))


def test_packing_and_variants(fake, monkeypatch, stub):  # noqa: F811
    torch = make_torch(monkeypatch)
    x, y, out = tensors(torch, 0x1000, 0x2000, 0x3000)

    def expect(*sizes):
        for index, size in enumerate(sizes):
            fake.parameter(index, 8 * index, size)
        fake.set(f"parameters={len(sizes)}")
        fake.clear()
    expect(8, 4, 8, 8, 4)
    weighted[(1,)]((x, 0.5, y, None), out, 100, 64)
    assert fake.lines("parameter") == ["parameter 0 0010000000000000", "parameter 1 0000003f", "parameter 2 0020000000000000",
                                       "parameter 3 0030000000000000", "parameter 4 64000000"]
    fake.clear()
    weighted[(1,)]((y, 1.5, x, None), out, 100, 64)
    assert fake.lines("parameter")[:2] == ["parameter 0 0020000000000000", "parameter 1 0000c03f"] and len(stub) == 1  # the same variant
    expect(8, 4, 8, 4)
    weighted[(1,)]((y, 1.5), out, 100, 64)
    expect(8, 4, 8, 4, 8, 4)
    weighted[(1,)]((y, 1.5, x, 2.0), out, 100, 64)
    assert len(stub) == 3


def test_wrong_elements():
    out = np.zeros(100, np.float32)
    with pytest.raises(tl.ArgumentError, match="argument 0 'inputs', element 1: is of type str; needed a tensor, a number or None"):
        weighted[(1,)]((out, "x"), out, 100, 64)
    with pytest.raises(tl.ArgumentError, match="argument 0 'inputs', element 0: is of type tuple; needed a tensor, a number or None"):
        weighted[(1,)](((out, out), 1.0), out, 100, 64)
