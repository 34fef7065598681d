//===- Traffic.h - What a tile program reads and writes --------------------------*- C++ -*-===//
//
// Bytes of the boxes of a program over all tiles: through L2, and through DRAM in the order in
// which tiles are walked.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_TRAFFIC_H
#define TILELOOM_SCHEDULE_TRAFFIC_H

#include "tileloom/Schedule/ScalarValues.h"

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::schedule {

/// What should stay in L2 (the schedule's `keep`).
enum class Keep { None, Rows, Columns };

/// How often a loop runs, if that is not known: as it is of every scf.while.
inline constexpr double unknownTrips = 8;

/// How often a loop runs, as far as it is known.
double tripsOf(mlir::scf::ForOp loop, ScalarValues &evaluate);

/// Whether a tile is loaded again and again while the CTA has one tile of the loop over tiles.
inline bool isStreamed(mlir::Operation *load) {
  return load->getParentOfType<mlir::scf::ForOp>() || load->getParentOfType<mlir::scf::WhileOp>();
}

/// Tiles of one section, rows x all columns, run row by row within a column; `processors` at once.
/// What belongs to a row (column) of tiles is read from DRAM again when what is read in between
/// does not fit `cacheBytes`.
class Traffic {
public:
  struct Order {
    double rows, columns; ///< of tiles: the last two extents
    double together;      ///< rows of a section
    double atOnce;        ///< tiles
    double cacheBytes;
    double slices = 1; ///< of each tile, neighbours in the order of the work
  };

  /// Adds a tile.load or tile.store. `splits`: its rows begin at no line of 128 bytes. `spread`: times its bytes that it
  /// takes of L2, and a store of DRAM.
  void add(mlir::Operation *op, ScalarValues &evaluate, bool splits, double spread);

  double through() const { return all; }
  double dram(const Order &order) const;
  /// Bytes of operands that CTAs far apart read at a time. They take as long as if DRAM were read twice: L2 has two
  /// halves, and neighbours share one.
  double apart(const Order &order) const;
  /// Bytes that L2 gives and takes: what neighbours read at a time is read once.
  double fetched(const Order &order) const;
  /// Bytes that all CTAs together load for one tile of each.
  double workingSet(const Order &order) const;
  double stream() const { return perTile; } ///< bytes that one tile loads in loops

  /// What pays to keep: the smaller operand, where the other one is read once and would push
  /// everything else out of L2.
  Keep keep(const Order &order) const;

private:
  struct Box {
    bool load, splits;
    bool halves;          ///< splits lines, and one at a time
    bool byRow, byColumn; ///< depends on an extent but the last, on the last
    double distinct;      ///< bytes of all tiles
    double tile;          ///< bytes of one tile
    double spread;
  };
  double distinctOf(bool byRow, bool byColumn) const;

  llvm::SmallVector<Box> boxes;
  double all = 0, perTile = 0;
};

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_TRAFFIC_H
