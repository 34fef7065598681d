"""The correct kernels of the seeded-fault suite: PTX, launch recipe, inputs and expected outputs.

`load(name)` gives a Kernel. The compiler's programs come from test/programs/warp through tileloom.compiler; kernels with features that
those lack are written by hand in ptx/. Problems are small: one or two CTAs, but every ring goes round more than once.
"""

import json
import math
import os
import sys

import numpy as np

from language import by_language

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "..", "programs", "warp")
sys.path[:0] = [os.path.join(HERE, "..", "python"), os.path.join(HERE, "..", "Simulator", "Inputs")]

from programs import bf16, fp32  # noqa: E402


class Array:
    """An argument in memory. `element` says what its bits mean; `wanted`: the expected contents (floats), of outputs."""

    def __init__(self, data, element, wanted=None, tolerance=0.0, described=None):
        self.data, self.element, self.wanted, self.tolerance = data, element, wanted, tolerance
        self.described = described  # (shape, strides) that the kernel sees, if they are not the array's own

    def error(self, found):
        """Relative error in the maximum norm; NaN counts as infinite."""
        values = fp32(found) if self.element == "bf16" else found
        difference = np.abs(values.astype(np.float64) - self.wanted).max()
        return float(difference / max(np.abs(self.wanted).max(), 1e-30)) if np.isfinite(difference) else math.inf


class Kernel:
    def __init__(self, name, target, ptx, recipe, arguments):
        self.name, self.target, self.ptx, self.recipe, self.arguments = name, target, ptx, recipe, arguments


def gemm(rng, m, n, k, *counts):
    a, b = bf16(rng.standard_normal((m, k))), bf16(rng.standard_normal((n, k)))
    wanted = fp32(a).astype(np.float64) @ fp32(b).astype(np.float64).T
    return [Array(a, "bf16"), Array(b, "bf16"), Array(np.full((m, n), 0x7FC0, np.uint16), "bf16", wanted, 6e-3), *counts]


