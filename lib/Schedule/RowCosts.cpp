//===- RowCosts.cpp - What the rows of boxes cost beside their bytes ----------------------===//
//
// L2 is asked by lines of 128 bytes and sectors of 32. A row of a box that begins within a line touches one more than it fills. The value of a
// descriptor is the distance of its tensor's rows.
//
//===--------------------------------------------------------------------------------------===//

#include "RowCosts.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace tileloom::schedule {

constexpr int64_t line = 128, sector = 32;

LoadedRows loadedRows(tile::LoadOp load, ScalarValues &evaluate, const Machine &machine) {
  RankedTensorType type = load.getType();
  double row = rowBytes(type), lines = 1, sectors = 1;
  if (std::optional<double> pitch = evaluate(load.getDesc())) {
    double aligned = std::gcd(int64_t(*pitch), line);
    // Each 128 bytes of a row are a box of their own.
    double box = std::min<double>(row, line);
    lines = std::max(1.0, (box + line - aligned) / line);
    sectors = aligned < sector ? 1 + sector / box : 1;
  }
  // The swizzle, and with it the rows that are copied, is the widest one that divides a row of the tile.
  int64_t swizzle = std::gcd(int64_t(row), line);
  return {lines > 1, std::pow(lines, machine.splitCopy) * std::pow(sectors, machine.sectorCopy),
          std::pow(lines, machine.splitFetch) * std::pow(sectors, machine.sectorFetch),
          type.getRank() < 2 || swizzle == line ? 1 : std::max(1.0, machine.narrowRow / swizzle), sectors > 1};
}

StoredRows storedRows(Operation *store, int64_t columns, ScalarValues &evaluate, const Machine &machine) {
  auto type = cast<RankedTensorType>(store->getOperand(0).getType());
  int64_t row = int64_t(std::ceil(rowBytes(type))), pitch = int64_t(evaluate(store->getOperand(1)).value_or(0));
  double swizzle = std::gcd(int64_t(llvm::divideCeil(columns * type.getElementTypeBitWidth(), 8)), line);
  // Pieces of one row of the tile meet in L2: the whole row's lines count.
  double aligned = std::gcd(std::gcd(pitch, row), line);
  double lines = (row + line - aligned) / row;
  return {std::pow(std::max(machine.storeRow / swizzle, 1.0), machine.storeRowPower),
          std::pow(lines, machine.partialLines) * std::pow(std::max(machine.partialRow / swizzle, 1.0), machine.partialRowPower)};
}

} // namespace tileloom::schedule
