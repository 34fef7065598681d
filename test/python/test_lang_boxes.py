"""Boxes whose rows a tile counts by fewer indices, and boxes one above the other, in the simulator, on both targets."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

BF16 = ml_dtypes.bfloat16


@tl.jit
def grouped(x: tl.view, w: tl.view, out: tl.view, R: tl.constexpr, BM: tl.constexpr):
    """out[i, r] = x[i, r] @ w, for tiles of BM rows (i, r)."""
    D: tl.constexpr = w.shape[0]
    N: tl.constexpr = w.shape[1]
    for i, in tl.tiles((x.shape[0], BM // R)):
        a = x.load([i, 0, 0], [BM // R, R, D]).reshape(BM, D)
        out.store([i, 0, 0], tl.dot(a, w.load([0, 0], [D, N])).to(out.dtype).reshape(BM // R, R, N))


@tl.jit
def scattered(x: tl.view, table, w: tl.view, out: tl.view, BM: tl.constexpr, ROWS: tl.constexpr):
    """Rows of pages of ROWS, in the order of a table, times w."""
    D: tl.constexpr = w.shape[0]
    N: tl.constexpr = w.shape[1]
    desc = tl.make_tensor_descriptor(x.ptr, [x.shape[0], x.shape[1]], [x.stride(0), 1], [ROWS, D])
    for m, in tl.tiles((out.shape[0], BM)):
        places = ()
        for part in tl.static_range(BM // ROWS):
            places = places + ((tl.load(table + m // ROWS + part) * ROWS, 0),)
        out.store([m, 0], tl.dot(desc.load(places), w.load([0, 0], [D, N])).to(out.dtype))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("r, heads, bm", [(8, 8, 64), (8, 5, 128), (2, 2, 128), (64, 40, 128), (4, 3, 64)])
@pytest.mark.parametrize("d", [64, 96, 128])
def test_rows_of_two_indices(target, r, heads, bm, d):
    """Heads beyond those that there are read as zero and are not written."""
    rng = np.random.default_rng(d)
    x, w = rng.standard_normal((37, heads, d)).astype(BF16), rng.standard_normal((d, 96)).astype(BF16)
    outer = np.full((39, heads + 2, 96), 7, np.float32)
    out = outer[1:-1, 1:-1]
    grouped(x, w, out, r, bm, target=target)
    wanted = x.astype(np.float64) @ w.astype(np.float64)
    assert np.linalg.norm(out - wanted) < 1e-5 * np.linalg.norm(wanted)
    outer[1:-1, 1:-1] = 7
    assert (outer == 7).all()


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("rows", [8, 16, 64, 128])
def test_boxes_one_above_the_other(target, rows):
    rng = np.random.default_rng(rows)
    x, w = rng.standard_normal((512, 64)).astype(BF16), rng.standard_normal((64, 64)).astype(BF16)
    order = rng.permutation(512 // rows)[:384 // rows].astype(np.int32)
    out = np.full((384, 64), np.nan, np.float32)
    scattered(x, order, w, out, 128, rows, target=target)
    wanted = x.reshape(-1, rows, 64)[order].reshape(384, 64).astype(np.float64) @ w.astype(np.float64)
    assert np.linalg.norm(out - wanted) < 1e-5 * np.linalg.norm(wanted)


@tl.jit
def lines(x: tl.view, out: tl.view):
    desc = tl.make_tensor_descriptor(x.ptr, [x.shape[0]], [1], [64])
    for m, in tl.tiles((x.shape[0], 64)):
        out.store([m], desc.load(((m,), (m,))))


def test_boxes_without_rows_are_refused():
    with pytest.raises(tl.CompilationError, match="boxes one above the other of .64.; needed boxes with rows"):
        lines(np.zeros(64, np.float32), np.zeros(64, np.float32))
