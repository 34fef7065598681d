//===- KernelFrame.cpp - Head and tail of a kernel ----------------------------------------===//
//
// Head: one thread of warp 0 initialises the mbarriers and makes them visible (fence.mbarrier_init,
// PTX ISA 9.7.13.4); another warp allocates tensor memory and gives up the right to allocate more,
// so that a second CTA of the SM can start; then all threads of the CTA, or of the cluster, meet. In a
// dependent kernel every thread then waits until the kernel ahead has ended and its writes are seen
// (griddepcontrol.wait), and lets the next one start, which waits likewise (PTX ISA 9.7.13.13).
// Tail: the cluster meets again, so that no CTA ends while others still signal its mbarriers or
// read its memory; the warp that allocated tensor memory frees it, in both CTAs of a pair
// (9.7.16.7.1).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/KernelFrame.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

KernelFrame::KernelFrame(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (isa<NVVM::MBarrierInitOp>(op))
      inits.push_back(op);
    else if (auto found = dyn_cast<NVVM::Tcgen05AllocOp>(op))
      alloc = found;
  });
  if (auto launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName))
    cluster = launch.getCluster();
  dependent = function->hasAttr(nv::dependentAttrName);
  auto threads = function->getAttrOfType<IntegerAttr>(nv::threadsAttrName);
  allocatingWarp = threads && threads.getInt() > 32 ? 1 : 0;
}

static Value isWarp(OpBuilder &builder, Location loc, Value warp, int64_t index) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, warp,
                               arith::ConstantIntOp::create(builder, loc, index, 32));
}

void KernelFrame::meet(OpBuilder &builder, Location loc) {
  if (cluster == 1) {
    NVVM::BarrierOp::create(builder, loc);
    return;
  }
  NVVM::ClusterArriveOp::create(builder, loc, builder.getUnitAttr());
  NVVM::ClusterWaitOp::create(builder, loc, builder.getUnitAttr());
}

/// Assembly that memory accesses stay behind: LLVM's intrinsic says that it touches no memory, so that loads could move up.
static void createAssembly(OpBuilder &builder, Location loc, StringRef text) {
  LLVM::InlineAsmOp::create(builder, loc, TypeRange(), ValueRange(), text, "~{memory}", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

void KernelFrame::createHead(OpBuilder &builder, Location loc, Value warp) {
  prepare(builder, loc, warp);
  if (!dependent)
    return;
  createAssembly(builder, loc, "griddepcontrol.wait;");
  createAssembly(builder, loc, "griddepcontrol.launch_dependents;");
}

void KernelFrame::prepare(OpBuilder &builder, Location loc, Value warp) {
  OpBuilder::InsertionGuard guard(builder);
  auto syncWarp = [&] {
    // The .aligned instructions that follow want the threads of the warp together again.
    NVVM::SyncWarpOp::create(builder, loc, arith::ConstantIntOp::create(builder, loc, -1, 32));
  };
  if (!inits.empty()) {
    auto first = scf::IfOp::create(builder, loc, isWarp(builder, loc, warp, 0), false);
    OpBuilder inner = OpBuilder::atBlockBegin(first.thenBlock());
    Value elected = NVVM::ElectSyncOp::create(inner, loc, inner.getI1Type(), Value());
    auto one = scf::IfOp::create(inner, loc, elected, false);
    for (Operation *init : inits)
      init->moveBefore(one.thenYield());
    inner.setInsertionPoint(one.thenYield());
    NVVM::FenceMbarrierInitOp::create(inner, loc);
  }
  if (alloc) {
    auto member =
        scf::IfOp::create(builder, loc, isWarp(builder, loc, warp, allocatingWarp), false);
    alloc->moveBefore(member.thenYield());
    OpBuilder inner(member.thenYield());
    if (allocatingWarp == 0) {
      OpBuilder start(alloc);
      NVVM::SyncWarpOp::create(start, loc, arith::ConstantIntOp::create(start, loc, -1, 32));
    }
    NVVM::Tcgen05RelinquishAllocPermitOp::create(inner, loc, alloc.getGroup());
    NVVM::Tcgen05FenceOp::create(builder, loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  }
  if (inits.empty() && !alloc && cluster == 1)
    return; // nothing that others have to see
  if (alloc || cluster > 1)
    syncWarp();
  meet(builder, loc);
  if (alloc)
    NVVM::Tcgen05FenceOp::create(builder, loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

void KernelFrame::createTail(OpBuilder &builder, Location loc, Value warp) {
  if (!alloc && cluster == 1)
    return;
  OpBuilder::InsertionGuard guard(builder);
  if (alloc)
    NVVM::Tcgen05FenceOp::create(builder, loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  NVVM::SyncWarpOp::create(builder, loc, arith::ConstantIntOp::create(builder, loc, -1, 32));
  meet(builder, loc);
  if (!alloc)
    return;
  auto member = scf::IfOp::create(builder, loc, isWarp(builder, loc, warp, allocatingWarp), false);
  builder.setInsertionPoint(member.thenYield());
  NVVM::Tcgen05FenceOp::create(builder, loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  Value base =
      LLVM::LoadOp::create(builder, loc, builder.getI32Type(), alloc.getAddr(), /*alignment=*/4);
  Value address = LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 6), base);
  NVVM::Tcgen05DeallocOp::create(builder, loc, address, alloc.getNCols(), alloc.getGroup());
}
