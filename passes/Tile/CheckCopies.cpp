//===- CheckCopies.cpp - Places that hardware copies can begin at -------------------------===//
//
// In: loads and stores of boxes. Out: the same; an error for a box that is known to begin where no
// copy can: within 16 bytes of a row, or, of a store, at a negative coordinate. An H200 ends such a
// copy with "an illegal instruction was encountered" (docs/simulator-agreement.md, cases column_*
// and store_*); the simulator reports the rest, whose coordinates come from memory or arguments.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/Tile/Tile.h"
#include "tileloom/Schedule/LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILECHECKCOPIES
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom::tile;
using tileloom::schedule::LinearForm;

namespace {

constexpr int64_t grainBits = 128;

/// The remainder of `value` by `divisor`, if all terms but constants are known to be multiples.
std::optional<int64_t> remainder(Value value, int64_t divisor) {
  LinearForm form = LinearForm::of(value);
  int64_t sum = form.constant;
  for (auto [term, coefficient] : form.list()) {
    if (coefficient % divisor == 0)
      continue;
    auto variable = dyn_cast<BlockArgument>(term.value);
    auto loop = variable ? dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp()) : scf::ForOp();
    if (!loop || loop.getInductionVar() != variable)
      return std::nullopt;
    auto step = remainder(loop.getStep(), divisor),
         lower = remainder(loop.getLowerBound(), divisor);
    if (!lower || !step || coefficient * *step % divisor != 0)
      return std::nullopt;
    sum += coefficient * *lower;
  }
  return (sum % divisor + divisor) % divisor;
}

LogicalResult check(Operation *op, DescType desc, ValueRange coordinates, bool store) {
  int64_t multiple = grainBits / desc.getElementType().getIntOrFloatBitWidth();
  size_t rank = desc.getShape().size();
  if (coordinates.size() > rank) // several boxes
    return success(succeeded(check(op, desc, coordinates.take_front(rank), store)) &&
                   succeeded(check(op, desc, coordinates.drop_front(rank), store)));
  unsigned last = coordinates.size() - 1;
  if (auto rest = remainder(coordinates[last], multiple); rest && *rest)
    return op->emitOpError("coordinate ")
           << last << ": found a multiple of " << multiple << " and " << *rest
           << ", needed a multiple of " << multiple << " (a copy of " << desc.getElementType()
           << " begins at 16 bytes)";
  for (auto [index, coordinate] : llvm::enumerate(coordinates)) {
    LinearForm form = LinearForm::of(coordinate);
    if (store && form.terms.empty() && form.constant < 0)
      return op->emitOpError("coordinate ")
             << index << ": found " << form.constant << ", needed 0 or more in a store";
  }
  return success();
}

struct CheckCopies : tileloom::tile::impl::TileCheckCopiesBase<CheckCopies> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      LogicalResult good = success();
      if (auto load = dyn_cast<LoadOp>(op))
        good = check(op, cast<DescType>(load.getDesc().getType()), load.getCoordinates(), false);
      else if (auto store = dyn_cast<StoreOp>(op))
        good = check(op, cast<DescType>(store.getDesc().getType()), store.getCoordinates(), true);
      if (failed(good))
        signalPassFailure();
    });
  }
};

} // namespace
