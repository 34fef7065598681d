//===- AssignTensorMemory.cpp - How tiles lie in tensor memory ----------------------------===//
//
// In: memdescs in tensor memory without layouts. Out: each has a `#nv.tmem` form. A view of a slot
// has one form in all roles, which a product's use of it decides: d is an accumulator, a an
// operand, scales are scales. What no product uses is packed if its elements are narrower than a
// column, else (the two forms are the same then) an accumulator. Slices keep the form of their
// source; a reinterpreted tile is a root of its own.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVASSIGNTENSORMEMORY
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

bool isTensorMemory(Value value) {
  auto type = dyn_cast<nv::MemDescType>(value.getType());
  return type && type.getSpace() == nv::MemorySpace::Tmem;
}

/// A view of a buffer, or a reinterpreted tile.
using Root = std::pair<Value, unsigned>;

Root rootOf(Value view) {
  while (auto slice = view.getDefiningOp<nv::MemDescSliceOp>())
    view = slice.getSource();
  if (auto slot = view.getDefiningOp<warp::SlotOp>()) {
    auto ring = warp::originOf(slot.getToken()).getRing().getDefiningOp<warp::RingOp>();
    return {ring.getBuffer(), cast<OpResult>(view).getResultNumber()};
  }
  return {view, 0};
}

struct Forms {
  llvm::MapVector<Root, std::pair<nv::TmemForm, Operation *>> known;
  LogicalResult result = success();

  void require(Value view, nv::TmemForm form, Operation *op) {
    if (!isTensorMemory(view))
      return;
    auto [entry, inserted] = known.insert({rootOf(view), {form, op}});
    if (inserted || entry->second.first == form)
      return;
    InFlightDiagnostic diag = op->emitOpError("tensor memory form: expected '")
                              << nv::stringifyTmemForm(entry->second.first) << "', found '"
                              << nv::stringifyTmemForm(form) << "'";
    diag.attachNote(entry->second.second->getLoc()) << "because of this use";
    result = failure();
  }

  void collect(Operation *op) {
    if (auto mma = dyn_cast<nv::Tcgen05MmaOp>(op)) {
      require(mma.getA(), nv::TmemForm::Operand, op);
      require(mma.getD(), nv::TmemForm::Accumulator, op);
    } else if (auto mma = dyn_cast<nv::Tcgen05MmaScaledOp>(op)) {
      require(mma.getA(), nv::TmemForm::Operand, op);
      require(mma.getD(), nv::TmemForm::Accumulator, op);
      require(mma.getScaleA(), nv::TmemForm::Scales, op);
      require(mma.getScaleB(), nv::TmemForm::Scales, op);
    }
    // Written by hand.
    for (Value value : op->getResults())
      if (isTensorMemory(value))
        if (auto attr =
                dyn_cast_or_null<nv::TmemAttr>(cast<nv::MemDescType>(value.getType()).getLayout()))
          require(value, attr.getForm(), op);
  }

  void apply(Operation *op) {
    for (Value value : op->getResults()) {
      if (!isTensorMemory(value))
        continue;
      auto type = cast<nv::MemDescType>(value.getType());
      auto found = known.find(rootOf(value));
      nv::TmemForm form = tile::elementBits(type.getElementType()) < 32 ? nv::TmemForm::Operand
                                                                        : nv::TmemForm::Accumulator;
      if (found != known.end())
        form = found->second.first;
      value.setType(type.withLayout(nv::TmemAttr::get(op->getContext(), form)));
    }
  }
};

struct AssignTensorMemory : tileloom::nv::impl::NVAssignTensorMemoryBase<AssignTensorMemory> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      Forms forms;
      function.walk([&](Operation *op) { forms.collect(op); });
      if (failed(forms.result))
        return signalPassFailure();
      function.walk([&](Operation *op) { forms.apply(op); });
    });
  }
};

} // namespace
