"""Arithmetic, comparison and conversion of single values (PTX ISA 9.7.1 to 9.7.9): all rounding modes, saturation, ftz, full ranges."""

import numpy as np

from .case import elementwise, f32_values, f64_values, int_values

N = 1 << 14


def inputs(make, seed, *more):
    rng = np.random.default_rng(seed)
    return [make(rng, N, *more) for _ in range(3)]


def every(template, *choices):
    """All expansions of {0}, {1}, ... by the choices."""
    texts = [()]
    for options in choices:
        texts = [text + (option,) for text in texts for option in options]
    return [template.format(*text) for text in texts]


def integers():
    family = "integer"
    w = inputs(int_values, 1, 32)
    yield elementwise("int32_add", family, every("{0}.{1} %d, %a, %b;", ["add", "sub"], ["u32", "s32"]) + [
        "add.sat.s32 %d, %a, %b;", "sub.sat.s32 %d, %a, %b;", "add.cc.u32 %d, %a, %b; addc.u32 %d, %c, 0;",
        "sub.cc.u32 %d, %a, %b; subc.u32 %d, %c, 0;", "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, %c;",
        "neg.s32 %d, %a;", "abs.s32 %d, %a;", "sad.u32 %d, %a, %b, %c;", "sad.s32 %d, %a, %b, %c;"], w)
    yield elementwise("int32_mul", family, every("mul.{0}.{1} %d, %a, %b;", ["lo", "hi"], ["u32", "s32"]) +
                      every("mad.{0}.{1} %d, %a, %b, %c;", ["lo", "hi"], ["u32", "s32"]) + ["mad.hi.sat.s32 %d, %a, %b, %c;"] +
                      every("mul24.{0}.{1} %d, %a, %b;", ["lo", "hi"], ["u32", "s32"]) +
                      every("mad24.{0}.{1} %d, %a, %b, %c;", ["lo", "hi"], ["u32", "s32"]), w)
    divided = [w[0], w[1] | 1, w[2]]
    yield elementwise("int32_div", family, every("{0}.{1} %d, %a, %b;", ["div", "rem"], ["u32", "s32"]), divided)
    yield elementwise("int32_minmax", family, every("{0}.{1} %d, %a, %b;", ["min", "max"], ["u32", "s32"]) + [
        "min.relu.s32 %d, %a, %b;", "max.relu.s32 %d, %a, %b;"] +
        every("{0}.{1} %d, %a, %b;", ["add", "min", "max"], ["u16x2", "s16x2"]) + ["min.relu.s16x2 %d, %a, %b;", "cvt.pack.sat.s16.s32 %d, %a, %b;", "cvt.pack.sat.u16.s32 %d, %a, %b;",
                                                                     "cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c;", "cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;"], w)
    yield elementwise("int32_bits", family, ["popc.b32 %d, %a;", "clz.b32 %d, %a;", "brev.b32 %d, %a;", "bfind.u32 %d, %a;",
                                             "bfind.s32 %d, %a;", "bfind.shiftamt.u32 %d, %a;", "bfind.shiftamt.s32 %d, %a;",
                                             "bfe.u32 %d, %a, %b, %c;", "bfe.s32 %d, %a, %b, %c;", "bfi.b32 %d, %a, %b, %c, 7;",
                                             "bfi.b32 %d, %a, %b, 5, %c;", "bmsk.clamp.b32 %d, %a, %b;", "bmsk.wrap.b32 %d, %a, %b;",
                                             "szext.clamp.s32 %d, %a, %b;", "szext.wrap.u32 %d, %a, %b;",
                                             "fns.b32 %d, %a, 3, 2;"], w)
    yield elementwise("int32_shift", family, ["shl.b32 %d, %a, %b;", "shr.u32 %d, %a, %b;", "shr.s32 %d, %a, %b;"] +
                      every("shf.{0}.{1}.b32 %d, %a, %b, %c;", ["l", "r"], ["clamp", "wrap"]) + ["prmt.b32 %d, %a, %b, %c;"] +
                      every("prmt.b32.{0} %d, %a, %b, %c;", ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]), w)
    yield elementwise("int32_logic", family, every("{0}.b32 %d, %a, %b;", ["and", "or", "xor"]) + ["not.b32 %d, %a;", "cnot.b32 %d, %a;"] +
                      [f"lop3.b32 %d, %a, %b, %c, {i};" for i in (0x00, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xFF)], w)
    yield elementwise("int32_dot", family, every("dp4a.{0}.{1} %d, %a, %b, %c;", ["u32", "s32"], ["u32", "s32"]) +
                      every("dp2a.{2}.{0}.{1} %d, %a, %b, %c;", ["u32", "s32"], ["u32", "s32"], ["lo", "hi"]), w)
    yield elementwise("int32_compare", family, every("setp.{0}.{1} %q, %a, %b; selp.b32 %d, 1, 0, %q;",
                                                     ["eq", "ne", "lt", "le", "gt", "ge"], ["u32", "s32"]) +
                      every("setp.{0}.u32 %q, %a, %b; selp.b32 %d, 1, 0, %q;", ["lo", "ls", "hi", "hs"]) +
                      every("setp.lt.{0}.u32 %q|%s, %a, %b, %s; selp.b32 %d, %a, %c, %q;", ["and", "or", "xor"])[:0] +
                      ["set.lt.u32.s32 %d, %a, %b;", "set.ge.s32.u32 %d, %a, %b;", "set.eq.f32.u32 %d, %a, %b;",
                       "slct.s32.s32 %d, %a, %b, %c;", "slct.u32.f32 %d, %a, %b, %c;"], w)
    wide = inputs(int_values, 2, 64)
    yield elementwise("int64", family, every("{0}.{1} %d, %a, %b;", ["add", "sub", "min", "max", "mul.lo", "mul.hi"], ["u64", "s64"]) + [
        "mad.lo.s64 %d, %a, %b, %c;", "mad.hi.u64 %d, %a, %b, %c;", "neg.s64 %d, %a;", "abs.s64 %d, %a;", "not.b64 %d, %a;",
        "brev.b64 %d, %a;", "and.b64 %d, %a, %b;", "xor.b64 %d, %a, %b;",
        "{ .reg .b32 %s3; cvt.u32.u64 %s3, %b; shl.b64 %d, %a, %s3; }", "{ .reg .b32 %s3; cvt.u32.u64 %s3, %b; shr.u64 %d, %a, %s3; }",
        "{ .reg .b32 %s3; cvt.u32.u64 %s3, %b; shr.s64 %d, %a, %s3; }",
        "{ .reg .b32 %s3, %s4; cvt.u32.u64 %s3, %b; cvt.u32.u64 %s4, %c; bfe.u64 %d, %a, %s3, %s4; }",
        "{ .reg .b32 %s3, %s4; cvt.u32.u64 %s3, %b; cvt.u32.u64 %s4, %c; bfe.s64 %d, %a, %s3, %s4; }",
        "{ .reg .b32 %s3; popc.b64 %s3, %a; cvt.u64.u32 %d, %s3; }", "{ .reg .b32 %s3; clz.b64 %s3, %a; cvt.u64.u32 %d, %s3; }",
        "add.cc.u64 %d, %a, %b; addc.u64 %d, %c, 0;",
        "{ .reg .b32 %s3, %s4; cvt.u32.u64 %s3, %b; cvt.u32.u64 %s4, %c; bfi.b64 %d, %a, %b, %s3, %s4; }"] +
        every("{{ .reg .b32 %s3; bfind{0}.{1} %s3, %a; cvt.u64.u32 %d, %s3; }}", ["", ".shiftamt"], ["u64", "s64"]), wide, 64, 64)
    yield elementwise("int64_div", family, every("{0}.{1} %d, %a, %b;", ["div", "rem"], ["u64", "s64"]),
                      [wide[0], wide[1] | np.uint64(1), wide[2]], 64, 64)
    yield elementwise("int_widening", family, every("mul.wide.{0} %d, %a, %b;", ["u32", "s32"]) + [
        "{ .reg .b64 %w; cvt.s64.s32 %w, %c; mad.wide.s32 %d, %a, %b, %w; }", "mov.b64 %d, {%a, %b};"], w, 32, 64)
    short = inputs(int_values, 3, 16)
    yield elementwise("int16", family, every("{0}.{1} %d, %a, %b;", ["add", "sub", "min", "max", "mul.lo", "mul.hi"], ["u16", "s16"]) + [
        "mad.lo.s16 %d, %a, %b, %c;", "neg.s16 %d, %a;", "abs.s16 %d, %a;", "not.b16 %d, %a;", "xor.b16 %d, %a, %b;",
        "setp.lt.s16 %q, %a, %b; selp.b16 %d, %a, %b, %q;"] +
        every("{{ .reg .b32 %s3; cvt.u32.u16 %s3, %b; {0} %d, %a, %s3; }}", ["shl.b16", "shr.u16", "shr.s16"]), short, 16, 16)


