//===- ReplicaSlices.cpp - What replicas have of each tile --------------------------------===//
//
// A value is the same in all replicas, or sliced along one dimension. What depends on each other has the same slice; a
// reduction along what is shared would cross replicas and is refused.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/ReplicaSlices.h"

#include "dialects/Tile/Tile.h"
#include "dialects/User/User.h"
#include "passes/Tile/Passes.h"
#include "passes/Warp/Boxes.h"
#include "passes/Warp/RowCopies.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

bool ReplicaSlices::analyse() {
  separateRows(role);
  role.walk([&](Operation *op) {
    if (auto product = dyn_cast<nv::WgmmaOp>(op))
      setWhole(product.getResult(), shared, product);
    else if (auto load = dyn_cast<nv::TmemLoadOp>(op))
      setWhole(load.getResult(), 0, load);
    else if (auto store = dyn_cast<nv::TmemStoreOp>(op))
      setWhole(store.getValue(), 0, store);
  });
  follow();
  role.walk([&](tile::LastArrivalOp arrival) {
    if (!arrival->hasAttr(tile::byRowsAttrName))
      refuse(arrival, "it is the arrival of all warps of the program");
  });
  role.walk([&](nv::NamedBarrierOp barrier) { refuse(barrier, "all warps of the program meet there"); });
  // Every replica writes its rows of a result that has nothing to do with the products.
  role.walk([&](Operation *op) {
    if (!isa<StoreOp, tile::ScatterOp, tile::AtomicOp, nv::GlobalStoreOp>(op) || refused ||
        llvm::any_of(op->getOperands(), [&](Value value) { return slices.contains(value); }))
      return;
    auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    if (!type)
      return refuse(op, "every replica would write the same element");
    if (auto atomic = dyn_cast<tile::AtomicOp>(op);
        atomic && atomic.getOrder() != tile::MemOrder::Relaxed)
      return refuse(op, "its order is that of all warps of the program");
    setWhole(op->getOperand(0), type.getRank() > 1 ? shared : 0, op); // results that leave through one buffer are shared alike
    follow();
  });
  role.walk([&](user::PrintOp print) {
    auto tile = llvm::find_if(print.getValues(), [](Value value) { return isa<RankedTensorType>(value.getType()); });
    if (tile != print.getValues().end() && !refused) {
      setWhole(*tile, 0, print);
      follow();
    }
  });
  for (auto [value, slice] : slices) {
    int64_t extent = cast<RankedTensorType>(value.getType()).getDimSize(slice.dim);
    if (extent % replicas || slice.offset % replicas)
      refuse(value.getDefiningOp() ? value.getDefiningOp() : role.getOperation(),
             "expected a multiple of " + Twine(replicas) + (shared ? " columns" : " rows") + ", found " +
                 Twine(extent % replicas ? extent : slice.offset));
  }
  return !refused;
}

void ReplicaSlices::follow() {
  while (!work.empty() && !refused)
    visit(work.pop_back_val());
}

void ReplicaSlices::set(Value value, Slice slice, Operation *because) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  auto [entry, inserted] = slices.try_emplace(value, slice);
  if (inserted) {
    work.push_back(value);
    return;
  }
  const Slice &known = entry->second;
  if (known.dim != slice.dim)
    refuse(because, "expected a value sliced along dimension " + Twine(known.dim) + ", found dimension " + Twine(slice.dim));
  else if (!(known == slice))
    refuse(because, "expected elements from " + Twine(known.offset) + " on of " + Twine(known.total) + ", found those from " +
                        Twine(slice.offset) + " on of " + Twine(slice.total));
}

void ReplicaSlices::setWhole(Value value, int64_t dim, Operation *because) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    set(value, {dim, 0, type.getDimSize(dim)}, because);
}

void ReplicaSlices::visit(Value value) {
  Slice slice = slices.lookup(value);
  if (Operation *def = value.getDefiningOp())
    relate(def, value, slice);
  else if (auto loop = dyn_cast<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp()))
    carried(loop, cast<BlockArgument>(value).getArgNumber() - 1, slice);
  for (Operation *user : value.getUsers())
    relate(user, value, slice);
}

void ReplicaSlices::carried(scf::ForOp loop, unsigned index, const Slice &slice) {
  set(loop.getRegionIterArgs()[index], slice, loop);
  set(loop.getResult(index), slice, loop);
  set(loop.getInitArgs()[index], slice, loop);
  set(loop.getYieldedValues()[index], slice, loop);
}

