"""Random numbers by counters in the simulator, against Philox written with NumPy; umulhi and sqrt_rn, which are exact."""

import numpy as np
import pytest

import tileloom as tl
from dsl import refused, tile

FLOATS = {"x": "*f32", "out": "*f32"}
TARGETS = ["sm_90a", "sm_100a"]
WORDS = {32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
         64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def philox(counter, key, bits=32, rounds=10):
    """Four lists of Python's integers, of any size: the paper's definition."""
    mask = (1 << bits) - 1
    results = []
    for c in zip(*([int(v) for v in word] for word in counter)):
        c, k = list(c), list(key)
        for _ in range(rounds):
            first, second = c[0] * WORDS[bits][0], c[2] * WORDS[bits][1]
            c = [(second >> bits) ^ c[1] ^ k[0], second & mask, (first >> bits) ^ c[3] ^ k[1], first & mask]
            k = [(k[0] + WORDS[bits][2]) & mask, (k[1] + WORDS[bits][3]) & mask]
        results.append(c)
    return np.array(results, np.uint64).T


def test_reference():
    """Known answers of Random123 (kat_vectors): counter and key of zeros, of ones, and digits of pi."""
    ones, zero = 0xFFFFFFFF, [0]
    assert philox([zero] * 4, (0, 0)).ravel().tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([[ones]] * 4, (ones, ones)).ravel().tolist() == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    digits = [[0x243F6A88], [0x85A308D3], [0x13198A2E], [0x03707344]]
    assert philox(digits, (0xA4093822, 0x299F31D0)).ravel().tolist() == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@tl.jit
def words(offsets, out, seed, N: tl.constexpr, ROUNDS: tl.constexpr):
    at = tl.arange(0, N)
    four = tl.randint4x(seed, tl.load(offsets + at), n_rounds=ROUNDS)
    for i in tl.static_range(4):
        tl.store(out + i * N + at, four[i])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed, dtype, rounds", [(0, np.int32, 10), (12345, np.int32, 7), (-3, np.int32, 10), (0x123456789ABCDEF, np.int64, 10),
                                                 (7, np.uint32, 10)])
def test_words(target, seed, dtype, rounds):
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    offsets = np.concatenate([rng.integers(info.min, info.max, 60, dtype), np.array([0, 1, info.max, info.min], dtype)])
    out = np.zeros((4, 64), np.uint32)
    words[(1,)](offsets, out, seed, N=64, ROUNDS=rounds, target=target)
    bits = offsets.astype(np.int64 if dtype != np.uint32 else np.uint64).view(np.uint64)
    high = bits >> np.uint64(32) if info.bits == 64 else np.zeros(64, np.uint64)
    key = seed & (1 << 64) - 1
    wanted = philox([bits & np.uint64(0xFFFFFFFF), high, np.zeros(64), np.zeros(64)], (key & 0xFFFFFFFF, key >> 32), rounds=rounds)
    assert (out == wanted).all()


@tl.jit
def wide(out, SEED: tl.constexpr):
    at = tl.arange(0, 32)
    zero = tl.zeros((32,), tl.int64)
    four = tl.philox(SEED, at.to(tl.int64), zero, zero + 5, zero)
    for i in tl.static_range(4):
        tl.store(out + i * 32 + at, four[i])


@pytest.mark.parametrize("target", TARGETS)
def test_words_of_64_bits(target):
    out = np.zeros((4, 32), np.uint64)
    wide[(1,)](out, SEED=99, target=target)
    assert (out == philox([np.arange(32), np.zeros(32), np.full(32, 5), np.zeros(32)], (99, 0), 64)).all()


@tl.jit
def floats(seed, uniform, normal, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(uniform + at, tl.rand(seed, at))
    tl.store(normal + at, tl.randn(seed, at))
    four, others = tl.rand4x(seed, at), tl.randn4x(seed, at)
    for i in tl.static_range(4):
        tl.store(uniform + (i + 1) * N + at, four[i])
        tl.store(normal + (i + 1) * N + at, others[i])


def uniform_of(words):
    signed = words.astype(np.uint32).view(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)


@pytest.mark.parametrize("target", TARGETS)
def test_floats(target):
    n, seed = 1024, 2024
    uniform, normal = np.full((5, n), np.nan, np.float32), np.full((5, n), np.nan, np.float32)
    floats[(1,)](seed, uniform, normal, N=n, target=target)
    four = uniform_of(philox([np.arange(n), *np.zeros((3, n))], (seed, 0)))
    assert (uniform[0] == four[0]).all() and (uniform[1:] == four).all()
    assert (uniform >= 0).all() and (uniform < 1).all() and abs(four.mean() - 0.5) < 0.01
    exact = []
    for first, second in (four[:2], four[2:]):
        radius = np.sqrt(-2 * np.log(np.maximum(first, np.float32(1e-7)).astype(np.float64)))
        exact += [radius * np.cos(2 * np.pi * second.astype(np.float64)), radius * np.sin(2 * np.pi * second.astype(np.float64))]
    assert np.allclose(normal[1:], exact, atol=2e-5) and (normal[0] == normal[1]).all()


@tl.jit
def upper(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.umulhi(tl.load(x + at), tl.load(y + at)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_umulhi(target, dtype):
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    x, y = (np.concatenate([rng.integers(info.min, info.max, 60, dtype), np.array([0, info.max, info.min, 1], dtype)]) for _ in range(2))
    out = np.zeros(64, dtype)
    upper[(1,)](x, y, out, N=64, target=target)
    mask = (1 << info.bits) - 1
    wanted = [((int(a) & mask) * (int(b) & mask)) >> info.bits for a, b in zip(x, y)]
    assert [int(v) & mask for v in out] == wanted


@tl.jit
def roots(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.sqrt_rn(tl.load(x + at)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounded_roots(target, dtype):
    rng = np.random.default_rng(4)
    x = np.concatenate([np.exp2(rng.uniform(-120, 120, 1018)), [0, -0.0, np.inf, 1, 1e-42, 2]]).astype(dtype)
    out = np.full(1024, np.nan, dtype)
    roots[(1,)](x, out, N=1024, target=target)
    assert (out == np.sqrt(x)).all() and np.signbit(out[1019])


def test_refused():
    @tl.jit
    def small(x, out):
        tl.store(out, tl.umulhi(tl.load(x).to(tl.int16), tl.load(x).to(tl.int16)))
    refused(small, "tl.umulhi of int16 and int16; needed integers of 32 or 64 bits", "tl.umulhi", FLOATS)

    @tl.jit
    def offsets(x, out):
        tl.store(out, tl.rand(1, tl.load(x)))
    refused(offsets, "tl.randint4x: the offset is float32; needed integers", "tl.rand", FLOATS)

    @tl.jit
    def half(x, out):
        tl.store(out, tl.sqrt_rn(tl.load(x).to(tl.float16)))
    refused(half, "tl.sqrt_rn of float16: needed float32 or float64; convert with .to(tl.float32)", "tl.sqrt_rn", FLOATS)
