//===- Exchange.cpp - Values that warps of a role hand to each other ----------------------===//

#include "tileloom/Analysis/Exchange.h"

#include "tileloom/Analysis/Roles.h"
#include "tileloom/Analysis/TileLayouts.h"
#include "tileloom/Layout/AccessPlan.h"

#include "mlir/IR/TypeUtilities.h"

#include <map>

using namespace mlir;
using namespace tileloom;
using layout::RegisterLayout;
using layout::SharedLayout;
using llvm::Expected;

unsigned tileloom::scratchBits(Type element) { return std::max(8u, tile::elementBits(element)); }

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

/// How many places of an index (lane or warp) lie along `dim`, as neighbours of `unit` elements,
/// and how far apart they are.
static std::optional<std::pair<int64_t, int64_t>>
placesAlong(llvm::function_ref<int64_t(unsigned)> indexAt, unsigned bits, int64_t unit) {
  int64_t count = 1, stride = 1;
  for (unsigned bit = 0; bit < bits; ++bit) {
    int64_t step = indexAt(1u << bit);
    if (!step)
      continue;
    if (count == 1)
      stride = int64_t(1) << bit;
    if (step != unit * count || stride * count != int64_t(1) << bit)
      return std::nullopt;
    count *= 2;
  }
  return std::make_pair(count, stride);
}

Expected<ScanPlan> tileloom::scanPlanOf(const RegisterLayout &tile, unsigned dim) {
  RegisterLayout layout = tile;
  if (tile.rank() == 1) {
    Expected<RegisterLayout> row = layout::expandDims(tile, 0);
    if (!row)
      return row.takeError();
    layout = *row;
    dim = 1;
  }
  Expected<layout::SubLayout> lines = layout::slice(layout, dim);
  if (!lines)
    return lines.takeError();
  auto unfit = [] {
    return llvm::createStringError("layout: expected one run along the dimension in each thread, "
                                   "then lanes, then warps");
  };
  ScanPlan plan;
  plan.lines = lines->layout;
  for (unsigned first : lines->registers) {
    layout::Index line = layout.indexOf(first, 0, 0);
    std::map<int64_t, unsigned> run;
    for (unsigned reg = 0; reg < layout.registersPerThread(); ++reg) {
      layout::Index index = layout.indexOf(reg, 0, 0);
      int64_t at = index[dim];
      index[dim] = line[dim];
      if (index == line)
        run.try_emplace(at, reg);
    }
    plan.runs.emplace_back();
    for (auto [at, reg] : run) {
      if (at != static_cast<int64_t>(plan.runs.back().size()))
        return unfit();
      plan.runs.back().push_back(reg);
    }
  }
  int64_t unit = plan.runs.front().size();
  auto lanes = placesAlong([&](unsigned lane) { return layout.indexOf(0, lane, 0)[dim]; },
                           RegisterLayout::laneBits, unit);
  if (!lanes || !llvm::isPowerOf2_64(layout.warps()))
    return unfit();
  auto warps = placesAlong([&](unsigned warp) { return layout.indexOf(0, 0, warp)[dim]; },
                           llvm::Log2_64(layout.warps()), unit * lanes->first);
  if (!warps || unit * lanes->first * warps->first != layout.shape()[dim])
    return unfit();
  std::tie(plan.lanes, plan.laneStride) = *lanes;
  std::tie(plan.warps, plan.warpStride) = *warps;
  return plan;
}

