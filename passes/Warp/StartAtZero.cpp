//===- StartAtZero.cpp - Sums that start as zeros times a factor --------------------------===//
//
// In: what comes before a loop that warp-pipeline-role has made (its first iteration), with zeros
// times a factor for each row, under the vote of warp-guard-scales or not, that are the first sum of
// products with an operand in registers. Out: the sum starts as zeros.
//
// Zero times a factor is zero, or NaN where the factor is not finite, and no range of factors is known
// here. So the product of zero and the factor is added to the operand's first columns: a NaN there is
// one in every column of that row's products, whatever the other operand has. Everything else keeps its
// bits; the few additions are one register of zeros for a row instead of a value that LLVM copies to all
// registers of the sum, for a loop that runs and for one that does not (128 moves a tile and thread).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSTARTATZERO
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Bits of a row of a register operand that an instruction reads: so many columns take the NaN, and the operand stays one.
static constexpr int64_t rowBits = 256;

namespace {

bool isZero(Value value) { return matchPattern(value, m_PosZeroFloat()); }

/// The factor of each row that zeros are multiplied with; null for anything else. `zeros`: these.
Value factorOfZeros(Value value, Value &zeros) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  for (unsigned i : {0, 1}) {
    auto spread = product->getOperand(i).getDefiningOp<nv::BroadcastOp>();
    if (spread && spread.getDim() == 1 && isZero(product->getOperand(1 - i))) {
      zeros = product->getOperand(1 - i);
      return spread.getSource();
    }
  }
  return {};
}

/// The same, looking through a vote that leaves zeros alone.
Value factorOfStart(Value start, Value &zeros) {
  auto vote = start.getDefiningOp<scf::IfOp>();
  if (!vote)
    return factorOfZeros(start, zeros);
  if (vote.getNumResults() != 1 || vote.getElseRegion().empty() || !isZero(vote.elseYield().getOperand(0)))
    return {};
  return factorOfZeros(vote.thenYield().getOperand(0), zeros);
}

/// Whether `sum` is only ever the sum of products of `operand`, through loops that carry both.
bool arePaired(Value sum, Value operand) {
  for (OpOperand &use : sum.getUses()) {
    if (auto product = dyn_cast<nv::WgmmaOp>(use.getOwner())) {
      if (product.getA() != operand || product.getC() != sum || product.getUseC() || product.getB() == sum)
        return false;
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(use.getOwner());
    if (!loop || use.getOperandNumber() < loop.getNumControlOperands())
      return false;
    unsigned place = use.getOperandNumber() - loop.getNumControlOperands();
    auto other = llvm::find(loop.getInitArgs(), operand);
    if (other == loop.getInitArgs().end())
      return false;
    unsigned partner = other - loop.getInitArgs().begin();
    if (!arePaired(loop.getRegionIterArg(place), loop.getRegionIterArg(partner)) ||
        !arePaired(loop.getResult(place), loop.getResult(partner)))
      return false;
  }
  return true;
}

struct StartAtZero : tileloom::warp::impl::WarpStartAtZeroBase<StartAtZero> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->hasAttr(overlapAttrName) && loop->getParentOfType<RoleOp>())
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      for (unsigned i = 0; i < loop.getInitArgs().size(); ++i)
        rewrite(loop, i);
    // Also those of products that were zero by their flags: a vote has to be taken by all lanes, so no other pass removes it.
    getOperation()->walk([](nv::WarpAnyOp vote) {
      if (vote->use_empty())
        vote.erase();
    });
  }

  /// The carried operand of the products whose sum is the argument `place`.
  static std::optional<unsigned> operandOf(scf::ForOp loop, unsigned place) {
    for (Operation *user : loop.getRegionIterArg(place).getUsers())
      if (auto product = dyn_cast<nv::WgmmaOp>(user))
        if (auto argument = dyn_cast<BlockArgument>(product.getA()); argument && argument.getOwner() == loop.getBody() && argument.getArgNumber() > 0)
          return argument.getArgNumber() - 1;
    return std::nullopt;
  }

  void rewrite(scf::ForOp loop, unsigned place) {
    Value start = loop.getInitArgs()[place], zeros;
    Value factor = factorOfStart(start, zeros);
    std::optional<unsigned> partner = factor ? operandOf(loop, place) : std::nullopt;
    if (!partner || !start.hasOneUse() || !arePaired(start, loop.getInitArgs()[*partner]))
      return;
    auto narrowed = loop.getInitArgs()[*partner].getDefiningOp<arith::TruncFOp>();
    auto type = narrowed ? dyn_cast<RankedTensorType>(narrowed.getIn().getType()) : RankedTensorType();
    if (!type || type.getRank() != 2 || type.getElementType() != getElementTypeOrSelf(factor))
      return;
    int64_t count = type.getDimSize(0), columns = type.getDimSize(1);
    int64_t takenColumns = rowBits / getElementTypeOrSelf(narrowed.getType()).getIntOrFloatBitWidth();
    if (columns % takenColumns)
      return;
    OpBuilder builder(loop);
    Location loc = narrowed.getLoc();
    auto rows = cast<RankedTensorType>(factor.getType());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(rows));
    Value nothing = arith::MulFOp::create(builder, loc, factor, zero);
    auto first = RankedTensorType::get({count, takenColumns}, type.getElementType());
    Value taken = columns == takenColumns ? narrowed.getIn()
                                          : nv::ExtractOp::create(builder, loc, first, narrowed.getIn(), ArrayRef<int64_t>{0, 0}).getResult();
    taken = arith::AddFOp::create(builder, loc, taken, nv::BroadcastOp::create(builder, loc, first, nothing, 1));
    if (columns != takenColumns) {
      auto rest = RankedTensorType::get({count, columns - takenColumns}, type.getElementType());
      Value other = nv::ExtractOp::create(builder, loc, rest, narrowed.getIn(), ArrayRef<int64_t>{0, takenColumns});
      taken = nv::ConcatOp::create(builder, loc, type, ValueRange{taken, other}, 1);
    }
    loop.getInitArgsMutable()[*partner].set(arith::TruncFOp::create(builder, loc, narrowed.getType(), taken));
    loop.getInitArgsMutable()[place].set(zeros);
    start.getDefiningOp()->erase();
    if (narrowed->use_empty())
      narrowed.erase();
  }
};

} // namespace
