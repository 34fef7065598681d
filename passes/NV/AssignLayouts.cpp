//===- AssignLayouts.cpp - Layouts of register and shared memory tiles --------------------===//
//
// In: tensors without encodings, memdescs without layouts. Out: every tensor has a layout attribute
// as its encoding, every memdesc in shared memory a `#nv.smem`; `nv.convert_layout` where a value
// is needed in two layouts.
//
// Layouts flow (LayoutFlow) from anchors: first operations whose hardware fixes them, then accesses
// to global memory (GlobalLayouts); what is left takes a blocked layout. Where an operation needs
// an operand in another layout than it has, LayoutNeeds makes it again or converts it.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "passes/NV/GlobalLayouts.h"
#include "passes/NV/LayoutFlow.h"
#include "passes/NV/LayoutNeeds.h"
#include "tileloom/Analysis/Exchange.h"
#include "tileloom/Analysis/TileLayouts.h"

#include "mlir/IR/Builders.h"

#include <numeric>

namespace tileloom::nv {
#define GEN_PASS_DEF_NVASSIGNLAYOUTS
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

//===--------------------------------------------------------------------------------------===//
// Shared memory
//===--------------------------------------------------------------------------------------===//

/// Rows of the tile to which TMA, the tensor core and stmatrix apply their swizzles have two
/// dimensions; others are plain. slice: the narrowest part of a row that a view takes, which a
/// swizzle must not reach over.
nv::SmemAttr chooseSmem(nv::MemDescType type, bool paired, int64_t slice) {
  SmallVector<int64_t> shape = squeezeShape(type.getShape());
  shape.back() = std::gcd(shape.back(), slice);
  unsigned bits = tile::elementBits(type.getElementType());
  int64_t swizzle = 0;
  if (bits == 4 && shape.back() % 2 == 0) { // two elements in a byte
    bits = 8;
    shape.back() /= 2;
  }
  if (shape.size() >= 2 && bits >= 8)
    swizzle = layout::swizzleWidth(layout::SharedLayout::widestSwizzle(shape, bits));
  return nv::SmemAttr::get(type.getContext(), swizzle, /*transposed=*/false, /*rows=*/0, paired);
}

/// Layout of the result of a view operation.
Attribute viewLayout(Operation *op, nv::MemDescType source, nv::MemDescType result) {
  auto smem = cast<nv::SmemAttr>(source.getLayout());
  if (isa<nv::MemDescTransOp>(op))
    return nv::SmemAttr::get(op->getContext(), smem.getSwizzle(), !smem.getTransposed(),
                             smem.getRows(), smem.getPaired());
  // A slice keeps the row count of its allocation: columns of atoms are that far apart.
  SmallVector<int64_t> whole = squeezeShape(source.getShape()),
                       part = squeezeShape(result.getShape());
  int64_t rows = smem.getRows();
  if (!rows && whole.size() >= 2) {
    size_t rowDim = smem.getTransposed() ? whole.size() - 1 : whole.size() - 2;
    rows = whole[rowDim];
  }
  return nv::SmemAttr::get(op->getContext(), smem.getSwizzle(), smem.getTransposed(), rows,
                           smem.getPaired());
}

/// Whether `use` is that of an operand B whose A is computed in registers: it is there as an accumulator.
bool multipliesComputed(OpOperand &use) {
  auto wgmma = dyn_cast<nv::WgmmaOp>(use.getOwner());
  return wgmma && use.get() == wgmma.getB() && nv::isTile(wgmma.getA()) && !wgmma.getA().getDefiningOp<nv::LocalLoadOp>();
}

/// Tiles (a buffer, and which of the tiles of its slots) whose rows can be in any order, which is then that in which the other
/// operand's columns are in registers anyway: 8-bit operands B that are transposed on the way, all of whose products have A in registers.
using SlotTile = std::pair<Value, unsigned>;
llvm::DenseSet<SlotTile> findPaired(Operation *root) {
  llvm::DenseSet<SlotTile> transposed, others;
  root->walk([&](warp::SlotOp slot) {
    warp::AcquireOp origin = warp::originOf(slot.getToken());
    auto ring = origin ? origin.getRing().getDefiningOp<warp::RingOp>() : warp::RingOp();
    for (auto [index, view] : llvm::enumerate(slot.getViews())) {
      SlotTile tile(ring ? ring.getBuffer() : Value(), index);
      for (OpOperand &use : view.getUses()) {
        auto trans = dyn_cast<nv::MemDescTransOp>(use.getOwner());
        if (isa<nv::LocalTransposeOp>(use.getOwner()) && use.getOperandNumber() == 1)
          transposed.insert(tile);
        else if (!trans || !llvm::all_of(trans->getUses(), multipliesComputed))
          others.insert(tile);
      }
    }
  });
  for (const SlotTile &tile : others)
    transposed.erase(tile);
  return transposed;
}

/// The narrowest part of a row that slices of `view` take (0: none takes a part); turned: rows are
/// the columns that it shows.
int64_t narrowestSlice(Value view, bool turned = false) {
  int64_t least = 0;
  for (Operation *user : view.getUsers()) {
    if (!isa<nv::MemDescSliceOp, nv::MemDescTransOp>(user))
      continue;
    bool after = turned != isa<nv::MemDescTransOp>(user);
    Value result = user->getResult(0);
    SmallVector<int64_t> shape = squeezeShape(cast<nv::MemDescType>(result.getType()).getShape());
    if (isa<nv::MemDescSliceOp>(user) && shape.size() >= 2)
      least = std::gcd(least, after ? shape[shape.size() - 2] : shape.back());
    least = std::gcd(least, narrowestSlice(result, after));
  }
  return least;
}

void assignShared(Operation *root) {
  llvm::DenseSet<SlotTile> paired = findPaired(root);
  auto tileOf = [](warp::SlotOp slot, int64_t index) {
    warp::AcquireOp origin = warp::originOf(slot.getToken());
    auto ring = origin ? origin.getRing().getDefiningOp<warp::RingOp>() : warp::RingOp();
    return SlotTile(ring ? ring.getBuffer() : Value(), index);
  };
  llvm::DenseMap<SlotTile, int64_t> slices;
  root->walk([&](warp::SlotOp slot) {
    for (auto [index, view] : llvm::enumerate(slot.getViews())) {
      int64_t &least = slices[tileOf(slot, index)];
      least = std::gcd(least, narrowestSlice(view));
    }
  });
  root->walk([&](Operation *op) {
    if (auto slot = dyn_cast<warp::SlotOp>(op)) {
      for (auto [index, view] : llvm::enumerate(slot.getViews())) {
        auto type = cast<nv::MemDescType>(view.getType());
        SlotTile tile = tileOf(slot, index);
        bool known = tile.first != nullptr;
        int64_t slice = known ? slices.lookup(tile) : narrowestSlice(view);
        if (type.getSpace() == nv::MemorySpace::Smem && !type.getLayout())
          view.setType(type.withLayout(chooseSmem(type, known && paired.contains(tile), slice)));
      }
    } else if (isa<nv::MemDescSliceOp, nv::MemDescTransOp>(op)) {
      auto source = cast<nv::MemDescType>(op->getOperand(0).getType());
      auto result = cast<nv::MemDescType>(op->getResult(0).getType());
      if (source.getLayout() && source.getSpace() == nv::MemorySpace::Smem)
        op->getResult(0).setType(result.withLayout(viewLayout(op, source, result)));
    }
  });
}

//===--------------------------------------------------------------------------------------===//
// Registers
//===--------------------------------------------------------------------------------------===//

/// Constants live outside the roles; gives each role its own.
void copyConstants(warp::RoleOp role) {
  role.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (nv::isTile(operand.get()) && def && !role->isAncestor(def)) {
        OpBuilder builder(op);
        Operation *copy = builder.clone(*def);
        operand.set(copy->getResult(cast<OpResult>(operand.get()).getResultNumber()));
      }
    }
  });
}

