"""Loops, branches, calls: what they carry, unrolling, inlining. Every program is parsed and verified."""

import re

import pytest

import tileloom as tl
from dsl import ops, plain, tile
from tileloom.kernels.attention import attention_kernel
from tileloom.kernels.epilogue import add, gelu
from tileloom.kernels.gemm import gemm_kernel
from tileloom.kernels.grouped_gemm import contiguous_kernel, masked_kernel, product
from tileloom.kernels.layer_norm import layer_norm_kernel
from tileloom.kernels.softmax import softmax_kernel

LIMIT = tl.constexpr(4)


@tl.jit
def carried(x, out, n):
    at = tl.arange(0, 64)
    total = tl.zeros((64,), tl.float32)
    count, unused, best = 0, 5, -tl.inf
    for i in range(n):
        temporary = tl.load(x + i * 64 + at)
        total += temporary
        count += 1
        best = tl.maximum(best, tl.max(temporary, 0))
        unused = i
    tl.store(out + at, total * count + best)


def test_for_carries_what_is_used():
    text = plain(tile(carried, {"x": "*f32", "out": "*f32", "n": "i32"}))
    types = re.search(r"iter_args\(.*?\) -> \((.*?)\) : i32", text).group(1)
    assert types == "tensor<64xf32>, i32, f32", "neither 'temporary' nor 'unused' is carried"


@tl.jit
def widened(out, n, step):
    i, total = 0, 0
    while i < n:
        total += i * step
        i += step
    tl.store(out, total)


def test_while_and_promotion_of_carried_numbers():
    text = plain(tile(widened, {"out": "*i64", "n": "i64", "step": "i64"}))
    assert re.search(r"scf.while \(%\d+ = %\d+, %\d+ = %\d+\) : \(i64, i64\) -> \(i64, i64\)", text)


@tl.jit
def branches(x, out, n, FLAG: tl.constexpr):
    at = tl.arange(0, 64)
    value = tl.load(x + at)
    if FLAG:
        value = value * 2.0
    if n > 3:
        value = value + 1.0
        inside = 3
    elif n == 2:
        value = -value
    factor = 2 if n < 10 else 3
    constant = 5 if FLAG else 7
    tl.static_assert(constant == (5 if FLAG else 7))
    if n == 7:
        tl.store(out, 1.0)
    tl.store(out + at, value * factor)


def test_branches():
    on = plain(tile(branches, {"x": "*f32", "out": "*f32", "n": "i32"}, FLAG=True))
    off = plain(tile(branches, {"x": "*f32", "out": "*f32", "n": "i32"}, FLAG=False))
    assert on.count("scf.if") == off.count("scf.if") == 4
    assert on.count("arith.mulf") == 2 and off.count("arith.mulf") == 1
    assert re.search(r"= scf.if %\d+ -> \(i32\)", on) and re.search(r"= scf.if %\d+ -> \(tensor<64xf32>\)", on)


@tl.jit
def unrolled(out, N: tl.constexpr):
    total = tl.zeros((16,), tl.float32)
    for i in tl.static_range(N):
        total += i
    for i, name in ((3, "a"), (4, "b")):
        total += i
    tl.store(out + tl.arange(0, 16), total)


def test_static_range():
    assert ops(tile(unrolled, {"out": "*f32"}, N=5)).count("arith.addf") == 7


@tl.jit
def downward(out, n):
    for i in tl.range(n, -1, -16):
        tl.store(out + i, i)


def test_loops_count_down():
    text = plain(tile(downward, {"out": "*i32", "n": "i32"}))
    assert re.search(r"scf.for %\d+ = %\d+ to %\d+ step %\d+ : i32", text)
    assert ops(text).count("arith.subi") >= 2


@tl.jit
def square(x):
    return x * x


@tl.jit
def pair(x, y=2, *, scale: tl.constexpr = 3):
    return x * scale, y


@tl.jit
def calls(x, out):
    at = tl.arange(0, 32)
    first, second = pair(square(tl.load(x + at)), scale=5)
    tl.store(out + at, first + second + LIMIT)


def test_calls_are_inlined():
    text = tile(calls, {"x": "*f32", "out": "*f32"})
    assert "func.call" not in text and ops(text).count("arith.mulf") == 2
    assert re.search(r'loc\(callsite\("[^"]*":\d+:\d+ at "[^"]*":\d+:\d+\)\)', text)


@tl.jit
def factorial(N: tl.constexpr):
    return N * factorial(N - 1) if N > 1 else 1


@tl.jit
def recursive(out):
    tl.store(out, factorial(5))


def test_compile_time_recursion():
    assert "120" in plain(tile(recursive, {"out": "*i32"}))


@tl.jit
def nested(x, out, n, m):
    acc = tl.zeros((16,), tl.float32)
    for i in range(n):
        part = tl.zeros((16,), tl.float32)
        for j in range(m):
            if j > i:
                part += tl.load(x + j * 16 + tl.arange(0, 16))
        acc += part
    tl.store(out + tl.arange(0, 16), acc)


def test_nested_loops():
    text = plain(tile(nested, {"x": "*f32", "out": "*f32", "n": "i32", "m": "i32"}))
    assert text.count("iter_args") == 2 and re.search(r"scf.if %\d+ -> \(tensor<16xf32>\)", text)


