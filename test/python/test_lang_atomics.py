"""Atomic operations through pointers and into boxes of views, in the simulator, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import plain, refused, tile

TARGETS = ["sm_90a", "sm_100a"]
BF16 = ml_dtypes.bfloat16


@tl.jit
def each(x, out, old, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """Every element meets one of its own; the values before are stored."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n)
    if KIND == "add":
        before = tl.atomic_add(out + at, value, at < n)
    elif KIND == "max":
        before = tl.atomic_max(out + at, value, at < n)
    elif KIND == "min":
        before = tl.atomic_min(out + at, value, at < n)
    elif KIND == "and":
        before = tl.atomic_and(out + at, value, at < n)
    elif KIND == "or":
        before = tl.atomic_or(out + at, value, at < n)
    elif KIND == "xor":
        before = tl.atomic_xor(out + at, value, at < n)
    else:
        before = tl.atomic_xchg(out + at, value, at < n)
    tl.store(old + at, before, at < n)


NUMPY = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
         "xchg": lambda old, new: new}
CASES = [("add", t) for t in ("int32", "int64", "uint32", "float32", "float64", "float16", "bfloat16")]
CASES += [(kind, t) for kind in ("max", "min") for t in ("int32", "uint32", "int64", "uint64", "float32", "float64")]
CASES += [(kind, t) for kind in ("and", "or", "xor") for t in ("int32", "uint64")]
CASES += [("xchg", t) for t in ("int32", "float32", "float64")]


def numbers(rng, count, dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, count, dtype, endpoint=True)
    return rng.standard_normal(count).astype(dtype)


@pytest.mark.parametrize("n, block", [(300, 128), (1, 16)])
@pytest.mark.parametrize("kind, dtype", CASES)
def test_values_before(kind, dtype, n, block):
    rng = np.random.default_rng(n)
    x, out = numbers(rng, n, dtype), numbers(rng, n + 3, dtype)
    before, old = out.copy(), np.full(n + 3, 7).astype(out.dtype)
    with np.errstate(over="ignore"):
        wanted = NUMPY[kind](out[:n], x)
    each[(tl.cdiv(n, block),)](x, out, old, n, KIND=kind, BLOCK=block)
    assert (out[:n] == wanted).all() and (out[n:] == before[n:]).all()
    assert (old[:n] == before[:n]).all() and (old[n:] == 7).all()


@pytest.mark.parametrize("target", TARGETS)
def test_values_before_on_both_targets(target):
    rng = np.random.default_rng(5)
    x, out = numbers(rng, 100, "int32"), numbers(rng, 100, "int32")
    before, old = out.copy(), np.zeros(100, np.int32)
    each[(1,)](x, out, old, 100, KIND="max", BLOCK=128, target=target, num_warps=8)
    assert (out == np.maximum(before, x)).all() and (old == before).all()


@tl.jit
def tickets(counter, taken, last, count, SEM: tl.constexpr, SCOPE: tl.constexpr):
    """Each program draws a number; who draws the last one sees what all others stored before."""
    own = tl.program_id(0)
    tl.store(taken + own, own + 1)
    number = tl.atomic_add(counter, 1, sem=SEM, scope=SCOPE)
    if number == count - 1:
        at = tl.arange(0, 16)
        tl.store(last, tl.sum(tl.load(taken + at, at < count, other=0), 0))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sem, scope", [("acq_rel", "gpu"), ("acq_rel", "sys")])
def test_tickets(target, sem, scope):
    counter, taken, last = np.zeros(1, np.int32), np.zeros(13, np.int32), np.full(1, -1, np.int32)
    tickets[(13,)](counter, taken, last, 13, SEM=sem, SCOPE=scope, target=target)
    assert counter[0] == 13 and last[0] == 13 * 14 // 2


def test_the_default_order_is_triton_s():
    signature = {"counter": "*i32", "taken": "*i32", "last": "*i32", "count": "i32"}
    assert "order(acq_rel)" in plain(tile(tickets, signature, SEM=None, SCOPE=None))
    text = plain(tile(tickets, signature, SEM="relaxed", SCOPE="cta"))
    assert "order" not in text and "scope(cta)" in text


@tl.jit
def counted(x, counts, old, n, BLOCK: tl.constexpr):
    """All elements of a tile meet in few places."""
    at = tl.arange(0, BLOCK)
    before = tl.atomic_add(counts + tl.load(x + at, at < n, other=0), 1, at < n, sem="relaxed")
    tl.store(old + at, before, at < n)


@pytest.mark.parametrize("warps", [1, 4])
def test_collisions(warps):
    x = np.random.default_rng(1).integers(0, 5, 200).astype(np.int32)
    counts, old = np.zeros(5, np.int32), np.full(200, -1, np.int32)
    counted[(1,)](x, counts, old, 200, BLOCK=256, num_warps=warps)
    assert (counts == np.bincount(x, minlength=5)).all()
    for place in range(5):
        assert sorted(old[x == place]) == list(range(counts[place]))


