//===- TensorMoveTest.cpp - tcgen05.cp and shift, ldmatrix that unpacks ---===//
//
// One warp; shared memory holds a pattern whose bytes are its offsets, or packed elements 0 to 15.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace tileloom::sim;

/// One warp that allocates 32 columns (%r30), runs `body` and frees them. %p1: not thread 0.
static Outcome warp(const std::string &body) {
  KernelSetup s;
  s.shared = 8192;
  s.outWords = 128;
  return run(
      "setp.ne.s32 %p1, %t, 0; mov.b32 %r1, smem; @!%p1 mbarrier.init.shared.b64 [smem+8184], 1;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem+8176], 32; bar.warp.sync -1;\n"
      "ld.shared.b32 %r30, [smem+8176]; mul.wide.u32 %rd1, %t, 16; add.s64 %rd1, %out, %rd1;\n" +
          body +
          "bar.warp.sync -1; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32;",
      s);
}

static const char *finish =
    "@!%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [smem+8184];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %p2, [smem+8184], 0; @!%p2 bra W;\n"
    "tcgen05.fence::after_thread_sync;\n";
static const char *load =
    "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r40, %r41, %r42, %r43}, [%r30];\n"
    "tcgen05.wait::ld.sync.aligned; st.global.v4.b32 [%rd1], {%r40, %r41, %r42, %r43};\n";

/// Each lane's row of 16 bytes at 16 * lane; the first 8 or 12 hold 16 elements of `bits` bits with
/// the values (lane + i) % 16.
static std::string packed(unsigned bits) {
  std::string text = "mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, -1;\n";
  for (unsigned i = 0; i < 16; ++i) {
    unsigned at = i * bits, word = at / 32, shift = at % 32;
    text += "add.s32 %r2, %t, " + std::to_string(i) + "; and.b32 %r2, %r2, 15; shl.b32 %r3, %r2, " +
            std::to_string(shift) + "; or.b32 %r" + std::to_string(10 + word) + ", %r" +
            std::to_string(10 + word) + ", %r3;\n";
    if (shift + bits > 32)
      text += "shr.u32 %r3, %r2, " + std::to_string(32 - shift) + "; or.b32 %r" +
              std::to_string(11 + word) + ", %r" + std::to_string(11 + word) + ", %r3;\n";
  }
  return text + "shl.b32 %r4, %t, 4; add.s32 %r4, %r1, %r4;\n"
                "st.shared.v4.b32 [%r4], {%r10, %r11, %r12, %r13}; bar.warp.sync -1;\n";
}

static uint32_t byteOf(const Outcome &o, unsigned lane, unsigned i) {
  return o.out[4 * lane + i / 4] >> (8 * (i % 4)) & 255;
}

TEST(TensorMove, CopyUnpacks) {
  for (unsigned bits : {4u, 6u}) {
    // 32 rows of 16 bytes, 8 rows to 128 bytes.
    Outcome o = warp(packed(bits) + "fence.proxy.async.shared::cta; bar.warp.sync -1; shr.u32 %r5, "
                                    "%r1, 4; mov.b64 %rd2, {%r5, 0x4008};\n"
                                    "@!%p1 tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16." +
                     (bits == 4 ? "b4x16_p64" : "b6x16_p32") + " [%r30], %rd2;\n" + finish + load);
    EXPECT_TRUE(o.found.empty()) << o.text();
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 16; ++i)
        EXPECT_EQ(byteOf(o, lane, i), (lane + i) % 16 << (bits == 4 ? 2 : 0)) << bits;
  }
}

TEST(TensorMove, LoadMatrixUnpacks) {
  for (unsigned bits : {4u, 6u}) {
    std::string format = bits == 4 ? "b4x16_p64" : "b6x16_p32";
    // m8n16.x4: lane t gets bytes 4 (t % 4) and up of row t / 4 of each matrix.
    Outcome o = warp(packed(bits) + "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16." + format +
                     " {%r40, %r41, %r42, %r43}, [%r4];\n"
                     "st.global.v4.b32 [%rd1], {%r40, %r41, %r42, %r43};\n");
    EXPECT_TRUE(o.found.empty()) << o.text();
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned m = 0; m < 4; ++m)
        for (unsigned b = 0; b < 4; ++b)
          EXPECT_EQ(o.out[4 * t + m] >> (8 * b) & 255, (8 * m + t / 4 + 4 * (t % 4) + b) % 16);
    // m16n16.x2.trans: byte b of register q is row 4 (t % 4) + b, column t / 4 + 8 q.
    o = warp(packed(bits) + "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16." + format +
             " {%r40, %r41, %r42, %r43}, [%r4];\n"
             "st.global.v4.b32 [%rd1], {%r40, %r41, %r42, %r43};\n");
    EXPECT_TRUE(o.found.empty()) << o.text();
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned q = 0; q < 4; ++q)
        for (unsigned b = 0; b < 4; ++b)
          EXPECT_EQ(o.out[4 * t + q] >> (8 * b) & 255,
                    (16 * (q / 2) + 4 * (t % 4) + b + t / 4 + 8 * (q % 2)) % 16);
  }
}

TEST(TensorMove, Shift) {
  std::string store =
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r30], {%t, %t, %t, %t, %t, %t, %t, %t};\n"
      "tcgen05.wait::st.sync.aligned; mov.b32 %r31, %r30;\n";
  std::string shift = "@!%p1 tcgen05.shift.cta_group::1.down [%r31];\n";
  // Only one of the four quarters of the lanes is written here.
  Outcome o = warp(store + shift + finish + load);
  EXPECT_TRUE(o.has("uninitialised")) << o.text();
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(o.out[4 * lane + 3], lane == 31 ? 31 : lane + 1);
  // Not ordered behind: the load may see either.
  EXPECT_TRUE(warp(store + shift + load + finish).has("tensor-race"));
  EXPECT_TRUE(warp(store + "add.s32 %r31, %r31, 0x100000;\n" + shift + finish + load)
                  .has("tensor-address"));
}
