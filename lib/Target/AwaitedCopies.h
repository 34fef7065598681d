//===- AwaitedCopies.h - No copy between a product and its wait -------------------*- C++ -*-===//

#ifndef TILELOOM_LIB_TARGET_AWAITEDCOPIES_H
#define TILELOOM_LIB_TARGET_AWAITEDCOPIES_H

namespace llvm {
class Module;
} // namespace llvm

namespace tileloom {

/// Gives sums that are used in two ways after a wait for products registers of their own behind it.
void copyAwaited(llvm::Module &module);

} // namespace tileloom

#endif // TILELOOM_LIB_TARGET_AWAITEDCOPIES_H
