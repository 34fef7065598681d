"""Sums of the rows of products, carried through a loop with factors at every place, in the simulator against NumPy in fp64: the lanes of a row meet
after the loop, so that what is multiplied with must not be added up again."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

BF16 = ml_dtypes.bfloat16


@tl.jit
def row_sums(a: tl.view, b: tl.view, out, f, g, M, FORM: tl.constexpr, BM: tl.constexpr):
    for m, in tl.tiles((M, BM)):
        rows, t = a.load([m, 0], [BM, 64]), tl.full((BM,), 0.5, tl.float32)
        for n in tl.range(0, b.shape[0], 64):
            s = tl.dot(rows, b.load([n, 0], [64, 64]).T)
            if FORM == "twice scaled":
                t += tl.sum(s, 1) * f * g
            elif FORM == "scaled sum":
                t += f * (tl.sum(s, 1) + tl.sum(s * s, 1))
            elif FORM == "decay":
                t = (t * f + tl.sum(s * s, 1) * g) * f
            elif FORM == "reductions multiplied":
                t += tl.max(s, 1) * tl.sum(s, 1)
            else:
                t += tl.max(s, 1) * f
        at = m + tl.arange(0, BM)
        tl.store(out + at, t, mask=at < M)


STEPS = {
    "twice scaled": lambda t, s, f, g: t + s.sum(1) * f * g,
    "scaled sum": lambda t, s, f, g: t + f * (s.sum(1) + (s * s).sum(1)),
    "decay": lambda t, s, f, g: (t * f + (s * s).sum(1) * g) * f,
    "reductions multiplied": lambda t, s, f, g: t + s.max(1) * s.sum(1),
    "scaled maximum": lambda t, s, f, g: t + s.max(1) * f,
}


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("rows, columns", [(128, 0), (200, 64), (70, 136)])
@pytest.mark.parametrize("form", STEPS)
def test_factors(form, rows, columns, target):
    f, g = 0.75, -1.5
    rng = np.random.default_rng(columns)
    a, b = rng.standard_normal((rows, 64)).astype(BF16), rng.standard_normal((columns, 64)).astype(BF16)
    out = np.full(rows + 8, np.nan, np.float32)
    row_sums(a, b, out, f, g, rows, FORM=form, BM=128, target=target)
    padded = np.zeros((-(-columns // 64) * 64, 64))
    padded[:columns] = b
    wanted = np.full(rows, 0.5)
    for n in range(0, columns, 64):
        wanted = STEPS[form](wanted, a.astype(np.float64) @ padded[n:n + 64].T, f, g)
    assert np.linalg.norm(out[:rows] - wanted) <= 1e-4 * np.linalg.norm(wanted)
    assert np.isnan(out[rows:]).all()
