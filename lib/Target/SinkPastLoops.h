//===- SinkPastLoops.h - Compute after a loop what only that needs -----------------*- C++ -*-===//

#ifndef TILELOOM_LIB_TARGET_SINKPASTLOOPS_H
#define TILELOOM_LIB_TARGET_SINKPASTLOOPS_H

namespace llvm {
class Module;
} // namespace llvm

namespace tileloom {

/// Moves cheap integer instructions that licm hoisted out of a loop behind that loop's inner loops,
/// where only the code there uses them.
void sinkPastLoops(llvm::Module &module);

} // namespace tileloom

#endif // TILELOOM_LIB_TARGET_SINKPASTLOOPS_H
