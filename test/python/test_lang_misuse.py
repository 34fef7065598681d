"""Launches as users get them wrong, and what they are told; and odd uses that are right."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*shape):
    return RNG.integers(-9, 9, shape).astype(np.int32)


@tl.jit
def add(x, out, more):
    tl.store(out, tl.load(x) + more)


@tl.jit
def copy(a: tl.view, b: tl.view, BM: tl.constexpr = 64):
    for m, in tl.tiles((a.shape[0], BM)):
        b.store([m, 0], a.load([m, 0], [BM, 64]))


@tl.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y))


@tl.jit
def value_of(x):
    return tl.load(x)


@tl.jit
def strided(x, out, start, stop, step):
    total = tl.zeros((32,), tl.float32)
    for i in range(start, stop, step):
        total += tl.load(x + i * 32 + tl.arange(0, 32))
    tl.store(out + tl.arange(0, 32), total)


def read_only(array):
    array.flags.writeable = False
    return array


WRONG = {
    "a number too large": (lambda: add[(1,)](ints(1), ints(1), 1 << 70), "argument 2 'more': is 1180591620717411303424; needed -9223372036854775808.."),
    "the same, warm": (lambda: [add[(1,)](np.zeros(1, np.int64), np.zeros(1, np.int64), n) for n in (1 << 40, (1 << 40) + 1, (1 << 70) + 1)],
                       "'more': is 1180591620717411303425; needed"),
    "a text": (lambda: add[(1,)](ints(1), ints(1), "5"), "argument 2 'more': is of type str; needed a tensor, a number or None"),
    "a complex number": (lambda: add[(1,)](ints(1), ints(1), 1j), "argument 2 'more': is of type complex"),
    "a list for a number": (lambda: add[(1,)](ints(1), ints(1), [1, 2]), r"operand is \(int32, int32\); needed a tensor or a number"),
    "big-endian elements": (lambda: add[(1,)](np.zeros(1, ">i4"), ints(1), 1), "argument 0 'x': its element type is not supported"),
    "a read-only result": (lambda: add[(1,)](ints(1), read_only(np.full(1, 99, np.int32)), 1), "argument 'out' is a read-only array, and the kernel stores"),
    "an empty array": (lambda: add[(1,)](np.zeros(0, np.int32), ints(1), 1), "out-of-bounds: 4 bytes at global address"),
    "no grid": (lambda: add(ints(1), ints(1), 1), r"no grid; needed add\[\(x, y, z\)\]"),
    "a negative grid": (lambda: add[(-1,)](ints(1), ints(1), 1), "grid x is -1; needed 0 to 2147483647"),
    "a grid of floats": (lambda: add[(1.5,)](ints(1), ints(1), 1), "grid x is 1.5; needed an integer"),
    "a grid of four": (lambda: add[(1, 1, 1, 1)](ints(1), ints(1), 1), "a grid of 4 extents; needed"),
    "a grid too high": (lambda: add[(1, 70000)](ints(1), ints(1), 1), "grid y is 70000; needed 0 to 65535"),
    "a grid beside tl.tiles": (lambda: copy[(1,)](floats(64, 64), floats(64, 64)), r"a grid of \(1,\) for a kernel with tl.tiles"),
    "an argument too few": (lambda: copy(floats(64, 64)), r"copy\(\): argument 'b' is missing"),
    "every second column": (lambda: copy(floats(64, 128)[:, ::2], floats(64, 64)), "argument 0 'a': stride of dimension 1 is 2 elements; needed 1"),
    "rows at odd addresses": (lambda: copy(floats(64, 65)[:, :64], floats(64, 64)), r"stride of dimension 0 is 65 elements \(260 bytes\)"),
    "rows backwards": (lambda: copy(floats(64, 64)[::-1], floats(64, 64)), r"argument 'a': the strides are \(-256, 4\) bytes; needed none below 0"),
    "one dimension": (lambda: copy(floats(64), floats(64)), "a.load: 2 coordinates for the float32 view 'a' of rank 1; needed 1"),
    "six dimensions": (lambda: copy(floats(1, 1, 1, 1, 64, 64), floats(64, 64)), "a view of rank 6; needed 1 to 5"),
    "two types": (lambda: copy(floats(64, 64), floats(64, 64).astype(BF16)), "the value is float32.64, 64., the view has bfloat16"),
    "a tile of 0": (lambda: copy(floats(64, 64), floats(64, 64), BM=0), "tl.tiles: tile 0 is 0; needed 1 or more"),
    "a tile of 64.0": (lambda: copy(floats(64, 64), floats(64, 64), BM=64.0), "tl.tiles: tile 0 is 64.0; needed an int"),
    "a tile of None": (lambda: copy(floats(64, 64), floats(64, 64), BM=None), "tl.tiles: tile 0 is None; needed an int"),
    "a tile of 512 rows": (lambda: copy(floats(512, 64), floats(512, 64), BM=512), "shared memory: need 262160 bytes, have 232448"),
    "stages below zero": (lambda: copy(floats(64, 64), floats(64, 64), schedule={"stages": -3}),
                          "kernel 'copy', schedule <stages = -3>: field 'stages': expected an integer from 1 to 32, found -3"),
    "a schedule of words": (lambda: copy(floats(64, 64), floats(64, 64), schedule="stages = many"), "kernel 'copy', schedule <stages = many>: expected attribute value"),
    "300 KB of schedule": (lambda: copy(floats(64, 64), floats(64, 64), schedule="x" * 300000), r"kernel 'copy', schedule <x{80}\.\.\. \(300000 characters\)>: expected"),
    "3 warps": (lambda: add[(1,)](ints(1), ints(1), 2, num_warps=3), "field 'warps': expected 1, 2, 4, 8, 16 or 32, found 3"),
    "a schedule that is a list": (lambda: add[(1,)](ints(1), ints(1), 2, schedule=[1]), r"kernel 'add': schedule is \[1\]; needed a dict or text"),
    "a target that is a number": (lambda: add[(1,)](ints(1), ints(1), 2, target=90), "kernel 'add': target is 90; needed text"),
    "options that are text": (lambda: add[(1,)](ints(1), ints(1), 2, options="fast"), "kernel 'add': options is 'fast'; needed a dict"),
    "64 warps": (lambda: add[(1,)](ints(1), ints(1), 2, num_warps=64), "field 'warps': expected an integer from 1 to 32, found 64"),
    "an unknown option": (lambda: copy(floats(64, 64), floats(64, 64), options={"fast": 1}), "unknown option 'fast'; known: line_info"),
    "an unknown target": (lambda: copy(floats(64, 64), floats(64, 64), target="sm_80"), r"unknown target 'sm_80' \(targets: sm_90a"),
    "a value returned": (lambda: value_of[(1,)](floats(1)), "a kernel returns a value; needed a store to memory"),
    "8 rows of a product": (lambda: product[(1,)](floats(8, 16).astype(BF16), floats(16, 8).astype(BF16), floats(8, 8), 8, 8, 16),
                            "shapes: expected rows a multiple of 16, columns of 8 and K of 16, found 8, 8 and 16"),
    "K of 8": (lambda: product[(1,)](floats(16, 8).astype(BF16), floats(8, 16).astype(BF16), floats(16, 16), 16, 16, 8), "and K of 16, found 16, 16 and 8"),
    "products of float64": (lambda: product[(1,)](np.zeros((16, 16)), np.zeros((16, 16)), np.zeros((16, 16)), 16, 16, 16),
                            "tl.dot: the element type is float64; needed one of float16"),
}


@pytest.mark.parametrize("launch, message", WRONG.values(), ids=WRONG)
def test_wrong(launch, message):
    with pytest.raises(tl.TileloomError, match=message):
        launch()


@pytest.mark.parametrize("start, stop, step", [(0, 8, 3), (0, 8, 1), (3, 8, 100), (5, 5, 1), (6, 2, 1), (0, 8, -1), (0, 8, -100), (8, 0, 0)])
def test_steps_at_run_time(start, stop, step):
    """No step that is not positive makes a loop without end."""
    x, out = floats(8, 32), np.full(32, np.nan, np.float32)
    strided[(1,)](x, out, start, stop, step)
    wanted = x[start:stop:step].sum(0) if step > 0 and start < stop else np.zeros(32)
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)


def test_other_numbers():
    for more in (np.int32(4), np.int64(4), True, 4):
        x, out = ints(1), ints(1)
        add[1](x, out, more)
        assert out[0] == x[0] + int(more)
    x, out = np.array([5], np.int64), np.zeros(1, np.int64)
    add[(1,)](x, out, 1 << 40)
    assert out[0] == (1 << 40) + 5
    out = floats(1)
    add[(1,)](floats(1), out, float("nan"))
    assert np.isnan(out[0])


def test_other_arrays():
    out = floats(64, 64)
    copy(read_only(floats(64, 64)), out)
    row = np.broadcast_to(floats(1, 64), (64, 64))
    copy(row, out)
    assert (out == row).all()
    a = floats(100, 64)
    before = a.copy()
    copy(a, a, BM=24)
    assert (a == before).all()
    copy(floats(0, 64), floats(0, 64))
    out = np.full(1, 77, np.int32)
    add[(0,)](ints(1), out, 1)
    assert out[0] == 77


@tl.jit
def names(x, out, n):
    max = tl.max(tl.load(x + tl.arange(0, 32)), 0)
    a, (b, c) = max, (tl.load(x), 3)
    a -= b; a *= c  # noqa: E702
    if n > 3:
        d = 1.0
    elif n == 2:
        d = 2.0
    else:
        d = 0.0
    tl.store(out, a + d if c == 3 else b)


@tl.jit
def doubled(x, out):
    value, count = tl.load(x), 0
    while value < 100.0:
        value = value * 2
        count += 1
    tl.store(out, count)


@tl.jit
def summed(xs, out):
    total = tl.zeros((32,), tl.float32)
    for x in xs:
        total += tl.load(x + tl.arange(0, 32))
    tl.store(out + tl.arange(0, 32), total)


@tl.jit
def nothing(x):
    """Nothing."""


def test_odd_programs():
    x = floats(32)
    for n, more in ((5, 1), (2, 2), (0, 0)):
        out = floats(1)
        names[(1,)](x, out, n)
        np.testing.assert_allclose(out[0], (x.max() - x[0]) * 3 + more, rtol=1e-6)
    out = ints(1)
    doubled[(1,)](np.array([3], np.float32), out)
    assert out[0] == 6
    rows, out = floats(3, 32), floats(32)
    summed[(1,)](tuple(rows), out)
    np.testing.assert_allclose(out, rows.sum(0), rtol=1e-5, atol=1e-6)
    summed[(1,)]((), out)
    assert (out == 0).all()
    nothing[(1,)](x)
