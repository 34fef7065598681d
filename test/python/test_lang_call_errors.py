"""Wrong schedules, signatures and declarations, and the error that a user sees."""

import re

import pytest

import tileloom as tl

VIEWS = {"a": ("bf16", 2), "b": ("bf16", 2)}


@tl.jit
def gemm(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.store([m, n], acc.to(c.dtype))


def compile_gemm(**more):
    return gemm.compile(signature={**VIEWS, "c": ("bf16", 2)}, BM=128, BN=256, BK=64, **more)


def test_unknown_schedule_field():
    with pytest.raises(tl.CompilationError, match=r"kernel 'gemm', schedule <depth = 3>: .*'depth'"):
        compile_gemm(schedule={"depth": 3})


def test_schedule_value():
    with pytest.raises(tl.CompilationError, match="field 'stages': expected an integer from 1 to 32, found 0"):
        compile_gemm(schedule={"stages": 0})


def test_too_much_shared_memory():
    """300 KB of buffers: the error quotes what is needed and what there is."""
    with pytest.raises(tl.CompilationError, match=r"shared memory") as caught:
        compile_gemm(schedule={"stages": 6})
    numbers = set(map(int, re.findall(r"\d{6,}", str(caught.value).splitlines()[0])))
    assert min(numbers) in (231424, 232448) and max(numbers) > 290000


def test_signature():
    with pytest.raises(tl.ArgumentError, match=r"argument 0 'a': signature '\*bf16'; needed"):
        gemm.compile(signature={**VIEWS, "a": "*bf16", "c": ("bf16", 2)}, BM=128, BN=256, BK=64)
    with pytest.raises(tl.TileloomError, match="element type 'bf17' is not known"):
        gemm.compile(signature={**VIEWS, "a": ("bf17", 2), "c": ("bf16", 2)}, BM=128, BN=256, BK=64)
    with pytest.raises(tl.ArgumentError, match=r"gemm\(\): argument 'c' is missing"):
        gemm.compile(signature=VIEWS, BM=128, BN=256, BK=64)
    with pytest.raises(tl.ArgumentError, match="the signature has 'd'; parameters are a, b, c"):
        gemm.compile(signature={**VIEWS, "d": "i32"})
    with pytest.raises(tl.CompilationError, match="unknown target 'sm_80'"):
        compile_gemm(target="sm_80")


def test_outside_of_a_kernel():
    with pytest.raises(Exception, match="work only inside a function with @tl.jit"):
        tl.arange(0, 16)


def test_decorator():
    with pytest.raises(tl.ArgumentError, match="parameter 'B' is tl.auto; needed the annotation tl.constexpr"):
        @tl.jit
        def wrong(x, B=tl.auto):
            pass
    with pytest.raises(tl.ArgumentError, match=r"parameter '\*args'; needed named parameters"):
        @tl.jit
        def variadic(*args):
            pass
    with pytest.raises(tl.ArgumentError, match="a parameter is called 'stream', which is an option of the launch"):
        @tl.jit
        def option(stream):
            pass


def test_box_that_no_copy_can_begin_at():
    @tl.jit
    def shifted(a: tl.view, out: tl.view, BM: tl.constexpr, BN: tl.constexpr):
        for m, n in tl.tiles((out.shape[0], BM), (out.shape[1], BN)):
            out.store([m, n], a.load([m, n + 4], [BM, BN]))

    with pytest.raises(tl.CompilationError, match=r"(?s)test_lang_call_errors\.py:\d+.*coordinate 1: found a multiple of 8 and 4, needed"):
        shifted.compile(signature={"a": ("bf16", 2), "out": ("bf16", 2)}, BM=64, BN=64)


@tl.jit
def rows_of_its_own(a: tl.view, order, out: tl.view):
    for m, in tl.tiles((out.shape[0], 64)):
        tl.store(order + m, m)
        row = tl.load(order + m)
        out.store([m, 0], a.load([row, 0], [64, 64]))


def test_read_of_what_another_role_writes():
    """The warps that load would read what those that compute write."""
    with pytest.raises(tl.CompilationError) as caught:
        rows_of_its_own.compile(signature={"a": ("f32", 2), "order": "*i32", "out": ("f32", 2)})
    text = str(caught.value)
    assert "in role 'load': expected memory that no other role writes, found 'tile.scatter' in role 'math'" in text
    assert "row = tl.load(order + m)" in text and "tl.store(order + m, m)" in text and "written here" in text
