"""Matrix products: mma.sync and wgmma of all types and forms, and a million random dot products of each type.

Operands are raw bits of the element types in registers or shared memory, so no layout has to be known here; what each lane holds, and what
is multiplied with what, is for the simulator and the GPU to agree on.
"""

import numpy as np

from .case import Case, Deferred, kernel

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f64": 64}
EXPONENT = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2), "f64": (11, 52)}


def elements(rng, t, n, kind):
    """n raw elements. kind 0: near one; 1: wide range; 2: all finite; 3: everything, zeros and infinities often."""
    if t not in EXPONENT:
        return rng.integers(0, 1 << BITS[t], n)
    exponent, fraction = EXPONENT[t]
    bias, most = (1 << (exponent - 1)) - 1, (1 << exponent) - 1
    sign = rng.integers(0, 2, n, dtype=np.uint64) << np.uint64(exponent + fraction)
    mantissa = rng.integers(0, 1 << fraction, n, dtype=np.uint64)
    if kind == 0:
        e = rng.integers(bias - 2, bias + 3, n)
    elif kind == 1:
        spread = min(bias - 1, 20)
        e = rng.integers(bias - spread, bias + spread + 1, n)
    elif kind == 2:
        e = rng.integers(0, most if t != "e4m3" else most + 1, n)
    else:
        e = np.where(rng.integers(0, 4, n) > 0, rng.integers(bias - 3, bias + 4, n), rng.choice([0, 0, most, bias], n))
        mantissa = np.where(rng.integers(0, 3, n) == 0, 0, mantissa)
    values = sign | np.maximum(e, 0).astype(np.uint64) << np.uint64(fraction) | mantissa
    if t == "e4m3" and kind == 2:  # 0x7F is its NaN
        values = np.where((values & np.uint64(0x7F)) == 0x7F, values - np.uint64(1), values)
    if t == "tf32":
        values &= np.uint64(0xFFFFFFFF)
    return values


