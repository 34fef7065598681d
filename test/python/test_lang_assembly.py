"""inline_asm_elementwise, in the simulator against NumPy; and what is refused."""

import ml_dtypes
import numpy as np
import pytest

import tileloom as tl
from dsl import refused
from tileloom import sim

TARGETS = ["sm_90a", "sm_100a"]
BF16 = ml_dtypes.bfloat16


@tl.jit
def apply(x, y, out, n, ASM: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr, PURE: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + at, at < n, other=0), tl.load(y + at, at < n, other=0)
    result = tl.inline_asm_elementwise(ASM, CONSTRAINTS, [a, b], out.dtype.element_ty, PURE, PACK)
    tl.store(out + at, result, at < n)


CASES = {
    "f32": (np.float32, np.float32, "fma.rn.f32 $0, $1, $2, $2;", "=f,f,f", 1, lambda a, b: a * b + b),
    "f32 in words": (np.float32, np.float32, "add.rn.f32 $0, $1, $2;", "=r,r,r", 1, lambda a, b: a + b),
    "f64": (np.float64, np.float64, "add.rn.f64 $0, $1, $2;", "=d,d,d", 1, lambda a, b: a + b),
    "i32": (np.int32, np.int32, "{ .reg .b32 t; xor.b32 t, $1, $2; not.b32 $0, t; }", "=r,r,r", 1, lambda a, b: ~(a ^ b)),
    "i64": (np.int64, np.int64, "sub.s64 $0, $1, $2;", "=l,l,l", 1, lambda a, b: a - b),
    "i16": (np.int16, np.int16, "add.s16 $0, $1, $2;", "=h,h,h", 1, lambda a, b: a + b),
    "i8": (np.uint8, np.int32, "shl.b32 $0, $1, 3; add.s32 $0, $0, $2;", "=&r,r,r", 1, lambda a, b: (a.astype(np.int32) << 3) + b.astype(np.int32)),
    "bf16 in pairs": (BF16, BF16, "fma.rn.bf16x2 $0, $1, $2, $2;", "=r,r,r", 2, lambda a, b: a * b + b),
    "f16 alone": (np.float16, np.float16, "add.rn.f16 $0, $1, $2;", "=h,h,h", 1, lambda a, b: a + b),
    "bytes in fours": (np.uint8, np.uint8, "xor.b32 $0, $1, $2;", "=r,r,r", 4, lambda a, b: a ^ b),
    "a word for each of four bytes": (np.uint8, np.int32, "bfe.u32 $0, $4, 0, 8; bfe.u32 $1, $4, 8, 8; bfe.u32 $2, $4, 16, 8; bfe.u32 $3, $4, 24, 8;",
                                      "=&r,=&r,=&r,=&r,r,r", 4, lambda a, b: a.astype(np.int32)),
    "tied": (np.int32, np.int32, "add.s32 $0, $0, $2;", "=r,0,r", 1, lambda a, b: a + b),
    "with an effect": (np.int32, np.int32, "add.s32 $0, $1, $2; // $$ \"quoted\"", "=r,r,r,~{memory}", 1, lambda a, b: a + b),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n, block", [(7, 8), (500, 256)])
@pytest.mark.parametrize("case", CASES)
def test_types(target, n, block, case):
    dtype, result, asm, constraints, pack, function = CASES[case]
    rng = np.random.default_rng(n)
    x, y = (rng.integers(0, 8, n).astype(dtype) for _ in range(2))
    out = np.full(n + 5, 77, result)
    apply[(-(-n // block),)](x, y, out, n, ASM=asm, CONSTRAINTS=constraints, PACK=pack, PURE=case != "with an effect", B=block, target=target)
    wanted = function(x.astype(np.float32), y.astype(np.float32)) if np.dtype(dtype).kind not in "iu" else function(x, y)
    assert (out[:n] == wanted.astype(result)).all() and (out[n:] == 77).all()


@tl.jit
def both(x, out, other, N: tl.constexpr, PURE: tl.constexpr):
    """Two results in one piece of assembly, of which each goes another way; a scalar broadcast."""
    at = tl.arange(0, N)
    low, high = tl.inline_asm_elementwise("and.b32 $0, $2, $3; shr.u32 $1, $2, 16;", "=&r,=r,r,r", [tl.load(x + at), 0xFFFF], (tl.int32, tl.uint32), PURE, 1)
    tl.store(out + at, low)
    tl.store(other + at, tl.flip(high.to(tl.int32)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("pure", [False, True])
def test_several_results(target, pure):
    x = np.random.default_rng(0).integers(0, 1 << 32, 64).astype(np.uint32)
    out, other = np.zeros(64, np.int32), np.zeros(64, np.int32)
    both[(1,)](x, out, other, N=64, PURE=pure, target=target)
    assert (out == (x & 0xFFFF)).all() and (other == (x >> 16)[::-1]).all()


@tl.jit
def dequantised(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr):
    """Assembly on an operand of a product, on its result, and on a scalar."""
    for m, in tl.tiles((a.shape[0], BM)):
        acc = tl.zeros((BM, 64), tl.float32)
        for k in range(0, a.shape[1], 64):
            left = tl.inline_asm_elementwise("mul.rn.f16x2 $0, $1, $2;", "=r,r,r", [a.load([m, k], [BM, 64]), tl.full((), 2.0, tl.float16)], tl.float16, True, 2)
            acc = tl.dot(left, b.load([0, k], [64, 64]).T, acc)
        scale = tl.inline_asm_elementwise("mov.b32 $0, 0f40400000; // $1", "=f,r", [m], tl.float32, True, 1)
        c.store([m, 0], tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [acc], tl.float32, True, 1) * scale)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bm, m, k", [(64, 100, 128), (128, 128, 64)])
def test_products(target, bm, m, k):
    rng = np.random.default_rng(m)
    a, b = rng.integers(-3, 4, (m, k)).astype(np.float16), rng.integers(-3, 4, (64, k)).astype(np.float16)
    c = np.full((m, 64), np.nan, np.float32)
    dequantised(a, b, c, BM=bm, target=target)
    assert (c == -6 * (a.astype(np.float64) @ b.T.astype(np.float64))).all()


@tl.jit
def addresses(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x + at * 2], tl.int32, False, 1))


def test_pointers():
    x, out = np.arange(64, dtype=np.int32) * 3, np.zeros(32, np.int32)
    addresses[(1,)](x, out, N=32)
    assert (out == x[::2]).all()


def test_what_the_simulator_cannot_run_still_compiles():
    """It is refused there, with its line, and is in the code."""
    asm = "vadd.s32.s32.s32 $0, $1, $2;"
    keywords = dict(ASM=asm, CONSTRAINTS="=r,r,r", PACK=1, PURE=True, B=32)
    compiled = apply.compile(signature={"x": "*i32", "y": "*i32", "out": "*i32", "n": "i32"}, **keywords)
    assert "vadd.s32.s32.s32" in compiled.ptx
    x = np.zeros(8, np.int32)
    with pytest.raises(sim.SimulatorError, match=r"line \d+.*vadd"):
        apply[(1,)](x, x, np.zeros_like(x), 8, **keywords)


def test_wrong_text_is_the_assemblers_error():
    with pytest.raises(tl.TileloomError) as caught:
        apply.compile(signature={"x": "*i32", "y": "*i32", "out": "*i32", "n": "i32"}, ASM="no.such $0, $1, $2;", CONSTRAINTS="=r,r,r", PACK=1, PURE=True, B=32).cubin
    assert "no.such" in str(caught.value) or "ptxas" in str(caught.value)


# What is refused ----------------------------------------------------------------------------------

@tl.jit
def wrong(x, n, ASM: tl.constexpr, CONSTRAINTS: tl.constexpr, DTYPE: tl.constexpr, PACK: tl.constexpr):
    tl.inline_asm_elementwise(ASM, CONSTRAINTS, [tl.load(x + tl.arange(0, 32)), n], DTYPE, True, PACK)


@tl.jit
def wrong_shapes(x, n):
    a = tl.arange(0, 32)
    tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,r", [a, tl.arange(0, 16)], tl.int32, True, 1)


@tl.jit
def wrong_bool(x, n):
    tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [n > 3], tl.int32, True, 1)


@pytest.mark.parametrize("asm, constraints, dtype, pack, message", [
    ("mov.b32 $0, $1;", "=r,f", tl.int32, 1, "name 1 registers of results and 1 of arguments; needed 1 and 2 for these types and pack 1"),
    ("mov.b32 $0, $1;", "=r,f,r,r", tl.int32, 1, "name 1 registers of results and 3 of arguments; needed 1 and 2"),
    ("mov.b32 $0, $1;", "f,=r,r", tl.int32, 1, "constraint '=r' of a result stands behind one of an argument; needed results first"),
    ("mov.b32 $0, $1;", "=q,f,r", tl.int32, 1, "constraint '=q'; needed one of h, r, l, f and d, with = before it for a result"),
    ("mov.b32 $0, $1;", "=r,d,r", tl.int32, 1, "constraint 'd' is a register of 64 bits for 32 bits of float32; needed another letter or pack"),
    ("mov.b32 $0, $1;", "=r,h,r", tl.int32, 1, "constraint 'h' is a register of 16 bits for 32 bits of float32"),
    ("mov.b32 $0, $1;", "=r,1,r", tl.int32, 1, "constraint '1'; needed the number of a result, 0 to 0"),
    ("mov.b32 $0, $3;", "=r,f,r", tl.int32, 1, "asm has $3, and 3 registers; needed $0 to $2"),
    ("mov.b32 $0, $x;", "=r,f,r", tl.int32, 1, "asm has '$x;'; needed $ and the number of a register, or $$"),
    ("mov.b32 $0, $1;", "=r,f,r", tl.int1, 1, "dtype is tl.int1; needed a number type of 8 to 64 bits"),
    ("mov.b32 $0, $1;", "=r,f,r", (), 1, "dtype is empty; needed one result or more"),
    ("mov.b32 $0, $1;", "=r,f,r", tl.int32, 0, "pack is 0; needed 1 or more"),
    ("mov.b32 $0, $1;", "=r,f,r", tl.int8, 6, "pack is 6 for elements of int8; needed a multiple of 4, as 4 of them share a register"),
])
def test_refused(asm, constraints, dtype, pack, message):
    refused(wrong, "tl.inline_asm_elementwise: " if message is None else message, "tl.inline_asm_elementwise(", {"x": "*f32", "n": "i32"}, ASM=asm,
            CONSTRAINTS=constraints, DTYPE=dtype, PACK=pack)


def test_refused_operands():
    refused(wrong_shapes, "operands have shapes [32] and [16]", "tl.inline_asm_elementwise(", {"x": "*f32", "n": "i32"})
    refused(wrong_bool, "argument 0 is int1; needed numbers of 8 to 64 bits: convert with .to(tl.int32)", "tl.inline_asm_elementwise(", {"x": "*f32", "n": "i32"})
