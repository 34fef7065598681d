//===- Error.cpp - Errors of the runtime ----------------------------------===//
//
// Making and consuming RuntimeError.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace tileloom::runtime {

char RuntimeError::ID = 0;

void RuntimeError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code RuntimeError::convertToErrorCode() const { return llvm::inconvertibleErrorCode(); }

llvm::Error makeError(ErrorKind kind, const llvm::Twine &text) {
  return llvm::make_error<RuntimeError>(kind, text.str());
}

ErrorKind consumeError(llvm::Error error, std::string &text) {
  ErrorKind kind = ErrorKind::Recipe;
  llvm::handleAllErrors(
      std::move(error),
      [&](const RuntimeError &e) {
        kind = e.kind();
        text = e.message();
      },
      [&](const llvm::ErrorInfoBase &e) { text = e.message(); });
  return kind;
}

} // namespace tileloom::runtime
