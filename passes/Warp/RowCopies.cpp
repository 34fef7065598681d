//===- RowCopies.cpp - Copies for values that are wanted in several slices ----------------===//

#include "passes/Warp/RowCopies.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

bool tileloom::isAdaptable(Operation *op) {
  return isa<nv::SplatOp, nv::IndexOp, ub::PoisonOp>(op) ||
         (isa<arith::ConstantOp>(op) && matchPattern(op, m_Constant<SplatElementsAttr>(nullptr)));
}

static bool isRecomputable(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  Operation *def = value.getDefiningOp();
  if (!def || def->getNumResults() != 1)
    return false;
  bool simple = isAdaptable(def) || (OpTrait::hasElementwiseMappableTraits(def) && isPure(def)) ||
                isa<nv::BroadcastOp, tile::GatherOp>(def);
  return simple && llvm::all_of(def->getOperands(), isRecomputable);
}

static Value recompute(OpBuilder &builder, Value value, IRMapping &copies) {
  if (!isa<RankedTensorType>(value.getType()))
    return value;
  if (Value copy = copies.lookupOrNull(value))
    return copy;
  Operation *def = value.getDefiningOp();
  for (Value operand : def->getOperands())
    recompute(builder, operand, copies);
  return builder.clone(*def, copies)->getResult(0);
}

/// A reduction of what does not depend on the products (flags of the rows, read from memory) is
/// done whole by every replica: it gets a copy of its source for itself.
static void separateReductions(RoleOp role) {
  role.walk([&](nv::ReduceOp reduce) {
    if (isRecomputable(reduce.getSource())) {
      IRMapping copies;
      OpBuilder builder(reduce);
      reduce.getSourceMutable().assign(recompute(builder, reduce.getSource(), copies));
    }
  });
}

/// A splat, an index or a constant that several values are computed from may be wanted in several
/// slices.
static void separateAdaptable(RoleOp role) {
  SmallVector<Operation *> ops;
  role.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
        isAdaptable(op))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      if (op->hasOneUse())
        break;
      OpBuilder builder(op);
      use.set(builder.clone(*op)->getResult(0));
    }
  // Constants outside of the role are shared with nobody else that matters.
  role.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (!def || role->isAncestor(def) || !isa<RankedTensorType>(use.get().getType()) ||
          !isAdaptable(def))
        continue;
      OpBuilder builder(op);
      use.set(builder.clone(*def)->getResult(0));
    }
  });
}

void tileloom::separateRows(RoleOp role) {
  separateReductions(role);
  separateAdaptable(role);
}
