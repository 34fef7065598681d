//===- PlannedExchanges.cpp - Shared memory that exchanges will take ----------------------===//

#include "passes/Warp/PlannedExchanges.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/AxisInfo.h"
#include "tileloom/Schedule/TileWork.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Whether a tile of two dimensions is computed from one that is read through pointers, whose layout is its own.
static bool isGathered(Value value) {
  Operation *def = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!def || !type || type.getRank() < 2)
    return false;
  return isa<tile::GatherOp>(def) || (OpTrait::hasElementwiseMappableTraits(def) && llvm::any_of(def->getOperands(), isGathered));
}

/// Whether all that is done with a tile, element by element, is to store it through shared memory.
static bool onlyStored(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    bool together = OpTrait::hasElementwiseMappableTraits(user) || isa<nv::ExtractOp, nv::ConcatOp>(user);
    return isa<StoreOp>(user) || (together && llvm::none_of(user->getOperands(), isGathered) && onlyStored(user->getResult(0)));
  });
}

Exchanges tileloom::warp::exchangesOf(func::FuncOp function) {
  bool tensorMemory = false, places = false;
  function.walk([&](BufferOp buffer) {
    tensorMemory |= buffer.getBuffer().getType().getSpace() == Space::Tmem;
  });
  function.walk([&](Operation *op) { places |= isa<tile::ScatterOp, tile::AtomicOp>(op); });
  std::optional<AxisInfoAnalysis> facts;
  if (places && !tensorMemory)
    facts.emplace(function);
  auto rearranged = [&](Operation *op, RankedTensorType type) {
    if (isa<tile::TransOp>(op) && !tensorMemory && schedule::isTransposed(op->getResult(0)) && onlyStored(op->getResult(0)))
      return false; // the sums' places under other names
    if (isa<tile::ReshapeOp, tile::TransOp, tile::ScanOp, tile::TakeOp>(op))
      return true;
    if (tensorMemory)
      return isa<tile::ScatterOp, tile::AtomicOp>(op);
    auto scatter = dyn_cast<tile::ScatterOp>(op);
    int64_t bytes = std::max<int64_t>(8, type.getElementTypeBitWidth()) / 8;
    return scatter && (bytes == 1 || (bytes == 2 && bytes * facts->neighbours(scatter.getPointer(), scatter.getOffset(), scatter.getMask(),
                                                                              type.getRank() - 1, bytes) == 16));
  };
  Exchanges exchanges;
  function.walk([&](RoleOp role) {
    int64_t largest = 0, alongRows = 0, others = 0;
    bool transposed = false;
    role.walk([&](Operation *op) {
      transposed |= isa<tile::TransOp>(op);
      if (auto reduce = dyn_cast<nv::ReduceOp>(op))
        if (auto part = dyn_cast<RankedTensorType>(reduce.getType())) {
          int64_t &bytes = reduce.getDim() == 0 ? alongRows : others;
          bytes += llvm::alignTo(part.getNumElements() * 4 * role.getWarps(), 1024);
        }
      auto type = op->getNumOperands() ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                                       : RankedTensorType();
      if (isa<tile::HistogramOp>(op))
        type = cast<RankedTensorType>(op->getResult(0).getType());
      else if (!type || (type.getRank() < 2 && !isa<tile::TakeOp>(op)) || !rearranged(op, type))
        return;
      exchanges.ops.push_back(op);
      largest = std::max(largest, type.getNumElements() *
                                      std::max<int64_t>(8, type.getElementTypeBitWidth()) / 8);
    });
    // Rows lie across warps, which exchange parts of what is reduced along them; in a transposed tile all reductions may be.
    exchanges.bytes += (llvm::alignTo(largest, 1024) + alongRows + (transposed ? others : 0)) * role.getReplicas();
  });
  return exchanges;
}
