//===- TmaTest.cpp - Tensor and bulk copies -------------------------------===//
//
// Loads with swizzle and fill, multicast, stores and reductions, tensormap.replace; missing waits,
// fences and byte counts are found.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "tileloom/Simulator/TensorMap.h"

using namespace tileloom::sim;

static const uint64_t inAddress = uint64_t(1) << 40; // of the first buffer in every run

/// A 16 x 32 matrix of u32 with boxes of 8 rows.
static KernelSetup matrix(Swizzle swizzle, uint64_t address = inAddress) {
  KernelSetup s;
  for (uint32_t i = 0; i < 512; ++i)
    s.in.push_back(i);
  s.outWords = 512;
  s.shared = 4096;
  TensorMap map;
  map.globalAddress = address;
  map.rank = 2;
  map.type = TmaType::U32;
  map.globalDim[0] = 32;
  map.globalDim[1] = 16;
  map.globalStride[0] = 128;
  map.boxDim[0] = 32;
  map.boxDim[1] = 8;
  map.swizzle = swizzle;
  s.extraParameters.resize(128);
  EXPECT_EQ(validate(map), "");
  encode(map, s.extraParameters.data());
  s.extraDeclarations = ", .param .align 64 .b8 map[128]";
  return s;
}

static const char *prologue = "setp.ne.s32 %p9, %t, 0; @%p9 bra I; mbarrier.init.shared::cta.b64 "
                              "[smem+2048], 1; fence.mbarrier_init.release.cluster;\n"
                              "I: bar.sync 0; mov.b64 %rd10, map; cvta.param.u64 %rd10, %rd10;\n";
static std::string loadTile(const std::string &bytes, const std::string &row) {
  return "@%p9 bra L; mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], " + bytes +
         "; mov.b32 %r10, 0; mov.b32 %r11, " + row +
         ";\ncp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], "
         "[%rd10, {%r10, %r11}], [smem+2048];\nL:\n";
}
static const char *waitTile =
    "W: mbarrier.try_wait.parity.shared.b64 %p1, [smem+2048], 0; @!%p1 bra W;\n";
// Thread t stores the word that the swizzle put at row 3, column t.
static const char *readRow =
    "mov.b32 %r1, smem; shl.b32 %r2, %t, 2; xor.b32 %r2, %r2, 48; add.s32 %r1, %r1, %r2; "
    "ld.shared.u32 %r3, [%r1+384];\n"
    "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.u32 [%rd1], %r3;\n";

TEST(Tma, LoadWithSwizzle) {
  Outcome o = run(prologue + loadTile("1024", "8") + waitTile + readRow, matrix(Swizzle::B128));
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[9], 11u * 32 + 9);
}

TEST(Tma, OutOfBoundsRowsAreZero) {
  Outcome o = run(prologue + loadTile("1024", "14") + waitTile + readRow, matrix(Swizzle::B128));
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[9], 0u);
  EXPECT_EQ(
      run(prologue + loadTile("1024", "-2") + waitTile + readRow, matrix(Swizzle::B128)).out[9],
      32u + 9);
}

TEST(Tma, MistakesOfLoads) {
  EXPECT_TRUE(run(prologue + loadTile("1024", "0") + readRow, matrix(Swizzle::B128)).has("race"));
  Outcome tx = run(prologue + loadTile("1040", "0") + waitTile + readRow, matrix(Swizzle::B128));
  ASSERT_TRUE(tx.has("deadlock"));
  EXPECT_NE(tx.text().find("tx 16"), std::string::npos) << tx.text();
  // The map covers memory beyond the buffer.
  Outcome out = run(prologue + loadTile("1024", "8") + waitTile + readRow,
                    matrix(Swizzle::B128, inAddress + 1024));
  EXPECT_TRUE(out.has("out-of-bounds")) << out.text();
  // Loading over data that ordinary stores put there needs a proxy fence.
  std::string store = "shl.b32 %r1, %t, 2; mov.b32 %r2, smem; add.s32 %r1, %r1, %r2; st.shared.u32 "
                      "[%r1], %t; bar.sync 0;\n";
  EXPECT_TRUE(
      run(prologue + store + loadTile("1024", "8") + waitTile + readRow, matrix(Swizzle::B128))
          .has("missing-proxy-fence"));
}

