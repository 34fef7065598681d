//===- NVNames.h - Discardable attributes of the nv dialect -----------------------*- C++ -*-===//

#ifndef TILELOOM_DIALECTS_NV_NVNAMES_H
#define TILELOOM_DIALECTS_NV_NVNAMES_H

#include "llvm/ADT/StringRef.h"

namespace tileloom::nv {

/// On functions: threads of a CTA; bytes of dynamic shared memory; the extents of the grid and the number of tiles along
/// each extent, as recipe expressions (docs/recipe.md); unit, that it may start while the kernel ahead ends.
inline constexpr llvm::StringLiteral threadsAttrName = "nv.threads";
inline constexpr llvm::StringLiteral sharedBytesAttrName = "nv.shared_bytes";
inline constexpr llvm::StringLiteral gridAttrName = "nv.grid";
inline constexpr llvm::StringLiteral tilesAttrName = "nv.tiles";
inline constexpr llvm::StringLiteral dependentAttrName = "nv.dependent";

/// On functions: the most registers that a thread can have (nv-assign-warps), and fewer, with which more CTAs run
/// (nv-plan-registers); how many hardware barriers its orders take, from the last one down.
inline constexpr llvm::StringLiteral registerLimitAttrName = "nv.max_registers";
inline constexpr llvm::StringLiteral wantedRegistersAttrName = "nv.wanted_registers";
inline constexpr llvm::StringLiteral orderBarriersAttrName = "nv.order_barriers";

/// Storage (nv-find-lifetimes). On buffers, allocations, and roles (for the scratch of their exchanges): its number. On
/// functions: pairs of numbers, one after the other, of what is never used at the same time; for the report, what takes which
/// columns of tensor memory. On allocations: the names of what has some of the same bytes.
inline constexpr llvm::StringLiteral storageAttrName = "nv.storage";
inline constexpr llvm::StringLiteral apartAttrName = "nv.apart";
inline constexpr llvm::StringLiteral tensorColumnsAttrName = "nv.tensor_columns";
inline constexpr llvm::StringLiteral overAttrName = "nv.over";
/// On allocations of mbarriers, for the report: the name of the allocation whose slots their ring hands over.
inline constexpr llvm::StringLiteral slotsAttrName = "nv.slots";

/// On roles (nv-assign-warps): the first of its warps in the CTA; for one that uses nv.named_barrier the hardware barrier of
/// its first replica; for one of one warp whether one thread runs it: what shows it is gone after tiles have become scalars.
inline constexpr llvm::StringLiteral firstWarpAttrName = "nv.first_warp";
inline constexpr llvm::StringLiteral barrierAttrName = "nv.barrier";
inline constexpr llvm::StringLiteral singleThreadAttrName = "nv.single_thread";

/// On arguments: the tensor map of a descriptor (docs/recipe.md). On those that the runtime gives and not the user: bytes of a
/// workspace, as a recipe expression. It starts zeroed, and kernels leave it so, unless it has the unit attribute `nv.unset`.
inline constexpr llvm::StringLiteral tensorMapAttrName = "nv.tensor_map";
inline constexpr llvm::StringLiteral workspaceAttrName = "nv.workspace";
inline constexpr llvm::StringLiteral unsetAttrName = "nv.unset";

/// On accesses to global memory: the dimension along which elements are neighbours and how many of
/// them one thread may access together.
inline constexpr llvm::StringLiteral runAttrName = "nv.run";
/// On element-wise integer operations on tiles: how many elements along each dimension form aligned
/// groups of equal elements.
inline constexpr llvm::StringLiteral equalAttrName = "nv.equal";

/// On kernels, when the nv stage is done: what the driver reads, the launch recipe (docs/recipe.md) and the report
/// (docs/report.md).
inline constexpr llvm::StringLiteral recipeAttrName = "tileloom.recipe";
inline constexpr llvm::StringLiteral reportAttrName = "tileloom.report";

} // namespace tileloom::nv

#endif // TILELOOM_DIALECTS_NV_NVNAMES_H
