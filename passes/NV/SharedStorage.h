//===- SharedStorage.h - What nv-find-lifetimes found ------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_NV_SHAREDSTORAGE_H
#define TILELOOM_PASSES_NV_SHAREDSTORAGE_H

#include "tileloom/Analysis/StoragePlacer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace tileloom::nv {

/// On buffers, allocations, and roles (for the scratch of their exchanges): the number of the storage.
inline constexpr llvm::StringLiteral storageAttrName = "nv.storage";
/// On functions: pairs of numbers of storage that is never used at the same time, one after the other.
inline constexpr llvm::StringLiteral apartAttrName = "nv.apart";
/// On allocations: the names of what has some of the same bytes.
inline constexpr llvm::StringLiteral overAttrName = "nv.over";
/// On allocations of mbarriers, for the report: the name of the allocation whose slots their ring hands over.
inline constexpr llvm::StringLiteral slotsAttrName = "nv.slots";
/// On functions, for the report: what takes which columns of tensor memory.
inline constexpr llvm::StringLiteral tensorColumnsAttrName = "nv.tensor_columns";

/// A placer that knows `nv.apart` of a function.
inline StoragePlacer placerFor(mlir::Operation *function) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> apart;
  if (auto pairs = function->getAttrOfType<mlir::DenseI64ArrayAttr>(apartAttrName))
    for (int64_t index = 0; index + 1 < pairs.size(); index += 2)
      apart.push_back({pairs[index], pairs[index + 1]});
  return StoragePlacer(apart);
}

/// The number of an allocation's storage; -1 if it has none.
inline int64_t storageOf(mlir::Operation *alloc) {
  auto number = alloc->getAttrOfType<mlir::IntegerAttr>(storageAttrName);
  return number ? number.getInt() : -1;
}

/// The names of the allocations that the last placed one shares memory with, or null.
template <typename Alloc>
mlir::ArrayAttr sharedWith(const StoragePlacer &placer, llvm::ArrayRef<Alloc> placed) {
  llvm::SmallVector<mlir::Attribute> names;
  for (size_t index : placer.overlaps()) {
    Alloc alloc = placed[index];
    names.push_back(mlir::StringAttr::get(alloc->getContext(), alloc.getName().value_or("?")));
  }
  return names.empty() ? mlir::ArrayAttr()
                       : mlir::ArrayAttr::get(names.front().getContext(), names);
}

} // namespace tileloom::nv

#endif // TILELOOM_PASSES_NV_SHAREDSTORAGE_H
