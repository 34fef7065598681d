"""Tiles whose rows are no multiple of 64: computed as transposed products, whose sums are stored as they lie. In the simulator against fp64."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from products import BF16, check_gated, check_steps, error, factors, multiply, wide
from tileloom import kernels
from tileloom.kernels.gemm import gemm_kernel

VIEW = ("bf16", 2)


@pytest.mark.parametrize("m, n, k, tile, schedule", [
    (330, 400, 200, (160, 192), {}),                                             # three warpgroups, pieces of 80 rows
    (330, 400, 136, (160, 128), {"use": "pingpong"}),                            # two blocks of 64 columns a warpgroup
    (330, 200, 264, (144, 64), {"use": "pingpong", "pending": 0}),
    (300, 260, 72, (104, 256), {"buffers": 2}),                                  # rows that no smaller piece divides
    (213, 136, 328, (208, 64), {"pending": 0}),                                  # one warpgroup
    (430, 136, 200, (72, 64), {"stages": 2, "raster": 1, "order": "reverse"}),
    (330, 400, 200, (160, 192), {"cluster": 2, "multicast": "columns"}),
    (300, 200, 200, (96, 128), {"cluster": 2, "multicast": "rows", "use": "pingpong"}),
    (278, 200, 456, (144, 128), {"split": 3}),
    (278, 200, 456, (144, 64), {"split": 2, "cluster": 2, "multicast": "rows"}),
    (40, 72, 200, (48, 64), {}),
    (5, 72, 200, (8, 64), {"use": "pingpong"}),
    (100, 72, 0, (112, 64), {}),
])
def test_products(m, n, k, tile, schedule):
    a, b = factors(m + n + k, m, n, k)
    for seed in range(3):
        assert error(multiply(a, b, tile, schedule, seed), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
def test_ways_to_store_factors(use, by_columns, by_rows):
    a, b = factors(8, 328, 264, 136, by_columns=by_columns, by_rows=by_rows)
    assert error(multiply(a, b, (160, 128), {"use": use}), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
@pytest.mark.parametrize("dtype, limit", [(np.float32, 1e-5), (np.float16, 1e-3), (ml_dtypes.float8_e4m3fn, 0.05)])
def test_types_of_results(dtype, limit, use):
    a, b = factors(9, 200, 136, 72)
    out = np.full((200, 136), np.nan, np.float32).astype(dtype)
    assert error(multiply(a, b, (80, 128), {"use": use}, out=out), wide(a) @ wide(b)) < limit


@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
def test_steps_after_the_sums(use):
    check_steps(lambda a, b, **steps: multiply(a, b, (80, 64), {"use": use}, **steps), 208, 200, 136)


@pytest.mark.parametrize("tile", [(8, 64), (80, 64), (160, 128)])
def test_residuals_through_pointers(tile):
    """Rows that no copy can take: the residual is exchanged, which takes memory."""
    rng = np.random.default_rng(17)
    a, b = factors(18, 200, 131, 136)
    residual = rng.standard_normal((200, 131)).astype(BF16)
    assert error(multiply(a, b, tile, residual=residual), wide(a) @ wide(b) + wide(residual)) < 4e-3


def test_scales_of_8_bits():
    rng = np.random.default_rng(12)
    a, b = (rng.standard_normal((rows, 264)).astype(ml_dtypes.float8_e4m3fn) for rows in (200, 136))
    x, y = (rng.random(shape, np.float32) + 0.5 for shape in ((200, 1), (1, 136)))
    out = multiply(a, b.T, (112, 64), BK=128, scale_a=x, scale_b=y)
    assert error(out, wide(a) @ wide(b).T * wide(x) * wide(y)) < 4e-3


def test_batches_and_ragged_results():
    rng = np.random.default_rng(13)
    a, b = rng.standard_normal((3, 200, 136)).astype(BF16), rng.standard_normal((3, 136, 136)).astype(BF16).swapaxes(1, 2)
    assert error(multiply(a, b, (80, 64)), wide(a) @ wide(b)) < 4e-3
    a, b = factors(14, 199, 131, 136)
    assert error(multiply(a, b, (80, 128)), wide(a) @ wide(b)) < 4e-3


@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
def test_two_sums(use):
    check_gated(lambda *given: kernels.gemm_swiglu(*given, BM=80, BN=64, BK=64, schedule={"use": use}, simulator={"multiprocessors": 4}), 200, 128, 136)


@pytest.mark.parametrize("tile, schedule", [((160, 192), {}), ((160, 128), {"use": "pingpong"}), ((16, 64), {})])
def test_nothing_is_exchanged(tile, schedule):
    compiled = gemm_kernel.compile(signature={"a": VIEW, "b": VIEW, "c": VIEW}, target="sm_90a", BM=tile[0], BN=tile[1], BK=64, schedule=schedule)
    assert "scratch" not in compiled.report_text
    assert "stmatrix.sync.aligned.m8n8.x4.trans" in compiled.ptx


@tl.jit
def both(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A sum and its transpose: c[n, m] = relu(a b^T)^T, plus the same of a tile that is loaded."""
    for m, n in tl.tiles((a.shape[0], BM), (b.shape[0], BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, a.shape[1], BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.store([n, m], (tl.maximum(acc, 0.0).T + 1.0).to(c.dtype))


@tl.jit
def counted(a: tl.view, c: tl.view, BM: tl.constexpr, BK: tl.constexpr):
    """A sum of loaded tiles without a product, transposed."""
    for m in tl.tiles((a.shape[0], BM)):
        acc = tl.zeros((BM, BK), tl.float32)
        for k in tl.range(0, a.shape[1], BK):
            acc += a.load([m, k], [BM, BK]).to(tl.float32)
        c.store([0, m], acc.T.to(c.dtype))


@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
def test_a_sum_without_a_product(use):
    a = factors(19, 96, 8, 256)[0]
    out = np.full((64, 96), np.nan, BF16)
    counted(a, out, BM=32, BK=64, schedule={"use": use}, simulator={"multiprocessors": 2})
    assert error(out, wide(a).reshape(96, 4, 64).sum(1).T) < 4e-3


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("use", ["cooperative", "pingpong"])
def test_a_program_that_transposes(use, target):
    a, b = factors(16, 200, 136, 136)
    out = np.full((136, 200), np.nan, BF16)
    both(a, np.ascontiguousarray(b.T), out, BM=128, BN=64, BK=64, target=target, schedule={"use": use}, simulator={"multiprocessors": 4})
    assert error(out, np.maximum(wide(a) @ wide(b), 0).T + 1) < 4e-3
