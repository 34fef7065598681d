//===- KernelFrame.h - Head and tail of a kernel ---------------------------------*- C++ -*-===//
//
// What all threads of a kernel do before and after their roles: initialise mbarriers, allocate and
// free tensor memory, and meet (the CTAs of a cluster too). The only place with barriers of the
// whole CTA or cluster: inside a role they would wait for ever.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_EMIT_KERNELFRAME_H
#define TILELOOM_PASSES_EMIT_KERNELFRAME_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"

namespace tileloom::emit {

class KernelFrame {
public:
  /// Collects the mbarrier initialisations and the tensor memory allocation that stand at the
  /// function's entry.
  explicit KernelFrame(mlir::func::FuncOp function);

  /// Adds the head at `builder`; `warp` is the uniform warp index of the executing thread.
  void createHead(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value warp);
  /// Adds the tail at `builder`: nothing for a kernel without cluster and tensor memory.
  void createTail(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value warp);

private:
  void prepare(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value warp);
  void meet(mlir::OpBuilder &builder, mlir::Location loc);

  llvm::SmallVector<mlir::Operation *> inits;
  mlir::NVVM::Tcgen05AllocOp alloc;
  int64_t cluster = 1;
  bool dependent = false;
  int64_t allocatingWarp = 0;
};

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_KERNELFRAME_H
