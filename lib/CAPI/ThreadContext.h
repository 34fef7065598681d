//===- ThreadContext.h - The warm MLIR context of each thread -------------*- C++ -*-===//
//
// Making a context (dialects, interfaces) costs more than compiling a small kernel, so each thread
// keeps one. It is remade now and then, because a context never frees the types, attributes and
// locations of past programs.
//
//===--------------------------------------------------------------------------------===//

#ifndef TILELOOM_LIB_CAPI_THREADCONTEXT_H
#define TILELOOM_LIB_CAPI_THREADCONTEXT_H

#include "mlir/IR/MLIRContext.h"

namespace tileloom {

/// The calling thread's context, for one more program.
mlir::MLIRContext &threadContext();

/// Leaks the calling thread's context: after a fatal error it may be in the middle of anything.
void abandonThreadContext();

} // namespace tileloom

#endif // TILELOOM_LIB_CAPI_THREADCONTEXT_H
