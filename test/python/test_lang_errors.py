"""Wrong programs, and the error that a user sees: file, line, source text, caret, what was found and what was needed."""

import inspect
import re

import pytest

import tileloom as tl
from dsl import program

PLAIN = 3
VIEWS = {"a": ("bf16", 2), "b": ("bf16", 2)}
POINTERS = {"x": "*f32", "out": "*f32", "n": "i32"}


def refused(function, message, under, signature=POINTERS, **constants):
    """Checks that a program is refused with `message`, and that the caret is below the text `under` of the line shown."""
    with pytest.raises(tl.CompilationError) as caught:
        program(function, signature, **constants)
    check(str(caught.value), message, under)
    return caught.value


def check(text, message, under):
    lines = text.splitlines()
    assert re.match(r"\S*\.py:\d+:\d+: error: ", lines[0]), text
    assert message in lines[0], text
    assert lines[2].strip() == "^", text
    assert lines[1][lines[2].index("^"):].startswith(under), text
    line, column = map(int, re.match(r".*?:(\d+):(\d+): ", lines[0]).groups())
    assert open(__file__).read().splitlines()[line - 1][column - 1:].startswith(under)


@tl.jit
def dot_shapes(a: tl.view, b: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        x = tl.dot(a.load([m, 0], [64, 32]), b.load([m, 0], [64, 32]))


def test_dot_shapes():
    refused(dot_shapes, "tl.dot: the operands are bfloat16[64, 32] and bfloat16[64, 32]; needed as many columns of the first (32) as rows "
            "of the second (64)", "tl.dot(", VIEWS)


@tl.jit
def dot_types(a: tl.view, b: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        x = tl.dot(a.load([m, 0], [64, 32]), b.load([m, 0], [64, 32]).T)


def test_dot_types():
    refused(dot_types, "the operands are bfloat16[64, 32] and float16[32, 64]; needed one element type", "tl.dot(",
            {"a": ("bf16", 2), "b": ("f16", 2)})


@tl.jit
def dot_accumulator(a: tl.view, b: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        acc = tl.zeros((64, 32), tl.float32)
        acc = tl.dot(a.load([m, 0], [64, 32]), b.load([m, 0], [64, 32]).T, acc)


def test_dot_accumulator():
    refused(dot_accumulator, "the accumulator is float32[64, 32]; needed float32[64, 64]", "tl.dot(", VIEWS)


@tl.jit
def dot_rank(x, out, n):
    v = tl.load(x + tl.arange(0, 32))
    tl.store(out, tl.dot(v, v))


def test_dot_rank():
    refused(dot_rank, "tl.dot: the first operand is float32[32]; needed two dimensions", "tl.dot(")


@tl.jit
def unknown_name(x, out, n):
    tl.store(out, tl.load(x + offset))


def test_unknown_name():
    refused(unknown_name, "name 'offset' is not defined", "offset")


@tl.jit
def unknown_function(x, out, n):
    tl.store(out, tl.sinh(tl.load(x)))


def test_unknown_function():
    refused(unknown_function, "module 'tileloom' has no 'sinh'", "tl.sinh")


@tl.jit
def plain_global(x, out, n):
    tl.store(out, PLAIN)


def test_plain_global():
    refused(plain_global, "global 'PLAIN' is 3, which may change between compilations; needed tl.constexpr: PLAIN = tl.constexpr(3)", "PLAIN")


@tl.jit
def run_time_shape(x, out, n):
    tl.store(out + tl.arange(0, n), 1.0)


def test_run_time_shape():
    refused(run_time_shape, "tl.arange: end is int32, a run-time value; needed a compile-time constant (a tl.constexpr parameter)", "tl.arange(")


@tl.jit
def odd_range(x, out, n):
    tl.store(out + tl.arange(0, 100), 1.0)


def test_odd_arange():
    refused(odd_range, "tl.arange(0, 100) has 100 elements; needed a power of two, or a multiple of 8", "tl.arange(")


@tl.jit
def unequal_shapes(x, out, n):
    a = tl.load(x + tl.arange(0, 32)) + tl.load(x + tl.arange(0, 64))


def test_unequal_shapes():
    refused(unequal_shapes, "operands have shapes [32] and [64]; needed equal extents, or 1, in dimension 0", "tl.load(")


@tl.jit
def changed_type(x, out, n):
    acc = tl.zeros((32,), tl.float16)
    for i in range(n):
        acc = acc + tl.load(x + tl.arange(0, 32))
    tl.store(out + tl.arange(0, 32), acc)


def test_loop_changes_a_type():
    refused(changed_type, "variable 'acc' is float16[32] before the loop but float32[32] after an iteration; needed one type and shape: "
            "convert with .to(tl.float16)", "for i")


@tl.jit
def changed_shape(x, out, n):
    acc = 0.0
    for i in range(n):
        acc += tl.load(x + tl.arange(0, 32))
    tl.store(out + tl.arange(0, 32), acc)


def test_loop_changes_a_shape():
    refused(changed_shape, "variable 'acc' is float32 before the loop but float32[32] after an iteration; needed one type and shape: start "
            "from tl.zeros([32], tl.float32)", "for i")


@tl.jit
def one_branch(x, out, n):
    if n > 3:
        value = 1.0
    tl.store(out, value)


def test_value_of_one_branch():
    refused(one_branch, "'value' has no value here: it is assigned in only one branch of an if", "value)")


@tl.jit
def of_the_loop(x, out, n):
    for i in range(n):
        value = i * 2
    tl.store(out, value)


def test_value_of_a_loop_body():
    refused(of_the_loop, "'value' has no value here: it was assigned in a loop, whose body may not have run", "value)")


@tl.jit
def early_return(x, out, n):
    if n > 3:
        return
    tl.store(out, 1.0)


def test_early_return():
    refused(early_return, "return inside a run-time if or a loop; needed one at the end of the function", "return")


@tl.jit
def with_break(x, out, n):
    for i in range(n):
        break


def test_break():
    refused(with_break, "the language has no break: put the condition into a while loop", "break")


@tl.jit
def with_comprehension(x, out, n):
    values = [i for i in range(3)]


def test_comprehension():
    refused(with_comprehension, "the language has no comprehensions: use tl.static_range", "[i for")


@tl.jit
def with_text(x, out, n):
    name = f"{n}"


def test_f_string():
    refused(with_text, "the language has no f-strings", 'f"')


@tl.jit
def with_function(x, out, n):
    def inner():
        pass


def test_nested_function():
    refused(with_function, "the language has no nested functions: define it at the module's level, with @tl.jit", "def inner")


@tl.jit
def with_try(x, out, n):
    try:
        tl.store(out, 1.0)
    except ValueError:
        pass


def test_try():
    refused(with_try, "the language has no try", "try:")


def ordinary(x):
    return x


@tl.jit
def calls_python(x, out, n):
    tl.store(out, ordinary(1.0))


def test_ordinary_function():
    refused(calls_python, "'ordinary' is an ordinary Python function; needed one with @tl.jit", "ordinary(")


@tl.jit
def item_assignment(x, out, n):
    v = tl.zeros((32,), tl.float32)
    v[0] = 1.0


def test_item_assignment():
    refused(item_assignment, "assignment to something else than a name; tiles are values", "v[0]")


@tl.jit
def store_to_number(x, out, n):
    tl.store(n, 1.0)


def test_store_to_a_number():
    refused(store_to_number, "tl.store: the pointer is int32; needed a pointer", "tl.store(")


@tl.jit
def float_offset(x, out, n):
    tl.store(out + 0.5, 1.0)


def test_float_offset():
    refused(float_offset, "pointer<float32> offset by 0.5; needed an integer", "out + 0.5")


@tl.jit
def wide_mask(x, out, n):
    v = tl.load(x + tl.arange(0, 32), tl.arange(0, 64) < n)


def test_mask_shape():
    refused(wide_mask, "tl.load: mask is int1[64]; needed a shape that broadcasts to the pointer's [32]", "tl.load(")


@tl.jit
def ambiguous_box(a: tl.view, b: tl.view):
    for i, j in tl.tiles(a.shape[0], a.shape[1]):
        x = a.load([i, j, 0], [16, 32])


def test_ambiguous_box():
    refused(ambiguous_box, "a.load: which dimensions the box [16, 32] covers is not clear: the last, and 1 of those whose coordinates are "
            "tile offsets, of which there are 0 (none); needed a box of all 3 extents", "a.load(", {"a": ("bf16", 3), "b": ("bf16", 2)})


@tl.jit
def few_coordinates(a: tl.view, b: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        x = a.load([m], [64])


def test_coordinates():
    refused(few_coordinates, "a.load: 1 coordinates for the bfloat16 view 'a' of rank 2; needed 2", "a.load(", VIEWS)


@tl.jit
def store_type(a: tl.view, b: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        b.store([m, 0], tl.zeros((64, 32), tl.float32))


def test_type_of_a_store():
    refused(store_type, "b.store: the value is float32[64, 32], the view has bfloat16; needed equal types: convert with .to(b.dtype)",
            "b.store(", VIEWS)


@tl.jit
def unknown_extent(a: tl.view, b: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        x = a.load([m, 0], [64, a.shape[1]])


def test_extent_that_is_not_known():
    refused(unknown_extent, "extent 1 of the view 'a' is needed at compile time, as it is the extent of a tile; needed: its value in the "
            "signature", "a.load(", VIEWS)


@tl.jit
def across_tiles(a: tl.view, b: tl.view):
    total = 0
    for m, in tl.tiles((a.shape[0], 64)):
        total += m


def test_nothing_passes_between_tiles():
    refused(across_tiles, "variable 'total' is defined before tl.tiles and assigned in its body; tiles run at the same time", "for m", VIEWS)


@tl.jit
def inner_tiles(a: tl.view, b: tl.view):
    for i in range(a.shape[0]):
        for m, in tl.tiles((a.shape[0], 64)):
            pass


def test_tiles_inside_a_loop():
    refused(inner_tiles, "tl.tiles inside a loop or branch; needed at the top of the kernel", "for m", VIEWS)


@tl.jit
def truth_of_a_tile(x, out, n):
    if tl.load(x + tl.arange(0, 32)) > 0:
        tl.store(out, 1.0)


def test_truth_of_a_tile():
    refused(truth_of_a_tile, "the condition of if is int1[32]; needed a scalar: use tl.where", "tl.load(")


@tl.jit
def failed_assertion(x, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK % 2 == 0, f"BLOCK is {BLOCK}")


def test_static_assertion():
    refused(failed_assertion, "assertion failed: BLOCK is 3", "tl.static_assert", BLOCK=3)


@tl.jit
def helper(value, shape: tl.constexpr):
    return tl.reshape(value, shape)


@tl.jit
def wrong_inside(x, out, n):
    tl.store(out + tl.arange(0, 32), helper(tl.load(x + tl.arange(0, 32)), (5, 7)))


def test_error_in_an_inlined_function():
    error = refused(wrong_inside, "tl.reshape: float32[32] has 32 elements, [5, 7] has 35; needed equal numbers", "tl.reshape(")
    assert "note: called from here" in str(error) and "helper(tl.load" in str(error)


@tl.jit
def missing_argument(x, out, n):
    tl.store(out, helper(tl.load(x)))


def test_missing_argument():
    refused(missing_argument, "helper(): argument 'shape' is missing", "helper(")


@tl.jit
def unknown_keyword(x, out, n):
    tl.store(out, tl.load(x, masks=True))


def test_unknown_keyword():
    refused(unknown_keyword, "load() got an unexpected keyword argument 'masks'", "tl.load(")


@tl.jit
def print_in_kernel(x, out, n):
    tl.device_print("x", n)


def test_device_print():
    refused(print_in_kernel, "tl.device_print is not supported", "tl.device_print(")


@tl.jit
def forever(x, out, n):
    while True:
        tl.store(out, 1.0)


def test_loop_without_end():
    refused(forever, "the condition of while is True at compile time", "True")


@tl.jit
def endless_calls(x):
    return endless_calls(x)


@tl.jit
def recursive(x, out, n):
    tl.store(out, endless_calls(n))


def test_recursion():
    with pytest.raises(tl.CompilationError, match="more than 64 nested calls at 'endless_calls'"):
        program(recursive, POINTERS)


@tl.jit
def device_descriptor(x, out, n):
    d = tl.make_tensor_descriptor(x, [tl.load(out).to(tl.int32), 64], [64, 1], [32, 32])


def test_descriptor_of_device_values():
    refused(device_descriptor, "tl.make_tensor_descriptor: extent 0 does not follow from the kernel's arguments alone", "tl.make_tensor_descriptor(")


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
    with pytest.raises(tl.CompilationError, match=r"(?s)\.mlir:\d+:\d+: error: schedule: .*'depth'"):
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


def test_there_are_thirty():
    module = inspect.getmodule(test_there_are_thirty)
    assert sum(name.startswith("test_") for name in vars(module)) >= 30
