//===- ScalarTest.cpp - Integer, float, compare, convert ------------------===//
//
// One expected value for each instruction and its special cases, from the PTX ISA's definitions.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace tileloom::sim;

TEST(Integer, Arithmetic) {
  EXPECT_EQ(lane0("add.s32 %d, %a, %b;", 5, ~0u), 4u);
  EXPECT_EQ(lane0("add.sat.s32 %d, %a, %b;", 0x7FFFFFFF, 1), 0x7FFFFFFFu);
  EXPECT_EQ(lane0("sub.sat.s32 %d, %a, %b;", 0x80000000, 1), 0x80000000u);
  EXPECT_EQ(lane0("mul.lo.s32 %d, %a, %b;", 0x10001, 0x10001), 0x20001u);
  EXPECT_EQ(lane0("mul.hi.u32 %d, %a, %b;", ~0u, ~0u), 0xFFFFFFFEu);
  EXPECT_EQ(lane0("mul.hi.s32 %d, %a, %b;", ~0u, 5), ~0u);
  EXPECT_EQ(lane0("mad.lo.s32 %d, %a, %b, %c;", 3, 4, 5), 17u);
  EXPECT_EQ(
      lane0("mul.wide.s32 %rd9, %a, %b; shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %d, %rd9;", ~0u, 2),
      ~0u);
  EXPECT_EQ(lane0("mad.wide.u32 %rd9, %a, %b, %rd1; cvt.u32.u64 %d, %rd9;", 7, 6), 42u);
  EXPECT_EQ(lane0("div.s32 %d, %a, %b;", uint32_t(-7), 2), uint32_t(-3));
  EXPECT_EQ(lane0("rem.s32 %d, %a, %b;", uint32_t(-7), 2), uint32_t(-1));
  EXPECT_EQ(lane0("div.u32 %d, %a, %b;", 7, 0), ~0u);
  EXPECT_EQ(lane0("min.s32 %d, %a, %b;", ~0u, 1), ~0u);
  EXPECT_EQ(lane0("max.u32 %d, %a, %b;", ~0u, 1), ~0u);
  EXPECT_EQ(lane0("abs.s32 %d, %a;", uint32_t(-9)), 9u);
  EXPECT_EQ(lane0("neg.s32 %d, %a;", 9), uint32_t(-9));
  EXPECT_EQ(lane0("sad.u32 %d, %a, %b, %c;", 3, 10, 100), 107u);
  EXPECT_EQ(lane0("mul24.lo.u32 %d, %a, %b;", 0xFF000002, 3), 6u);
}

TEST(Integer, ExtendedPrecision) {
  EXPECT_EQ(lane0("add.cc.u32 %r1, %a, %b; addc.u32 %d, %c, 0;", ~0u, 1, 10), 11u);
  EXPECT_EQ(lane0("sub.cc.u32 %r1, %a, %b; subc.u32 %d, %c, 0;", 0, 1, 10), 9u);
  EXPECT_EQ(lane0("mad.lo.cc.u32 %r1, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;", 0x10000, 0x10000, 0),
            1u);
}

