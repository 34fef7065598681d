//===- PlanRegisters.cpp - CTAs of a plain kernel on an SM --------------------------------===//
//
// In: kernels of one role without products, placed in warps and shared memory. Out: a cap on the
// registers of a thread (`nv.wanted_registers`), and loads moved up over reductions. The cap is a
// wish: the driver lifts it if ptxas spills under it.
//
// Such a kernel is as fast as its rows are in flight: while one CTA waits for its loads or meets in
// a reduction, others must load and store. Measured on an H200 (softmax, layer norm, 256 to 16384
// columns): 24 warps of at least 4 CTAs are enough, more gain nothing; 16 warps lose 6 %, 2 CTAs of
// 8 warps 16 %, one CTA of 16 warps 30 %. So the cap is what lets that many run; where the program
// needs more registers, what lets fewer CTAs run, but two at least. ptxas, left alone, takes up to
// twice the registers for loads that it moves up.
//
// Registers that remain below the cap go to loads: what does not depend on a reduction is loaded
// before it, if nothing is written before and all of it fits.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/NV/NV.h"
#include "tileloom/Analysis/Pressure.h"
#include "tileloom/Analysis/Roles.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVPLANREGISTERS
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

constexpr int64_t enoughWarps = 24, enoughCtas = 4;
constexpr int64_t warpsPerSm = 64, ctasLimit = 32;

/// Registers of a thread with which so many CTAs run: a quarter of an SM has its share, in steps of
/// 8 for each thread.
int64_t registersFor(int64_t ctas, int64_t warps) {
  return std::min(schedule::namedRegisters,
                  schedule::quarterPool / int64_t(llvm::divideCeil(ctas * warps, 4) * 32) / 8 * 8);
}

/// The CTAs that are enough, as far as threads and shared memory allow.
int64_t ctasWanted(int64_t warps, int64_t sharedBytes) {
  int64_t want = std::max<int64_t>(enoughCtas, llvm::divideCeil(enoughWarps, warps));
  want = std::min({want, ctasLimit, warpsPerSm / warps});
  return std::min(want, (schedule::sharedLimit + 1024) / (sharedBytes + 1024));
}

/// Loads after the first reduction of the block that could be before it, in order. A reduction is
/// also what orders the writes of other threads: after a write, or in a loop, a load stays unless
/// nothing writes what it reads.
SmallVector<nv::GlobalLoadOp> loadsToMove(Block &block, Operation *&reduction) {
  SmallVector<nv::GlobalLoadOp> loads;
  reduction = nullptr;
  bool written = !isa<warp::RoleOp>(block.getParentOp());
  for (Operation &op : block) {
    if (isa<nv::ReduceOp, nv::ScanOp>(op)) {
      if (!reduction)
        reduction = &op;
    } else if (auto load = dyn_cast<nv::GlobalLoadOp>(op)) {
      if (reduction && (!written || load.getInvariant()))
        loads.push_back(load);
    } else {
      written |= !isMemoryEffectFree(&op);
    }
  }
  return loads;
}

/// Moves the load with what it is computed from before `place`; false if that needs a reduction or
/// another load behind it.
bool moveUp(nv::GlobalLoadOp load, Operation *place) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == place->getBlock() && !op->isBeforeInBlock(place);
  };
  if (failed(getBackwardSlice(load.getOperation(), &slice, options)))
    return false;
  if (llvm::any_of(slice, [](Operation *op) {
        return isa<nv::ReduceOp, nv::ScanOp>(op) || op->getNumRegions() || !isPure(op);
      }))
    return false;
  for (Operation *op : topologicalSort(slice))
    op->moveBefore(place);
  load->moveBefore(place);
  return true;
}

void moveLoads(warp::RoleOp role, int64_t registers) {
  role.walk([&](Block *block) {
    Operation *reduction;
    SmallVector<nv::GlobalLoadOp> loads = loadsToMove(*block, reduction);
    if (loads.empty())
      return;
    // After the loads that are there already: they are wanted first.
    Operation *place = reduction;
    for (Operation &op : llvm::make_range(block->begin(), reduction->getIterator()))
      if (isa<nv::GlobalLoadOp>(op))
        place = op.getNextNode();
    // All or none: ptxas begins a load that stays behind before it has consumed those that moved.
    SmallVector<std::pair<Operation *, Operation *>> moved;
    for (nv::GlobalLoadOp load : loads) {
      Operation *was = load->getNextNode();
      if (moveUp(load, place))
        moved.push_back({load, was});
    }
    if (*registerPressure(role) > registers)
      for (auto [load, was] : llvm::reverse(moved))
        load->moveBefore(was);
  });
}

struct PlanRegisters : tileloom::nv::impl::NVPlanRegistersBase<PlanRegisters> {
  using NVPlanRegistersBase::NVPlanRegistersBase;

  void runOnOperation() override {
    getOperation()->walk([&](warp::SpecializeOp specialize) {
      auto function = specialize->getParentOfType<func::FuncOp>();
      auto roles = llvm::to_vector(specialize.getBody().getOps<warp::RoleOp>());
      auto limit = function->getAttrOfType<IntegerAttr>(registerLimitAttrName);
      if (roles.size() != 1 || roles[0].getReplicas() != 1 || roles[0].getRegisters() || !limit)
        return;
      std::optional<int64_t> need = registerPressure(roles[0]);
      if (!need)
        return;
      auto shared = function->getAttrOfType<IntegerAttr>("nv.shared_bytes");
      int64_t warps = roles[0].getWarps();
      for (int64_t ctas = ctasWanted(warps, shared ? shared.getInt() : 0); ctas > 1;
           --ctas) {
        int64_t registers = registersFor(ctas, warps);
        if (registers < *need || registers > limit.getInt())
          continue;
        moveLoads(roles[0], registers);
        function->setAttr(wantedRegistersAttrName,
                          Builder(function.getContext()).getI64IntegerAttr(registers));
        break;
      }
    });
  }
};

} // namespace