@tl.jit
def swapped(out, old, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(old + at, tl.atomic_cas(out + at, at // 2 * 2, 100 + at))


@pytest.mark.parametrize("target", TARGETS)
def test_compare_and_swap(target):
    out, old = np.arange(64, dtype=np.int32), np.full(64, -1, np.int32)
    swapped[(1,)](out, old, 64, BLOCK=64, target=target)
    at = np.arange(64)
    assert (old == at).all() and (out == np.where(at % 2 == 0, 100 + at, at)).all()


@tl.jit
def locked(lock, total, rounds):
    """A lock by compare-and-swap around an update that is not atomic."""
    for _ in range(rounds):
        while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
            pass
        tl.store(total, tl.load(total) + tl.program_id(0) + 1)
        tl.atomic_xchg(lock, 0, sem="release")


@pytest.mark.parametrize("target", TARGETS)
def test_lock(target):
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    locked[(4,)](lock, total, 3, target=target)
    assert lock[0] == 0 and total[0] == 3 * (1 + 2 + 3 + 4)


# Boxes ------------------------------------------------------------------------------------------

@tl.jit
def summed(x: tl.view, out: tl.view, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Rows of tiles of x meet in the first BM rows of out."""
    M, N = x.shape
    for m, n in tl.tiles((M, BM), (N, BN)):
        if KIND == "add":
            out.atomic_add([0, n], x.load([m, n], [BM, BN]))
        elif KIND == "max":
            out.atomic_max([0, n], x.load([m, n], [BM, BN]))
        elif KIND == "min":
            out.atomic_min([0, n], x.load([m, n], [BM, BN]))
        elif KIND == "and":
            out.atomic_and([0, n], x.load([m, n], [BM, BN]))
        elif KIND == "or":
            out.atomic_or([0, n], x.load([m, n], [BM, BN]))
        else:
            out.atomic_xor([0, n], x.load([m, n], [BM, BN]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind, dtype", [("add", "float32"), ("add", "bfloat16"), ("add", "int32"), ("max", "int32"), ("min", "bfloat16"),
                                         ("max", "float16"), ("and", "int32"), ("or", "int32"), ("xor", "int32")])
def test_boxes(target, kind, dtype):
    rng = np.random.default_rng(7)
    integers = dtype == "int32"
    x = rng.integers(-1000, 1000, (96, 72)).astype(dtype) if integers else rng.integers(-8, 8, (96, 72)).astype(getattr(ml_dtypes, dtype, None) or dtype)
    out = x[::-1][:32].copy()
    wanted = out.copy()
    for m in range(0, 96, 32):
        wanted = NUMPY[kind](wanted, x[m:m + 32])
    summed(x, out, KIND=kind, BM=32, BN=64, target=target)
    assert (out == wanted).all(), "small integers are exact in every type"


@tl.jit
def split_k(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    """Parts of K meet in memory."""
    (M, K), N = a.shape, b.shape[0]
    for s, m, n in tl.tiles((K, SPLIT), (M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, SPLIT, BK):
            acc = tl.dot(a.load([m, s + k], [BM, BK]), b.load([n, s + k], [BN, BK]).T, acc)
        c.atomic_add([m, n], acc)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k", [(128, 128, 256), (200, 136, 320)])
def test_split_k(target, m, n, k):
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal(shape).astype(BF16) for shape in ((m, k), (n, k)))
    c = np.zeros((m, n), np.float32)
    split_k(a, b, c, BM=128, BN=128, BK=64, SPLIT=128, target=target)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.linalg.norm(c - wanted) < 1e-5 * np.linalg.norm(wanted)


@tl.jit
def through_descriptor(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    value = tl.load_tensor_descriptor(source, [m, n])
    target.atomic_add([m, n], value)
    target.atomic_add([m, n], value)


def test_descriptors():
    x = np.random.default_rng(0).standard_normal((40, 72)).astype(np.float32)
    out = np.ones_like(x)
    through_descriptor[(2, 2)](x, out, 40, 72, BM=32, BN=64)
    assert np.abs(out - (1 + 2 * x)).max() < 1e-6


# Errors -----------------------------------------------------------------------------------------

@tl.jit
def narrow(x, out):
    tl.atomic_max(out + tl.arange(0, 16), tl.load(x + tl.arange(0, 16)))


def test_narrow_elements():
    refused(narrow, "tl.atomic_max on pointer<float16>[16]; needed integers or floats of 32 or 64 bits", "tl.atomic_max(",
            {"x": "*f16", "out": "*f16"})


@tl.jit
def bits_of_floats(x, out):
    tl.atomic_and(out, 1.0)


def test_bits_of_floats():
    refused(bits_of_floats, "tl.atomic_and on pointer<float32>; needed integers of 32 or 64 bits", "tl.atomic_and(", {"x": "*f32", "out": "*f32"})


@tl.jit
def wrong_order(out):
    tl.atomic_add(out, 1, sem="seq_cst")


def test_wrong_order():
    refused(wrong_order, "tl.atomic_add: sem is 'seq_cst'; needed one of relaxed, acquire, release, acq_rel", "tl.atomic_add(", {"out": "*i32"})


@tl.jit
def wrong_scope(out):
    tl.atomic_cas(out, 0, 1, scope="cluster")


def test_wrong_scope():
    refused(wrong_scope, "tl.atomic_cas: scope is 'cluster'; needed one of cta, gpu, sys", "tl.atomic_cas(", {"out": "*i32"})


@tl.jit
def maximum_of_floats(x: tl.view):
    for m, in tl.tiles((x.shape[0], 64)):
        x.atomic_max([m, 0], x.load([m, 0], [64, 64]))


def test_boxes_have_no_maximum_of_float32():
    refused(maximum_of_floats, "x.atomic_max on the float32 view 'x' of rank 2; needed floats of 16 bits or signed integers of 32 or 64 bits",
            "x.atomic_max(", {"x": ("f32", 2)})
