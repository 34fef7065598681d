"""What expressions of the language become: types, promotion, broadcasting, pointers, views. Every program is parsed and verified."""

import re

import pytest

import tileloom as tl
from dsl import ops, plain, tile


@tl.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def test_element_wise_kernel():
    text = plain(tile(add, {"x": "*f32:16", "y": "*f32", "out": "*f32", "n": "i32:16"}, BLOCK=256))
    assert re.search(r'func.func @add\(%x: i64 \{tile.name = "x", tile.pointer = f32, tile.divisibility = 16 : i32\}, '
                     r'%y: i64 \{tile.name = "y", tile.pointer = f32\}, .*%n: i32 \{tile.name = "n", tile.divisibility = 16 : i32\}\)', text)
    assert "attributes {tile.kernel} {" in text
    assert [op for op in ops(text) if op.startswith("tile.")].count("tile.gather") == 2
    assert "arith.addf" in text and "fastmath<contract> : tensor<256xf32>" in text
    assert re.search(r"tile.gather %x\[%\d+\] mask\(%\d+ : tensor<256xi1>\) : tensor<256xi32> -> tensor<256xf32>", text), "offsets stay 32-bit"


def test_schedule_attribute():
    text = tile(add, {"x": "*f32", "y": "*f32", "out": "*f32", "n": "i32"}, schedule={"warps": 8, "specialize": "off"}, BLOCK=256)
    assert '#tile.schedule<warps = 8, specialize = "off">' in text


def test_every_operation_has_a_place():
    text = tile(add, {"x": "*f32", "y": "*f32", "out": "*f32", "n": "i32"}, BLOCK=256)
    body = [line for line in text.splitlines() if " = " in line or line.strip().startswith("tile.")]
    assert body and all(re.search(r'loc\("[^"]*test_lang_ops.py":\d+:\d+\)\)?$', line) or "attributes" in line or "func.func" in line
                        for line in body)
    line = next(line for line in body if "tile.program_id" in line)
    number, column = map(int, re.search(r':(\d+):(\d+)\)$', line).groups())
    source = open(__file__).read().splitlines()[number - 1]
    assert source[column - 1:].startswith("tl.program_id(0)")


@tl.jit
def promote(x, h, b, i, out):
    at = tl.arange(0, 16)
    f, half, brain, number = tl.load(x + at), tl.load(h + at), tl.load(b + at), tl.load(i + at)
    tl.static_assert((f + half).dtype == tl.float32)
    tl.static_assert((half + brain).dtype == tl.float16)
    tl.static_assert((half + 1).dtype == tl.float16)
    tl.static_assert((half * 2.5).dtype == tl.float16)
    tl.static_assert((brain / 2).dtype == tl.float32)
    tl.static_assert((brain / brain).dtype == tl.float32)
    tl.static_assert((number + 1).dtype == tl.int8)
    tl.static_assert((number + 1.5).dtype == tl.float32)
    tl.static_assert((number / number).dtype == tl.float32)
    tl.static_assert((number * at).dtype == tl.int32)
    tl.static_assert((at < 3).dtype == tl.int1)
    tl.static_assert(((at < 3) + 1).dtype == tl.int32)
    tl.static_assert((at.to(tl.uint32) + at).dtype == tl.uint32)
    tl.static_assert((at.to(tl.int64) + at).dtype == tl.int64)
    tl.static_assert(tl.sum(number, 0).dtype == tl.int32)
    tl.static_assert(tl.max(half, 0).dtype == tl.float32)
    tl.store(out + at, f + half + number)


def test_promotion():
    text = tile(promote, {"x": "*f32", "h": "*f16", "b": "*bf16", "i": "*i8", "out": "*f32"})
    assert "arith.extf" in text and "arith.sitofp" in text


