//===- Elementwise.h - Code that works element by element -------------------------*- C++ -*-===//
//
// Such code can be repeated for a part of a tile, or for a tile of another shape, without knowing what it computes.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_ELEMENTWISE_H
#define TILELOOM_ANALYSIS_ELEMENTWISE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tileloom {

/// Whether the one result of `op` (null: no) is a tile, computed from the same elements of its operands.
bool isElementwise(mlir::Operation *op);

/// The same without effects, and right wherever its operands are there.
bool isPureElementwise(mlir::Operation *op);

/// An operation with one result again, for tiles of another shape.
mlir::Value cloneFor(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands, mlir::RankedTensorType type);

/// `value` in another shape if all of its elements are one constant or one scalar (nv.splat, tile.splat); else null.
mlir::Value splatFor(mlir::OpBuilder &builder, mlir::Value value, mlir::RankedTensorType type);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_ELEMENTWISE_H
