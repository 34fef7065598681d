"""Small kernels of one role, made here, for each operation on register tiles: reductions of every kind, type, dimension and number of warps, scans, layout
conversions, element-wise functions, products of a warp, copies. Runs them in the simulator and compares with NumPy in fp64.

    python test/programs/warp/simulate_tiles.py --opt build/bin/kernel-opt --sim build/bin/kernel-sim [NAME ...]

Exit status 1 if one is wrong or the simulator finds something.
"""

import argparse
import sys

import numpy as np

from simulate_tcgen05 import to_bf16
from tile_kernel import DTYPES, MLIR, Kernel, decode, run


def values(rng, shape, element):
    if element == "bf16":
        return to_bf16(rng.standard_normal(shape, np.float32))
    if element in ("f32", "f16"):
        return rng.standard_normal(shape).astype(DTYPES[element])
    if element == "e4m3":
        return (rng.integers(0, 2, shape) << 7 | rng.integers(0x20, 0x48, shape)).astype(np.uint8)
    return rng.integers(-100 if element == "i8" else -1000, 100 if element == "i8" else 1000, shape).astype(DTYPES[element])


def reductions(shape, element, warps, kinds=("add", "max", "min")):
    def make(rng):
        k = Kernel(warps)
        x = values(rng, shape, element)
        t = k.load("x", x, element)
        exact = decode(x, element).astype(np.float64 if element[0] != "i" else np.int64)
        for kind in kinds:
            for dim in range(len(shape)):
                rest = shape[:dim] + shape[dim + 1:]
                result = k.type(rest, element) if rest else element
                r = k.emit(f"nv.reduce {kind} {t} dim({dim}) : {k.type(shape, element)} -> {result}")
                expected = {"add": np.add, "max": np.maximum, "min": np.minimum}[kind].reduce(exact, axis=dim)
                if element in ("i8", "i16"):
                    expected = expected.astype(DTYPES[element])
                tolerance = 0 if element[0] == "i" or kind != "add" else 1e-2 if element in ("bf16", "f16") else 1e-5
                if rest:
                    k.store(r, rest, element, expected, tolerance)
                else:
                    k.store_scalar(r, element, expected, tolerance)
        return k
    return make


def in_loop(rng):
    """A reduction across warps in a loop, whose scratch is used again at once."""
    k = Kernel(4)
    x = values(rng, (8, 512), "f32")
    pointer = k.pointer("x", "f32", x)
    for name, value in ("c0", 0), ("c1", 1), ("c8", 8), ("c512", 512):
        k.lines.append(f"%{name} = arith.constant {value} : i32")
    k.lines.append("%zero = arith.constant 0.0 : f32")
    at = k.offsets((512,))
    k.lines += [
        "%sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) : i32 {",
        "  %row = arith.muli %i, %c512 : i32", "  %rows = nv.splat %row : i32 -> tensor<512xi32>",
        f"  %at = arith.addi %rows, {at} overflow<nsw> : tensor<512xi32>",
        f"  %t = nv.global_load {pointer}[%at] : tensor<512xi32> -> tensor<512xf32>",
        "  %m = nv.reduce max %t dim(0) : tensor<512xf32> -> f32", "  %n = arith.addf %s, %m : f32", "  scf.yield %n : f32", "}"]
    k.store_scalar("%sum", "f32", x.astype(np.float64).max(1).sum(), 1e-6)
    return k


def scans(shape, element, warps):
    def make(rng):
        k = Kernel(warps)
        x = values(rng, shape, element)
        t = k.load("x", x, element)
        exact = x.astype(np.float64 if element == "f32" else np.int64)
        for kind, function in ("add", np.cumsum), ("max", np.maximum.accumulate):
            for dim in range(len(shape)):
                for reverse in (False, True):
                    r = k.emit(f"nv.scan {kind} {t} dim({dim}) {'reverse ' if reverse else ''}: {k.type(shape, element)}")
                    expected = np.flip(function(np.flip(exact, dim), axis=dim), dim) if reverse else function(exact, axis=dim)
                    k.store(r, shape, element, expected, 1e-5 if element == "f32" and kind == "add" else 0)
        return k
    return make


