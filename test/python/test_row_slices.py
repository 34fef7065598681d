"""Rows of shared memory (a bias, scales of the columns) that results read in slices, each behind the store before: in the simulator against fp64, several tiles
for each CTA, so that slots come round."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

from products import BF16, error, factors, wide
from tileloom import kernels
from tileloom.kernels import epilogue
from tileloom.kernels.gemm import gemm_kernel


def gelu(v):
    return v * 0.5 * (1 + np.vectorize(math.erf)(v / np.sqrt(2)))


@pytest.mark.parametrize("k", [0, 64, 264])
@pytest.mark.parametrize("tile, schedule", [
    ((128, 176), {"use": "pingpong"}),
    ((128, 160), {"use": "pingpong"}),
    ((128, 256), {}),                                      # two slices a piece
    ((64, 208), {"use": "pingpong", "epilogue": 64}),      # the last piece is narrower
    ((128, 96), {"use": "pingpong", "stages": 2, "buffers": 1}),
    ((256, 128), {"pending": 0}),
])
def test_bias(tile, schedule, k):
    a, b = factors(k, 300, 456, k)
    bias, out = np.random.default_rng(1).standard_normal(456).astype(BF16), np.full((300, 456), np.nan, BF16)
    for seed in range(3):
        kernels.gemm(a, b, out, bias=bias, activation="gelu", BM=tile[0], BN=tile[1], BK=64, schedule=schedule, simulator={"seed": seed, "multiprocessors": 2})
        assert error(out, gelu(wide(a) @ wide(b) + wide(bias))) < 4e-3


@pytest.mark.parametrize("schedule", [{"use": "pingpong"}, {}])
@pytest.mark.parametrize("bias_type", [np.float32, np.float16, ml_dtypes.float8_e4m3fn])
def test_rows_of_several_types(bias_type, schedule):
    """Scales of rows and columns, a bias, a residual: several slots that are held at the same time."""
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((rows, 264)).astype(ml_dtypes.float8_e4m3fn) for rows in (300, 336))
    x, y = (rng.random(shape, np.float32) + 0.5 for shape in ((300, 1), (1, 336)))
    bias, residual = rng.standard_normal(336).astype(bias_type), rng.standard_normal((300, 336)).astype(BF16)
    out, amax = np.full((300, 336), np.nan, BF16), np.zeros(300, np.float32)
    for seed in range(3):
        kernels.gemm(a, b.T, out, scale_a=x, scale_b=y, bias=bias, activation="silu", residual=residual, row_amax=amax, BM=128, BN=96, schedule=schedule,
                     simulator={"seed": seed, "multiprocessors": 2})
        value = wide(a) @ wide(b).T * wide(x) * wide(y) + wide(bias)
        value = value / (1 + np.exp(-value)) + wide(residual)
        assert error(out, value) < 4e-3
        np.testing.assert_allclose(amax, np.abs(value).max(1), rtol=1e-2)


def test_a_slice_stays_behind_the_store_before():
    """The row's parts are read between the stores: no arithmetic of a slice can go ahead of the barriers there."""
    view = ("bf16", 2)
    steps = (epilogue.add, ((False, False, "copied"),)), (epilogue.gelu_narrow, ())
    made = gemm_kernel.compile(signature={"a": view, "b": view, "c": view, "operands": [None, "i32", "i32", "*bf16:16", None, None]}, STEPS=steps,
                               BM=128, BN=160, BK=64, schedule={"use": "pingpong"})
    order = re.findall(r"ldmatrix|stmatrix|ex2", made.ptx)
    kinds = [kind for index, kind in enumerate(order) if not index or kind != order[index - 1]]
    assert kinds == ["ldmatrix", "ex2", "stmatrix"] * 5