static std::string storeTile(bool fence, const std::string &end) {
  return "shl.b32 %r1, %t, 2; mov.b32 %r2, smem; add.s32 %r1, %r1, %r2; mov.b32 %r3, 0;\n"
         "F: st.shared.u32 [%r1], %t; add.s32 %r1, %r1, 128; add.s32 %r3, %r3, 1; setp.lt.u32 %p1, "
         "%r3, 8; @%p1 bra F;\n" +
         std::string(fence ? "fence.proxy.async.shared::cta;\n" : "") +
         "bar.sync 0; mov.b64 %rd10, map; cvta.param.u64 %rd10, %rd10; setp.ne.s32 %p9, %t, 0; "
         "@%p9 bra E; mov.b32 %r10, 0; mov.b32 %r11, 4;\n"
         "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd10, {%r10, %r11}], "
         "[smem];\n" +
         end + "\nE:";
}

TEST(Tma, Store) {
  KernelSetup s = matrix(Swizzle::None);
  Outcome o = run(storeTile(true, "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; "
                                  "ld.global.u32 %r5, [%in+516]; st.global.u32 [%out], %r5;"),
                  s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[0], 1u);
  EXPECT_TRUE(run(storeTile(false, "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"), s)
                  .has("missing-proxy-fence"));
  EXPECT_TRUE(run(storeTile(true, "cp.async.bulk.commit_group;"), s).has("exit-pending"));
  EXPECT_TRUE(
      run(storeTile(
              true,
              "cp.async.bulk.commit_group; st.shared.u32 [smem], %t; cp.async.bulk.wait_group 0;"),
          s)
          .has("race"));
}

TEST(Tma, Multicast) {
  KernelSetup s = matrix(Swizzle::B128);
  s.grid = s.cluster = {2, 1, 1};
  std::string body =
      std::string(prologue) +
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; mov.u32 %r20, "
      "%cluster_ctarank;\n"
      "@%p9 bra L; mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], 1024; setp.ne.s32 %p2, "
      "%r20, 0; @%p2 bra L;\n"
      "mov.b32 %r10, 0; mov.b32 %r11, 8; mov.b16 %h1, 3; mov.b32 %r12, smem;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::"
      "cluster [%r12], [%rd10, {%r10, %r11}], [%r12+2048], %h1;\nL:\n" +
      waitTile +
      "mov.b32 %r1, smem; shl.b32 %r2, %t, 2; xor.b32 %r2, %r2, 48; add.s32 %r1, %r1, %r2; "
      "ld.shared.u32 %r3, [%r1+384];\n"
      "mad.lo.u32 %r4, %r20, 32, %t; mul.wide.u32 %rd1, %r4, 4; add.s64 %rd1, %out, %rd1; "
      "st.global.u32 [%rd1], %r3;\n"
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  Outcome o = run(body, s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[9], 11u * 32 + 9);
  EXPECT_EQ(o.out[32 + 9], 11u * 32 + 9);
}

TEST(Tma, BulkCopyAndReduction) {
  KernelSetup s = matrix(Swizzle::None);
  Outcome o = run(std::string(prologue) +
                      "@%p9 bra L; mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], 256;\n"
                      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], "
                      "[%in], 256, [smem+2048];\nL:\n" +
                      waitTile +
                      "@%p9 bra E; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
                      "[%in+256], [smem], 256;\n"
                      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.global.u32 %r3, "
                      "[%in+260]; st.global.u32 [%out], %r3;\nE:",
                  s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[0], 66u);
}

TEST(Tma, ReplaceGlobalAddress) {
  // The map is copied to shared memory, moved on by four rows, and published.
  KernelSetup s = matrix(Swizzle::B128);
  s.declarations = ".global .align 128 .b8 published[128];\n";
  Outcome o = run(
      std::string(prologue) +
          "shl.b32 %r1, %t, 2; cvt.u64.u32 %rd11, %r1; add.s64 %rd12, %rd10, %rd11; ld.b32 %r2, "
          "[%rd12];\n"
          "mov.b32 %r3, smem; add.s32 %r3, %r3, %r1; st.shared.b32 [%r3+3072], %r2; bar.warp.sync "
          "-1; add.s64 %rd13, %in, 512;\n"
          "@!%p9 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [smem+3072], %rd13;\n"
          "@!%p9 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [smem+3072], 1, "
          "12;\nbar.warp.sync -1;\n"
          "mov.b64 %rd10, published; "
          "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
          "[%rd10], [smem+3072], 128;\n"
          "fence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;\n" +
          loadTile("1024", "0") + waitTile + readRow,
      s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[9], 7u * 32 + 9);
}

