"""The types in which operations on two types are computed: all pairs, against a table of Triton's rule (version 3.9), and values in the simulator."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused
from tileloom.frontend import context
from tileloom.frontend.builder import Builder
from tileloom.frontend.errors import ProgramError
from tileloom.language import semantic
from tileloom.language.values import tensor

TYPES = {"b": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64, "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32,
         "u64": tl.uint64, "e4": tl.float8e4nv, "e5": tl.float8e5, "f16": tl.float16, "bf": tl.bfloat16, "f32": tl.float32, "f64": tl.float64}
PLAIN = """
       b  i8 i16 i32 i64  u8 u16 u32 u64  e4  e5 f16  bf f32 f64
  b    b  i8 i16 i32 i64  u8 u16 u32 u64   -   - f16 f32 f32 f64
 i8   i8  i8 i16 i32 i64  u8 u16 u32 u64   -   - f16 f32 f32 f64
i16  i16 i16 i16 i32 i64 i16 u16 u32 u64   -   - f16 f32 f32 f64
i32  i32 i32 i32 i32 i64 i32 i32 u32 u64   -   - f16 f32 f32 f64
i64  i64 i64 i64 i64 i64 i64 i64 i64 u64   -   - f16 f32 f32 f64
 u8   u8  u8 i16 i32 i64  u8 u16 u32 u64   -   - f16 f32 f32 f64
u16  u16 u16 u16 i32 i64 u16 u16 u32 u64   -   - f16 f32 f32 f64
u32  u32 u32 u32 u32 i64 u32 u32 u32 u64   -   - f16 f32 f32 f64
u64  u64 u64 u64 u64 u64 u64 u64 u64 u64   -   - f16 f32 f32 f64
 e4    -   -   -   -   -   -   -   -   -  e4 f16 f16 f32 f32 f64
 e5    -   -   -   -   -   -   -   -   - f16  e5 f16 f32 f32 f64
f16  f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f32 f64
 bf  f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f16  bf f32 f64
f32  f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64
f64  f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64
"""
REMAINDER = """
       b  i8 i16 i32 i64  u8 u16 u32 u64  e4  e5 f16  bf f32 f64
  b    b   -   -   -   -  u8 u16 u32 u64 f32 f32 f32 f32 f32 f64
 i8    -  i8 i16 i32 i64   -   -   -   - f32 f32 f32 f32 f32 f64
i16    - i16 i16 i32 i64   -   -   -   - f32 f32 f32 f32 f32 f64
i32    - i32 i32 i32 i64   -   -   -   - f32 f32 f32 f32 f32 f64
i64    - i64 i64 i64 i64   -   -   -   - f32 f32 f32 f32 f32 f64
 u8   u8   -   -   -   -  u8 u16 u32 u64 f32 f32 f32 f32 f32 f64
u16  u16   -   -   -   - u16 u16 u32 u64 f32 f32 f32 f32 f32 f64
u32  u32   -   -   -   - u32 u32 u32 u64 f32 f32 f32 f32 f32 f64
u64  u64   -   -   -   - u64 u64 u64 u64 f32 f32 f32 f32 f32 f64
 e4  f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64
 e5  f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64
f16  f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64
 bf  f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64
f32  f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64
f64  f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64
"""
NUMBERS = """
           b  i8 i16 i32 i64  u8 u16 u32 u64  e4  e5 f16  bf f32 f64
True       b  i8 i16 i32 i64  u8 u16 u32 u64  e4  e5 f16  bf f32 f64
3        i32  i8 i16 i32 i64  u8 u16 u32 u64  e4  e5 f16  bf f32 f64
0.5      f32 f32 f32 f32 f32 f32 f32 f32 f32  e4  e5 f16  bf f32 f64
1e-300   f64 f64 f64 f64 f64 f64 f64 f64 f64  e4  e5 f16  bf f32 f64
"""
NUMBERS_OF_REMAINDER = """
           b  i8 i16 i32 i64  u8 u16 u32 u64  e4  e5 f16  bf f32 f64
