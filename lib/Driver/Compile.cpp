//===- Compile.cpp - From a program to its artifacts ---------------------------------------===//
//
// Runs the stages in order and stops after the last one that something asked for needs. Every stage
// is timed, and its output kept if asked for or if temporary files are saved.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Driver/Compile.h"

#include "PtxasDiagnostics.h"
#include "ScheduleOption.h"
#include "dialects/NV/NVNames.h"
#include "tileloom/Driver/Report.h"
#include "tileloom/Target/FatalErrors.h"

#include "passes/Pipelines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace tileloom;

namespace {
/// One compilation: what every step needs.
struct Compilation {
  ModuleOp module;
  const CompileOptions &options;
  CompileResult &result;

  bool wantsPtxas() const {
    return options.report || options.werrorPtxas || options.cubinIfPossible ||
           options.emit.contains(Artifact::Cubin);
  }
  bool wantsPTX() const { return wantsPtxas() || options.emit.reaches(Artifact::PTX); }
  bool wantsLLVMIR() const { return wantsPTX() || options.emit.reaches(Artifact::LLVMIR); }
  bool reaches(Artifact stage) const { return wantsLLVMIR() || options.emit.reaches(stage); }

  LogicalResult run();
  LogicalResult runStage(const char *name, Artifact artifact,
                         void (*build)(OpPassManager &, const PipelineOptions &), bool keep = true);
  LogicalResult keepIR(Artifact artifact);
  LogicalResult saveTemp(llvm::StringRef extension, llvm::StringRef text);
  LogicalResult runBackend();
  LogicalResult assemble(llvm::StringRef ptx);
};
} // namespace

LogicalResult Compilation::saveTemp(llvm::StringRef extension, llvm::StringRef text) {
  if (options.saveTemps.empty())
    return success();
  llvm::SmallString<256> path(options.saveTemps);
  std::error_code code = llvm::sys::fs::create_directories(path);
  llvm::sys::path::append(path,
                          (options.stem.empty() ? "kernel" : options.stem) + "." + extension.str());
  if (!code) {
    llvm::raw_fd_ostream stream(path, code);
    if (!code)
      stream << text;
  }
  if (code)
    return module.emitError("cannot write '") << path << "': " << code.message();
  return success();
}

LogicalResult Compilation::keepIR(Artifact artifact) {
  if (!options.emit.contains(artifact) && options.saveTemps.empty())
    return success();
  std::string &text = result.artifacts[static_cast<unsigned>(artifact)];
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return saveTemp(artifactExtension(artifact), text);
}

LogicalResult Compilation::runStage(const char *name, Artifact artifact,
                                    void (*build)(OpPassManager &, const PipelineOptions &),
                                    bool keep) {
  if (!reaches(artifact))
    return success();
  {
    StageTimer timer(result.times, name);
    PassManager pm(module->getContext(), ModuleOp::getOperationName());
    if (options.configure && failed(options.configure(pm)))
      return failure();
    PipelineOptions pipeline;
    pipeline.chip = options.chip->name.str();
    pipeline.lineInfo = options.lineInfo;
    build(pm, pipeline);
    pm.enableVerifier(options.verifyEachPass);
    // What the last stage leaves is ours alone, and several times as large as what it gets.
    bool verified = options.verifyEachPass || artifact == Artifact::LLVM;
    if (failed(pm.run(module)) || (!verified && failed(verify(module))))
      return failure();
  }
  return keep ? keepIR(artifact) : success();
}

/// Turns LLVM's own diagnostics into MLIR's.
static void onLLVMDiagnostic(const llvm::DiagnosticInfo *info, void *opaque) {
  ModuleOp module = ModuleOp::getFromOpaquePointer(opaque);
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  if (info->getSeverity() == llvm::DS_Error)
    module.emitError("LLVM: ") << text;
  else if (info->getSeverity() == llvm::DS_Warning)
    module.emitWarning("LLVM: ") << text;
}

LogicalResult Compilation::runBackend() {
  std::string error;
  llvm::TargetMachine *machine = getTargetMachine(*options.chip, options.backend.optLevel, error);
  if (!machine)
    return module.emitError() << error;

  // An error of LLVM's own is counted, because its passes go on after it.
  unsigned errors = 0;
  ScopedDiagnosticHandler count(module->getContext(), [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return failure(); // pass it on
  });
  // Leaked, with the machine, if LLVM gives up half-way: its state is then unknown.
  auto context = std::make_unique<llvm::LLVMContext>();
  context->setDiagnosticHandlerCallBack(onLLVMDiagnostic,
                                        const_cast<void *>(module.getAsOpaquePointer()));
  std::unique_ptr<llvm::Module> llvmModule;
  auto step = [&](const char *name, llvm::function_ref<LogicalResult()> body) -> LogicalResult {
    StageTimer timer(result.times, name);
    LogicalResult outcome = body();
    return success(succeeded(outcome) && errors == 0);
  };
  auto giveUp = [&]() -> LogicalResult {
    (void)llvmModule.release();
    (void)context.release();
    abandonTargetMachines();
    return failure();
  };

  if (failed(step("translate", [&] {
        llvmModule = translateToLLVM(module, *context, *machine, options.backend);
        return success(llvmModule != nullptr);
      }))) {
    if (errors == 0)
      module.emitError("the module cannot be translated to LLVM IR");
    return failure();
  }
  auto printLLVM = [&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvmModule->print(stream, nullptr);
    return text;
  };
  if (!options.saveTemps.empty() && failed(saveTemp("unoptimized.ll", printLLVM())))
    return failure();
  if (failed(step("llvm",
                  [&] { return optimizeLLVM(module, *llvmModule, *machine, options.backend); })))
    return giveUp();
  if (options.emit.contains(Artifact::LLVMIR) || !options.saveTemps.empty()) {
    std::string &text = result.artifacts[static_cast<unsigned>(Artifact::LLVMIR)];
    text = printLLVM();
    if (failed(saveTemp("ll", text)))
      return failure();
  }
  if (!wantsPTX())
    return success();
  std::string &ptx = result.artifacts[static_cast<unsigned>(Artifact::PTX)];
  if (failed(step("codegen",
                  [&] { return printPTX(module, *llvmModule, *machine, options.backend, ptx); })))
    return giveUp();
  return saveTemp("ptx", ptx);
}

