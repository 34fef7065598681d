//===- JoinProducts.cpp - Products that share an operand as a wider one -------------------===//
//
// In: loops that carry two sums from zero, of products with the same operand A and with operands B that
// are loaded tiles of one shape (SwiGLU's gate and up). Out: one sum as wide as both, of one product whose
// operand B is the two tiles stacked in shared memory; after the loop each sum is its columns, which is a
// choice of registers.
//
// Two products read A twice: at 128 columns each, that and the copies ask more of shared memory than it
// gives (H200: 0.82 of the speed of one product of 256 columns).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "passes/Tile/ReplacedSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILEJOINPRODUCTS
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

/// The tensor core's widest product, on both targets.
constexpr int64_t mostColumns = 256;

/// A sum that a loop carries.
struct Sum {
  unsigned index; ///< of the iteration argument
  DotOp dot;
  LoadOp load; ///< operand B, transposed
};

/// Iteration argument `index` as a sum that can be joined with another one.
std::optional<Sum> sumOf(scf::ForOp loop, unsigned index) {
  DotOp dot = replaceableProduct(loop, index);
  if (!dot)
    return std::nullopt;
  auto trans = dot.getB().getDefiningOp<TransOp>();
  auto load = trans && trans->hasOneUse() ? trans.getSource().getDefiningOp<LoadOp>() : LoadOp();
  if (!load || !load->hasOneUse() || load->getBlock() != loop.getBody())
    return std::nullopt;
  return Sum{index, dot, load};
}

bool canJoin(const Sum &first, const Sum &second) {
  DotOp one = first.dot, other = second.dot;
  return one.getA() == other.getA() && one.getType() == other.getType() && one.getB().getType() == other.getB().getType() &&
         2 * cast<RankedTensorType>(one.getType()).getDimSize(1) <= mostColumns;
}

RankedTensorType twice(Type type, unsigned dim) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[dim] *= 2;
  return RankedTensorType::get(shape, tensor.getElementType());
}

void join(scf::ForOp loop, Sum first, Sum second) {
  IRRewriter rewriter(loop.getContext());
  Location loc = second.dot.getLoc();
  auto wide = twice(first.dot.getType(), 1);
  rewriter.setInsertionPoint(loop);
  Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(wide));
  auto makeYield = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
    Value both = nv::ConcatOp::create(builder, loc, twice(first.load.getType(), 0), ValueRange{first.load, second.load}, 0);
    auto trans = TransOp::create(builder, loc, twice(first.dot.getB().getType(), 1), both);
    return {DotOp::create(builder, loc, wide, first.dot.getA(), trans, carried.front(), Value())};
  };
  auto made = loop.replaceWithAdditionalYields(rewriter, ValueRange{zero}, false, makeYield);
  auto joined = cast<scf::ForOp>(made->getOperation());
  rewriter.setInsertionPointAfter(joined);
  Value sums = joined.getResults().back();
  Sum both[] = {first, second};
  for (auto [place, sum] : llvm::enumerate(both)) {
    auto own = cast<RankedTensorType>(sum.dot.getType());
    auto offsets = rewriter.getDenseI64ArrayAttr({0, static_cast<int64_t>(place) * own.getDimSize(1)});
    Value part = nv::ExtractOp::create(rewriter, loc, own, sums, offsets);
    auto trans = sum.dot.getB().getDefiningOp<TransOp>();
    replaceSum(rewriter, joined, sum.index, sum.dot, part);
    rewriter.eraseOp(trans);
  }
}

/// Joins two sums of `loop`, if there are such.
bool joinOne(scf::ForOp loop) {
  SmallVector<Sum> sums;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
    if (std::optional<Sum> sum = sumOf(loop, i))
      sums.push_back(*sum);
  for (size_t i = 0; i < sums.size(); ++i)
    for (size_t j = i + 1; j < sums.size(); ++j)
      if (canJoin(sums[i], sums[j])) {
        join(loop, sums[i], sums[j]);
        return true;
      }
  return false;
}

struct JoinProducts : tileloom::tile::impl::TileJoinProductsBase<JoinProducts> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    bool joined = false;
    for (scf::ForOp loop : loops)
      joined |= joinOne(loop);
    if (!joined)
      return;
    if (failed(removeReplacedSums(getOperation())))
      signalPassFailure();
  }
};

} // namespace
