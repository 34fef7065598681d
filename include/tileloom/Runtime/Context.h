//===- Context.h - CUDA contexts known to the runtime ---------------------===//
//
// One Runtime for each driver (in a program: one). It knows the contexts in which kernels were
// launched: the device's limits, the cache of tensor maps, a stream of its own. Entering a context
// makes it current for the time of a launch and afterwards restores what the caller had.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_CONTEXT_H
#define TILELOOM_RUNTIME_CONTEXT_H

#include "tileloom/Runtime/Driver.h"
#include "tileloom/Runtime/TensorMap.h"
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tileloom::runtime {

/// What the runtime keeps for one CUDA context. Identified by cuCtxGetId, since a context made
/// after a device reset may have the address of the old one.
struct ContextState {
  unsigned long long id = 0;
  cuda::Context handle = nullptr;
  TileloomDevice device = {};
  bool cooperative = false;
  std::string name; ///< "CUDA device 0 (NVIDIA H200)"
  TensorMapCache maps;

  std::mutex mutex;             ///< guards the two below
  cuda::Stream setup = nullptr; ///< for work outside the user's streams, non-blocking
  cuda::Pointer scratch = 0;    ///< stands in for tensors without elements
};

class Runtime {
public:
  explicit Runtime(std::unique_ptr<Driver> driver) : driverTable(std::move(driver)) {}

  /// The one of the process, on the system's driver; opened at the first call, retried after
  /// failure.
  static llvm::Expected<Runtime *> get();

  const Driver &driver() const { return *driverTable; }

  /// A context made current for one launch.
  class Entered {
  public:
    Entered(const Driver &driver, ContextState *state, bool pushed)
        : state(state), driver(driver), pushed(pushed) {}
    Entered(Entered &&other)
        : state(other.state), driver(other.driver), pushed(std::exchange(other.pushed, false)) {}
    ~Entered();
    ContextState *state;

  private:
    const Driver &driver;
    bool pushed;
  };

  /// Enters the current context if it is on device `ordinal` (or `ordinal` is negative), else the
  /// primary context of the device (of device 0 if none is asked for and none is current).
  llvm::Expected<Entered> enter(int32_t ordinal);

  /// Zeroes memory now, apart from all of the user's streams. Legal while other streams capture.
  llvm::Error zeroNow(ContextState &context, cuda::Pointer address, uint64_t bytes);

  /// 256 bytes of device memory for the maps of empty tensors.
  llvm::Expected<cuda::Pointer> scratch(ContextState &context);

private:
  llvm::Expected<cuda::Context> primary(int32_t ordinal);
  llvm::Expected<ContextState *> find(cuda::Context handle, int32_t ordinal);
  llvm::Error describeDevice(ContextState &context, int32_t ordinal);
  llvm::Error zeroLocked(ContextState &context, cuda::Pointer address, uint64_t bytes);

  std::unique_ptr<Driver> driverTable;
  std::mutex mutex;
  std::vector<std::unique_ptr<ContextState>> contexts;
  std::vector<std::pair<int32_t, cuda::Context>> primaries; ///< retained, by device ordinal
};

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_CONTEXT_H
