"""Conversions of sm_100a to and from the narrow types, executed, against ml_dtypes: rounding to nearest, saturation, relu, powers of two."""

import ml_dtypes
import numpy as np
import pytest

from test_sim_instructions import run

TYPES = {"e4m3": (ml_dtypes.float8_e4m3fn, 8), "e5m2": (ml_dtypes.float8_e5m2, 8), "e2m3": (ml_dtypes.float6_e2m3fn, 8), "e3m2": (ml_dtypes.float6_e3m2fn, 8),
         "e2m1": (ml_dtypes.float4_e2m1fn, 4)}
COUNT = 64  # pairs of values a thread


def values(name):
    """Numbers over the whole range and beyond it, those in the middle between two neighbours, and zeros."""
    dtype = TYPES[name][0]
    every = np.unique(np.arange(256 if name[1:] in ("4m3", "5m2") else 64 if name != "e2m1" else 16).astype(np.uint8).view(dtype).astype(np.float32))
    every = every[np.isfinite(every)]
    rng = np.random.default_rng(3)
    middle = (every[1:].astype(np.float64) + every[:-1]) / 2
    some = rng.standard_normal(32 * COUNT * 2) * rng.choice([0.01, 0.3, 1.0, 4.0, 100.0, 1e4], 32 * COUNT * 2)
    some[:len(middle)] = middle
    some[len(middle):len(middle) + 2] = 0.0, -0.0
    return some.astype(np.float32), float(every.max())


def saturated(x, name, most):
    return np.clip(x, -most, most).astype(TYPES[name][0])


def packed(codes, bits):
    """The second value of each pair, which the first operand is, in the high half."""
    codes = codes.reshape(-1, 2)
    return codes[:, 0].astype(np.uint32) | codes[:, 1].astype(np.uint32) << bits


def pairs(load, convert, store, size):
    """COUNT times: %f1 and %f2, or what `load` makes of them, to `size` bytes."""
    body = f"\t.reg .f32 %f<4>;\n\t.reg .b8 %c<2>;\n\tmul.wide.u32 %rd1, %t, {8 * COUNT};\n\tadd.s64 %rd1, %in, %rd1;\n\tmul.wide.u32 %rd2, %t, {4 * COUNT};\n\tadd.s64 %rd2, %out, %rd2;\n"
    for i in range(COUNT):
        body += f"\tld.global.v2.f32 {{%f1, %f2}}, [%rd1+{8 * i}];\n\t{load}\n\t{convert}\n\t{store}\n\tst.global.b32 [%rd2+{4 * i}], %r9;\n"
    return body


# e2m1 pairs are in a register of 8 bits.
WIDEN = {8: "cvt.u32.u16 %r9, %h1;", 4: "cvt.u32.u8 %r9, %c1;"}


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("name", TYPES)
def test_from_float32(name, relu, tmp_path):
    x, most = values(name)
    bits = TYPES[name][1]
    register = "%h1" if bits == 8 else "%c1"
    found = run(pairs("", f"cvt.rn.satfinite{relu}.{name}x2.f32 {register}, %f2, %f1;", WIDEN[bits], 4), x, np.zeros(32 * COUNT, np.uint32).view(np.int32), tmp_path)
    wanted = saturated(np.maximum(x, 0) if relu else x, name, most)
    assert np.array_equal(found.view(np.uint32), packed(wanted.view(np.uint8), bits) & (0x7F7F if relu and bits == 8 else 0xFFFF if bits == 8 else 0x77 if relu else 0xFF))


@pytest.mark.parametrize("name", TYPES)
def test_to_float16(name, tmp_path):
    dtype, bits = TYPES[name]
    codes = np.resize(np.arange(1 << {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}[name]), 32 * COUNT * 2).astype(np.uint8)
    x = np.zeros(32 * COUNT * 2, np.float32)
    x.view(np.uint32)[::2] = packed(codes, bits)
    narrow = "cvt.u16.u32 %h1, %r8;" if bits == 8 else "cvt.u8.u32 %c1, %r8;"
    register = "%h1" if bits == 8 else "%c1"
    found = run(pairs("mov.b32 %r8, %f1;", f"{narrow}\n\tcvt.rn.f16x2.{name}x2 %r9, {register};", "", 4), x, np.zeros(32 * COUNT, np.int32), tmp_path).view(np.float16)
    wanted = codes.view(dtype).astype(np.float16)
    assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("rounding", ["rz", "rp"])
