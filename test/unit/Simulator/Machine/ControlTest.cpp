//===- ControlTest.cpp - Divergence, calls, lanes, loading ----------------===//
//
// Reconvergence at post-dominators, loops inside a warp that wait for each other, instructions
// across lanes, and what the loader refuses.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace tileloom::sim;

static std::vector<uint32_t> iota(uint32_t n = 32) {
  std::vector<uint32_t> v(n);
  for (uint32_t i = 0; i < n; ++i)
    v[i] = i;
  return v;
}

TEST(Control, LoopsOfDifferentLengthMeetAgain) {
  // Each lane counts to its number; all vote together behind the loop.
  auto out =
      lanes("mov.b32 %r1, 0;\nLOOP: setp.ge.u32 %p1, %r1, %a; @%p1 bra DONE;\n"
            "add.s32 %r1, %r1, 1; bra.uni LOOP;\nDONE: activemask.b32 %d; sub.s32 %d, %d, %r1;",
            iota());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], ~0u - i);
}

TEST(Control, BackwardJoin) {
  // The join lies before the branch in the text, as LLVM likes to lay out loops.
  auto out = lanes(
      "mov.b32 %r1, 0; mov.b32 %d, 0; bra.uni HEAD;\n"
      "TAIL: activemask.b32 %r2; popc.b32 %r2, %r2; add.s32 %d, %d, %r2; add.s32 %r1, %r1, 1;\n"
      "setp.lt.u32 %p2, %r1, 3; @%p2 bra HEAD; bra.uni OUT;\n"
      "HEAD: setp.ne.s32 %p1, %a, %r1; @%p1 bra TAIL; add.s32 %d, %d, 1000; bra.uni TAIL;\nOUT:",
      iota());
  EXPECT_EQ(out[0], 1096u);
  EXPECT_EQ(out[5], 96u);
}

TEST(Control, LanesOfAWarpMayWaitForEachOther) {
  // A lock taken by one lane after the other: forward progress of diverged threads.
  KernelSetup s;
  s.in = {0, 0};
  s.outWords = 1;
  s.options.checks = CheckNone;
  Outcome o =
      run("SPIN: atom.global.cas.b32 %r1, [%in], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra SPIN;\n"
          "ld.volatile.global.u32 %r2, [%in+4]; add.s32 %r2, %r2, 1; st.volatile.global.u32 "
          "[%in+4], %r2;\n"
          "st.volatile.global.u32 [%out], %r2; membar.gl; atom.global.exch.b32 %r3, [%in], 0;",
          s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[0], 32u);
}

TEST(Control, IndirectBranch) {
  auto out =
      lanes("and.b32 %r1, %a, 3; brx.idx %r1, TS;\nTS: .branchtargets L0, L1, L2, L3;\n"
            "L0: mov.b32 %d, 10; bra E;\nL1: mov.b32 %d, 11; bra E;\nL2: mov.b32 %d, 12; bra E;\n"
            "L3: mov.b32 %d, 13;\nE:",
            iota());
  EXPECT_EQ(out[6], 12u);
  EXPECT_EQ(out[31], 13u);
}

