//===- StorePieces.cpp - Results on their way out -----------------------------------------===//
//
// Results leave through shared memory in pieces of columns: one piece is written while the copy of
// the one before is read.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/StorePieces.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/Products.h"
#include "passes/Warp/Projection.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Whether element-wise code leads from a product to `value`.
static bool dependsOnProduct(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def)
    return false;
  if (isa<tile::DotOp>(def))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(def))
    return dependsOnProduct(loop.getYieldedValues()[cast<OpResult>(value).getResultNumber()]);
  bool together = OpTrait::hasElementwiseMappableTraits(def) ||
                  isa<nv::SumPartialsOp, nv::ConcatOp, nv::ExtractOp>(def);
  return together && llvm::any_of(def->getOperands(), dependsOnProduct);
}

DenseSet<Operation *> tileloom::storesOfProducts(func::FuncOp function) {
  DenseSet<Operation *> result;
  function.walk([&](Operation *op) {
    if (isa<tile::StoreOp, tile::StoreReduceOp>(op) && dependsOnProduct(op->getOperand(0)))
      result.insert(op);
  });
  return result;
}

void tileloom::storeInPieces(func::FuncOp function, const DenseSet<Operation *> &fromProduct,
                             bool tensorMemory) {
  OpBuilder builder(function.getContext());
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  int64_t buffers = schedule ? schedule.integer("buffers").value_or(1) : 1;
  DenseMap<Type, Value> rings; // of pieces
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<tile::StoreOp, tile::StoreReduceOp>(op))
      ops.push_back(op);
  });
  for (Operation *store : ops) {
    Value whole = store->getOperand(0), target = store->getOperand(1);
    StoreReduceAttr reduce;
    if (auto combining = dyn_cast<tile::StoreReduceOp>(store))
      reduce = StoreReduceAttr::get(function.getContext(),
                                    static_cast<StoreReduce>(combining.getKind()));
    auto type = cast<RankedTensorType>(whole.getType());
    auto desc = cast<tile::DescType>(target.getType());
    int64_t columns = type.getShape().back();
    // Only the layouts of sums are known to come apart by columns without an exchange.
    int64_t piece =
        fromProduct.contains(store) ? pieceColumns(type, schedule, tensorMemory) : columns;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = piece;
    auto pieceType = RankedTensorType::get(shape, type.getElementType());
    Location loc = store->getLoc();
    Value &ring = rings[pieceType];
    if (!ring) {
      builder.setInsertionPointToStart(&function.getBody().front());
      auto type = BufferType::get(function.getContext(), buffers, {pieceType}, Space::Smem);
      auto buffer = BufferOp::create(builder, loc, type, true);
      ring = RingOp::create(builder, loc, RingType::get(function.getContext()), buffer, true,
                            Scope::Cta);
    }
    builder.setInsertionPoint(store);
    SmallVector<int64_t> box(desc.getShape());
    box.back() = piece;
    Value boxed = target;
    if (piece != columns)
      boxed = tile::ReboxOp::create(
          builder, loc, tile::DescType::get(function.getContext(), box, desc.getElementType()),
          boxed);
    for (int64_t column = 0; column < columns; column += piece) {
      SmallVector<Value> coordinates(store->getOperands().drop_front(2));
      Value value = whole;
      if (piece != columns) {
        SmallVector<int64_t> offsets(type.getRank(), 0);
        offsets.back() = column;
        value = nv::ExtractOp::create(builder, loc, pieceType, value, offsets);
        Value shift = arith::ConstantIntOp::create(builder, loc, column, 32);
        coordinates.back() = arith::AddIOp::create(builder, loc, coordinates.back(), shift);
      }
      auto piecewise = StoreOp::create(builder, loc, value, boxed, coordinates, ring, reduce);
      piecewise->setAttr(inAttrName, store->getAttr(inAttrName));
    }
    store->erase();
  }
}
