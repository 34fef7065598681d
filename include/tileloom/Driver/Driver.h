//===- Driver.h - The command line of kernel-opt ----------------------------------*- C++ -*-===//
//
// Compile mode of kernel-opt: `kernel-opt prog.mlir --target=sm_90a --emit=ptx,recipe -o out/
// --report`.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DRIVER_DRIVER_H
#define TILELOOM_DRIVER_DRIVER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tileloom {

/// True if the arguments ask for a compilation (--target or --emit is among them, or nothing but
/// --help) rather than for an opt tool.
bool isCompileMode(int argc, char **argv);

/// Parses the command line, compiles, writes the artifacts. The exit status of the process.
int compileMain(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace tileloom

#endif // TILELOOM_DRIVER_DRIVER_H