TEST(Integer, Bits) {
  EXPECT_EQ(lane0("lop3.b32 %d, %a, %b, %c, 0x96;", 0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA),
            0xF0F0F0F0 ^ 0xCCCCCCCC ^ 0xAAAAAAAA);
  EXPECT_EQ(lane0("shl.b32 %d, %a, %b;", 1, 32), 0u);
  EXPECT_EQ(lane0("shr.s32 %d, %a, %b;", 0x80000000, 40), ~0u);
  EXPECT_EQ(lane0("shf.l.wrap.b32 %d, %a, %b, %c;", 0x80000000, 1, 1), 3u);
  EXPECT_EQ(lane0("shf.r.clamp.b32 %d, %a, %b, %c;", 1, 2, 32), 2u);
  EXPECT_EQ(lane0("prmt.b32 %d, %a, %b, 0x7250;", 0x33221100, 0x77665544), 0x77225500u);
  EXPECT_EQ(lane0("prmt.b32 %d, %a, %b, 0x8888;", 0x000000FF, 0), ~0u);
  EXPECT_EQ(lane0("popc.b32 %d, %a;", 0xF00F), 8u);
  EXPECT_EQ(lane0("clz.b32 %d, %a;", 1), 31u);
  EXPECT_EQ(lane0("brev.b32 %d, %a;", 1), 0x80000000u);
  EXPECT_EQ(lane0("bfind.u32 %d, %a;", 0x800), 11u);
  EXPECT_EQ(lane0("bfind.s32 %d, %a;", ~0u), ~0u);
  EXPECT_EQ(lane0("bfe.u32 %d, %a, 4, 8;", 0xABCD), 0xBCu);
  EXPECT_EQ(lane0("bfe.s32 %d, %a, 4, 8;", 0xABCD), 0xFFFFFFBCu);
  EXPECT_EQ(lane0("bfe.s32 %d, %a, 28, 8;", 0x90000000), 0xFFFFFFF9u);
  // 64 bits: positions and lengths above 63 are as 64 (H200, case int64); 32 bits: modulo 256.
  auto bfe64 = [](const char *type, uint32_t at, uint32_t length) {
    return lane0(std::string("mov.b64 %rd9, 0x8123456789ABCDEF; bfe.") + type +
                     " %rd9, %rd9, %a, %b; cvt.u32.u64 %d, %rd9;",
                 at, length);
  };
  EXPECT_EQ(bfe64("u64", 8, 0x1F0B), 0x6789ABCDu);
  EXPECT_EQ(bfe64("u64", 0x1A10E, 8), 0u);
  EXPECT_EQ(bfe64("s64", 0x1A10E, 8), ~0u);
  EXPECT_EQ(lane0("cvt.u64.u32 %rd9, %a; bfi.b64 %rd9, %rd9, %rd9, %b, %c; cvt.u32.u64 %d, %rd9;",
                  0x372, 0xFE710, 2),
            0x372u);
  EXPECT_EQ(lane0("bfe.u32 %d, %a, %b, %c;", 0xABCD, 0x104, 0x208), 0xBCu);
  EXPECT_EQ(lane0("bfi.b32 %d, %a, %b, 8, 4;", 0x5, 0xFFFFFFFF), 0xFFFFF5FFu);
  EXPECT_EQ(lane0("dp4a.s32.s32 %d, %a, %b, %c;", 0xFF010203, 0x01010101, 10), 15u);
  EXPECT_EQ(lane0("and.b32 %d, %a, 0xFF;", 0x1234), 0x34u);
  EXPECT_EQ(lane0("cnot.b32 %d, %a;", 0), 1u);
}

TEST(Float, Arithmetic) {
  EXPECT_EQ(lane0("add.f32 %d, %a, %b;", bits(1.5f), bits(2.25f)), bits(3.75f));
  EXPECT_EQ(lane0("add.ftz.f32 %d, %a, %b;", 1, bits(0.0f)), 0u);
  EXPECT_EQ(lane0("add.f32 %d, %a, %b;", 1, 1), 2u);
  EXPECT_EQ(lane0("add.rz.f32 %d, %a, %b;", bits(1.0f), bits(0x1.8p-24f)), bits(1.0f));
  EXPECT_EQ(lane0("add.rp.f32 %d, %a, %b;", bits(1.0f), bits(0x1p-30f)), bits(1.0f) + 1);
  EXPECT_EQ(lane0("sub.f32 %d, %a, %b;", 0x7F800000, 0x7F800000), 0x7FFFFFFFu);
  EXPECT_EQ(lane0("mul.sat.f32 %d, %a, %b;", bits(3.0f), bits(2.0f)), bits(1.0f));
  // One rounding: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly.
  EXPECT_EQ(lane0("fma.rn.f32 %d, %a, %b, %c;", bits(1 + 0x1p-12f), bits(1 + 0x1p-12f),
                  bits(-(1 + 0x1p-11f))),
            bits(0x1p-24f));
  EXPECT_EQ(lane0("min.f32 %d, %a, %b;", 0x7FC00000, bits(2.0f)), bits(2.0f));
  EXPECT_EQ(lane0("max.NaN.f32 %d, %a, %b;", 0x7FC00000, bits(2.0f)), 0x7FFFFFFFu);
  EXPECT_EQ(lane0("max.f32 %d, %a, %b;", bits(-0.0f), bits(0.0f)), 0u);
  EXPECT_EQ(lane0("div.rn.f32 %d, %a, %b;", bits(1.0f), bits(3.0f)), bits(1.0f / 3.0f));
  EXPECT_EQ(lane0("rcp.approx.ftz.f32 %d, %a;", bits(4.0f)), bits(0.25f));
  EXPECT_EQ(lane0("sqrt.rn.f32 %d, %a;", bits(2.0f)), bits(1.41421356f));
  EXPECT_EQ(lane0("ex2.approx.ftz.f32 %d, %a;", bits(3.0f)), bits(8.0f));
  EXPECT_EQ(lane0("ex2.approx.ftz.f32 %d, %a;", 0xFF800000), 0u);
  EXPECT_EQ(lane0("ex2.approx.f32 %d, %a;", bits(200.0f)), 0x7F800000u);
  EXPECT_EQ(lane0("lg2.approx.ftz.f32 %d, %a;", bits(8.0f)), bits(3.0f));
  EXPECT_EQ(lane0("copysign.f32 %d, %a, %b;", bits(-1.0f), bits(2.0f)), bits(-2.0f));
  EXPECT_EQ(lane0("fma.rn.f16x2 %d, %a, %b, %c;", 0x3C004000, 0x40004000, 0x3C003C00), 0x42004500u);
  EXPECT_EQ(lane0("add.rn.bf16x2 %d, %a, %b;", 0x3F803F80, 0x40003F80), 0x40404000u);
}

