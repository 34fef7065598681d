//===- PtxasDiagnostics.cpp - ptxas's findings as MLIR diagnostics --------------------------===//
//
// A message is placed at its source line if the PTX has .loc lines (--lineinfo), else at its
// kernel, else at the module. The PTX line that ptxas names is quoted in a note. Performance-loss
// messages are "info" for ptxas; here they are warnings.
//
//===--------------------------------------------------------------------------------------===//

#include "PtxasDiagnostics.h"

#include "tileloom/Driver/Report.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tileloom;

/// ptxas repeats itself for every instruction that it does not know; the first ones tell.
static constexpr unsigned maxErrors = 20;

static Location locate(ModuleOp module, llvm::StringRef function, const SourceLine &source) {
  if (source.line != 0)
    return FileLineColLoc::get(module->getContext(), source.file, source.line, source.column);
  std::vector<FunctionOpInterface> kernels = findKernels(module);
  for (FunctionOpInterface kernel : kernels)
    if (kernel.getName() == function)
      return kernel->getLoc();
  return kernels.size() == 1 ? kernels.front()->getLoc() : module->getLoc();
}

static llvm::StringRef lineOf(llvm::StringRef text, unsigned number) {
  llvm::StringRef line;
  for (unsigned i = 0; i < number && !text.empty(); ++i)
    std::tie(line, text) = text.split('\n');
  return text.empty() && line.empty() ? llvm::StringRef() : line.trim();
}

static void emitMessage(ModuleOp module, const PtxasMessage &message, llvm::StringRef ptx,
                        DiagnosticSeverity severity) {
  Location loc = locate(module, message.function, message.source);
  InFlightDiagnostic diagnostic =
      severity == DiagnosticSeverity::Error ? emitError(loc) : emitWarning(loc);
  diagnostic << "ptxas: ";
  if (!message.code.empty())
    diagnostic << message.code << ": ";
  diagnostic << message.text;
  if (message.ptxLine != 0)
    diagnostic.attachNote(loc) << "PTX line " << message.ptxLine << ": "
                               << lineOf(ptx, message.ptxLine);
}

LogicalResult tileloom::reportPtxas(ModuleOp module, const PtxasResult &ptxas, llvm::StringRef ptx,
                                    bool strict) {
  bool failed = ptxas.state != PtxasResult::State::Assembled;
  if (!ptxas.error.empty())
    module.emitError("ptxas: ") << ptxas.error;
  unsigned errors = 0;
  DiagnosticSeverity loss = strict ? DiagnosticSeverity::Error : DiagnosticSeverity::Warning;
  for (const PtxasMessage &message : ptxas.report.messages) {
    if (message.severity >= PtxasSeverity::Error) {
      // "Ptx assembly aborted due to errors" adds nothing to the errors before it.
      bool summary = message.severity == PtxasSeverity::Fatal && errors != 0;
      if (++errors <= maxErrors && !summary)
        emitMessage(module, message, ptx, DiagnosticSeverity::Error);
    } else if (message.isPerformanceLoss()) {
      emitMessage(module, message, ptx, loss);
      failed |= strict;
    } else if (message.severity == PtxasSeverity::Warning) {
      emitMessage(module, message, ptx, DiagnosticSeverity::Warning);
    }
  }
  for (const PtxasKernel &kernel : ptxas.report.kernels) {
    if (kernel.spillStoreBytes == 0 && kernel.spillLoadBytes == 0)
      continue;
    Location loc = locate(module, kernel.name, {});
    InFlightDiagnostic diagnostic = strict ? emitError(loc) : emitWarning(loc);
    diagnostic << "ptxas: '" << kernel.name << "' spills registers: " << kernel.spillStoreBytes
               << " bytes of stores, " << kernel.spillLoadBytes << " bytes of loads, with "
               << kernel.registers << " registers a thread";
    failed |= strict;
  }
  return failure(failed);
}
