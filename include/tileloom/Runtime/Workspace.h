//===- Workspace.h - A device buffer of a kernel for each stream ------------===//
//
// Launches on one stream are ordered and share a buffer; launches on different streams may overlap
// and do not. A captured launch gets a buffer of its graph, for the graph may be replayed on any
// stream; the buffer comes back when the graph and all its executables are gone. "Zero" buffers are
// zeroed when they are made; kernels hand them back zeroed.
//
// A launch that needs more than the buffer has gets a new one of at least twice the size. The old one stays
// until the kernel is released, as launches that have it may still run.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_WORKSPACE_H
#define TILELOOM_RUNTIME_WORKSPACE_H

#include "tileloom/Runtime/Context.h"

namespace tileloom::runtime {

class WorkspacePool {
public:
  explicit WorkspacePool(bool zero) : shared(std::make_shared<Shared>()), zero(zero) {}

  /// A buffer of `bytes` for a launch on `stream`; 0 if that is 0. Legal while the stream, or any other,
  /// captures.
  llvm::Expected<cuda::Pointer> get(Runtime &runtime, ContextState &context, cuda::Stream stream,
                                    uint64_t bytes);

  /// Frees all buffers. Nothing may use them any more.
  void release(Runtime &runtime);

private:
  struct Buffer {
    cuda::Pointer address;
    uint64_t bytes;
  };
  struct Entry {
    unsigned long long stream;
    uint64_t capture; ///< id of the capture, 0 outside of any
    bool tied;        ///< to its graph: graphGone takes it back
    Buffer buffer;
  };
  /// Outlives the pool as long as a captured graph refers to one of its buffers.
  struct Shared {
    std::mutex mutex;
    std::vector<Entry> entries;
    std::vector<Buffer> spare;
    std::vector<Buffer> outgrown;
    uint64_t kept = 0; ///< bytes of buffers for captures that are not tied to their graphs
  };
  struct GraphReference {
    std::shared_ptr<Shared> shared;
    cuda::Pointer address;
  };
  static void graphGone(void *reference);
  llvm::Expected<cuda::Pointer> make(Runtime &runtime, ContextState &context, uint64_t bytes);
  llvm::Error tieToGraph(Runtime &runtime, cuda::Graph graph, cuda::Pointer address);

  std::shared_ptr<Shared> shared;
  bool zero;
};

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_WORKSPACE_H
