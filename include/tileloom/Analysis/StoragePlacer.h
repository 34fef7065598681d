//===- StoragePlacer.h - Places for storage that may overlap -----------------------*- C++ -*-===//
//
// Allocation by lifetimes: the first place that does not overlap with anything used at the same
// time. Units are bytes of shared memory or columns of tensor memory.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_STORAGEPLACER_H
#define TILELOOM_ANALYSIS_STORAGEPLACER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <set>

namespace tileloom {

class StoragePlacer {
public:
  /// `apart`: pairs of storages that are never used at the same time (Lifetimes.h).
  explicit StoragePlacer(llvm::ArrayRef<std::pair<int64_t, int64_t>> apart)
      : apart(apart.begin(), apart.end()) {}

  /// The lowest place for `size` units of a storage where they overlap with nothing placed before that
  /// may be used with them. A negative storage is used all the time, and comes after all others.
  int64_t place(int64_t storage, int64_t size, int64_t alignment);

  /// Where the last place ends.
  int64_t end() const { return last; }

  /// The places, by order of placing, that the last one overlaps with.
  llvm::SmallVector<size_t> overlaps() const;

private:
  struct Place {
    int64_t storage, begin, end;
    bool meets(const Place &other) const { return begin < other.end && other.begin < end; }
  };
  llvm::SmallVector<Place> places;
  std::set<std::pair<int64_t, int64_t>> apart;
  int64_t last = 0;

  bool areApart(int64_t a, int64_t b) const;
};

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_STORAGEPLACER_H
