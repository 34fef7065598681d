//===- InitAll.h - Everything that Tileloom's tools and libraries register --------*- C++ -*-===//
//
// One place for the dialects, the translations to LLVM IR, the passes and the pipelines, shared by
// the opt tool, compile mode and the C API.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_INITALL_H
#define TILELOOM_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tileloom {

/// The project's dialects, the upstream ones that programs may use, and what their translation to
/// LLVM IR needs.
void registerAllDialects(mlir::DialectRegistry &registry);

/// The project's passes and pipelines, and the upstream passes that its pipelines are made of. Once
/// per process is enough; more calls do no harm.
void registerAllPasses();

} // namespace tileloom

#endif // TILELOOM_INITALL_H
