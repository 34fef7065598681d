//===- Pressure.h - Registers that a program needs -------------------------------*- C++ -*-===//
//
// Element-wise code works on one element after the other, so its intermediate tiles never exist
// whole. What must be whole are the tiles that live across an operation that moves elements: an
// access, a reduction, a conversion. Integer tiles that are made of indices, masks and constants
// are not counted: they are made again, or are predicates.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_PRESSURE_H
#define TILELOOM_ANALYSIS_PRESSURE_H

#include "dialects/Warp/Warp.h"

namespace tileloom {

/// Registers of 32 bits that a thread of the role needs at the fullest point of its program. Nothing
/// if the role has operations whose need is not known (products, buffers).
std::optional<int64_t> registerPressure(warp::RoleOp role);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_PRESSURE_H