nv::BlockedAttr tileloom::scanLayout(RankedTensorType type, unsigned dim, int64_t warps) {
  size_t rank = type.getRank();
  SmallVector<int64_t> size(rank, 1), threads(rank, 1), perRole(rank, 1), order{dim};
  for (size_t other = rank; other-- > 0;)
    if (other != dim)
      order.push_back(other);
  int64_t lanesLeft = 32, warpsLeft = warps, left = type.getDimSize(dim);
  // Lanes and warps take the elements behind what a thread has in a run, whose length is a power of two then. A line of another length is
  // one thread's: its registers go on in order.
  bool whole = !llvm::isPowerOf2_64(left);
  auto split = [](int64_t &places, int64_t &from, int64_t &extent) {
    while (from > 1 && extent % 2 == 0)
      places *= 2, from /= 2, extent /= 2;
  };
  SmallVector<int64_t> rest(type.getShape());
  if (!whole)
    split(threads[dim], lanesLeft, left);
  for (int64_t other : llvm::drop_begin(order)) {
    split(threads[other], lanesLeft, rest[other]);
    split(perRole[other], warpsLeft, rest[other]);
  }
  if (!whole)
    split(perRole[dim], warpsLeft, left);
  size[dim] = left & -left; // all that is left in one run
  threads[order.back()] *= lanesLeft;
  perRole[order.back()] *= warpsLeft;
  return nv::BlockedAttr::get(type.getContext(), size, threads, perRole, order);
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

/// The values before go from the threads that performed the operation to all that hold the element.
static Expected<int64_t> atomicScratch(nv::GlobalAtomicOp op) {
  if (op->use_empty() || isSingleThreadRole(op->getParentOfType<warp::RoleOp>()))
    return 0;
  int64_t bytes = scratchBits(getElementTypeOrSelf(op.getType())) / 8;
  auto tensor = dyn_cast<RankedTensorType>(op.getType());
  if (!tensor)
    return bytes;
  Expected<RegisterLayout> layout = registerLayout(tensor);
  if (!layout)
    return layout.takeError();
  bool copies = layout->replicatedLanes() || layout->replicatedWarps();
  return copies ? tensor.getNumElements() * bytes : 0;
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
    // 16-bit floats are combined in fp32.
    unsigned bits = scratchBits(source.getElementType());
    if (bits == 16 && isa<FloatType>(source.getElementType()))
      bits = 32;
    return parts * plan->result.numElements() * bits / 8;
  }
  if (auto scan = dyn_cast<nv::ScanOp>(op)) {
    auto source = scan.getSource().getType();
    Expected<RegisterLayout> layout = registerLayout(source);
    if (!layout)
      return layout.takeError();
    Expected<ScanPlan> plan = scanPlanOf(*layout, scan.getDim());
    if (!plan)
      return plan.takeError();
    return plan->warps == 1
               ? 0
               : plan->warps * plan->lines.numElements() * scratchBits(source.getElementType()) / 8;
  }
  if (auto convert = dyn_cast<nv::ConvertLayoutOp>(op))
    return exchangeBytes(conversionOf(convert), convert.getType().getElementType());
  if (auto trans = dyn_cast<nv::TransOp>(op))
    return exchangeBytes(conversionOf(trans), trans.getType().getElementType());
  if (auto reshape = dyn_cast<nv::ReshapeOp>(op)) {
    if (reshapeInThread(reshape))
      return 0;
    return reshape.getType().getNumElements() * scratchBits(reshape.getType().getElementType()) / 8;
  }
  if (auto take = dyn_cast<nv::TakeOp>(op)) {
    auto source = take.getSource().getType();
    return source.getNumElements() * scratchBits(source.getElementType()) / 8;
  }
  if (auto histogram = dyn_cast<nv::HistogramOp>(op))
    return histogram.getType().getNumElements() * 4;
  if (auto atomic = dyn_cast<nv::GlobalAtomicOp>(op))
    return atomicScratch(atomic);
  return 0;
}

bool tileloom::takesScratch(Operation *op) {
  return isa<nv::ReduceOp, nv::ScanOp, nv::ConvertLayoutOp, nv::TransOp, nv::ReshapeOp,
             nv::TakeOp, nv::HistogramOp, nv::GlobalAtomicOp>(op);
}

bool tileloom::exchangesTile(Operation *op) {
  return takesScratch(op) && !isa<nv::ReduceOp, nv::ScanOp>(op);
}

MutableOperandRange tileloom::scratchOperand(Operation *op) {
  if (auto reduce = dyn_cast<nv::ReduceOp>(op))
    return reduce.getScratchMutable();
  if (auto scan = dyn_cast<nv::ScanOp>(op))
    return scan.getScratchMutable();
  if (auto convert = dyn_cast<nv::ConvertLayoutOp>(op))
    return convert.getScratchMutable();
  if (auto trans = dyn_cast<nv::TransOp>(op))
    return trans.getScratchMutable();
  if (auto take = dyn_cast<nv::TakeOp>(op))
    return take.getScratchMutable();
  if (auto histogram = dyn_cast<nv::HistogramOp>(op))
    return histogram.getScratchMutable();
  if (auto atomic = dyn_cast<nv::GlobalAtomicOp>(op))
    return atomic.getScratchMutable();
  return cast<nv::ReshapeOp>(op).getScratchMutable();
}
