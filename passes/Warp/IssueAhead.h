//===- IssueAhead.h - Products that wait for copies only, an iteration ahead ------*- C++ -*-===//
//
// For loops of the role that issues products of tensor memory.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_ISSUEAHEAD_H
#define TILELOOM_PASSES_WARP_ISSUEAHEAD_H

#include "CopyOrder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::warp {

/// Issues the products of the next iteration that wait for no other product of `loop` beside those of this one that do. False, with
/// the reason, if nothing changes. `slots`: gets what the loop then takes early and late.
bool issueAhead(mlir::scf::ForOp loop, SlotStages &slots, std::string &why);

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_ISSUEAHEAD_H
