//===- Optimize.cpp - The LLVM IR pipeline --------------------------------------------------===//
//
// A pipeline of our own at the upper levels: kernels come as one function of scalars, loads and
// assembly, so that half of LLVM's default pipeline (inlining, memory and vectoriser passes,
// repeated clean-ups) finds nothing. It leaves the same code for ptxas, up to a few instructions,
// in half the time. Other levels, and vectorisers if asked for, take the default one.
//
//===--------------------------------------------------------------------------------------===//

#include "AwaitedCopies.h"
#include "ExtractPlacement.h"
#include "LoopHints.h"
#include "SinkPastLoops.h"
#include "tileloom/Target/FatalErrors.h"
#include "tileloom/Target/LLVMBackend.h"

#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

static llvm::OptimizationLevel levelOf(unsigned level) {
  return level >= 3   ? llvm::OptimizationLevel::O3
         : level == 2 ? llvm::OptimizationLevel::O2
         : level == 1 ? llvm::OptimizationLevel::O1
                      : llvm::OptimizationLevel::O0;
}

/// reassociate keeps invariant parts of addresses together for licm; the last unrolling is that of
/// run-time trip counts, which the clean-up after it needs.
static constexpr llvm::StringLiteral ownPipeline =
    "always-inline,ipsccp,function(sroa,early-cse,simplifycfg,"
    "instcombine<no-verify-fixpoint>,reassociate,loop-mssa(loop-rotate,licm),simplifycfg,"
    "instcombine<no-verify-fixpoint>,loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),gvn,"
    "sccp,adce,simplifycfg<sink-common-insts;hoist-common-insts>,"
    "loop-unroll<O3>,instcombine<no-verify-fixpoint>),globaldce";

static void runPipeline(llvm::Module &module, llvm::TargetMachine &machine,
                        const tileloom::BackendOptions &options) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = options.loopUnrolling;
  tuning.LoopInterleaving = options.vectorize;
  tuning.LoopVectorization = options.vectorize;
  tuning.SLPVectorization = options.vectorize;

  tileloom::keepLoopsThatCarry(module, options.maxUnrollCarried);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::StandardInstrumentations instrumentations(module.getContext(), /*DebugLogging=*/false);
  if (options.instrument)
    instrumentations.registerCallbacks(callbacks, &modules);
  llvm::PassBuilder builder(&machine, tuning, /*PGOOpt=*/std::nullopt,
                            options.instrument ? &callbacks : nullptr);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::OptimizationLevel level = levelOf(options.optLevel);
  llvm::ModulePassManager own;
  if (options.optLevel >= 2 && options.loopUnrolling && !options.vectorize) {
    llvm::cantFail(builder.parsePassPipeline(own, ownPipeline), "the pipeline is a constant");
    own.run(module, modules);
    tileloom::sinkPastLoops(module);
    return;
  }
  llvm::ModulePassManager pipeline = level == llvm::OptimizationLevel::O0
                                         ? builder.buildO0DefaultPipeline(level)
                                         : builder.buildPerModuleDefaultPipeline(level);
  pipeline.run(module, modules);
}

namespace tileloom {

mlir::LogicalResult optimizeLLVM(mlir::ModuleOp source, llvm::Module &module,
                                 llvm::TargetMachine &machine, const BackendOptions &options) {
  if (options.verifyEach) {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module, &stream))
      return source.emitError("invalid LLVM IR: ") << problem;
  }
  std::string error;
  if (!runCatchingFatalErrors([&] { runPipeline(module, machine, options); }, error))
    return source.emitError("LLVM could not optimise the module: ") << error;
  placeExtracts(module);
  copyAwaited(module);
  return mlir::success();
}

} // namespace tileloom
