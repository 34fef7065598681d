//===- FatalErrors.h - Survive LLVM's fatal errors -------------------------------*- C++ -*-===//
//
// LLVM reports what its code generator cannot do ("Cannot select ...") with report_fatal_error,
// which ends the process. A compiler inside somebody's Python must not. `runCatchingFatalErrors`
// runs a step and turns such an error into text.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_TARGET_FATALERRORS_H
#define TILELOOM_TARGET_FATALERRORS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace tileloom {

/// Runs `step`; false with `error` set if LLVM reported a fatal error in it on this thread. The
/// step's objects are then not destroyed (the stack is left by longjmp, as in LLVM's
/// CrashRecoveryContext): whatever it was working on must be leaked, not reused. Calls may nest;
/// the innermost catches.
bool runCatchingFatalErrors(llvm::function_ref<void()> step, std::string &error);

} // namespace tileloom

#endif // TILELOOM_TARGET_FATALERRORS_H
