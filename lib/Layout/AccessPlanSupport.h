//===- AccessPlanSupport.h - Addresses of all threads as one function -------===//
//
// Shared by the plans for matrix and for vector accesses: finding the thread's address function
// and, for an access, the XOR and the added constant with which that function gives the right
// address in every thread.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_LAYOUT_ACCESSPLANSUPPORT_H
#define TILELOOM_LIB_LAYOUT_ACCESSPLANSUPPORT_H

#include "ElementTable.h"
#include "Support.h"
#include "tileloom/Layout/AccessPlan.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tileloom::layout {

/// The ways of combining contributions to try: XOR alone; XOR inside a 128-byte line, where
/// swizzles act, and addition above; addition alone.
constexpr int64_t xorMasks[] = {-1, 0x7F, 0};

/// The basis that leads from `origin` to `value` under a mask.
inline int64_t basisBetween(int64_t origin, int64_t value, int64_t xorMask) {
  return ((value ^ origin) & xorMask) + ((value & ~xorMask) - (origin & ~xorMask));
}
/// One contribution applied: the inverse of basisBetween.
inline int64_t applyBasis(int64_t origin, int64_t basis, int64_t xorMask) {
  return ((origin ^ basis) & xorMask) + (origin & ~xorMask) + (basis & ~xorMask);
}

/// The warps' part of a thread function, from the value of one register in lane 0 of each warp:
/// bits of the core's warps, then whole groups.
ThreadFunction warpFunction(const RegisterLayout &regs, llvm::function_ref<int64_t(unsigned)> value,
                            int64_t xorMask = -1);

/// xorBytes and addBytes such that plan.laneBytes gives wanted(lane, warp) in the first `lanes`
/// lanes of every warp; false if there are none.
bool fitAddress(const SharedAccessPlan &plan, SharedAccess &access, unsigned lanes, unsigned warps,
                Swizzle swizzle, llvm::function_ref<int64_t(unsigned, unsigned)> wanted);

/// The byte offset of every place, after checking that the layouts fit together.
llvm::Expected<ElementTable> offsetTable(const RegisterLayout &regs, const SharedLayout &shared);

} // namespace tileloom::layout

#endif // TILELOOM_LIB_LAYOUT_ACCESSPLANSUPPORT_H