/// Gives kernels that spill below their limit all registers; false if there is none.
static bool liftCaps(ModuleOp module, const PtxasReport &report) {
  bool lifted = false;
  for (const PtxasKernel &kernel : report.kernels) {
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
    if (!function || kernel.spillStoreBytes + kernel.spillLoadBytes == 0)
      continue;
    auto limit = function->getAttrOfType<IntegerAttr>(nv::registerLimitAttrName);
    if (!limit || !function->removeAttr(nv::wantedRegistersAttrName))
      continue;
    function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                      Builder(module.getContext()).getI32IntegerAttr(limit.getInt()));
    lifted = true;
  }
  return lifted;
}

LogicalResult Compilation::assemble(llvm::StringRef ptx) {
  PtxasOptions ptxas = options.ptxas;
  ptxas.lineInfo |= options.lineInfo;
  {
    StageTimer timer(result.times, "ptxas");
    result.ptxas = runPtxas(ptx, *options.chip, ptxas);
  }
  if (liftCaps(module, result.ptxas.report))
    return failure(failed(runBackend()) || failed(assemble(result.get(Artifact::PTX))));
  if (result.ptxas.state == PtxasResult::State::NotFound) {
    result.times.entries.pop_back();
    if (!options.emit.contains(Artifact::Cubin) && !options.werrorPtxas)
      return success();
    return module.emitError("ptxas was not found, and ")
           << (options.werrorPtxas ? "--werror-ptxas" : "a cubin")
           << " needs it: looked at --ptxas, $TILELOOM_PTXAS, "
           << "$CUDA_HOME/bin, $PATH and the Python package nvidia-cuda-nvcc";
  }
  result.ptxasRan = true;
  if (failed(saveTemp("ptxas.txt", result.ptxas.output)) ||
      failed(reportPtxas(module, result.ptxas, ptx, options.werrorPtxas)))
    return failure();
  result.artifacts[static_cast<unsigned>(Artifact::Cubin)] = result.ptxas.cubin;
  return saveTemp("cubin", result.ptxas.cubin);
}

LogicalResult Compilation::run() {
  if (failed(runStage("tile", Artifact::Tile, buildTileStage)) ||
      failed(runStage("warp", Artifact::Warp, buildWarpStage)) ||
      failed(runStage("rings", Artifact::NV, buildRingStage, /*keep=*/false)) ||
      failed(runStage("nv", Artifact::NV, buildNVStage)) ||
      failed(runStage("emit", Artifact::LLVM, buildEmitStage)))
    return failure();
  if (options.emit.contains(Artifact::Recipe)) {
    FailureOr<std::string> recipe = recipeJson(module);
    if (failed(recipe))
      return failure();
    result.artifacts[static_cast<unsigned>(Artifact::Recipe)] = std::move(*recipe);
  }
  LogicalResult outcome = success();
  if (wantsLLVMIR()) {
    outcome = runBackend();
    if (succeeded(outcome) && wantsPtxas())
      outcome = assemble(result.get(Artifact::PTX));
  }
  if (options.report && succeeded(outcome)) {
    llvm::json::Value report = makeReport(module, options.chip->name,
                                          result.ptxasRan ? &result.ptxas : nullptr, result.times);
    result.reportJson = llvm::formatv("{0:2}\n", report).str();
  }
  return outcome;
}

namespace tileloom {

LogicalResult compileModule(ModuleOp module, const CompileOptions &options, CompileResult &result) {
  return Compilation{module, options, result}.run();
}

LogicalResult compileSource(llvm::StringRef source, llvm::StringRef name, MLIRContext &context,
                            const CompileOptions &options, CompileResult &result) {
  OwningOpRef<ModuleOp> module;
  {
    StageTimer timer(result.times, "parse");
    module = parseSourceString<ModuleOp>(source, ParserConfig(&context), name);
  }
  if (!module || (!options.schedule.empty() && failed(applySchedule(*module, options.schedule))))
    return failure();
  return compileModule(*module, options, result);
}

} // namespace tileloom
