//===- RoleSlice.h - What each role needs of a sequential program ----------------*- C++ -*-===//
//
// A role needs its own operations, what their operands are computed from, and the loops and
// branches around them. What is pure, or reads memory, is computed in every role that needs it.
// A scalar that only one role can compute is received by the others (ValueRing).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_ROLESLICE_H
#define TILELOOM_PASSES_WARP_ROLESLICE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom {

class RoleSlice {
public:
  RoleSlice(mlir::func::FuncOp function, mlir::StringAttr role) : function(function), role(role) {}

  mlir::StringAttr getRole() const { return role; }
  bool has(mlir::Operation *op) const { return ops.contains(op); }
  bool has(mlir::Value value) const { return values.contains(value); }
  /// Whether another role computes the results of `op` and hands them over.
  bool receives(mlir::Operation *op) const { return received.contains(op); }

private:
  friend class RoleSlices;

  void need(mlir::Operation *op);
  void need(mlir::Value value);
  void needCarried(mlir::scf::ForOp loop, unsigned index);
  /// What the condition of a loop passes on, to the body and out.
  void needPassed(mlir::scf::WhileOp loop, unsigned index);
  /// Follows what is needed; `owner` gives the one role that can compute an operation, if there is
  /// just one.
  mlir::LogicalResult follow(llvm::function_ref<mlir::StringAttr(mlir::Operation *)> owner);
  mlir::LogicalResult visit(mlir::Operation *op,
                            llvm::function_ref<mlir::StringAttr(mlir::Operation *)> owner);

  mlir::func::FuncOp function;
  mlir::StringAttr role;
  llvm::SetVector<mlir::Operation *> ops, received;
  llvm::SetVector<mlir::Value> values;
  llvm::SmallVector<mlir::Operation *> work;
};

/// The slices of all roles of a partitioned kernel, in order.
class RoleSlices {
public:
  static mlir::FailureOr<RoleSlices> compute(mlir::func::FuncOp function);

  llvm::ArrayRef<RoleSlice> all() const { return slices; }
  /// Operations with results that other roles receive, and the role that computes them, in the order
  /// of the program.
  const llvm::MapVector<mlir::Operation *, mlir::StringAttr> &sent() const { return senders; }

private:
  llvm::SmallVector<RoleSlice> slices;
  llvm::MapVector<mlir::Operation *, mlir::StringAttr> senders;
};

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_ROLESLICE_H
