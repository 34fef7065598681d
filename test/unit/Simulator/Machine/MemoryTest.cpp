//===- MemoryTest.cpp - Spaces, atomics, bounds, cp.async, matrices -------===//
//
// Loads and stores of every space, what a bad address reports, warp matrix instructions.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace tileloom::sim;

static const char *mine = "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1;\n";

TEST(Memory, VectorsLocalConstGeneric) {
  KernelSetup s;
  s.in = {1, 2, 3, 4};
  s.declarations = ".const .align 4 .u32 table[3] = {10, 20, 30};\n.global .align 8 .u64 ptr = "
                   "generic(table)+4;\n";
  Outcome o =
      run(std::string(mine) +
              ".local .align 16 .b8 depot[32];\n"
              "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%in]; mov.b64 %rd2, depot; cvta.local.u64 "
              "%rd3, %rd2;\n"
              "st.v2.u32 [%rd3+8], {%r3, %r4}; ld.local.u32 %r5, [depot+12];\n"
              "ld.const.u32 %r6, [table+8]; ld.global.u64 %rd4, [ptr]; ld.u32 %r7, [%rd4];\n"
              "add.s32 %r8, %r5, %r6; add.s32 %r8, %r8, %r7; st.global.u32 [%rd1], %r8;",
          s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[7], 4u + 30 + 20);
}

TEST(Memory, NarrowAccessesExtend) {
  KernelSetup s;
  s.in = {0x80FF7F01};
  Outcome o =
      run(std::string(mine) +
              "ld.global.s8 %r1, [%in+3]; ld.global.u8 %r2, [%in+2]; ld.global.s16 %r3, [%in+2];\n"
              "add.s32 %r4, %r1, %r2; add.s32 %r4, %r4, %r3; st.global.u32 [%rd1], %r4;\n"
              "setp.eq.s32 %p1, %t, 0; @%p1 st.global.u8 [%out], %r2;",
          s);
  EXPECT_EQ(o.out[1], uint32_t(-128 + 255 - 32513));
  EXPECT_EQ(o.out[0] & 0xFF, 255u);
}

TEST(Memory, SharedExchange) {
  KernelSetup s;
  s.shared = 256;
  s.block = {64, 1, 1};
  s.outWords = 64;
  std::string body =
      "shl.b32 %r1, %t, 2; mov.b32 %r2, smem; add.s32 %r1, %r1, %r2; st.shared.u32 [%r1], %t;\n";
  std::string rest = "xor.b32 %r3, %t, 63; shl.b32 %r3, %r3, 2; add.s32 %r3, %r3, %r2; "
                     "ld.shared.u32 %r4, [%r3];\n" +
                     std::string(mine) + "st.global.u32 [%rd1], %r4;";
  Outcome o = run(body + "bar.sync 0;\n" + rest, s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[3], 60u);
  // Without the barrier the other warp's word is a race, or not there yet.
  Outcome bad = run(body + rest, s);
  EXPECT_TRUE(bad.has("race") || bad.has("uninitialised")) << bad.text();
}

TEST(Memory, BadAddressesAreReported) {
  KernelSetup s;
  s.shared = 64;
  Outcome o = run("ld.global.u32 %r1, [%in+400];");
  ASSERT_TRUE(o.has("out-of-bounds"));
  EXPECT_NE(o.found[0].message.find("past the end of 'in'"), std::string::npos) << o.text();
  EXPECT_EQ(o.found[0].count, 32u);
  EXPECT_TRUE(run("st.global.v2.u32 [%out+4], {%t, %t};").has("misaligned"));
  EXPECT_TRUE(run("mov.b32 %r1, smem; st.shared.u32 [%r1+64], %t;", s).has("out-of-bounds"));
  EXPECT_TRUE(run("mov.b32 %r1, smem; ld.shared.u32 %r2, [%r1];", s).has("uninitialised"));
  EXPECT_TRUE(run("mov.b32 %r1, 0; ld.shared.u32 %r2, [%r1];", s).has("out-of-bounds"));
  EXPECT_TRUE(run("ld.param.u64 %rd1, [pout+8];").has("out-of-bounds"));
}