@tl.jit
def division(out, n):
    at = tl.arange(0, 32)
    unsigned = at.to(tl.uint32)
    tl.store(out + at, at // 3 + at % 3 + (unsigned // 5).to(tl.int32) + (unsigned >> 1).to(tl.int32) + (at >> 1) - n)


def test_integer_division_and_signs():
    names = ops(tile(division, {"out": "*i32", "n": "i32"}))
    for op in ("arith.divsi", "arith.remsi", "arith.divui", "arith.shrui", "arith.shrsi"):
        assert op in names


@tl.jit
def shapes(x, out):
    rows, columns = tl.arange(0, 16), tl.arange(0, 32)
    tile_ = tl.load(x + rows[:, None] * 32 + columns[None, :])
    tl.static_assert(tile_.shape == (16, 32))
    tl.static_assert(tile_.T.shape == (32, 16))
    tl.static_assert(tile_.reshape(8, 64).shape == (8, 64))
    tl.static_assert(tl.sum(tile_, 1).shape == (16,))
    tl.static_assert(tl.sum(tile_, 1, keep_dims=True).shape == (16, 1))
    tl.static_assert(tl.sum(tile_).shape == ())
    tl.static_assert(tl.expand_dims(rows, 0).shape == (1, 16))
    tl.static_assert(tl.trans(tl.expand_dims(tile_, 1), 2, 1, 0).shape == (32, 1, 16))
    tl.static_assert((tile_ + columns).shape == (16, 32))
    best, place = tl.max(tile_, 1, return_indices=True)
    tl.store(out + rows, best + place + tl.argmin(tile_, 1) + tl.cumsum(tl.sum(tile_.T, 0), 0) + tl.sum(tile_))


def test_shapes():
    names = ops(tile(shapes, {"x": "*f32", "out": "*f32"}))
    for op in ("tile.trans", "tile.reshape", "tile.reduce", "tile.expand_dims", "tile.broadcast", "tile.scan", "tile.iota"):
        assert op in names


@tl.jit
def pointers(x, out, stride, n):
    rows, columns = tl.arange(0, 16), tl.arange(0, 32)
    p = x + tl.program_id(0) * stride  # uniform: an addition to the base
    small = p + rows[:, None] * 32 + columns[None, :]
    value = tl.load(small)
    wide = p + rows[:, None] * stride + columns[None, :]
    value += tl.load(wide)
    tl.store(out + tl.program_id(0), tl.sum(tl.sum(value, 1), 0))


def test_offsets_are_wide_only_where_they_must_be():
    text = plain(tile(pointers, {"x": "*f32", "out": "*f32", "stride": "i32", "n": "i32"}))
    gathers = re.findall(r"tile.gather .* : (tensor<[^>]*>) -> ", text)
    assert gathers == ["tensor<16x32xi32>", "tensor<16x32xi64>"]
    assert "arith.addi %x, " in text and re.search(r"tile.scatter %\d+ to %out\[%\d+\] : f32, i64", text), "scalar access"


@tl.jit
def pointer_loop(x, out, n):
    at = tl.arange(0, 64)
    p = x + at
    total = tl.zeros((64,), tl.float32)
    for _ in range(n):
        total += tl.load(p)
        p += 64
    tl.store(out + at, total)


def test_pointer_in_a_loop_carries_its_uniform_part():
    text = plain(tile(pointer_loop, {"x": "*f32", "out": "*f32", "n": "i32"}))
    assert re.search(r"iter_args\(.*?\) -> \((i64, tensor<64xf32>|tensor<64xf32>, i64)\) : i32", text)


@tl.jit
def views(q: tl.view, o: tl.view, H: tl.constexpr):
    B, S = q.shape[0], q.shape[1]
    for b, h, m in tl.tiles(B, H, (S, 64)):
        x = q.load([b, m, h // 2, 0], [64, q.shape[3]])
        first = q.load([b, m, h, 0], [1, 32, 1, 128]).reshape(32, 128)
        o.store([b, m, h, 0], x)
        o.store([b, m, h, 64], first.reshape(1, 32, 1, 128))


def test_views():
    text = plain(tile(views, {"q": ("bf16", (None, None, None, 128)), "o": ("bf16", 4)}, H=4))
    assert re.search(r'%q: !tile.desc<1x64x1x128xbf16> \{tile.name = "q"\}, %q.shape0: i32 \{tile.name = "q.shape\[0\]"\}', text)
    assert "tile.rebox %q : !tile.desc<1x64x1x128xbf16> -> !tile.desc<1x32x1x128xbf16>" in text
    assert "-> tensor<64x128xbf16>" in text and "-> tensor<32x128xbf16>" in text
    assert "tile.reshape" not in text, "reshapes that only add unit dimensions leave nothing behind"
    assert re.search(r"tile.for_each_tile \(%\d+, %\d+, %\d+\) in \(%q.shape0, %\d+, %\d+\)", text)


@tl.jit
def unused(a: tl.view, b: tl.view, x, out, n):
    for m, in tl.tiles((a.shape[0], 64)):
        kept, dropped = a.load([m, 0], [64, 64]), b.load([m, 0], [64, 64]) * n
        old = tl.atomic_add(out, 1.0)
        also = tl.load(x + tl.arange(0, 64))
        a.store([m, 0], kept)


def test_what_nobody_reads_is_left_out():
    text = plain(tile(unused, {"a": ("f32", 2), "b": ("f32", 2), "x": "*f32", "out": "*f32", "n": "i32"}))
    assert re.search(r"func.func @unused\(%a: .*, %a.shape0: .*, %out: [^%]*\)", text), "neither b, x nor n"
    assert "tile.atomic" in text and "tile.gather" not in text and text.count("tile.load") == 1


@tl.jit
def strides(a: tl.view, out):
    tl.store(out + tl.program_id(0), tl.load(a.ptr + tl.program_id(0) * a.stride(0)).to(tl.float32) + a.shape[1])


def test_strides_and_address_of_a_view():
    text = plain(tile(strides, {"a": ("f16", 2), "out": "*f32"}))
    assert re.search(r'%a.ptr: i64 \{tile.name = "a.ptr", tile.pointer = f16\}', text)
    assert '%a.stride0: i64 {tile.name = "a.stride[0]"}' in text and "!tile.desc" not in text


@tl.jit
def descriptor(a, b, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(a, [M, N], [stride, 1], [BM, BN])
    target = tl.make_tensor_descriptor(b + M * 4, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([m, n], source.load([m, n]))


def test_tensor_descriptor():
    from dsl import program
    signature = {"a": "*f16:16", "b": "*f16:16", "M": "i32", "N": "i32", "stride": "i32:16"}
    text = plain(tile(descriptor, signature, BM=64, BN=32))
    assert text.count("!tile.desc<64x32xf16> {") == 2 and "%M" not in text, "extents are the host's alone"
    bindings = program(descriptor, signature, BM=64, BN=32).bindings
    scalar = [("argument", ("scalar", name)) for name in ("M", "N", "stride")]
    assert bindings[0][:5] == ("descriptor", ("pointer", "a"), 0, (scalar[0], scalar[1]), (scalar[2], 1))
    assert len(bindings) == 2 and bindings[1][2] == ("mul", scalar[0], 4)


@tl.jit
def functions(x, out):
    at = tl.arange(0, 128)
    v = tl.load(x + at)
    v = tl.exp(v) + tl.exp2(v) + tl.log(v) + tl.log2(v) + tl.sqrt(v) + tl.rsqrt(v) + tl.abs(v) + tl.sigmoid(v) + tl.tanh(v)
    v = tl.maximum(tl.minimum(v, 3.0), tl.full((128,), -1.0)) + tl.where(at < 5, v, 0.0) + tl.fma(v, v, 1.0) + tl.clamp(v, 0.0, 1.0)
    v = tl.softmax(v, 0) + tl.floor(v) + tl.erf(v) + -v + tl.cdiv(at, 3) + max(v, 0.5) + abs(v)
    tl.atomic_add(out + at, v, at < 100)
    tl.atomic_max(out + 3, tl.max(v, 0))


def test_functions():
    names = ops(tile(functions, {"x": "*f32", "out": "*f32"}))
    for op in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "absf", "tanh", "fma", "floor", "erf"):
        assert f"math.{op}" in names
    for op in ("arith.maxnumf", "arith.minnumf", "arith.select", "arith.negf", "tile.atomic", "tile.splat"):
        assert op in names


@tl.jit
def casts(x, out):
    at = tl.arange(0, 64)
    v = tl.load(x + at)
    a = v.to(tl.bfloat16).to(tl.float16).to(tl.float8e4nv).to(tl.float32) + v.to(tl.int32).to(tl.int8).to(tl.uint8).to(tl.float32)
    b = v.to(tl.int32, bitcast=True) + (v != 0).to(tl.int32) + tl.cast(v, tl.int1)
    tl.store(out + at, a + b)


def test_casts():
    names = ops(tile(casts, {"x": "*f32", "out": "*f32"}))
    for op in ("truncf", "extf", "fptosi", "trunci", "uitofp", "bitcast", "extui", "cmpf"):
        assert f"arith.{op}" in names


@tl.jit
def bools(flags, out, n):
    at = tl.arange(0, 32)
    keep = tl.load(flags + at, at < n, other=False)
    tl.store(out + at, keep & (at > 2) | ~keep)


def test_bools_are_bytes_in_memory():
    text = plain(tile(bools, {"flags": "*i1", "out": "*i1", "n": "i32"}))
    assert "tile.pointer = i8" in text and "-> tensor<32xi8>" in text and re.search(r"tile.scatter .* : tensor<32xi8>", text)


@tl.jit
def sums_of_products(a: tl.view, b: tl.view, c: tl.view):
    for m, in tl.tiles((a.shape[0], 64)):
        acc = tl.zeros((64, 64), tl.float32)
        x, y = a.load([m, 0], [64, 64]), b.load([0, 0], [64, 64])
        acc += tl.dot(x, y)
        acc = tl.dot(y, x) + acc
        p = tl.dot(x, x)
        acc = acc + p + p
        c.store([m, 0], acc)


def test_sums_of_products_are_accumulated():
    text = plain(tile(sums_of_products, {"a": ("bf16", 2), "b": ("bf16", 2), "c": ("f32", 2)}))
    assert text.count(" acc(") == 2 and text.count("arith.addf") == 2, "a product that has a name may have other uses"
    assert text.count("tile.dot") == 3


@tl.jit
def products(a: tl.view, b: tl.view, c: tl.view, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    (M, K), N = a.shape, b.shape[0]
    for m, n in tl.tiles((M, BM), (N, BN)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK, num_stages=3):
            acc = tl.dot(a.load([m, k], [BM, BK]), b.load([n, k], [BN, BK]).T, acc)
        c.store([m, n], acc.to(c.dtype))


@pytest.mark.parametrize("element, shape", [("bf16", (128, 256, 64)), ("f16", (64, 192, 32)), ("f32", (64, 64, 32)), ("e4m3", (128, 128, 128))])
def test_gemm(element, shape):
    BM, BN, BK = shape
    mlir = tl.dtype and {"e4m3": "f8E4M3FN"}.get(element, element)
    text = plain(tile(products, {"a": (element, 2), "b": (element, 2), "c": ("f32", 2)}, BM=BM, BN=BN, BK=BK))
    assert f"tile.dot" in text and f": tensor<{BM}x{BK}x{mlir}>, tensor<{BK}x{BN}x{mlir}> -> tensor<{BM}x{BN}xf32>" in text
    assert "} {tile.num_stages = 3 : i32}" in text
    assert ops(text)[-3:] == ["tile.dot", "scf.yield", "tile.store"]
