//===- BarrierTest.cpp - Barriers, clusters, schedules, deadlocks ---------===//
//
// Named barriers, mbarriers, barrier.cluster and distributed shared memory, setmaxnreg; what is
// reported when they are used wrongly; equal seeds give equal runs.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace tileloom::sim;

static const char *mine = "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1;\n";

static KernelSetup block(uint32_t threads, uint32_t shared = 1024) {
  KernelSetup s;
  s.block = {threads, 1, 1};
  s.outWords = threads;
  s.shared = shared;
  return s;
}

TEST(NamedBarrier, Reduction) {
  Outcome o =
      run("setp.lt.u32 %p1, %t, 40; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 1, %p1;\n"
          "bar.red.or.pred %p3, 2, %p1; selp.b32 %r2, 100, 0, %p2; selp.b32 %r3, 1000, 0, %p3;\n"
          "add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3;\n" +
              std::string(mine) + "st.global.u32 [%rd1], %r1;",
          block(64));
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[50], 1040u);
}

TEST(NamedBarrier, WrongCountDeadlocksWithReport) {
  Outcome o = run("setp.ge.u32 %p1, %t, 32; @%p1 bra END; bar.sync 3, 64;\nEND:", block(64));
  ASSERT_TRUE(o.has("deadlock"));
  EXPECT_NE(o.text().find("waits at barrier 3: 32 of 64 threads have arrived"), std::string::npos)
      << o.text();
  EXPECT_TRUE(run("setp.ge.u32 %p1, %t, 32; @%p1 bra B; bar.arrive 3, 64; bra.uni END; B: bar.sync "
                  "3, 96;\nEND:",
                  block(96))
                  .has("named-barrier"));
}

TEST(NamedBarrier, DivergedAligned) {
  Outcome o = run("setp.ge.u32 %p1, %t, 8; @%p1 bra END; bar.sync 0;\nEND:", block(32));
  ASSERT_TRUE(o.has("diverged"));
  EXPECT_NE(o.text().find("lanes 0xff of the warp"), std::string::npos);
}

static const char *initBarrier = "mov.b32 %r20, smem; setp.ne.s32 %p9, %t, 0; @%p9 bra I; "
                                 "mbarrier.init.shared::cta.b64 [smem], 64;\nI: bar.sync 0;\n";

TEST(Mbarrier, ArriveAndWait) {
  Outcome o = run(std::string(initBarrier) +
                      "shl.b32 %r1, %t, 2; add.s32 %r1, %r1, %r20; st.shared.u32 [%r1+64], %t;\n"
                      "mbarrier.arrive.shared.b64 %rd5, [smem];\nW: "
                      "mbarrier.try_wait.parity.shared.b64 %p1, [smem], 0; @!%p1 bra W;\n"
                      "xor.b32 %r2, %t, 32; shl.b32 %r2, %r2, 2; add.s32 %r2, %r2, %r20; "
                      "ld.shared.u32 %r3, [%r2+64];\n" +
                      std::string(mine) + "st.global.u32 [%rd1], %r3;",
                  block(64));
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[1], 33u);
}

TEST(Mbarrier, MissingArrivalDeadlocks) {
  Outcome o = run(std::string(initBarrier) +
                      "@%p9 mbarrier.arrive.shared.b64 %rd5, [smem];\nW: "
                      "mbarrier.try_wait.parity.shared.b64 %p1, [smem], 0; @!%p1 bra W;",
                  block(64));
  ASSERT_TRUE(o.has("deadlock"));
  EXPECT_NE(o.text().find("waits for parity 0 of mbarrier 0x400"), std::string::npos) << o.text();
  EXPECT_NE(o.text().find("1 of 64 arrivals pending"), std::string::npos) << o.text();
}

TEST(Mbarrier, SpinningOnTestWaitIsADeadlockToo) {
  KernelSetup s = block(32);
  Outcome o = run("setp.ne.s32 %p9, %t, 0; @%p9 bra I; mbarrier.init.shared::cta.b64 [smem], "
                  "1;\nI: bar.sync 0;\n"
                  "W: mbarrier.test_wait.parity.shared.b64 %p1, [smem], 0; @!%p1 bra W;",
                  s);
  EXPECT_TRUE(o.has("deadlock")) << o.text();
}

TEST(Mbarrier, Misuse) {
  EXPECT_TRUE(run("mbarrier.arrive.shared.b64 %rd5, [smem];", block(32)).has("mbarrier"));
  EXPECT_TRUE(run(std::string(initBarrier) + "st.shared.u32 [smem], %t;", block(64))
                  .has("mbarrier-overwritten"));
  // Used by the other warp without being ordered after the initialisation.
  EXPECT_TRUE(run("setp.ne.s32 %p9, %t, 0; @%p9 bra I; mbarrier.init.shared::cta.b64 [smem], "
                  "64;\nI: bar.warp.sync -1;\n"
                  "mbarrier.arrive.shared.b64 %rd5, [smem];",
                  block(64))
                  .has("race"));
  Outcome tx = run("setp.ne.s32 %p9, %t, 0; @%p9 bra I; mbarrier.init.shared::cta.b64 [smem], 1;\n"
                   "mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem], 64;\nI:",
                   block(32));
  EXPECT_TRUE(tx.has("transaction-count")) << tx.text();
}

