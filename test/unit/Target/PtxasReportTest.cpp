//===- PtxasReportTest.cpp - The parser of ptxas's output ------------------------------------===//
//
// The texts are what ptxas 13.0.88 printed for small PTX programs made to provoke each of them.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/PtxasReport.h"

#include <gtest/gtest.h>

using namespace tileloom;

TEST(PtxasReport, CleanKernel) {
  PtxasReport report =
      parsePtxasOutput("ptxas info    : 0 bytes gmem\n"
                       "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
                       "ptxas info    : Function properties for gemm\n"
                       "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                       "ptxas info    : Used 168 registers, used 16 barriers\n"
                       "ptxas info    : Compile time = 148.539 ms\n");
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].name, "gemm");
  EXPECT_EQ(report.kernels[0].registers, 168u);
  EXPECT_EQ(report.kernels[0].barriers, 16u);
  EXPECT_EQ(report.kernels[0].spillStoreBytes, 0u);
  EXPECT_DOUBLE_EQ(report.compileMs, 148.539);
  EXPECT_TRUE(report.messages.empty());
  EXPECT_TRUE(report.unknown.empty());
  EXPECT_FALSE(report.hasErrors());
}

TEST(PtxasReport, Spills) {
  PtxasReport report = parsePtxasOutput(
      "ptxas info    : Compiling entry function 'spill' for 'sm_90a'\n"
      "ptxas info    : Function properties for spill\n"
      "    232 bytes stack frame, 228 bytes spill stores, 224 bytes spill loads\n"
      "ptxas info    : Used 24 registers, used 1 barriers, 232 bytes cumulative stack size\n");
  const PtxasKernel *kernel = report.find("spill");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->stackBytes, 232u);
  EXPECT_EQ(kernel->spillStoreBytes, 228u);
  EXPECT_EQ(kernel->spillLoadBytes, 224u);
  EXPECT_EQ(kernel->registers, 24u);
  EXPECT_TRUE(report.unknown.empty());
}

TEST(PtxasReport, SharedAndConstantMemory) {
  PtxasReport report =
      parsePtxasOutput("ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                       "ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem, 408 "
                       "bytes cmem[0], 8 bytes cmem[2]\n");
  EXPECT_EQ(report.kernels[0].sharedBytes, 1024u);
  EXPECT_EQ(report.kernels[0].constantBytes, 416u);
}

TEST(PtxasReport, SeveralKernelsAndAMessageBeforeThem) {
  PtxasReport report =
      parsePtxasOutput("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; "
                       "unable to determine register count at "
                       "entry.\n"
                       "ptxas info    : 0 bytes gmem\n"
                       "ptxas info    : Compiling entry function 'k2' for 'sm_90a'\n"
                       "ptxas info    : Function properties for k2\n"
                       "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                       "ptxas info    : Used 255 registers, used 0 barriers\n"
                       "ptxas info    : Compile time = 4.161 ms\n"
                       "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                       "ptxas info    : Function properties for k\n"
                       "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                       "ptxas info    : Used 8 registers, used 0 barriers\n"
                       "ptxas info    : Compile time = 0.995 ms\n");
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.find("k2")->registers, 255u);
  EXPECT_EQ(report.find("k")->registers, 8u);
  EXPECT_DOUBLE_EQ(report.compileMs, 5.156);
  ASSERT_EQ(report.messages.size(), 1u);
  EXPECT_EQ(report.messages[0].code, "C7508");
  EXPECT_EQ(report.messages[0].function, "");
  EXPECT_TRUE(report.messages[0].isPerformanceLoss());
}

TEST(PtxasReport, SerializedWgmma) {
  PtxasReport report = parsePtxasOutput(
      "ptxas info    : (C7509) Potential Performance Loss: wgmma.mma_async instructions "
      "are serialized due to the presence of Extern calls in the function 'k'\n"
      "ptxas info    : (C7517) warpgroup.wait is injected in around line 15 by compiler "
      "to allow use of registers defined by GMMA in function 'k'\n");
  ASSERT_EQ(report.messages.size(), 2u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Info);
  EXPECT_EQ(report.messages[0].code, "C7509");
  EXPECT_EQ(report.messages[0].function, "k");
  EXPECT_EQ(report.messages[0].ptxLine, 0u);
  EXPECT_EQ(report.messages[0].text.substr(0, 26), "Potential Performance Loss");
  EXPECT_EQ(report.messages[1].ptxLine, 15u);
  EXPECT_TRUE(report.messages[1].isPerformanceLoss());
}

