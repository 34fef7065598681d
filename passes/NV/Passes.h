//===- Passes.h - Passes of the nv stage ---------------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_NV_PASSES_H
#define TILELOOM_PASSES_NV_PASSES_H

#include "tileloom/Schedule/Limits.h"

#include "mlir/Pass/Pass.h"

namespace tileloom::nv {

#define GEN_PASS_DECL
#include "passes/NV/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/NV/Passes.h.inc"

} // namespace tileloom::nv

#endif // TILELOOM_PASSES_NV_PASSES_H
