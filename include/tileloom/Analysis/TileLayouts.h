//===- TileLayouts.h - From layout attributes to layouts -------------------------*- C++ -*-===//
//
// The maps of lib/Layout that the attributes of the nv dialect name, for a tensor in registers and
// for a tile in shared memory.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_TILELAYOUTS_H
#define TILELOOM_ANALYSIS_TILELAYOUTS_H

#include "dialects/NV/NV.h"
#include "tileloom/Layout/RegisterLayout.h"
#include "tileloom/Layout/SharedLayout.h"
#include "tileloom/Layout/TensorMemoryLayout.h"
#include "tileloom/Layout/TmemAccessPlan.h"

namespace tileloom {

/// The layout of a register tile whose encoding is a layout attribute.
llvm::Expected<layout::RegisterLayout> registerLayout(mlir::RankedTensorType type);
llvm::Expected<layout::RegisterLayout>
registerLayout(mlir::Attribute attribute, llvm::ArrayRef<int64_t> shape, unsigned elementBits);

/// The layout of a tile in shared memory whose layout is `#nv.smem`; of the whole allocation when
/// the tile is a slice of one.
llvm::Expected<layout::SharedLayout> sharedLayout(nv::MemDescType type);

/// The boxes of the copies that fill or read a tile in shared memory, also of a slice of rows of an
/// allocation.
llvm::Expected<llvm::SmallVector<layout::TmaBox, 4>> tmaBoxes(nv::MemDescType type);

/// The layout of a tile in tensor memory whose layout is `#nv.tmem`: what one CTA holds of it.
llvm::Expected<layout::TensorMemoryLayout> tensorMemoryLayout(nv::MemDescType type);
/// How registers of `warps` warps hold a tile that moves to or from tensor memory.
nv::TmemLoadAttr tensorMemoryRegisters(nv::MemDescType type, int64_t warps);
layout::TmemShape accessShape(nv::TmemShape shape);

/// The shape without unit extents, at least one of them kept.
llvm::SmallVector<int64_t> squeezeShape(llvm::ArrayRef<int64_t> shape);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_TILELAYOUTS_H
