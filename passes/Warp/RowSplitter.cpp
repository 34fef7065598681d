//===- RowSplitter.cpp - The rows of a role's tiles over its replicas ---------------------===//
//
// The rows are followed from the products through everything that depends on them: a value is the
// same in all replicas, or sliced along one dimension. Types shrink, views of operands are sliced,
// coordinates of stores and row numbers shift. A reduction along the rows would cross replicas and
// is refused.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/RowSplitter.h"

#include "passes/Warp/Boxes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/User/User.h"
#include "passes/Tile/Passes.h"
#include "passes/Warp/RowCopies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

class RowSplitter {
public:
  RowSplitter(RoleOp role, int64_t replicas) : role(role), replicas(replicas) {}

  /// Finds what every replica has of each value; false if the rows cannot be told apart.
  bool analyse() {
    separateRows(role);
    role.walk([&](Operation *op) {
      if (auto product = dyn_cast<nv::WgmmaOp>(op))
        set(product.getResult(), 0, product);
      else if (auto load = dyn_cast<nv::TmemLoadOp>(op))
        set(load.getResult(), 0, load);
      else if (auto store = dyn_cast<nv::TmemStoreOp>(op))
        set(store.getValue(), 0, store);
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
      set(op->getOperand(0), 0, op);
      follow();
    });
    role.walk([&](user::PrintOp print) {
      auto tile = llvm::find_if(print.getValues(), [](Value value) { return isa<RankedTensorType>(value.getType()); });
      if (tile != print.getValues().end() && !refused) {
        set(*tile, 0, print);
        follow();
      }
    });
    for (auto [value, dim] : slices) {
      auto type = cast<RankedTensorType>(value.getType());
      if (type.getDimSize(dim) % replicas)
        refuse(value.getDefiningOp() ? value.getDefiningOp() : role.getOperation(),
               "expected a multiple of " + Twine(replicas) + " rows, found " +
                   Twine(type.getDimSize(dim)));
    }
    return !refused;
  }

  /// The operation that keeps the rows together, and why.
  Operation *getRefused() const { return refused; }
  StringRef getReason() const { return reason; }

  /// Gives each replica its rows; after analyse().
  void rewrite();

private:
  void follow() {
    while (!work.empty() && !refused)
      visit(work.pop_back_val());
  }

