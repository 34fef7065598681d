"""Quotients on the simulator beside fp64: `/` within 2 ulp for all operands, tl.div_rn rounded correctly."""

import numpy as np
import pytest

import tileloom as tl

SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -3e-40, 1.17e-38, 2.0**-126, 1, -3, 2.0**125, 2.0**126, 2.0**126 * 1.5, -(2.0**127),
                    3.4e38], np.float32)


@tl.jit
def divide(x, y, quotients, exact, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, at < n, 1), tl.load(y + at, at < n, 1)
    tl.store(quotients + at, a / b, at < n)
    tl.store(exact + at, tl.div_rn(a, b), at < n)


@tl.jit
def divide_rows(x, y, quotients, exact, n, BLOCK: tl.constexpr):
    """A denominator for each row: elements of a thread share it."""
    at, row = tl.arange(0, BLOCK), tl.program_id(0)
    a, b = tl.load(x + row * n + at, at < n), tl.load(y + row)
    tl.store(quotients + row * n + at, a / b, at < n)
    tl.store(exact + row * n + at, tl.div_rn(a, b), at < n)


def check(x, y, quotients, exact):
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64) / y.astype(np.float64)
        rounded = x / y
    np.testing.assert_array_equal(exact, rounded)
    ordinary = np.isfinite(rounded)
    np.testing.assert_array_equal(np.isnan(quotients), np.isnan(rounded))
    top = np.float64(np.finfo(np.float32).max)
    ulp = np.spacing(np.abs(rounded[ordinary])).astype(np.float64)
    found = quotients[ordinary].astype(np.float64)
    near_top = np.abs(wide[ordinary]) > top * (1 - 2.0**-22)  # two ulp further is infinite
    assert (np.abs(found - wide[ordinary])[~near_top] <= 2 * ulp[~near_top]).all()
    np.testing.assert_array_equal(np.signbit(found), np.signbit(rounded[ordinary]))
    infinite = np.isinf(rounded) & (np.isinf(wide) | (np.abs(wide) > top * (1 + 2.0**-22)))
    np.testing.assert_array_equal(quotients[infinite], rounded[infinite])


def some(count, seed):
    """Floats of all exponents, after pairs of all special ones."""
    rng = np.random.default_rng(seed)
    return np.ldexp(rng.uniform(1, 2, count) * rng.choice([-1, 1], count), rng.integers(-140, 127, count)).astype(np.float32)


@pytest.mark.parametrize("warps", [1, 4])
def test_tiles(warps):
    x = np.concatenate([np.repeat(SPECIAL, len(SPECIAL)), some(777, 1)])
    y = np.concatenate([np.tile(SPECIAL, len(SPECIAL)), some(777, 2)])
    quotients, exact = np.full_like(x, 7), np.full_like(x, 7)
    divide[(tl.cdiv(len(x), 256),)](x, y, quotients, exact, len(x), 256, num_warps=warps)
    check(x, y, quotients, exact)


@pytest.mark.parametrize("n", [1, 61, 256])
def test_rows_of_one_denominator(n):
    y = np.concatenate([SPECIAL, some(16, 3)])
    x = np.stack([np.resize(np.concatenate([SPECIAL, some(240, 4 + row)]), n) for row in range(len(y))])
    quotients, exact = np.full_like(x, 7), np.full_like(x, 7)
    divide_rows[(len(y),)](x, y, quotients, exact, n, 256, num_warps=2)
    check(x, np.broadcast_to(y[:, None], x.shape), quotients, exact)


def test_refused():
    @tl.jit
    def integers(x, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(x + at, tl.div_rn(at, 3))

    with pytest.raises(tl.CompilationError, match=r"tl.div_rn of .* and .*: needed tensors of float32 or float64"):
        integers[(1,)](np.zeros(32, np.float32), 32)


@tl.jit
def divide_in_loop(x, divisor, quotient, rest, n):
    d = tl.load(divisor)
    for i in range(n):
        a = tl.load(x + i)
        tl.store(quotient + i, a // d)
        tl.store(rest + i, a % d)


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 641, 65535, 65536, 65537, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1])
def test_unsigned_division_in_a_loop(divisor):
    """By what the loop does not change: a multiplication, and exact for all numbers (warp-invariant-divisions)."""
    rng = np.random.default_rng(divisor)
    near = [k * divisor + off for k in (0, 1, 2, 3, (2**32 - 1) // divisor) for off in (-1, 0, 1)]
    x = np.array([v for v in near if 0 <= v < 2**32] + [2**31 - 1, 2**31, 2**32 - 1] + list(rng.integers(0, 2**32, 60)), np.uint32)
    quotient, rest = np.zeros_like(x), np.zeros_like(x)
    divide_in_loop[(1,)](x, np.array([divisor], np.uint32), quotient, rest, len(x))
    assert (quotient == x // np.uint32(divisor)).all() and (rest == x % np.uint32(divisor)).all()
    program = divide_in_loop.compile(signature={"x": "*u32", "divisor": "*u32", "quotient": "*u32", "rest": "*u32", "n": "i32"})
    assert program.ptx.count("div.u32") == 1 and "rem.u32" not in program.ptx
