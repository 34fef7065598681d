"""Tiles that change their shape among threads after a loop of copies: the stages of the loop leave room for it."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl


@tl.jit
def product(a: tl.view, b: tl.view, out, ld, AXIS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """out[m, n] = (a @ b.T)[m, n], summed up along AXIS within each tile unless that is None."""
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        if AXIS is not None:
            acc = tl.cumsum(acc, AXIS)
        row, column = m + tl.arange(0, BM), n + tl.arange(0, BN)
        tl.store(out + row[:, None] * ld + column[None, :], acc.to(out.dtype.element_ty), (row < M)[:, None] & (column < N)[None, :])


CASES = [(target, *case) for target in ("sm_90a", "sm_100a")
         for case in [(0, np.float32, (128, 128)), (1, np.float32, (128, 256)), (0, ml_dtypes.bfloat16, (128, 128)),
                      (None, ml_dtypes.float8_e4m3fn, (128, 128))]]


@pytest.mark.parametrize("target, axis, dtype, tile", CASES)
def test_room_for_exchanges(target, axis, dtype, tile):
    rng = np.random.default_rng(5)
    m, n, k = 200, 264, 192
    a, b = (rng.standard_normal((rows, k)).astype(ml_dtypes.bfloat16) for rows in (m, n))
    out = np.full((m, 272), np.nan, dtype)
    product(a, b, out, 272, AXIS=axis, BM=tile[0], BN=tile[1], BK=64, target=target)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    if axis is not None:
        starts = range(0, wanted.shape[axis], tile[axis])
        wanted = np.concatenate([np.cumsum(part, axis) for part in np.split(wanted, starts[1:], axis)], axis)
    found = out.astype(np.float64)
    assert np.isnan(found[:, n:]).all()
    error = np.linalg.norm(found[:, :n] - wanted) / np.linalg.norm(wanted)
    assert error < {4: 1e-5, 2: 4e-3, 1: 4e-2}[np.dtype(dtype).itemsize]
