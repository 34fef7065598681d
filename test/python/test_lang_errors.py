"""Wrong programs, and the error that a user sees: file, line, source text, caret, what was found and what was needed."""

import tileloom as tl
from dsl import refused

PLAIN = 3
VIEWS = {"a": ("bf16", 2), "b": ("bf16", 2)}


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
def device_descriptor(x, out, n):
    d = tl.make_tensor_descriptor(x, [tl.load(out).to(tl.int32), 64], [64, 1], [32, 32])


def test_descriptor_of_device_values():
    refused(device_descriptor, "tl.make_tensor_descriptor: extent 0 does not follow from the kernel's arguments alone", "tl.make_tensor_descriptor(")


@tl.jit
def long_range(x, out, n):
    at = tl.arange(0, 1 << 27)
    tl.store(out + at, tl.load(x + at))


def test_too_many_elements():
    refused(long_range, "a tile of shape [134217728] has 134217728 elements; needed at most 1048576", "tl.arange(")


@tl.jit
def wide_sum(x, out, n):
    at = tl.arange(0, 2048)
    tl.store(out, tl.sum(tl.load(x + at)[:, None] + tl.load(x + at)[None, :]))


def test_too_many_elements_by_broadcasting():
    refused(wide_sum, "a tile of shape [2048, 2048] has 4194304 elements; needed at most 1048576", "tl.load(x + at)[:, None] +")
