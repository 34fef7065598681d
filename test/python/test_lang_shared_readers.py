"""Tiles that two roles read, in forms of their own, and branches that all roles take alike; against NumPy, in the simulator with all checks."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

TARGETS = pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
RNG = np.random.default_rng(0)


def whole(*shape, dtype=np.float32):
    return RNG.integers(-3, 4, shape).astype(dtype)


@tl.jit
def branched(a: tl.view, b: tl.view, c: tl.view, flags, which):
    for m, n in tl.tiles((c.shape[0], 64), (c.shape[1], 64)):
        acc = tl.zeros((64, 64), tl.float32)
        for k in tl.range(0, a.shape[1], 32):
            if tl.load(flags + (which & 7)) > 1:
                acc = tl.dot(a.load([m, k], [64, 32]), b.load([k, n], [32, 64]), acc)
        c.store([m, n], acc)


@TARGETS
@pytest.mark.parametrize("which", [1, 2])
def test_branch_on_a_place_that_is_computed_before_the_loop(which, target):
    """Each role computes the address before its loops: the branch is the same one in all of them."""
    a, b, c = whole(100, 72), whole(72, 64), np.full((100, 64), np.nan, np.float32)
    branched(a, b, c, np.array([0, 1, 2, 3, 0, 0, 0, 0], np.int32), which, target=target, simulator={"seed": 3})
    np.testing.assert_array_equal(c, a @ b if which == 2 else 0 * c)


@tl.jit
def as_it_is_and_changed(a: tl.view, b: tl.view, c: tl.view, d: tl.view):
    for m, n in tl.tiles((c.shape[0], 64), (c.shape[1], 32)):
        one, two = tl.zeros((64, 32), tl.float32), tl.zeros((64, 32), tl.float32)
        for k in tl.range(0, a.shape[0], 32):
            x = a.load([k, m], [32, 64]).T
            one = tl.dot(x, b.load([n, k], [32, 32]).T, one)
            two = tl.dot(x * 0.5 + 1.0, b.load([n, k], [32, 32]).T, two)
        c.store([m, n], one)
        d.store([m, n], two)


@TARGETS
def test_transposed_for_one_product_and_changed_for_another(target):
    """Of 32 bits the transpose is made ahead, by another role than computes from it."""
    a, b = whole(72, 100), whole(64, 72)
    c, d = (np.full((100, 64), np.nan, np.float32) for _ in range(2))
    as_it_is_and_changed(a, b, c, d, target=target, simulator={"seed": 3})
    np.testing.assert_array_equal(c, a.T @ b.T)
    np.testing.assert_array_equal(d, (a.T * 0.5 + 1) @ b.T)


@tl.jit
def transposed_rows(a: tl.view, b: tl.view, x: tl.view, c: tl.view):
    for m, n in tl.tiles((c.shape[0], 128), (c.shape[1], 32)):
        acc = tl.zeros((128, 32), tl.float32)
        for k in tl.range(0, a.shape[1], 32):
            acc = tl.dot(a.load([m, k], [128, 32]), b.load([n, k], [32, 32]).T, acc)
        c.store([m, n], acc + x.load([n, m], [32, 128]).T.to(tl.float32))


@TARGETS
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e5m2, np.int8, np.float16])
def test_columns_of_a_tile_that_replicas_share(dtype, target):
    """Each replica reads 64 columns: of 8 bits half of a row of 128 bytes."""
    a, b, x = whole(200, 64, dtype=np.float16), whole(48, 64, dtype=np.float16), whole(48, 208, dtype=dtype)[:, :200]
    c = np.full((200, 48), np.nan, np.float32)
    transposed_rows(a, b, x, c, target=target, simulator={"seed": 3}, **({"schedule": {"replicas": 2, "use": "cooperative"}} if target == "sm_90a" else {}))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T + x.astype(np.float32).T)


@tl.jit
def of_24_columns(a, b, v: tl.view, c: tl.view, d: tl.view, K):
    for m, n in tl.tiles((c.shape[0], 64), (c.shape[1], 24)):
        one, two = tl.zeros((64, 24), tl.float32), tl.zeros((64, 24), tl.float32)
        rows, columns, at = m + tl.arange(0, 64), n + tl.arange(0, 24), tl.arange(0, 32)
        for k in tl.range(0, K, 32):
            x = tl.load(a + rows[:, None] * K + (k + at)[None, :], (rows < c.shape[0])[:, None] & (k + at < K)[None, :], 0)
            y = tl.load(b + (k + at)[:, None] * 48 + columns[None, :], (k + at < K)[:, None] & (columns < 48)[None, :], 0)
            one = tl.dot(x, y, one)
            two = tl.dot(x, v.load([k, n], [32, 24]), two)
        c.store([m, n], one)
        d.store([m, n], two)


def test_rows_of_48_bytes_as_an_operand():
    """Such rows have no swizzle: 16-bit tiles of them are stored with K last."""
    a, b = whole(100, 72, dtype=np.float16), whole(72, 48, dtype=np.float16)
    c, d = (np.full((100, 48), np.nan, np.float32) for _ in range(2))
    of_24_columns(a, b, b, c, d, 72, simulator={"seed": 3})
    for found in (c, d):
        np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@tl.jit
def one_of_two(a: tl.view, b: tl.view, w: tl.view, c: tl.view, which):
    for m, n in tl.tiles((c.shape[0], 64), (c.shape[1], 32)):
        acc = tl.zeros((64, 32), tl.float32)
        for k in tl.range(0, w.shape[0], 32):
            y = b.load([k, n], [32, 32]) if which > 1 else w.load([k, n], [32, 32])
            acc = tl.dot(a.load([m, k], [64, 32]), y, acc)
        c.store([m, n], acc)


@TARGETS
@pytest.mark.parametrize("which", [0, 2])
def test_an_operand_that_a_branch_chooses(which, target):
    """Of 32 bits it is made ahead, out of tiles that are copied in the branch."""
    a, b, w, c = whole(100, 72), whole(72, 64), whole(72, 64), np.full((100, 64), np.nan, np.float32)
    one_of_two(a, b, w, c, which, target=target, simulator={"seed": 3})
    np.testing.assert_array_equal(c, a @ (b if which else w))
