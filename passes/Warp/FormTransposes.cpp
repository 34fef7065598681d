//===- FormTransposes.cpp - Tiles of 8 bits from one slot to another, transposed -----------===//
//
// In: nv.local_load of a slot, nv.trans, nv.local_store to another slot, of 8-bit elements and with no other use. Out: one
// nv.local_transpose, in the place of the store. In registers such a tile would be moved byte by byte; from memory to memory it is
// matrices of ldmatrix and stmatrix and two byte permutations for each eight bytes. The slot that was read goes back after it.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPFORMTRANSPOSES
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// The read behind what `store` writes, if it is one that nv.local_transpose performs.
nv::LocalLoadOp transposedRead(nv::LocalStoreOp store) {
  auto trans = store.getValue().getDefiningOp<nv::TransOp>();
  if (!trans || !trans->hasOneUse() || trans.getOrder() != ArrayRef<int64_t>{1, 0})
    return {};
  auto load = trans.getSource().getDefiningOp<nv::LocalLoadOp>();
  auto type = cast<RankedTensorType>(trans.getSource().getType());
  bool whole = type.getRank() == 2 && type.getElementTypeBitWidth() == 8 && type.getDimSize(0) % 32 == 0 && type.getDimSize(1) % 16 == 0;
  bool fits = load && load->hasOneUse() && load->getBlock() == store->getBlock() && load.getView().getDefiningOp<SlotOp>() && whole;
  return fits ? load : nv::LocalLoadOp();
}

struct FormTransposes : tileloom::warp::impl::WarpFormTransposesBase<FormTransposes> {
  void runOnOperation() override {
    getOperation()->walk([](nv::LocalStoreOp store) {
      nv::LocalLoadOp load = transposedRead(store);
      if (!load)
        return;
      Value view = load.getView(), token = view.getDefiningOp<SlotOp>().getToken();
      OpBuilder builder(store);
      auto transpose = nv::LocalTransposeOp::create(builder, store.getLoc(), view, store.getView());
      for (Operation *user : llvm::make_early_inc_range(token.getUsers()))
        if (isa<ReleaseOp>(user) && user->getBlock() == store->getBlock() && user->isBeforeInBlock(transpose))
          user->moveAfter(transpose);
      Operation *trans = store.getValue().getDefiningOp();
      store.erase();
      trans->erase();
      load.erase();
    });
  }
};

} // namespace
