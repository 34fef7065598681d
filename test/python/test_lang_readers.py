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
        acc, top = tl.zeros((128, 64), tl.float32), tl.zeros((64,), tl.float32)
        for k in tl.range(0, x.shape[1], 64):
            b = w.load([k, 0], [64, 64])
            acc = tl.dot(x.load([m, k], [128, 64]), b, acc)
            top = tl.maximum(top, tl.max(b.to(tl.float32), 0))
        out.store([m, 0], acc + top[None, :])


@tl.jit
def transposed_in_registers(x: tl.view, w: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 128)):
        a = x.load([m, 0], [128, 128]) * 2
        out.store([m, 0], tl.dot(a.T, w.load([0, 0], [128, 64])))


@tl.jit
def transposed_sum(x: tl.view, w: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 128)):
        out.store([0, m], tl.dot(x.load([m, 0], [128, 64]), w.load([0, 0], [64, 64])).T)


@tl.jit
def less_its_mean(x: tl.view, w: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 128)):
        s = tl.dot(x.load([m, 0], [128, 64]), w.load([0, 0], [64, 64]))
        out.store([m, 0], s - (tl.sum(s, 0) / 128)[None, :])


@tl.jit
def beside(x: tl.view, w: tl.view, out: tl.view, plus: tl.view):
    for m, in tl.tiles((x.shape[0], 128)):
        out.store([m, 0], tl.dot(x.load([m, 0], [128, 64]), w.load([0, 0], [64, 64])))
        plus.store([m, 0], x.load([m, 0], [128, 64]) * 2)


@tl.jit
def with_row(x: tl.view, row: tl.view, out: tl.view):
    for m, in tl.tiles((x.shape[0], 64)):
        out.store([m, 0], x.load([m, 0], [64, 64]) + row.load([0], [64])[None, :])


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


@targets
def test_operand_also_reduced(target):
    """The row of maxima is wanted as a row of the sum, whose layout (128 rows of tensor memory) the operand cannot have."""
    x, w, out = random(200, 200), random(200, 64), nothing(200, 64)
    columns_of_b(x, w, out, target=target)
    assert error(out, fp64(x) @ fp64(w) + fp64(w).max(0)) < 1e-6


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


@targets
def test_operand_transposed_in_registers(target):
    x, w, out = random(256, 128), random(128, 64), nothing(256, 64)
    transposed_in_registers(x, w, out, target=target)
    for m in (0, 128):
        assert error(out[m:m + 128], 2 * fp64(x[m:m + 128]).T @ fp64(w)) < 1e-6


@targets
def test_sum_stored_transposed(target):
    x, w, out = random(256, 64), random(64, 64), nothing(64, 256)
    transposed_sum(x, w, out, target=target)
    assert error(out, (fp64(x) @ fp64(w)).T) < 1e-6


@targets
def test_reduction_across_the_rows_of_a_sum(target):
    """On Hopper the two warpgroups that would share the rows become one."""
    x, w, out = random(256, 64), random(64, 64), nothing(256, 64)
    less_its_mean(x, w, out, target=target)
    wanted = (fp64(x) @ fp64(w)).reshape(2, 128, 64)
    assert error(out, (wanted - wanted.mean(1, keepdims=True)).reshape(256, 64)) < 1e-5


def test_reduction_across_the_rows_of_replicas_that_were_asked_for():
    with pytest.raises(tl.CompilationError, match="cannot be split over 2 replicas by rows: a reduction along the rows crosses replicas"):
        less_its_mean(random(128, 64), random(64, 64), nothing(128, 64), target="sm_90a", schedule={"replicas": 2})


@targets
def test_store_without_a_product_beside_one(target):
    x, w, out, plus = random(200, 64), random(64, 64), nothing(200, 64), np.full((200, 64), np.nan).astype(BF16)
    beside(x, w, out, plus, target=target)
    assert error(out, fp64(x) @ fp64(w)) < 1e-6 and (plus == x * BF16(2)).all()