TEST(Float, MixedPrecision) {
  std::string split = "mov.b32 {%h1, %h2}, %a; ";
  auto run = [&](const char *text, uint32_t halves, float c) { return lane0(split + text, halves, bits(c)); };
  const uint32_t bf16 = 0x3FC04040, f16 = 0x3E004200; // 1.5 above 3.0
  EXPECT_EQ(run("add.f32.bf16 %d, %h1, %b;", bf16, 0.25f), bits(3.25f));
  EXPECT_EQ(run("add.f32.f16 %d, %h1, %b;", f16, 0.25f), bits(3.25f));
  EXPECT_EQ(run("sub.f32.bf16 %d, %h1, %b;", bf16, 0.25f), bits(2.75f));
  EXPECT_EQ(run("sub.rn.f32.f16 %d, %h2, %b;", f16, 4.0f), bits(-2.5f));
  EXPECT_EQ(run("fma.rn.f32.bf16 %d, %h1, %h2, %b;", bf16, 0.25f), bits(4.75f));
  EXPECT_EQ(run("fma.rn.f32.f16 %d, %h1, %h2, %b;", f16, 0.25f), bits(4.75f));
  EXPECT_EQ(run("fma.rn.sat.f32.bf16 %d, %h1, %h2, %b;", bf16, 0.25f), bits(1.0f));
  EXPECT_EQ(run("sub.sat.f32.bf16 %d, %h2, %b;", bf16, 4.0f), bits(0.0f));
  // 3 + 2^-23 is half a step of f32 above 3, 4.5 - 2^-24 an eighth of one below 4.5.
  EXPECT_EQ(run("add.rn.f32.bf16 %d, %h1, %b;", bf16, 0x1p-23f), bits(3.0f));
  EXPECT_EQ(run("add.rz.f32.bf16 %d, %h1, %b;", bf16, 0x1p-23f), bits(3.0f));
  EXPECT_EQ(run("add.rp.f32.bf16 %d, %h1, %b;", bf16, 0x1p-23f), bits(3.0f) + 1);
  EXPECT_EQ(run("fma.rm.f32.bf16 %d, %h1, %h2, %b;", bf16, -0x1p-24f), bits(4.5f) - 1);
  // The f32 operand and the result keep all their bits, subnormals are not flushed, NaN is canonical.
  EXPECT_EQ(run("add.f32.bf16 %d, %h2, %b;", 0, 0x1.234566p0f), bits(0x1.234566p0f));
  EXPECT_EQ(run("add.f32.bf16 %d, %h1, %b;", 0x00000001, 0.0f), 0x00010000u);
  EXPECT_EQ(run("add.f32.f16 %d, %h1, %b;", 0x00000001, 0.0f), bits(0x1p-24f));
  EXPECT_EQ(run("add.f32.bf16 %d, %h1, %b;", 0x0000FFC1, 0.0f), 0x7FFFFFFFu);
}

TEST(Float, MixedPrecisionIsRefusedElsewhere) {
  for (const char *text : {"min.f32.bf16 %d, %h1, %b;", "mul.f32.bf16 %d, %h1, %b;", "add.f32.f32 %d, %a, %b;",
                           "mad.rn.f32.bf16 %d, %h1, %h1, %b;", "fma.rn.relu.f32.bf16 %d, %h1, %h1, %b;",
                           "add.ftz.f32.f16 %d, %h1, %b;", "add.bf16.f32 %d, %a, %b;"})
    EXPECT_NE(loadError(std::string(".reg .b32 %a, %b, %d;") + text).find("mixed precision"), std::string::npos) << text;
}

