//===- Driver.cpp - The command line of kernel-opt -----------------------------------------===//
//
// Options, input and diagnostics. Where artifacts go is in Outputs.cpp. Debugging options of MLIR
// and LLVM (--mlir-print-ir-after-all, --mlir-timing, --print-after-all ...) work here too.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Driver/Driver.h"

#include "Explain.h"
#include "Outputs.h"
#include "ScheduleOption.h"
#include "tileloom/Driver/Compile.h"
#include "tileloom/Driver/Report.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tileloom;
namespace cl = llvm::cl;

static cl::OptionCategory &category() {
  static cl::OptionCategory instance("Tileloom compile mode");
  return instance;
}

namespace {
/// Made only in compile mode: MlirOptMain has options of the same names.
struct Options {
  cl::opt<std::string> input{cl::Positional, cl::desc("<program.mlir>"), cl::init("-"),
                             cl::cat(category())};
  cl::opt<std::string> target{"target", cl::desc("GPU: sm_90a, sm_100a or sm_103a"),
                              cl::cat(category())};
  cl::list<std::string> emit{"emit", cl::CommaSeparated, cl::cat(category()),
                             cl::desc("What to write, one or several of tile, warp, nv, llvm, "
                                      "recipe, llvmir, ptx, cubin (default: ptx)")};
  cl::opt<std::string> output{"o",
                              cl::desc("File, or directory if it ends in '/' or exists as one"),
                              cl::value_desc("path"), cl::cat(category())};
  cl::opt<std::string> schedule{
      "schedule", cl::value_desc("#tile.schedule<...>"), cl::cat(category()),
      cl::desc("Fields of the schedule of tile kernels; those that a program gives itself are replaced")};
  cl::opt<std::string> report{"report", cl::ValueOptional, cl::value_desc("text|json"),
                              cl::cat(category()),
                              cl::desc("Print roles, rings, memory, ptxas resources and times")};
  cl::opt<std::string> reportFile{"report-file", cl::value_desc("path"), cl::cat(category()),
                                  cl::desc("Write the report here instead of printing it")};
  cl::opt<bool> werrorPtxas{
      "werror-ptxas", cl::cat(category()),
      cl::desc("Spills and performance-loss messages (C75xx, C76xx) of ptxas are errors")};
  cl::opt<bool> lineInfo{"lineinfo", cl::desc("Source lines in the PTX and the cubin"),
                         cl::cat(category())};
  cl::opt<std::string> ptxas{"ptxas", cl::desc("The ptxas to run"), cl::value_desc("path"),
                             cl::cat(category())};
  cl::list<std::string> ptxasArguments{"Xptxas", cl::desc("Pass an argument on to ptxas"),
                                       cl::cat(category())};
  cl::opt<unsigned> ptxasTimeout{"ptxas-timeout", cl::desc("Seconds after which ptxas is killed"),
                                 cl::init(300), cl::cat(category())};
  cl::opt<std::string> saveTemps{"save-temps",
                                 cl::desc("Write everything made on the way into this directory"),
                                 cl::value_desc("directory"), cl::cat(category())};
  cl::opt<unsigned> optLevel{"opt-level", cl::desc("LLVM optimisation level, 0-3"), cl::init(3),
                             cl::cat(category())};
  cl::opt<bool> verifyLLVM{"verify-llvm", cl::desc("Verify the LLVM IR between steps"),
                           cl::cat(category())};
  cl::opt<std::string> explain{
      "explain-schedule", cl::ValueOptional, cl::value_desc("n,n,..."), cl::cat(category()),
      cl::desc("Only print schedules with their predicted times, and why others cannot be used; "
               "values of the kernel's scalar arguments, '?' for what is not known")};
  cl::opt<bool> verifyDiagnostics{
      "verify-diagnostics", cl::cat(category()),
      cl::desc("Check diagnostics against expected-* comments; write nothing")};
};
} // namespace

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "kernel-opt") << message << "\n";
  return 1;
}

