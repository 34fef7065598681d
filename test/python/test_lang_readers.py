"""Loads with readers of more than one kind: products and element-wise code, transposed and not, carried from iteration to iteration; on both
targets, in the simulator with all checks, against NumPy in fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

BF16 = ml_dtypes.bfloat16


@tl.jit
def transposed(x: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 64)):
        out.store([0, m], x.load([m, 0], [64, 64]).T)


@tl.jit
def transposed_and_not(x: tl.view, out: tl.view, twice: tl.view):
    for m, in tl.tiles((x.shape[0], 64)):
        a = x.load([m, 0], [64, 64])
        out.store([0, m], a.T)
        twice.store([m, 0], a + a)


@tl.jit
def added(x: tl.view, w: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 128)):
        a = x.load([m, 0], [128, 64])
        out.store([m, 0], tl.dot(a, w.load([0, 0], [64, 64])) + a.to(tl.float32))


@tl.jit
def onto(x: tl.view, w: tl.view, c: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 128)):
        acc = c.load([m, 0], [128, 64])
        for k in tl.range(0, x.shape[1], 64):
            acc = tl.dot(x.load([m, k], [128, 64]), w.load([k, 0], [64, 64]), acc)
        out.store([m, 0], acc)


@tl.jit
def columns_of_b(x: tl.view, w: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 128)):
        acc, total = tl.zeros((128, 64), tl.float32), tl.zeros((64,), tl.float32)
        for k in tl.range(0, x.shape[1], 64):
            b = w.load([k, 0], [64, 64])
            acc = tl.dot(x.load([m, k], [128, 64]), b, acc)
            total += tl.sum(b.to(tl.float32), 0)
        out.store([m, 0], acc + total[None, :])


@tl.jit
def differences(x: tl.view, out: tl.view):
    before = tl.zeros((64, 64), tl.float32)
    for m in tl.range(0, x.shape[0], 64):
        a = x.load([m, 0], [64, 64])
        out.store([m, 0], a - before)
        before = a


@tl.jit
def unused(x: tl.view, out: tl.view, z: tl.view):
    for m, in tl.tiles((x.shape[0], 64)):
        nothing = z.load([m, 0], [64, 64])  # noqa: F841
        out.store([m, 0], x.load([m, 0], [64, 64]))


def fp64(x):
    return x.astype(np.float64)


def error(found, wanted):
    return np.linalg.norm(fp64(found) - wanted) / max(np.linalg.norm(wanted), 1e-30)


def random(*shape, dtype=BF16):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def nothing(*shape):
    return np.full(shape, np.nan, np.float32)


targets = pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])


@targets
def test_transposed_store(target):
    x, out = random(200, 64, dtype=np.float32), nothing(64, 200)
    transposed(x, out, target=target)
    assert (out == x.T).all()


@targets
def test_transposed_and_not(target):
    x, out, twice = random(200, 64, dtype=np.float32), nothing(64, 200), nothing(200, 64)
    transposed_and_not(x, out, twice, target=target)
    assert (out == x.T).all() and (twice == 2 * x).all()


@targets
def test_operand_also_added(target):
    x, w, out = random(200, 64), random(64, 64), nothing(200, 64)
    added(x, w, out, target=target)
    assert error(out, fp64(x) @ fp64(w) + fp64(x)) < 1e-6


@targets
@pytest.mark.parametrize("k", [0, 64, 200])
def test_sum_begins_with_a_loaded_tile(target, k):
    x, w, c, out = random(200, k), random(k, 64), random(200, 64, dtype=np.float32), nothing(200, 64)
    onto(x, w, c, out, target=target)
    assert error(out, fp64(x) @ fp64(w) + fp64(c)) < 1e-6


def test_operand_also_reduced(target="sm_90a"):
    x, w, out = random(200, 200), random(200, 64), nothing(200, 64)
    columns_of_b(x, w, out, target=target)
    assert error(out, fp64(x) @ fp64(w) + fp64(w).sum(0)) < 1e-6


@targets
@pytest.mark.parametrize("rows", [64, 256])
def test_carried_to_the_next_iteration(target, rows):
    x, out = random(rows, 64, dtype=np.float32), nothing(rows, 64)
    differences[(1,)](x, out, target=target)
    wanted = x.copy()
    wanted[64:] -= x[:-64]
    assert (out == wanted).all()


@targets
def test_unused_tensor(target):
    x, out = random(130, 64, dtype=np.float32), nothing(130, 64)
    unused(x, out, x.copy(), target=target)
    assert (out == x).all()