/// Warps along the rows of a product as far as they go (each then reads its own part of A only, and
/// a reduction along the columns stays inside), the rest along its columns.
nv::MmaAccAttr productLayout(nv::MmaOp mma, int64_t warps) {
  int64_t rows = 1;
  while (warps % (2 * rows) == 0 && mma.getResult().getType().getDimSize(0) % (32 * rows) == 0)
    rows *= 2;
  return nv::MmaAccAttr::get(mma.getContext(), rows, warps / rows);
}

/// Conversions from a layout to itself.
void dropConversions(warp::RoleOp role) {
  role.walk([](nv::ConvertLayoutOp convert) {
    if (convert.getSource().getType() == convert.getResult().getType()) {
      convert.replaceAllUsesWith(convert.getSource());
      convert.erase();
    }
  });
}

/// The extents of what the role takes out of tiles of this shape, and of the panels that they lie in in shared memory, as wide as the swizzle,
/// where they are some of the rows of a slot: the panels are apart there.
SmallVector<int64_t> piecesOf(warp::RoleOp role, RankedTensorType type) {
  SmallVector<int64_t> pieces(type.getShape());
  role.walk([&](Operation *op) {
    if (!isa<nv::LocalLoadOp, nv::LocalStoreOp>(op) || pieces.size() < 2)
      return;
    Value tile = isa<nv::LocalLoadOp>(op) ? op->getResult(0) : op->getOperand(0);
    auto view = cast<nv::MemDescType>(op->getOperand(isa<nv::LocalLoadOp>(op) ? 0 : 1).getType());
    auto smem = dyn_cast_if_present<nv::SmemAttr>(view.getLayout());
    if (!smem || !smem.getSwizzle() || !smem.getRows() || cast<RankedTensorType>(tile.getType()).getShape() != type.getShape())
      return;
    int64_t &piece = pieces[pieces.size() - (smem.getTransposed() ? 2 : 1)];
    piece = std::gcd(piece, int64_t(smem.getSwizzle()) * 8 / tile::elementBits(view.getElementType()));
  });
  role.walk([&](nv::ExtractOp extract) {
    if (cast<RankedTensorType>(extract.getSource().getType()).getShape() != type.getShape())
      return;
    for (auto [piece, extent] : llvm::zip(pieces, cast<RankedTensorType>(extract.getResult().getType()).getShape()))
      piece = std::gcd(piece, extent);
  });
  return pieces;
}

