//===- Workspace.cpp - A device buffer of a kernel for each stream ----===//
//
// Streams are told apart by cuStreamGetId: a handle may be reused after its stream is destroyed,
// while that stream's last launches still run.
//
// A graph that holds a user object takes 2.3 microseconds more for each replay (H200, driver 580.159: 24.0
// instead of 21.6 for a launch of attention over a cache). So the first buffers for captures are not tied to their
// graphs: they stay until the kernel is released. Programs that capture without end come to the tied ones.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Workspace.h"
#include "llvm/ADT/STLExtras.h"

namespace tileloom::runtime {

/// Of one workspace of a kernel, for captures whose graphs may be gone.
constexpr uint64_t mostKept = uint64_t(64) << 20;

void WorkspacePool::graphGone(void *pointer) {
  // Called by the driver on a thread that may not call CUDA: only put the buffer aside.
  std::unique_ptr<GraphReference> reference(static_cast<GraphReference *>(pointer));
  Shared &shared = *reference->shared;
  std::lock_guard<std::mutex> lock(shared.mutex);
  auto isIt = [&](const Entry &entry) { return entry.tied && entry.buffer.address == reference->address; };
  auto found = llvm::find_if(shared.entries, isIt);
  if (found == shared.entries.end())
    return;
  shared.spare.push_back(found->buffer);
  shared.entries.erase(found);
}

llvm::Error WorkspacePool::tieToGraph(Runtime &runtime, cuda::Graph graph, cuda::Pointer address) {
  const Driver &driver = runtime.driver();
  // Without user objects the buffer stays until the kernel is released.
  if (!driver->userObjectCreate || !driver->graphRetainUserObject)
    return llvm::Error::success();
  auto reference = std::make_unique<GraphReference>(GraphReference{shared, address});
  cuda::UserObject object = nullptr;
  if (llvm::Error error =
          driver.check(driver->userObjectCreate(&object, reference.get(), graphGone, 1,
                                                cuda::userObjectNoDestructorSync),
                       "cuUserObjectCreate"))
    return error;
  reference.release(); // the object owns it now
  return driver.check(driver->graphRetainUserObject(graph, object, 1, cuda::graphUserObjectMove),
                      "cuGraphRetainUserObject");
}

llvm::Expected<cuda::Pointer> WorkspacePool::make(Runtime &runtime, ContextState &context,
                                                  uint64_t bytes) {
  const Driver &driver = runtime.driver();
  RelaxedCapture relaxed(driver);
  cuda::Pointer address = 0;
  if (llvm::Error error =
          driver.check(driver->memAlloc(&address, bytes),
                       "cuMemAlloc of " + llvm::Twine(bytes) + " bytes of workspace"))
    return error;
  if (zero)
    if (llvm::Error error = runtime.zeroNow(context, address, bytes)) {
      driver->memFree(address);
      return error;
    }
  return address;
}

llvm::Expected<cuda::Pointer> WorkspacePool::get(Runtime &runtime, ContextState &context,
                                                 cuda::Stream stream, uint64_t bytes) {
  if (bytes == 0)
    return cuda::Pointer(0);
  const Driver &driver = runtime.driver();
  Entry entry = {};
  int status = cuda::captureNone;
  cuda::Graph graph = nullptr;
  if (llvm::Error error = driver.check(
          driver->streamGetCaptureInfo(stream, &status, &entry.capture, &graph, nullptr, nullptr),
          "cuStreamGetCaptureInfo"))
    return error;
  if (status != cuda::captureActive) {
    entry.capture = 0;
    // Another thread's capture may be global, which forbids even this.
    RelaxedCapture relaxed(driver);
    if (llvm::Error error =
            driver.check(driver->streamGetId(stream, &entry.stream), "cuStreamGetId"))
      return error;
  } // A capturing stream has no id to give (error 900); the capture's own id is enough.

  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    auto known = llvm::find_if(shared->entries, [&](const Entry &other) {
      return other.stream == entry.stream && other.capture == entry.capture;
    });
    if (known != shared->entries.end()) {
      if (known->buffer.bytes >= bytes)
        return known->buffer.address;
      bytes = std::max(bytes, 2 * known->buffer.bytes);
      shared->outgrown.push_back(known->buffer);
      shared->entries.erase(known);
    }
    auto spare = llvm::find_if(shared->spare, [&](const Buffer &other) { return other.bytes >= bytes; });
    if (spare != shared->spare.end()) {
      entry.buffer = *spare;
      shared->spare.erase(spare);
    }
  }
  // Only this stream's thread looks for this entry (launching on one stream from two threads at
  // once has no defined order anyway), so the lock need not be held while memory is made.
  if (!entry.buffer.address) {
    llvm::Expected<cuda::Pointer> made = make(runtime, context, bytes);
    if (!made)
      return made.takeError();
    entry.buffer = {*made, bytes};
  }
  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    entry.tied = entry.capture && shared->kept + entry.buffer.bytes > mostKept;
    if (entry.capture && !entry.tied)
      shared->kept += entry.buffer.bytes;
    // A capture that has ended does not ask again; its buffer only stays.
    if (entry.capture && !entry.tied)
      llvm::erase_if(shared->entries, [&](const Entry &other) {
        bool ended = other.capture && !other.tied && other.capture != entry.capture;
        if (ended)
          shared->outgrown.push_back(other.buffer);
        return ended;
      });
    shared->entries.push_back(entry);
  }
  if (entry.tied)
    if (llvm::Error error = tieToGraph(runtime, graph, entry.buffer.address))
      return error;
  return entry.buffer.address;
}

void WorkspacePool::release(Runtime &runtime) {
  RelaxedCapture relaxed(runtime.driver());
  std::lock_guard<std::mutex> lock(shared->mutex);
  for (const Entry &entry : shared->entries)
    runtime.driver()->memFree(entry.buffer.address);
  for (const std::vector<Buffer> *buffers : {&shared->spare, &shared->outgrown})
    for (const Buffer &buffer : *buffers)
      runtime.driver()->memFree(buffer.address);
  shared->entries.clear();
  shared->spare.clear();
  shared->outgrown.clear();
}

} // namespace tileloom::runtime
