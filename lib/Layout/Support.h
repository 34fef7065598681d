//===- Support.h - Small helpers shared by the layout sources ---------------===//
//
// Error construction, powers of two, and the text form of an index.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_LAYOUT_SUPPORT_H
#define TILELOOM_LIB_LAYOUT_SUPPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MathExtras.h"
#include <string>

namespace tileloom::layout {

inline llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

inline bool isPowerOf2(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }
inline unsigned log2Exact(int64_t value) { return llvm::Log2_64(uint64_t(value)); }
/// The largest power of two that divides value (value > 0).
inline int64_t powerOf2Part(int64_t value) { return value & -value; }

inline std::string listText(llvm::ArrayRef<int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

inline std::string dimName(unsigned dim) { return "dim" + std::to_string(dim); }

} // namespace tileloom::layout

#endif // TILELOOM_LIB_LAYOUT_SUPPORT_H
