//===- ExtractPlacement.h - Results beside the call that gives them ----------------*- C++ -*-===//

#ifndef TILELOOM_LIB_TARGET_EXTRACTPLACEMENT_H
#define TILELOOM_LIB_TARGET_EXTRACTPLACEMENT_H

namespace llvm {
class Module;
} // namespace llvm

namespace tileloom {

/// Moves each extractvalue of a call's results right behind the call.
void placeExtracts(llvm::Module &module);

} // namespace tileloom

#endif // TILELOOM_LIB_TARGET_EXTRACTPLACEMENT_H