def floats():
    family = "f32"
    x = inputs(f32_values, 4)
    modes = ["rn", "rz", "rm", "rp"]
    yield elementwise("f32_add", family, every("{0}.{1}{2}.f32 %d, %a, %b;", ["add", "sub", "mul"], modes, ["", ".ftz", ".sat", ".ftz.sat"]), x)
    yield elementwise("f32_fma", family, every("fma.{0}{1}.f32 %d, %a, %b, %c;", modes, ["", ".ftz", ".sat", ".ftz.sat"]), x)
    yield elementwise("f32_div", family, every("div.{0}{1}.f32 %d, %a, %b;", modes, ["", ".ftz"]) +
                      every("{0}.{1}{2}.f32 %d, %a;", ["rcp", "sqrt"], modes, ["", ".ftz"]), x)
    yield elementwise("f32_tiny", family, every("{0}.{1}{2}.f32 %d, %a, %b;", ["mul", "div"], modes, ["", ".ftz"]) +
                      every("fma.{0}{1}.f32 %d, %a, %b, %c;", modes, ["", ".ftz", ".ftz.sat"]) +
                      every("rcp.{0}.ftz.f32 %d, %c;", modes), tiny(32, 8, 23))
    yield elementwise("f32_minmax", family, every("{0}{1}{2}.f32 %d, %a, %b;", ["min", "max"], ["", ".ftz"], ["", ".NaN", ".xorsign.abs",
                                                                                                          ".NaN.xorsign.abs"]) +
                      ["abs.f32 %d, %a;", "abs.ftz.f32 %d, %a;", "neg.f32 %d, %a;", "neg.ftz.f32 %d, %a;", "copysign.f32 %d, %a, %b;"], x)
    yield elementwise("f32_compare", family, every("setp.{0}{1}.f32 %q, %a, %b; selp.b32 %d, 1, 0, %q;",
                                                   ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
                                                    "nan"], ["", ".ftz"]) +
                      every("testp.{0}.f32 %q, %a; selp.b32 %d, 1, 0, %q;", ["finite", "infinite", "number", "notanumber", "normal",
                                                                           "subnormal"]) +
                      ["set.gt.u32.f32 %d, %a, %b;", "set.le.f32.f32 %d, %a, %b;"], x)
    full = [np.linspace(0, 2**32 - 1, N).astype(np.uint32), x[1], x[2]]
    yield elementwise("f32_rcp_approx", "approximate", every("rcp.approx{0}.f32 %d, %a;", ["", ".ftz"]), full, tolerance=("ulp", 1))
    yield elementwise("f32_rsqrt_approx", "approximate", every("rsqrt.approx{0}.f32 %d, %a;", ["", ".ftz"]), full,
                      tolerance=("relative", 2**-22.4))
    yield elementwise("f32_sqrt_approx", "approximate", every("sqrt.approx{0}.f32 %d, %a;", ["", ".ftz"]), full,
                      tolerance=("relative", 2**-22.9))
    yield elementwise("f32_div_approx", "approximate", ["div.full.f32 %d, %a, %b;", "div.full.ftz.f32 %d, %a, %b;"],
                      [moderate(5), moderate(6), x[2]], tolerance=("ulp", 2))
    yield elementwise("f32_div_approx_2", "approximate", ["div.approx.f32 %d, %a, %b;", "div.approx.ftz.f32 %d, %a, %b;"],
                      [moderate(5), moderate(6), x[2]], tolerance=("ulp", 2))
    yield elementwise("f32_ex2_approx", "approximate", every("ex2.approx{0}.f32 %d, %a;", ["", ".ftz"]), full, tolerance=("ulp", 2))
    yield elementwise("f32_lg2_approx", "approximate", every("lg2.approx{0}.f32 %d, %a;", ["", ".ftz"]), full,
                      tolerance=("either", 2**-22, 2**-22))
    angles = [np.linspace(-np.pi, np.pi, N).astype(np.float32).view(np.uint32), x[1], x[2]]
    yield elementwise("f32_sin_approx", "approximate", ["sin.approx.f32 %d, %a;"], angles, tolerance=("absolute", 2**-20.5))
    yield elementwise("f32_cos_approx", "approximate", ["cos.approx.f32 %d, %a;"], angles, tolerance=("absolute", 2**-20.5))
    yield elementwise("f32_tanh_approx", "approximate", ["tanh.approx.f32 %d, %a;"], full, tolerance=("relative", 2**-10.9))
    y = inputs(f64_values, 7)
    yield elementwise("f64_arithmetic", "f64", every("{0}.{1}.f64 %d, %a, %b;", ["add", "sub", "mul", "div"], modes) +
                      every("fma.{0}.f64 %d, %a, %b, %c;", modes) + every("{0}.{1}.f64 %d, %a;", ["rcp", "sqrt"], modes) +
                      ["min.f64 %d, %a, %b;", "max.f64 %d, %a, %b;", "abs.f64 %d, %a;", "neg.f64 %d, %a;", "copysign.f64 %d, %a, %b;"] +
                      every("setp.{0}.f64 %q, %a, %b; selp.b64 %d, %a, %b, %q;", ["eq", "lt", "geu", "nan"]), y, 64, 64)
    yield elementwise("f64_compare", "f64", every("setp.{0}.f64 %q, %a, %b; selp.b64 %d, 1, 0, %q;",
                                                  ["ne", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "num"]) +
                      every("testp.{0}.f64 %q, %a; selp.b64 %d, 1, 0, %q;", ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]) +
                      ["{ .reg .b32 %s3; set.lt.u32.f64 %s3, %a, %b; cvt.u64.u32 %d, %s3; }", "{ .reg .f32 %s3; cvt.rz.f32.f64 %s3, %c; slct.f64.f32 %d, %a, %b, %s3; }"],
                      y, 64, 64)
    yield elementwise("f64_approx", "approximate", ["rcp.approx.ftz.f64 %d, %a;", "rsqrt.approx.ftz.f64 %d, %a;"],
                      [(2.0 + np.random.default_rng(8).random(N)).view(np.uint64)] * 3, 64, 64, tolerance=("relative", 2**-19))