def test_powers_of_two(rounding, tmp_path):
    x = (2.0 ** np.random.default_rng(4).uniform(-126, 127, 32 * COUNT * 2)).astype(np.float32)
    x[:64] = 2.0 ** np.arange(-32, 32)
    found = run(pairs("", f"cvt.{rounding}.satfinite.ue8m0x2.f32 %h1, %f2, %f1;", WIDEN[8], 4), x, np.zeros(32 * COUNT, np.int32), tmp_path).view(np.uint32)
    fraction, exponent = np.frexp(x)  # 0.5 <= fraction < 1
    wanted = np.clip(exponent - 1 + (0 if rounding == "rz" else (fraction > 0.5)) + 127, 0, 254)
    assert np.array_equal(found, packed(wanted, 8))


def test_from_powers_of_two(tmp_path):
    codes = np.resize(np.arange(256), 32 * COUNT * 2).astype(np.uint8)
    x = np.zeros(32 * COUNT * 2, np.float32)
    x.view(np.uint32)[::2] = packed(codes, 8)
    found = run(pairs("mov.b32 %r8, %f1;", "cvt.u16.u32 %h1, %r8;\n\tcvt.rn.bf16x2.ue8m0x2 %r9, %h1;", "", 4), x, np.zeros(32 * COUNT, np.int32), tmp_path)
    wanted = codes.view(ml_dtypes.float8_e8m0fnu).astype(ml_dtypes.bfloat16)
    assert np.array_equal(found.view(ml_dtypes.bfloat16).astype(np.float32), wanted.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("form, keep", [("rna", "away"), ("rn", "even"), ("rz", "zero")])
def test_tf32(form, keep, tmp_path):
    x = (np.random.default_rng(5).standard_normal(32 * COUNT * 2) * 10).astype(np.float32)
    x.view(np.uint32)[:500] = x.view(np.uint32)[:500] & ~np.uint32(0x1FFF) | 0x1000  # ties
    found = run(pairs("", f"cvt.{form}.tf32.f32 %r9, %f1;", "", 4), x, np.zeros(32 * COUNT, np.int32), tmp_path).view(np.uint32)
    bits = x[::2].view(np.uint32).astype(np.int64)
    add = {"away": 0x1000, "even": 0xFFF + (bits >> 13 & 1), "zero": 0}[keep]
    assert np.array_equal(found & ~np.uint32(0x1FFF), (bits + add & ~0x1FFF).astype(np.uint32))


@pytest.mark.parametrize("name", ["e4m3", "e2m1"])
def test_stochastic_rounding_is_to_a_neighbour(name, tmp_path):
    """Four values with 32 random bits: each result is one of the two neighbours, and over many random numbers their mean is the value."""
    dtype, bits = TYPES[name]
    most, rng = values(name)[1], np.random.default_rng(6)
    given = rng.uniform(-most, most, 2).astype(np.float32)
    x = np.tile(given, 32 * COUNT)
    x.view(np.uint32).reshape(-1, 2)[:, 1] = rng.integers(0, 1 << 32, 32 * COUNT)  # the second number of a pair is random bits
    register, widen = ("%r9", "") if bits == 8 else ("%h1", "cvt.u32.u16 %r9, %h1;")
    found = run(pairs("mov.b32 %r8, %f2;", f"cvt.rs.satfinite.{name}x4.f32 {register}, {{%f1, %f1, %f1, %f1}}, %r8;", widen, 4), x,
                np.zeros(32 * COUNT, np.int32), tmp_path).view(np.uint32)
    codes = np.stack([found >> bits * i & (1 << bits) - 1 for i in range(4)]).astype(np.uint8)
    results = codes.view(dtype).astype(np.float64)
    near = np.unique(results)
    assert len(near) == 2 and near[0] <= given[0] <= near[1]
    step = near[1] - near[0]
    assert abs(results.mean() - given[0]) < 0.05 * step
