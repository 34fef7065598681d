//===- TensorCoreTest.cpp - wgmma and tcgen05 -----------------------------===//
//
// One small product each, with operands in shared memory without swizzle: A is all ones, B[n][k] is
// n + 1, so D[m][n] = 16 (n + 1). Then the same kernels with one mistake each.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <functional>

using namespace tileloom::sim;

/// Fills A (64 or 128 rows of 16 bf16) at smem and B (16 rows) at smem + 4096, as 8x16-byte cores.
static std::string fill() {
  return "mov.b32 %r1, smem; shl.b32 %r2, %t, 4; add.s32 %r3, %r1, %r2; mov.b32 %r4, 0x3F803F80; "
         "mov.b32 %r5, 0;\n"
         "FA: st.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4}; add.s32 %r3, %r3, 2048; add.s32 %r5, "
         "%r5, 1; setp.lt.u32 %p1, %r5, 2; @%p1 bra FA;\n"
         // Core matrix c = t / 8 holds rows 8 (c / 2) .. and half c % 2 of k.
         "setp.ge.u32 %p1, %t, 32; @%p1 bra FB; shr.u32 %r5, %t, 4; shl.b32 %r5, %r5, 3; and.b32 "
         "%r6, %t, 7; add.s32 %r5, %r5, %r6;\n"
         "add.s32 %r5, %r5, 1; cvt.rn.f32.u32 %f1, %r5; cvt.rn.bf16x2.f32 %r6, %f1, %f1; add.s32 "
         "%r3, %r1, %r2;\n"
         "st.shared.v4.b32 [%r3+4096], {%r6, %r6, %r6, %r6};\nFB:\n";
}

static std::string wgmma(const std::string &fence, const std::string &wgmmaFence,
                         const std::string &wait) {
  return fill() + fence +
         "bar.sync 0;\nmov.b64 %rd10, 0x1000080040; mov.b64 %rd11, 0x1000080140;\n" + wgmmaFence +
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f10,%f11,%f12,%f13}, %rd10, %rd11, "
         "0, 1, 1, 0, 0;\n"
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f10,%f11,%f12,%f13}, %rd10, %rd11, "
         "1, 1, 1, 0, 0;\n"
         "wgmma.commit_group.sync.aligned;\n" +
         wait + "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.f32 [%rd1], %f11;\n";
}

static KernelSetup warpgroup() {
  KernelSetup s;
  s.block = {128, 1, 1};
  s.outWords = 128;
  s.shared = 8192;
  return s;
}
static const char *proxy = "fence.proxy.async.shared::cta;\n",
                  *before = "wgmma.fence.sync.aligned;\n",
                  *wait0 = "wgmma.wait_group.sync.aligned 0;\n";

TEST(Wgmma, Product) {
  Outcome o = run(wgmma(proxy, before, wait0), warpgroup());
  EXPECT_TRUE(o.found.empty()) << o.text();
  // Lane t holds columns 2 (t % 4) and 2 (t % 4) + 1.
  EXPECT_EQ(asFloat(o.out[65]), 2 * 16.0f * 4);
}

TEST(Wgmma, RegisterA) {
  std::string body = wgmma(proxy, "mov.b32 %r20, 0x40004000;\n" + std::string(before), wait0);
  for (size_t at; (at = body.find("%rd10, %rd11, ")) != std::string::npos;)
    body.replace(at, 14, "{%r20,%r20,%r20,%r20}, %rd11, ");
  for (size_t at; (at = body.find("1, 1, 0, 0;")) != std::string::npos;)
    body.replace(at, 11, "1, -1, 0;");
  Outcome o = run(body, warpgroup());
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(asFloat(o.out[65]), -2 * 2 * 16.0f * 4);
}

