//===- SharedLayoutTest.cpp - Swizzles, TMA boxes, matrix descriptors -------===//
//
// Offsets against what TMA writes, and both against the address that the tensor cores form from a
// descriptor: three formulas from different sections of the PTX ISA that have to meet in one byte.
//
//===----------------------------------------------------------------------===//
#include "LayoutTestSupport.h"
#include "tileloom/Layout/MatrixDescriptor.h"
#include <set>

using namespace tileloom::layout;

/// Swizzle by the tables of 5.5.7: chunk number XOR line number, in units of the mode.
static int64_t swizzled(Swizzle mode, int64_t address) {
  int64_t line = address / 128, chunk = address / 16 % 8;
  switch (mode) {
  case Swizzle::None:
    break;
  case Swizzle::Bytes32:
    chunk ^= line % 2;
    break;
  case Swizzle::Bytes64:
    chunk ^= line % 4;
    break;
  case Swizzle::Bytes128:
    chunk ^= line % 8;
    break;
  case Swizzle::Bytes128Atom32:
    chunk ^= line % 4 * 2;
    break;
  }
  return line * 128 + chunk * 16 + address % 16;
}

static const Swizzle swizzles[] = {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64,
                                   Swizzle::Bytes128, Swizzle::Bytes128Atom32};

/// All tiles that the tests look at: operands [mn, k] of both majors.
template <typename Fn> static void forEachTile(Fn &&visit) {
  for (Swizzle mode : swizzles)
    for (unsigned bits : {8u, 16u, 32u})
      for (Major major : {Major::K, Major::MN})
        for (int64_t atoms : {1, 2, 3}) {
          int64_t width = mode == Swizzle::None ? 16 : swizzleWidth(mode);
          int64_t contiguous = std::max<int64_t>(32, width) * atoms * 8 / bits;
          for (int64_t others : {32, 96}) {
            Index shape = major == Major::K ? Index{others, contiguous} : Index{contiguous, others};
            SharedLayout layout = mode == Swizzle::None
                                      ? get(SharedLayout::coreMatrices(shape, bits, major))
                                      : get(SharedLayout::create(shape, bits, mode, major));
            visit(layout);
          }
        }
}

TEST(SharedLayouts, OffsetsAreWhatTmaWrites) {
  forEachTile([](const SharedLayout &layout) {
    int64_t elementBytes = layout.elementBits() / 8;
    std::set<int64_t> written;
    for (const TmaBox &box : get(layout.tmaBoxes())) {
      ASSERT_EQ(box.byteOffset % 128, 0);
      for (int64_t row = 0; row < box.extents[1]; ++row)
        for (int64_t column = 0; column < box.extents[0]; ++column) {
          // 9.7.9.25.5: the box is dense, innermost fastest; the swizzle acts on the address.
          int64_t byte = swizzled(layout.swizzle(),
                                  box.byteOffset + (row * box.extents[0] + column) * elementBytes);
          Index index = {box.origin[1] + row, box.origin[0] + column};
          if (layout.major() == Major::MN)
            std::swap(index[0], index[1]);
          ASSERT_EQ(layout.offsetOf(index), byte);
          ASSERT_EQ(layout.indexOf(byte), index);
          ASSERT_TRUE(written.insert(byte).second);
        }
    }
    ASSERT_EQ(int64_t(written.size()) * elementBytes, layout.sizeBytes());
    ASSERT_FALSE(layout.indexOf(layout.sizeBytes()).has_value());
  });
}

/// Where hardware finds element (mn, k), from the fields alone: canonical layouts
/// of 9.7.15.5.1.2.1.3.
static int64_t operandByte(const SharedLayout &layout, const OperandDescriptor &d, int64_t start,
                           int64_t mn, int64_t k) {
  int64_t eb = layout.elementBits() / 8, T = 16 / eb, W = swizzleWidth(layout.swizzle());
  int64_t LBO = d.leadingByteOffset(), SBO = d.strideByteOffset();
  int64_t offset;
  if (layout.swizzle() == Swizzle::None)
    offset = d.isTransposed() ? mn % T * eb + mn / T * SBO + k % 8 * 16 + k / 8 * LBO
                              : mn % 8 * 16 + mn / 8 * SBO + k % T * eb + k / T * LBO;
  else if (!d.isTransposed())
    offset = mn % 8 * W + mn / 8 * SBO + k * eb;
  else if (layout.swizzle() == Swizzle::Bytes128Atom32)
    offset = mn % (128 / eb) * eb + mn / (128 / eb) * LBO + k % 4 * 128 + k / 4 * SBO;
  else
    offset = mn % (W / eb) * eb + mn / (W / eb) * LBO + k % 8 * W + k / 8 * SBO;
  return swizzled(layout.swizzle(), start + offset);
}