/// Command line to CompileOptions; a message on failure.
static std::string fillIn(const Options &flags, CompileOptions &options) {
  for (const std::string &name : flags.emit) {
    std::optional<Artifact> artifact = lookupArtifact(name);
    if (!artifact)
      return "unknown --emit '" + name +
             "' (kinds: tile, warp, nv, llvm, recipe, llvmir, ptx, cubin)";
    options.emit.insert(*artifact);
  }
  bool report = flags.report.getNumOccurrences() != 0 || !flags.reportFile.empty();
  if (options.emit.empty() && !report)
    options.emit.insert(Artifact::PTX);
  if (flags.target.empty())
    return (flags.schedule.empty() ? "--emit" : "--schedule") +
           std::string(" needs --target (sm_90a, sm_100a or sm_103a)");
  options.chip = lookupChip(flags.target);
  if (!options.chip)
    return unknownChipMessage(flags.target);
  if (!flags.report.empty() && flags.report != "text" && flags.report != "json")
    return "unknown --report '" + flags.report + "' (forms: text, json)";
  if (flags.optLevel > 3)
    return "--opt-level is 0, 1, 2 or 3, not " + std::to_string(flags.optLevel);
  if (flags.ptxasTimeout == 0)
    return "--ptxas-timeout must be at least 1 second";
  options.report = report;
  options.werrorPtxas = flags.werrorPtxas;
  options.lineInfo = flags.lineInfo;
  options.schedule = flags.schedule;
  options.backend.optLevel = flags.optLevel;
  options.backend.verifyEach = flags.verifyLLVM;
  options.ptxas.path = flags.ptxas;
  options.ptxas.arguments.assign(flags.ptxasArguments.begin(), flags.ptxasArguments.end());
  options.ptxas.timeoutSeconds = flags.ptxasTimeout;
  options.saveTemps = flags.saveTemps;
  options.stem = flags.input == "-" ? "kernel" : llvm::sys::path::stem(flags.input).str();
  options.backend.instrument = true;
  options.configure = [](PassManager &pm) {
    applyDefaultTimingPassManagerCLOptions(pm);
    return applyPassManagerCLOptions(pm);
  };
  return {};
}

bool tileloom::isCompileMode(int argc, char **argv) {
  // Help alone shows the compiler's few options; the thousand of the opt tool and LLVM are in
  // --help-list.
  if (argc == 2 && (llvm::StringRef(argv[1]) == "--help" || llvm::StringRef(argv[1]) == "-h"))
    return true;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--")
      break;
    if (!argument.consume_front("--") && !argument.consume_front("-"))
      continue;
    llvm::StringRef name = argument.split('=').first;
    if (name == "target" || name == "emit" || name == "schedule")
      return true;
  }
  return false;
}

int tileloom::compileMain(int argc, char **argv, DialectRegistry &registry) {
  Options flags;
  registerMLIRContextCLOptions();
  registerAsmPrinterCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(category());
  cl::ParseCommandLineOptions(
      argc, argv,
      "Tileloom: compile a tile program for an NVIDIA GPU\n\n"
      "Without --target, --emit and --schedule this is an opt tool like mlir-opt; --help-list shows its "
      "passes,\n"
      "pipelines and options. Debugging options of MLIR and LLVM work in both modes.\n");

  CompileOptions options;
  if (std::string problem = fillIn(flags, options); !problem.empty())
    return fail(problem);
  Outputs outputs;
  outputs.path = flags.output;
  outputs.stem = options.stem;
  outputs.reportFile = flags.reportFile;
  outputs.reportAsJson =
      flags.report == "json" || (flags.report.empty() && !flags.reportFile.empty());
  if (std::string problem = outputs.check(options.emit); !problem.empty())
    return fail(problem);

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(flags.input, &message);
  if (!input)
    return fail(message);

  llvm::SourceMgr sources;
  std::string name = input->getBufferIdentifier().str();
  llvm::StringRef text = input->getBuffer();
  sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  CompileResult result;
  if (flags.verifyDiagnostics) {
    SourceMgrDiagnosticVerifierHandler verifier(sources, &context);
    context.printOpOnDiagnostic(false);
    (void)compileSource(text, name, context, options, result);
    return succeeded(verifier.verify()) ? 0 : 1;
  }
  SourceMgrDiagnosticHandler printer(sources, &context);
  context.printOpOnDiagnostic(false);
  if (flags.explain.getNumOccurrences()) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
    if (!module || (!flags.schedule.empty() && failed(applySchedule(*module, flags.schedule))))
      return 1;
    std::string problem = explainSchedule(*module, flags.target, flags.explain, llvm::outs());
    return problem.empty() ? 0 : fail(problem);
  }
  if (failed(compileSource(text, name, context, options, result)))
    return 1;
  if (std::string problem = outputs.write(options.emit, result); !problem.empty())
    return fail(problem);
  return 0;
}