3          -  i8 i16 i32 i64  u8 u16 u32 u64 f32 f32 f32 f32 f32 f64
0.5      f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64
"""


def read(table):
    """{(row, column): entry}"""
    head, *rows = (line.split() for line in table.strip().splitlines())
    return {(row[0], column): entry for row in rows for column, entry in zip(head, row[1:])}


def type_of(operation, a, b):
    """The name of the type that an operation of two operands gives, "-" if it is refused."""
    with context.building(Builder()):
        try:
            dtype = operation(*(tensor("%x", TYPES[v], (8,)) if isinstance(v, str) else v for v in (a, b))).dtype
        except ProgramError:
            return "-"
    return next(name for name, known in TYPES.items() if known is dtype)


OPERATIONS = {"add": lambda a, b: semantic.binary("add", a, b), "sub": lambda a, b: semantic.binary("sub", a, b),
              "mul": lambda a, b: semantic.binary("mul", a, b), "maximum": tl.maximum, "minimum": tl.minimum,
              "where": lambda a, b: tl.where(tensor("%c", tl.int1, (8,)), a, b)}


@pytest.mark.parametrize("name", OPERATIONS)
def test_pairs(name):
    assert {pair: type_of(OPERATIONS[name], *pair) for pair in read(PLAIN)} == read(PLAIN)


def test_remainders():
    assert {pair: type_of(lambda a, b: semantic.binary("mod", a, b), *pair) for pair in read(REMAINDER)} == read(REMAINDER)


def test_quotients():
    """As remainders, but that those of integers are float32; `//` is of integers only."""
    table = read(REMAINDER)
    for pair, entry in table.items():
        integer = entry[0] in "biu" and entry != "bf"
        assert type_of(lambda a, b: semantic.binary("div", a, b), *pair) == ("f32" if integer else entry)
        assert type_of(lambda a, b: semantic.binary("floordiv", a, b), *pair) == (entry if integer else "-")


def test_comparisons():
    table = read(PLAIN)
    assert all(type_of(lambda a, b: semantic.compare("lt", a, b), *pair) == ("b" if entry != "-" else "-") for pair, entry in table.items())


@pytest.mark.parametrize("name", OPERATIONS)
def test_numbers(name):
    for (number, dtype), entry in read(NUMBERS).items():
        assert type_of(OPERATIONS[name], dtype, eval(number)) == type_of(OPERATIONS[name], eval(number), dtype) == entry, (number, dtype)


def test_numbers_of_remainders():
    for (number, dtype), entry in read(NUMBERS_OF_REMAINDER).items():
        assert type_of(lambda a, b: semantic.binary("mod", a, b), dtype, eval(number)) == entry, (number, dtype)


# Values --------------------------------------------------------------------------------------------

NUMPY = {"b": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
         "u64": np.uint64, "e4": ml_dtypes.float8_e4m3fn, "e5": ml_dtypes.float8_e5m2, "f16": np.float16, "bf": ml_dtypes.bfloat16,
         "f32": np.float32, "f64": np.float64}


@tl.jit
def computed(x, ys, sums, chosen, larger):
    at = tl.arange(0, 64)
    a = tl.load(x + at)
    for i in tl.static_range(len(ys)):
        b = tl.load(ys[i] + at)
        tl.store(sums[i] + at, a + b)
        tl.store(chosen[i] + at, tl.where(at % 3 == 0, a, b))
        tl.store(larger[i] + at, tl.maximum(a, b))


def values(rng, name):
    if name == "b":
        return rng.integers(0, 2, 64).astype(np.bool_)
    low = 0 if name[0] == "u" else -60
    numbers = rng.integers(low, 60, 64)
    return (numbers / 8 if name[0] in "ef" or name == "bf" else numbers).astype(NUMPY[name])


def converted(x, dtype):
    """NumPy's conversion, by float64 for what NumPy does not know."""
    return x.astype(np.float64).astype(dtype) if np.dtype(dtype).kind not in "iub" else x.astype(dtype)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("first", TYPES)
def test_values(target, first):
    rng = np.random.default_rng(5)
    table = read(PLAIN)
    others = [name for name in TYPES if table[first, name] != "-"]
    results = [NUMPY[table[first, name]] for name in others]
    x, ys = values(rng, first), [values(rng, name) for name in others]
    sums, chosen, larger = ([np.zeros(64, dtype) for dtype in results] for _ in range(3))
    computed[(1,)](x, tuple(ys), tuple(sums), tuple(chosen), tuple(larger), target=target)
    for y, dtype, total, choice, most in zip(ys, results, sums, chosen, larger):
        a, b = converted(x, dtype), converted(y, dtype)
        exact = a.astype(np.float64) + b.astype(np.float64) if np.dtype(dtype).kind not in "iub" else a + b if dtype is not np.bool_ else a ^ b
        assert (total == exact.astype(dtype)).all(), (first, y.dtype)
        assert (choice == np.where(np.arange(64) % 3 == 0, a, b)).all() and (most == np.maximum(a, b)).all(), (first, y.dtype)


@tl.jit
def eight(x, y, out):
    at = tl.arange(0, 256)
    a, b = tl.load(x + at), tl.load(y + at)
    results = (a + b, a - b, a * b, -a, tl.abs(a), a * 0.5, 1.0 - a, tl.minimum(a, b), tl.where(a < b, a, 1.5))
    for i in tl.static_range(9):
        tl.store(out + i * 256 + at, results[i])
    tl.store(out + 9 * 256 + at, (a / b).to(out.dtype.element_ty))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_arithmetic_of_8_bits(target, dtype):
    """Rounded once from the exact result; conversions saturate."""
    rng = np.random.default_rng(2)
    x, y = ((rng.standard_normal(256) * 4).astype(dtype) for _ in range(2))
    y[y == 0] = 1
    out = np.zeros((10, 256), dtype)
    eight[(1,)](x, y, out, target=target)
    a, b = x.astype(np.float64), y.astype(np.float64)
    wanted = [a + b, a - b, a * b, -a, abs(a), a * 0.5, 1 - a, np.minimum(a, b), np.where(a < b, a, 1.5), a / b]
    for row, exact in zip(out, wanted):
        assert (row.astype(np.float64) == exact.astype(np.float32).astype(dtype).astype(np.float64)).all()


# What is refused -----------------------------------------------------------------------------------

MIXED = {"x": "*fp8e4nv", "y": "*i32", "out": "*f32"}


def test_eight_bits_and_integers():
    @tl.jit
    def kernel(x, y, out):
        tl.store(out, tl.load(x) + tl.load(y))
    refused(kernel, "operation of float8e4nv and int32, which have no common type; convert one with .to(dtype)", "tl.load(x) + tl.load(y)", MIXED)


def test_quotient_of_signs():
    @tl.jit
    def kernel(x, y, out):
        tl.store(out, tl.load(x) // tl.load(y))
    refused(kernel, "division of int32 and uint32, of which one has a sign; convert one with .to(dtype)", "tl.load(x) // tl.load(y)",
            {"x": "*i32", "y": "*u32", "out": "*f32"})


def test_negative_number_and_unsigned():
    @tl.jit
    def kernel(x, out):
        tl.store(out, tl.load(x) > -1)
    refused(kernel, "operation of uint32 and -1; needed a number that is not negative", "tl.load(x) > -1", {"x": "*u32", "out": "*f32"})
