//===- Check.h - Checks of arguments and launch limits --------------------===//
//
// What must hold before a kernel is launched (docs/recipe.md, "checks before launch"). Each failure
// names the kernel, the argument, the value found and the value needed. Nothing here needs a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_CHECK_H
#define TILELOOM_RUNTIME_CHECK_H

#include "tileloom/Runtime/Recipe.h"

namespace tileloom::runtime {

using Arguments = llvm::ArrayRef<TileloomArgument>;

/// "kernel 'gemm', argument 0 'a' (gemm.mlir:3:12): "
std::string argumentPrefix(const Recipe &recipe, unsigned index);

/// Number, kinds, element types, ranks, fixed extents and strides, divisibility, and that every
/// tensor is on `device` (an ordinal, or TILELOOM_HOST).
llvm::Error checkArguments(const Recipe &recipe, Arguments arguments, int32_t device);

/// Target architecture, block size and dynamic shared memory. `deviceName` goes into the text.
llvm::Error checkDevice(const Recipe &recipe, const TileloomDevice &device,
                        llvm::StringRef deviceName);

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_CHECK_H
