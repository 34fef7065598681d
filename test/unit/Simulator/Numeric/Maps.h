//===- Maps.h - Tensor maps for tests -----------------------------*- C++ -*-===//
#ifndef TILELOOM_TEST_SIMULATOR_MAPS_H
#define TILELOOM_TEST_SIMULATOR_MAPS_H

#include "tileloom/Simulator/TensorMap.h"

namespace tileloom::sim {

/// A matrix whose rows are a multiple of 32 bytes apart.
inline TensorMap matrix(TmaType type, uint64_t columns, uint64_t rows, uint32_t boxColumns,
                        uint32_t boxRows, Swizzle swizzle = Swizzle::None) {
  TensorMap map;
  map.rank = 2;
  map.type = type;
  map.globalAddress = 0x10000;
  map.globalDim[0] = columns;
  map.globalDim[1] = rows;
  map.globalStride[0] = (columns * elementBits(type) / 8 + 31) / 32 * 32;
  map.boxDim[0] = boxColumns;
  map.boxDim[1] = boxRows;
  map.swizzle = swizzle;
  return map;
}

} // namespace tileloom::sim

#endif