def attention(rng, batch, length, heads):
    q, k, v = (bf16(rng.standard_normal((batch, length, heads, 128))) for _ in range(3))
    x, y, z = (fp32(t).astype(np.float64).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = x @ y.transpose(0, 1, 3, 2) * 128**-0.5
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    wanted = (weights / total @ z).transpose(0, 2, 1, 3)
    lse = Array(np.full((batch, heads, length), np.nan, np.float32), "f32", (top + np.log(total))[..., 0], 1e-4)
    return [Array(q, "bf16"), Array(k, "bf16"), Array(v, "bf16"), Array(np.full_like(q, 0x7FC0), "bf16", wanted, 2e-2), lse, heads,
            length, batch * heads, -(-length // 128), 128**-0.5 * math.log2(math.e)]


def attention_tcgen05(rng, rows, heads, blocks):
    s, t, d = 256 * rows, 128 * blocks, 128
    q, k, v = (bf16(rng.standard_normal((heads * n, d))) for n in (s, t, t))
    wanted = np.empty((heads * s, d))
    for h in range(heads):
        x = fp32(q[h * s:(h + 1) * s]).astype(np.float64) @ fp32(k[h * t:(h + 1) * t]).T * d**-0.5
        p = np.exp(x - x.max(1, keepdims=True))
        wanted[h * s:(h + 1) * s] = p @ fp32(v[h * t:(h + 1) * t]) / p.sum(1, keepdims=True)
    return [Array(q, "bf16"), Array(k, "bf16"), Array(v, "bf16"), Array(np.full_like(q, 0x7FC0), "bf16", wanted, 2e-2), rows, heads,
            blocks, float(np.float32(math.log2(math.e) / math.sqrt(d)))]


def e4m3_values():
    byte = np.arange(256)
    exponent, fraction = byte >> 3 & 15, byte & 7
    value = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10.0))
    return np.where(byte & 0x80, -value, value)


def gemm_fp8(rng, m, n, blocks, tiles):
    k, values = 128 * blocks, e4m3_values()
    a, b = ((rng.integers(0, 2, (rows, k)) << 7 | rng.integers(0x20, 0x48, (rows, k))).astype(np.uint8) for rows in (m, n))
    sa = rng.uniform(0.5, 2, (blocks, m)).astype(np.float32)
    sb = rng.uniform(0.5, 2, (n // 128, blocks)).astype(np.float32)
    x = values[a] * np.repeat(sa.T.astype(np.float64), 128, 1)
    y = values[b] * np.repeat(np.repeat(sb.astype(np.float64), 128, 0), 128, 1)
    return [Array(a, "e4m3"), Array(b, "e4m3"), Array(sa, "f32"), Array(np.zeros((m, n), np.uint16), "bf16", x @ y.T, 2e-2),
            Array(sb, "f32"), *tiles, blocks]


def pack_scales(scales):
    """[rows, blocks] to blocks of 128 rows x 4 scales, as rows of 16 bytes."""
    rows, blocks = scales.shape
    x = scales.reshape(rows // 128, 4, 32, blocks // 4, 4)
    return np.ascontiguousarray(x.transpose(0, 3, 2, 1, 4)).reshape(-1, 16)


def gemm_mxf8(rng, tiles_m, tiles_n, blocks):
    m, n, k, values = 128 * tiles_m, 256 * tiles_n, 128 * blocks, e4m3_values()

    def operand(rows):
        data = (rng.integers(0, 2, (rows, k)) << 7 | rng.integers(0, 0x60, (rows, k))).astype(np.uint8)
        scales = rng.integers(122, 132, (rows, k // 32)).astype(np.uint8)
        return data, scales, values[data] * np.repeat(2.0**(scales.astype(np.float64) - 127), 32, 1)

    (a, sa, x), (b, sb, y) = operand(m), operand(n)
    return [Array(a, "e4m3"), Array(b, "e4m3"), Array(pack_scales(sa).view(np.int8), "i8"), Array(pack_scales(sb).view(np.int8), "i8"),
            Array(np.zeros((m, n), np.uint16), "bf16", x @ y.T, 1e-2), tiles_m, tiles_n, blocks]


def by_compiler(program, target, problem, ctas=1):
    def make():
        from tileloom import compiler
        with open(os.path.join(PROGRAMS, program + ".mlir")) as file:
            compiled = compiler.compile(file.read(), target, name=program, cubin=False)
        grid = compiled.recipe["launch"]["grid"]
        if grid.get("persistent"):  # on a GPU, too, a few CTAs go through all tiles
            compiled.recipe["launch"]["grid"] = {"x": ctas}
        return Kernel(program, target, compiled.ptx, compiled.recipe, problem(np.random.default_rng(1)))
    return make


def by_hand(name, problem, parameters=None, target="sm_90a", text=None, symbol=None, **launch):
    """ptx/NAME.ptx, or text() with the kernel `symbol`; parameters are passed on unless tensor maps are given: {argument: {"box": ...}}."""
    def make():
        if text:
            ptx = text()
        else:
            with open(os.path.join(HERE, "ptx", name + ".ptx")) as file:
                ptx = file.read()
        values = problem(np.random.default_rng(1))
        arguments, passed = [], []
        for i, value in enumerate(values):
            map_of = (parameters or {}).get(i)
            if isinstance(value, Array):
                entry = {"name": f"arg{i}", "kind": "tensor" if map_of else "pointer", "element": value.element}
                arguments.append({**entry, "rank": value.data.ndim} if map_of else entry)
            else:
                arguments.append({"name": f"arg{i}", "kind": "scalar", "element": "i32"})
            passed.append({"kind": "tensor_map", "argument": i, **map_of} if map_of else {"kind": "argument", "argument": i})
        recipe = {"version": 1, "kernel": symbol or name, "target": target, "arguments": arguments, "parameters": passed,
                  "launch": {"grid": {"x": 1}, "threads": 128, **launch}}
        return Kernel(name, target, ptx, json.loads(json.dumps(recipe)), values)
    return make


def block_sum(rng):
    x = rng.integers(-1000, 1000, 1024).astype(np.int32)
    return [Array(x, "i32"), Array(np.zeros(1, np.int32), "i32", np.array([x.sum()]))]


def scaled_copy(rng):
    x = rng.standard_normal(2048).astype(np.float32)
    return [Array(x, "f32"), Array(np.zeros_like(x), "f32", 2.0 * x)]


def neighbours(rng):
    x = rng.integers(0, 1 << 20, 512).astype(np.int32)
    return [Array(x, "i32"), Array(np.zeros_like(x), "i32", x + np.roll(x.reshape(4, 128), -1, 0).ravel())]


def reversed_lanes(rng):
    x = rng.integers(0, 1 << 20, 64).astype(np.int32)
    return [Array(x, "i32"), Array(np.zeros(64, np.int32), "i32", np.concatenate([x[:32][::-1], x[32:][::-1]]))]


def transposed(rng):
    x = rng.standard_normal((32, 32)).astype(np.float32)
    return [Array(x, "f32"), Array(np.zeros_like(x), "f32", x.T)]


def produced(rng):
    x = rng.integers(0, 1 << 20, 256).astype(np.int32)
    return [Array(x, "i32"), Array(np.zeros(512, np.int32), "i32", np.concatenate([x * 3, x * 3])), Array(np.zeros(1, np.int32), "i32")]


def plus_one(rng):
    x = rng.standard_normal(1024).astype(np.float32)
    return [Array(x, "f32"), Array(np.zeros_like(x), "f32", 2.0 * x.astype(np.float64) + 1, 1e-6)]


def turned(tiles, factor):
    def problem(rng):
        x = rng.standard_normal((tiles, 32, 4)).astype(np.float32)
        return [Array(x, "f32"), Array(np.zeros_like(x), "f32", factor * x[:, ::-1])]
    return problem


def halves(rng):
    x, lane = rng.integers(0, 0x7C00, 128).astype(np.int32), np.arange(128)
    near = bf16(x.astype(np.uint16).view(np.float16))
    back = fp32(near).astype(np.float16).view(np.uint16).astype(np.int64)
    odd = lane % 2 == 1
    first, second = ((x ^ lane) & 7 != 0) & odd, ((x & lane & 7) != 0) | ~odd
    out = (near.astype(np.int64) ^ first * 32768 | second * 65536) ^ back << 17 & 0xFFFFFFFF
    return [Array(x, "i32"), Array(np.zeros_like(x), "i32", out.astype(np.uint32).view(np.int32))]


def remote_sum(rng):
    x = rng.integers(0, 1 << 20, (4, 32)).astype(np.int32)
    return [Array(x, "i32"), Array(np.zeros((5, 32), np.int32), "i32", np.concatenate([x.sum(0, keepdims=True), x]))]


def chained_scan(rng):
    x = rng.integers(-1000, 1000, 256).astype(np.int32)
    return [Array(x, "i32"), Array(np.zeros_like(x), "i32", np.cumsum(x)), Array(np.zeros(4, np.int32), "i32"), Array(np.zeros(4, np.int32), "i32")]


def edited_map(rng):
    x, other = rng.standard_normal((2, 32, 64)).astype(np.float32)
    return [Array(other, "f32"), Array(x, "f32"), Array(np.zeros((32, 32), np.float32), "f32", x[:, 32:]), Array(np.zeros(32, np.int32), "i32")]


def tripled(rng):
    x = rng.integers(0, 1 << 20, 256).astype(np.int32)
    return [Array(x, "i32"), Array(np.zeros_like(x), "i32", 3 * x)]


def cores(data, row_bytes):
    """[rows, bytes] as the core matrices of tcgen05_product."""
    return np.ascontiguousarray(data.reshape(len(data) // 8, 8, -1, row_bytes // 16, 16).transpose(2, 0, 3, 1, 4)).ravel().view(np.int32)


def sparse_product(rng):
    """Two products of bf16 with N of 64: A has the first and the last of each four elements."""
    stored, b = rng.integers(-8, 9, (128, 32)).astype(np.float32), rng.integers(-8, 9, (64, 64)).astype(np.float32)
    a = np.zeros((128, 64))
    a[:, 0::4], a[:, 3::4] = stored[:, 0::2], stored[:, 1::2]
    table = np.full((128, 16), 0x44444444, np.uint32)
    table[:, 0] = 0xCCCCCCCC
    out = np.zeros((128, 256))
    out[:, :64] = a @ b.T
    return [Array(cores(bf16(stored).view(np.uint8), 32), "i32"), Array(cores(bf16(b).view(np.uint8), 64), "i32"), Array(table.view(np.int32), "i32"),
            Array(np.zeros((128, 256), np.float32), "f32", out)]


def sparse_text():
    from tcgen05_product import Product, instruction_descriptor, ptx
    idesc = instruction_descriptor("f16", 128, 64, 1 << 7 | 1 << 10, True)
    return ptx("f16", 128, 64, idesc, [Product(0, False), Product(1, True)], sparse=True)


def masked_product(rng):
    """M = 64, N = 128, B kept in a collector buffer: columns of B count as zero in the first product, all count in the second."""
    a, b = rng.integers(-8, 9, (64, 16)).astype(np.float32), rng.integers(-8, 9, (128, 16)).astype(np.float32)
    once = a.astype(np.float64) @ b.T
    product = once + np.where(np.arange(128) % 64 % 8 < 4, 0, once)
    out = np.zeros((128, 256))
    out[:64, :64], out[64:, :64] = product[:, :64], product[:, 64:]
    return [Array(cores(bf16(a).view(np.uint8), 32), "i32"), Array(cores(bf16(b).view(np.uint8), 32), "i32"),
            Array(np.zeros((128, 16), np.int32), "i32"), Array(np.zeros((128, 256), np.float32), "f32", out)]


def masked_text():
    from tcgen05_product import Product, instruction_descriptor, ptx
    mask = 3 << 32 | 1 << 39 | 3 << 40 | 3 << 48  # both halves begin with four columns of zeros, then four of B
    products = [Product(0, False, ".collector::b2::fill", mask), Product(0, True, ".collector::b2::lastuse", 0)]
    return ptx("f16", 64, 128, instruction_descriptor("f16", 64, 128, 1 << 7 | 1 << 10), products, ws=True)


def steps_of_gemm(dtype, target, m, n, k, names, **options):
    """kernels.gemm with steps behind the product: `names` of its row and column factors, or of what it adds."""
    def problem(rng):
        from tileloom import kernels
        import ml_dtypes
        types = {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}
        a, b = (rng.standard_normal((rows, k)).astype(types[dtype]) for rows in (m, n))
        out = np.full((m, n), np.nan, types["bf16"])
        shapes = {"bias": (n,), "residual": (m, n), "scale_a": (m,), "scale_b": (n,)}
        given = {name: rng.uniform(0.5, 2, shapes[name]).astype(np.float32 if "scale" in name else types["bf16"]) for name in names}
        wanted = a.astype(np.float64) @ b.astype(np.float64).T
        for name, value in given.items():
            value = value.astype(np.float64)
            wanted = wanted * (value[:, None] if name == "scale_a" else value) if "scale" in name else wanted + value
        call = lambda: kernels.gemm(a, b.T, out, target=target, **given, **options)  # noqa: E731
        return call, [a, b, out, *given.values()], {2: (wanted, 1e-2)}
    return problem


KERNELS = {
    "gemm_pingpong": by_compiler("gemm_pingpong", "sm_90a", lambda r: gemm(r, 256, 256, 64 * 4, 4, 1, 4)),
    "gemm_cooperative": by_compiler("gemm_cooperative", "sm_90a", lambda r: gemm(r, 128, 512, 64 * 3, 1, 2, 3)),
    "gemm_small_m": by_compiler("gemm_small_m", "sm_90a", lambda r: gemm(r, 64, 512, 64 * 12, 1, 8, 12)),
    "gemm_multicast": by_compiler("gemm_multicast", "sm_90a", lambda r: gemm(r, 256, 512, 64 * 7, 1, 2, 7), 2),
    "attention_d128": by_compiler("attention_d128", "sm_90a", lambda r: attention(r, 1, 384, 1)),
    "gemm_fp8_block_128x128": by_compiler("gemm_fp8_block_128x128", "sm_90a", lambda r: gemm_fp8(r, 128, 256, 5, (1, 2))),
    "gemm_tcgen05": by_compiler("gemm_tcgen05", "sm_100a", lambda r: gemm(r, 128, 1024, 64 * 2, 1, 4, 2)),
    "gemm_tcgen05_pair": by_compiler("gemm_tcgen05_pair", "sm_100a", lambda r: gemm(r, 256, 1024, 64 * 3, 1, 4, 3), 2),
    "gemm_tcgen05_mxf8": by_compiler("gemm_tcgen05_mxf8", "sm_100a", lambda r: gemm_mxf8(r, 1, 4, 3)),
    "attention_tcgen05": by_compiler("attention_tcgen05", "sm_100a", lambda r: attention_tcgen05(r, 1, 2, 2)),
    "gemm_fp8_rows": by_language("gemm_fp8_rows", "sm_90a", steps_of_gemm(
        "e4m3", "sm_90a", 128, 768, 640, ["scale_a", "scale_b"], BM=128, BN=64, schedule={"use": "pingpong"}), Array, Kernel),
    "gemm_bias": by_language("gemm_bias", "sm_90a", steps_of_gemm("bf16", "sm_90a", 192, 512, 256, ["bias"], BM=64, BN=64), Array, Kernel),
    "gemm_residual_tcgen05": by_language("gemm_residual_tcgen05", "sm_100a", steps_of_gemm(
        "bf16", "sm_100a", 128, 1024, 320, ["residual"], BM=128, BN=128), Array, Kernel),
    "block_sum": by_hand("block_sum", block_sum, grid={"x": 4}, threads=256),
    "cp_async_ring": by_hand("cp_async_ring", scaled_copy, threads=64),
    "bulk_copy": by_hand("bulk_copy", scaled_copy, threads=128),
    "warp_exchange": by_hand("warp_exchange", reversed_lanes, threads=32),
    "neighbours": by_hand("neighbours", neighbours, grid={"x": 4}, cluster=[4, 1, 1], threads=128),
    "transposed": by_hand("transposed", transposed, {0: {"box": [32, 32]}}, threads=256),
    "produced": by_hand("produced", produced, grid={"x": 2}, cluster=[2, 1, 1], threads=64),
    "cp_async_pipeline": by_hand("cp_async_pipeline", plus_one, threads=64),
    "halves": by_hand("halves", halves),
    "warp_ring": by_hand("warp_ring", turned(8, 2.0), threads=64),
    "lone_warp": by_hand("lone_warp", turned(4, 1.0), threads=32),
    "remote_sum": by_hand("remote_sum", remote_sum, grid={"x": 4}, cluster=[4, 1, 1], threads=32),
    "chained_scan": by_hand("chained_scan", chained_scan, grid={"x": 4}, threads=64),
    "edited_map": by_hand("edited_map", edited_map, {0: {"box": [32, 32]}}),
    "stealing": by_hand("stealing", tripled, target="sm_100a", grid={"x": 8}, threads=32),
    "tcgen05_sparse": by_hand("tcgen05_sparse", sparse_product, target="sm_100a", text=sparse_text, symbol="product", shared_bytes=65536),
    "tcgen05_masked": by_hand("tcgen05_masked", masked_product, target="sm_100a", text=masked_text, symbol="product", shared_bytes=65536),
}
_known = {}


def load(name):
    if name not in _known:
        _known[name] = KERNELS[name]()
    return _known[name]
