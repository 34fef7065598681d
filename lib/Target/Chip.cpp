//===- Chip.cpp - The GPUs that can be targeted -------------------------------------------===//
//
// PTX 8.6 is the first version with the shared::cta form of TMA loads, which spares a pair of cvta
// per load, and prints everything that sm_90a has. sm_100a and sm_103a need PTX 8.8: sm_103a begins
// there.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/Chip.h"

#include "llvm/ADT/StringExtras.h"

namespace tileloom {

static constexpr Chip chips[] = {
    {"sm_90a", "+ptx86"},
    {"sm_100a", "+ptx88"},
    {"sm_103a", "+ptx88"},
};

const Chip *lookupChip(llvm::StringRef name) {
  for (const Chip &chip : chips)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

std::string unknownChipMessage(llvm::StringRef name) {
  std::string known;
  for (const Chip &chip : chips)
    known += (known.empty() ? "" : ", ") + chip.name.str();
  return "unknown target '" + name.str() + "' (targets: " + known + ")";
}

} // namespace tileloom