TEST(Tma, CopiesBetweenCtas) {
  // CTA 0 sends 128 bytes and one word to CTA 1; both complete on CTA 1's mbarrier.
  KernelSetup s = matrix(Swizzle::None);
  s.grid = s.cluster = {2, 1, 1};
  std::string sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
  auto body = [&](const std::string &fence, const std::string &bytes) {
    return std::string(prologue) +
           "mov.u32 %r20, %cluster_ctarank; mov.b32 %r1, smem; shl.b32 %r2, %t, 2; add.s32 %r2, "
           "%r1, %r2; mad.lo.u32 %r3, %t, 3, 1;\n"
           "st.shared.u32 [%r2], %r3; st.shared.u32 [%r1+1028], 5;\n" +
           fence +
           "bar.sync 0; @%p9 bra S; setp.ne.s32 %p3, %r20, 1; @%p3 bra S;\n"
           "mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], " +
           bytes + ";\nS:\n" + sync +
           "@%p9 bra L; setp.ne.s32 %p3, %r20, 0; @%p3 bra L; mapa.shared::cluster.u32 %r4, %r1, "
           "1; mov.b32 %r5, 77;\n"
           "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4+512], "
           "[%r1], 128, [%r4+2048];\n"
           "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4+1024], %r5, "
           "[%r4+2048];\n"
           "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
           "[%r4+1028], "
           "%r5, [%r4+2048];\nL:\n"
           "setp.ne.s32 %p3, %r20, 1; @%p3 bra E;\n" +
           waitTile +
           "ld.shared.u32 %r6, [%r2+512]; ld.shared.u32 %r7, [smem+1024]; add.s32 %r6, %r6, %r7; "
           "ld.shared.u32 %r7, [smem+1028]; add.s32 %r6, %r6, %r7;\n"
           "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.u32 [%rd1], %r6;\nE:\n" +
           sync;
  };
  Outcome o = run(body("fence.proxy.async.shared::cta;\n", "136"), s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[4], 13u + 77 + 82);
  EXPECT_TRUE(run(body("", "136"), s).has("missing-proxy-fence"));
  EXPECT_TRUE(run(body("fence.proxy.async.shared::cta;\n", "140"), s).has("deadlock"));
}

TEST(Tma, StrictModeAsksForAFenceBeforeOverwriting) {
  // Read by ordinary loads, released by a barrier, loaded again: customary, but PTX asks for a
  // fence.
  std::string second =
      "bar.sync 0; @%p9 bra N; mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], 1024;\n"
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], "
      "[%rd10, {%r10, %r11}], [smem+2048];\nN:\n"
      "V: mbarrier.try_wait.parity.shared.b64 %p1, [smem+2048], 1; @!%p1 bra V;";
  KernelSetup s = matrix(Swizzle::B128);
  EXPECT_TRUE(run(prologue + loadTile("1024", "8") + waitTile + readRow + second, s).found.empty());
  s.options.checks = CheckAll | CheckStrict;
  EXPECT_TRUE(run(prologue + loadTile("1024", "8") + waitTile + readRow + second, s)
                  .has("missing-proxy-fence"));
}

