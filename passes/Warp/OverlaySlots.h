//===- OverlaySlots.h - Tiles written over those that they are made of ------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_OVERLAYSLOTS_H
#define TILELOOM_PASSES_WARP_OVERLAYSLOTS_H

#include "dialects/Warp/Warp.h"

namespace tileloom {

/// Columns of tensor memory that a slot takes.
int64_t columnsOf(warp::BufferType type);

/// Lets the tiles of `buffer`, in tensor memory, lie over those of another buffer that the same role reads and gives back before it writes
/// them. False, and nothing changes, where there is none.
bool overlaySlots(warp::BufferOp buffer);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_OVERLAYSLOTS_H
