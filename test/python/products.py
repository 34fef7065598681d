"""Random factors of products, what fp64 makes of them, and the checks that several schedules have in common."""

import ml_dtypes
import numpy as np

from tileloom import kernels

BF16 = ml_dtypes.bfloat16


def wide(x):
    return np.asarray(x).astype(np.float64)


def error(found, wanted):
    """In the norm, relative to what is wanted; infinite where something is not a number."""
    value = np.linalg.norm(wide(found) - wanted) / max(np.linalg.norm(wanted), 1e-30)
    return value if np.isfinite(value) else np.inf


def factors(seed, m, n, k, dtype=BF16, by_columns=False, by_rows=False):
    """a [m, k] and b [k, n] of normal numbers, a by rows and b by columns unless it says otherwise. seed: or a generator."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((n, k)).astype(dtype).T
    return np.asfortranarray(a) if by_columns else a, np.ascontiguousarray(b) if by_rows else b


def multiply(a, b, tile, schedule=None, seed=0, out=None, **options):
    """kernels.gemm of the tile (rows, columns) with a schedule, in the simulator; into NaN unless `out` is given."""
    out = np.full((*a.shape[:-1], b.shape[-1]), np.nan, BF16) if out is None else out
    kernels.gemm(a, b, out, BM=tile[0], BN=tile[1], schedule=schedule or {}, simulator={"seed": seed, "multiprocessors": 4}, **{"BK": 64, **options})
    return out


def check_steps(product, m, n, k, accumulate=True):
    """product(a, b, **steps), with steps of kernels.gemm that read and update all there is: a bias, a residual, the result, maxima of rows."""
    rng = np.random.default_rng(10)
    a, b = factors(11, m, n, k)
    bias, residual = rng.standard_normal(n).astype(BF16), rng.standard_normal((m, n)).astype(BF16)
    rows = np.zeros(m, np.float32)
    out = rng.standard_normal((m, n)).astype(BF16) if accumulate else np.full((m, n), np.nan, BF16)
    value = wide(a) @ wide(b) + wide(bias) + (wide(out) if accumulate else 0)
    value = value / (1 + np.exp(-value)) + wide(residual)
    product(a, b, out=out, bias=bias, activation="silu", residual=residual, row_amax=rows, accumulate=accumulate)
    assert error(out, value) < 4e-3
    np.testing.assert_allclose(rows, np.abs(value).max(1), rtol=1e-2)


def check_gated(product, m, n, k):
    """product(x, w, out) of kernels.gemm_swiglu."""
    rng = np.random.default_rng(15)
    x, w = rng.standard_normal((m, k)).astype(BF16), (rng.standard_normal((2 * n, k)) / 16).astype(BF16)
    out = np.full((m, n), np.nan, BF16)
    product(x, w.T, out)
    both = wide(x) @ wide(w).T
    gate, up = both[:, ::2], both[:, 1::2]
    assert error(out, gate / (1 + np.exp(-gate)) * up) < 6e-3
