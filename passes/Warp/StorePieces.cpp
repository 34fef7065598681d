//===- StorePieces.cpp - Results on their way out -----------------------------------------===//
//
// Results leave through shared memory in pieces of columns: one piece is written while the copy of
// the one before is read. Where tiles are taken in turn and nothing is computed before a piece is
// written, pieces have 64 rows (Limits.h); else the hand-overs of twice as many would be waited for. So have those
// of replicas that share the columns of a tile, each of which has all rows.
// Of transposed sums a thread holds parts of rows: they leave in pieces of rows.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/StorePieces.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/Products.h"
#include "passes/Warp/Projection.h"
#include "tileloom/Schedule/Limits.h"
#include "tileloom/Schedule/TileWork.h"

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

/// The dimension of a box that counts the rows of a tile with these rows; none if it is not the one before the columns, but for ones.
static std::optional<size_t> rowDimension(ArrayRef<int64_t> box, int64_t rows) {
  for (size_t at = box.size() - 1; at-- > 0;)
    if (box[at] != 1)
      return box[at] == rows ? std::optional(at) : std::nullopt;
  return std::nullopt;
}

void tileloom::storeInPieces(func::FuncOp function, const DenseSet<Operation *> &fromProduct,
                             bool tensorMemory) {
  OpBuilder builder(function.getContext());
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  bool inTurns = schedule && !tensorMemory && schedule.word("use") == StringRef("pingpong");
  bool byColumns = schedule && schedule.dividesColumns();
  int64_t buffers = schedule ? schedule.integer("buffers").value_or(1) : 1;
  DenseMap<Type, Value> rings; // of pieces
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<tile::StoreOp, tile::StoreReduceOp>(op))
      ops.push_back(op);
  });
  for (Operation *store : ops) {
    Value result = store->getOperand(0), target = store->getOperand(1);
    StoreReduceAttr reduce;
    if (auto combining = dyn_cast<tile::StoreReduceOp>(store))
      reduce = StoreReduceAttr::get(function.getContext(),
                                    static_cast<StoreReduce>(combining.getKind()));
    auto type = cast<RankedTensorType>(result.getType());
    auto desc = cast<tile::DescType>(target.getType());
    int64_t columns = type.getShape().back();
    // Only the layouts of sums are known to come apart by columns without an exchange.
    bool product = fromProduct.contains(store), transposed = !product && !tensorMemory && type.getRank() == 2 && schedule::isTransposed(result);
    bool inBlocks = inTurns || byColumns;
    int64_t piece = product ? pieceColumns(type, schedule, tensorMemory) : transposed && inBlocks ? schedule::transposedColumns(columns) : columns;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = piece;
    SmallVector<int64_t> box(desc.getShape());
    box.back() = piece;
    std::optional<size_t> boxRow;
    size_t rowAt = type.getRank() - 2;
    int64_t rows = 1, pieceRows = 1;
    if (transposed || (inBlocks && type.getRank() > 1 && product && schedule::isPlainResult(result)))
      boxRow = rowDimension(box, type.getDimSize(rowAt));
    if (boxRow) {
      rows = type.getDimSize(rowAt);
      pieceRows = transposed ? schedule::transposedRows(rows) : schedule::pieceRowsInTurn(rows, piece, type.getElementTypeBitWidth());
      shape[rowAt] = box[*boxRow] = pieceRows;
    }
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
    bool whole = pieceType == type;
    Value boxed = target;
    if (!whole)
      boxed = tile::ReboxOp::create(
          builder, loc, tile::DescType::get(function.getContext(), box, desc.getElementType()),
          boxed);
    auto shifted = [&](Value coordinate, int64_t by) -> Value {
      return arith::AddIOp::create(builder, loc, coordinate, arith::ConstantIntOp::create(builder, loc, by, 32));
    };
    for (int64_t column = 0; column < columns; column += piece)
      for (int64_t row = 0; row < rows; row += pieceRows) {
        SmallVector<Value> coordinates(store->getOperands().drop_front(2));
        Value value = result;
        if (!whole) {
          SmallVector<int64_t> offsets(type.getRank(), 0);
          offsets.back() = column;
          if (boxRow)
            offsets[rowAt] = row;
          value = nv::ExtractOp::create(builder, loc, pieceType, value, offsets);
          coordinates.back() = shifted(coordinates.back(), column);
          if (row)
            coordinates[*boxRow] = shifted(coordinates[*boxRow], row);
        }
        auto piecewise = StoreOp::create(builder, loc, value, boxed, coordinates, ring, reduce);
        piecewise->setAttr(inAttrName, store->getAttr(inAttrName));
      }
    store->erase();
  }
}
