//===- KeepInFlight.h - A product in flight over the back edge of its loop --------*- C++ -*-===//
//
// For loops of one product that accumulates: the schedule of ping-pong replicas.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_KEEPINFLIGHT_H
#define TILELOOM_PASSES_WARP_KEEPINFLIGHT_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::warp {

/// Lets the loop's product retire, and its slots go back, one iteration later. None if the loop is not
/// of that form, with the reason.
std::optional<mlir::scf::ForOp> keepInFlight(mlir::scf::ForOp loop, std::string &why);

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_KEEPINFLIGHT_H