def transposes(shape, element, warps):
    """Loaded by rows, stored by columns and the other way round; nv.trans; nv.reshape; a broadcast of what was reduced."""
    def make(rng):
        k = Kernel(warps)
        x = values(rng, shape, element)
        m, n = shape
        t = k.load("x", x, element)
        x = decode(x, element)
        k.store(t, shape, element, x.T.copy(), strides=(1, m))
        flipped = k.type((n, m), element)
        u = k.emit(f"nv.trans {t} [1, 0] : {k.type(shape, element)} -> {flipped}")
        k.store(u, (n, m), element, x.T.copy())
        v = k.emit(f"nv.reshape {t} : {k.type(shape, element)} -> {k.type((m * n,), element)}")
        k.store(v, (m * n,), element, x.reshape(-1))
        w = k.emit(f"nv.reshape {t} : {k.type(shape, element)} -> {k.type((m // 2, 2 * n), element)}")
        k.store(w, (m // 2, 2 * n), element, x.reshape(m // 2, 2 * n))
        return k
    return make


def centred(rng):
    """x less its column means: a reduction across warps, made a tile again by a broadcast."""
    k = Kernel(8)
    x = values(rng, (64, 32), "f32")
    t = k.load("x", x, "f32")
    s = k.emit(f"nv.reduce add {t} dim(0) : tensor<64x32xf32> -> tensor<32xf32>")
    c = k.emit("arith.constant dense<0.015625> : tensor<32xf32>")
    mean = k.emit(f"arith.mulf {s}, {c} : tensor<32xf32>")
    b = k.emit(f"nv.broadcast {mean} dim(0) : tensor<32xf32> -> tensor<64x32xf32>")
    r = k.emit(f"arith.subf {t}, {b} : tensor<64x32xf32>")
    exact = x.astype(np.float64)
    k.store(r, (64, 32), "f32", exact - exact.mean(0), 1e-5)
    return k


def functions(element):
    def make(rng):
        k = Kernel(4)
        x = values(rng, (256,), element)
        t = k.load("x", x, element)
        v = decode(x, element).astype(np.float64)
        ty = k.type((256,), element)
        tolerance = 4e-6 if element == "f32" else 8e-3
        positive = k.emit(f"math.absf {t} : {ty}")
        from math import erf
        for name, source, expected in [
                ("exp", t, np.exp(v)), ("exp2", t, np.exp2(v)), ("log", positive, np.log(np.abs(v))), ("log2", positive, np.log2(np.abs(v))),
                ("sqrt", positive, np.sqrt(np.abs(v))), ("rsqrt", positive, 1 / np.sqrt(np.abs(v))), ("sin", t, np.sin(v)),
                ("cos", t, np.cos(v)), ("tanh", t, np.tanh(v)), ("erf", t, np.vectorize(erf)(v)), ("floor", t, np.floor(v)),
                ("ceil", t, np.ceil(v)), ("absf", t, np.abs(v)), ("log1p", positive, np.log1p(np.abs(v)))]:
            r = k.emit(f"math.{name} {source} : {ty}")
            k.store(r, (256,), element, expected, tolerance)
        for flags in ("", " fastmath<arcp>", " fastmath<afn>"):
            r = k.emit(f"arith.divf {t}, {positive}{flags} : {ty}")
            k.store(r, (256,), element, np.sign(v), tolerance)
        return k
    return make


def conversions(rng):
    k = Kernel(4)
    x = (rng.standard_normal(512) * 4).astype(np.float32)
    t = k.load("x", x, "f32")
    i = k.emit(f"arith.fptosi {t} : tensor<512xf32> to tensor<512xi32>")
    k.store(i, (512,), "i32", np.trunc(x))
    b = k.emit(f"arith.trunci {i} : tensor<512xi32> to tensor<512xi8>")
    k.store(b, (512,), "i8", np.trunc(x))
    w = k.emit(f"arith.extsi {b} : tensor<512xi8> to tensor<512xi64>")
    k.store(w, (512,), "i64", np.trunc(x))
    f = k.emit(f"arith.sitofp {w} : tensor<512xi64> to tensor<512xf32>")
    k.store(f, (512,), "f32", np.trunc(x))
    h = k.emit(f"arith.truncf {t} : tensor<512xf32> to tensor<512xf16>")
    k.store(h, (512,), "f16", x.astype(np.float16))
    q = k.emit(f"arith.truncf {t} : tensor<512xf32> to tensor<512xf8E4M3FN>")
    k.store(q, (512,), "e4m3", x, 0.07)
    z = k.emit(f"arith.extf {q} : tensor<512xf8E4M3FN> to tensor<512xbf16>")
    k.store(z, (512,), "bf16", x, 0.07)
    p = k.emit("arith.constant dense<0.0> : tensor<512xf32>")
    m = k.emit(f"arith.cmpf ogt, {t}, {p} : tensor<512xf32>")
    e = k.emit(f"arith.extui {m} : tensor<512xi1> to tensor<512xi8>")
    k.store(e, (512,), "i8", x > 0)
    s = k.emit(f"arith.select {m}, {t}, {p} : tensor<512xi1>, tensor<512xf32>")
    k.store(s, (512,), "f32", np.maximum(x, 0))
    return k


def atomics(element, kinds):
    def make(rng):
        k = Kernel(4)
        x = values(rng, (1024,), element)
        t = k.load("x", x, element)
        for kind in kinds:
            # Element i goes to place i mod 256.
            name = f"out{len(k.outputs)}"
            pointer = k.pointer(name, element, np.zeros(256, DTYPES[element]))
            index = k.emit("nv.index dim(0) : tensor<1024xi32>")
            c = k.emit("arith.constant dense<256> : tensor<1024xi32>")
            at = k.emit(f"arith.remui {index}, {c} : tensor<1024xi32>")
            k.lines.append(f"nv.global_reduce {kind} {t} to {pointer}[{at}] : {k.type((1024,), element)}, tensor<1024xi32>")
            parts = decode(x, element).reshape(4, 256).astype(np.float64 if element[0] != "i" else np.int64)
            expected = {"add": np.sum(parts, 0), "max": np.maximum(parts.max(0), 0), "min": np.minimum(parts.min(0), 0)}[kind]
            k.outputs.append((name, element, expected, 2e-2 if element in ("bf16", "f16") else 1e-5 if element == "f32" else 0))
        return k
    return make


def product(m, n, kk, element, warps, sums=None):
    def make(rng):
        k = Kernel(warps)
        a, b = values(rng, (m, kk), element), values(rng, (n, kk), element)
        at = k.load("a", a, element)
        bt = k.load("b", b, element, shape=(kk, n), strides=(1, kk))
        acc = sums or ("i32" if element == "i8" else "f32")
        zero = k.emit(f"arith.constant dense<{0 if acc == 'i32' else 0.0}> : {k.type((m, n), acc)}")
        d = k.emit(f"nv.mma {at}, {bt}, {zero} : {k.type((m, kk), element)}, {k.type((kk, n), element)}, {k.type((m, n), acc)}")
        x, y = (decode(v, element).astype(np.float64) for v in (a, b))
        k.store(d, (m, n), acc, x @ y.T, 1e-3 if element == "f32" else 1e-5 if acc == "f32" else 3e-3 if acc == "f16" else 0)
        return k
    return make


def copies(element, columns, mask):
    """cp.async to shared memory, read back."""
    def make(rng):
        k = Kernel(4)
        x = values(rng, (32, columns), element)
        pointer = k.pointer("x", element, x)
        shape = (32, columns)
        at = k.offsets(shape)
        t, m = k.type(shape, "i32"), k.type(shape, "i1")
        index = k.emit(f"nv.index dim(1) : {t}")
        limit = k.emit(f"arith.constant dense<{mask}> : {t}")
        inside = k.emit(f"arith.cmpi slt, {index}, {limit} : {t}")
        view = f"!nv.memdesc<32x{columns}x{element}>"
        k.lines = [f"%slot = warp.acquire %ring", f"%view = warp.slot %slot : {view}"] + k.lines + [
            f"nv.cp_async {pointer}[{at}] mask({inside} : {m}) to %view : {t}, {view}", "nv.cp_async.commit", "nv.cp_async.wait 0",
            "nv.named_barrier"]
        r = k.emit(f"nv.local_load %view : {view} -> {k.type(shape, element)}")
        expected = decode(x, element).copy()
        expected[:, mask:] = 0
        k.store(r, shape, element, expected)
        k.lines.append("warp.release %slot to %ring generic")
        buffer = f"!warp.buffer<1 x [32x{columns}x{element}]>"
        k.head = f"%buffer = warp.buffer : {buffer}\n  %ring = warp.ring released %buffer : {buffer}\n  "
        return k
    return make


def warpgroup_product(m, n, kk, element, sums, saturate=False, start=1):
    """nv.wgmma on tiles in shared memory, added to a constant."""
    def make(rng):
        k = Kernel(4)
        a, b = values(rng, (m, kk), element), values(rng, (n, kk), element)
        views = [f"!nv.memdesc<{rows}x{kk}x{MLIR.get(element, element)}>" for rows in (m, n)]
        k.lines.append("%slot = warp.acquire %ring")
        k.lines.append(f"%left, %right = warp.slot %slot : {views[0]}, {views[1]}")
        for name, array, target, view in ("a", a, "%left", views[0]), ("b", b, "%right", views[1]):
            t = k.load(name, array, element)
            k.lines.append(f"nv.local_store {t} to {target} : {k.type(array.shape, element)}, {view}")
        flipped = f"!nv.memdesc<{kk}x{n}x{MLIR.get(element, element)}>"
        bt = k.emit(f"nv.memdesc.trans %right : {views[1]} -> {flipped}")
        c = k.emit(f"arith.constant dense<{start if sums == 'i32' else float(start)}> : {k.type((m, n), sums)}")
        d = k.emit(f"nv.wgmma %left, {bt} acc({c}){' satfinite' if saturate else ''} : {views[0]}, {flipped} -> {k.type((m, n), sums)}")
        w = k.emit(f"nv.wgmma.wait {d} pending(0) : {k.type((m, n), sums)}")
        k.lines.append("warp.release %slot to %ring generic")
        x, y = (decode(v, element).astype(np.float64) for v in (a, b))
        exact = x @ y.T + start
        if saturate:  # after each instruction, which is 32 places along K
            exact = np.full((m, n), float(start))
            for at in range(0, kk, 32):
                exact = np.clip(exact + x[:, at:at + 32] @ y[:, at:at + 32].T, -2**31, 2**31 - 1)
        elif sums == "i32":
            exact = (exact.astype(np.int64) + 2**31) % 2**32 - 2**31
        k.store(w, (m, n), sums, exact, 0 if sums == "i32" else 3e-3 if sums == "f16" else 1e-5)
        buffer = f"!warp.buffer<1 x [{views[0][12:-1]}, {views[1][12:-1]}]>"
        k.head = f"%buffer = warp.buffer : {buffer}\n  %ring = warp.ring released %buffer : {buffer}\n  "
        return k
    return make


CASES = {
    **{f"reduce_{e}_{'x'.join(map(str, s))}_{w}": reductions(s, e, w) for s, e, w in [
        ((1024,), "f32", 4), ((256,), "f32", 1), ((8192,), "f32", 16), ((64,), "i32", 8), ((32,), "f32", 4), ((1024,), "bf16", 4), ((512,), "i64", 4),
        ((512,), "i8", 4), ((64, 128), "f32", 4), ((16, 256), "f32", 8), ((128, 8), "f32", 4), ((4, 64), "i32", 8), ((32, 96), "f32", 4),
        ((8, 16, 32), "f32", 4), ((64, 64), "bf16", 8), ((2, 2048), "i16", 4)]},
    "reduce_in_loop": in_loop,
    "scan_f32_1024_4": scans((1024,), "f32", 4), "scan_i32_64_1": scans((64,), "i32", 1), "scan_i32_32x64_4": scans((32, 64), "i32", 4),
    "scan_i64_16_8": scans((16,), "i64", 8),
    "transpose_f32": transposes((64, 64), "f32", 4), "transpose_bf16": transposes((32, 128), "bf16", 4), "transpose_i8": transposes((64, 32), "i8", 8),
    "transpose_f32_1": transposes((16, 16), "f32", 1), "transpose_i64": transposes((32, 32), "i64", 4),
    "centred": centred,
    "functions_f32": functions("f32"), "functions_bf16": functions("bf16"),
    "conversions": conversions,
    "atomics_f32": atomics("f32", ["add"]), "atomics_i32": atomics("i32", ["add", "max", "min"]), "atomics_bf16": atomics("bf16", ["add"]),
    "atomics_i64": atomics("i64", ["add", "max"]),
    "mma_bf16": product(32, 64, 64, "bf16", 4), "mma_f16": product(16, 32, 32, "f16", 4), "mma_e4m3": product(64, 16, 64, "e4m3", 4),
    "mma_i8": product(16, 64, 32, "i8", 2), "mma_tf32": product(16, 8, 16, "f32", 1),
    "mma_f16_f16": product(32, 64, 64, "f16", 4, "f16"),
    "wgmma_f16": warpgroup_product(64, 96, 64, "f16", "f16"), "wgmma_f16_128": warpgroup_product(128, 64, 32, "f16", "f16"),
    "wgmma_e4m3": warpgroup_product(64, 40, 64, "e4m3", "f16"), "wgmma_i8": warpgroup_product(64, 48, 96, "i8", "i32"),
    "wgmma_i8_wraps": warpgroup_product(128, 24, 64, "i8", "i32", start=2**31 - 5),
    "wgmma_i8_saturates": warpgroup_product(64, 128, 64, "i8", "i32", True, 2**31 - 5),
    "wgmma_i8_saturates_below": warpgroup_product(64, 16, 32, "i8", "i32", True, 7 - 2**31),
    "cp_async_bf16": copies("bf16", 64, 48), "cp_async_f32": copies("f32", 32, 20), "cp_async_i8": copies("i8", 128, 120),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", default="kernel-opt")
    parser.add_argument("--sim", default="kernel-sim")
    parser.add_argument("--print", action="store_true", help="print the kernels instead")
    parser.add_argument("names", nargs="*", help="prefixes of cases")
    options = parser.parse_args()
    failed = False
    for name, make in CASES.items():
        if options.names and not any(name.startswith(prefix) for prefix in options.names):
            continue
        kernel = make(np.random.default_rng(len(name)))
        if options.print:
            print(kernel.text())
            continue
        message = run(kernel, options)
        failed |= bool(message)
        print(f"{name}: {message or 'ok'}", flush=True)
    print("failed" if failed else "all right")
    sys.exit(failed)


if __name__ == "__main__":
    main()
