//===- Chip.h - The GPUs that can be targeted ------------------------------------*- C++ -*-===//
//
// One row per `--target`: the name that LLVM and ptxas use and the PTX version to print. The
// architecture-specific ("a") targets are the only ones offered, because wgmma and tcgen05 exist
// only there (PTX ISA 9.7.15, 9.7.16).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_TARGET_CHIP_H
#define TILELOOM_TARGET_CHIP_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tileloom {

struct Chip {
  llvm::StringRef name;       ///< "sm_90a"
  llvm::StringRef ptxFeature; ///< LLVM feature of the PTX version, "+ptx86"
};

/// The chip called `name`, or null.
const Chip *lookupChip(llvm::StringRef name);

/// "unknown target 'sm_80' (targets: sm_90a, sm_100a, sm_103a)"
std::string unknownChipMessage(llvm::StringRef name);

} // namespace tileloom

#endif // TILELOOM_TARGET_CHIP_H
