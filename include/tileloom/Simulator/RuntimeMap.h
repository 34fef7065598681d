//===- RuntimeMap.h - Tensor maps of the runtime ------------------*- C++ -*-===//
//
// The runtime evaluates a launch recipe to TileloomTensorMap: the numbers that
// cuTensorMapEncodeTiled would get. The simulator's kernels read the simulator's own opaque form.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_RUNTIMEMAP_H
#define TILELOOM_SIMULATOR_RUNTIMEMAP_H

#include "tileloom-c/Runtime.h"
#include "tileloom/Simulator/TensorMap.h"

namespace tileloom {
namespace sim {

/// Writes the opaque form. Returns what is wrong with the map, or an empty string.
inline Error encodeRuntimeMap(const TileloomTensorMap &from, uint8_t bytes[tensorMapBytes]) {
  TensorMap map;
  map.globalAddress = from.address;
  map.rank = from.rank;
  for (unsigned i = 0; i < 5; ++i) {
    map.globalDim[i] = from.extents[i];
    map.boxDim[i] = from.box[i];
  }
  for (unsigned i = 0; i < 4; ++i)
    map.globalStride[i] = from.strides[i];
  map.type = TmaType(from.dataType);
  map.interleave = TmaInterleave(from.interleave);
  map.swizzle = Swizzle(from.swizzle);
  map.l2Promotion = TmaL2Promotion(from.l2Promotion);
  map.fill = TmaFill(from.fill);
  Error error = validate(map);
  if (error.empty())
    encode(map, bytes);
  return error;
}

} // namespace sim
} // namespace tileloom

#endif
