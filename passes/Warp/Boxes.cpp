//===- Boxes.cpp - Boxes of global tensors, and the tiles that are copied -----------------===//

#include "passes/Warp/Boxes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom;

SmallVector<Operation *> tileloom::copyBoxes(OpBuilder &builder, tile::LoadOp load, Value view,
                                             nv::CacheHintAttr hint) {
  SmallVector<Operation *> made;
  auto make = [&](auto op) {
    made.push_back(op);
    return op;
  };
  Location loc = load.getLoc();
  size_t rank = cast<tile::DescType>(load.getDesc().getType()).getShape().size(),
         count = load.getCoordinates().size() / rank;
  auto whole = cast<nv::MemDescType>(view.getType());
  for (size_t box = 0; box < count; ++box) {
    Value part = view;
    if (count > 1) {
      SmallVector<int64_t> shape(whole.getShape());
      shape[0] /= count;
      SmallVector<Value> offsets;
      for (int64_t offset : {static_cast<int64_t>(box) * shape[0], INT64_C(0)})
        offsets.push_back(make(arith::ConstantIntOp::create(builder, loc, offset, 32)));
      auto type = nv::MemDescType::get(whole.getContext(), shape, whole.getElementType(),
                                       whole.getLayout(), whole.getSpace());
      part = make(nv::MemDescSliceOp::create(builder, loc, type, view, offsets));
    }
    make(nv::TmaLoadOp::create(builder, loc, load.getDesc(),
                               load.getCoordinates().slice(box * rank, rank), part, Value(),
                               Value(), hint, false));
  }
  return made;
}

SmallVector<Operation *> tileloom::copyShare(OpBuilder &builder, tile::LoadOp load, Value view,
                                             nv::CacheHintAttr hint, int64_t ctas) {
  SmallVector<Operation *> made;
  auto make = [&](auto op) {
    made.push_back(op);
    return op;
  };
  Location loc = load.getLoc();
  auto constant = [&](int64_t value) -> Value { return make(arith::ConstantIntOp::create(builder, loc, value, 32)); };
  auto desc = cast<tile::DescType>(load.getDesc().getType());
  auto whole = cast<nv::MemDescType>(view.getType());
  SmallVector<int64_t> box(desc.getShape()), shape(whole.getShape());
  int64_t *outer = llvm::find_if(box, [](int64_t extent) { return extent != 1; });
  *outer /= ctas;
  shape[0] /= ctas;
  Value rank = make(nv::CtaRankOp::create(builder, loc, builder.getI32Type()));
  auto placed = [&](int64_t extent) -> Value { return make(arith::MulIOp::create(builder, loc, rank, constant(extent))); };
  SmallVector<Value> offsets(shape.size(), constant(0)), coordinates(load.getCoordinates());
  offsets[0] = placed(shape[0]);
  auto type = nv::MemDescType::get(whole.getContext(), shape, whole.getElementType(), whole.getLayout(), whole.getSpace());
  Value part = make(nv::MemDescSliceOp::create(builder, loc, type, view, offsets));
  Value &start = coordinates[outer - box.begin()];
  start = make(arith::AddIOp::create(builder, loc, start, placed(*outer)));
  auto boxes = tile::DescType::get(desc.getContext(), box, desc.getElementType());
  Value reboxed = make(tile::ReboxOp::create(builder, loc, boxes, load.getDesc()));
  Value all = make(arith::ConstantIntOp::create(builder, loc, (1 << ctas) - 1, 16));
  make(nv::TmaLoadOp::create(builder, loc, reboxed, coordinates, part, Value(), all, hint, false));
  return made;
}

size_t tileloom::placeInBox(ArrayRef<int64_t> box, ArrayRef<int64_t> tile, int64_t dim) {
  size_t place = 0;
  int64_t units = static_cast<int64_t>(box.size()) - static_cast<int64_t>(tile.size());
  for (int64_t own = 0; place < box.size(); ++own) {
    for (; place + 1 < box.size() && box[place] == 1 && (units > 0 || tile[own] != 1); ++place)
      --units;
    if (own == dim)
      break;
    int64_t rows = box[place++];
    while (place < box.size() && rows < tile[own])
      rows *= box[place++];
  }
  return place;
}