TEST(Mbarrier, LappedWaiter) {
  // Warp 1 waits for phase 0 but is held up; warp 0 completes two phases meanwhile.
  Outcome o =
      run("setp.ne.s32 %p9, %t, 0; @%p9 bra I; mbarrier.init.shared::cta.b64 [smem], 1; "
          "mbarrier.init.shared::cta.b64 [smem+8], 1;\n"
          "I: bar.sync 0; setp.ge.u32 %p2, %t, 32; @%p2 bra W; @%p9 bra END;\n"
          "mov.b32 %r1, 0;\nL: add.s32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 400; @%p3 bra L;\n"
          "mbarrier.arrive.shared.b64 %rd5, [smem]; mbarrier.arrive.shared.b64 %rd5, [smem]; "
          "bra.uni END;\n"
          "W: mbarrier.try_wait.parity.shared.b64 %p1, [smem], 0; @!%p1 bra W;\nEND:",
          block(64));
  EXPECT_TRUE(o.has("barrier-lapped")) << o.text();
}

TEST(Mbarrier, OtherParitiesCountByTheirLowestBit) {
  // -1 waits for the phase of parity 1, which is over before the first; strict says so, and the run is the same.
  std::string body = "setp.ne.s32 %p9, %t, 0; @%p9 bra I; mbarrier.init.shared::cta.b64 [smem], 1;\nI: bar.sync 0;\n"
                     "W: mbarrier.try_wait.parity.shared.b64 %p1, [smem], -1; @!%p1 bra W;\n"
                     "@!%p9 mbarrier.arrive.shared.b64 %rd5, [smem];\n"
                     "V: mbarrier.try_wait.parity.shared.b64 %p1, [smem], 2; @!%p1 bra V;\n";
  KernelSetup s = block(32);
  EXPECT_TRUE(run(body, s).found.empty());
  s.options.checks = CheckAll | CheckStrict;
  Outcome o = run(body, s);
  EXPECT_TRUE(o.has("mbarrier")) << o.text();
  EXPECT_NE(o.text().find("phase parity is 4294967295, needs 0 or 1"), std::string::npos);
  EXPECT_FALSE(o.has("deadlock") || o.has("race")) << o.text();
}

TEST(Cluster, DistributedSharedMemory) {
  KernelSetup s;
  s.grid = s.cluster = {4, 1, 1};
  s.outWords = 128;
  s.shared = 256;
  std::string start = "mov.b32 %r1, smem; shl.b32 %r2, %t, 2; add.s32 %r2, %r1, %r2; mov.u32 %r3, "
                      "%cluster_ctarank;\n"
                      "mad.lo.u32 %r4, %r3, 100, %t; st.shared.u32 [%r2], %r4;\n";
  std::string read =
      "add.s32 %r5, %r3, 1; and.b32 %r5, %r5, 3; mapa.shared::cluster.u32 %r6, %r2, %r5;\n"
      "ld.shared::cluster.u32 %r7, [%r6]; mad.lo.u32 %r8, %r3, 32, %t; mul.wide.u32 %rd1, %r8, 4;\n"
      "add.s64 %rd1, %out, %rd1; st.global.u32 [%rd1], %r7;\n";
  std::string sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
  Outcome o = run(start + sync + read + sync, s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[5], 105u);
  EXPECT_EQ(o.out[96 + 7], 7u);
  Outcome race = run(start + read + sync, s);
  EXPECT_TRUE(race.has("race") || race.has("uninitialised")) << race.text();
  Outcome late = run(start + sync +
                         "setp.ne.s32 %p1, %r3, 3; @%p1 bra END;\nmov.b32 %r9, 0; L: add.s32 %r9, "
                         "%r9, 1; setp.lt.u32 %p2, %r9, 2000; @%p2 bra L;\n" +
                         read + "END:",
                     s);
  EXPECT_TRUE(late.has("remote-exited")) << late.text();
}

TEST(Cluster, RemoteArrive) {
  KernelSetup s;
  s.grid = s.cluster = {2, 1, 1};
  s.shared = 256;
  std::string body =
      "setp.ne.s32 %p9, %t, 0; @%p9 bra I; mbarrier.init.shared::cta.b64 [smem], 2; "
      "fence.mbarrier_init.release.cluster;\n"
      "I: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
      "@%p9 bra D; mov.b32 %r1, smem; mapa.shared::cluster.u32 %r2, %r1, 0; "
      "mapa.shared::cluster.u32 %r3, %r1, 1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2]; "
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n"
      "D: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [smem], 0; @!%p1 bra D;\n"
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  Outcome o = run(body, s);
  EXPECT_TRUE(o.found.empty()) << o.text();
}

