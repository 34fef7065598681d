"""Products with a sparse A: mma.sp and wgmma.sp of all types, shapes and selectors, with random metadata in every lane."""

import re

import numpy as np

from .case import Case, Deferred, kernel
from .matrix import BITS, WGMMA_TYPES, Dots, blocks, wgmma

ORDERED = (0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110)


def metadata(rng, t, words, ordered=True):
    """Words of eight codes that mean something; tf32 has two."""
    codes = (0b0100, 0b1110) if t == "tf32" else ORDERED if ordered else [c for c in range(16) if c % 5]
    return (rng.choice(codes, (words, 8)).astype(np.uint32) << np.arange(0, 32, 4, dtype=np.uint32)).sum(1, dtype=np.uint32)


def mma_sp(shape, td, ta, tb, selector, count=64, extra="", ordered=True, family="sparse", name=None):
    name = name or f"mma_sp_{shape}_{td}_{ta}_{tb}_{selector}{extra.replace('.', '_')}{'' if ordered else '_unordered'}"
    return Deferred(name, family, None, lambda: make_mma_sp(name, shape, td, ta, tb, selector, count, extra, ordered, family))


def make_mma_sp(name, shape, td, ta, tb, selector, count, extra, ordered, family):
    """`count` warps, each one instruction: D = A * B + C with all registers raw."""
    m, n, k = (int(x) for x in re.match(r"m(\d+)n(\d+)k(\d+)", shape).groups())
    ra, rb, rc = m * k * BITS[ta] // 2048, n * k * BITS[tb] // 1024, 2 if td == "f16" else 4
    seed = sum(map(ord, name))
    a, b = blocks(seed, ta, ra * 32, count), blocks(seed + 1, tb, rb * 32, count)
    c, codes = blocks(seed + 2, {"s32": "u4"}.get(td, td), rc * 32, count), metadata(np.random.default_rng(seed + 3), ta, count * 32, ordered)
    out = np.zeros(count * rc * 32, np.uint32)
    body, registers = "\tshr.u32 %r1, %thr, 5;\n\tmad.lo.u32 %r1, %blk, 8, %r1;\n", []
    for base, words, parameter in ((10, ra, "x"), (50, rb, "y"), (80, 1, "m"), (90, rc, "z")):
        body += (f"\tmul.lo.u32 %r2, %r1, {words * 128};\n\tmad.lo.u32 %r2, %lan, {4 * words}, %r2;\n\tcvt.u64.u32 %rd1, %r2;\n"
                 f"\tadd.s64 %rd2, %{parameter}, %rd1;\n")
        body += "".join(f"\tld.global.b32 %r{base + i}, [%rd2+{4 * i}];\n" for i in range(words))
        registers.append("{" + ", ".join(f"%r{base + i}" for i in range(words)) + "}")
    x, y, _, z = registers
    body += (f"\tadd.s64 %rd3, %out, %rd1;\n\tmma.sp{'::ordered_metadata' if ordered else ''}.sync.aligned.{shape}.row.col{extra}.{td}.{ta}.{tb}.{td} "
             f"{z}, {x}, {y}, {z}, %r80, {selector};\n")
    body += "".join(f"\tst.global.b32 [%rd3+{4 * i}], %r{90 + i};\n" for i in range(rc))
    text, arguments = kernel(body, ["x", "y", "z", "m", "out"]), [a, b, c, codes, out]
    if family == "dots":
        return Dots(name, family, text, arguments, [out], grid=count // 8, block=256, rows=min(64, count // 8))
    return Case(name, family, text, arguments, [out], grid=count // 8, block=256)


MMA = ([("m16n8k16", d, t, t, (0, 1, 2, 3)) for d, t in (("f32", "f16"), ("f16", "f16"), ("f32", "bf16"))] +
       [("m16n8k32", d, t, t, (0, 1)) for d, t in (("f32", "f16"), ("f16", "f16"), ("f32", "bf16"))] +
       [("m16n8k8", "f32", "tf32", "tf32", (0, 1, 2, 3)), ("m16n8k16", "f32", "tf32", "tf32", (0, 1))] +
       [("m16n8k64", "f32", a, b, (0,)) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")] +
       [(f"m16n8k{k}", "s32", a, b, (0, 1) if k == 32 else (0,)) for k in (32, 64) for a, b in (("s8", "s8"), ("u8", "s8"))] +
       [(f"m16n8k{k}", "s32", a, b, (0, 1) if k == 64 else (0,)) for k in (64, 128) for a, b in (("s4", "s4"), ("s4", "u4"))])


def cases():
    for shape, td, ta, tb, selectors in MMA:
        for selector in selectors:
            yield mma_sp(shape, td, ta, tb, selector)
    for shape, td, t in (("m16n8k32", "f32", "f16"), ("m16n8k16", "f32", "bf16"), ("m16n8k64", "s32", "u8"), ("m16n8k64", "f32", "e4m3")):
        yield mma_sp(shape, td, t, t, 0, ordered=False)
    for shape, t in (("m16n8k64", "u8"), ("m16n8k128", "u4")):
        yield mma_sp(shape, "s32", t, t, 0, extra=".satfinite")
    for td, ta, tb in WGMMA_TYPES:
        for selector in (0, 1) if BITS[ta] > 8 else (0,):
            yield wgmma(f"wgmma_sp_{td}_{ta}_{tb}_{selector}", 64, td, ta, tb, 4, selector=selector, family="sparse")
    for td, ta, tb in (("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"), ("f32", "e4m3", "e5m2"), ("s32", "s8", "u8")):
        yield wgmma(f"wgmma_sp_a_in_registers_{td}_{ta}", 96, td, ta, tb, 4, a_registers=True, selector=0, family="sparse")
    for a_major, b_major, swizzle in ((0, 0, 64), (0, 0, 128), (1, 0, 128), (0, 1, 128), (1, 1, 64), (1, 1, 0)):
        yield wgmma(f"wgmma_sp_major_{a_major}{b_major}_swizzle_{swizzle}", 128, "f32", "bf16", "bf16", 4, a_major=a_major, b_major=b_major,
                    swizzle=swizzle, selector=1, family="sparse")
    yield wgmma("wgmma_sp_signs", 32, "f32", "f16", "f16", 4, signs=(-1, 1), selector=0, family="sparse")
    yield wgmma("wgmma_sp_satfinite", 64, "s32", "u8", "u8", 4, satfinite=True, selector=0, family="sparse")
    for td, ta, tb in (("f32", "bf16", "bf16"), ("f16", "f16", "f16"), ("f32", "tf32", "tf32"), ("f32", "e4m3", "e4m3")):
        yield wgmma(f"dots_wgmma_sp_{td}_{ta}", 256, td, ta, tb, 64, selector=0, family="dots")
    for shape, td, t in (("m16n8k32", "f32", "bf16"), ("m16n8k16", "f32", "tf32"), ("m16n8k64", "f32", "e5m2")):
        yield mma_sp(shape, td, t, t, 0, count=8192, family="dots", name=f"dots_mma_sp_{shape}_{td}_{t}")
