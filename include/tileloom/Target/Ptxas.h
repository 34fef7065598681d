//===- Ptxas.h - Find and run ptxas ----------------------------------------------*- C++ -*-===//
//
// PTX text to a cubin. ptxas is looked for in: the option, $TILELOOM_PTXAS, $CUDA_HOME/bin, PATH,
// and the Python package nvidia-cuda-nvcc. No shell is involved; temporary files are removed on
// every path; a run that exceeds its time is killed.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_TARGET_PTXAS_H
#define TILELOOM_TARGET_PTXAS_H

#include "tileloom/Target/Chip.h"
#include "tileloom/Target/PtxasReport.h"

namespace tileloom {

struct PtxasOptions {
  std::string path;                   ///< program to run; empty: search
  std::vector<std::string> arguments; ///< passed on before the input file
  unsigned timeoutSeconds = 300;
  bool lineInfo = false; ///< -lineinfo: keep .loc in the cubin
};

/// Where ptxas is, or empty. A path given as an option or in $TILELOOM_PTXAS is returned as it is,
/// even if it does not exist, so that running it fails with its name rather than silently using
/// another one.
std::string findPtxas(const PtxasOptions &options);

struct PtxasResult {
  enum class State { NotFound, Failed, Assembled } state = State::NotFound;
  std::string path;
  std::string cubin;  ///< Assembled only
  std::string output; ///< all that ptxas printed
  std::string
      error; ///< why it could not be run, or ran out of time; empty if ptxas itself said why
  PtxasReport report;
};

/// Assembles `ptx` for `chip`.
PtxasResult runPtxas(llvm::StringRef ptx, const Chip &chip, const PtxasOptions &options);

} // namespace tileloom

#endif // TILELOOM_TARGET_PTXAS_H