TEST(PtxasReport, TooFewRegisters) {
  PtxasReport report =
      parsePtxasOutput("ptxas fatal   : (C7602) Insufficient registers (80) to compile instruction "
                       "at line 296 in function sample. Try to "
                       "compile with register target of 154 or higher.\n"
                       "ptxas fatal   : Ptx assembly aborted due to errors\n");
  ASSERT_EQ(report.messages.size(), 2u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Fatal);
  EXPECT_EQ(report.messages[0].code, "C7602");
  EXPECT_EQ(report.messages[0].function, "sample");
  EXPECT_EQ(report.messages[0].ptxLine, 296u);
  EXPECT_TRUE(report.hasErrors());
}

TEST(PtxasReport, ErrorsHaveLines) {
  PtxasReport report = parsePtxasOutput(
      "ptxas bad2.ptx, line 40; error   : Not a name of any known instruction: 'movx'\n"
      "ptxas /a, line 9; b.ptx, line 155; error   : Instruction 'wgmma.fence' cannot be compiled "
      "for "
      "architecture 'sm_100a'\n"
      "ptxas x.ptx, line 7; warning : Something\n"
      "ptxas fatal   : Value 'sm_91a' is not defined for option 'gpu-name'\n");
  ASSERT_EQ(report.messages.size(), 4u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Error);
  EXPECT_EQ(report.messages[0].ptxLine, 40u);
  EXPECT_EQ(report.messages[0].text, "Not a name of any known instruction: 'movx'");
  EXPECT_EQ(report.messages[1].ptxLine, 155u);
  EXPECT_EQ(report.messages[2].severity, PtxasSeverity::Warning);
  EXPECT_EQ(report.messages[3].severity, PtxasSeverity::Fatal);
  EXPECT_EQ(report.messages[3].ptxLine, 0u);
}

TEST(PtxasReport, UnresolvedExtern) {
  PtxasReport report = parsePtxasOutput(
      "ptxas warning : Unresolved extern variable 'buffer' in whole program compilation, "
      "ignoring extern qualifier\n");
  ASSERT_EQ(report.messages.size(), 1u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Warning);
  EXPECT_FALSE(report.messages[0].isPerformanceLoss());
}

TEST(PtxasReport, StrangeTextIsKept) {
  PtxasReport report =
      parsePtxasOutput("\n\nhello\nptxas\nptxas info\nptxas , line ; error :\n(C\nptxas info : (C\n"
                       "ptxas info : (Cx7) y\nptxas info : Used many registers, used\n"
                       "ptxas info : Compile time = soon\n    x bytes stack frame\nfunction '\r\n");
  EXPECT_GE(report.unknown.size(), 5u);
  EXPECT_TRUE(parsePtxasOutput("").messages.empty());
}

TEST(PtxasReport, EveryPrefixOfARealTextParses) {
  std::string text = "ptxas info    : (C7509) Potential Performance Loss in the function 'k'\n"
                     "ptxas x.ptx, line 40; error   : Not a name: 'movx'\n"
                     "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                     "    232 bytes stack frame, 228 bytes spill stores, 228 bytes spill loads\n"
                     "ptxas info    : Used 24 registers, used 1 barriers, 8 bytes cmem[2]\n";
  for (size_t length = 0; length <= text.size(); ++length)
    parsePtxasOutput(llvm::StringRef(text).take_front(length));
}

TEST(PtxasReport, SourceLines) {
  PtxasReport report;
  report.messages.resize(4);
  report.messages[0].ptxLine = 3; // before any .loc of the function
  report.messages[1].ptxLine = 6;
  report.messages[2].ptxLine = 9; // another function, without .loc
  attachSourceLines(report, ".version 8.6\n"
                            ".visible .entry k(\n"
                            "  .reg .b32 %r<4>;\n"
                            "\t.loc\t1 12 3\n"
                            "  add.s32 %r1, %r1, %r1;\n"
                            "  bad.s32 %r1;\n"
                            "}\n"
                            ".visible .entry l() {\n"
                            "  bad.s32 %r1;\n"
                            "\t.loc x y\n"
                            "\t.file\t1 \"/home/user/gemm.py\"\n");
  EXPECT_EQ(report.messages[0].source.line, 0u);
  EXPECT_EQ(report.messages[1].source.file, "/home/user/gemm.py");
  EXPECT_EQ(report.messages[1].source.line, 12u);
  EXPECT_EQ(report.messages[1].source.column, 3u);
  EXPECT_EQ(report.messages[2].source.line, 0u);
  EXPECT_EQ(report.messages[3].source.line, 0u);
}
