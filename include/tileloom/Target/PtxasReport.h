//===- PtxasReport.h - What ptxas said, as data ----------------------------------*- C++ -*-===//
//
// Parses the text of `ptxas -v` (13.0). Lines that it does not know are kept and never an error,
// because the format is not documented and changes between releases.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_TARGET_PTXASREPORT_H
#define TILELOOM_TARGET_PTXASREPORT_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tileloom {

enum class PtxasSeverity { Info, Warning, Error, Fatal };

llvm::StringRef toString(PtxasSeverity severity);

/// Where the PTX came from, through its `.loc` directives. No file if there are none.
struct SourceLine {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
};

struct PtxasMessage {
  PtxasSeverity severity = PtxasSeverity::Info;
  std::string code;     ///< "C7510", or empty
  std::string text;     ///< without the severity and the code
  std::string function; ///< the kernel that the text names, or empty
  unsigned ptxLine = 0; ///< line in the PTX, 0 if unknown
  SourceLine source;    ///< filled in by attachSourceLines

  /// C75xx and C76xx say that the tensor core pipeline was serialised or that registers were lost.
  bool isPerformanceLoss() const;
};

/// Resources of one entry function or device function.
struct PtxasKernel {
  std::string name;
  unsigned registers = 0;
  unsigned barriers = 0;
  unsigned stackBytes = 0;
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
  unsigned sharedBytes = 0;   ///< static shared memory
  unsigned constantBytes = 0; ///< all banks
};

struct PtxasReport {
  std::vector<PtxasKernel> kernels;
  std::vector<PtxasMessage> messages;
  std::vector<std::string> unknown; ///< lines that were not understood
  double compileMs = 0;             ///< ptxas's own time, all functions

  const PtxasKernel *find(llvm::StringRef name) const;
  bool hasErrors() const;
};

/// Never fails.
PtxasReport parsePtxasOutput(llvm::StringRef text);

/// Sets the source line of every message that has a PTX line, from the `.file` and `.loc`
/// directives of `ptx`.
void attachSourceLines(PtxasReport &report, llvm::StringRef ptx);

} // namespace tileloom

#endif // TILELOOM_TARGET_PTXASREPORT_H
