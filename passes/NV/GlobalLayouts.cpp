//===- GlobalLayouts.cpp - Layouts for accesses to global memory --------------------------===//
//
// The layout that an access wants depends on the order of its dimensions by contiguity and on the
// longest run of any access to tiles of that shape and order, so that these agree. Warps are laid
// along dimensions that nothing reduces as long as there are any: a reduction inside a warp needs
// no shared memory.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/GlobalLayouts.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/TileLayouts.h"
#include "tileloom/Layout/AccessPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <set>

using namespace mlir;
using namespace tileloom;
using namespace tileloom::nv;

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, tile::elementBits(element) / 8);
}

GlobalLayouts::GlobalLayouts(warp::RoleOp role) : role(role) {
  SmallVector<Operation *> ops;
  role.walk([&](Operation *op) {
    if (auto load = dyn_cast<nv::GlobalLoadOp>(op); load && isTile(load.getOffset()))
      ops.push_back(op);
    else if (auto store = dyn_cast<nv::GlobalStoreOp>(op); store && isTile(store.getOffset()))
      ops.push_back(op);
    else if (auto reduce = dyn_cast<nv::GlobalReduceOp>(op); reduce && isTile(reduce.getOffset()))
      ops.push_back(op);
    else if (isa<nv::CpAsyncOp>(op))
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  AxisInfoAnalysis facts(role->getParentOfType<func::FuncOp>());
  for (Operation *op : ops) {
    if (auto load = dyn_cast<nv::GlobalLoadOp>(op))
      add(op, getElementTypeOrSelf(load.getResult().getType()), load.getPointer(), load.getOffset(),
          load.getMask(), facts);
    else if (auto store = dyn_cast<nv::GlobalStoreOp>(op))
      add(op, getElementTypeOrSelf(store.getValue().getType()), store.getPointer(),
          store.getOffset(), store.getMask(), facts);
    else if (auto reduce = dyn_cast<nv::GlobalReduceOp>(op))
      add(op, getElementTypeOrSelf(reduce.getValue().getType()), reduce.getPointer(),
          reduce.getOffset(), reduce.getMask(), facts);
    else if (auto copy = dyn_cast<nv::CpAsyncOp>(op))
      add(op, copy.getView().getType().getElementType(), copy.getPointer(), copy.getOffset(),
          copy.getMask(), facts);
  }
  llvm::sort(accesses, [](const Access &a, const Access &b) {
    return std::make_tuple(-a.tile.getNumElements(), a.number) <
           std::make_tuple(-b.tile.getNumElements(), b.number);
  });
}

void GlobalLayouts::add(Operation *op, Type elementType, Value pointer, Value offset, Value mask,
                        const AxisInfoAnalysis &facts) {
  Access access;
  access.op = op;
  access.number = accesses.size();
  auto offsets = cast<RankedTensorType>(offset.getType());
  access.tile = RankedTensorType::get(offsets.getShape(), elementType);
  AxisInfo at = facts.of(offset);
  for (int64_t dim = 0; dim < offsets.getRank(); ++dim)
    access.order.push_back(dim);
  llvm::sort(access.order, [&](int64_t a, int64_t b) {
    return std::make_pair(-at.contiguity[a], -a) < std::make_pair(-at.contiguity[b], -b);
  });
  int64_t dim = access.order.front();
  access.run = facts.neighbours(pointer, offset, mask, dim, bytesOf(elementType));
  OpBuilder builder(op);
  op->setAttr(runAttrName, builder.getDenseI64ArrayAttr({dim, access.run}));
  // Set apart.
  if (auto load = dyn_cast<nv::GlobalLoadOp>(op)) {
    builder.setInsertionPointAfter(op);
    access.near = load.getResult();
    access.far =
        nv::ConvertLayoutOp::create(builder, op->getLoc(), access.near.getType(), access.near);
    access.near.replaceAllUsesExcept(access.far, access.far.getDefiningOp());
  } else if (isa<nv::CpAsyncOp>(op)) {
    access.near = access.far = offset;
  } else {
    OpOperand *value = &op->getOpOperand(0);
    access.far = value->get();
    access.near =
        nv::ConvertLayoutOp::create(builder, op->getLoc(), access.far.getType(), access.far);
    value->set(access.near);
  }
  accesses.push_back(access);
}

Attribute GlobalLayouts::preferred(const Access &access) {
  ArrayRef<int64_t> shape = access.tile.getShape();
  size_t rank = shape.size();
  int64_t warps = role.getWarps(), run = 1;
  for (const Access &other : accesses)
    if (other.tile.getShape() == shape && other.order == access.order)
      run = std::max(run, other.run);
  SmallVector<int64_t> size(rank, 1), threads(rank, 1), perRole(rank, 1);
  auto left = [&](int64_t dim) {
    return std::max<int64_t>(1, shape[dim] / (size[dim] * threads[dim] * perRole[dim]));
  };
  auto twice = [&](int64_t dim) { return left(dim) % 2 == 0; };
  int64_t fastest = access.order.front();
  while (size[fastest] < run && twice(fastest) &&
         access.tile.getNumElements() >= size[fastest] * 2 * 32 * warps)
    size[fastest] *= 2;
  int64_t lanesLeft = 32, warpsLeft = warps;
  for (int64_t dim : access.order)
    while (lanesLeft > 1 && twice(dim))
      threads[dim] *= 2, lanesLeft /= 2;
  // Dimensions that nothing reduces first, the slowest first.
  SmallVector<bool> reduced(rank, false);
  role.walk([&](nv::ReduceOp reduce) {
    if (reduce.getSource().getType().getShape() == shape)
      reduced[reduce.getDim()] = true;
  });
  for (bool which : {false, true})
    for (int64_t dim : llvm::reverse(access.order))
      if (reduced[dim] == which)
        while (warpsLeft % 2 == 0 && twice(dim))
          perRole[dim] *= 2, warpsLeft /= 2;
  threads[access.order.back()] *= lanesLeft;
  perRole[access.order.back()] *= warpsLeft;
  return nv::BlockedAttr::get(role.getContext(), size, threads, perRole, access.order);
}

/// What the access costs a warp: 32-byte sectors and instructions (one is worth four sectors).
static std::optional<int64_t> costOf(RankedTensorType tile, Attribute attribute, int64_t dim,
                                     int64_t run) {
  auto layout = registerLayout(withLayout(tile, attribute));
  if (!layout) {
    llvm::consumeError(layout.takeError());
    return std::nullopt;
  }
  int64_t cost = 0, bytes = bytesOf(tile.getElementType());
  for (ArrayRef<unsigned> registers : layout::registerRuns(*layout, dim, run)) {
    std::set<std::pair<int64_t, int64_t>> sectors;
    for (unsigned lane = 0; lane < 32; ++lane) {
      layout::Index index = layout->indexOf(registers.front(), lane, 0);
      int64_t along = index[dim] * bytes / 32;
      index[dim] = 0;
      sectors.insert({layout->flatten(index), along});
    }
    cost += 4 + sectors.size();
  }
  return cost;
}

/// Whether offsets and masks can have the layout, and the lines that they are made of: fragments of products
/// are for elements of some widths only.
static bool servesPlaces(RankedTensorType tile, Attribute layout) {
  MLIRContext *context = tile.getContext();
  auto exists = [&](ArrayRef<int64_t> shape, Type element, Attribute attribute) {
    auto found = registerLayout(withLayout(RankedTensorType::get(shape, element), attribute));
    if (!found)
      llvm::consumeError(found.takeError());
    return static_cast<bool>(found);
  };
  for (unsigned bits : {1u, 64u}) {
    Type element = IntegerType::get(context, bits);
    if (!exists(tile.getShape(), element, layout))
      return false;
    for (int64_t dim = 0; tile.getRank() > 1 && dim < tile.getRank(); ++dim) {
      SmallVector<int64_t> shape(tile.getShape());
      shape.erase(shape.begin() + dim);
      if (!exists(shape, element, nv::SliceAttr::get(context, dim, layout)))
        return false;
    }
  }
  return true;
}

/// Whether the access costs little more in `layout` than in the layout that it wants.
static bool isGoodEnough(RankedTensorType tile, int64_t dim, int64_t run, Attribute layout,
                         Attribute wanted) {
  if (layout == wanted)
    return true;
  if (!servesPlaces(tile, layout))
    return false;
  std::optional<int64_t> have = costOf(tile, layout, dim, run),
                         best = costOf(tile, wanted, dim, run);
  return !best || (have && *have <= 2 * *best);
}

void GlobalLayouts::assign(LayoutFlow &flow) {
  for (const Access &access : accesses) {
    Attribute around = flow.lookup(access.far), wanted = preferred(access);
    if (!around) {
      flow.assign(access.far, wanted);
      around = flow.lookup(access.far);
    }
    bool stay = isGoodEnough(access.tile, access.order.front(), access.run, around, wanted);
    flow.assign(access.near, stay ? around : wanted);
    flow.run();
  }
}
