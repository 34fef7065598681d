//===- Outputs.h - Where kernel-opt writes what it made ---------------------------*- C++ -*-===//
//
// One artifact goes to -o or standard output. Several go to a directory as STEM.EXTENSION, or, if
// -o is a file name, beside it with that name's extension replaced. The report goes to standard
// output unless an artifact does, then to standard error.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_LIB_DRIVER_OUTPUTS_H
#define TILELOOM_LIB_DRIVER_OUTPUTS_H

#include "tileloom/Driver/Compile.h"

namespace tileloom {

struct Outputs {
  std::string path; ///< -o
  std::string stem; ///< of the input
  std::string reportFile;
  bool reportAsJson = false;

  /// What is wrong with these outputs for `set`, or empty.
  std::string check(const ArtifactSet &set) const;

  /// Writes all of `set` and the report; what went wrong, or empty.
  std::string write(const ArtifactSet &set, const CompileResult &result) const;

private:
  std::string fileFor(Artifact artifact, bool several) const;
  bool usesStdout() const { return path.empty() || path == "-"; }
};

} // namespace tileloom

#endif // TILELOOM_LIB_DRIVER_OUTPUTS_H
