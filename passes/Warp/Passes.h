//===- Passes.h - Passes of the warp stage ---------------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_PASSES_H
#define TILELOOM_PASSES_WARP_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tileloom::warp {

#define GEN_PASS_DECL
#include "passes/Warp/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Warp/Passes.h.inc"

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_PASSES_H
