//===- NarrowTensorMemory.cpp - Read tensor memory in the pieces that are used ------------===//
//
// In: tiles read whole from tensor memory whose uses, through element-wise code, are pieces of
// columns (stores). Out: every piece reads its own columns just before it is used, and the slot is
// released after the last one. A thread holds a whole row: 256 columns would be all its registers.
// So would be a row of shared memory that all rows are combined with (a bias, scales of the columns):
// it is read in the same pieces.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/ColumnPieces.h"
#include "tileloom/Analysis/Elementwise.h"

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
    auto spread = dyn_cast<nv::BroadcastOp>(user);
    if (!(isElementwise(user) || (spread && spread.getDim() == 0)) || !endsInPieces(user->getResult(0), block, pieces))
      return false;
  }
  return true;
}

/// Erases `op` and the element-wise code that only its value went into; all of it is in one block.
void eraseDead(Operation *op) {
  llvm::SetVector<Operation *> all;
  all.insert(op);
  for (size_t seen = 0; seen < all.size(); ++seen)
    for (Operation *user : all[seen]->getUsers())
      if (!isa<ReleaseOp>(user))
        all.insert(user);
  SmallVector<Operation *> lastFirst = all.takeVector();
  llvm::sort(lastFirst, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *dead : lastFirst)
    if (dead->use_empty())
      dead->erase();
}

/// All that is read from tensor memory for `value`, through element-wise code, and the rows read from
/// shared memory.
void collectLoads(Value value, llvm::SetVector<Operation *> &loads, llvm::SetVector<nv::LocalLoadOp> &rows) {
  Operation *def = value.getDefiningOp();
  auto spread = dyn_cast_or_null<nv::BroadcastOp>(def);
  if (isa_and_nonnull<nv::TmemLoadOp>(def))
    loads.insert(def);
  else if (auto row = dyn_cast_or_null<nv::LocalLoadOp>(def); row && row.getType().getRank() == 1)
    rows.insert(row);
  else if (isElementwise(def) || (spread && spread.getDim() == 0))
    for (Value operand : def->getOperands())
      collectLoads(operand, loads, rows);
}

/// The release of the slot that `load` reads through `view`, in the same block.
ReleaseOp releaseBeside(Operation *load, Value view) {
  ReleaseOp release = releaseOf(tokenOf(view));
  return release && release->getBlock() == load->getBlock() ? release : ReleaseOp();
}

/// Whether only `pieces` use `row`, so that it can be read in them.
bool endsInThese(nv::LocalLoadOp row, const llvm::SetVector<nv::ExtractOp> &pieces) {
  llvm::SetVector<nv::ExtractOp> own;
  return releaseBeside(row, row.getView()) && endsInPieces(row.getResult(), row->getBlock(), own) &&
         llvm::all_of(own, [&](nv::ExtractOp piece) { return pieces.contains(piece); });
}

/// Narrows the tile and the others that its pieces are computed from; gives those that are gone.
llvm::SetVector<Operation *> narrow(nv::TmemLoadOp load) {
  llvm::SetVector<nv::ExtractOp> pieces;
  if (!endsInPieces(load.getResult(), load->getBlock(), pieces) || pieces.size() < 2)
    return {};
  llvm::SetVector<Operation *> loads;
  llvm::SetVector<nv::LocalLoadOp> rows;
  SmallVector<ReleaseOp> releases;
  for (size_t seen = 0, known = 0; seen < pieces.size();) { // both sets grow
    nv::ExtractOp piece = pieces[seen++];
    collectLoads(piece.getSource(), loads, rows);
    for (; known < loads.size(); ++known) {
      auto other = cast<nv::TmemLoadOp>(loads[known]);
      ReleaseOp release = releaseBeside(other, other.getView());
      if (!release || !endsInPieces(other.getResult(), load->getBlock(), pieces))
        return {};
      if (!llvm::is_contained(releases, release))
        releases.push_back(release);
    }
  }
  rows.remove_if([&](nv::LocalLoadOp row) { return !endsInThese(row, pieces); });
  for (nv::LocalLoadOp row : rows)
    if (ReleaseOp release = releaseBeside(row, row.getView()); !llvm::is_contained(releases, release))
      releases.push_back(release);
  Operation *last = nullptr;
  for (nv::ExtractOp piece : pieces) {
    OpBuilder builder(piece);
    int64_t columns = cast<RankedTensorType>(piece.getType()).getDimSize(1);
    ColumnPiece part(builder, piece.getOffsets()[1], columns);
    for (nv::LocalLoadOp row : rows)
      part.narrowRow(row);
    piece.getResult().replaceAllUsesWith(part.of(piece.getSource()));
    if (!last || last->isBeforeInBlock(piece))
      last = piece;
  }
  for (ReleaseOp release : releases)
    release->moveAfter(last);
  for (Operation *op : loads)
    eraseDead(op);
  for (nv::LocalLoadOp row : rows)
    eraseDead(row);
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
