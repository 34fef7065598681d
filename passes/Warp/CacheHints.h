//===- CacheHints.h - What of a kernel's loads stays in L2 -----------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_CACHEHINTS_H
#define TILELOOM_PASSES_WARP_CACHEHINTS_H

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"

namespace tileloom {

/// The eviction priority of a load under the schedule's `keep`: what belongs to whole rows
/// (columns) of tiles, and so is read again by each of them, is evicted last; what changes from
/// tile to tile of such a row (column) streams through. Null without `keep`.
nv::CacheHintAttr cacheHintOf(tile::LoadOp load, tile::ScheduleAttr schedule);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_CACHEHINTS_H
