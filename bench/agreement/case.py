"""What a comparison is made of: a kernel, its launch, its inputs, and how its outputs must agree."""

import numpy as np

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"


class Map:
    """A tensor map over an array. Everything innermost first; `strides` in bytes, of dimensions 1 and up.

    type: the driver's enumeration (0 u8, 1 u16, 2 u32, 6 f16, 7 f32, 8 f64, 9 bf16, 10 f32_ftz, 11 tf32, 12 tf32_ftz ...).
    """

    def __init__(self, array, type, dims, box, strides=(), swizzle=0, fill=0, offset=0):
        self.array, self.type, self.dims, self.box, self.strides = array, type, tuple(dims), tuple(box), tuple(strides)
        self.swizzle, self.fill, self.offset = swizzle, fill, offset


class Case:
    """outputs: those arrays among `arguments` that are compared.

    tolerance: {array index among outputs: rule}, where no rule means equal bits. A rule is ("ulp", n) or ("relative", r) or
    ("absolute", a) on the float type of the array; ("either", r, a): relative or absolute.
    question: for cases that ask the hardware what no document says. refused: both are to end with an error.
    """

    def __init__(self, name, family, ptx, arguments, outputs, grid=1, block=32, cluster=1, shared=0, tolerance=None, question=None,
                 entry="k", refused=False):
        self.name, self.family, self.ptx, self.arguments, self.outputs = name, family, ptx, arguments, outputs
        self.grid, self.block, self.cluster, self.shared = grid, block, cluster, shared
        self.tolerance, self.question, self.entry, self.refused = tolerance or {}, question, entry, refused

    def reduce(self, outputs):
        """What is kept of the outputs (cases of many values keep digests)."""
        return outputs


class Deferred:
    """A case that is made when it is needed: `make()` gives the Case."""

    tolerance, refused = {}, False

    def __init__(self, name, family, question, make):
        self.name, self.family, self.question, self.make = name, family, question, make


def kernel(body, parameters, declarations="", registers="", cluster=1, extra=""):
    """A module with one entry `k`. parameters: names of 64-bit parameters, or (name, "map") for tensor maps."""
    listed = []
    for p in parameters:
        listed.append(f".param .align 64 .b8 {p[0]}[128]" if isinstance(p, tuple) else f".param .u64 {p}")
    directives = f"\n.explicitcluster\n.reqnctapercluster {cluster}, 1, 1" if cluster > 1 else ""
    loads = "".join(f"\tld.param.u64 %{p}, [{p}];\n" for p in parameters if not isinstance(p, tuple))
    loads += "".join(f"\tmov.b64 %{p[0]}, {p[0]};\n\tcvta.param.u64 %{p[0]}, %{p[0]};\n" for p in parameters if isinstance(p, tuple))
    names = ", ".join("%" + (p[0] if isinstance(p, tuple) else p) for p in parameters)
    return (f"{HEADER}{declarations}\n.visible .entry k({', '.join(listed)}){directives}{extra}\n{{\n"
            f"\t.reg .pred %p<32>; .reg .b16 %h<64>; .reg .b32 %r<320>; .reg .b64 %rd<64>; .reg .f32 %f<16>; .reg .f64 %fd<8>;\n"
            f"\t.reg .b64 {names};\n\t.reg .b32 %thr, %blk, %lan;\n{registers}{loads}"
            f"\tmov.u32 %thr, %tid.x;\n\tmov.u32 %blk, %ctaid.x;\n\tmov.u32 %lan, %laneid;\n{body}\n\tret;\n}}\n")


def elementwise(name, family, operations, inputs, bits=32, out_bits=32, tolerance=None):
    """One kernel that applies each operation to (%a, %b, %c) of every element and stores %d.

    operations: PTX text, one result each. inputs: three arrays of equal length, of `bits` bits. out[i][k] is operation i on element k.
    """
    a, b, c = (np.ascontiguousarray(x) for x in inputs)
    n = len(a)
    assert n % 256 == 0
    size, out_size = bits // 8, out_bits // 8
    body = (f"\tmad.lo.u32 %r1, %blk, 256, %thr;\n\tmul.wide.u32 %rd1, %r1, {size};\n\tmul.wide.u32 %rd2, %r1, {out_size};\n"
            f"\tadd.s64 %rd3, %x, %rd1;\n\tadd.s64 %rd4, %y, %rd1;\n\tadd.s64 %rd5, %z, %rd1;\n\tadd.s64 %rd6, %out, %rd2;\n"
            f"\tld.global.b{bits} %a, [%rd3];\n\tld.global.b{bits} %b, [%rd4];\n\tld.global.b{bits} %c, [%rd5];\n")
    for i, operation in enumerate(operations):
        body += (f"\t{{ {operation} }}\n\tst.global.b{out_bits} [%rd6+{i * n * out_size}], %d;\n")
    out = np.zeros((len(operations), n), f"u{out_size}")
    registers = f"\t.reg .b{bits} %a, %b, %c;\n\t.reg .b{out_bits} %d;\n\t.reg .pred %q, %s;\n"
    return Case(name, family, kernel(body, ["x", "y", "z", "out"], registers=registers), [a, b, c, out], [out], grid=n // 256, block=256,
                tolerance={0: tolerance} if tolerance else None)


def f32_values(rng, n):
    """Bit patterns of f32: a third random bits, a third of moderate size, the rest special values and their neighbours."""
    special = np.array([0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x3F7FFFFF, 0x3F800001, 0x40000000, 0x7F7FFFFF, 0x7F800000,
                        0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x7FA57A80, 0x7FE51234, 0x4B000000, 0x4B800000, 0x4F000000, 0x4EFFFFFF, 0x5F000000, 0x3F000000,
                        0x3FC00000, 0x40200000, 0x33800000, 0x34000000, 0x38800000, 0x387FFFFF, 0x477FE000, 0x477FF000], np.uint32)
    special = np.concatenate([special, special | 0x80000000])
    moderate = (rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))).astype(np.float32).view(np.uint32)
    choice = rng.integers(0, 3, n)
    return np.where(choice == 0, rng.integers(0, 1 << 32, n).astype(np.uint32), np.where(choice == 1, moderate, rng.choice(special, n)))


def f64_values(rng, n):
    moderate = (rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))).view(np.uint64)
    special = np.array([0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FF0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
                        0x7FF8000000000000, 0x7FF0000000000001, 0x7FF4123456789ABC, 0x7FFC0FEDCBA98765, 0x4330000000000000, 0x43E0000000000000, 0x41E0000000000000, 0x36A0000000000000,
                        0x380FFFFFE0000000, 0x47EFFFFFF0000000], np.uint64)
    special = np.concatenate([special, special | np.uint64(1 << 63)])
    choice = rng.integers(0, 3, n)
    return np.where(choice == 0, rng.integers(0, 1 << 63, n).astype(np.uint64) * np.uint64(2) + rng.integers(0, 2, n).astype(np.uint64),
                    np.where(choice == 1, moderate, rng.choice(special, n)))


def int_values(rng, n, bits):
    edges = np.array([0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 31, 32, 33, 255, 128], object)
    random = rng.integers(0, 1 << 62, n).astype(object) * 4 + rng.integers(0, 4, n).astype(object)
    random = np.array([int(v) >> int(s) for v, s in zip(random % (1 << bits), rng.integers(0, bits, n))], object)
    chosen = np.where(rng.integers(0, 4, n) == 0, rng.choice(edges, n), random)
    return chosen.astype(np.uint64).astype(f"u{bits // 8}")
