//===- ReplicaSlices.h - What replicas have of each tile -------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_REPLICASLICES_H
#define TILELOOM_PASSES_WARP_REPLICASLICES_H

#include "dialects/NV/NV.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

#include <string>

namespace tileloom::warp {

/// What a replica has of a tile: a share of the elements along `dim`. These are `offset` and following ones of `total`, of whose every
/// replica has those from its own share of `total` on.
struct Slice {
  int64_t dim = 0, offset = 0, total = 0;

  bool operator==(const Slice &other) const { return dim == other.dim && offset == other.offset && total == other.total; }
  Slice along(int64_t other) const { return {other, offset, total}; }
  Slice moved(int64_t by) const { return {dim, offset + by, total}; }
};

/// The rows of products, or their columns, followed through everything of a role that depends on them.
class ReplicaSlices {
public:
  /// shared: the dimension of products that `replicas` share.
  ReplicaSlices(RoleOp role, int64_t replicas, int64_t shared) : role(role), replicas(replicas), shared(shared) {}

  /// Finds what every replica has of each value; false if the rows (or columns) cannot be told apart. Changes nothing but copies of
  /// constants and positions.
  bool analyse();

  /// Of what replicas do not have whole, in the order in which it was found.
  const llvm::MapVector<mlir::Value, Slice> &get() const { return slices; }

  /// The operation that keeps the rows together, and why.
  mlir::Operation *getRefused() const { return refused; }
  llvm::StringRef getReason() const { return reason; }

private:
  void follow();
  void set(mlir::Value value, Slice slice, mlir::Operation *because);
  /// A tile whose share is counted along itself.
  void setWhole(mlir::Value value, int64_t dim, mlir::Operation *because);
  void visit(mlir::Value value);
  void carried(mlir::scf::ForOp loop, unsigned index, const Slice &slice);
  /// What the slice of `value`, an operand or a result of `op`, says about the others.
  void relate(mlir::Operation *op, mlir::Value value, const Slice &slice);
  void relateControlFlow(mlir::Operation *op, mlir::Value value, const Slice &slice);
  /// Operations whose source has other dimensions, or other elements, than their result.
  void relateShapes(mlir::Operation *op, mlir::Value value, const Slice &slice);
  /// Parts of a tile that are put together: along what is shared each has its place in it.
  void relateParts(nv::ConcatOp concat, mlir::Value value, const Slice &slice);
  void branched(mlir::scf::IfOp branch, unsigned index, const Slice &slice);
  void refuse(mlir::Operation *op, const llvm::Twine &why);

  RoleOp role;
  int64_t replicas, shared;
  llvm::MapVector<mlir::Value, Slice> slices;
  llvm::SmallVector<mlir::Value> work;
  mlir::Operation *refused = nullptr;
  std::string reason;
};

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_REPLICASLICES_H
