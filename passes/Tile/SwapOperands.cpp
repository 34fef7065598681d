//===- SwapOperands.cpp - Products of other rows than the tensor core's, transposed -------===//
//
// In: loops that carry the sum of a product from zero, whose rows are no multiple of the tensor core's and whose
// columns are, of operands that are loaded in the loop. Out: the transposed sum of the product of both operands
// transposed, and after the loop its transpose, which is a choice of registers.
//
// The tensor core takes multiples of 64 rows (128 where sums are in tensor memory) by 8 columns and more. A tile
// of 16 rows by 64 columns, or of 160 by 192, so needs no empty rows in shared memory, in registers, or in the
// sums that slices of a loop leave.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/Tile/Tile.h"
#include "passes/Tile/ReplacedSums.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILESWAPOPERANDS
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

RankedTensorType transposed(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get({tensor.getDimSize(1), tensor.getDimSize(0)}, tensor.getElementType());
}

Value transpose(OpBuilder &builder, Value value) {
  if (auto trans = value.getDefiningOp<TransOp>())
    return trans.getSource();
  return TransOp::create(builder, value.getLoc(), transposed(value.getType()), value);
}

bool isLoaded(Value operand, scf::ForOp loop) {
  if (auto trans = operand.getDefiningOp<TransOp>())
    operand = trans.getSource();
  auto load = operand.getDefiningOp<LoadOp>();
  return load && load->getBlock() == loop.getBody();
}

struct Limits {
  int64_t rows;                  ///< that the tensor core multiplies at a time
  int64_t mostRows, mostColumns; ///< of a tile that is transposed
};

/// The product whose sum iteration argument `index` carries, if it is to be swapped.
DotOp productOf(scf::ForOp loop, unsigned index, const Limits &limits) {
  DotOp dot = replaceableProduct(loop, index);
  if (!dot)
    return {};
  auto sum = cast<RankedTensorType>(dot.getType());
  int64_t rows = sum.getDimSize(0), columns = sum.getDimSize(1);
  bool fits = rows % limits.rows && rows <= limits.mostRows && rows % 8 == 0 && columns % limits.rows == 0 && columns <= limits.mostColumns;
  return fits && isLoaded(dot.getA(), loop) && isLoaded(dot.getB(), loop) ? dot : DotOp();
}

/// Swaps the operands of all such products of `loop`.
bool swapIn(scf::ForOp loop, const Limits &limits) {
  SmallVector<std::pair<unsigned, DotOp>> products;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
    if (DotOp dot = productOf(loop, i, limits))
      products.push_back({i, dot});
  if (products.empty())
    return false;
  IRRewriter rewriter(loop);
  SmallVector<Value> zeros;
  for (auto [index, dot] : products)
    zeros.push_back(arith::ConstantOp::create(rewriter, dot.getLoc(), rewriter.getZeroAttr(transposed(dot.getType()))));
  auto makeYields = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) {
    SmallVector<Value> sums;
    for (auto [product, sum] : llvm::zip(products, carried.take_back(products.size()))) {
      DotOp dot = product.second;
      Value a = transpose(builder, dot.getB()), b = transpose(builder, dot.getA());
      sums.push_back(DotOp::create(builder, dot.getLoc(), sum.getType(), a, b, sum, Value()));
    }
    return sums;
  };
  auto made = loop.replaceWithAdditionalYields(rewriter, zeros, false, makeYields);
  auto swapped = cast<scf::ForOp>(made->getOperation());
  rewriter.setInsertionPointAfter(swapped);
  for (auto [product, sum] : llvm::zip(products, swapped.getResults().take_back(products.size()))) {
    auto [index, dot] = product;
    replaceSum(rewriter, swapped, index, dot, TransOp::create(rewriter, dot.getLoc(), dot.getType(), sum));
  }
  return true;
}

struct SwapOperands : tileloom::tile::impl::TileSwapOperandsBase<SwapOperands> {
  using TileSwapOperandsBase::TileSwapOperandsBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    // Rows of one product: sums in tensor memory are one for each of its lanes.
    bool tensorMemory = schedule::hasTensorMemory(chip);
    Limits limits = tensorMemory ? Limits{128, 127, 128} : Limits{64, 256, std::numeric_limits<int64_t>::max()};
    bool any = false;
    for (scf::ForOp loop : loops)
      any |= swapIn(loop, limits);
    if (!any)
      return;
    if (failed(removeReplacedSums(getOperation())))
      signalPassFailure();
  }
};

} // namespace
