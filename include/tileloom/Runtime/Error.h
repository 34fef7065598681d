//===- Error.h - Errors of the runtime ------------------------------------===//
//
// Every failure of the runtime is an llvm::Error that holds a RuntimeError: a kind, which becomes
// the status of the C API and the exception class in Python, and one line of text that says what
// was found and what was needed.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_ERROR_H
#define TILELOOM_RUNTIME_ERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tileloom::runtime {

/// The values are those of TileloomStatus.
enum class ErrorKind { Argument = 1, Recipe = 2, Launch = 3, Driver = 4 };

class RuntimeError : public llvm::ErrorInfo<RuntimeError> {
public:
  static char ID;
  RuntimeError(ErrorKind kind, std::string text) : errorKind(kind), text(std::move(text)) {}
  ErrorKind kind() const { return errorKind; }
  std::string message() const override { return text; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  ErrorKind errorKind;
  std::string text;
};

llvm::Error makeError(ErrorKind kind, const llvm::Twine &text);

/// Consumes `error`, which must not be success: its kind, and its text in `text`.
ErrorKind consumeError(llvm::Error error, std::string &text);

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_ERROR_H
