"""Scalars that one role computes and others need, and tiles drawn from a counter, in programs that are neither products nor attention; in the
simulator with all checks."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from tileloom import testing

BF16 = ml_dtypes.bfloat16


def run(function, arguments, constants, multiprocessors=2, seeds=5, schedule=None):
    """The arguments after a run; they are compiled for and passed in order."""
    compiled = function.compile(*arguments, schedule=schedule, **constants)
    values = dict(zip([parameter.name for parameter in function.parameters], arguments))
    own = [values[name].shape[rest[0]] if kind == "shape" else values[name].strides[rest[0]] // values[name].itemsize if kind == "stride"
           else values[name] for kind, name, *rest in compiled.bindings]
    done = testing.simulate(compiled.ptx, compiled.recipe, *own, seeds=seeds, multiprocessors=multiprocessors)
    assert not done.findings, done.text
    outputs = {name: value for (kind, name, *_), value in zip(compiled.bindings, done.outputs) if kind not in ("shape", "stride")}
    return compiled, outputs, done


@tl.jit
def chase(a: tl.view, starts, out: tl.view, steps):
    """Follows lists of tiles: the largest element of one says which comes next. The sum of each list's tiles."""
    for t in tl.tiles(out.shape[0] // 16):
        at = tl.load(starts + t)
        total = tl.zeros((16, 16), tl.int32)
        for _ in tl.range(steps):
            x = a.load([at * 16, 0], [16, 16])
            total += x
            at = tl.max(tl.max(x, 1), 0)
        out.store([t * 16, 0], total)


@pytest.mark.parametrize("lists, steps", [(1, 2), (5, 3), (3, 0)])
@pytest.mark.parametrize("scheduler", ["static", "dynamic"])
def test_what_was_loaded_says_what_to_load(lists, steps, scheduler):
    rng = np.random.default_rng(lists)
    a = -rng.integers(1, 100, (7, 16, 16)).astype(np.int32)
    following = rng.integers(0, 7, 7)
    a[np.arange(7), rng.integers(0, 16, 7), rng.integers(0, 16, 7)] = following
    starts = rng.integers(0, 7, lists).astype(np.int32)
    wanted = np.zeros((lists, 16, 16), np.int64)
    for t, at in enumerate(starts):
        for _ in range(steps):
            wanted[t] += a[at]
            at = following[at]
    out = np.full((lists * 16, 16), 12345, np.int32)
    compiled, found, done = run(chase, (a.reshape(-1, 16), starts, out, steps), {}, schedule={"scheduler": scheduler})
    assert done.deterministic
    assert (found["out"] == wanted.reshape(-1, 16)).all()
    if steps:
        assert "nv.scalar_store" in compiled.warp


@tl.jit
def compact(a: tl.view, out: tl.view, counter, wanted):
    """Keeps the tiles with as many positive elements as wanted, in any order: a counter says where."""
    for t in tl.tiles(a.shape[0] // 16):
        x = a.load([t * 16, 0], [16, 64])
        if tl.sum(tl.sum((x > 0).to(tl.int32), 1), 0) >= wanted:
            place = tl.atomic_add(counter, 1, sem="relaxed")
            out.store([place * 16, 0], x)


@pytest.mark.parametrize("tiles, multiprocessors", [(1, 2), (3, 8), (13, 3)])
def test_a_counter_says_where(tiles, multiprocessors):
    rng = np.random.default_rng(tiles)
    a = rng.standard_normal((tiles, 16, 64)).astype(np.float32)
    a[1::3] = -1
    out = np.full((tiles * 16, 64), np.nan, np.float32)
    compiled, found, _ = run(compact, (a.reshape(-1, 64), out, np.zeros(1, np.int32), 100), {}, multiprocessors)
    assert compiled.warp.count("nv.atomic_add") >= 1
    kept = [tile for i, tile in enumerate(a) if i % 3 != 1]
    assert found["counter"][0] == len(kept)
    stored = found["out"].reshape(tiles, 16, 64)
    assert np.isnan(stored[len(kept):]).all()
    order = lambda tiles: sorted(map(bytes, tiles))  # noqa: E731
    assert order(stored[:len(kept)]) == order(kept)


@tl.jit
def triangle(a: tl.view, b: tl.view, out: tl.view):
    """out = tril(a) @ b for blocks of 64: later rows sum more."""
    for n, m in tl.tiles((b.shape[1], 64), (a.shape[0], 64)):
        acc = tl.zeros((64, 64), tl.float32)
        for k in tl.range(0, m + 64, 64):
            acc = tl.dot(a.load([m, k], [64, 64]), b.load([k, n], [64, 64]), acc)
        out.store([m, n], acc.to(out.dtype))


@pytest.mark.parametrize("rows, columns, multiprocessors", [(64, 64, 4), (320, 128, 3), (200, 72, 1), (128, 0, 2)])
def test_tiles_of_different_length_are_drawn(rows, columns, multiprocessors):
    rng = np.random.default_rng(rows)
    a, b = rng.standard_normal((rows, rows)).astype(BF16), rng.standard_normal((rows, columns)).astype(BF16)
    out = np.full((rows, columns), np.nan).astype(BF16)
    compiled, found, done = run(triangle, (a, b, out), {}, multiprocessors)
    assert {"kind": "workspace", "bytes": 8, "zero": True} in compiled.recipe["parameters"]
    assert done.deterministic
    block = np.arange(rows) // 64
    wanted = np.where(block[:, None] >= block[None], a.astype(np.float64), 0) @ b.astype(np.float64)
    assert np.linalg.norm(found["out"].astype(np.float64) - wanted) <= 4e-3 * np.linalg.norm(wanted)


@tl.jit
def scaled(a: tl.view, out: tl.view, SCHEDULER: tl.constexpr):
    for m in tl.tiles((a.shape[0], 64), scheduler=SCHEDULER):
        out.store([m, 0], a.load([m, 0], [64, 64]) * 2)


@pytest.mark.parametrize("said, schedule, dynamic", [(None, None, False), ("dynamic", None, True), (None, {"scheduler": "dynamic"}, True),
                                                     ("dynamic", {"scheduler": "static"}, False), ("static", 'scheduler = "dynamic"', True)])
def test_who_chooses_the_scheduler(said, schedule, dynamic):
    """Equal tiles are dealt out, unless the program says otherwise, unless the caller does."""
    a = np.random.default_rng(0).standard_normal((300, 64)).astype(np.float32)
    compiled, found, _ = run(scaled, (a, np.full_like(a, np.nan)), {"SCHEDULER": said}, seeds=1, schedule=schedule)
    assert (found["out"] == a * 2).all()
    assert any(parameter["kind"] == "workspace" for parameter in compiled.recipe["parameters"]) == dynamic


def test_unknown_scheduler():
    with pytest.raises(tl.CompilationError, match='scheduler is \'guided\'; needed "static" or "dynamic"'):
        run(scaled, (np.zeros((64, 64), np.float32),) * 2, {"SCHEDULER": "guided"})
