//===- ThreadContext.cpp - The warm MLIR context of each thread ---------------------===//

#include "ThreadContext.h"

#include "tileloom/InitAll.h"

#include "mlir/IR/DialectRegistry.h"

#include <memory>

namespace {
/// Programs after which a thread's context is remade.
constexpr unsigned contextLife = 512;

struct ThreadState {
  std::unique_ptr<mlir::MLIRContext> context;
  unsigned uses = 0;
};

ThreadState &state() {
  static thread_local ThreadState state;
  return state;
}
} // namespace

namespace tileloom {

mlir::MLIRContext &threadContext() {
  ThreadState &own = state();
  if (!own.context || ++own.uses > contextLife) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    own.context =
        std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    own.context->printOpOnDiagnostic(false);
    own.uses = 0;
  }
  return *own.context;
}

void abandonThreadContext() { (void)state().context.release(); }

} // namespace tileloom