static bool legal(const SharedLayout &layout, MmaTarget target) {
  bool transposed = layout.major() == Major::MN,
       atom32 = layout.swizzle() == Swizzle::Bytes128Atom32;
  if (target == MmaTarget::Sm90)
    return !atom32 && (!transposed || layout.elementBits() == 16);
  return atom32 == (transposed && layout.elementBits() == 32);
}

TEST(MatrixDescriptors, AddressTheElements) {
  int operands = 0;
  forEachTile([&](const SharedLayout &layout) {
    for (MmaTarget target : {MmaTarget::Sm90, MmaTarget::Sm100}) {
      llvm::Expected<OperandDescriptor> got = OperandDescriptor::get(layout, target);
      ASSERT_EQ(bool(got), legal(layout, target)) << layout.str();
      if (!got) {
        llvm::consumeError(got.takeError());
        continue;
      }
      ++operands;
      const OperandDescriptor &d = *got;
      int64_t mnExtent = layout.shape()[0], K = 256 / layout.elementBits();
      ASSERT_EQ(d.instructionK(), K);
      ASSERT_EQ(d.instructionSteps() * K, layout.shape()[1]);
      for (int64_t step = 0; step < d.instructionSteps(); ++step)
        for (int64_t first = 0; first < mnExtent; ++first) {
          llvm::Expected<int64_t> mnBytes = d.mnOffsetBytes(first);
          if (!mnBytes) {
            llvm::consumeError(mnBytes.takeError());
            ASSERT_NE(
                first % (d.isTransposed() ? layout.atomBytes() * 8 / layout.elementBits() : 8), 0);
            continue;
          }
          int64_t start = get(d.stepBytes(step)) + *mnBytes;
          ASSERT_EQ(start % 16, 0);
          for (int64_t mn = 0; first + mn < mnExtent; mn += 1 + mn / 9)
            for (int64_t k = 0; k < K; ++k)
              ASSERT_EQ(operandByte(layout, d, start, mn, k),
                        layout.offsetOf({first + mn, step * K + k}))
                  << layout.str() << " step " << step << " first " << first << " mn " << mn;
        }
    }
  });
  EXPECT_GT(operands, 60);
}

TEST(MatrixDescriptors, Encoding) {
  // A 128x64 bf16 operand in 128-byte atoms: SBO 1024, LBO "1".
  SharedLayout layout = get(SharedLayout::create({128, 64}, 16, Swizzle::Bytes128));
  OperandDescriptor hopper = get(OperandDescriptor::get(layout, MmaTarget::Sm90));
  EXPECT_EQ(hopper.encode(), uint64_t(1) << 62 | uint64_t(64) << 32 | 1u << 16);
  EXPECT_EQ(hopper.encode(0x40400), hopper.encode() | 0x40); // 18 address bits, in units of 16
  OperandDescriptor blackwell = get(OperandDescriptor::get(layout, MmaTarget::Sm100));
  EXPECT_EQ(blackwell.encode(),
            uint64_t(2) << 61 | uint64_t(1) << 46 | uint64_t(64) << 32 | 1u << 16);
  struct Code {
    Swizzle swizzle;
    unsigned sm90, sm100;
  };
  for (Code c : {Code{Swizzle::Bytes32, 3, 6}, Code{Swizzle::Bytes64, 2, 4}}) {
    SharedLayout tile = get(SharedLayout::create({64, 64}, 16, c.swizzle));
    EXPECT_EQ(get(OperandDescriptor::get(tile, MmaTarget::Sm90)).encode() >> 62, c.sm90);
    EXPECT_EQ(get(OperandDescriptor::get(tile, MmaTarget::Sm100)).encode() >> 61, c.sm100);
  }
  EXPECT_EQ(
      get(OperandDescriptor::get(get(SharedLayout::coreMatrices({64, 64}, 16)), MmaTarget::Sm90))
              .encode() >>
          62,
      0u);
}

