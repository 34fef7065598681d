"""The kernels of bench/agreement.py: they load, run with all checks and have no finding, and give the bits that an H200 gave (its digests are in
bench/results/h200-agreement.json). Where NumPy has the same operation, it gives the same bits."""

import os
import sys

import numpy as np
import pytest

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

from agreement import compare, families, record, simulator  # noqa: E402
from agreement.case import Case, Deferred  # noqa: E402

CASES = [case for case in families.cases() if case.family != "dots"]
RECORDED = record.read(os.path.join(BENCH, "results", "h200-agreement.json"))


def made(case):
    return case.make() if isinstance(case, Deferred) else case


def test_there_are_enough():
    names = [case.name for case in families.cases()]
    assert len(names) == len(set(names)) >= 60 and len({case.family for case in families.cases()}) >= 15


@pytest.mark.parametrize("family", sorted({case.family for case in CASES}))
def test_as_the_h200(family):
    """Differences that are allowed are the approximate functions', which have no record."""
    new, other = [], []
    for case in (made(case) for case in CASES if case.family == family):
        found, text = simulator.run(case)
        assert bool(text) == case.refused, f"{case.name}: {text}"
        known = RECORDED.get(case.name)
        if known is None:
            new += [] if case.tolerance else [case.name]
            continue
        mine = record.entry(case, text if case.refused else found)
        assert mine["ptx"] == known["ptx"], f"{case.name} is another kernel than the recorded one: bench/agreement.py --record"
        if mine["inputs"] != known["inputs"]:
            other.append(case.name)
        else:
            assert mine["outputs"] == known["outputs"], f"{case.name}: not the bits of the H200"
    if new or other:
        pytest.skip(f"not measured yet: {new}; NumPy {np.__version__} makes other inputs: {other}")


def outputs(name):
    case = made(next(case for case in CASES if case.name == name))
    return case, simulator.run(case)[0][0]


def test_integers_as_numpy():
    case, out = outputs("int32_add")
    a, b, _ = case.arguments[:3]
    assert (out[0] == a + b).all() and (out[2] == a - b).all()


def test_floats_as_numpy():
    case, out = outputs("f32_add")
    a, b, _ = (x.view(np.float32) for x in case.arguments[:3])
    with np.errstate(all="ignore"):
        for first, wanted in ((0, a + b), (16, a - b), (32, a * b)):
            found = out[first].view(np.float32)
            assert ((found == wanted) | (np.isnan(found) & np.isnan(wanted))).all()


def test_comparison():
    """Equal bits, bounds, and what passes neither."""
    one = np.array([1.0, 2.0, np.nan, 0.0], np.float32)
    near = np.nextafter(one, np.float32(9))
    exact, loose = Case("x", "y", "", [], []), Case("x", "y", "", [], [], tolerance={0: ("ulp", 1)})
    assert compare.compare(exact, [one], [one]).identical
    assert not compare.compare(exact, [one], [near]).allowed
    assert compare.compare(loose, [one], [near]).allowed and not compare.compare(loose, [one], [near]).identical
    assert not compare.compare(loose, [one], [one * 2]).allowed
    assert not compare.compare(loose, [one], [np.array([1, 2, 3, 0], np.float32)]).allowed


def test_wgmma_of_bits_as_numpy():
    """Rows of 32 bytes in matrices of 8 rows by 16 bytes; the accumulator's fragments as PTX ISA 9.7.15.5.1.1 has them."""
    case, out = made(next(case for case in CASES if case.name == "wgmma_b1_n24")), None
    out = simulator.run(case)[0][0].reshape(4, 128, 12)
    a, b, c = (x.reshape(4, -1) for x in case.arguments[:3])
    row, byte = np.arange(64)[:, None], np.arange(32)[None, :]
    at = row // 8 * 256 + byte // 16 * 128 + row % 8 * 16 + byte % 16
    thread, register = np.arange(128)[:, None], np.arange(12)[None, :]
    m = thread // 32 * 16 + thread % 32 // 4 + register // 2 % 2 * 8
    n = register // 4 * 8 + thread % 4 * 2 + register % 2
    for block in range(4):
        bits_a, bits_b = (np.unpackbits(x[block].view(np.uint8)[at[:rows]], axis=1).astype(np.int64) for x, rows in ((a, 64), (b, 24)))
        wanted = (bits_a @ bits_b.T)[m, n] + (c[block].view(np.int32).reshape(128, 12) if block != 3 else 0)
        assert (out[block].view(np.int32) == wanted).all()