@targets
def test_row_loaded_by_fewer_threads_than_there_are(target):
    """64 elements on 128 threads: half of the warps hold copies, which they do not write to scratch again."""
    x, row, out = random(130, 64, dtype=np.float32), random(64, dtype=np.float32), nothing(130, 64)
    with_row(x, row, out, target=target)
    assert (out == x + row).all()


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("k", [0, 64, 200])
def test_replicas_in_turn_with_a_load_each_tile(k, stages):
    """What is loaded once a tile has a slot for each replica."""
    x, w, c, out = random(700, k), random(k, 64), random(700, 64, dtype=np.float32), nothing(700, 64)
    onto(x, w, c, out, target="sm_90a", schedule={"use": "pingpong", "stages": stages})
    assert error(out, fp64(x) @ fp64(w) + fp64(c)) < 1e-6


@tl.jit
def one_tile(x: tl.view, w: tl.view, out: tl.view):
    out.store([0, 0], tl.dot(x.load([0, 0], [64, 64]), w.load([0, 0], [64, 64])))


def test_replicas_in_turn_without_tiles():
    with pytest.raises(tl.CompilationError, match='use = "pingpong" expected a loop over tiles, which the replicas take in turn, found none'):
        one_tile[(1,)](random(64, 64), random(64, 64), nothing(64, 64), target="sm_90a", schedule={"use": "pingpong"})


@tl.jit
def product(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for m, n in tl.tiles((a.shape[0], BM), (b.shape[0], BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, a.shape[1], BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.store([m, n], acc)


@tl.jit
def copied(a: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr):
    for m, n in tl.tiles((a.shape[0], BM), (a.shape[1], BN)):
        c.store([m, n], a.load([m, n], [BM, BN]))


@pytest.mark.parametrize("target, tile, schedule, message", [
    ("sm_90a", (32, 40, 64), {}, "rows: expected a multiple of 64, found 32"),
    ("sm_90a", (96, 96, 64), {}, "rows: expected a multiple of 64 .*, found 96"),
    ("sm_90a", (128, 64, 64), {"replicas": 3}, r"rows: expected a multiple of 192 \(64 for each of replicas = 3\), found 128"),
    ("sm_90a", (64, 20, 64), {}, "columns: expected a multiple of 8 up to 256, found 20"),
    ("sm_90a", (64, 512, 64), {}, "columns: expected a multiple of 8 up to 256, found 512"),
    ("sm_90a", (64, 64, 8), {}, "inner extent: expected a multiple of 16 .*, found 8"),
    ("sm_90a", (128, 128, 512), {}, "shared memory: need 294912 bytes, have 231424: 1 stages of 262144 and 32768 for the rest; use smaller tiles"),
    ("sm_90a", (128, 128, 64), {"stages": 20}, "shared memory: need 688128 bytes, have 231424: 20 stages of 32768 .*; 6 stages would fit"),
    ("sm_90a", (128, 128, 64), {"stages": 0}, "field 'stages': expected an integer from 1 to 32, found 0"),
    ("sm_90a", (128, 128, 64), {"registers": 300}, "field 'registers': expected an integer from 24 to 256, found 300"),
    ("sm_100a", (32, 64, 64), {}, r"rows: expected 64 or 128 \(one tensor core\), found 32"),
    ("sm_100a", (256, 64, 64), {"replicas": 1}, r"rows: expected 64 or 128 \(one tensor core\), found 256"),
    ("sm_100a", (128, 64, 64), {"replicas": 3}, r"rows: expected a multiple of 192 \(64 for each of replicas = 3\), found 128"),
    ("sm_100a", (64, 512, 64), {}, "N: expected a multiple of 8 up to 256 .*, found 512"),
])
def test_schedules_that_cannot_be_met(target, tile, schedule, message):
    with pytest.raises(tl.CompilationError, match=message):
        product(random(128, 64), random(64, 64), nothing(128, 64), *tile, target=target, **({"schedule": schedule} if schedule else {}))


@targets
@pytest.mark.parametrize("tile, message", [
    ((64, 1), "box rows: expected a multiple of 16 bytes, found 1 elements of 'f32'"),
    ((64, 3), "a box's rows are 12 bytes; need a multiple of 16"),
    ((256, 256), "shared memory: need 524304 bytes, have 232448"),
])
def test_boxes_that_cannot_be_met(target, tile, message):
    with pytest.raises(tl.CompilationError, match=message):
        copied(random(64, 64, dtype=np.float32), nothing(64, 64), *tile, target=target)
