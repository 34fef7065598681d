"""Functions by libdevice's names, in the simulator against NumPy."""

import math

import numpy as np
import pytest

import tileloom as tl
from dsl import refused
from tileloom.language import libdevice

EXACT = {"rint": np.rint, "nearbyint": np.rint, "trunc": np.trunc, "round": lambda x: np.trunc(x + np.copysign(0.5, x))}
CLOSE = {"acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "cbrt": np.cbrt, "erfc": np.vectorize(math.erfc), "expm1": np.expm1, "log10": np.log10,
         "log1p": np.log1p, "tanh": np.tanh}


@tl.jit
def apply(x, out, FUNCTION: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    if FUNCTION == "rint":
        value = libdevice.rint(value)
    elif FUNCTION == "nearbyint":
        value = libdevice.nearbyint(value)
    elif FUNCTION == "trunc":
        value = libdevice.trunc(value)
    elif FUNCTION == "round":
        value = libdevice.round(value)
    elif FUNCTION == "acos":
        value = libdevice.acos(value)
    elif FUNCTION == "asin":
        value = libdevice.asin(value)
    elif FUNCTION == "atan":
        value = libdevice.atan(value)
    elif FUNCTION == "cbrt":
        value = libdevice.cbrt(value)
    elif FUNCTION == "erfc":
        value = libdevice.erfc(value)
    elif FUNCTION == "expm1":
        value = libdevice.expm1(value)
    elif FUNCTION == "log10":
        value = libdevice.log10(value)
    elif FUNCTION == "log1p":
        value = libdevice.log1p(value)
    elif FUNCTION == "tanh":
        value = libdevice.tanh(value)
    tl.store(out + at, value)


@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_functions(name):
    rng = np.random.default_rng(1)
    if name in EXACT:
        x = np.concatenate([rng.uniform(-100, 100, 120), [0.5, -0.5, 1.5, 2.5, -2.5, 1e6, 0.25, -0.0]]).astype(np.float32)
    else:
        x = rng.uniform(0.01 if name == "log10" else -1, 1, 128).astype(np.float32)
    out = np.full(128, np.nan, np.float32)
    apply[(1,)](x, out, FUNCTION=name, N=128)
    wanted = (EXACT.get(name) or CLOSE[name])(x.astype(np.float64))
    assert np.array_equal(out, wanted) if name in EXACT else np.allclose(out, wanted, rtol=3e-5, atol=1e-6)


@tl.jit
def pairs(x, y, out, bits, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, libdevice.atan2(a, b) + libdevice.copysign(1.0, a))
    n = libdevice.float_as_int(a)
    tl.store(bits + at, libdevice.popc(n) + 100 * libdevice.clz(n) + 10000 * (libdevice.isnan(a) | libdevice.isinf(b)).to(tl.int32))


def test_pairs_and_bits():
    x, y = np.random.default_rng(2).standard_normal((2, 64)).astype(np.float32)
    x[3], y[5] = np.nan, np.inf
    out, bits = np.zeros(64, np.float32), np.zeros(64, np.int32)
    pairs[(1,)](x, y, out, bits, N=64)
    wanted = np.arctan2(x.astype(np.float64), y) + np.copysign(1, x)
    assert np.allclose(np.delete(out, 3), np.delete(wanted, 3), rtol=3e-5, atol=1e-6)
    words = x.view(np.uint32)
    assert (bits == [bin(w).count("1") + 100 * (32 - int(w).bit_length()) + 10000 * (i in (3, 5)) for i, w in enumerate(words)]).all()


@tl.jit
def wrong(x):
    libdevice.atan(tl.load(x))


def test_refused():
    refused(wrong, "libdevice.atan of int32: needed float32 or float64", "libdevice.atan(", {"x": "*i32"})
