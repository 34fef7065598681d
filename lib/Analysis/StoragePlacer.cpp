//===- StoragePlacer.cpp - Places for storage that may overlap ----------------------------===//

#include "tileloom/Analysis/StoragePlacer.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tileloom;

bool StoragePlacer::areApart(int64_t a, int64_t b) const {
  return a >= 0 && b >= 0 && apart.count({std::min(a, b), std::max(a, b)});
}

int64_t StoragePlacer::place(int64_t storage, int64_t size, int64_t alignment) {
  int64_t begin = storage < 0 ? llvm::alignTo(last, alignment) : 0;
  Place own{storage, begin, begin + size};
  for (bool moved = true; moved;) {
    moved = false;
    for (const Place &place : places)
      if (own.meets(place) && !areApart(storage, place.storage)) {
        own.begin = llvm::alignTo(place.end, alignment);
        own.end = own.begin + size;
        moved = true;
      }
  }
  places.push_back(own);
  last = std::max(last, own.end);
  return own.begin;
}

llvm::SmallVector<size_t> StoragePlacer::overlaps() const {
  llvm::SmallVector<size_t> found;
  for (size_t index = 0; index + 1 < places.size(); ++index)
    if (places[index].meets(places.back()))
      found.push_back(index);
  return found;
}
