//===- Passes.h - Passes of the emit stage ---------------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_EMIT_PASSES_H
#define TILELOOM_PASSES_EMIT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tileloom::emit {

#define GEN_PASS_DECL
#include "passes/Emit/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Emit/Passes.h.inc"

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_PASSES_H
