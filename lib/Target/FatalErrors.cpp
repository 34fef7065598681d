//===- FatalErrors.cpp - Survive LLVM's fatal errors --------------------------------------===//
//
// LLVM has one handler per process. Ours is installed once, jumps out when the failing thread is
// inside runCatchingFatalErrors, and otherwise prints what LLVM would have printed and lets LLVM
// end the process. longjmp and not throw: LLVM is built without exceptions, and frames marked
// noexcept would end the process.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"

#include <csetjmp>
#include <cstdio>
#include <mutex>

namespace {
struct Catcher {
  std::jmp_buf jump;
  std::string message;
  Catcher *outer;
};
} // namespace

static thread_local Catcher *innermost = nullptr;

static void onFatalError(void *, const char *reason, bool) {
  if (Catcher *catcher = innermost) {
    catcher->message = reason;
    std::longjmp(catcher->jump, 1);
  }
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
}

namespace tileloom {

bool runCatchingFatalErrors(llvm::function_ref<void()> step, std::string &error) {
  static std::once_flag installed;
  std::call_once(installed, [] {
    llvm::remove_fatal_error_handler(); // LLVM keeps one only; a host's handler would be asserted
                                        // against
    llvm::install_fatal_error_handler(onFatalError);
  });
  Catcher catcher;
  catcher.outer = innermost;
  innermost = &catcher;
  bool ok = false;
  if (setjmp(catcher.jump) == 0) {
    step();
    ok = true;
  } else {
    error = catcher.message;
  }
  innermost = catcher.outer;
  return ok;
}

} // namespace tileloom
