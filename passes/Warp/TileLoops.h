//===- TileLoops.h - What all expansions of for_each_tile share -----------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_TILELOOPS_H
#define TILELOOM_PASSES_WARP_TILELOOPS_H

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tileloom {

/// Arithmetic on tile numbers.
struct TileMath {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return mlir::arith::AddIOp::create(builder, loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return mlir::arith::SubIOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return mlir::arith::MulIOp::create(builder, loc, a, b);
  }
  mlir::Value divu(mlir::Value a, mlir::Value b) {
    return mlir::arith::DivUIOp::create(builder, loc, a, b);
  }
  mlir::Value remu(mlir::Value a, mlir::Value b) {
    return mlir::arith::RemUIOp::create(builder, loc, a, b);
  }
  mlir::Value notAbove(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::ule, a, b);
  }
  mlir::Value below(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::ult, a, b);
  }
  mlir::Value isEqual(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }
  mlir::Value minu(mlir::Value a, mlir::Value b) {
    return mlir::arith::MinUIOp::create(builder, loc, a, b);
  }
  mlir::Value maxs(mlir::Value a, mlir::Value b) {
    return mlir::arith::MaxSIOp::create(builder, loc, a, b);
  }
};

/// Moves what is the same for all tiles out of the body, and records the extents for the host.
void prepareTileLoop(warp::ForEachTileOp loop);

/// The coordinates of tile number `tile`, computed where `math` builds: `group` rows of tiles share B in L2.
std::pair<mlir::Value, mlir::Value> placeOfTile(warp::ForEachTileOp loop, mlir::Value tile, TileMath &math);

/// Moves the loop's body to where the builder stands, for the tile at `place`.
void runTile(warp::ForEachTileOp loop, std::pair<mlir::Value, mlir::Value> place, mlir::OpBuilder &builder);

/// Expands the tile loops of a kernel whose CTAs draw tiles from a counter; others stay.
mlir::LogicalResult drawTiles(warp::SpecializeOp kernel);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_TILELOOPS_H
