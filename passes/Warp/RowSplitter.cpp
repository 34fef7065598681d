//===- RowSplitter.cpp - The tiles of a role over its replicas ----------------------------===//
//
// Types shrink, views of operands are sliced, coordinates of stores and numbers of rows and columns shift, by what
// replicas have of each value (ReplicaSlices).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/RowSplitter.h"

#include "passes/Warp/Boxes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/User/User.h"
#include "passes/Warp/ReplicaSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

class RowSplitter {
public:
  RowSplitter(RoleOp role, int64_t replicas, int64_t shared, const llvm::MapVector<Value, Slice> &slices)
      : role(role), replicas(replicas), shared(shared), slices(slices) {}

  /// Gives each replica its rows.
  void rewrite();

private:
  RankedTensorType sliced(RankedTensorType type, int64_t dim) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= replicas;
    return RankedTensorType::get(shape, type.getElementType());
  }

  /// How many elements of the whole are before those of a slice that this replica has, beyond those before the slice in the whole.
  Value shiftOf(OpBuilder &builder, Location loc, const Slice &slice) {
    Value first = begin(slice.total);
    int64_t others = slice.offset / replicas * (replicas - 1);
    return others ? arith::SubIOp::create(builder, loc, first, arith::ConstantIntOp::create(builder, loc, others, 32)) : first;
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
      if (slice == slices.end() || slice->second.dim != static_cast<int64_t>(number.getDim()))
        return;
      auto type = cast<RankedTensorType>(number.getType());
      begin(slice->second.total); // in front of all users
      builder.setInsertionPointAfter(number);
      Value first = shiftOf(builder, loc, slice->second);
      auto splat = nv::SplatOp::create(builder, loc, type, first);
      auto sum = arith::AddIOp::create(builder, loc, number, splat);
      number.getResult().replaceAllUsesExcept(sum, sum);
    } else if (auto product = dyn_cast<nv::WgmmaOp>(op)) {
      // The slot has all rows and columns.
      auto sum = cast<RankedTensorType>(product.getType());
      if (shared == 1)
        product.getBMutable().assign(rowsOf(builder, product.getB(), sum.getDimSize(1), 1));
      else if (isa<nv::MemDescType>(product.getA().getType()))
        product.getAMutable().assign(rowsOf(builder, product.getA(), sum.getDimSize(0)));
    } else if (auto load = dyn_cast<nv::LocalLoadOp>(op)) {
      if (auto slice = slices.find(load.getResult()); slice != slices.end()) {
        int64_t dim = slice->second.dim, extent = cast<RankedTensorType>(load.getType()).getDimSize(dim);
        load.getViewMutable().assign(rowsOf(builder, load.getView(), extent, dim));
      }
    } else if (auto extract = dyn_cast<nv::ExtractOp>(op)) {
      // A piece of the whole tile becomes the same piece of each replica's part.
      if (auto slice = slices.find(extract.getResult()); slice != slices.end()) {
        SmallVector<int64_t> offsets(extract.getOffsets());
        offsets[slice->second.dim] /= replicas;
        extract.setOffsets(offsets);
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
    Slice slice = slices.lookup(store.getValue());
    auto desc = cast<tile::DescType>(store.getDesc().getType());
    SmallVector<int64_t> box(desc.getShape());
    auto type = cast<RankedTensorType>(store.getValue().getType());
    size_t place = placeInBox(box, type.getShape(), slice.dim);
    OpBuilder builder(store);
    // The coordinate counts what is before the piece in the whole tile; of rows that the box counts by two indices it is the first of them.
    bool counted = box[place] == type.getDimSize(slice.dim) * replicas;
    Value first = counted ? shiftOf(builder, store.getLoc(), slice) : begin(box[place]);
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
  int64_t replicas, shared; ///< the dimension of products that is shared
  ReplicaIndexOp index;
  const llvm::MapVector<Value, Slice> &slices;
  DenseMap<int64_t, Value> begins;
};

void RowSplitter::rewrite() {
  OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
  index = ReplicaIndexOp::create(builder, role.getLoc(), builder.getI32Type());
  for (auto [value, slice] : slices)
    const_cast<Value &>(value).setType(sliced(cast<RankedTensorType>(value.getType()), slice.dim));
  role.walk([&](Operation *op) { adapt(op); });
}

} // namespace

std::optional<RowsRefused> tileloom::splitTiles(RoleOp role, int64_t replicas, int64_t dimension) {
  ReplicaSlices slices(role, replicas, dimension);
  if (!slices.analyse())
    return RowsRefused{slices.getRefused(), slices.getReason().str()};
  RowSplitter(role, replicas, dimension, slices.get()).rewrite();
  return std::nullopt;
}
