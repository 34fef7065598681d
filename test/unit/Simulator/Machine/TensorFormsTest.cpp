//===- TensorFormsTest.cpp - Forms of tcgen05.mma, and refusals -----------===//
//
// Lane masks, .ws with M of 64 and 32, pairs with M of 128. A is all ones; the B descriptor has a
// stride of 0, so that every 8 columns of B are the same 8 rows: D[m][n] = 16 (n % 8 + 1). What
// cannot be simulated is refused with its name.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace tileloom::sim;

/// A (128 rows of 16 bf16 ones) at smem, 8 rows of B at smem + 4096, as 8x16-byte core matrices.
static std::string operands() {
  return "mov.b32 %r1, smem; shl.b32 %r2, %t, 4; add.s32 %r3, %r1, %r2; mov.b32 %r4, 0x3F803F80;\n"
         "st.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4}; st.shared.v4.b32 [%r3+2048], {%r4, %r4, "
         "%r4, %r4};\n"
         "setp.ge.u32 %p1, %t, 16; @%p1 bra FB; and.b32 %r5, %t, 7; add.s32 %r5, %r5, 1;\n"
         "cvt.rn.f32.u32 %f1, %r5; cvt.rn.bf16x2.f32 %r6, %f1, %f1; "
         "st.shared.v4.b32 [%r3+4096], {%r6, %r6, %r6, %r6};\nFB:\n";
}

/// Runs `mma` (%r30: D, %rd10, %rd11: descriptors, %r31: idesc, %p5 false, %p6 true) in one CTA of
/// 128 threads, or by the first of a pair; each thread stores columns 0, 1 and 3 of its lane.
static Outcome product(const std::string &mma, uint32_t idesc, unsigned group = 1) {
  KernelSetup s;
  s.block = {128, 1, 1};
  s.shared = 8192;
  s.grid = s.cluster = {group, 1, 1};
  s.outWords = 3 * 128 * group;
  std::string g = "cta_group::" + std::to_string(group),
              sync = group == 2 ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
                                : "bar.sync 0;\n",
              commit = group == 2
                           ? "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster."
                             "multicast::cluster.b64 [smem+7168], %h1;\n"
                           : "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [smem+7168];\n";
  return run(
      "setp.ge.u32 %p4, %t, 32; setp.ne.s32 %p9, %t, 0; @%p4 bra A; tcgen05.alloc." + g +
          ".sync.aligned.shared::cta.b32 [smem+7180], 128;\n"
          "A: @!%p9 mbarrier.init.shared::cta.b64 [smem+7168], 1;\n" +
          operands() +
          "fence.proxy.async.shared::cta; fence.mbarrier_init.release.cluster; "
          "tcgen05.fence::before_thread_sync;\n" +
          sync +
          "tcgen05.fence::after_thread_sync; ld.shared.b32 %r30, [smem+7180];\n"
          "mov.u32 %r20, %cluster_ctarank; setp.ne.or.s32 %p7, %r20, 0, %p9; @%p7 bra M;\n"
          "mov.b64 %rd10, 0x401000080040; mov.b64 %rd11, 0x400000080140; mov.b32 %r31, " +
          std::to_string(idesc) +
          "; setp.ne.s32 %p5, %t, %t; setp.eq.s32 %p6, %t, %t; mov.b16 %h1, 3; mov.b32 %r32, 0; "
          "mov.b32 "
          "%r33, -1;\n" +
          mma + commit +
          "M: W: mbarrier.try_wait.parity.shared.b64 %p2, [smem+7168], 0; @!%p2 bra W;\n"
          "tcgen05.fence::after_thread_sync; tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r40, %r41, "
          "%r42, "
          "%r43}, [%r30];\n"
          "tcgen05.wait::ld.sync.aligned; tcgen05.fence::before_thread_sync; mad.lo.u32 %r21, "
          "%r20, 128, "
          "%t;\n"
          "mul.wide.u32 %rd1, %r21, 12; add.s64 %rd1, %out, %rd1; st.global.b32 [%rd1], %r40; "
          "st.global.b32 [%rd1+4], %r41; st.global.b32 [%rd1+8], %r43;\n" +
          sync + "@%p4 bra Z; tcgen05.dealloc." + g + ".sync.aligned.b32 %r30, 128;\nZ:",
      s);
}

static uint32_t descriptor(uint32_t m, uint32_t n) { // D f32, A and B bf16
  return 1 << 4 | 1 << 7 | 1 << 10 | (n >> 3) << 17 | (m >> 4) << 24;
}

static void expectLane(const Outcome &o, unsigned thread, float scale) {
  for (unsigned i : {0u, 1u, 2u})
    EXPECT_EQ(asFloat(o.out[3 * thread + i]), scale * 16 * float(i == 2 ? 4 : i + 1)) << thread;
}

