"""Memory of the launch, and the last of several programs to arrive: tl.workspace, tl.last_arrival."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

BF16 = ml_dtypes.bfloat16
TARGETS = pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])


@tl.jit
def sums(x, out, columns, parts, BLOCK: tl.constexpr):
    """The sum of each row of x; program (row, part) sums its blocks, and the last one adds the sums of all, in order."""
    row, part = tl.program_id(0), tl.program_id(1)
    own = tl.zeros((BLOCK,), tl.float32)
    for first in tl.range(part * BLOCK, columns, parts * BLOCK):
        at = first + tl.arange(0, BLOCK)
        own += tl.load(x + row * columns + at, at < columns, 0)
    partial = tl.workspace((1000, 16), tl.float32)
    tl.store(partial + row * 16 + part, tl.sum(own, 0))
    if tl.last_arrival(row, parts, 1000):
        z = tl.arange(0, 16)
        tl.store(out + row, tl.sum(tl.load(partial + row * 16 + z, z < parts, 0), 0))


@TARGETS
@pytest.mark.parametrize("parts", [1, 3, 16])
def test_sums(parts, target):
    x = np.random.default_rng(parts).standard_normal((7, 1000)).astype(np.float32)
    results = []
    for seed in range(5):
        out = np.full(7, np.nan, np.float32)
        sums[(7, parts)](x, out, 1000, parts, 64, target=target, simulator={"seed": seed, "multiprocessors": 1 + seed})
        results.append(out)
    np.testing.assert_allclose(results[0], x.astype(np.float64).sum(1), rtol=1e-4, atol=1e-4)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other, "the same bits whoever comes last")


@tl.jit
def product(a: tl.view, b: tl.view, c: tl.view, slices, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STORED: tl.constexpr, copy: tl.view = None):
    """a @ b.T, K in slices: the last slice of a tile adds all. STORED: the sums go to `copy` [slices * M, N] through the store engine."""
    (M, K), N = a.shape, b.shape[0]
    for m, n, z in tl.tiles((M, BM), (N, BN), slices):
        rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        each = tl.cdiv(tl.cdiv(K, BK), slices) * BK
        for k in tl.range(z * each, tl.minimum(K, z * each + each), BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        tile = m // BM * columns + n // BN
        i, j = tl.arange(0, BM), tl.arange(0, BN)
        if STORED:
            copy.store([z * M + m, n], acc)
            first = copy.ptr + m.to(tl.int64) * N + n
            step = M.to(tl.int64) * N
            pitch = N
        else:
            first = tl.workspace((rows * columns, slices, BM, BN), tl.float32) + tile.to(tl.int64) * slices * (BM * BN)
            step = BM * BN
            pitch = BN
            tl.store(first + z * step + i[:, None] * BN + j[None, :], acc)
        if tl.last_arrival(tile, slices, rows * columns):
            total = tl.zeros((BM, BN), tl.float32)
            for s in tl.range(slices):
                total += tl.load(first + s * step + i[:, None] * pitch + j[None, :], ((m + i) < M)[:, None] & ((n + j) < N)[None, :], 0)
            c.store([m, n], total.to(c.dtype))


@TARGETS
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("tile", [(64, 64), (128, 64)])
def test_products(tile, stored, target):
    """Also with tiles that two warpgroups could share otherwise."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((128, 640)).astype(BF16), rng.standard_normal((128, 640)).astype(BF16)
    results = []
    for seed in range(3):
        c, copy = np.full((128, 128), np.nan, np.float32), np.full((3 * 128, 128), np.nan, np.float32)
        product(a, b, c, 3, *tile, 64, stored, copy if stored else None, target=target, schedule={"stages": 4},
                simulator={"seed": seed, "multiprocessors": 3 + seed})
        results.append(c)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(results[0] - wanted).max() < 1e-2
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_sizes_are_in_the_recipe():
    view = ("f32", 2)
    compiled = product.compile(signature={"a": ("bf16", 2), "b": ("bf16", 2), "c": view, "slices": "i32"}, target="sm_90a", BM=64, BN=64, BK=64, STORED=False,
                               schedule={"stages": 4})
    spaces = [parameter for parameter in compiled.recipe["parameters"] if parameter["kind"] == "workspace"]
    assert [space["zero"] for space in spaces if "op" in str(space["bytes"])] == [False, True]


def test_warpgroups_that_share_a_tile():
    signature = {"a": ("bf16", 2), "b": ("bf16", 2), "c": ("f32", 2), "slices": "i32"}
    with pytest.raises(tl.CompilationError, match="cannot be split over 2 replicas by rows: it is the arrival of all warps of the program"):
        product.compile(signature=signature, target="sm_90a", BM=128, BN=64, BK=64, STORED=False, schedule={"replicas": 2})


@tl.jit
def of_memory(x, out):
    space = tl.workspace((tl.load(x),), tl.float32)
    tl.store(out, tl.load(space))


@tl.jit
def of_a_float(x, out):
    space = tl.workspace((1.5,), tl.float32)
    tl.store(out, tl.load(space))


@tl.jit
def of_no_type(x, out):
    space = tl.workspace((4,), 4)
    tl.store(out, tl.load(space))


@tl.jit
def of_a_float_count(x, out):
    if tl.last_arrival(0, 2.5, 4):
        tl.store(out, 1)


@pytest.mark.parametrize("kernel, message", [
    (of_memory, "bytes: expected a number that the host can compute from the kernel's arguments"),
    (of_a_float, "tl.workspace: extent 0 is .*1.5.*; needed an integer"),
    (of_no_type, "tl.workspace: dtype is .*; needed an element type"),
    (of_a_float_count, "tl.last_arrival: count is .*2.5.*; needed an integer"),
])
def test_refuses(kernel, message):
    with pytest.raises(tl.CompilationError, match=message):
        kernel.compile(signature={"x": "*i32", "out": "*f32"}, target="sm_90a")
