//===- Tcgen05Test.cpp - Instruction descriptors of tcgen05.mma -------------===//
//
// Descriptors against words put together by hand from the fields of PTX ISA 9.7.16.4.2, and the
// shapes of Table 39 with CUTLASS's restrictions.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/Tcgen05.h"
#include "gtest/gtest.h"

using namespace tileloom::layout;

namespace {

std::string errorOf(const Tcgen05Instruction &op) { return llvm::toString(op.verify()); }

TEST(Tcgen05, DescriptorOfBf16) {
  Tcgen05Instruction op; // bf16, 128 x 256
  // D = f32 (1 << 4), A = B = bf16 (1), N = 256 (32 << 17), M = 128 (8 << 24).
  EXPECT_EQ(op.encode(), 1u << 4 | 1u << 7 | 1u << 10 | 32u << 17 | 8u << 24);
  op.transposeB = true;
  op.m = 64, op.n = 8;
  op.a = op.b = Tcgen05Type::F16;
  op.d = Tcgen05Accumulator::F16;
  EXPECT_EQ(op.encode(), 1u << 16 | 1u << 17 | 4u << 24);
}

TEST(Tcgen05, DescriptorOfNarrowTypes) {
  Tcgen05Instruction op;
  op.kind = Tcgen05Kind::F8F6F4;
  op.a = Tcgen05Type::E2M1, op.b = Tcgen05Type::E3M2;
  op.ctaGroup = 2, op.m = 256, op.n = 16;
  EXPECT_EQ(op.encode(), 1u << 4 | 5u << 7 | 4u << 10 | 2u << 17 | 16u << 24);
  op.kind = Tcgen05Kind::TF32;
  op.a = op.b = Tcgen05Type::TF32;
  EXPECT_EQ(op.encode(), 1u << 4 | 2u << 7 | 2u << 10 | 2u << 17 | 16u << 24);
  op.kind = Tcgen05Kind::I8;
  op.a = Tcgen05Type::S8, op.b = Tcgen05Type::U8, op.d = Tcgen05Accumulator::S32;
  EXPECT_EQ(op.encode(), 2u << 4 | 1u << 7 | 0u << 10 | 2u << 17 | 16u << 24);
}

TEST(Tcgen05, DescriptorWithScales) {
  Tcgen05Instruction op;
  op.kind = Tcgen05Kind::MXF8F6F4;
  op.a = Tcgen05Type::E5M2, op.b = Tcgen05Type::E4M3;
  EXPECT_EQ(op.encode(3, 2), 2u << 4 | 1u << 7 | 32u << 17 | 1u << 23 | 1u << 27 | 3u << 29);
  op.kind = Tcgen05Kind::MXF4NVF4;
  op.a = op.b = Tcgen05Type::E2M1;
  op.scale = Tcgen05Scale::UE4M3;
  op.ctaGroup = 2, op.m = 256;
  EXPECT_EQ(op.encode(), 1u << 7 | 1u << 10 | 32u << 17 | 2u << 27);
}

TEST(Tcgen05, ShapesOfOneCta) {
  Tcgen05Instruction op;
  for (int64_t m : {32, 64, 96, 128, 192, 256})
    for (int64_t n = 0; n <= 264; n += 4) {
      op.m = m, op.n = n;
      bool legal = (m == 64 || m == 128) && n >= 8 && n <= 256 && n % 8 == 0;
      EXPECT_EQ(errorOf(op).empty(), legal) << m << 'x' << n << ": " << errorOf(op);
    }
  op.m = 128, op.n = 24;
  op.aInTensorMemory = true;
  EXPECT_EQ(errorOf(op), "N: expected a multiple of 16 up to 256 for kind f16 with cta_group 1 and a in "
                         "tensor memory, found 24");
  op.m = 64;
  EXPECT_EQ(errorOf(op), "");
}

TEST(Tcgen05, ShapesOfPairs) {
  Tcgen05Instruction op;
  op.ctaGroup = 2;
  for (int64_t m : {64, 128, 192, 256})
    for (int64_t n = 0; n <= 272; n += 8) {
      op.m = m, op.n = n;
      bool legal = (m == 128 || m == 256) && n >= 16 && n <= 256 && n % 16 == 0;
      EXPECT_EQ(errorOf(op).empty(), legal) << m << 'x' << n << ": " << errorOf(op);
    }
  op.kind = Tcgen05Kind::F8F6F4;
  op.a = op.b = Tcgen05Type::E4M3;
  op.m = 256, op.n = 48, op.transposeB = true;
  EXPECT_EQ(errorOf(op), "N: expected a multiple of 32 up to 256 for kind f8f6f4 with cta_group 2 and N "
                         "contiguous, found 48");
}

TEST(Tcgen05, TypesAndScales) {
  Tcgen05Instruction op;
  op.b = Tcgen05Type::F16;
  EXPECT_EQ(errorOf(op), "kind f16: expected operands of one type, found bf16 and f16");
  op.b = Tcgen05Type::BF16;
  op.d = Tcgen05Accumulator::F16;
  EXPECT_EQ(errorOf(op), "kind f16: expected an accumulator of f32 for operands of bf16, found f16");
  op = {};
  op.kind = Tcgen05Kind::MXF4;
  op.a = op.b = Tcgen05Type::E2M1;
  EXPECT_NE(errorOf(op), "");
  op.scalesPerStep = 2;
  EXPECT_EQ(errorOf(op), "");
  op.scale = Tcgen05Scale::UE4M3;
  EXPECT_NE(errorOf(op), "");
  op.kind = Tcgen05Kind::MXF4NVF4;
  EXPECT_NE(errorOf(op), "");
  op.scalesPerStep = 4;
  EXPECT_EQ(errorOf(op), "");
  op.m = 64;
  EXPECT_EQ(errorOf(op), "M: expected 128 for kind mxf4nvf4 with cta_group 1, found 64");
}

} // namespace
