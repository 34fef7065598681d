//===- CompilerCApiTest.cpp - The compiler half of the C API ---------------------------------===//
//
// What a host sees: artifacts, diagnostics with places, and a process that goes on after every
// mistake.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom-c/Compiler.h"

#include <gtest/gtest.h>
#include <thread>

namespace {
struct Outcome {
  TileloomArtifacts *handle = nullptr;
  int32_t status = -1;

  explicit Outcome(const std::string &source, TileloomCompileOptions options) {
    status = tileloomCompile(source.data(), source.size(), &options, &handle);
  }
  ~Outcome() { tileloomArtifactsRelease(handle); }
  std::string get(uint32_t kind) const {
    size_t size = 0;
    const char *text = tileloomArtifactsGet(handle, kind, &size);
    return text ? std::string(text, size) : "<none>";
  }
  bool has(uint32_t kind, const std::string &part) const {
    return get(kind).find(part) != std::string::npos;
  }
};
} // namespace

static TileloomCompileOptions options(uint32_t emit = 0) {
  TileloomCompileOptions result = {};
  result.size = sizeof(result);
  result.target = "sm_90a";
  result.name = "test.mlir";
  result.emit = emit;
  return result;
}

static const char *const kernel = R"(
llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel, tileloom.recipe = {kernel = "k"}} {
  %x = llvm.mlir.constant(1 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
)";

TEST(CompilerCApi, PTXByDefault) {
  Outcome outcome(kernel, options());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.has(TILELOOM_ARTIFACT_PTX, ".visible .entry k("));
  EXPECT_EQ(outcome.get(TILELOOM_ARTIFACT_RECIPE), "<none>");
  EXPECT_EQ(outcome.get(TILELOOM_ARTIFACT_CUBIN), "<none>");
  EXPECT_EQ(outcome.get(TILELOOM_ARTIFACT_DIAGNOSTICS), "");
  EXPECT_EQ(outcome.get(99), "<none>");
}

TEST(CompilerCApi, EveryStageOfOneRun) {
  TileloomCompileOptions given = options(0x7f);
  given.flags = TILELOOM_COMPILE_REPORT;
  given.ptxas = "/nowhere/ptxas";
  Outcome failed(kernel, given);
  EXPECT_EQ(failed.status, 1);
  EXPECT_TRUE(failed.has(TILELOOM_ARTIFACT_DIAGNOSTICS, "cannot run '/nowhere/ptxas'"));
  EXPECT_TRUE(failed.has(TILELOOM_ARTIFACT_PTX, ".entry k(")); // made before the failure

  given.flags = 0;
  Outcome outcome(kernel, given);
  EXPECT_EQ(outcome.status, 0);
  for (uint32_t kind : {TILELOOM_ARTIFACT_TILE, TILELOOM_ARTIFACT_WARP, TILELOOM_ARTIFACT_NV,
                        TILELOOM_ARTIFACT_LLVM})
    EXPECT_TRUE(outcome.has(kind, "llvm.func @k"));
  EXPECT_TRUE(outcome.has(TILELOOM_ARTIFACT_LLVMIR, "define ptx_kernel void @k"));
  EXPECT_TRUE(outcome.has(TILELOOM_ARTIFACT_RECIPE, "\"kernel\": \"k\""));
}

TEST(CompilerCApi, DiagnosticsHavePlaces) {
  Outcome outcome("llvm.func @k() {\n  %x = llvm.add %y, %y : i32\n}\n", options());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.has(TILELOOM_ARTIFACT_DIAGNOSTICS,
                          "test.mlir:2:17: error: use of undeclared SSA value name"))
      << outcome.get(TILELOOM_ARTIFACT_DIAGNOSTICS);
}

TEST(CompilerCApi, BadOptions) {
  TileloomCompileOptions given = options();
  given.target = "sm_80";
  EXPECT_TRUE(
      Outcome(kernel, given).has(TILELOOM_ARTIFACT_DIAGNOSTICS, "error: unknown target 'sm_80'"));
  given.target = nullptr;
  EXPECT_TRUE(
      Outcome(kernel, given).has(TILELOOM_ARTIFACT_DIAGNOSTICS, "error: no target is given"));
  given = options(1u << 9);
  EXPECT_TRUE(
      Outcome(kernel, given).has(TILELOOM_ARTIFACT_DIAGNOSTICS, "error: unknown bits in emit"));
  given = options();
  given.size = 8;
  EXPECT_TRUE(
      Outcome(kernel, given).has(TILELOOM_ARTIFACT_DIAGNOSTICS, "error: the options have size 8"));
  given = options();
  given.lowerOptLevel = 4;
  EXPECT_EQ(Outcome(kernel, given).status, 1);

  TileloomArtifacts *handle = nullptr;
  EXPECT_EQ(tileloomCompile(kernel, 3, nullptr, &handle), 1);
  tileloomArtifactsRelease(handle);
  EXPECT_EQ(tileloomCompile(nullptr, 3, &given, &handle), 1);
  tileloomArtifactsRelease(handle);
  EXPECT_EQ(tileloomCompile(kernel, 3, &given, nullptr), 1);
  tileloomArtifactsRelease(nullptr);
}

TEST(CompilerCApi, GoesOnAfterAFatalErrorOfLLVM) {
  const char *unselectable = R"(
llvm.func @k(%x: f32, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %y = llvm.intr.exp(%x) : (f32) -> f32
  llvm.store %y, %out : f32, !llvm.ptr<1>
  llvm.return
}
)";
  for (int round = 0; round < 3; ++round) {
    Outcome outcome(unselectable, options());
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.has(TILELOOM_ARTIFACT_DIAGNOSTICS, "error: LLVM could not generate PTX"));
    EXPECT_EQ(Outcome(kernel, options()).status, 0);
  }
}

TEST(CompilerCApi, ThreadsCompileAlike) {
  std::string expected = Outcome(kernel, options()).get(TILELOOM_ARTIFACT_PTX);
  std::thread threads[4];
  for (std::thread &thread : threads)
    thread = std::thread([&] {
      for (int round = 0; round < 5; ++round)
        EXPECT_EQ(Outcome(kernel, options()).get(TILELOOM_ARTIFACT_PTX), expected);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CompilerCApi, WithoutPtxasACubinIsOptional) {
  // $PATH and the rest may hold a ptxas; a path that is given is taken as it is, so this asks for
  // the search itself.
  TileloomCompileOptions given = options();
  given.flags = TILELOOM_COMPILE_CUBIN_IF_POSSIBLE;
  setenv("PATH", "/nowhere", 1);
  unsetenv("CUDA_HOME");
  unsetenv("TILELOOM_PTXAS");
  unsetenv("HOME");
  unsetenv("VIRTUAL_ENV");
  unsetenv("CONDA_PREFIX");
  Outcome outcome(kernel, given);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.get(TILELOOM_ARTIFACT_CUBIN), "<none>");
  given.emit = 1u << TILELOOM_ARTIFACT_CUBIN;
  EXPECT_TRUE(
      Outcome(kernel, given).has(TILELOOM_ARTIFACT_DIAGNOSTICS, "error: ptxas was not found"));
}
