//===- Packing.h - Several programs in a CTA --------------------------------------*- C++ -*-===//

#ifndef TILELOOM_DIALECTS_NV_PACKING_H
#define TILELOOM_DIALECTS_NV_PACKING_H

#include "llvm/ADT/StringRef.h"

namespace tileloom::nv {

/// On functions (nv-assign-warps): how many programs, each of one warp, a CTA may hold. The launch says how many it does.
inline constexpr llvm::StringLiteral packedAttrName = "nv.packed";

} // namespace tileloom::nv

#endif // TILELOOM_DIALECTS_NV_PACKING_H