TEST(Control, CallsAreExpanded) {
  KernelSetup s;
  s.outWords = 32;
  s.declarations =
      ".func (.param .b32 r) square(.param .b32 x)\n{ .reg .b32 %r<3>; .reg .pred %p1;\n"
      "ld.param.b32 %r1, [x]; setp.gt.s32 %p1, %r1, 20; @%p1 bra BIG; mul.lo.s32 %r2, %r1, %r1;\n"
      "st.param.b32 [r], %r2; ret;\nBIG: mov.b32 %r2, 7; st.param.b32 [r], %r2; ret; }\n";
  Outcome o = run("{ .param .b32 arg; .param .b32 result; st.param.b32 [arg], %t;\n"
                  "call.uni (result), square, (arg); ld.param.b32 %r1, [result]; }\n"
                  "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.b32 [%rd1], %r1;",
                  s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  EXPECT_EQ(o.out[5], 25u);
  EXPECT_EQ(o.out[21], 7u);
}

TEST(Lanes, Shuffle) {
  EXPECT_EQ(lanes("shfl.sync.bfly.b32 %d, %a, 1, 31, -1;", iota())[6], 7u);
  EXPECT_EQ(lanes("shfl.sync.up.b32 %d|%p1, %a, 1, 0, -1; @!%p1 mov.b32 %d, 99;", iota())[0], 99u);
  EXPECT_EQ(lanes("shfl.sync.down.b32 %d, %a, 2, 31, -1;", iota())[31], 31u);
  EXPECT_EQ(lanes("shfl.sync.idx.b32 %d, %a, 3, 0x181f, -1;", iota())[13], 11u);
}

TEST(Lanes, VoteMatchReduxElect) {
  EXPECT_EQ(lanes("setp.lt.u32 %p1, %a, 4; vote.sync.ballot.b32 %d, %p1, -1;", iota())[9], 15u);
  EXPECT_EQ(
      lanes("setp.lt.u32 %p1, %a, 4; vote.sync.any.pred %p2, %p1, -1; selp.b32 %d, 1, 0, %p2;",
            iota())[9],
      1u);
  EXPECT_EQ(
      lanes("setp.lt.u32 %p1, %a, 4; vote.sync.all.pred %p2, !%p1, -1; selp.b32 %d, 1, 0, %p2;",
            iota())[9],
      0u);
  EXPECT_EQ(lanes("shr.u32 %r1, %a, 2; match.any.sync.b32 %d, %r1, -1;", iota())[5], 0xF0u);
  EXPECT_EQ(lanes("redux.sync.add.u32 %d, %a, -1;", iota())[3], 496u);
  EXPECT_EQ(lanes("redux.sync.max.s32 %d, %a, -1;", iota())[3], 31u);
  EXPECT_EQ(lanes("mov.b32 %d, 0; elect.sync %r1|%p1, -1; @%p1 mov.b32 %d, 1;", iota())[0], 1u);
}

TEST(Lanes, SyncWaitsForDivergedLanes) {
  // Both sides of a branch come to the same shuffle by different ways.
  auto out = lanes(
      "setp.lt.u32 %p1, %a, 16; @%p1 bra A; add.s32 %r1, %a, 100; bra.uni M; A: mov.b32 %r1, %a;\n"
      "M: shfl.sync.bfly.b32 %d, %r1, 16, 31, -1;",
      iota());
  EXPECT_EQ(out[0], 116u);
  EXPECT_EQ(out[20], 4u);
}

TEST(Load, RefusesWhatItCannotRun) {
  EXPECT_NE(loadError("frobnicate.b32 %r1, %r2;").find("line 10: unknown instruction 'frobnicate'"),
            std::string::npos);
  EXPECT_NE(loadError("add.weird.s32 %r1, %r2, %r3;").find("unsupported modifier '.weird'"),
            std::string::npos);
  EXPECT_NE(loadError("add.s32 %r1, %r2, %nope;").find("%nope"), std::string::npos);
  EXPECT_NE(loadError("add.s32 %r1, %rd2, %r3;").find("has 64 bits, the instruction needs 32"),
            std::string::npos);
  EXPECT_NE(loadError("bra NOWHERE;").find("label 'NOWHERE' is not defined"), std::string::npos);
  EXPECT_NE(loadError("ld.global.b32 %r1, [missing];").find("'missing' is not declared"),
            std::string::npos);
  EXPECT_NE(loadError("setmaxnreg.dec.sync.aligned.u32 26;").find("multiple of 8"),
            std::string::npos);
  EXPECT_NE(loadError("add.s32 %r1, %r2, %r3").find("expected ';'"), std::string::npos);
  EXPECT_NE(loadError("{ add.s32 %r1, %r2, %r3;").find("is not closed"), std::string::npos);
  EXPECT_NE(loadError(".reg .b32 %many<18446744073709551615>;").find("register count"),
            std::string::npos);
  EXPECT_NE(loadError("mov.b64 %rd1, 18446744073709551616;").find("does not fit into 64 bits"),
            std::string::npos);
}

TEST(Load, LocationsOfTheSource) {
  KernelSetup s;
  s.declarations = ".file 3 \"/src/kernel.cu\"\n";
  Outcome o = run(".loc 3 17 5\nmov.b32 %r1, 0;\n.loc 3 21 9, function_name $L, inlined_at 3 2 1\n"
                  "ld.shared.b32 %r2, [smem+99999];\n.loc 4 30 1\nld.shared.b32 %r3, [smem+99998];",
                  s);
  ASSERT_EQ(o.found.size(), 2u) << o.text();
  EXPECT_EQ(o.found[0].location, "/src/kernel.cu:21");
  EXPECT_NE(o.text().find("PTX line 14 (/src/kernel.cu:21): ld.shared"), std::string::npos)
      << o.text();
  EXPECT_EQ(o.found[1].location, "file 4:30");
}

TEST(Load, ScopesHideNames) {
  auto out =
      lanes("{ .reg .b32 %a; mov.b32 %a, 5; { .reg .b32 t; mov.b32 t, %a; X: mov.b32 %d, t; } }\n"
            "{ X: add.s32 %d, %d, %a; }",
            iota());
  EXPECT_EQ(out[3], 8u);
}

TEST(Registers, UndefinedReadsAreFound) {
  EXPECT_TRUE(run("add.s32 %r1, %r2, 1; st.global.b32 [%out], %r1;").has("uninitialised"));
  // A copy of an undefined value is no use of it; a selection of the defined side neither.
  EXPECT_FALSE(run("mov.b32 %r1, %r2; setp.eq.s32 %p1, %t, %t; selp.b32 %r3, %t, %r1, %p1;\n"
                   "mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1; st.global.b32 [%rd1], %r3;")
                   .has("uninitialised"));
}

/// %r1 = {the number of the lane, undefined}, %rd2 = {the same 16 bits twice, undefined}; then
/// `body`, with %rd1 as the address of the lane's result.
static Outcome runHalfDefined(const std::string &body) {
  KernelSetup s;
  s.shared = 1024;
  return run("mul.wide.u32 %rd1, %t, 4; add.s64 %rd1, %out, %rd1;\n"
             "cvt.u16.u32 %h1, %t; mov.b32 %r1, {%h1, %h2};\n"
             "mov.b32 %r2, {%h1, %h1}; mov.b64 %rd2, {%r2, %r3};\n" +
                 body,
             s);
}

TEST(Registers, DefinedBytesMayBeUsed) {
  const std::string uses[] = {
      "prmt.b32 %r4, %r1, 0, 0x7710; st.global.b32 [%rd1], %r4;",
      "prmt.b32 %r4, 0, %r1, 0x7654; prmt.b32 %r4, %r4, 0, 0x7710; st.global.b32 [%rd1], %r4;",
      "mov.b32 {%h3, %h4}, %r1; mov.b32 %r4, {%h3, 0}; st.global.b32 [%rd1], %r4;",
      "mov.b32 {%h3, _}, %r1; cvt.u32.u16 %r4, %h3; st.global.b32 [%rd1], %r4;",
      "cvt.u16.u32 %h3, %r1; cvt.s32.s16 %r4, %h3; st.global.b32 [%rd1], %r4;",
      "mov.b32 %r4, %r1; cvt.u32.u16 %r5, %r4; st.global.b32 [%rd1], %r5;",
      "st.global.b32 [%rd1], 0; st.global.b16 [%rd1], %r1;",
      "mov.b64 {%r4, _}, %rd2; shr.u32 %r4, %r4, 16; st.global.b32 [%rd1], %r4;",
      "cvt.u32.u64 %r4, %rd2; and.b32 %r4, %r4, 0xFFFF; st.global.b32 [%rd1], %r4;",
      "mov.b64 {%r4, %r5}, %rd2; mov.b64 %rd3, {%r5, %r4}; mov.b64 {_, %r6}, %rd3; "
      "cvt.u32.u8 %r6, %r6; st.global.b32 [%rd1], %r6;",
      "shl.b32 %r4, %r1, 16; shr.u32 %r4, %r4, 16; st.global.b32 [%rd1], %r4;",
      "mov.b32 %r4, {%h2, %h1}; shr.s32 %r4, %r4, 16; st.global.b32 [%rd1], %r4;",
      "and.b32 %r4, %r1, 0xFF; st.global.b32 [%rd1], %r4;",
      "and.b64 %rd3, %rd2, 0xFFFF; cvt.u32.u64 %r4, %rd3; st.global.b32 [%rd1], %r4;",
      "abs.f16x2 %r4, %r1; cvt.u32.u16 %r4, %r4; st.global.b32 [%rd1], %r4;",
      "add.s16x2 %r4, %r1, 0; cvt.u32.u16 %r4, %r4; st.global.b32 [%rd1], %r4;",
      "max.bf16x2 %r4, %r1, %r2; cvt.u32.u16 %r4, %r4; st.global.b32 [%rd1], %r4;",
      // The other half is written later, in some lanes sooner than in others.
      "setp.lt.u32 %p1, %t, 9; @%p1 mov.b32 %r1, %t; @!%p1 mov.b32 %r1, {%h1, 0}; "
      "st.global.b32 [%rd1], %r1;",
  };
  for (const std::string &body : uses) {
    Outcome o = runHalfDefined(body);
    EXPECT_TRUE(o.found.empty()) << body << "\n" << o.text();
    EXPECT_EQ(o.out, iota()) << body;
  }
}

TEST(Registers, UndefinedBytesAreFound) {
  const std::string uses[] = {
      "st.global.b32 [%rd1], %r1;",
      "st.shared.b32 [smem], %r1;",
      "add.s32 %r4, %r1, 1;",
      "and.b32 %r4, %r1, 0x1FFFF; st.global.b32 [%rd1], %r4;",
      "and.b32 %r4, %r1, %t;",
      "shr.u32 %r4, %r1, 8; st.global.b32 [%rd1], %r4;",
      "shr.u32 %r4, %r1, 17;",
      "abs.f16x2 %r4, %r1; st.global.b32 [%rd1], %r4;",
      "max.bf16x2 %r4, %r2, %r1; mov.b32 {%h3, %h4}, %r4; st.global.b16 [%rd1], %h4;",
      "prmt.b32 %r4, %r1, 0, 0x7772; st.global.b32 [%rd1], %r4;",
      "prmt.b32 %r4, %r1, 0, 0x777B; st.global.b32 [%rd1], %r4;",
      "prmt.b32 %r4, 0, %r1, 0x0060; st.global.b32 [%rd1], %r4;",
      "prmt.b32 %r4, %r1, 0, %t;",
      "mov.b32 {%h3, %h4}, %r1; st.global.b16 [%rd1], %h4;",
      "cvt.u16.u32 %h3, %r1; mov.b32 %r4, {%h3, %h2}; st.global.b32 [%rd1], %r4;",
      "cvt.u64.u32 %rd3, %r1; add.s64 %rd3, %rd3, 1;",
      "cvt.rn.f32.u32 %f1, %r1;",
      "mov.b32 %r4, %r1; st.global.b32 [%rd1], %r4;",
      "mov.b64 {_, %r4}, %rd2; st.global.b8 [%rd1], %r4;",
      // What was known of the bytes ends with what is written next.
      "mov.b32 %r1, %t; mov.b32 %r1, %r9; st.global.b16 [%rd1], %r1;",
      "mov.b32 %r1, {%h2, %h1}; st.global.b16 [%rd1], %r1;",
      "setp.eq.u32 %p1, %t, 9; @%p1 mov.b32 %r1, {%h2, %h1}; st.global.b16 [%rd1], %r1;",
  };
  for (const std::string &body : uses)
    EXPECT_TRUE(runHalfDefined(body).has("uninitialised")) << body;
  Outcome one = runHalfDefined(uses[std::size(uses) - 1]);
  EXPECT_NE(one.text().find("lane 9"), std::string::npos) << one.text();
}
