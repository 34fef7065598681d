//===- NarrowTensorMemory.cpp - Read tensor memory in the pieces that are used ------------===//
//
// In: tiles read whole from tensor memory whose uses, through element-wise code, are pieces of
// columns (stores). Out: every piece reads its own columns just before it is used, and the slot is
// released after the last one. A thread holds a whole row: 256 columns would be all its registers.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/ColumnPieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPNARROWTENSORMEMORY
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// Whether everything that is computed from `value` element by element ends in pieces of columns
/// in the same block; collects the pieces.
bool endsInPieces(Value value, Block *block, llvm::SetVector<nv::ExtractOp> &pieces) {
  for (Operation *user : value.getUsers()) {
    if (user->getBlock() != block)
      return false;
    if (auto piece = dyn_cast<nv::ExtractOp>(user)) {
      auto type = cast<RankedTensorType>(piece.getType());
      if (type.getRank() != 2 || piece.getOffsets()[0] != 0 ||
          type.getDimSize(0) != cast<RankedTensorType>(piece.getSource().getType()).getDimSize(0))
        return false;
      pieces.insert(piece);
      continue;
    }
    bool elementwise = OpTrait::hasElementwiseMappableTraits(user) && user->getNumResults() == 1;
    if (!elementwise || !endsInPieces(user->getResult(0), block, pieces))
      return false;
  }
  return true;
}

/// Erases `op` and the element-wise code that only its value went into.
void eraseDead(Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (!isa<ReleaseOp>(user))
      eraseDead(user);
  if (op->use_empty())
    op->erase();
}

/// All that is read from tensor memory for `value`, through element-wise code.
void collectLoads(Value value, llvm::SetVector<Operation *> &loads) {
  Operation *def = value.getDefiningOp();
  if (isa_and_nonnull<nv::TmemLoadOp>(def))
    loads.insert(def);
  else if (def && OpTrait::hasElementwiseMappableTraits(def))
    for (Value operand : def->getOperands())
      collectLoads(operand, loads);
}

/// The release of the slot that is read, in the same block.
ReleaseOp releaseOf(nv::TmemLoadOp load) {
  ReleaseOp release;
  if (auto slot = load.getView().getDefiningOp<SlotOp>())
    for (Operation *user : slot.getToken().getUsers())
      if (auto found = dyn_cast<ReleaseOp>(user))
        release = found;
  return release && release->getBlock() == load->getBlock() ? release : ReleaseOp();
}

/// Narrows the tile and the others that its pieces are computed from; gives those that are gone.
llvm::SetVector<Operation *> narrow(nv::TmemLoadOp load) {
  llvm::SetVector<nv::ExtractOp> pieces;
  if (!endsInPieces(load.getResult(), load->getBlock(), pieces) || pieces.size() < 2)
    return {};
  llvm::SetVector<Operation *> loads;
  SmallVector<ReleaseOp> releases;
  for (size_t seen = 0, known = 0; seen < pieces.size();) { // both sets grow
    nv::ExtractOp piece = pieces[seen++];
    collectLoads(piece.getSource(), loads);
    for (; known < loads.size(); ++known) {
      auto other = cast<nv::TmemLoadOp>(loads[known]);
      ReleaseOp release = releaseOf(other);
      if (!release || !endsInPieces(other.getResult(), load->getBlock(), pieces))
        return {};
      if (!llvm::is_contained(releases, release))
        releases.push_back(release);
    }
  }
  Operation *last = nullptr;
  for (nv::ExtractOp piece : pieces) {
    OpBuilder builder(piece);
    int64_t columns = cast<RankedTensorType>(piece.getType()).getDimSize(1);
    ColumnPiece part(builder, piece.getOffsets()[1], columns);
    piece.getResult().replaceAllUsesWith(part.of(piece.getSource()));
    if (!last || last->isBeforeInBlock(piece))
      last = piece;
  }
  for (ReleaseOp release : releases)
    release->moveAfter(last);
  for (Operation *op : loads)
    eraseDead(op);
  return loads;
}

struct NarrowTensorMemory : tileloom::warp::impl::WarpNarrowTensorMemoryBase<NarrowTensorMemory> {
  void runOnOperation() override {
    SmallVector<nv::TmemLoadOp> loads;
    getOperation()->walk([&](nv::TmemLoadOp load) { loads.push_back(load); });
    llvm::SetVector<Operation *> gone;
    for (nv::TmemLoadOp load : loads)
      if (!gone.contains(load))
        gone.insert_range(narrow(load));
  }
};

} // namespace