TEST(Tcgen05Forms, DisabledLanesKeepD) {
  Outcome o =
      product("tcgen05.mma.cta_group::1.kind::f16 [%r30], %rd10, %rd11, %r31, %p5;\n"
              "tcgen05.mma.cta_group::1.kind::f16 [%r30], %rd10, %rd11, %r31, {%r32, %r33, %r32, "
              "%r32}, %p6;\n",
              descriptor(128, 16));
  EXPECT_TRUE(o.found.empty()) << o.text();
  for (unsigned t = 0; t < 128; ++t)
    expectLane(o, t, t / 32 == 1 ? 1 : 2); // word 1 masks lanes 32 to 63
}

TEST(Tcgen05Forms, WeightStationary) {
  // M = 64: columns N/2 and up lie in lanes 64 to 127; M = 32: four quarters of N.
  for (uint32_t m : {128u, 64u, 32u}) {
    Outcome o = product("tcgen05.mma.ws.cta_group::1.kind::f16 [%r30], %rd10, %rd11, %r31, %p5;\n",
                        descriptor(m, 64));
    EXPECT_TRUE(o.found.empty()) << m << o.text();
    for (unsigned t = 0; t < 128; ++t)
      expectLane(o, t, 1);
  }
  EXPECT_TRUE(product("tcgen05.mma.ws.cta_group::1.kind::f16 [%r30], %rd10, %rd11, %r31, %p5;\n",
                      descriptor(64, 32))
                  .has("descriptor"));
}

TEST(Tcgen05Forms, PairWithM128) {
  // Each CTA holds 64 rows of A and D: columns N/2 and up in lanes 64 to 127.
  Outcome o = product("tcgen05.mma.cta_group::2.kind::f16 [%r30], %rd10, %rd11, %r31, %p5;\n",
                      descriptor(128, 64), 2);
  EXPECT_TRUE(o.found.empty()) << o.text();
  for (unsigned t = 0; t < 256; ++t)
    expectLane(o, t, 1);
}

TEST(Refusals, NameWhatIsMissing) {
  auto refused = [](const std::string &text, const char *reason) {
    std::string e = loadError(text);
    EXPECT_NE(e.find(reason), std::string::npos) << e;
    EXPECT_NE(e.find("line"), std::string::npos) << e;
  };
  refused("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, "
          "%r1, 2, 1, 1, 1, 0, 0;",
          "the sparsity selector is 2, needs 0 or 1");
  refused("mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.f16.f32 {%f1,%f2,%f3,%f4}, "
          "{%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, %r9, 0;",
          "mma.sp has no f32.bf16.f16");
  refused("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 "
          "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, %r9, 0;",
          "kind::f8f6f4 is an instruction of sm_120a");
  refused("tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], [%r2], %rd2, %r3, %p1;",
          "ashift is not supported");
  refused("tcgen05.mma.cta_group::1.kind::f16.collector::b0::fill [%r1], %rd1, %rd2, %r3, %p1;",
          "are for tcgen05.mma.ws");
  refused(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], "
      "[%rd1, {%r2, %r3, %r4, %r5}], [%r6], {%h1, %h2};",
      "im2col is not supported");
}

TEST(MatrixSmall, Types) {
  // All ones: every output is K plus the accumulator.
  auto one = [](const std::string &mma, uint32_t a, uint32_t c) { return lane0(mma, a, 0, c); };
  EXPECT_EQ(one("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%d,%r1}, {%a}, {%a}, {%c,%c};",
                0x01010101, 5),
            21u);
  EXPECT_EQ(one("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%d,%r1,%r2,%r3}, {%a,%a,%a,%a}, "
                "{%a,%a}, {%c,%c,%c,%c};",
                0xFFFFFFFF, 0),
            uint32_t(-1 * 15 * 64));
  EXPECT_EQ(one("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%d,%r1,%r2,%r3}, "
                "{%a,%a,%a,%a}, {%a,%a}, {%c,%c,%c,%c};",
                0xFF00FF00, 1),
            129u);
  EXPECT_EQ(one("mov.b64 %rd1, 0x3FF8000000000000; mov.b64 %rd2, 0x4000000000000000;\n"
                ".reg .f64 %x, %y, %e<2>; mov.b64 %x, %rd1; mov.b64 %y, %rd2;\n"
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0,%e1}, {%x}, {%y}, {%x,%x};\n"
                "cvt.rzi.u32.f64 %d, %e0;",
                0, 0),
            13u); // 4 * 3 + 1.5
}

TEST(Scalar, FindNthSet) {
  EXPECT_EQ(lane0("fns.b32 %d, %a, 0, 3;", 0b101101), 3u);
  EXPECT_EQ(lane0("fns.b32 %d, %a, 5, -2;", 0b101101), 3u);
  EXPECT_EQ(lane0("fns.b32 %d, %a, 4, 0;", 0b101101), ~0u);
}