TEST(Float, Exp2IsCorrectlyRoundedNearly) {
  std::vector<uint32_t> in;
  for (int i = 0; i < 32; ++i)
    in.push_back(bits(-20.0f + 1.37f * float(i)));
  std::vector<uint32_t> out = lanes("ex2.approx.f32 %d, %a;", in);
  for (int i = 0; i < 32; ++i)
    EXPECT_NEAR(double(asFloat(out[i])), std::exp2(double(asFloat(in[i]))),
                std::exp2(double(asFloat(in[i]))) * 1.2e-7);
}

TEST(Compare, SetpAndSelp) {
  EXPECT_EQ(lane0("setp.lt.s32 %p1, %a, %b; selp.b32 %d, 1, 2, %p1;", ~0u, 0), 1u);
  EXPECT_EQ(lane0("setp.lt.u32 %p1, %a, %b; selp.b32 %d, 1, 2, %p1;", ~0u, 0), 2u);
  EXPECT_EQ(lane0("setp.lo.u32 %p1, %a, %b; selp.b32 %d, 1, 2, %p1;", 0, 1), 1u);
  EXPECT_EQ(lane0("setp.lt.f32 %p1, %a, %b; selp.b32 %d, 1, 2, %p1;", 0x7FC00000, 0), 2u);
  EXPECT_EQ(lane0("setp.ltu.f32 %p1, %a, %b; selp.b32 %d, 1, 2, %p1;", 0x7FC00000, 0), 1u);
  EXPECT_EQ(lane0("setp.ne.f32 %p1, %a, %b; selp.b32 %d, 1, 2, %p1;", 0x7FC00000, 0), 2u);
  EXPECT_EQ(lane0("setp.eq.ftz.f32 %p1, %a, %b; selp.b32 %d, 1, 2, %p1;", 1, 0), 1u);
  EXPECT_EQ(lane0("setp.eq.s32 %p1|%p2, %a, %b; selp.b32 %d, 1, 2, %p2;", 1, 1), 2u);
  EXPECT_EQ(
      lane0("setp.eq.s32 %p3, %a, %a; setp.gt.and.s32 %p1, %a, %b, !%p3; selp.b32 %d, 1, 2, %p1;",
            2, 1),
      2u);
  EXPECT_EQ(lane0("set.gt.u32.s32 %d, %a, %b;", 2, 1), ~0u);
  EXPECT_EQ(lane0("slct.b32.s32 %d, %a, %b, %c;", 3, 4, ~0u), 4u);
}

TEST(Convert, IntegersAndFloats) {
  EXPECT_EQ(lane0("cvt.s32.s8 %d, %a;", 0x1FF), ~0u);
  EXPECT_EQ(lane0("cvt.sat.u8.s32 %d, %a;", 300), 255u);
  EXPECT_EQ(lane0("cvt.rni.s32.f32 %d, %a;", bits(2.5f)), 2u);
  EXPECT_EQ(lane0("cvt.rzi.u32.f32 %d, %a;", bits(-1.0f)), 0u);
  EXPECT_EQ(lane0("cvt.rzi.s32.f32 %d, %a;", bits(3e9f)), 0x7FFFFFFFu);
  EXPECT_EQ(lane0("cvt.rn.f32.s32 %d, %a;", uint32_t(-3)), bits(-3.0f));
  EXPECT_EQ(lane0("cvt.rn.bf16x2.f32 %d, %a, %b;", bits(1.0f), bits(2.0f)), 0x3F804000u);
  EXPECT_EQ(lane0("cvt.rn.f16x2.f32 %d, %a, %b;", bits(1.0f), bits(2.0f)), 0x3C004000u);
  EXPECT_EQ(lane0("cvt.rn.satfinite.e4m3x2.f32 %h1, %a, %b; cvt.u32.u16 %d, %h1;", bits(1000.0f),
                  bits(1.0f)),
            0x7E38u);
  EXPECT_EQ(lane0("mov.b32 {%h1, %h2}, %a; cvt.f32.bf16 %d, %h2;", 0x3FC00000), bits(1.5f));
  EXPECT_EQ(lane0("cvt.rna.tf32.f32 %d, %a;", 0x3F801000), 0x3F802000u);
  EXPECT_EQ(lane0("cvt.rzi.f32.f32 %d, %a;", bits(-2.7f)), bits(-2.0f));
  EXPECT_EQ(lane0("cvt.f64.f32 %rd9, %a; cvt.rn.f32.f64 %d, %rd9;", bits(1.25f)), bits(1.25f));
}