  void set(Value value, int64_t dim, Operation *because) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    auto [entry, inserted] = slices.try_emplace(value, dim);
    if (inserted) {
      work.push_back(value);
      return;
    }
    if (entry->second != dim)
      refuse(because, "expected a value sliced along dimension " + Twine(entry->second) +
                          ", found dimension " + Twine(dim));
  }

  void visit(Value value) {
    int64_t dim = slices.lookup(value);
    if (Operation *def = value.getDefiningOp())
      relate(def, value, dim);
    else if (auto loop = dyn_cast<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp()))
      carried(loop, cast<BlockArgument>(value).getArgNumber() - 1, dim);
    for (Operation *user : value.getUsers())
      relate(user, value, dim);
  }

  void carried(scf::ForOp loop, unsigned index, int64_t dim) {
    set(loop.getRegionIterArgs()[index], dim, loop);
    set(loop.getResult(index), dim, loop);
    set(loop.getInitArgs()[index], dim, loop);
    set(loop.getYieldedValues()[index], dim, loop);
  }

  /// What the slice of `value`, an operand or a result of `op`, says about the others.
  void relate(Operation *op, Value value, int64_t dim) {
    if (isAdaptable(op) || isa<nv::StorePartialOp>(op))
      return;
    if (isa<scf::ForOp, scf::YieldOp, scf::IfOp>(op))
      return relateControlFlow(op, value, dim);
    if (isa<nv::ReduceOp, nv::BroadcastOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp>(op))
      return relateShapes(op, value, dim);
    if (auto store = dyn_cast<StoreOp>(op)) {
      ArrayRef<int64_t> box = cast<tile::DescType>(store.getDesc().getType()).getShape();
      auto type = cast<RankedTensorType>(store.getValue().getType());
      int64_t extent = box[placeInBox(box, type.getShape(), dim)];
      if (extent % replicas)
        refuse(op,
               "expected a multiple of " + Twine(replicas) + " in its box, found " + Twine(extent));
      return;
    }
    if (isa<nv::TmemLoadOp, nv::TmemStoreOp>(op)) {
      if (dim != 0)
        refuse(op, "only the rows of a product can be shared");
      return;
    }
    SmallVector<Value> together;
    if (auto product = dyn_cast<nv::WgmmaOp>(op)) {
      // Rows of a and of the sum are the product's rows; b has none.
      if (dim != 0)
        return refuse(op, "only the rows of a product can be shared");
      together = {product.getResult(), product.getA()};
      if (product.getC())
        together.push_back(product.getC());
    } else if (auto extract = dyn_cast<nv::ExtractOp>(op)) {
      together = {extract.getSource(), extract.getResult()};
    } else if (auto sum = dyn_cast<nv::SumPartialsOp>(op)) {
      together = {sum.getLike(), sum.getResult()};
    } else if (auto take = dyn_cast<tile::TakeOp>(op)) {
      if (dim == static_cast<int64_t>(take.getDim()))
        return refuse(op, "elements taken along the rows cross replicas");
      together = {take.getSource(), take.getIndices(), take.getResult()};
    } else if (OpTrait::hasElementwiseMappableTraits(op) ||
               isa<nv::WgmmaWaitOp, nv::ConcatOp, nv::GlobalLoadOp, nv::GlobalStoreOp,
                   nv::LocalLoadOp, user::PrintOp, user::AssertOp, tile::GatherOp, tile::ScatterOp, tile::AtomicOp>(op)) {
      llvm::append_range(together, op->getOperands());
      llvm::append_range(together, op->getResults());
    } else {
      return refuse(op, "not known how the rows of '" + op->getName().getStringRef() + "' depend on each other");
    }
    for (Value other : together)
      set(other, dim, op);
  }

  void relateControlFlow(Operation *op, Value value, int64_t dim) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (unsigned i = 0; i < loop.getNumResults(); ++i)
        if (loop.getResult(i) == value || loop.getInitArgs()[i] == value)
          carried(loop, i, dim);
    } else if (auto yield = dyn_cast<scf::YieldOp>(op)) {
      for (unsigned i = 0; i < yield.getNumOperands(); ++i) {
        if (yield.getOperand(i) != value)
          continue;
        if (auto loop = dyn_cast<scf::ForOp>(yield->getParentOp()))
          carried(loop, i, dim);
        else if (auto branch = dyn_cast<scf::IfOp>(yield->getParentOp()))
          branched(branch, i, dim);
        else
          refuse(op, "a while loop carries them");
      }
    } else {
      branched(cast<scf::IfOp>(op), cast<OpResult>(value).getResultNumber(), dim);
    }
  }

  /// Operations whose source has other dimensions than their result.
  void relateShapes(Operation *op, Value value, int64_t dim) {
    Value source = op->getOperand(0), result = op->getResult(0);
    if (auto reduce = dyn_cast<nv::ReduceOp>(op)) {
      int64_t along = reduce.getDim();
      if (value == source) {
        if (dim == along)
          return refuse(op, "a reduction along the rows crosses replicas");
        return set(result, dim - (dim > along), op);
      }
      set(source, dim + (dim >= along), op);
    } else if (isa<nv::BroadcastOp, tile::ExpandDimsOp>(op)) {
      auto broadcast = dyn_cast<nv::BroadcastOp>(op);
      int64_t along = broadcast ? broadcast.getDim() : cast<tile::ExpandDimsOp>(op).getDim();
      if (value == source)
        return set(result, dim + (dim >= along), op);
      if (dim != along) // else the source is the same for all replicas
        set(source, dim - (dim > along), op);
    } else if (isa<tile::BroadcastOp>(op)) {
      if (value == source || cast<RankedTensorType>(source.getType()).getDimSize(dim) != 1)
        set(value == source ? result : source, dim, op);
    } else { // transposed
      SmallVector<int64_t> order = cast<tile::TransOp>(op).permutation();
      set(value == source ? result : source, value == source ? llvm::find(order, dim) - order.begin() : order[dim], op);
    }
  }

  void branched(scf::IfOp branch, unsigned index, int64_t dim) {
    set(branch.getResult(index), dim, branch);
    for (Region *region : branch.getRegions())
      if (!region->empty())
        set(region->front().getTerminator()->getOperand(index), dim, branch);
  }

  void refuse(Operation *op, const Twine &why) {
    if (refused)
      return;
    refused = op;
    reason = why.str();
  }

  RankedTensorType sliced(RankedTensorType type, int64_t dim) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= replicas;
    return RankedTensorType::get(shape, type.getElementType());
  }

  /// Where this replica's rows of `extent` begin.
  Value begin(int64_t extent) {
    Value &known = begins[extent];
    if (!known) {
      OpBuilder builder(&role.getBody().front(), index->getBlock()->begin());
      builder.setInsertionPointAfter(index);
      Value size = arith::ConstantIntOp::create(builder, role.getLoc(), extent / replicas, 32);
      known = arith::MulIOp::create(builder, role.getLoc(), index->getResult(0), size);
    }
    return known;
  }

  void adapt(Operation *op) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (slices.contains(constant.getResult()))
        constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue())
                                  .resizeSplat(cast<ShapedType>(constant.getType())));
    } else if (auto number = dyn_cast<nv::IndexOp>(op)) {
      auto slice = slices.find(number.getResult());
      if (slice == slices.end() || slice->second != static_cast<int64_t>(number.getDim()))
        return;
      auto type = cast<RankedTensorType>(number.getType());
      Value first = begin(type.getDimSize(slice->second) * replicas);
      builder.setInsertionPointAfter(number);
      auto splat = nv::SplatOp::create(builder, loc, type, first);
      auto sum = arith::AddIOp::create(builder, loc, number, splat);
      number.getResult().replaceAllUsesExcept(sum, sum);
    } else if (auto product = dyn_cast<nv::WgmmaOp>(op)) {
      // The slot has all rows.
      auto view = dyn_cast<nv::MemDescType>(product.getA().getType());
      if (view)
        product.getAMutable().assign(rowsOf(
            builder, product.getA(), cast<RankedTensorType>(product.getType()).getDimSize(0)));
    } else if (auto load = dyn_cast<nv::LocalLoadOp>(op)) {
      if (auto slice = slices.find(load.getResult()); slice != slices.end()) {
        int64_t extent = cast<RankedTensorType>(load.getType()).getDimSize(slice->second);
        load.getViewMutable().assign(rowsOf(builder, load.getView(), extent, slice->second));
      }
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      adaptStore(store);
    } else if (auto partial = dyn_cast<nv::StorePartialOp>(op)) {
      partial.getPointerMutable().assign(ownPart(builder, partial.getPointer(), partial.getValue()));
    } else if (auto sum = dyn_cast<nv::SumPartialsOp>(op)) {
      sum.getPointerMutable().assign(ownPart(builder, sum.getPointer(), sum.getResult()));
    } else if (auto print = dyn_cast<user::PrintOp>(op)) {
      printOnce(print);
    } else if (auto arrival = dyn_cast<tile::LastArrivalOp>(op)) {
      arrival.getIndexMutable().assign(
          arith::AddIOp::create(builder, loc, arrival.getIndex(), index->getResult(0)));
    }
  }

  /// A line without elements is the first replica's.
  void printOnce(user::PrintOp print) {
    if (llvm::any_of(print.getValues().getTypes(), llvm::IsaPred<RankedTensorType>))
      return;
    OpBuilder builder(print);
    Value zero = arith::ConstantIntOp::create(builder, print.getLoc(), 0, 32);
    Value first = arith::CmpIOp::create(builder, print.getLoc(), arith::CmpIPredicate::eq, index->getResult(0), zero);
    auto branch = scf::IfOp::create(builder, print.getLoc(), first, /*withElseRegion=*/false);
    print->moveBefore(branch.thenBlock()->getTerminator());
  }

  /// Where this replica's rows of a tile begin that lies in memory replica by replica.
  Value ownPart(OpBuilder &builder, Value pointer, Value rows) {
    Location loc = pointer.getLoc();
    auto type = cast<RankedTensorType>(rows.getType());
    Value bytes = arith::ConstantIntOp::create(
        builder, loc, type.getNumElements() * type.getElementTypeBitWidth() / 8, 32);
    Value offset = arith::MulIOp::create(builder, loc, index->getResult(0), bytes);
    return arith::AddIOp::create(builder, loc, pointer,
                                 arith::ExtUIOp::create(builder, loc, builder.getI64Type(), offset));
  }

  Value rowsOf(OpBuilder &builder, Value view, int64_t rows, int64_t dim = 0) {
    auto type = cast<nv::MemDescType>(view.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (shape[dim] == rows)
      return view;
    Value zero = arith::ConstantIntOp::create(builder, view.getLoc(), 0, 32);
    SmallVector<Value> offsets(shape.size(), zero);
    offsets[dim] = begin(shape[dim]);
    shape[dim] = rows;
    auto sliced = nv::MemDescType::get(type.getContext(), shape, type.getElementType(),
                                       type.getLayout(), type.getSpace());
    return nv::MemDescSliceOp::create(builder, view.getLoc(), sliced, view, offsets);
  }

  /// The piece, its staging buffer and its box shrink; its place shifts.
  void adaptStore(StoreOp store) {
    int64_t dim = slices.lookup(store.getValue());
    auto desc = cast<tile::DescType>(store.getDesc().getType());
    SmallVector<int64_t> box(desc.getShape());
    auto type = cast<RankedTensorType>(store.getValue().getType());
    size_t place = placeInBox(box, type.getShape(), dim);
    OpBuilder builder(store);
    Value first = begin(box[place]);
    box[place] /= replicas;
    Value boxed = tile::ReboxOp::create(
        builder, store.getLoc(),
        tile::DescType::get(store.getContext(), box, desc.getElementType()), store.getDesc());
    Value coordinate = store.getCoordinates()[place];
    store.getCoordinatesMutable().slice(place, 1).assign(
        ValueRange{arith::AddIOp::create(builder, store.getLoc(), coordinate, first)});
    store.getDescMutable().assign(boxed);
    // Pieces that share a ring have one type, so the buffer shrinks once.
    auto buffer = store.getRing().getDefiningOp<RingOp>().getBuffer().getDefiningOp<BufferOp>();
    BufferType old = buffer.getBuffer().getType();
    auto piece = RankedTensorType::get(type.getShape(), type.getElementType());
    buffer.getBuffer().setType(
        BufferType::get(store.getContext(), old.getDepth(), {piece}, old.getSpace()));
  }

  RoleOp role;
  int64_t replicas;
  ReplicaIndexOp index;
  llvm::MapVector<Value, int64_t> slices; // value -> dimension
  DenseMap<int64_t, Value> begins;
  SmallVector<Value> work;
  Operation *refused = nullptr;
  std::string reason;
};

void RowSplitter::rewrite() {
  OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
  index = ReplicaIndexOp::create(builder, role.getLoc(), builder.getI32Type());
  for (auto [value, dim] : slices)
    const_cast<Value &>(value).setType(sliced(cast<RankedTensorType>(value.getType()), dim));
  role.walk([&](Operation *op) { adapt(op); });
}

} // namespace

std::optional<RowsRefused> tileloom::splitRows(RoleOp role, int64_t replicas) {
  RowSplitter splitter(role, replicas);
  if (!splitter.analyse())
    return RowsRefused{splitter.getRefused(), splitter.getReason().str()};
  splitter.rewrite();
  return std::nullopt;
}
