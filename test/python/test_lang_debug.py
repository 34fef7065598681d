"""device_print and device_assert: what is printed, by whom, and what is said of a check that fails; in the simulator."""

import re
from collections import Counter

import numpy as np
import pytest

import tileloom as tl
from dsl import plain, program, refused, tile
from tileloom import sim

TARGETS = ["sm_90a", "sm_100a"]
LINE = re.compile(r"pid \((\d+), (\d+), (\d+)\)(?: idx \(([^)]*)\))?(.*)")


def lines(capfd):
    """What has been printed: (pid, idx, the rest) of each line, in order."""
    found = []
    for line in capfd.readouterr().out.splitlines():
        match = LINE.fullmatch(line)
        assert match, line
        index = match[4]
        found.append((tuple(map(int, match.groups()[:3])), None if index is None else tuple(map(int, filter(None, index.split(",")))), match[5]))
    return found


def every(capfd, wanted):
    """Each of the lines as often as it is wanted, and no other."""
    found, wanted = Counter(lines(capfd)), Counter(wanted)
    assert found == wanted, (list((found - wanted).items())[:6], list((wanted - found).items())[:6])


@tl.jit
def show(x, out, n, B: tl.constexpr, HEX: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, at < n, other=0)
    tl.device_print("x", value, hex=HEX)
    tl.store(out + at, value, at < n)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("n, block", [(8, 8), (100, 64), (300, 256)])
