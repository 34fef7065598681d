//===- Workspace.h - Device buffers of a kernel, one for each stream ------===//
//
// Launches on one stream are ordered and share a buffer; launches on different streams may overlap
// and do not. A captured launch gets a buffer of its graph, for the graph may be replayed on any
// stream; the buffer comes back when the graph and all its executables are gone. "Zero" buffers are
// zeroed when they are made; kernels hand them back zeroed.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_WORKSPACE_H
#define TILELOOM_RUNTIME_WORKSPACE_H

#include "tileloom/Runtime/Context.h"

namespace tileloom::runtime {

class WorkspacePool {
public:
  /// `bytes` for each stream; 0 makes every call return 0.
  WorkspacePool(uint64_t bytes, bool zero)
      : shared(std::make_shared<Shared>()), bytes(bytes), zero(zero) {}

  /// The buffer for a launch on `stream`. Legal while the stream, or any other, captures.
  llvm::Expected<cuda::Pointer> get(Runtime &runtime, ContextState &context, cuda::Stream stream);

  /// Frees all buffers. Nothing may use them any more.
  void release(Runtime &runtime);

private:
  struct Entry {
    unsigned long long stream;
    uint64_t capture; ///< id of the capture, 0 outside of any
    cuda::Pointer address;
  };
  /// Outlives the pool as long as a captured graph refers to one of its buffers.
  struct Shared {
    std::mutex mutex;
    std::vector<Entry> entries;
    std::vector<cuda::Pointer> spare;
  };
  struct GraphReference {
    std::shared_ptr<Shared> shared;
    cuda::Pointer address;
  };
  static void graphGone(void *reference);
  llvm::Expected<cuda::Pointer> make(Runtime &runtime, ContextState &context);
  llvm::Error tieToGraph(Runtime &runtime, cuda::Graph graph, cuda::Pointer address);

  std::shared_ptr<Shared> shared;
  uint64_t bytes;
  bool zero;
};

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_WORKSPACE_H
