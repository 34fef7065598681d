"""Block pointers: make_block_ptr, advance, load and store with boundary_check, in the simulator against NumPy; and what is refused."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import plain, refused, tile

TARGETS = ["sm_90a", "sm_100a"]
BF16 = ml_dtypes.bfloat16


def block_of(array, start, shape, fill):
    """The block at `start` of an array; `fill` outside of it."""
    index = [at + np.arange(extent) for at, extent in zip(start, shape)]
    inside = np.ones(shape, bool)
    for own, extent in zip(np.ix_(*index), array.shape):
        inside = inside & (own >= 0) & (own < extent)
    clipped = [np.clip(own, 0, extent - 1) for own, extent in zip(index, array.shape)]
    return np.where(inside, array[np.ix_(*clipped)], fill)


# Copies -------------------------------------------------------------------------------------------

@tl.jit
def copy(x, y, M, N, sxm, sxn, sym, syn, first, PADDING: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """y = x + 1 from position (first, first); what is outside of x is the padding."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    source = tl.make_block_ptr(x, shape=(M, N), strides=(sxm, sxn), offsets=(m + first, n + first), block_shape=(BM, BN), order=(1, 0))
    target = tl.make_block_ptr(base=y, shape=(M, N), strides=(sym, syn), offsets=(m, n), block_shape=(BM, BN), order=(1, 0))
    value = tl.load(source, boundary_check=(0, 1), padding_option=PADDING)
    tl.store(target, value + 1, boundary_check=(0, 1))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, first", [(64, 64, 0), (37, 51, 0), (37, 51, -5), (1, 1, 3), (100, 16, 1), (5, 200, -40)])
@pytest.mark.parametrize("padding", ["", "zero", "nan"])
def test_copy(target, m, n, first, padding):
    x = np.random.default_rng(m).standard_normal((m, n)).astype(np.float32)
    y = np.full((m + 3, n), 7, np.float32)
    copy[(tl.cdiv(m, 32), tl.cdiv(n, 64))](x, y, m, n, n, 1, n, 1, first, PADDING=padding, BM=32, BN=64, target=target)
    assert np.array_equal(y[:m], block_of(x, (first, first), (m, n), np.nan if padding == "nan" else 0) + 1, equal_nan=True)
    assert (y[m:] == 7).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float16, BF16, np.float64])
def test_types_and_transposed_strides(dtype):
    """The source lies column by column."""
    m, n = 45, 30
    x = np.random.default_rng(3).integers(-50, 50, (n, m)).astype(dtype)
    y = np.zeros((m, n), dtype)
    copy[(2, 1)](x, y, m, n, 1, m, n, 1, 0, PADDING="zero", BM=32, BN=64)
    assert (y == x.T + 1).all()


