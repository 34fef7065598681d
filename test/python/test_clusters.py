"""CTAs that load for each other what neighbouring tiles share (schedule's `cluster`), in the simulator against fp64."""

import numpy as np
import pytest

import tileloom as tl
from products import BF16, check_steps, error, factors, wide
from programs import load
from test_structure import structure
from tileloom import kernels
from tileloom.kernels.gemm import gemm_kernel

COLUMNS, ROWS = {"cluster": 2, "multicast": "columns"}, {"cluster": 2, "multicast": "rows"}


def product(a, b, schedule, seed=0, tile=(128, 128), batch=(), multiprocessors=4, out=None, **options):
    out = np.full((*batch, a.shape[-2], b.shape[-1]), np.nan, BF16) if out is None else out
    kernels.gemm(a, b, out, BM=tile[0], BN=tile[1], BK=64, schedule=schedule, simulator={"seed": seed, "multiprocessors": multiprocessors}, **options)
    return out


@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
@pytest.mark.parametrize("share", [COLUMNS, ROWS], ids=["columns", "rows"])
@pytest.mark.parametrize("m, n, k", [
    (640, 136, 200),   # five rows of tiles, two columns of them
    (136, 640, 72),    # the other way round
    (100, 40, 328),    # one tile: the other CTA has none
    (256, 256, 64),    # whole clusters, one step
    (264, 264, 0),     # no steps at all
])
def test_products(m, n, k, share, use):
    a, b = factors(m + n + k, m, n, k)
    for seed in range(5):
        out = product(a, b, {**share, "use": use}, seed)
        assert error(out, wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("schedule, tile, multiprocessors", [
    ({**COLUMNS, "pending": 0}, (128, 192), 2),
    ({**COLUMNS, "pending": 1}, (128, 176), 2),          # halves of 88 rows
    ({**ROWS, "use": "pingpong"}, (64, 256), 6),
    ({"cluster": 2}, (192, 128), 2),                     # three warpgroups; A is what they share
    ({"cluster": 4, "multicast": "columns"}, (128, 64), 4),
    ({"cluster": 4, "multicast": "rows", "use": "pingpong"}, (64, 64), 8),
    ({**COLUMNS, "keep": "rows"}, (128, 64), 2),
    ({**COLUMNS, "raster": 1, "order": "reverse", "stages": 2}, (128, 64), 2),
])
def test_fields(schedule, tile, multiprocessors):
    a, b = factors(7, 584, 456, 264)
    for seed in range(3):
        assert error(product(a, b, schedule, seed, tile, multiprocessors=multiprocessors), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("share", [COLUMNS, ROWS], ids=["columns", "rows"])
def test_ways_to_store_factors(share, by_columns, by_rows):
    """Parts are rows of the box: of K, where K is outermost in memory."""
    a, b = factors(8, 328, 264, 136, by_columns=by_columns, by_rows=by_rows)
    assert error(product(a, b, share), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("share", [COLUMNS, ROWS, {**COLUMNS, "split": 3}], ids=["columns", "rows", "slices"])
def test_batches(share):
    """Three tiles a matrix: no cluster has tiles of two."""
    rng = np.random.default_rng(9)
    a, b = rng.standard_normal((3, 328, 200)).astype(BF16), rng.standard_normal((3, 264, 200)).astype(BF16).swapaxes(1, 2)
    for seed in range(5):
        assert error(product(a, b, share, seed, batch=(3,)), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("share", [COLUMNS, ROWS, {**COLUMNS, "split": 2}], ids=["columns", "rows", "slices"])
def test_steps_after_the_sums(share):
    """What goes through pointers is masked for a CTA without a tile: maxima are not counted twice, sums not added twice."""
    check_steps(lambda a, b, **steps: product(a, b, share, **steps), 328, 328, 136)


@pytest.mark.parametrize("share", [COLUMNS, ROWS], ids=["columns", "rows"])
def test_ragged_results(share):
    """Rows of results that no copy engine can write."""
    a, b = factors(12, 299, 331, 136)
    assert error(product(a, b, share), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("use_pending", [0, 1])
@pytest.mark.parametrize("share", [COLUMNS, ROWS, {"cluster": 4, "multicast": "columns"}], ids=["columns", "rows", "four"])
@pytest.mark.parametrize("m, n, k, split, tile", [
    (300, 200, 456, 3, (128, 64)),   # slices of unequal length; rows and columns of tiles that clusters do not divide
    (100, 40, 328, 2, (128, 64)),    # one tile: the other CTAs have none
    (264, 264, 128, 4, (128, 128)),  # slices without a step
    (136, 72, 0, 2, (128, 64)),      # no steps at all
    (392, 200, 1032, 9, (192, 64)),  # three warpgroups; more slices than are summed at a time
])
def test_slices(m, n, k, split, tile, share, use_pending):
    """The CTAs of a cluster take the same slice of a tile each; each tile has its own sums and counter. The same bits in any order."""
    a, b = factors(m + n + k, m, n, k)
    results = [product(a, b, {**share, "split": split, "pending": use_pending}, seed, tile, multiprocessors=4 + 4 * seed) for seed in range(3)]
    assert error(results[0], wide(a) @ wide(b)) < 4e-3
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@tl.jit
def summed(a: tl.view, b: tl.view, c: tl.view, counts, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for m, n in tl.tiles((c.shape[0], BM), (c.shape[1], BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, a.shape[1], BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.atomic_add([m, n], acc)
        tl.atomic_add(counts + m // BM, 1)


def test_atomic_results():
    """Sums that are added to memory: a tile that is not there adds nothing."""
    a, b = factors(13, 328, 200, 136)
    out, counts = np.ones((328, 200), np.float32), np.zeros(4, np.int32)
    summed(a, np.ascontiguousarray(b.T), out, counts, BM=128, BN=128, BK=64, schedule=COLUMNS, simulator={"multiprocessors": 4})
    assert error(out, 1 + wide(a) @ wide(b)) < 4e-3
    np.testing.assert_array_equal(counts, [2, 2, 2, 0])


@pytest.mark.parametrize("share", [COLUMNS, ROWS, {**ROWS, "split": 2}], ids=["columns", "rows", "slices"])
@pytest.mark.parametrize("interleaved", [True, False])
def test_two_sums(interleaved, share):
    rng = np.random.default_rng(14)
    x, w = rng.standard_normal((328, 136)).astype(BF16), (rng.standard_normal((272, 136)) / 16).astype(BF16)
    out = np.full((328, 136), np.nan, BF16)
    kernels.gemm_swiglu(x, w.T, out, BM=128, BN=64, BK=64, interleaved=interleaved, schedule=share, simulator={"multiprocessors": 4})
    both = wide(x) @ wide(w).T
    gate, up = (both[:, ::2], both[:, 1::2]) if interleaved else (both[:, :136], both[:, 136:])
    assert error(out, gate / (1 + np.exp(-gate)) * up) < 6e-3


def test_groups():
    """Neighbours along the columns share the rows of a group, whose factor the labels choose."""
    rng = np.random.default_rng(15)
    a, b = rng.standard_normal((384, 136)).astype(BF16), rng.standard_normal((3, 328, 136)).astype(BF16)
    labels = np.repeat(np.array([2, -1, 0], np.int32), 128)
    out = np.zeros((384, 328), BF16)
    kernels.grouped_gemm_contiguous(a, b, labels, out, BN=128, schedule=ROWS, simulator={"multiprocessors": 4})
    wanted = np.zeros((384, 328))
    for group, rows in ((2, slice(0, 128)), (0, slice(256, 384))):
        wanted[rows] = wide(a[rows]) @ wide(b[group]).T
    assert error(out, wanted) < 4e-3


@pytest.mark.parametrize("k", [0, 72, 200])
@pytest.mark.parametrize("share", [COLUMNS, ROWS, {**COLUMNS, "split": 2}], ids=["columns", "rows", "slices"])
def test_blackwell(share, k):
    a, b = factors(17, 328, 264, k)
    for seed in range(2):
        assert error(product(a, b, share, seed, target="sm_100a"), wide(a) @ wide(b)) < 4e-3


def test_program_by_hand():
    """The rings, copies, products and releases of the program by hand; it stores 128 columns at a time, counts blocks of K, and works out its
    tile's place in another way."""
    found, wanted = structure("", "gemm", 'cluster = 2, multicast = "columns", pending = 0'), structure("warp", "gemm_multicast")
    assert found[0] == wanted[0]
    assert found[1].keys() == wanted[1].keys()
    for role in wanted[1]:
        assert found[1][role] == wanted[1][role], role
    for name in (("", "gemm", 'cluster = 2, multicast = "columns", pending = 0'), ("warp", "gemm_multicast")):
        warp = load(name[0], name[1], schedule=name[2] if len(name) > 2 else None).stages["warp"]
        assert warp.count("scope(cluster)") == 2 and warp.count("multicast(") == 1 and "cluster = 2" in warp


def test_launch_has_room_for_all_tiles():
    view = ("bf16", 2)
    compiled = gemm_kernel.compile(signature={"a": view, "b": view, "c": view}, target="sm_90a", BM=128, BN=128, BK=64, schedule=COLUMNS)
    assert compiled.recipe["launch"]["cluster"] == [2, 1, 1]
    program = load("", "gemm", schedule='cluster = 4, multicast = "rows"')
    assert program.recipe["launch"]["cluster"] == [4, 1, 1]


@pytest.mark.parametrize("schedule, message", [
    ({"cluster": 3}, r"'cluster': expected 1, 2, 4 or 8, found 3"),
    ({"cluster": 16}, r"'cluster': expected an integer from 1 to 8"),
    ({"multicast": "rows"}, r"'multicast': expected cluster = 2, 4 or 8 beside it, found none"),
    ({"cluster": 2, "multicast": "both"}, r"'multicast': expected one of rows, columns"),
    ({"cluster": 2, "scheduler": "dynamic"}, r"cluster = 2 expected scheduler = \"static\", found \"dynamic\""),
    ({"cluster": 8, "multicast": "columns"}, r"cluster = 8 expected operands .* in boxes of a multiple of 64 rows, found none"),
])
def test_refused(schedule, message):
    view = ("bf16", 2)
    with pytest.raises(tl.CompilationError, match=message):
        gemm_kernel.compile(signature={"a": view, "b": view, "c": view}, target="sm_90a", BM=128, BN=96, BK=64, schedule=schedule)
