"""Every element type to every other one: of tiles, of scalars in a loop, of a scalar that fills a tile, of one element that does; and bits of floats."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

TYPES = {tl.int1: np.bool_, tl.float16: np.float16, tl.bfloat16: ml_dtypes.bfloat16, tl.float32: np.float32, tl.float64: np.float64,
         tl.float8e4nv: ml_dtypes.float8_e4m3fn, tl.float8e5: ml_dtypes.float8_e5m2, tl.int8: np.int8, tl.int16: np.int16, tl.int32: np.int32,
         tl.int64: np.int64, tl.uint8: np.uint8, tl.uint16: np.uint16, tl.uint32: np.uint32, tl.uint64: np.uint64}


@tl.jit
def convert(x, results, n, N: tl.constexpr):
    """results: for each type the tile, the scalars one by one, element 1 as a scalar and as a tile of one, N elements each."""
    i = tl.arange(0, N)
    for out in results:
        dtype = out.dtype.element_ty
        tl.store(out + i, tl.load(x + i).to(dtype))
        for k in range(n):
            tl.store(out + N + k, tl.load(x + k).to(dtype))
        tl.store(out + 2 * N + i, tl.full((N,), tl.load(x + 1).to(dtype), dtype))
        tl.store(out + 3 * N + i, tl.broadcast_to(tl.load(x + 1 + tl.arange(0, 1)).to(dtype), (N,)))


@pytest.mark.parametrize("count", [2, 16])
@pytest.mark.parametrize("source", TYPES, ids=str)
def test_all(source, count):
    x = np.array([0, 1, 2, 3, 1, 0, 1, 2, 3, 1, 2, 3, 0, 0, 1, 1][:count]).astype(TYPES[source])
    results = tuple(np.zeros(4 * count, to) for to in TYPES.values())
    convert[(1,)](x, results, count, N=count, num_warps=1)
    wanted = np.concatenate([x, x, np.full(2 * count, x[1], x.dtype)]).astype(np.float64)
    for found in results:
        np.testing.assert_array_equal(found.astype(np.float64), wanted != 0 if found.dtype == np.bool_ else wanted, err_msg=str(found.dtype))


@tl.jit
def bits(x, out, count, N: tl.constexpr, DTYPE: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, (tl.load(x + i).to(DTYPE, bitcast=True) ^ 1).to(x.dtype.element_ty, bitcast=True))
    for k in range(count):
        tl.store(out + N + k, (tl.load(x + k).to(DTYPE, bitcast=True) ^ 1).to(x.dtype.element_ty, bitcast=True))


@pytest.mark.parametrize("source, integer", [(tl.float8e4nv, tl.int8), (tl.float8e5, tl.uint8), (tl.float16, tl.int16), (tl.bfloat16, tl.uint16),
                                             (tl.float32, tl.int32), (tl.float64, tl.uint64)], ids=str)
def test_bits(source, integer):
    x = np.random.default_rng(0).integers(0, 100, 64).astype(TYPES[integer]).view(TYPES[source])
    out = np.zeros(128, x.dtype)
    bits[(1,)](x, out, 64, N=64, DTYPE=integer)
    np.testing.assert_array_equal(out.view(TYPES[integer]), np.tile(x.view(TYPES[integer]) ^ 1, 2))
