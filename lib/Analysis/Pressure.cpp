//===- Pressure.cpp - Registers that a program needs --------------------------------------===//

#include "tileloom/Analysis/Pressure.h"

#include "tileloom/Analysis/TileLayouts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tileloom;

namespace {

/// What a thread needs beside tiles: intermediate results of a few elements, addresses. Row kernels
/// of 4 to 64 elements a thread assemble without spills with this many, and not with 8.
constexpr int64_t passing = 12;
/// The part of it that remains when scalars of the program are counted.
constexpr int64_t besidesScalars = 8;

class Pressure {
public:
  int64_t tiles = 0, scalars = 0; ///< at the fullest point

  void visit(Block &block, int64_t outerTiles, int64_t outerScalars) {
    int64_t number = 0;
    llvm::DenseMap<Operation *, int64_t> numbers;
    for (Operation &op : block)
      numbers[&op] = ++number;
    SmallVector<Interval> values;
    auto add = [&](Value value, int64_t begin) {
      int64_t end = begin;
      for (Operation *user : value.getUsers())
        end = std::max(end, numbers.lookup(block.findAncestorOpInBlock(*user)));
      values.push_back({value, begin, end});
    };
    for (Value argument : block.getArguments())
      add(argument, 0);
    for (Operation &op : block)
      for (Value result : op.getResults())
        add(result, numbers[&op]);
    for (Operation &op : block) {
      if (isa<arith::ArithDialect>(op.getDialect()) || isLeaf(&op) ||
          OpTrait::hasElementwiseMappableTraits(&op))
        continue;
      // An operand that ends here is read element by element; a loop reads it in every turn.
      int64_t at = numbers[&op], tilesHere = outerTiles, scalarsHere = outerScalars;
      bool loop = op.getNumRegions() != 0;
      for (const Interval &each : values)
        if (each.begin <= at && (each.end > at || each.begin == at || (loop && each.end == at)))
          (isa<RankedTensorType>(each.value.getType()) ? tilesHere : scalarsHere) +=
              sizeOf(each.value);
      tilesHere += extraOf(&op);
      if (tilesHere + scalarsHere > tiles + scalars)
        tiles = tilesHere, scalars = scalarsHere;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner, tilesHere, scalarsHere);
    }
  }

private:
  struct Interval {
    Value value;
    int64_t begin, end;
  };
  llvm::DenseMap<Value, bool> remade;

  static bool isLeaf(Operation *op) {
    return isa<nv::IndexOp, nv::SplatOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
  }

  /// One register or none: a splat, a constant, or integer code on indices.
  bool isRemade(Value value) {
    if (auto known = remade.find(value); known != remade.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bool is = op && (isLeaf(op) ||
                     (isPure(op) && (!type || type.getElementType().isInteger()) &&
                      (OpTrait::hasElementwiseMappableTraits(op) || isa<nv::BroadcastOp>(op)) &&
                      llvm::all_of(op->getOperands(), [&](Value operand) {
                        return !isa<RankedTensorType>(operand.getType()) || isRemade(operand);
                      })));
    return remade[value] = is;
  }

  /// What an operation needs while it runs. Each thread reads the partial results of all warps of a
  /// reduction. The registers of a vector access are aligned, which loses some; a quarter is by
  /// experiment.
  int64_t extraOf(Operation *op) {
    if (auto reduce = dyn_cast<nv::ReduceOp>(op))
      return reduce.getScratch() ? reduce->getParentOfType<warp::RoleOp>().getWarps() : 0;
    return isa<nv::GlobalLoadOp>(op) ? sizeOf(op->getResult(0)) / 4 : 0;
  }

  int64_t sizeOf(Value value) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    Operation *op = value.getDefiningOp();
    if (tile ? isRemade(value) : op && op->hasTrait<OpTrait::ConstantLike>())
      return 0;
    if (!tile && !value.getType().isIntOrIndexOrFloat())
      return 0;
    if (!tile)
      return value.getType().isIndex() || value.getType().getIntOrFloatBitWidth() > 32 ? 2 : 1;
    auto layout = registerLayout(tile);
    if (!layout) {
      llvm::consumeError(layout.takeError());
      return 0;
    }
    // Elements that are loaded one by one have a register each.
    int64_t bits = tile.getElementTypeBitWidth(), together = 32;
    if (auto run = op ? op->getAttrOfType<DenseI64ArrayAttr>(nv::runAttrName) : nullptr)
      together = run[1];
    int64_t packed = std::max<int64_t>(1, std::min(together, 32 / bits));
    return llvm::divideCeil(layout->registersPerThread(), packed) * llvm::divideCeil(bits, 32);
  }
};

bool isKnown(Operation *op) {
  if (!isa<nv::NVDialect>(op->getDialect()))
    return !isa<warp::WarpDialect>(op->getDialect()) || isa<warp::RoleOp>(op);
  // A view is of scratch memory here: what reads buffers is not in the list.
  return isa<nv::ViewOp, nv::IndexOp, nv::SplatOp, nv::BroadcastOp, nv::ReduceOp, nv::ScanOp,
             nv::ConvertLayoutOp, nv::TransOp, nv::ReshapeOp, nv::TakeOp, nv::HistogramOp,
             nv::GlobalLoadOp, nv::GlobalStoreOp,
             nv::GlobalReduceOp, nv::AtomicAddOp, nv::ProgramIdOp, nv::NumProgramsOp>(op);
}

} // namespace

std::optional<int64_t> tileloom::registerPressure(warp::RoleOp role) {
  WalkResult result = role.walk(
      [](Operation *op) { return isKnown(op) ? WalkResult::advance() : WalkResult::interrupt(); });
  if (result.wasInterrupted())
    return std::nullopt;
  Pressure pressure;
  for (Block &block : role.getBody())
    pressure.visit(block, 0, 0);
  return pressure.tiles + std::max<int64_t>(passing, besidesScalars + pressure.scalars);
}
