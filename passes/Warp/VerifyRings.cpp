//===- VerifyRings.cpp - Reject unsafe hand-overs -----------------------------------------===//
//
// (in work)
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPVERIFYRINGS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace tileloom::warp;

namespace {
struct VerifyRings : tileloom::warp::impl::WarpVerifyRingsBase<VerifyRings> {
  void runOnOperation() override {}
};
} // namespace