void assignRegisters(warp::RoleOp role) {
  MLIRContext *context = role.getContext();
  int64_t warps = role.getWarps();
  copyConstants(role);
  nv::GlobalLayouts accesses(role);
  nv::LayoutFlow flow(warps);
  // Before accumulators reach them: 8-bit operands that have a layout of their own (LayoutFlow).
  role.walk([&](nv::WgmmaOp wgmma) {
    auto type = dyn_cast<RankedTensorType>(wgmma.getA().getType());
    nv::WgmmaAAttr layout = nv::fragmentsOfA(wgmma, warps);
    if (type && tile::elementBits(type.getElementType()) == 8 && (layout.getPaired() || isa<BlockArgument>(wgmma.getA())))
      flow.assign(wgmma.getA(), layout);
  });
  flow.run();
  // Sums before what reads them: one in flight over the back edge of its loop cannot be converted there.
  role.walk([&](Operation *op) {
    if (auto wgmma = dyn_cast<nv::WgmmaOp>(op))
      flow.assign(wgmma.getResult(), nv::WgmmaAccAttr::get(context, warps));
    else if (auto mma = dyn_cast<nv::MmaOp>(op))
      flow.assign(mma.getResult(), productLayout(mma, warps));
  });
  flow.run();
  role.walk([&](Operation *op) {
    if (auto scan = dyn_cast<nv::ScanOp>(op))
      flow.assign(scan.getResult(), scanLayout(scan.getSource().getType(), scan.getDim(), warps));
    else if (auto load = dyn_cast<nv::TmemLoadOp>(op))
      flow.assign(load.getResult(), tensorMemoryRegisters(load.getView().getType(), warps));
  });
  flow.run();
  role.walk([&](Operation *op) {
    if (auto wgmma = dyn_cast<nv::WgmmaOp>(op)) {
      if (nv::isTile(wgmma.getA()))
        flow.assign(wgmma.getA(), nv::fragmentsOfA(wgmma, warps));
    } else if (auto mma = dyn_cast<nv::MmaOp>(op)) {
      auto acc = productLayout(mma, warps);
      flow.assign(mma.getA(), nv::MmaAAttr::get(context, acc.getRows(), acc.getColumns()));
      flow.assign(mma.getB(), nv::MmaBAttr::get(context, acc.getRows(), acc.getColumns()));
    }
  });
  flow.run();
  role.walk([&](nv::TmemStoreOp store) {
    flow.assign(store.getValue(), tensorMemoryRegisters(store.getView().getType(), warps));
  });
  flow.run();
  accesses.assign(flow);
  // What no anchor reaches.
  flow.leaveLeaves();
  role.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (nv::isTile(result) && !flow.lookup(result)) {
        flow.assign(result, flow.fallback(cast<RankedTensorType>(result.getType()), piecesOf(role, cast<RankedTensorType>(result.getType()))));
        flow.run();
      }
  });
  flow.apply();
  dropConversions(role);
  nv::meetNeeds(role);
}

struct AssignLayouts : tileloom::nv::impl::NVAssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    assignShared(getOperation());
    getOperation()->walk([](warp::RoleOp role) { assignRegisters(role); });
  }
};

} // namespace
