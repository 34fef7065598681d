//===- Warp.h - The warp dialect -------------------------------------------------*- C++ -*-===//
//
// Which warps do which part of a kernel, and how they hand storage over. See Warp.td for the
// reference, Rationale.md for the reasons.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_WARP_H
#define TILELOOM_DIALECTS_WARP_H

#include "dialects/NV/NV.h"
#include "dialects/Warp/WarpNames.h"

#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "dialects/Warp/WarpDialect.h.inc"
#include "dialects/Warp/WarpEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Warp/WarpAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Warp/WarpTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Warp/WarpOps.h.inc"

namespace tileloom::warp {

/// The acquire that a token comes from: directly, or the first of those that a loop carries or a
/// branch yields (all of one ring). Null if the token comes from elsewhere.
AcquireOp originOf(mlir::Value token);

/// The token of the slot that a view is of, or is a part or another view of; null if it is of none.
mlir::Value tokenOf(mlir::Value view);

/// The one release of a token; null if there is none, several, or no token.
ReleaseOp releaseOf(mlir::Value token);

} // namespace tileloom::warp

#endif // TILELOOM_DIALECTS_WARP_H