TEST(Registers, SetmaxnregPool) {
  KernelSetup s = block(256);
  // 256 threads start with 256 registers each: nothing to hand out until a warpgroup gives some up.
  std::string give = "setp.ge.u32 %p1, %t, 128; @%p1 bra B; setmaxnreg.dec.sync.aligned.u32 ";
  EXPECT_TRUE(run(give + "64; bra.uni END; B: setmaxnreg.dec.sync.aligned.u32 200; "
                         "setmaxnreg.inc.sync.aligned.u32 256;\nEND:",
                  s)
                  .found.empty());
  s = block(384);
  s.outWords = 1; // 168 each: 32 given up by one warpgroup are not enough for two of 240
  Outcome o =
      run("setp.ge.u32 %p1, %t, 128; @%p1 bra B; setmaxnreg.dec.sync.aligned.u32 32; bra.uni END;\n"
          "B: setmaxnreg.inc.sync.aligned.u32 240;\nEND:",
          s);
  ASSERT_TRUE(o.has("deadlock")) << o.text();
  EXPECT_NE(o.text().find("waits in setmaxnreg for 240 registers"), std::string::npos) << o.text();
}

TEST(Schedule, EqualSeedsGiveEqualRuns) {
  KernelSetup s = block(128);
  std::string body =
      "atom.global.add.u32 %r1, [%in], 1;\n" + std::string(mine) + "st.global.u32 [%rd1], %r1;";
  std::vector<uint32_t> first;
  bool differs = false;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    s.options.seed = seed;
    Outcome a = run(body, s), b = run(body, s);
    EXPECT_EQ(a.out, b.out);
    if (first.empty())
      first = a.out;
    differs |= a.out != first;
  }
  EXPECT_TRUE(differs);
}

TEST(Registers, SetmaxnregByAWholeWarpgroup) {
  KernelSetup s;
  s.block = {128, 1, 1};
  std::string first = "setp.lt.u32 %p1, %t, 32;\n";
  EXPECT_TRUE(run("setmaxnreg.dec.sync.aligned.u32 64;", s).found.empty());
  Outcome o = run(first + "@%p1 bra E; setmaxnreg.dec.sync.aligned.u32 64; E:", s);
  ASSERT_TRUE(o.has("setmaxnreg"));
  EXPECT_NE(o.text().find("have executed 0 and 1 setmaxnregs"), std::string::npos) << o.text();
  o = run(first + "@%p1 bra A; setmaxnreg.dec.sync.aligned.u32 64; bra E;\n"
                  "A: setmaxnreg.dec.sync.aligned.u32 72; E:",
          s);
  ASSERT_TRUE(o.has("setmaxnreg"));
  EXPECT_NE(o.text().find("all four must execute the same"), std::string::npos) << o.text();
}

/// Thread 0 writes a word and then a flag, by `write`; thread 32 reads the flag by `read` (into %r5)
/// until it is 1, then `behind` and the word.
static Outcome flag(const std::string &write, const std::string &read, const std::string &behind) {
  KernelSetup s;
  s.block = {64, 1, 1};
  s.shared = 64;
  s.outWords = 1;
  return run("mov.b32 %r2, 0; mov.b32 %r3, 1; mov.b32 %r4, 42; setp.eq.s32 %p1, %t, 0;\n"
             "setp.eq.s32 %p2, %t, 32; @%p1 st.shared.b32 [smem], %r2; bar.sync 0;\n"
             "@%p1 bra W; @%p2 bra R; bra E;\nW: st.shared.b32 [smem+4], %r4; " +
                 write + " bra E;\nR: " + read + " setp.ne.s32 %p3, %r5, 1; @%p3 bra R; " + behind +
                 " ld.shared.b32 %r6, [smem+4]; st.global.b32 [%out], %r6;\nE:",
             s);
}

TEST(Memory, FlagsInSharedMemory) {
  const char *load = "ld.relaxed.cta.shared.b32 %r5, [smem];",
             *store = "st.relaxed.cta.shared.b32 [smem], %r3;";
  std::string fence = "membar.cta;";
  EXPECT_TRUE(flag("st.release.cta.shared.b32 [smem], %r3;",
                   "ld.acquire.cta.shared.b32 %r5, [smem];", "")
                  .found.empty());
  EXPECT_TRUE(flag(fence + store, load, fence).found.empty());
  EXPECT_TRUE(flag(fence + "st.volatile.shared.b32 [smem], %r3;",
                   "ld.volatile.shared.b32 %r5, [smem];", "")
                  .found.empty());
  EXPECT_TRUE(flag("atom.release.cta.shared.exch.b32 %r7, [smem], %r3;",
                   "atom.acquire.cta.shared.or.b32 %r5, [smem], 0;", "")
                  .found.empty());
  EXPECT_TRUE(flag(store, load, fence).has("race"));
  EXPECT_TRUE(flag(fence + store, load, "").has("race"));
  EXPECT_TRUE(flag("atom.relaxed.cta.shared.exch.b32 %r7, [smem], %r3;",
                   "atom.relaxed.cta.shared.or.b32 %r5, [smem], 0;", "")
                  .has("race"));
}
