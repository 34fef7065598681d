"""Random numbers by counters: Philox 4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), as Triton numbers its counters
and makes floats of the bits. A number depends on the seed and its offset alone."""

import math as _math

from ..frontend.errors import ProgramError
from . import dtypes, semantic
from .functions import cos, log, maximum, sin, sqrt, umulhi
from .values import constant_of, describe

# Multipliers and what is added to the key in each round, for words of 32 and 64 bits (section 4.3 of the paper, and Random123's constants).
_ROUND = {32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
          64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}
_ROUNDS = 10


def philox(seed, c0, c1, c2, c3, n_rounds=_ROUNDS):
    """The four words that Philox makes of the counter (c0, c1, c2, c3), of 32 bits (or 64), and the key `seed`."""
    key = _integer("tl.philox", "the seed", seed)
    counter = [_integer("tl.philox", "the counter", c) for c in (c0, c1, c2, c3)]
    bits = counter[0].dtype.bits
    if bits < 32 or any(c.dtype.bits != bits for c in counter):
        raise ProgramError(f"tl.philox: the counter is {describe(tuple(counter))}; needed integers of 32 or 64 bits")
    word = dtypes.uint32 if bits == 32 else dtypes.uint64
    key = semantic.cast(key, dtypes.uint64)
    keys = [semantic.cast(key, word), semantic.cast(semantic.binary("shr", key, 32), word) if bits == 32 else semantic.full((), 0, word)]
    return _rounds([semantic.cast(c, word) for c in counter], keys, bits, constant_of(n_rounds, "tl.philox: n_rounds"))


def _rounds(counter, keys, bits, count):
    add, mul, xor = (lambda a, b, name=name: semantic.binary(name, a, b) for name in ("add", "mul", "xor"))
    first, second, *steps = _ROUND[bits]
    c0, c1, c2, c3 = counter
    for _ in range(count):
        c0, c1, c2, c3 = (xor(xor(umulhi(c2, second), c1), keys[0]), mul(c2, second),
                          xor(xor(umulhi(c0, first), c3), keys[1]), mul(c0, first))
        keys = [add(key, step) for key, step in zip(keys, steps)]
    return c0, c1, c2, c3


def _integer(name, what, value):
    value = semantic.to_tensor(value)
    if not value.dtype.is_int():
        raise ProgramError(f"{name}: {what} is {describe(value)}; needed integers")
    return value


def randint4x(seed, offset, n_rounds=_ROUNDS):
    """Four tiles of random uint32: the words of the counter `offset` (32 or 64 bits) with the key `seed`, a scalar."""
    seed, offset = _integer("tl.randint4x", "the seed", seed), _integer("tl.randint4x", "the offset", offset)
    low = semantic.cast(offset, dtypes.uint32)
    zero = semantic.full(low.shape, 0, dtypes.uint32)
    high = semantic.cast(semantic.binary("shr", offset, 32), dtypes.uint32) if offset.dtype.bits > 32 else zero
    return philox(seed, low, high, zero, zero, n_rounds)


def randint(seed, offset, n_rounds=_ROUNDS):
    """Random uint32; if several are needed for each offset, tl.randint4x gives four at once."""
    return randint4x(seed, offset, n_rounds)[0]


def uint_to_uniform_float(x):
    """Random integers of 32 or 64 bits as float32 of 0 to less than 1."""
    x = _integer("tl.uint_to_uniform_float", "x", x)
    if x.dtype.bits < 32:
        raise ProgramError(f"tl.uint_to_uniform_float of {describe(x)}; needed 32 or 64 bits")
    signed = semantic.cast(x, dtypes.int32 if x.dtype.bits == 32 else dtypes.int64)
    # The largest factor with which the largest number stays below one (Triton's).
    scale = 4.6566127342e-10 if x.dtype.bits == 32 else 1.0842020432385337e-19
    positive = semantic.where(semantic.compare("lt", signed, 0), semantic.invert(signed), signed)
    return semantic.binary("mul", positive, scale)


def rand(seed, offset, n_rounds=_ROUNDS):
    """Random float32, uniform in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(seed, offsets, n_rounds=_ROUNDS):
    """Four tiles of such numbers."""
    return tuple(uint_to_uniform_float(words) for words in randint4x(seed, offsets, n_rounds))


def pair_uniform_to_normal(u1, u2):
    """Two independent normal numbers from two uniform ones (Box and Muller)."""
    angle = semantic.binary("mul", u2, 2 * _math.pi)
    radius = sqrt(semantic.binary("mul", log(maximum(1.0e-7, u1)), -2.0))
    return semantic.binary("mul", radius, cos(angle)), semantic.binary("mul", radius, sin(angle))


def randn(seed, offset, n_rounds=_ROUNDS):
    """Random float32, normal with mean 0 and variance 1."""
    words = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(words[0]), uint_to_uniform_float(words[1]))[0]


def randn4x(seed, offset, n_rounds=_ROUNDS):
    """Four tiles of such numbers."""
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    return (*pair_uniform_to_normal(u1, u2), *pair_uniform_to_normal(u3, u4))
