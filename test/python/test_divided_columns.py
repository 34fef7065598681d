"""Warpgroups that share the columns of a tile (divide = "columns"). In the simulator against fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from products import BF16, error, factors, multiply, wide
from tileloom import kernels
from tileloom.kernels.gemm import gemm_kernel

VIEW = ("bf16", 2)
COLUMNS = {"divide": "columns"}


def product(a, b, tile, schedule=COLUMNS, *more, **options):
    return multiply(a, b, tile, schedule, *more, **options)


@pytest.mark.parametrize("m, n, k, tile, schedule", [
    (330, 420, 200, (192, 208), {}),                                  # the default of such tiles
    (330, 420, 136, (192, 208), {"pending": 0, "stages": 2}),
    (430, 400, 72, (208, 192), {}),                                   # rows of the result are columns of the product
    (200, 400, 264, (192, 240), {"cluster": 2, "multicast": "columns"}),
    (200, 400, 200, (192, 208), {"cluster": 2, "multicast": "rows"}),
    (200, 300, 456, (192, 224), {"split": 3}),
    (100, 300, 200, (64, 144), COLUMNS),                              # a warpgroup each of one block of rows
    (130, 300, 200, (128, 256), COLUMNS),
    (130, 300, 200, (128, 48), {**COLUMNS, "epilogue": 8, "buffers": 2}),
    (130, 100, 200, (128, 16), COLUMNS),                              # eight columns each
    (70, 100, 0, (64, 32), COLUMNS),
    (70, 100, 8, (64, 64), {**COLUMNS, "raster": 1, "order": "reverse"}),
    (40, 100, 200, (48, 64), COLUMNS),
])
def test_products(m, n, k, tile, schedule):
    a, b = factors(m + n + k, m, n, k)
    for seed in range(3):
        assert error(product(a, b, tile, schedule, seed), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("tile", [(192, 224), (64, 96)])
def test_ways_to_store_factors(tile, by_columns, by_rows):
    a, b = factors(8, 328, 264, 136, by_columns=by_columns, by_rows=by_rows)
    assert error(product(a, b, tile), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("dtype, limit", [(np.float32, 1e-5), (np.float16, 1e-3), (ml_dtypes.float8_e4m3fn, 0.05)])
@pytest.mark.parametrize("tile", [(192, 224), (64, 32)])
def test_types_of_results(dtype, limit, tile):
    a, b = factors(9, 200, 144, 72)
    out = np.full((200, 144), np.nan, np.float32).astype(dtype)
    assert error(product(a, b, tile, out=out), wide(a) @ wide(b)) < limit


@pytest.mark.parametrize("tile", [(64, 96), (128, 64)])
def test_steps_after_the_sums(tile):
    """A bias, the result itself, a residual and maxima of columns, which each warpgroup has whole."""
    m, n, k = 208, 200, 136
    rng = np.random.default_rng(10)
    a, b = factors(11, m, n, k)
    bias, residual, out = rng.standard_normal(n).astype(BF16), rng.standard_normal((m, n)).astype(BF16), rng.standard_normal((m, n)).astype(BF16)
    columns = np.zeros(n, np.float32)
    value = wide(a) @ wide(b) + wide(bias) + wide(out)
    value = value / (1 + np.exp(-value)) + wide(residual)
    product(a, b, tile, out=out, bias=bias, activation="silu", residual=residual, column_amax=columns, accumulate=True)
    assert error(out, value) < 4e-3
    np.testing.assert_allclose(columns, np.abs(value).max(0), rtol=1e-2)


def test_a_bias_beside_tall_sums():
    a, b = factors(12, 208, 300, 136)
    bias = np.random.default_rng(13).standard_normal(300).astype(BF16)
    assert error(product(a, b, (192, 208), {}, bias=bias, activation="relu"), np.maximum(wide(a) @ wide(b) + wide(bias), 0)) < 4e-3


def test_batches_and_ragged_results():
    rng = np.random.default_rng(13)
    a, b = rng.standard_normal((3, 200, 136)).astype(BF16), rng.standard_normal((3, 136, 136)).astype(BF16).swapaxes(1, 2)
    assert error(product(a, b, (64, 80)), wide(a) @ wide(b)) < 4e-3
    a, b = factors(14, 199, 131, 136)
    assert error(product(a, b, (192, 208)), wide(a) @ wide(b)) < 4e-3


def test_what_is_compiled():
    """Two warpgroups of three blocks of rows, which store 64 rows at a time."""
    compiled = gemm_kernel.compile(signature={"a": VIEW, "b": VIEW, "c": VIEW}, target="sm_90a", BM=192, BN=208, BK=64)
    role = next(role for role in compiled.report["kernels"][0]["roles"] if role["name"] == "math")
    assert role["replicas"] == 2 and compiled.ptx.count("wgmma.mma_async.sync.aligned.m64n104k16") % 3 == 0
    assert "m64n208k16" not in compiled.ptx and compiled.report["kernels"][0]["launch"]["shared_bytes"] >= 4 * (192 + 208) * 128


@pytest.mark.parametrize("schedule, message", [
    ({**COLUMNS, "use": "pingpong"}, r'divide = "columns" expected use = "cooperative"'),
    ({"divide": "both"}, r"'divide': expected one of rows, columns"),
    ({**COLUMNS, "replicas": 3}, r"columns: expected a multiple of 24 \(8 for each of replicas = 3\), found 128"),
])
def test_refusals(schedule, message):
    with pytest.raises(Exception, match=message):
        gemm_kernel.compile(signature={"a": VIEW, "b": VIEW, "c": VIEW}, target="sm_90a", BM=128, BN=128, BK=64, schedule=schedule)


def test_rows_of_results_are_not_reduced():
    a, b = factors(3, 100, 128, 72)
    with pytest.raises(Exception, match="by columns: a reduction along the columns crosses replicas"):
        product(a, b, (64, 128), row_amax=np.zeros(100, np.float32))


def test_three_warpgroups_of_so_many_columns():
    """By columns B begins at spans of 32 bytes: 104 of its columns do not, and three warpgroups have no room for 208."""
    a, b = factors(5, 200, 300, 72, by_rows=True)
    with pytest.raises(Exception, match="a product of 208 columns needs 130 registers a thread when the kernel starts, of which 512 threads have 128"):
        product(a, b, (192, 208), {})


@tl.jit
def product_and_copy(a: tl.view, b: tl.view, c: tl.view, d: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = max(a, 0) b, and d = a tile of c's extents that has nothing to do with it."""
    for m, n in tl.tiles((c.shape[0], BM), (c.shape[1], BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, a.shape[1], BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), tl.maximum(b.load([k, n], [BK, BN]), 0.0).to(b.dtype), acc)
        c.store([m, n], acc)
        d.store([m, n], (tl.arange(0, BN) + n)[None, :].to(tl.float32) + tl.zeros((BM, BN), tl.float32))


@pytest.mark.parametrize("columns", [64, 128])
def test_two_results_and_a_computed_operand(columns):
    a, b = factors(6, 130, 200, 72, by_rows=True)
    c, d = (np.full((130, 200), np.nan, np.float32) for _ in range(2))
    product_and_copy(a, b, c, d, BM=128, BN=columns, BK=64, schedule=COLUMNS, simulator={"multiprocessors": 2})
    assert error(c, wide(a) @ np.maximum(wide(b), 0)) < 1e-5
    np.testing.assert_array_equal(d, np.broadcast_to(np.arange(200, dtype=np.float32), (130, 200)))