@tl.jit
def kept(x, out, n, FLAG: tl.constexpr):
    width, seen, total = 32, 0, 0.0
    for i in range(n):
        if FLAG:
            width = 64
        if i > 2:
            seen += 1
            tl.store(out + seen, tl.sum(tl.load(x + tl.arange(0, width)), 0))
        total += 1
    tl.store(out, total + width)


def test_numbers_that_a_loop_leaves_alone_stay_constants():
    text = plain(tile(kept, {"x": "*f32", "out": "*f32", "n": "i32"}, FLAG=False))
    assert "tensor<32xf32>" in text and re.search(r"scf.if %\d+ -> \(i32\)", text), "what only the branch reads passes to the next iteration"
    assert "tensor<64xf32>" in tile(kept, {"x": "*f32", "out": "*f32", "n": "i32"}, FLAG=True)


@tl.jit
def logic(out, n, m):
    if n > 0 and m > 0 or not n == 5:
        tl.store(out, 1)
    if 0 <= n < m:
        tl.store(out, 2)


def test_run_time_logic():
    names = ops(tile(logic, {"out": "*i32", "n": "i32", "m": "i32"}))
    assert names.count("arith.andi") == 2 and names.count("arith.ori") == 1 and names.count("arith.xori") == 1


@tl.jit
def optional(x, bias, out):
    value = tl.load(x + tl.arange(0, 16))
    if bias is not None:
        value += tl.load(bias + tl.arange(0, 16))
    tl.store(out + tl.arange(0, 16), value)


def test_none_is_a_constant():
    assert ops(tile(optional, {"x": "*f32", "out": "*f32", "bias": None})).count("tile.gather") == 1
    assert ops(tile(optional, {"x": "*f32", "out": "*f32", "bias": "*f32"})).count("tile.gather") == 2


@tl.jit
def two_pointers(x, y, out, n):
    p = x
    if n > 0:
        p = y
    tl.store(out, tl.load(p + 3))


def test_pointer_out_of_a_branch():
    assert re.search(r"scf.if %\d+ -> \(i64\)", plain(tile(two_pointers, {"x": "*f32", "y": "*f32", "out": "*f32", "n": "i32"})))


@tl.jit
def specialised(out, n):
    tl.store(out + tl.arange(0, 16) * n, tl.arange(0, 16))


def test_one_is_a_constant():
    text = plain(tile(specialised, {"out": "*i32", "n": 1}))
    assert "%n" not in text


@pytest.mark.parametrize("kernel", ["gemm", "gemm_tn", "attention", "attention_causal", "contiguous", "masked", "softmax", "layer_norm"])
def test_kernel_library(kernel):
    two, three, four = ("bf16", 2), ("bf16", 3), ("bf16", (None, None, None, 128))
    tiles = {"BM": 128, "BN": 128, "BK": 64}
    row = {"out": "*bf16:16", "x": "*bf16:16", "out_stride": "i32:16", "x_stride": "i32:16", "columns": "i32"}
    text = {
        "gemm": lambda: tile(gemm_kernel, dict(a=two, b=two, c=two), **tiles),
        "gemm_tn": lambda: tile(gemm_kernel, dict(a=two, b=two, c=two, operands=[None, "i32", "i32", "*bf16", None, None]), TRANS_A=True, TRANS_B=True,
                                STEPS=((add, ((False, False, True),)), (gelu, ())), **tiles),
        "attention": lambda: tile(attention_kernel, dict(q=four, k=four, v=four, o=four, lse="*f32", scale="f32"), CAUSAL=False, BM=128, BN=128),
        "attention_causal": lambda: tile(attention_kernel, dict(q=four, k=four, v=four, o=four, lse="*f32", scale="f32"), CAUSAL=True, BM=192, BN=112),
        "contiguous": lambda: tile(contiguous_kernel, dict(a=two, b=three, c=two, labels="*i32"), **tiles),
        "masked": lambda: tile(masked_kernel, dict(a=three, b=three, c=three, counts="*i32"), **tiles),
        "softmax": lambda: tile(softmax_kernel, row, BLOCK=1024),
        "layer_norm": lambda: tile(layer_norm_kernel, dict(weight="*f32", bias="*f32", mean="*f32", rstd="*f32", epsilon="f32", **row), BLOCK=1024),
    }[kernel]()
    dots = {"softmax": 0, "layer_norm": 0, "attention": 2, "attention_causal": 2}.get(kernel, 1)
    assert ops(text).count("tile.dot") == dots


def test_sizes_of_the_kernel_library():
    """The sources stay as short as the language makes them: code lines of the jitted functions."""
    def lines(*functions):
        return sum(len(function.source.text.strip().splitlines()) for function in functions)
    assert lines(gemm_kernel) <= 40
    assert lines(attention_kernel) <= 70
    assert lines(product, contiguous_kernel, masked_kernel) <= 50


@tl.jit
def reused(x, out, n):
    for i in tl.static_range(3):
        part = tl.load(x + tl.arange(0, 16)) * i
        tl.store(out + tl.arange(0, 16), part)
    total = 0.0
    for j in range(n):
        for i in range(n):
            total += i
        part = tl.load(x + tl.arange(0, 32))
        total += tl.sum(part, 0)
    tl.store(out, total)


def test_names_may_be_used_again():
    text = plain(tile(reused, {"x": "*f32", "out": "*f32", "n": "i32"}))
    assert re.findall(r"iter_args\(.*\) -> \((.*)\) : i32", text) == ["f32", "f32"]