@tl.jit
def negate(x, y, n, B: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.store(tl.make_block_ptr(y, (n,), (1,), (0,), (B,), (0,)), ~tl.load(source, boundary_check=[0]), boundary_check=[0])


def test_bools_and_one_dimension():
    x = np.random.default_rng(0).integers(0, 2, 77).astype(bool)
    y = np.zeros_like(x)
    negate[(1,)](x, y, 77, B=128)
    assert (y == ~x).all()


@tl.jit
def part_checked(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Rows are checked, columns are not; three dimensions, a step in the first."""
    source = tl.make_block_ptr(x, (2, M, N), (M * N, N, 1), (0, 0, 0), (1, BM, BN), (2, 1, 0))
    second = source.advance((1, 0, 0))
    both = tl.load(source, boundary_check=(1,)) + tl.load(second, boundary_check=(1,))
    tl.store(tl.make_block_ptr(y, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0)), both.reshape(BM, BN), boundary_check=(0,))


@pytest.mark.parametrize("m", [32, 19, 1])
def test_part_checked(m):
    x = np.random.default_rng(m).standard_normal((2, m, 64)).astype(np.float32)
    y = np.full((m, 64), np.nan, np.float32)
    part_checked[(1,)](x, y, m, 64, BM=32, BN=64)
    assert (y == x.sum(0)).all()


# Carried by loops and branches --------------------------------------------------------------------

@tl.jit
def block_at(base, rows, columns, m, n, BM: tl.constexpr, BN: tl.constexpr):
    return tl.make_block_ptr(base, (rows, columns), (columns, 1), (m, n), (BM, BN), (1, 0))


@tl.jit
def accumulated(total, block):
    return total + tl.load(block, boundary_check=(0, 1), padding_option="zero"), tl.advance(block, (0, 32))


@tl.jit
def row_sums(x, w, y, M, N, flag, BM: tl.constexpr):
    """y = the sums of the rows of x, or of w: through a branch, a tuple, a loop, functions."""
    m = tl.program_id(0) * BM
    blocks = block_at(x, M, N, m, 0, BM, 32), block_at(w, M, N, m, 0, BM, 32)
    block = blocks[0]
    if flag > 0:
        block = blocks[1]
    total = tl.zeros((BM, 32), tl.float32)
    for k in range(0, N, 32):
        total, block = accumulated(total, block)
    tl.store(tl.make_block_ptr(y, (M,), (1,), (m,), (BM,), (0,)), tl.sum(total, 1), boundary_check=(0,))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("m, n", [(16, 32), (21, 0), (21, 1), (40, 99)])
def test_loops_and_branches(target, flag, m, n):
    x, w = np.random.default_rng(n).integers(-9, 9, (2, m, max(n, 1))).astype(np.float32)
    y = np.full(m, np.nan, np.float32)
    row_sums[(tl.cdiv(m, 16),)](x, w, y, m, n, flag, BM=16, target=target)
    assert (y == (w if flag else x)[:, :n].sum(1)).all()


@tl.jit
def walked(x, y, n, B: tl.constexpr):
    """A while loop carries a pair of block pointers, of which one goes back and forth."""
    pair = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,)), tl.make_block_ptr(y, (n,), (1,), (0,), (B,), (0,))
    left = n
    while left > 0:
        source, target = pair
        tl.store(target, tl.load(source, boundary_check=(0,)) * 2, boundary_check=(0,))
        pair = tl.advance(tl.advance(source, (2 * B,)), (-B,)), target.advance([B])
        left -= B


@pytest.mark.parametrize("n", [1, 64, 200])
def test_while(n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    y = np.full(n + 5, 7, np.float32)
    walked[(1,)](x, y, n, B=64)
    assert (y[:n] == x * 2).all() and (y[n:] == 7).all()


# Products -----------------------------------------------------------------------------------------

@tl.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """As in Triton's tutorial on block pointers."""
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    a = tl.make_block_ptr(base=a_ptr, shape=(M, K), strides=(stride_am, stride_ak), offsets=(m, 0), block_shape=(BLOCK_M, BLOCK_K), order=(1, 0))
    b = tl.make_block_ptr(base=b_ptr, shape=(K, N), strides=(stride_bk, stride_bn), offsets=(0, n), block_shape=(BLOCK_K, BLOCK_N), order=(1, 0))
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        accumulator += tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1)))
        a = tl.advance(a, (0, BLOCK_K))
        b = tl.advance(b, (BLOCK_K, 0))
    c = tl.make_block_ptr(base=c_ptr, shape=(M, N), strides=(stride_cm, stride_cn), offsets=(m, n), block_shape=(BLOCK_M, BLOCK_N), order=(1, 0))
    tl.store(c, accumulator.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def product(m, n, k, transposed, target, dtype=np.float16):
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((n, k) if transposed else (k, n)).astype(dtype)
    c = np.full((m, n), np.nan, dtype)
    strides = (1, k) if transposed else (n, 1)
    matmul[(tl.cdiv(m, 64), tl.cdiv(n, 64))](a, b, c, m, n, k, k, 1, *strides, n, 1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, target=target)
    wanted = a.astype(np.float64) @ (b.T if transposed else b).astype(np.float64)
    assert np.linalg.norm(c.astype(np.float64) - wanted) <= (2e-3 if dtype is np.float16 else 1e-2) * np.linalg.norm(wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m, n, k", [(64, 64, 32), (128, 64, 96), (100, 72, 40), (65, 63, 33), (1, 1, 1)])
def test_matmul(target, transposed, m, n, k):
    product(m, n, k, transposed, target)


def test_only_what_changes_is_carried():
    strides = {name: 1 if name in ("stride_ak", "stride_bn", "stride_cn") else "i32:16"
               for name in ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn")}
    text = plain(tile(matmul, {"a_ptr": "*f16:16", "b_ptr": "*f16:16", "c_ptr": "*f16:16", "M": "i32:16", "N": "i32:16", "K": "i32:16", **strides},
                      BLOCK_M=64, BLOCK_N=64, BLOCK_K=32))
    loop = next(line for line in text.splitlines() if "scf.for" in line)
    assert loop[loop.index("-> (") + 4:loop.rindex(") :")].split(", ") == ["tensor<64x64xf32>", "i32", "i32"], loop


# What is refused ----------------------------------------------------------------------------------

POINTERS = {"x": "*f32", "n": "i32"}


@tl.jit
def wrong(x, n, what: tl.constexpr):
    block = tl.make_block_ptr(x, (n, 64), (64, 1), (0, 0), (16, 64), (1, 0))
    if what == "base":
        tl.make_block_ptr(x + tl.arange(0, 16), (n,), (1,), (0,), (16,), (0,))
    if what == "rank":
        tl.make_block_ptr(x, (n, 64), (1,), (0, 0), (16, 64), (1, 0))
    if what == "order":
        tl.make_block_ptr(x, (n, 64), (64, 1), (0, 0), (16, 64), (1, 1))
    if what == "extent":
        tl.make_block_ptr(x, (n, 64), (64, 1), (0, 0), (12, 64), (1, 0))
    if what == "run time":
        tl.make_block_ptr(x, (n, 64), (64, 1), (0, 0), (n, 64), (1, 0))
    if what == "offset":
        tl.make_block_ptr(x, (n, 64), (64, 1), (0.5, 0), (16, 64), (1, 0))
    if what == "mask":
        tl.load(block, mask=n > 3)
    if what == "other":
        tl.load(block, other=0.0)
    if what == "check":
        tl.load(block, boundary_check=(2,))
    if what == "twice":
        tl.load(block, boundary_check=(0, 0))
    if what == "padding":
        tl.load(block, boundary_check=(0,), padding_option="one")
    if what == "nan":
        tl.load(tl.make_block_ptr(x.to(tl.int64).to(tl.pointer_type(tl.int32)), (n,), (1,), (0,), (16,), (0,)), padding_option="nan")
    if what == "shape":
        tl.store(block, tl.zeros((16, 32), tl.float32))
    if what == "type":
        tl.store(block, tl.zeros((16, 64), tl.float16))
    if what == "store mask":
        tl.store(block, 0.0, mask=n > 3)
    if what == "no block":
        tl.advance(x, (1,))
    if what == "steps":
        tl.advance(block, (1,))
    if what == "pointer":
        tl.load(x + tl.arange(0, 16), boundary_check=(0,))
    if what == "pointer padding":
        tl.load(x, padding_option="zero")
    if what == "pointer store":
        tl.store(x, 1.0, boundary_check=(0,))
    if what == "arithmetic":
        block + 1
    if what == "loop":
        for i in range(n):
            block = tl.make_block_ptr(x, (n, 64), (64, 1), (0, 0), (32, 64), (1, 0))
        tl.load(block)


REFUSED = {
    "base": ("tl.make_block_ptr: base is pointer<float32>[16]; needed a scalar pointer", "tl.make_block_ptr(x + tl.arange"),
    "rank": ("tl.make_block_ptr: strides has 1 numbers for a block of rank 2; needed 2", "tl.make_block_ptr("),
    "order": ("tl.make_block_ptr: order is (1, 1); needed an order of 0 to 1", "tl.make_block_ptr("),
    "extent": ("tl.make_block_ptr: extent 0 of the block is 12; needed a power of two, or a multiple of 8", "tl.make_block_ptr("),
    "run time": ("tl.make_block_ptr: block_shape: extent 0 is int32, a run-time value", "tl.make_block_ptr("),
    "offset": ("tl.make_block_ptr: offsets: number 0 is 0.5; needed an integer scalar", "tl.make_block_ptr("),
    "mask": ("tl.load: mask is given for a block pointer to float32[16, 64]; needed boundary_check and padding_option", "tl.load("),
    "other": ("tl.load: other is given for a block pointer", "tl.load("),
    "check": ("tl.load: boundary_check is (2); needed different dimensions, of 0 to 1", "tl.load("),
    "twice": ("tl.load: boundary_check is (0, 0); needed different dimensions, of 0 to 1", "tl.load("),
    "padding": ("tl.load: padding_option is 'one'; needed \"\", \"zero\" or \"nan\"", "tl.load("),
    "nan": ("tl.load: padding_option is \"nan\" for a block pointer to int32[16]; needed \"zero\", as integers have no NaN", "tl.load("),
    "shape": ("tl.store: the value is float32[16, 32] for a block pointer to float32[16, 64]; needed the block's shape, or a scalar", "tl.store("),
    "type": ("tl.store: the value is float16[16, 64] for a block pointer to float32[16, 64]; needed equal types: convert with .to(tl.float32)", "tl.store("),
    "store mask": ("tl.store: mask is given for a block pointer to float32[16, 64]; needed boundary_check", "tl.store("),
    "no block": ("tl.advance: base is pointer<float32>; needed what tl.make_block_ptr gives", "tl.advance("),
    "steps": ("tl.advance: offsets has 1 numbers for a block of rank 2; needed 2", "tl.advance("),
    "pointer": ("tl.load: boundary_check is given for pointer<float32>[16], whose bounds are not known", "tl.load("),
    "pointer padding": ("tl.load: padding_option is given for pointer<float32>, whose bounds are not known", "tl.load("),
    "pointer store": ("tl.store: boundary_check is given for pointer<float32>, whose bounds are not known", "tl.store("),
    "arithmetic": ("operand is a block pointer to float32[16, 64]; needed a tensor or a number", "block + 1"),
    "loop": ("'block' has no value here", "block)"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    message, under = REFUSED[what]
    refused(wrong, message, under, POINTERS, what=what)
