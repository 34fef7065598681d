//===- Compiler.cpp - C API of the compiler --------------------------------===//
//
// Options in, artifacts and diagnostics out; see ThreadContext.h for what stays warm between calls.
//
//===----------------------------------------------------------------------===//
#include "tileloom-c/Compiler.h"

#include "ThreadContext.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "tileloom/Driver/Compile.h"
#include "tileloom/Driver/Report.h"
#include "tileloom/Target/FatalErrors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tileloom;

struct TileloomArtifacts {
  CompileResult result;
  std::string reportText;
  std::string diagnostics;
};

static_assert(TILELOOM_ARTIFACT_TILE == unsigned(Artifact::Tile) &&
                  TILELOOM_ARTIFACT_RECIPE == unsigned(Artifact::Recipe) &&
                  TILELOOM_ARTIFACT_CUBIN == unsigned(Artifact::Cubin),
              "the C API and the compiler number artifacts alike");

/// Writes the IR after every pass that changes it to files below `folder`, one folder a stage.
static std::function<mlir::LogicalResult(mlir::PassManager &)> savePasses(std::string folder) {
  return [folder, stage = 0](mlir::PassManager &pm) mutable -> mlir::LogicalResult {
    if (std::error_code code = llvm::sys::fs::create_directories(folder + "/passes")) {
      llvm::errs() << "error: cannot make '" << folder << "/passes': " << code.message() << '\n';
      return mlir::failure();
    }
    auto never = [](mlir::Pass *, mlir::Operation *) { return false; };
    auto always = [](mlir::Pass *, mlir::Operation *) { return true; };
    pm.enableIRPrintingToFileTree(never, always, /*printModuleScope=*/true,
                                  /*printAfterOnlyOnChange=*/true,
                                  /*printAfterOnlyOnFailure=*/false,
                                  folder + "/passes/" + std::to_string(stage++));
    return mlir::success();
  };
}

/// Options of the C API to the compiler's; a message if they make no sense.
static std::string convert(const TileloomCompileOptions *given, CompileOptions &options) {
  if (!given)
    return "the options are a null pointer";
  if (given->size != sizeof(TileloomCompileOptions))
    return "the options have size " + std::to_string(given->size) + "; this library needs " +
           std::to_string(sizeof(TileloomCompileOptions));
  if (!given->target)
    return "no target is given (sm_90a, sm_100a or sm_103a)";
  options.chip = lookupChip(given->target);
  if (!options.chip)
    return unknownChipMessage(given->target);
  if (given->emit >> artifactCount)
    return "unknown bits in emit: " + std::to_string(given->emit);
  if (given->lowerOptLevel > 3)
    return "lowerOptLevel is 0 to 3, not " + std::to_string(given->lowerOptLevel);
  for (unsigned i = 0; i < artifactCount; ++i)
    if (given->emit >> i & 1)
      options.emit.insert(static_cast<Artifact>(i));
  if (given->emit == 0)
    options.emit.insert(Artifact::PTX);
  options.report = given->flags & TILELOOM_COMPILE_REPORT;
  options.cubinIfPossible = given->flags & TILELOOM_COMPILE_CUBIN_IF_POSSIBLE;
  options.werrorPtxas = given->flags & TILELOOM_COMPILE_WERROR_PTXAS;
  options.lineInfo = given->flags & TILELOOM_COMPILE_LINE_INFO;
  options.verifyEachPass = options.backend.verifyEach = given->flags & TILELOOM_COMPILE_VERIFY;
  options.backend.optLevel = 3 - given->lowerOptLevel;
  options.ptxas.path = given->ptxas ? given->ptxas : "";
  if (given->ptxasTimeout != 0)
    options.ptxas.timeoutSeconds = given->ptxasTimeout;
  options.saveTemps = given->saveTemps ? given->saveTemps : "";
  if ((given->flags & TILELOOM_COMPILE_SAVE_PASSES) && !options.saveTemps.empty())
    options.configure = savePasses(options.saveTemps);
  return {};
}

static int32_t compile(llvm::StringRef source, const TileloomCompileOptions *given,
                       TileloomArtifacts &artifacts) {
  CompileOptions options;
  if (std::string problem = convert(given, options); !problem.empty()) {
    artifacts.diagnostics = "error: " + problem + "\n";
    return 1;
  }
  std::string name = given->name ? given->name : "<source>";
  mlir::MLIRContext &context = threadContext();
  bool compiled = false;
  std::string fatal;
  auto body = [&] {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source, name), llvm::SMLoc());
    llvm::raw_string_ostream stream(artifacts.diagnostics);
    mlir::SourceMgrDiagnosticHandler handler(sources, &context, stream);
    compiled = mlir::succeeded(compileSource(source, name, context, options, artifacts.result));
  };
  if (!runCatchingFatalErrors(body, fatal)) {
    abandonThreadContext();
    artifacts.diagnostics += name + ": error: fatal error in the compiler: " + fatal + "\n";
    return 1;
  }
  if (!artifacts.result.reportJson.empty()) {
    llvm::Expected<llvm::json::Value> report = llvm::json::parse(artifacts.result.reportJson);
    if (report)
      artifacts.reportText = formatReport(*report);
    else
      llvm::consumeError(report.takeError());
  }
  return compiled ? 0 : 1;
}

int32_t tileloomCompile(const char *source, size_t sourceSize,
                        const TileloomCompileOptions *options, TileloomArtifacts **artifacts) {
  if (!artifacts)
    return 1;
  *artifacts = new TileloomArtifacts;
  if (!source) {
    (*artifacts)->diagnostics = "error: the source is a null pointer\n";
    return 1;
  }
  try {
    return compile(llvm::StringRef(source, sourceSize), options, **artifacts);
  } catch (const std::exception &error) {
    (*artifacts)->diagnostics += std::string("error: ") + error.what() + "\n";
    return 1;
  }
}

const char *tileloomArtifactsGet(TileloomArtifacts *artifacts, uint32_t kind, size_t *size) {
  const std::string *text = nullptr;
  if (artifacts && kind < artifactCount)
    text = &artifacts->result.artifacts[kind];
  else if (artifacts && kind == TILELOOM_ARTIFACT_REPORT)
    text = &artifacts->result.reportJson;
  else if (artifacts && kind == TILELOOM_ARTIFACT_REPORT_TEXT)
    text = &artifacts->reportText;
  bool diagnostics = artifacts && kind == TILELOOM_ARTIFACT_DIAGNOSTICS;
  if (diagnostics)
    text = &artifacts->diagnostics;
  bool present = text && (diagnostics || !text->empty());
  if (size)
    *size = present ? text->size() : 0;
  return present ? text->c_str() : nullptr;
}

void tileloomArtifactsRelease(TileloomArtifacts *artifacts) { delete artifacts; }