TEST(Wgmma, Mistakes) {
  EXPECT_TRUE(run(wgmma("", before, wait0), warpgroup()).has("missing-proxy-fence"));
  EXPECT_TRUE(run(wgmma(proxy, "", wait0), warpgroup()).has("missing-wgmma-fence"));
  EXPECT_TRUE(run(wgmma(proxy, before, ""), warpgroup()).has("register-in-flight"));
  EXPECT_TRUE(run(wgmma(proxy, before, "st.shared.b32 [smem+4096], %t;\n" + std::string(wait0)),
                  warpgroup())
                  .has("race"));
  EXPECT_TRUE(
      run(wgmma(proxy, std::string(before) + "mov.f32 %f10, 0f00000000;\n", wait0), warpgroup())
          .has("missing-wgmma-fence") == false)
      << "scale-d of 0 does not read the accumulator";
  // One warp leaves before the warpgroup's instruction.
  Outcome o =
      run(wgmma(proxy, "setp.ge.u32 %p5, %t, 96; @%p5 bra END;\n" + std::string(before), wait0) +
              "\nEND:",
          warpgroup());
  ASSERT_TRUE(o.has("deadlock"));
  EXPECT_NE(o.text().find("waits for the other warps of its warpgroup"), std::string::npos)
      << o.text();
}

struct TensorOptions {
  std::string
      proxy = "fence.proxy.async.shared::cta;\n", before,
      commit =
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [smem+7168];\n",
      wait = "W: mbarrier.try_wait.parity.shared.b64 %p2, [smem+7168], 0; @!%p2 bra W;\n",
      after = "tcgen05.fence::after_thread_sync;\n", waitLoad = "tcgen05.wait::ld.sync.aligned;\n",
      free = "bar.sync 0; @%p4 bra Z; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32;\nZ:";
};

static std::string tensor(const TensorOptions &o = {}) {
  // M = 128, N = 16: idesc = D f32, A and B bf16.
  return "setp.ge.u32 %p4, %t, 32; setp.ne.s32 %p9, %t, 0; @%p4 bra A; "
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem+7180], 32;\n"
         "A: @!%p9 mbarrier.init.shared::cta.b64 [smem+7168], 1;\n" +
         fill() + o.proxy +
         "bar.sync 0; ld.shared.b32 %r30, [smem+7180];\n" +
         o.before +
         "@%p9 bra M; mov.b64 %rd10, 0x401000080040; "
         "mov.b64 %rd11, 0x401000080140;\n"
         "mov.b32 %r31, " +
         std::to_string(1 << 4 | 1 << 7 | 1 << 10 | 2 << 17 | 8 << 24) +
         "; setp.ne.s32 %p5, %t, %t; setp.eq.s32 %p6, %t, %t;\n"
         "tcgen05.mma.cta_group::1.kind::f16 [%r30], %rd10, %rd11, %r31, %p5;\n"
         "tcgen05.mma.cta_group::1.kind::f16 [%r30], %rd10, %rd11, %r31, %p6;\n" +
         o.commit + "M:\n" + o.wait + o.after +
         "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r40, %r41, %r42, %r43}, [%r30];\n" + o.waitLoad +
         "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.b32 [%rd1], %r42; "
         "tcgen05.fence::before_thread_sync;\n" +
         o.free;
}

TEST(Tcgen05, Product) {
  Outcome o = run(tensor(), warpgroup());
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(asFloat(o.out[77]), 2 * 16.0f * 3);
}

TEST(Tcgen05, Mistakes) {
  auto with = [](const std::function<void(TensorOptions &)> &change) {
    TensorOptions o;
    change(o);
    return run(tensor(o), warpgroup());
  };
  EXPECT_TRUE(with([](TensorOptions &o) { o.proxy = ""; }).has("missing-proxy-fence"));
  EXPECT_TRUE(with([](TensorOptions &o) { o.wait = ""; }).has("tensor-race"));
  EXPECT_TRUE(with([](TensorOptions &o) { o.after = ""; }).has("tensor-race"));
  EXPECT_TRUE(with([](TensorOptions &o) { o.commit = ""; }).has("deadlock"));
  EXPECT_TRUE(with([](TensorOptions &o) { o.waitLoad = ""; }).has("register-in-flight"));
  EXPECT_TRUE(with([](TensorOptions &o) { o.free = ""; }).has("tensor-leak"));
  EXPECT_TRUE(with([](TensorOptions &o) {
                o.free +=
                    "\n@%p4 bra Y; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32;\nY:";
              }).has("tensor-alloc"));
  EXPECT_TRUE(run("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 512; "
                  "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;",
                  warpgroup())
                  .has("deadlock"));
  EXPECT_TRUE(
      run("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 48;", warpgroup())
          .has("tensor-alloc"));
}

