//===- OrderTurns.h - Orders to hardware barriers ---------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_NV_ORDERTURNS_H
#define TILELOOM_PASSES_NV_ORDERTURNS_H

#include "dialects/Warp/Warp.h"

namespace tileloom::nv {

/// Hardware barriers of a CTA; number 0 is the one that all its threads meet in.
inline constexpr int64_t hardwareBarriers = 16;

/// Turns of replicas of whole warps to hardware barriers. False, and nothing changed, where that is
/// not possible.
bool lowerToHardwareBarriers(warp::OrderOp order);

} // namespace tileloom::nv

#endif // TILELOOM_PASSES_NV_ORDERTURNS_H
