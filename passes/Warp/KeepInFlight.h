//===- KeepInFlight.h - A product in flight over the back edge of its loop --------*- C++ -*-===//
//
// For loops of one product that accumulates: the schedule of ping-pong replicas.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_KEEPINFLIGHT_H
#define TILELOOM_PASSES_WARP_KEEPINFLIGHT_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::warp {

/// Attribute of a loop: products that stay in flight from one iteration to the next (0 or 1).
inline constexpr llvm::StringLiteral pendingAttrName = "warp.pending";

/// Lets the loop's product retire, and its slots go back, one iteration later. None if the loop is not
/// of that form, with the reason.
std::optional<mlir::scf::ForOp> keepInFlight(mlir::scf::ForOp loop, std::string &why);

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_KEEPINFLIGHT_H