TEST(Tcgen05, AStoreElsewhereNeedsNoWaitBeforeAProduct) {
  auto stored = [](const std::string &column) {
    TensorOptions o;
    o.before = "mov.b32 %r40, 0; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r30+" + column + "], {%r40};\n";
    o.after += "tcgen05.wait::st.sync.aligned;\n";
    return run(tensor(o), warpgroup());
  };
  EXPECT_TRUE(stored("20").found.empty()) << stored("20").text();
  EXPECT_TRUE(stored("8").has("missing-tcgen05-wait"));
}

TEST(Tcgen05, StoreLoadShapes) {
  // Each lane stores its number and a register index; a 16x256b load sees the fragment of an
  // accumulator.
  KernelSetup s = warpgroup();
  auto body = [](const std::string &wait) {
    return "setp.ge.u32 %p4, %t, 32; @%p4 bra A; "
          "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;\nA: bar.sync 0;\n"
          "ld.shared.b32 %r30, [smem]; mul.lo.u32 %r1, %t, 100; add.s32 %r2, %r1, 1; add.s32 %r3, "
          "%r1, 2; add.s32 %r4, %r1, 3;\n"
          "add.s32 %r5, %r1, 4; add.s32 %r6, %r1, 5; add.s32 %r7, %r1, 6; add.s32 %r8, %r1, 7;\n"
          "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r30], {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8};\n" + wait +
          "tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r10, %r11, %r12, %r13}, [%r30]; "
          "tcgen05.wait::ld.sync.aligned;\n"
          "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.b32 [%rd1], %r13; "
          "bar.sync 0;\n"
          "@%p4 bra Z; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32;\nZ:";
  };
  Outcome o = run(body("tcgen05.wait::st.sync.aligned;\n"), s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_TRUE(run(body(""), s).has("missing-tcgen05-wait"));
  EXPECT_EQ(o.out[32 + 6], (32u + 9) * 100 + 5); // row t / 4 + 8, column 2 (t % 4) + 1
}

TEST(Tcgen05, PairOfCtas) {
  // M = 256: each CTA holds 128 rows of A and of D, and half of the 16 columns of B.
  KernelSetup s = warpgroup();
  s.grid = s.cluster = {2, 1, 1};
  s.outWords = 256;
  std::string idesc = std::to_string(1 << 4 | 1 << 7 | 1 << 10 | 2 << 17 | 16 << 24);
  std::string sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
  std::string body =
      "setp.ge.u32 %p4, %t, 32; setp.ne.s32 %p9, %t, 0; @%p4 bra A; "
      "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [smem+7180], 32;\n"
      "A: @!%p9 mbarrier.init.shared::cta.b64 [smem+7168], 1;\n" +
      fill() + "fence.proxy.async.shared::cta; fence.mbarrier_init.release.cluster;\n" + sync +
      "ld.shared.b32 %r30, [smem+7180]; mov.u32 %r20, %cluster_ctarank; setp.ne.or.s32 %p7, %r20, "
      "0, %p9; @%p7 bra M;\n"
      "mov.b64 %rd10, 0x401000080040; mov.b64 %rd11, 0x401000080140; mov.b32 %r31, " +
      idesc +
      "; setp.ne.s32 %p5, %t, %t; mov.b16 %h1, 3;\n"
      "tcgen05.mma.cta_group::2.kind::f16 [%r30], %rd10, %rd11, %r31, %p5;\n"
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[smem+7168], %h1;\nM:\n"
      "W: mbarrier.try_wait.parity.shared.b64 %p2, [smem+7168], 0; @!%p2 bra "
      "W;\ntcgen05.fence::after_thread_sync;\n"
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r40, %r41, %r42, %r43, %r44, %r45, %r46, %r47, "
      "%r48, %r49, %r50, %r51, %r52, %r53, %r54, %r55}, [%r30];\n"
      "tcgen05.wait::ld.sync.aligned; tcgen05.fence::before_thread_sync; mad.lo.u32 %r21, %r20, "
      "128, %t; mul.wide.u32 %rd1, %r21, 4;\n"
      "add.s64 %rd1, %out, %rd1; st.global.b32 [%rd1], %r50;\n" +
      sync + "@%p4 bra Z; tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r30, 32;\nZ:";
  Outcome o = run(body, s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(asFloat(o.out[3]), 16.0f * 3); // column 10 is row 2 of the odd CTA's half of B
  EXPECT_EQ(asFloat(o.out[255]), 16.0f * 3);
}
