//===- ExpandDivisions.cpp - Rounding divisions to plain arithmetic ------------------------===//
//
// ceildiv and floordiv become what every later pass and LLVM know. MLIR's arith-expand does too, but
// also takes maxnumf and minnumf apart: two comparisons and two selects for one instruction.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPEXPANDDIVISIONS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;

namespace {
struct ExpandDivisions : tileloom::warp::impl::WarpExpandDivisionsBase<ExpandDivisions> {
  void runOnOperation() override {
    SmallVector<Operation *> divisions;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op))
        divisions.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps);
    if (failed(applyOpPatternsGreedily(divisions, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
