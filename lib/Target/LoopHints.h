//===- LoopHints.h - Keep main loops as they were scheduled ------------------------*- C++ -*-===//

#ifndef TILELOOM_LIB_TARGET_LOOPHINTS_H
#define TILELOOM_LIB_TARGET_LOOPHINTS_H

namespace llvm {
class Module;
} // namespace llvm

namespace tileloom {

/// Marks loops that carry more than `maxCarried` values, and have no llvm.loop metadata, as not to
/// be unrolled.
void keepLoopsThatCarry(llvm::Module &module, unsigned maxCarried);

} // namespace tileloom

#endif // TILELOOM_LIB_TARGET_LOOPHINTS_H