TEST(SharedLayouts, StagesAndBoxes) {
  SharedLayout ring = get(SharedLayout::create({4, 128, 64}, 16, Swizzle::Bytes128));
  EXPECT_EQ(ring.sizeBytes(), 65536);
  EXPECT_EQ(ring.requiredAlignment(), 1024);
  EXPECT_EQ(ring.offsetOf({3, 0, 0}), 3 * 16384);
  EXPECT_EQ(ring.matrix(), get(SharedLayout::create({128, 64}, 16, Swizzle::Bytes128)));
  EXPECT_EQ(get(OperandDescriptor::get(ring, MmaTarget::Sm90)).stageBytes(), 16384);
  // One atom column: the leading dimension joins the box.
  auto boxes = get(ring.tmaBoxes());
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].extents, (Index{64, 128, 4}));
  // Two atom columns: a box each, per stage.
  boxes = get(get(SharedLayout::create({2, 128, 128}, 16, Swizzle::Bytes128)).tmaBoxes());
  ASSERT_EQ(boxes.size(), 4u);
  EXPECT_EQ(boxes[3].extents, (Index{64, 128, 1}));
  EXPECT_EQ(boxes[3].origin, (Index{64, 0, 1}));
  EXPECT_EQ(boxes[3].byteOffset, 3 * 16384);
  // More than 256 rows; vectors.
  boxes = get(get(SharedLayout::create({384, 64}, 16, Swizzle::Bytes128)).tmaBoxes());
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[1].extents, (Index{64, 192}));
  EXPECT_EQ(boxes[1].byteOffset, 192 * 128);
  EXPECT_EQ(get(get(SharedLayout::create({512}, 32, Swizzle::None)).tmaBoxes()).size(), 2u);
}

TEST(SharedLayouts, TransposedIsTheSameBytes) {
  SharedLayout layout = get(SharedLayout::create({64, 128}, 16, Swizzle::Bytes64));
  SharedLayout view = layout.transposed();
  EXPECT_EQ(view.major(), Major::MN);
  for (int64_t row = 0; row < 64; ++row)
    for (int64_t column = 0; column < 128; ++column)
      EXPECT_EQ(layout.offsetOf({row, column}), view.offsetOf({column, row}));
  EXPECT_EQ(view.transposed(), layout);
}

TEST(SharedLayouts, LinearForm) {
  SharedLayout layout = get(SharedLayout::create({2, 32, 128}, 16, Swizzle::Bytes128));
  LinearLayout map = *layout.toLinear();
  for (int64_t byte = 0; byte < layout.sizeBytes(); byte += 2)
    EXPECT_EQ(map.apply({byte}), *layout.indexOf(byte));
  EXPECT_FALSE(get(SharedLayout::create({48, 64}, 16, Swizzle::Bytes128)).toLinear().has_value());
}

TEST(SharedLayouts, RefuseBadInput) {
  expectError(SharedLayout::create({64, 96}, 16, Swizzle::Bytes128),
              "192 bytes; needs a multiple of 128");
  expectError(SharedLayout::create({64, 64}, 4, Swizzle::Bytes128),
              "4 bits; needs 8, 16, 32 or 64");
  expectError(SharedLayout::create({64}, 16, Swizzle::Bytes128), "rank 1; needs at least 2");
  expectError(SharedLayout::create({64, 0}, 16, Swizzle::None), "must be positive");
  EXPECT_EQ(SharedLayout::widestSwizzle({64, 96}, 16), Swizzle::Bytes64);
  EXPECT_EQ(SharedLayout::widestSwizzle({64, 40}, 8), Swizzle::None);
  expectError(swizzleFromBytes(48), "found 48 bytes");
  expectError(get(SharedLayout::create({4, 320}, 16, Swizzle::None)).tmaBoxes(), "at most 256");
  expectError(get(SharedLayout::create({4, 5}, 16, Swizzle::None)).tmaBoxes(), "multiple of 16");
  SharedLayout plain = get(SharedLayout::create({64, 64}, 16, Swizzle::None));
  expectError(OperandDescriptor::get(plain, MmaTarget::Sm90), "needs a swizzle, or atoms");
  SharedLayout odd = get(SharedLayout::create({12, 64}, 16, Swizzle::Bytes128));
  expectError(OperandDescriptor::get(odd, MmaTarget::Sm90), "multiple of 8");
  OperandDescriptor d = get(OperandDescriptor::get(
      get(SharedLayout::create({64, 64}, 16, Swizzle::Bytes128)), MmaTarget::Sm90));
  expectError(d.stepBytes(4), "step 4 of 4");
  expectError(d.mnOffsetBytes(4), "multiple of 8");
}