TEST(Memory, Atomics) {
  KernelSetup s;
  s.in = {100, 0, 0, 0};
  Outcome o = run("atom.global.add.u32 %r1, [%in], 1; red.global.max.s32 [%in+4], %t;\n"
                  "cvt.rn.f32.u32 %f1, %t; red.global.add.f32 [%in+8], %f1; bar.warp.sync -1;\n"
                  "atom.global.inc.u32 %r5, [%in+12], 7;\n"
                  "ld.volatile.global.u32 %r2, [%in]; ld.volatile.global.u32 %r3, [%in+4]; "
                  "ld.volatile.global.f32 %f2, [%in+8];\n"
                  "cvt.rzi.u32.f32 %r4, %f2; add.s32 %r2, %r2, %r3; add.s32 %r2, %r2, %r4;\n" +
                      std::string(mine) + "st.global.u32 [%rd1], %r2;",
                  s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[0], 132u + 31 + 496);
}

// As an H200 does (cases atom_float and red_vector): global memory flushes subnormals, shared does
// not.
TEST(Memory, AtomicsFlushSubnormalsInGlobalMemoryOnly) {
  for (bool shared : {false, true}) {
    KernelSetup s;
    s.shared = 16;
    s.in = {0x80800001};
    s.block = {1, 1, 1};
    Outcome o =
        run(std::string("mov.b32 %r1, 0x807FFFFF; mov.b32 %f1, %r1; mov.b64 %rd3, smem; "
                        "cvta.shared.u64 %rd2, %rd3;\n"
                        "ld.global.u32 %r2, [%in]; st.shared.u32 [smem], %r2;\n") +
                (shared ? "" : "mov.b64 %rd2, %in;\n") +
                "atom.add.f32 %f2, [%rd2], %f1; ld.u32 %r3, [%rd2]; st.global.u32 [%out], %r3;",
            s);
    EXPECT_TRUE(o.found.empty()) << o.text();
    EXPECT_EQ(o.out[0], shared ? 0x81000000u : 0x80800001u);
  }
}

TEST(Memory, TwoCtasWritingOneWordIsARace) {
  KernelSetup s;
  s.grid = {2, 1, 1};
  EXPECT_TRUE(run(std::string(mine) + "st.global.u32 [%rd1], %t;", s).has("race"));
}

TEST(Memory, ReleaseAndAcquireThroughGlobalMemory) {
  // CTA 1 waits for CTA 0's flag; the second launch order needs CTAs to run together.
  KernelSetup s;
  s.grid = {2, 1, 1};
  s.in = {0, 0};
  std::string body =
      "mov.u32 %r1, %ctaid.x; setp.eq.s32 %p1, %r1, 0; @%p1 bra WAIT;\n"
      "setp.ne.s32 %p2, %t, 0; @%p2 bra END; mov.b32 %r2, 42; st.global.u32 [%in+4], %r2;\n"
      "fence.acq_rel.gpu; atom.global.exch.b32 %r3, [%in], 1; bra.uni END;\n"
      "WAIT: ld.acquire.gpu.global.u32 %r4, [%in]; setp.eq.s32 %p3, %r4, 0; @%p3 bra WAIT;\n"
      "ld.global.u32 %r5, [%in+4];" +
      std::string(mine) + "st.global.u32 [%rd1], %r5;\nEND:";
  Outcome o = run(body, s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[9], 42u);
  std::string broken = body;
  broken.replace(broken.find("ld.acquire.gpu.global"), 21, "ld.global");
  s.options.maxSteps = 3000000;
  EXPECT_TRUE(run(broken, s).has("race"));
}

TEST(Memory, CpAsync) {
  KernelSetup s;
  s.shared = 512;
  for (uint32_t i = 0; i < 128; ++i)
    s.in.push_back(i);
  std::string copy = "mov.b32 %r1, smem; shl.b32 %r2, %t, 4; add.s32 %r1, %r1, %r2; cvt.u64.u32 "
                     "%rd2, %r2; add.s64 %rd2, %in, %rd2;\n"
                     "cp.async.cg.shared.global [%r1], [%rd2], 16, 12; cp.async.commit_group;\n";
  std::string use =
      "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1]; mad.lo.u32 %r5, %r6, 1000, %r5;\n" +
      std::string(mine) + "st.global.u32 [%rd1], %r5;";
  Outcome o = run(copy + "cp.async.wait_group 0;\n" + use, s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[2], 10u); // the last word is zero-filled
  EXPECT_TRUE(run(copy + use, s).has("race"));
}

