"""tl.gather and tl.histogram in the simulator, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused, tile

TARGETS = ["sm_90a", "sm_100a"]


@tl.jit
def gathered(x, index, out, SHAPE: tl.constexpr, WANTED: tl.constexpr, AXIS: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    value = tl.load(x + tl.arange(0, N).reshape(SHAPE))
    at = tl.arange(0, K).reshape(WANTED)
    tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))


CASES = [((64,), 64, 0), ((32,), 512, 0), ((1024,), 8, 0), ((16, 32), 32, 1), ((16, 32), 8, 0), ((8, 3), 16, 1), ((4, 8, 16), 4, 1),
         ((128, 64), 64, -1), ((1, 64), 32, 1), ((64, 1), 16, 1), ((5, 8), 8, 0)]
DTYPES = [np.float32, ml_dtypes.bfloat16, np.int8, np.int64, ml_dtypes.float8_e5m2, np.bool_]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_gather(target, case):
    shape, count, axis = CASES[case]
    rng = np.random.default_rng(case)
    wanted = list(shape)
    wanted[axis] = count
    for number, dtype in enumerate((DTYPES[case % 6], DTYPES[(case + 3) % 6])):
        x = rng.integers(0, 50, shape).astype(dtype)
        index = rng.integers(0, shape[axis], wanted).astype((np.int32, np.int64, np.uint8)[(case + number) % 3])
        out = np.full(wanted, 77).astype(dtype)
        gathered[(1,)](x, index, out, SHAPE=shape, WANTED=tuple(wanted), AXIS=axis, N=x.size, K=index.size, target=target)
        assert (out == np.take_along_axis(x, index.astype(np.int64), axis)).all(), (shape, dtype)


@tl.jit
def chosen_rows(x, out, index, ROUNDS, M: tl.constexpr, N: tl.constexpr):
    """Rows shuffled again and again: each round writes the memory that the one before has read."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    rows = tl.broadcast_to(tl.load(index + tl.arange(0, M))[:, None], (M, N))
    for i in range(ROUNDS):
        value = tl.gather(value, rows, 0) + 1.0
    tl.store(out + at, value)


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("target", TARGETS)
def test_gather_in_a_loop(target, rounds):
    rng = np.random.default_rng(rounds)
    x, index = rng.integers(0, 99, (32, 16)).astype(np.float32), rng.integers(0, 32, 32).astype(np.int32)
    out, wanted = np.full_like(x, np.nan), x
    chosen_rows[(1,)](x, out, index, rounds, M=32, N=16, target=target)
    for _ in range(rounds):
        wanted = wanted[index] + 1
    assert (out == wanted).all()


@tl.jit
def tabulated(x: tl.view, table, out: tl.view, BM: tl.constexpr, BN: tl.constexpr):
    """Codes to values by a table of 16."""
    values = tl.broadcast_to(tl.load(table + tl.arange(0, 16))[None, :], (BM, 16))
    for m, in tl.tiles((x.shape[0], BM)):
        out.store([m, 0], tl.gather(values, x.load([m, 0], [BM, BN]), 1))


@pytest.mark.parametrize("target", TARGETS)
def test_gather_by_codes(target):
    rng = np.random.default_rng(0)
    x, table = rng.integers(0, 16, (70, 32)).astype(np.uint8), rng.standard_normal(16).astype(np.float32)
    out = np.full((70, 32), np.nan, np.float32)
    tabulated(x, table, out, BM=64, BN=32, target=target)
    assert (out == table[x]).all()


@tl.jit
def counted(x, out, ROUNDS, N: tl.constexpr, BINS: tl.constexpr, MASKED: tl.constexpr):
    at, total = tl.arange(0, N), tl.zeros((BINS,), tl.int32)
    for i in range(ROUNDS):
        value = tl.load(x + i * N + at)
        total += tl.histogram(value, BINS, at % 3 != 1) if MASKED else value.histogram(BINS)
    tl.store(out + tl.arange(0, BINS), total)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n, bins, rounds, masked", [(1024, 256, 1, False), (256, 16, 3, True), (32, 512, 2, False), (8, 8, 0, False), (2048, 1, 1, True),
                                                     (40, 24, 2, True)])
def test_histogram(target, n, bins, rounds, masked):
    rng = np.random.default_rng(n)
    for dtype, low in ((np.int32, -5), (np.uint32, 0)):
        x = rng.integers(low, bins + 5, (max(rounds, 1), n)).astype(dtype)
        out = np.full(bins, -1, np.int32)
        counted[(1,)](x, out, rounds, N=n, BINS=bins, MASKED=masked, target=target)
        kept = (x if not masked else x[:, np.arange(n) % 3 != 1])[:rounds]
        assert (out == np.bincount(kept[(kept >= 0) & (kept < bins)].astype(np.int64).ravel(), minlength=bins)).all()


def test_text():
    @tl.jit
    def kernel(x, out):
        value = tl.load(x + tl.arange(0, 64))
        tl.store(out + tl.arange(0, 32), tl.gather(value, tl.arange(0, 32), 0) + tl.histogram(value, 32))
    text = tile(kernel, {"x": "*i32", "out": "*i32"})
    assert "dim(0) : tensor<64xi32>, tensor<32xi32> -> tensor<32xi32>" in text and "tile.histogram" in text


INTEGERS, FLOATS = {"x": "*i32", "out": "*i32"}, {"x": "*f32", "out": "*f32"}


def test_refused():
    @tl.jit
    def floats(x, out):
        value = tl.load(x + tl.arange(0, 64))
        tl.store(out, tl.gather(value, value, 0))
    refused(floats, "tl.gather: the index is float32[64]; needed integers", "tl.gather", FLOATS)

    @tl.jit
    def extents(x, out):
        value = tl.load(x + tl.arange(0, 64).reshape(8, 8))
        tl.store(out, tl.gather(value, tl.arange(0, 8), 1))
    refused(extents, "tl.gather: the index is int32[8] for int32[8, 8]; needed equal extents but along dimension 1", "tl.gather", INTEGERS)

    @tl.jit
    def axis(x, out):
        tl.store(out, tl.gather(tl.load(x + tl.arange(0, 64)), tl.arange(0, 8), 1))
    refused(axis, "tl.gather: axis 1 of int32[64]; needed -1 to 0", "tl.gather", INTEGERS)

    @tl.jit
    def counts(x, out):
        tl.store(out, tl.histogram(tl.load(x + tl.arange(0, 64)), 16))
    refused(counts, "tl.histogram of float32[64]; needed one dimension of 32-bit integers", "tl.histogram", FLOATS)

    @tl.jit
    def bins(x, out):
        tl.store(out, tl.histogram(tl.load(x + tl.arange(0, 64)), 9))
    refused(bins, "tl.histogram: num_bins is 9; needed a power of two, or a multiple of 8", "tl.histogram", INTEGERS)
