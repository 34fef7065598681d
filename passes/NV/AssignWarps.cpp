//===- AssignWarps.cpp - Warps and registers of roles -------------------------------------===//
//
// In: roles with warp counts and perhaps register budgets. Out: each role has `nv.first_warp`, the
// function `nv.threads` and `nv.max_registers` (registers of a thread at entry).
//
// setmaxnreg acts on whole warpgroups, so with budgets roles of equal budget share warpgroups and
// others start a new one. The pool is what the launch got: 65536 / threads rounded down to 8, times
// threads; a larger sum of budgets blocks for ever in setmaxnreg.inc and ptxas does not complain.
// Without budgets registers are granted by sub-partition: ceil(warps / 4) * 32 * R
// <= 16384, or the launch fails (error 701). All of this is shared by the CTAs that the launch
// wants on an SM.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/OrderTurns.h"
#include "passes/NV/Passes.h"

#include "tileloom/Analysis/Exchange.h"
#include "tileloom/Analysis/Roles.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVASSIGNWARPS
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

LogicalResult assignWarps(warp::SpecializeOp specialize) {
  auto function = specialize->getParentOfType<func::FuncOp>();
  Builder builder(specialize.getContext());
  SmallVector<warp::RoleOp> roles;
  for (bool whole : {true, false})
    for (auto role : specialize.getBody().getOps<warp::RoleOp>())
      if ((role.getWarps() % 4 == 0) == whole)
        roles.push_back(role);
  int64_t next = 0;
  std::optional<int64_t> budget;
  bool budgets = false;
  for (warp::RoleOp role : roles) {
    bool newGroup =
        role.getWarps() % 4 == 0 || (role.getRegisters() && role.getRegisters() != budget);
    if (newGroup)
      next = llvm::alignTo(next, 4);
    budget = role.getRegisters();
    budgets |= budget.has_value();
    role->setAttr(firstWarpAttrName, builder.getI64IntegerAttr(next));
    if (role.getWarps() == 1 && !isSingleThreadRole(role))
      role->setAttr(singleThreadAttrName, builder.getBoolAttr(false));
    next += role.getWarps() * role.getReplicas();
  }
  // Hardware barriers 1 to 15 (0 is the CTA's), one for each replica of a role that meets in one.
  int64_t barrier = 1;
  for (warp::RoleOp role : roles) {
    if (!role.getBody()
             .walk([](Operation *op) {
               bool meets = isa<nv::NamedBarrierOp>(op) ||
                            (takesScratch(op) && scratchOperand(op).size() != 0);
               return meets ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted())
      continue;
    role->setAttr(barrierAttrName, builder.getI64IntegerAttr(barrier));
    barrier += role.getReplicas();
  }
  auto taken = function->getAttrOfType<IntegerAttr>(nv::orderBarriersAttrName);
  int64_t left = nv::hardwareBarriers - (taken ? taken.getInt() : 0);
  if (barrier > left)
    return specialize.emitOpError("named barriers: expected at most ")
           << left - 1 << " replicas that meet, found " << barrier - 1;
  int64_t warps = budgets ? llvm::alignTo(next, 4) : next;
  int64_t threads = warps * 32, ctas = ctasPerSm(function);
  if (threads > 1024)
    return specialize.emitOpError("threads: expected at most 1024 in a CTA, found ") << threads;
  if (threads * ctas > 2048)
    return specialize.emitOpError("threads: expected at most 2048 on an SM, found ")
           << ctas << " CTAs of " << threads;
  int64_t entry;
  if (budgets) {
    entry = std::min(schedule::namedRegisters, schedule::registerPool / (threads * ctas)) / 8 * 8;
    int64_t pool = entry * threads, need = 0;
    std::string table;
    for (int64_t group = 0; group < warps / 4; ++group) {
      for (warp::RoleOp role : roles) {
        int64_t first = role->getAttrOfType<IntegerAttr>(firstWarpAttrName).getInt();
        int64_t last = first + role.getWarps() * role.getReplicas() - 1;
        if (first / 4 > group || last / 4 < group)
          continue;
        need += 128 * *role.getRegisters();
        table +=
            " @" + role.getSymName().str() + " 128 x " + std::to_string(*role.getRegisters()) + ";";
        break; // one budget a warpgroup
      }
    }
    if (need > pool)
      return specialize.emitOpError("register pool: need ")
             << need << ", have " << pool << " (" << threads << " threads x " << entry
             << " at launch):" << table << " setmaxnreg.inc would wait for ever";
  } else {
    entry = std::min(schedule::namedRegisters,
                     schedule::quarterPool / int64_t(llvm::divideCeil(warps, 4) * ctas * 32) / 8 * 8);
  }
  function->setAttr(threadsAttrName, builder.getI64IntegerAttr(threads));
  function->setAttr("nv.max_registers", builder.getI64IntegerAttr(entry));
  return success();
}

struct AssignWarps : tileloom::nv::impl::NVAssignWarpsBase<AssignWarps> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](warp::SpecializeOp specialize) {
      return failed(assignWarps(specialize)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
