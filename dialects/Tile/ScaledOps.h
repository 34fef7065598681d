//===- ScaledOps.h - Products with block scales -----------------------------------*- C++ -*-===//

#ifndef TILELOOM_DIALECTS_TILE_SCALEDOPS_H
#define TILELOOM_DIALECTS_TILE_SCALEDOPS_H

#include "dialects/Tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/Tile/ScaledOps.h.inc"

#endif // TILELOOM_DIALECTS_TILE_SCALEDOPS_H
