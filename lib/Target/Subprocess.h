//===- Subprocess.h - Run a program with a deadline ------------------------------*- C++ -*-===//
//
// llvm::sys::ExecuteAndWait implements its time-out with SIGALRM, which belongs to the host process
// here. This one polls.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_LIB_TARGET_SUBPROCESS_H
#define TILELOOM_LIB_TARGET_SUBPROCESS_H

#include <string>
#include <vector>

namespace tileloom {

struct SubprocessResult {
  bool started = false;
  bool timedOut = false;
  int exitCode = -1;  ///< -1 if it ended by a signal
  int signal = 0;     ///< that signal
  std::string output; ///< stdout and stderr together
  std::string error;  ///< why it did not start
};

/// Runs command[0] (a path) without a shell, its input empty.
SubprocessResult runSubprocess(const std::vector<std::string> &command, unsigned timeoutSeconds);

} // namespace tileloom

#endif // TILELOOM_LIB_TARGET_SUBPROCESS_H
