//===- Exchange.cpp - Values that warps of a role hand to each other ----------------------===//

#include "tileloom/Analysis/Exchange.h"

#include "tileloom/Analysis/TileLayouts.h"
#include "tileloom/Layout/AccessPlan.h"

using namespace mlir;
using namespace tileloom;
using layout::RegisterLayout;
using layout::SharedLayout;
using llvm::Expected;

unsigned tileloom::scratchBits(Type element) {
  return std::max(8u, tile::elementBits(element));
}

Expected<layout::ReducePlan> tileloom::reducePlanOf(RankedTensorType source, unsigned dim) {
  Expected<RegisterLayout> layout = registerLayout(source);
  if (!layout)
    return layout.takeError();
  if (source.getRank() > 1)
    return layout::reducePlan(*layout, dim);
  Expected<RegisterLayout> row = layout::expandDims(*layout, 0);
  if (!row)
    return row.takeError();
  return layout::reducePlan(*row, 1);
}

static Expected<Conversion> conversion(Expected<RegisterLayout> from, RankedTensorType result) {
  Expected<RegisterLayout> to = registerLayout(result);
  if (!from || !to) {
    if (from)
      return to.takeError();
    if (!to)
      llvm::consumeError(to.takeError());
    return from.takeError();
  }
  Expected<layout::ConversionPlan> plan =
      layout::convertPlan(*from, *to, tile::elementBits(result.getElementType()));
  if (!plan)
    return plan.takeError();
  return Conversion{std::move(*from), std::move(*to), std::move(*plan)};
}

Expected<Conversion> tileloom::conversionOf(nv::ConvertLayoutOp op) {
  return conversion(registerLayout(op.getSource().getType()), op.getResult().getType());
}

Expected<Conversion> tileloom::conversionOf(nv::TransOp op) {
  Expected<RegisterLayout> source = registerLayout(op.getSource().getType());
  if (!source)
    return source.takeError();
  SmallVector<unsigned> order(op.getOrder().begin(), op.getOrder().end());
  return conversion(layout::permuteDims(*source, order), op.getResult().getType());
}

/// Whether the layout can be written from and read to.
static llvm::Error check(const SharedLayout &shared, const RegisterLayout &from,
                         const RegisterLayout &to) {
  Expected<layout::SharedAccessPlan> store = layout::sharedStorePlan(from, shared);
  if (!store)
    return store.takeError();
  Expected<layout::SharedAccessPlan> load = layout::sharedLoadPlan(to, shared);
  return load ? llvm::Error::success() : load.takeError();
}

Expected<SharedLayout> tileloom::exchangeLayout(const RegisterLayout &from,
                                                const RegisterLayout &to, unsigned bits) {
  if (from.rank() >= 2) {
    layout::Swizzle swizzle = SharedLayout::widestSwizzle(from.shape(), bits);
    Expected<SharedLayout> shared = SharedLayout::create(from.shape(), bits, swizzle);
    llvm::Error error = shared ? check(*shared, from, to) : shared.takeError();
    if (!error)
      return *shared;
    llvm::consumeError(std::move(error));
  }
  Expected<SharedLayout> plain = rowMajorLayout(from.shape(), bits);
  if (!plain)
    return plain.takeError();
  if (llvm::Error error = check(*plain, from, to))
    return std::move(error);
  return *plain;
}

Expected<SharedLayout> tileloom::rowMajorLayout(ArrayRef<int64_t> shape, unsigned bits) {
  return SharedLayout::create(shape, bits, layout::Swizzle::None);
}

std::optional<SmallVector<unsigned, 16>> tileloom::reshapeInThread(nv::ReshapeOp op) {
  Expected<RegisterLayout> from = registerLayout(op.getSource().getType()),
                           to = registerLayout(op.getResult().getType());
  if (!from || !to) {
    if (!from)
      llvm::consumeError(from.takeError());
    if (!to)
      llvm::consumeError(to.takeError());
    return std::nullopt;
  }
  if (from->warps() != to->warps())
    return std::nullopt;
  llvm::DenseMap<int64_t, unsigned> holders;
  for (unsigned reg = 0; reg < from->registersPerThread(); ++reg)
    holders.try_emplace(from->flatIndexOf(reg, 0, 0), reg);
  SmallVector<unsigned, 16> registers;
  for (unsigned reg = 0; reg < to->registersPerThread(); ++reg) {
    auto found = holders.find(to->flatIndexOf(reg, 0, 0));
    if (found == holders.end())
      return std::nullopt;
    registers.push_back(found->second);
    for (unsigned warp = 0; warp < to->warps(); ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        if (to->flatIndexOf(reg, lane, warp) != from->flatIndexOf(found->second, lane, warp))
          return std::nullopt;
  }
  return registers;
}

static Expected<int64_t> exchangeBytes(Expected<Conversion> conversion, Type element) {
  if (!conversion)
    return conversion.takeError();
  if (conversion->plan.kind != layout::ConversionPlan::SharedMemory)
    return 0;
  Expected<SharedLayout> shared =
      exchangeLayout(conversion->from, conversion->to, scratchBits(element));
  if (!shared)
    return shared.takeError();
  return shared->sizeBytes();
}

Expected<int64_t> tileloom::scratchBytes(Operation *op) {
  if (auto reduce = dyn_cast<nv::ReduceOp>(op)) {
    auto source = reduce.getSource().getType();
    Expected<layout::ReducePlan> plan = reducePlanOf(source, reduce.getDim());
    if (!plan)
      return plan.takeError();
    int64_t parts = 0;
    for (const layout::ReducePlan::WarpSet &set : plan->warpSets)
      parts = std::max<int64_t>(parts, set.distinct);
    return parts * plan->result.numElements() * scratchBits(source.getElementType()) / 8;
  }
  if (auto convert = dyn_cast<nv::ConvertLayoutOp>(op))
    return exchangeBytes(conversionOf(convert), convert.getType().getElementType());
  if (auto trans = dyn_cast<nv::TransOp>(op))
    return exchangeBytes(conversionOf(trans), trans.getType().getElementType());
  if (auto reshape = dyn_cast<nv::ReshapeOp>(op)) {
    if (reshapeInThread(reshape))
      return 0;
    return reshape.getType().getNumElements() *
           scratchBits(reshape.getType().getElementType()) / 8;
  }
  return 0;
}

bool tileloom::takesScratch(Operation *op) {
  return isa<nv::ReduceOp, nv::ConvertLayoutOp, nv::TransOp, nv::ReshapeOp>(op);
}

MutableOperandRange tileloom::scratchOperand(Operation *op) {
  if (auto reduce = dyn_cast<nv::ReduceOp>(op))
    return reduce.getScratchMutable();
  if (auto convert = dyn_cast<nv::ConvertLayoutOp>(op))
    return convert.getScratchMutable();
  if (auto trans = dyn_cast<nv::TransOp>(op))
    return trans.getScratchMutable();
  return cast<nv::ReshapeOp>(op).getScratchMutable();
}