TEST(Tma, CopiesOverWhatALoadMayStillRead) {
  // An arrival lets the copy begin, but does not wait for the load.
  auto again = [](const std::string &between) {
    KernelSetup s = matrix(Swizzle::B128);
    std::string used = "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.u32 [%rd1], %r3;\n";
    std::string load = std::string(readRow).substr(0, std::string(readRow).find('\n') + 1);
    return run(prologue + loadTile("1024", "8") + waitTile + load + between +
                   "bar.warp.sync -1; @%p9 bra N; mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], 1024;\n"
                   "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], "
                   "[%rd10, {%r10, %r11}], [smem+2048];\nN:\n"
                   "V: mbarrier.try_wait.parity.shared.b64 %p1, [smem+2048], 1; @!%p1 bra V;\n" + used,
               s);
  };
  for (const char *between : {"", "mov.b32 %r4, %r3;\n", "add.s32 %r4, %r3, 1;\n", "fence.proxy.async.global;\n",
                              "@%p9 bra F; fence.proxy.async.shared::cta;\nF:\n"}) {
    Outcome o = again(between);
    EXPECT_TRUE(o.has("missing-proxy-fence")) << between << o.text();
  }
  for (const char *between : {"fence.proxy.async.shared::cta;\n", "fence.proxy.async;\n", "fence.acq_rel.cta;\n",
                              "add.s32 %r4, %r3, 1; mul.wide.u32 %rd7, %t, 4; add.s64 %rd7, %out, %rd7; st.global.u32 [%rd7+1024], %r4;\n",
                              "setp.eq.s32 %p2, %r3, 77; @%p2 trap;\n", "bar.sync 0;\n", "membar.cta;\n", "fence.sc.cta;\n",
                              "bar.warp.sync -1; @%p9 bra F; fence.proxy.async.shared::cta;\nF:\n"}) {
    Outcome o = again(between);
    EXPECT_TRUE(o.found.empty()) << between << o.text();
  }
}

TEST(Tma, ReductionOverWhatALoadMayStillRead) {
  // CTA 0 adds a word, again and again, to one that CTA 1 reads in between.
  auto body = [](const std::string &between) {
    KernelSetup s = matrix(Swizzle::None);
    s.grid = s.cluster = {2, 1, 1};
    std::string sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
    return run(std::string(prologue) +
                   "mov.u32 %r20, %cluster_ctarank; mov.b32 %r1, smem; setp.ne.u32 %p3, %r20, 0; mov.b32 %r5, 4;\n"
                   "@!%p9 st.shared.v4.b32 [%r1], {%r5, %r5, %r5, %r5}; fence.proxy.async; mapa.shared::cluster.u32 %r4, %r1, 1;\n"
                   "or.pred %p4, %p3, %p9; not.pred %p5, %p3; or.pred %p5, %p5, %p9;\n" +
                   sync +
                   "@!%p4 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r4], [%r1], 16, "
                   "[%r4+2048];\n"
                   "@!%p5 mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], 16;\n@!%p3 bra A;\n" +
                   waitTile + "ld.shared.u32 %r6, [%r1];\n" + between + "A:\n" + sync +
                   "@!%p4 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r4], [%r1], 16, "
                   "[%r4+2048];\n"
                   "@!%p5 mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+2048], 16;\n@!%p3 bra B;\n"
                   "V: mbarrier.try_wait.parity.shared.b64 %p1, [smem+2048], 1; @!%p1 bra V;\n"
                   "ld.shared.u32 %r7, [%r1]; add.s32 %r7, %r7, %r6; @!%p9 st.global.u32 [%out], %r7;\nB:\n" + sync,
               s);
  };
  Outcome o = body("fence.proxy.async.shared::cta;\n");
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[0], 8u + 12);
  EXPECT_TRUE(body("").has("missing-proxy-fence"));
}

TEST(Launch, ClusterLaunchControl) {
  // Five CTAs of work: whoever runs takes over the rest, until a request is refused.
  KernelSetup s;
  s.grid = {5, 1, 1};
  s.shared = 256;
  s.outWords = 8;
  Outcome o = run(
      ".reg .b128 %q; setp.ne.s32 %p9, %t, 0; @%p9 bra END; mbarrier.init.shared::cta.b64 "
      "[smem+16], 1; fence.proxy.async.shared::cta;\n"
      "mov.u32 %r1, %ctaid.x; mov.b32 %r2, 0;\n"
      "NEXT: mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %out, %rd1; add.s32 %r3, %r1, 100; "
      "st.global.u32 [%rd1], %r3; red.global.add.u32 [%out+28], 1;\n"
      "mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem+16], 16;\n"
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [smem], "
      "[smem+16];\n"
      "W: mbarrier.try_wait.parity.shared.b64 %p1, [smem+16], %r2; @!%p1 bra W; xor.b32 %r2, %r2, "
      "1; ld.shared.b128 %q, [smem];\n"
      "fence.proxy.async.shared::cta; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, "
      "%q; @!%p2 bra END;\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %q; bra.uni NEXT;\nEND:",
      s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  for (uint32_t i = 0; i < 5; ++i)
    EXPECT_EQ(o.out[i], 100 + i);
  EXPECT_EQ(o.out[7], 0xDEADBEEF + 5); // each piece of work was done once
}