def packed(rng, t, words, kind):
    """32-bit words of raw elements."""
    bits = BITS.get(t, 32)
    if bits == 64:
        return elements(rng, t, words // 2, kind).astype(np.uint64).view(np.uint32)
    if bits == 1 or bits == 4:
        return rng.integers(0, 1 << 32, words).astype(np.uint32)
    return elements(rng, t, words * 32 // bits, kind).astype({32: np.uint32, 16: np.uint16, 8: np.uint8}[bits]).view(np.uint32)


def blocks(seed, t, words, count):
    """`count` blocks of `words` words; the kinds of values take turns."""
    rng = np.random.default_rng(seed)
    return np.concatenate([packed(rng, t, words, i % 4) for i in range(count)])


def digest(out, rows):
    """The first row in full, and 64 bits of a hash of each row."""
    import hashlib
    table = out.reshape(rows, -1)
    hashes = [np.frombuffer(hashlib.blake2b(row.tobytes(), digest_size=8).digest(), np.uint64)[0] for row in table]
    return [table[0].copy(), np.array(hashes, np.uint64)]


class Dots(Case):
    """A case of many dot products: results are kept as digests of `rows` blocks."""

    def __init__(self, *arguments, rows=1, **options):
        super().__init__(*arguments, **options)
        self.rows = rows

    def reduce(self, outputs):
        return digest(outputs[0], self.rows)


def mma_sync(shape, td, ta, tb, count, extra="", family="mma.sync", name=None):
    name = name or f"mma_{shape}_{td}_{ta}_{tb}{extra.replace('.', '_')}"
    return Deferred(name, family, None, lambda: make_mma_sync(name, shape, td, ta, tb, count, extra, family))


def make_mma_sync(name, shape, td, ta, tb, count, extra, family):
    """`count` warps, each one instruction: D = A * B + C with all registers raw."""
    m, n, k = (int(x) for x in __import__("re").match(r"m(\d+)n(\d+)k(\d+)", shape).groups())
    ra, rb = m * k * BITS[ta] // 1024, n * k * BITS[tb] // 1024
    rc = m * n * {"f32": 32, "s32": 32, "f16": 16, "f64": 64}[td] // 1024
    c_type = {"s32": "u4"}.get(td, td)  # any bits
    seed = sum(map(ord, shape + td + ta + tb + extra))
    a, b, c = blocks(seed, ta, ra * 32, count), blocks(seed + 1, tb, rb * 32, count), blocks(seed + 2, c_type, rc * 32, count)
    out = np.zeros(count * rc * 32, np.uint32)
    body = "\tshr.u32 %r1, %thr, 5;\n\tmad.lo.u32 %r1, %blk, 8, %r1;\n"
    registers = []
    for base, count_of, parameter in ((10, ra, "x"), (50, rb, "y"), (90, rc, "z")):
        body += f"\tmul.lo.u32 %r2, %r1, {count_of * 128};\n\tmad.lo.u32 %r2, %lan, {4 * count_of}, %r2;\n\tcvt.u64.u32 %rd1, %r2;\n\tadd.s64 %rd2, %{parameter}, %rd1;\n"
        body += "".join(f"\tld.global.b32 %r{base + i}, [%rd2+{4 * i}];\n" for i in range(count_of))
        registers.append([f"%r{base + i}" for i in range(count_of)])
    body += "\tadd.s64 %rd3, %out, %rd1;\n"
    if "f64" in (ta, td):  # pairs of words are doubles
        names = []
        for base, regs in zip((20, 30, 40), registers):
            names.append([f"%rd{base + i}" for i in range(len(regs) // 2)])
            body += "".join(f"\tmov.b64 {d}, {{{regs[2 * i]}, {regs[2 * i + 1]}}};\n" for i, d in enumerate(names[-1]))
        d = names[2]
    else:
        names, d = registers, registers[2]
    vector = "{{{}}}".format
    operands = ", ".join(vector(", ".join(r)) for r in ([d] + names))
    body += f"\tmma.sync.aligned.{shape}.row.col{extra}.{td}.{ta}.{tb}.{td} {operands};\n".replace("POPC", "")
    if extra.endswith("popc"):
        body = body.replace(f"{extra}.{td}.{ta}.{tb}.{td}", f".{td}.{ta}.{tb}.{td}{extra}")
    if "f64" in (ta, td):
        body += "".join(f"\tmov.b64 {{{registers[2][2 * i]}, {registers[2][2 * i + 1]}}}, {r};\n" for i, r in enumerate(d))
    body += "".join(f"\tst.global.b32 [%rd3+{4 * i}], {r};\n" for i, r in enumerate(registers[2]))
    parameters = ["x", "y", "z", "out"]
    text = kernel(body, parameters)
    if ta in ("e4m3", "e5m2") and (td == "f16" or k == 16):
        text = text.replace(".version 8.6", ".version 8.7")
    if family == "dots":
        return Dots(name, family, text, [a, b, c, out], [out], grid=count // 8, block=256, rows=min(64, count // 8))
    return Case(name, family, text, [a, b, c, out], [out], grid=count // 8, block=256)


MMA_TYPES = ([("m16n8k16", d, t, t, "") for d, t in (("f16", "f16"), ("f32", "f16"), ("f32", "bf16"))] +
             [("m16n8k8", d, t, t, "") for d, t in (("f16", "f16"), ("f32", "f16"), ("f32", "bf16"), ("f32", "tf32"))] +
             [("m16n8k4", "f32", "tf32", "tf32", "")] +
             [("m16n8k32", d, a, b, "") for d in ("f32",) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")] +
             [("m16n8k32", "s32", a, b, s) for a in ("s8", "u8") for b in ("s8", "u8") for s in ("", ".satfinite")])
MMA_SMALL = ([("m16n8k16", "f32", "e4m3", "e5m2", ""), ("m16n8k16", "f16", "e5m2", "e4m3", ""), ("m16n8k32", "f16", "e4m3", "e4m3", ""),
              ("m16n8k32", "f16", "e5m2", "e4m3", "")] +
             [("m16n8k16", "s32", "s8", "u8", ".satfinite"), ("m8n8k16", "s32", "s8", "s8", ""), ("m16n8k64", "s32", "s4", "u4", ""),
              ("m16n8k32", "s32", "u4", "u4", ".satfinite"), ("m8n8k32", "s32", "s4", "s4", ""), ("m16n8k256", "s32", "b1", "b1", ".and.popc"),
              ("m16n8k128", "s32", "b1", "b1", ".xor.popc"), ("m8n8k4", "f64", "f64", "f64", ""), ("m16n8k4", "f64", "f64", "f64", ""),
              ("m16n8k8", "f64", "f64", "f64", ""), ("m16n8k16", "f64", "f64", "f64", "")])


def wgmma(name, *arguments, family="wgmma", question=None, **options):
    return Deferred(name, family, question, lambda: make_wgmma(name, *arguments, family=family, question=question, **options))


def make_wgmma(name, n, td, ta, tb, count, a_registers=False, a_major=0, b_major=0, signs=(1, 1), swizzle=0, satfinite=False, scale_d="%p9",
          base_offset=None, family="wgmma", question=None, start=0, selector=None):
    """One warpgroup for each of `count` blocks: A of 64 rows in 2 KiB (or 4 registers), B of n rows in n * 32 bytes; both raw.

    swizzle: 0 none, 32, 64, 128: the descriptors then read inside a whole pattern, which the raw contents fill.
    selector: of a sparse A, whose rows of B are twice as long.
    """
    bits = BITS[ta]
    k = 256 // bits * (1 if selector is None else 2)
    half = td == "f16"
    rc = n // 4 if half else n // 2
    a_words, b_words = (512 if a_registers else 4096), 4096 * 4
    seed = sum(map(ord, name))
    a, b = blocks(seed, ta, a_words, count), blocks(seed + 1, tb, b_words, count)
    c = blocks(seed + 2, {"s32": "u4"}.get(td, td), rc * 128, count)
    out = np.zeros(count * rc * 128, np.uint32)
    body = ("\tmov.u32 %r1, tile;\n" + f"\tmul.lo.u32 %r2, %blk, {4 * b_words};\n\tshl.b32 %r3, %thr, 4;\n\tadd.s32 %r4, %r2, %r3;\n\tcvt.u64.u32 %rd1, %r4;\n\tadd.s64 %rd2, %y, %rd1;\n"
            "\tadd.s32 %r5, %r1, 16384;\n\tadd.s32 %r5, %r5, %r3;\n" +
            "".join(f"\tld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd2+{2048 * i}];\n\tst.shared.v4.b32 [%r5+{2048 * i}], {{%r10, %r11, %r12, %r13}};\n"
                    for i in range(32)))
    body += f"\tmul.lo.u32 %r2, %blk, {4 * a_words};\n\tadd.s32 %r4, %r2, %r3;\n\tcvt.u64.u32 %rd1, %r4;\n\tadd.s64 %rd2, %x, %rd1;\n\tadd.s32 %r5, %r1, %r3;\n"
    if a_registers:
        body += "\tld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd2];\n"
    else:
        body += "".join(f"\tld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd2+{2048 * i}];\n\tst.shared.v4.b32 [%r5+{2048 * i}], {{%r10, %r11, %r12, %r13}};\n"
                        for i in range(8))
    body += (f"\tmul.lo.u32 %r2, %blk, {rc * 512};\n\tmad.lo.u32 %r2, %thr, {4 * rc}, %r2;\n\tcvt.u64.u32 %rd1, %r2;\n\tadd.s64 %rd2, %z, %rd1;\n\tadd.s64 %rd3, %out, %rd1;\n" +
             "".join(f"\tld.global.b32 %r{30 + i}, [%rd2+{4 * i}];\n" for i in range(rc)) +
             "\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\tand.b32 %r6, %blk, 3;\n\tsetp.ne.u32 %p9, %r6, 3;\n")
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]

    def descriptor(register, major, rows, offset):
        if swizzle == 0:
            leading, stride = (128, 256 if selector is None or register == "%rd10" else 512) if major == 0 else (128 * max(1, rows // (16 * 8 // bits)), 128)
        elif major == 0:
            leading, stride = 16, 8 * swizzle
        else:
            leading, stride = swizzle * (256 // bits), 8 * swizzle
        high = stride >> 4 | mode << 30 | (base_offset << 17 if base_offset and register == "%rd10" else 0)
        return (f"\tadd.s32 %r7, %r1, {offset};\n\tshr.u32 %r7, %r7, 4;\n\tand.b32 %r7, %r7, 0x3FFF;\n\tor.b32 %r7, %r7, {leading >> 4 << 16};\n"
                f"\tmov.b64 {register}, {{%r7, {high}}};\n")

    if not a_registers:
        body += descriptor("%rd10", a_major, 64, start)
    body += descriptor("%rd11", b_major, n, 16384)
    accumulators = ", ".join(f"%r{30 + i}" for i in range(rc))
    a_text = "{%r20, %r21, %r22, %r23}" if a_registers else "%rd10"
    tail = "" if td == "s32" else f", {signs[0]}, {signs[1]}" + ("" if bits != 16 else f", {b_major}" if a_registers else f", {a_major}, {b_major}")
    sparse = meta = ""
    if selector is not None:
        from .sparse import metadata
        sparse, meta = ".sp", f", %r24, {selector}"
        body += "\tmad.lo.u32 %r2, %blk, 128, %thr;\n\tmul.wide.u32 %rd1, %r2, 4;\n\tadd.s64 %rd2, %m, %rd1;\n\tld.global.b32 %r24, [%rd2];\n"
        codes = metadata(np.random.default_rng(seed + 3), ta, count * 128)
    sat = ".satfinite" if satfinite else ".and.popc" if ta == "b1" else ""
    body += (f"\twgmma.fence.sync.aligned;\n\twgmma.mma_async{sparse}.sync.aligned.m64n{n}k{k}.{td}.{ta}.{tb}{sat} {{{accumulators}}}, {a_text}, %rd11{meta}, {scale_d}{tail};\n"
             "\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n")
    body = body.replace(f".{td}.{ta}.{tb}.satfinite", f".satfinite.{td}.{ta}.{tb}") if satfinite else body
    body += "".join(f"\tst.global.b32 [%rd3+{4 * i}], %r{30 + i};\n" for i in range(rc))
    text = kernel(body, ["x", "y", "z", *(["m"] if sparse else []), "out"], ".extern .shared .align 1024 .b8 tile[];\n", extra="\n.maxntid 128, 1, 1")
    arguments = [a, b, c, *([codes] if sparse else []), out]
    options = dict(grid=count, block=128, shared=16384 + 65536)
    if family == "dots":
        return Dots(name, family, text, arguments, [out], rows=count, **options)
    return Case(name, family, text, arguments, [out], question=question, **options)


WGMMA_TYPES = ([("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")] +
               [(d, a, b) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")] +
               [("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")])


def cases():
    for shape, td, ta, tb, extra in MMA_TYPES:
        if shape != "m16n8k32" or "satfinite" not in extra:
            yield mma_sync(shape, td, ta, tb, 64, extra)
    for shape, td, ta, tb, extra in MMA_SMALL:
        yield mma_sync(shape, td, ta, tb, 64, extra)
    for td, ta, tb in WGMMA_TYPES:
        yield wgmma(f"wgmma_{td}_{ta}_{tb}", 64, td, ta, tb, 4)
    for td, ta, tb in (("f32", "bf16", "bf16"), ("f16", "f16", "f16"), ("f32", "tf32", "tf32"), ("f32", "e4m3", "e5m2"), ("s32", "s8", "u8")):
        yield wgmma(f"wgmma_a_in_registers_{td}_{ta}", 96, td, ta, tb, 4, a_registers=True)
    for n, swizzle in ((24, 0), (64, 128), (256, 32)):
        yield wgmma(f"wgmma_b1_n{n}", n, "s32", "b1", "b1", 4, swizzle=swizzle)
    yield wgmma("wgmma_a_in_registers_b1", 96, "s32", "b1", "b1", 4, a_registers=True)
    for n in (8, 24, 104, 176, 256):
        yield wgmma(f"wgmma_n{n}", n, "f32", "f16", "f16", 4)
    for a_major, b_major in ((0, 1), (1, 0), (1, 1)):
        for swizzle in (0, 32, 64, 128):
            yield wgmma(f"wgmma_major_{a_major}{b_major}_swizzle_{swizzle}", 128, "f32", "bf16", "bf16", 4, a_major=a_major, b_major=b_major, swizzle=swizzle)
    for swizzle in (32, 64, 128):
        yield wgmma(f"wgmma_swizzle_{swizzle}", 128, "f32", "bf16", "bf16", 4, swizzle=swizzle)
        yield wgmma(f"wgmma_tf32_swizzle_{swizzle}", 64, "f32", "tf32", "tf32", 4, swizzle=swizzle)
    yield wgmma("wgmma_k_step_in_atom", 128, "f32", "bf16", "bf16", 4, swizzle=128, start=32)
    for signs in ((-1, 1), (1, -1), (-1, -1)):
        yield wgmma(f"wgmma_signs_{signs[0]}_{signs[1]}".replace("-", "m"), 32, "f32", "f16", "f16", 4, signs=signs)
    yield wgmma("wgmma_satfinite", 64, "s32", "u8", "u8", 4, satfinite=True)
    for base in (0, 2, 5):
        yield wgmma(f"wgmma_base_offset_{base}", 64, "f32", "bf16", "bf16", 4, swizzle=128, base_offset=base, start=256,
                    question="A starts 256 bytes behind a pattern boundary, base offset as named. Assumed: line = ((address >> 7) - base) & 7.")
    # A million dot products of each type: one instruction each, 64 blocks of 64 x 256, or 8192 warps of 16 x 8.
    for td, ta, tb in WGMMA_TYPES:
        yield wgmma(f"dots_wgmma_{td}_{ta}_{tb}", 256, td, ta, tb, 64, family="dots")
    for td, ta, tb in (("s32", "s8", "s8"), ("s32", "u8", "u8")):
        yield wgmma(f"dots_wgmma_satfinite_{ta}", 256, td, ta, tb, 64, family="dots", satfinite=True)
    for shape, td, ta, tb, extra in MMA_TYPES:
        yield mma_sync(shape, td, ta, tb, 8192, extra, family="dots", name=f"dots_mma_{shape}_{td}_{ta}_{tb}{extra.replace('.', '_')}")