// Copies of a thread complete in any order, and its arrival comes after all of them.
TEST(Memory, CpAsyncArrivesAfterEveryCopy) {
  KernelSetup s;
  s.shared = 4096;
  for (uint32_t i = 0; i < 512; ++i)
    s.in.push_back(i + 1);
  std::string body =
      "mov.b32 %r1, smem; setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [%r1], 32;\n"
      "bar.warp.sync -1; shl.b32 %r2, %t, 4; add.s32 %r3, %r1, %r2; cvt.u64.u32 %rd2, %r2;\n"
      "add.s64 %rd2, %in, %rd2;\n";
  for (int i = 0; i < 4; ++i) {
    std::string at = std::to_string(512 * i);
    body += "cp.async.cg.shared.global [%r3+" + std::to_string(512 + 512 * i) + "], [%rd2+" + at +
            "], 16;\n";
  }
  body += "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];\n"
          "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra W;\n"
          "mov.b32 %r7, 0;\n";
  for (int i = 0; i < 4; ++i)
    body += "ld.shared.u32 %r4, [%r3+" + std::to_string(512 + 512 * i) +
            "]; add.s32 %r7, %r7, %r4;\n";
  body += std::string(mine) + "st.global.u32 [%rd1], %r7;";
  for (uint64_t seed = 0; seed < 12; ++seed) {
    s.options.seed = seed;
    Outcome o = run(body, s);
    EXPECT_TRUE(o.found.empty()) << o.text();
    EXPECT_EQ(o.out[3], 4u * 13 + 128 * (1 + 2 + 3));
  }
}

TEST(Matrix, LdmatrixStmatrix) {
  KernelSetup s;
  s.shared = 256;
  std::string fill =
      "mov.b32 %r1, smem; shl.b32 %r2, %t, 2; add.s32 %r2, %r1, %r2; shl.b32 %r3, %t, 1; add.s32 "
      "%r4, %r3, 1;\n"
      "shl.b32 %r4, %r4, 16; or.b32 %r3, %r3, %r4; st.shared.b32 [%r2], %r3; bar.warp.sync -1;\n"
      "and.b32 %r5, %t, 7; shl.b32 %r5, %r5, 4; add.s32 %r5, %r1, %r5;\n";
  std::string rest = std::string(mine) + "st.global.u32 [%rd1], %r6;";
  Outcome plain = run(fill + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5];\n" + rest, s);
  EXPECT_TRUE(plain.found.empty()) << plain.text();
  EXPECT_EQ(plain.out[5], 10u | 11u << 16);
  Outcome trans =
      run(fill + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r6}, [%r5];\n" + rest, s);
  EXPECT_EQ(trans.out[5], 17u | 25u << 16); // column 1, rows 2 and 3
  Outcome back = run(fill +
                         "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r5], {%r3}; "
                         "bar.warp.sync -1; ld.shared.b32 %r6, [%r2];\n" +
                         rest,
                     s);
  EXPECT_EQ(back.out[5], 17u | 25u << 16);
  Outcome move = run(fill + "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r3;\n" + rest, s);
  EXPECT_EQ(move.out[5], 17u | 25u << 16);
}

TEST(Matrix, MmaSync) {
  // A is all ones, B[k][n] = n + 1 in bf16, C = 0.5: D[m][n] = 16 (n + 1) + 0.5.
  Outcome o =
      run(".reg .f32 %d<4>; .reg .b32 %b; shr.u32 %r1, %t, 2; add.s32 %r1, %r1, 1; cvt.rn.f32.u32 "
          "%f1, %r1;\n"
          "cvt.rn.bf16x2.f32 %b, %f1, %f1; mov.b32 %r2, 0x3F803F80; mov.f32 %f2, 0f3F000000;\n"
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%d0,%d1,%d2,%d3}, "
          "{%r2,%r2,%r2,%r2}, {%b,%b}, {%f2,%f2,%f2,%f2};\n" +
          std::string(mine) + "st.global.f32 [%rd1], %d3;");
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(asFloat(o.out[2]), 16.0f * 6 + 0.5f); // lane 2 holds column 2 * 2 + 1
}
