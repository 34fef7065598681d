//===- MarkEqual.cpp - Groups of equal integers in tiles ----------------------------------===//
//
// In: element-wise integer code on tiles (masks, offsets). Out: `nv.equal = [n0, n1, ...]` on what
// is known to be equal within aligned groups of n0 x n1 x ... elements (AxisInfo): a thread then
// computes one element of each group that it holds. A mask `index < columns` costs a comparison for
// each vector access instead of one for each element, and as few predicates.
//
// The fact is about the value, not its layout: it stays on copies that layouts need.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/NV/NV.h"
#include "tileloom/Analysis/AxisInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVMARKEQUAL
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

bool computesIntegers(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      !isa<arith::ArithDialect>(op->getDialect()) || !OpTrait::hasElementwiseMappableTraits(op))
    return false;
  auto tensor = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return tensor && tensor.getElementType().isInteger();
}

struct MarkEqual : tileloom::nv::impl::NVMarkEqualBase<MarkEqual> {
  void runOnOperation() override {
    getOperation()->walk([](func::FuncOp function) {
      SmallVector<Operation *> ops;
      function.walk([&](Operation *op) {
        if (computesIntegers(op))
          ops.push_back(op);
      });
      if (ops.empty())
        return;
      AxisInfoAnalysis facts(function);
      for (Operation *op : ops) {
        AxisInfo info = facts.of(op->getResult(0));
        if (llvm::any_of(info.constancy, [](int64_t equal) { return equal > 1; }))
          op->setAttr(nv::equalAttrName, DenseI64ArrayAttr::get(op->getContext(), info.constancy));
      }
    });
  }
};

} // namespace