def test_each_element_once(capfd, target, warps, n, block):
    """Also of tiles with fewer elements than threads, which several threads hold."""
    x = np.random.default_rng(n).integers(-1000, 1000, n).astype(np.int32)
    out = np.zeros_like(x)
    show[(-(-n // block),)](x, out, n, B=block, HEX=False, target=target, num_warps=warps)
    padded = np.concatenate([x, np.zeros(-n % block, np.int32)])
    every(capfd, [((i // block, 0, 0), (i % block,), f" x: {v}") for i, v in enumerate(padded)])
    assert (out == x).all()


@pytest.mark.parametrize("dtype, value, decimal, hexadecimal", [
    (np.int8, -3, "-3", "0xfd"), (np.uint8, 200, "200", "0xc8"), (np.int16, -2, "-2", "0xfffe"), (np.uint32, 1 << 31, "2147483648", "0x80000000"),
    (np.int64, -(1 << 40), "-1099511627776", "0xffffff0000000000"), (np.uint64, (1 << 63) + 5, "9223372036854775813", "0x8000000000000005"),
    (np.float16, 1.5, "1.500000", "0x1.8p+0"), (np.float32, -0.1, "-0.100000", "-0x1.99999ap-4"), (np.float64, 1e-7, "0.000000", "0x1.ad7f29abcaf48p-24"),
    (np.bool_, True, "1", "0x1")])
@pytest.mark.parametrize("hex", [False, True])
def test_types(capfd, dtype, value, decimal, hexadecimal, hex):
    x = np.full(8, value, dtype)
    show[(1,)](x, np.zeros_like(x), 8, B=8, HEX=hex)
    every(capfd, [((0, 0, 0), (i,), f" x: {hexadecimal if hex else decimal}") for i in range(8)])


@tl.jit
def several(x, n):
    """Two dimensions, several operands, scalars, no operand, a prefix with odd characters; under a branch and in a loop."""
    m, k = tl.arange(0, 4), tl.arange(0, 16)
    tile = tl.load(x + m[:, None] * 16 + k[None, :])
    tl.device_print("100% \"of\" \\ it: ", tile.to(tl.float32), n)
    for i in range(n):
        if i > 0:
            tl.device_print("in the loop", i)
            print("also", i, tl.sum(tile))
    tl.device_print("done")


@pytest.mark.parametrize("n", [0, 1, 3])
def test_forms(capfd, n):
    x = np.arange(64, dtype=np.int32)
    several[(1, 2)](x, n)
    wanted = []
    for pid in ((0, 0, 0), (0, 1, 0)):
        wanted += [(pid, (i // 16, i % 16), f" 100% \"of\" \\ it: (operand 0) {i}.000000") for i in range(64)]
        wanted += [(pid, (), f" 100% \"of\" \\ it: (operand 1) {n}"), (pid, None, " done")]
        for i in range(1, n):
            wanted += [(pid, (), f" in the loop: {i}"), (pid, (), f" also: (operand 0) {i}"), (pid, (), f" also: (operand 1) {64 * 63 // 2}")]
    every(capfd, wanted)


@tl.jit
def product(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr):
    """Specialised: copies, products and their results are different warps' work."""
    for m, n in tl.tiles((a.shape[0], BM), (b.shape[0], BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, a.shape[1], 32):
            left = a.load([m, k], [BM, 32])
            acc = tl.dot(left, b.load([n, k], [BN, 32]).T, acc)
            tl.device_print("k", k)
        tl.device_print("row", tl.sum(acc, 1))
        c.store([m, n], acc.to(c.dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bm, schedule", [(64, None), (128, None), (128, {"replicas": 2, "use": "cooperative"}), (64, {"replicas": 2, "use": "pingpong"})])
def test_specialised(capfd, target, bm, schedule):
    rng = np.random.default_rng(bm)
    a, b = rng.integers(-2, 3, (bm + 64, 64)).astype(np.float16), rng.integers(-2, 3, (64, 64)).astype(np.float16)
    c = np.full((len(a), 64), np.nan, np.float16)
    product(a, b, c, BM=bm, BN=64, target=target, schedule=schedule)
    wanted = a.astype(np.float64) @ b.T.astype(np.float64)
    assert (c == wanted).all()
    tiles = -(-len(a) // bm)
    rows = np.zeros(tiles * bm)
    rows[:len(a)] = wanted.sum(1)
    every(capfd, [((i, 0, 0), (), f" k: {k}") for i in range(tiles) for k in (0, 32)] +
          [((i // bm, 0, 0), (i % bm,), f" row: {v:f}") for i, v in enumerate(rows)])


@tl.jit
def whole_product(a: tl.view, b: tl.view, c: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        acc = tl.dot(a.load([m, 0], [64, 32]), b.load([0, 0], [32, 32]).T)
        tl.device_print("acc", acc)
        c.store([m, 0], acc)


@pytest.mark.parametrize("target", TARGETS)
def test_whole_sums(capfd, target):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (64, 32)).astype(np.float16), rng.integers(-2, 3, (32, 32)).astype(np.float16)
    c = np.full((64, 32), np.nan, np.float32)
    whole_product(a, b, c, target=target)
    wanted = a.astype(np.float64) @ b.T.astype(np.float64)
    assert (c == wanted).all()
    every(capfd, [((0, 0, 0), (i, j), f" acc: {wanted[i, j]:f}") for i in range(64) for j in range(32)])


# Checks -------------------------------------------------------------------------------------------

def check(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at, at < n, other=-1)
    tl.device_assert(value >= 0, "all of x are natural numbers", mask=at < n)
    assert tl.sum(value) < 10000, f"at most {10000}"
    tl.store(out + at, value, at < n)


checked, unchecked = tl.jit(check, debug=True), tl.jit(check)


@pytest.mark.parametrize("target", TARGETS)
def test_checks_that_hold(target):
    x, out = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    checked[(1,)](x, out, 100, B=128, target=target)
    assert (out == x).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("place, value, message, text", [(70, -5, "all of x are natural numbers", "tl.device_assert("), (3, 20000, "at most 10000", "assert tl.sum")])
def test_checks_that_fail(target, place, value, message, text):
    x, out = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    x[place] = value
    with pytest.raises(sim.KernelFault, match=message) as caught:
        checked[(1,)](x, out, 100, B=128, target=target)
    found = re.search(r"(\S+\.py):(\d+): check: assertion failed", str(caught.value))
    assert found and text in open(found[1]).read().splitlines()[int(found[2]) - 1]


def test_without_debug_nothing_is_left():
    x, out = -np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    unchecked[(1,)](x, out, 100, B=128)
    assert (out == x).all()
    signature = {"x": "*i32", "out": "*i32", "n": "i32"}
    assert "assert" not in program(unchecked, signature, B=128).text and "arith.cmpi sge" not in plain(program(unchecked, signature, B=128).text)
    assert plain(tile(checked, signature, B=128)).count("user.assert") == 2


def test_the_environment_asks_for_checks(monkeypatch):
    monkeypatch.setenv("TILELOOM_DEBUG", "1")
    assert tl.jit(check).debug
    monkeypatch.setenv("TILELOOM_DEBUG", "0")
    assert not tl.jit(check).debug


# What is refused ----------------------------------------------------------------------------------

@tl.jit
def wrong(x, n, what: tl.constexpr):
    if what == "no prefix":
        tl.device_print(n)
    if what == "ascii":
        tl.device_print("π", n)
    if what == "hex":
        tl.device_print("n", n, hex=n)
    if what == "tuple":
        tl.device_print("n", (n, n))
    if what == "pointer":
        tl.device_assert(x, "x")
    if what == "message":
        tl.device_assert(n > 0, n)
    if what == "static":
        assert 1 > 2, "one is less"


@tl.jit
def outside(x: tl.view, BEFORE: tl.constexpr):
    if BEFORE:
        tl.device_print("before")
    for m, in tl.tiles((x.shape[0], 64)):
        x.store([m, 0], tl.zeros((64, 64), x.dtype))
    tl.device_print("after")


def test_prints_outside_of_the_tiles():
    signature = {"x": ("f16", 2)}
    refused(outside, "tl.tiles behind a tl.device_print; needed all prints inside of its loop", "for m, in", signature, BEFORE=True)
    refused(outside, "tl.device_print behind the loop over tl.tiles; needed inside of it", "tl.device_print(\"after", signature, BEFORE=False)


def test_no_clusters():
    with pytest.raises(tl.CompilationError, match="cluster = 2 expected .* found 'user.print'"):
        product.compile(signature={"a": ("f16", 2), "b": ("f16", 2), "c": ("f16", 2)}, BM=128, BN=64, schedule={"cluster": 2})


REFUSED = {
    "no prefix": ("tl.device_print: prefix is int32, a run-time value; needed a compile-time constant", "tl.device_print("),
    "ascii": ("tl.device_print: prefix is 'π'; needed ASCII", "tl.device_print("),
    "hex": ("tl.device_print: hex is int32, a run-time value", "tl.device_print("),
    "tuple": ("found (int32, int32); needed a tensor or a number", "tl.device_print("),
    "pointer": ("tl.device_assert: cond is pointer<float32>; needed a bool", "tl.device_assert("),
    "message": ("tl.device_assert: msg is int32, a run-time value", "tl.device_assert("),
    "static": ("assertion failed: one is less", "assert 1 > 2"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    message, under = REFUSED[what]
    refused(wrong, message, under, {"x": "*f32", "n": "i32"}, what=what)