def tiny(bits, exponent_bits, fraction):
    """Products, quotients (a and b) and sums (a * b + c) just above and below the smallest normal of a format."""
    rng, bias = np.random.default_rng(31), (1 << (exponent_bits - 1)) - 1
    first, low = rng.integers(0, 2, N) == 0, (bias - fraction) // 2
    mantissa = lambda: rng.integers(0, 1 << fraction, N)
    a = np.where(first, (1 << fraction) + rng.integers(0, 9, N), (low << fraction) + mantissa())
    b = np.where(first, (bias << fraction) + rng.integers(-16, 17, N), ((bias - fraction - low + rng.integers(-1, 3, N)) << fraction) + mantissa())
    c = np.where(first, ((2 * bias - 1) << fraction) + rng.integers(-9, 9, N), (1 << fraction) + rng.integers(0, 4, N))
    sign = lambda: rng.integers(0, 2, N) << (bits - 1)
    return [(x | sign()).astype(np.int64).astype(f"u{bits // 8}") for x in (a, b, c)]


def moderate(seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(N) * np.exp2(rng.integers(-20, 20, N))).astype(np.float32).view(np.uint32)


def halves():
    h = inputs(int_values, 9, 16)
    plain = [np.random.default_rng(10 + i).integers(0, 1 << 16, N).astype(np.uint16) for i in range(3)]
    plain[0] = (np.arange(N) * 4 + np.arange(N) // 4096).astype(np.uint16)
    for t, ftz in (("f16", ["", ".ftz"]), ("bf16", [""])):
        saturating = ["", ".sat"] if t == "f16" else [""]
        yield elementwise(f"{t}_arithmetic", "f16 and bf16", every("{0}.rn{1}{2}." + t + " %d, %a, %b;", ["add", "sub", "mul"], ftz, saturating) +
                          every("fma.rn{0}{1}." + t + " %d, %a, %b, %c;", ftz, saturating + [".relu"]) +
                          every("{0}{1}{2}." + t + " %d, %a, %b;", ["min", "max"], ftz, ["", ".NaN", ".xorsign.abs"]) +
                          every("{0}{1}." + t + " %d, %a;", ["abs", "neg"], ftz), plain, 16, 16)
        packed = [np.random.default_rng(20 + i).integers(0, 1 << 32, N).astype(np.uint32) for i in range(3)]
        yield elementwise(f"{t}x2_arithmetic", "f16 and bf16", every("{0}.rn{1}{2}." + t + "x2 %d, %a, %b;", ["add", "sub", "mul"], ftz,
                                                                   saturating) +
                          every("fma.rn{0}{1}." + t + "x2 %d, %a, %b, %c;", ftz, saturating + [".relu"]) +
                          every("{0}{1}{2}." + t + "x2 %d, %a, %b;", ["min", "max"], ftz, ["", ".NaN"]) +
                          every("{0}{1}." + t + "x2 %d, %a;", ["abs", "neg"], ftz) +
                          ["set.lt." + t + "x2." + t + "x2 %d, %a, %b;", "set.geu." + t + "x2." + t + "x2 %d, %a, %b;"], packed)
        yield elementwise(f"{t}_compare", "f16 and bf16", every("setp.{0}." + t + " %q, %a, %b; selp.b16 %d, 1, 0, %q;",
                                                               ["eq", "ne", "lt", "le", "gt", "ge", "equ", "ltu", "num", "nan"]), plain, 16, 16)
    yield elementwise("f16_tiny", "f16 and bf16", every("{0}.rn{1}.f16 %d, %a, %b;", ["mul", "add"], ["", ".ftz"]) +
                      every("fma.rn{0}{1}.f16 %d, %a, %b, %c;", ["", ".ftz"], ["", ".sat", ".relu"]), tiny(16, 5, 10), 16, 16)
    yield elementwise("f16_approx", "approximate", ["ex2.approx.f16 %d, %a;", "tanh.approx.f16 %d, %a;"], plain, 16, 16,
                      tolerance=("half", "f16", 2**-9.8, 2**-10.9))
    yield elementwise("bf16_approx", "approximate", ["ex2.approx.ftz.bf16 %d, %a;", "tanh.approx.bf16 %d, %a;"], plain, 16, 16,
                      tolerance=("half", "bf16", 2**-7, 2**-8))
    assert len(h) == 3


def conversions():
    family = "cvt"
    x, w, y, q = inputs(f32_values, 11), inputs(int_values, 12, 32), inputs(f64_values, 13), inputs(int_values, 14, 64)
    rounds = ["rni", "rzi", "rmi", "rpi"]
    yield elementwise("cvt_f32_int32", family, every("cvt.{0}{1}.{2}.f32 %d, %a;", rounds, ["", ".ftz", ".sat"], ["s32", "u32"]) +
                      every("{{ .reg .b16 %s3; cvt.{0}.{1}.f32 %s3, %a; cvt.u32.u16 %d, %s3; }}", rounds, ["s16", "u16"]) +
                      every("cvt.{0}.{1}.f32 %d, %a;", ["rzi"], ["s8", "u8"]), x)
    yield elementwise("cvt_f32_int64", family, every("cvt.{0}.{1}.f32 %d, %a;", rounds, ["s64", "u64"]), x, 32, 64)
    yield elementwise("cvt_int32_f32", family, every("cvt.{0}.f32.{1} %d, %a;", ["rn", "rz", "rm", "rp"], ["s32", "u32"]) +
                      every("cvt.rn.f32.{0} %d, %a;", ["s8", "u8"]) + every("cvt.{0}.{1} %d, %a;", ["s32", "u32"], ["s8", "u8"]) +
                      every("cvt.sat.{0}.{1} %d, %a;", ["s8", "u8"], ["s32", "u32"]) +
                      ["cvt.sat.s32.u32 %d, %a;", "cvt.sat.u32.s32 %d, %a;"] +
                      every("{{ .reg .b16 %s3; cvt.rn.f16.{0} %s3, %a; cvt.u32.u16 %d, %s3; }}", ["s32", "u32"]), w)
    yield elementwise("cvt_int64_f32", family, every("{{ .reg .b32 %s3; cvt.{0}.f32.{1} %s3, %a; cvt.u64.u32 %d, %s3; }}",
                                                     ["rn", "rz", "rm", "rp"], ["s64", "u64"]) +
                      every("cvt.{0}.f64.{1} %d, %a;", ["rn", "rz", "rm", "rp"], ["s64", "u64"]) +
                      every("{{ .reg .b32 %s3; cvt.sat.{0}.{1} %s3, %a; cvt.u64.u32 %d, %s3; }}", ["s32", "u32"], ["s64", "u64"]), q, 64, 64)
    yield elementwise("cvt_f64", family, every("{{ .reg .b32 %s3; cvt.{0}{1}.f32.f64 %s3, %a; cvt.u64.u32 %d, %s3; }}",
                                               ["rn", "rz", "rm", "rp"], ["", ".ftz", ".sat"]) +
                      every("cvt.{0}.{1}.f64 %d, %a;", rounds, ["s64", "u64"]) + every("cvt.{0}.f64.f64 %d, %a;", rounds) +
                      every("{{ .reg .b32 %s3; cvt.{0}.{1}.f64 %s3, %a; cvt.u64.u32 %d, %s3; }}", rounds, ["s32", "u32"]) +
                      ["{ .reg .b16 %s3; cvt.rn.f16.f64 %s3, %a; cvt.u64.u16 %d, %s3; }"], y, 64, 64)
    yield elementwise("cvt_f32_f32", family, every("cvt.{0}{1}.f32.f32 %d, %a;", rounds, ["", ".ftz", ".sat"]) +
                      ["cvt.sat.f32.f32 %d, %a;", "cvt.ftz.sat.f32.f32 %d, %a;"], x)
    yield elementwise("cvt_f32_half", family, every("{{ .reg .b16 %s3; cvt.{0}{1}.f16.f32 %s3, %a; cvt.u32.u16 %d, %s3; }}",
                                                    ["rn", "rz", "rm", "rp"], ["", ".ftz", ".sat"]) +
                      every("{{ .reg .b16 %s3; cvt.{0}{1}.{2}.f32 %s3, %a; cvt.u32.u16 %d, %s3; }}", ["rn", "rz"], ["", ".relu"],
                            ["f16", "bf16"]) +
                      every("cvt.{0}{1}.{2}.f32 %d, %a, %b;", ["rn", "rz"], ["", ".relu"], ["f16x2", "bf16x2"]) +
                      ["cvt.rna.tf32.f32 %d, %a;", "cvt.rn.tf32.f32 %d, %a;", "cvt.rz.tf32.f32 %d, %a;", "cvt.rn.relu.tf32.f32 %d, %a;"], x)
    near = (np.random.default_rng(32).integers(-(3 << 28), 3 << 28, N) + (0x381 << 52)).astype(np.uint64) | y[1] & np.uint64(1 << 63)
    yield elementwise("cvt_tiny", family, every("{{ .reg .b32 %s3; cvt.{0}{1}.f32.f64 %s3, %a; cvt.u64.u32 %d, %s3; }}",
                                                ["rn", "rz", "rm", "rp"], ["", ".ftz"]), [near] * 3, 64, 64)
    yield elementwise("cvt_f64_from", family, ["cvt.f64.f32 %d, %a;", "cvt.ftz.f64.f32 %d, %a;"] +
                      every("{{ .reg .b16 %s3, %s4; mov.b32 {{%s3, %s4}}, %a; cvt.f64.{0} %d, %s4; }}", ["f16", "bf16"]), x, 32, 64)
    yield elementwise("cvt_bf16_f64", family, ["{ .reg .b16 %s3; cvt.rn.bf16.f64 %s3, %a; cvt.u64.u16 %d, %s3; }"], y, 64, 64)
    h = [np.arange(1 << 16).astype(np.uint32)] * 3
    yield elementwise("cvt_half_half", family, every("{{ .reg .b16 %s3, %s4; mov.b32 {{%s3, %s4}}, %a; {0} %s4, %s3; cvt.u32.u16 %d, %s4; }}",
                                                     ["cvt.rn.bf16.f16", "cvt.rn.f16.bf16", "cvt.rni.bf16.bf16", "cvt.rzi.bf16.bf16", "cvt.sat.f16.f16"]) +
                      every("{{ .reg .b16 %s3, %s4; .reg .b64 %l; mov.b32 {{%s3, %s4}}, %a; cvt.{0}.{1}.{2} %l, %s3; cvt.u32.u64 %d, %l; }}",
                            ["rni", "rzi"], ["s64", "u64"], ["f16", "bf16"]) +
                      every("{{ .reg .b16 %s3, %s4; mov.b32 {{%s3, %s4}}, %a; cvt.{0}.{1}.bf16 %d, %s3; }}", ["rni", "rmi"], ["s32", "u32"]), h)
    yield elementwise("cvt_int_half", family, every("{{ .reg .b16 %s3; cvt.{0}.{1}.{2} %s3, %a; cvt.u32.u16 %d, %s3; }}", ["rn", "rz", "rm", "rp"],
                                                    ["f16", "bf16"], ["s32", "u32"]) +
                      every("{{ .reg .b16 %s3; .reg .b64 %l; cvt.{1}.{2} %l, %a; cvt.rn.{0}.{1} %s3, %l; cvt.u32.u16 %d, %s3; }}",
                            ["f16", "bf16"], ["s64", "u64"], ["s32", "u32"]), w)
    yield elementwise("cvt_half_f32", family, ["{ .reg .b16 %s3, %s4; mov.b32 {%s3, %s4}, %a; cvt.f32.f16 %d, %s3; }",
                                               "{ .reg .b16 %s3, %s4; mov.b32 {%s3, %s4}, %a; cvt.ftz.f32.f16 %d, %s3; }",
                                               "{ .reg .b16 %s3, %s4; mov.b32 {%s3, %s4}, %a; cvt.f32.bf16 %d, %s3; }"] +
                      every("{{ .reg .b16 %s3, %s4; mov.b32 {{%s3, %s4}}, %a; cvt.{0}.{1}.f16 %d, %s3; }}", rounds, ["s32", "u32"]) +
                      every("{{ .reg .b16 %s3, %s4; mov.b32 {{%s3, %s4}}, %a; cvt.{0}.f16.f16 %s3, %s3; cvt.u32.u16 %d, %s3; }}", rounds), h)
    yield elementwise("cvt_f32_fp8", family, every("{{ .reg .b16 %s3; cvt.rn.satfinite{0}.{1}.f32 %s3, %a, %b; cvt.u32.u16 %d, %s3; }}",
                                                   ["", ".relu"], ["e4m3x2", "e5m2x2"]), x)
    yield elementwise("cvt_half_fp8", family, every("{{ .reg .b16 %s3; cvt.rn.satfinite{0}.{1}.f16x2 %s3, %a; cvt.u32.u16 %d, %s3; }}",
                                                    ["", ".relu"], ["e4m3x2", "e5m2x2"]), h)
    yield elementwise("cvt_fp8_half", family, every("{{ .reg .b16 %s3, %s4; mov.b32 {{%s3, %s4}}, %a; cvt.rn{0}.f16x2.{1} %d, %s3; }}",
                                                    ["", ".relu"], ["e4m3x2", "e5m2x2"]), h)


def cases():
    for family in (integers, floats, halves, conversions):
        yield from family()
