//===- UserPatterns.h - Patterns for the user dialect ---------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_EMIT_USERPATTERNS_H
#define TILELOOM_PASSES_EMIT_USERPATTERNS_H

#include "passes/Emit/TileConversion.h"

namespace tileloom::emit {

void populateDebugPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateInlineAsmPatterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_USERPATTERNS_H