void ReplicaSlices::relate(Operation *op, Value value, const Slice &slice) {
  int64_t dim = slice.dim;
  if (isAdaptable(op) || isa<nv::StorePartialOp>(op))
    return;
  if (isa<scf::ForOp, scf::YieldOp, scf::IfOp>(op))
    return relateControlFlow(op, value, slice);
  if (isa<nv::ReduceOp, nv::BroadcastOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp, nv::ExtractOp, nv::ConcatOp>(op))
    return relateShapes(op, value, slice);
  if (auto store = dyn_cast<StoreOp>(op)) {
    ArrayRef<int64_t> box = cast<tile::DescType>(store.getDesc().getType()).getShape();
    auto type = cast<RankedTensorType>(store.getValue().getType());
    int64_t extent = box[placeInBox(box, type.getShape(), dim)];
    if (extent % replicas)
      refuse(op,
             "expected a multiple of " + Twine(replicas) + " in its box, found " + Twine(extent));
    if (extent != type.getDimSize(dim) && slice.total != type.getDimSize(dim))
      refuse(op, "a part of what is shared is stored by several indices");
    return;
  }
  if (isa<nv::LocalLoadOp>(op) && (slice.offset || slice.total != cast<RankedTensorType>(value.getType()).getDimSize(dim)))
    return refuse(op, "a part of what is shared is read from shared memory");
  if (isa<nv::TmemLoadOp, nv::TmemStoreOp>(op)) {
    if (dim != 0)
      refuse(op, "only the rows of a product can be shared");
    return;
  }
  SmallVector<Value> together;
  if (auto product = dyn_cast<nv::WgmmaOp>(op)) {
    // Rows of a and of the sum are the product's rows, columns of b and of the sum its columns.
    if (dim != shared || (dim == 1 && value == product.getA()))
      return refuse(op, Twine("only the ") + (shared ? "columns" : "rows") + " of a product can be shared");
    together = {product.getResult()};
    if (dim == 0)
      together.push_back(product.getA());
    if (product.getC())
      together.push_back(product.getC());
  } else if (auto sum = dyn_cast<nv::SumPartialsOp>(op)) {
    together = {sum.getLike(), sum.getResult()};
  } else if (auto take = dyn_cast<tile::TakeOp>(op)) {
    if (dim == static_cast<int64_t>(take.getDim()))
      return refuse(op, "elements taken along the rows cross replicas");
    together = {take.getSource(), take.getIndices(), take.getResult()};
  } else if (OpTrait::hasElementwiseMappableTraits(op) ||
             isa<nv::WgmmaWaitOp, nv::GlobalLoadOp, nv::GlobalStoreOp,
                 nv::LocalLoadOp, user::PrintOp, user::AssertOp, tile::GatherOp, tile::ScatterOp, tile::AtomicOp>(op)) {
    llvm::append_range(together, op->getOperands());
    llvm::append_range(together, op->getResults());
  } else {
    return refuse(op, "not known how the rows of '" + op->getName().getStringRef() + "' depend on each other");
  }
  for (Value other : together)
    set(other, slice, op);
}

void ReplicaSlices::relateControlFlow(Operation *op, Value value, const Slice &slice) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (loop.getResult(i) == value || loop.getInitArgs()[i] == value)
        carried(loop, i, slice);
  } else if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    for (unsigned i = 0; i < yield.getNumOperands(); ++i) {
      if (yield.getOperand(i) != value)
        continue;
      if (auto loop = dyn_cast<scf::ForOp>(yield->getParentOp()))
        carried(loop, i, slice);
      else if (auto branch = dyn_cast<scf::IfOp>(yield->getParentOp()))
        branched(branch, i, slice);
      else
        refuse(op, "a while loop carries them");
    }
  } else {
    branched(cast<scf::IfOp>(op), cast<OpResult>(value).getResultNumber(), slice);
  }
}

void ReplicaSlices::relateShapes(Operation *op, Value value, const Slice &slice) {
  Value source = op->getOperand(0), result = op->getResult(0);
  int64_t dim = slice.dim;
  if (auto reduce = dyn_cast<nv::ReduceOp>(op)) {
    int64_t along = reduce.getDim();
    if (value == source) {
      if (dim == along)
        return refuse(op, Twine("a reduction along the ") + (shared ? "columns" : "rows") + " crosses replicas");
      return set(result, slice.along(dim - (dim > along)), op);
    }
    set(source, slice.along(dim + (dim >= along)), op);
  } else if (auto extract = dyn_cast<nv::ExtractOp>(op)) {
    int64_t first = extract.getOffsets()[dim];
    set(value == source ? result : source, slice.moved(value == source ? first : -first), op);
  } else if (auto concat = dyn_cast<nv::ConcatOp>(op)) {
    relateParts(concat, value, slice);
  } else if (isa<nv::BroadcastOp, tile::ExpandDimsOp>(op)) {
    auto broadcast = dyn_cast<nv::BroadcastOp>(op);
    int64_t along = broadcast ? broadcast.getDim() : cast<tile::ExpandDimsOp>(op).getDim();
    if (value == source)
      return set(result, slice.along(dim + (dim >= along)), op);
    if (dim != along) // else the source is the same for all replicas
      set(source, slice.along(dim - (dim > along)), op);
  } else if (isa<tile::BroadcastOp>(op)) {
    if (value == source || cast<RankedTensorType>(source.getType()).getDimSize(dim) != 1)
      set(value == source ? result : source, slice, op);
  } else { // transposed
    SmallVector<int64_t> order = cast<tile::TransOp>(op).permutation();
    set(value == source ? result : source, slice.along(value == source ? llvm::find(order, dim) - order.begin() : order[dim]), op);
  }
}

void ReplicaSlices::relateParts(nv::ConcatOp concat, Value value, const Slice &slice) {
  bool across = static_cast<int64_t>(concat.getDim()) == slice.dim;
  auto extentOf = [&](Value part) { return across ? cast<RankedTensorType>(part.getType()).getDimSize(slice.dim) : 0; };
  int64_t before = 0;
  if (value != concat.getResult())
    for (Value part : llvm::make_range(concat->operand_begin(), llvm::find(concat->getOperands(), value)))
      before += extentOf(part);
  Slice whole = slice.moved(-before);
  set(concat.getResult(), whole, concat);
  for (Value part : concat->getOperands()) {
    set(part, whole, concat);
    whole = whole.moved(extentOf(part));
  }
}

void ReplicaSlices::branched(scf::IfOp branch, unsigned index, const Slice &slice) {
  set(branch.getResult(index), slice, branch);
  for (Region *region : branch.getRegions())
    if (!region->empty())
      set(region->front().getTerminator()->getOperand(index), slice, branch);
}

void ReplicaSlices::refuse(Operation *op, const Twine &why) {
  if (refused)
    return;
  refused = op;
  reason = why.str();
}
