//===- TensorMap.h - From a tensor argument to a tensor map ---------------===//
//
// Makes the numbers of a tensor map (TileloomTensorMap) of a tensor argument and checks them by the
// rules of cuTensorMapEncodeTiled (cuda.h); and the cache of encoded maps. A map is a pure function
// of these numbers, so the numbers are the key.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_TENSORMAP_H
#define TILELOOM_RUNTIME_TENSORMAP_H

#include "tileloom/Runtime/Check.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <mutex>
#include <unordered_map>

namespace tileloom::runtime {

static_assert(sizeof(TileloomTensorMap) == 128, "stands in for the 128-byte CUtensorMap");

/// The map of `argument` for `parameter`. A tensor without elements has no map: it gets address 0
/// and extents of 1, and the caller puts in the address of memory that may be read and written.
llvm::Expected<TileloomTensorMap> makeTensorMap(const Recipe &recipe,
                                                const ParameterSpec &parameter,
                                                const TileloomArgument &argument);

/// One line with all numbers of a map, for error messages.
std::string describe(const TileloomTensorMap &map);

struct alignas(64) EncodedTensorMap {
  unsigned char bytes[128];
};

/// Encoded maps by their numbers. Safe to use from several threads.
class TensorMapCache {
public:
  using Encode = llvm::function_ref<llvm::Error(const TileloomTensorMap &, EncodedTensorMap &)>;

  /// Copies the encoded `map` to `out`, calling `encode` if it is not known.
  llvm::Error get(const TileloomTensorMap &map, unsigned char *out, Encode encode);

private:
  struct Hash {
    size_t operator()(const TileloomTensorMap &map) const;
  };
  struct Equal {
    bool operator()(const TileloomTensorMap &a, const TileloomTensorMap &b) const;
  };
  std::mutex mutex;
  std::unordered_map<TileloomTensorMap, EncodedTensorMap, Hash, Equal> entries;
};

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_TENSORMAP_H
