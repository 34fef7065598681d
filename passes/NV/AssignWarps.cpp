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
// Programs of one warp that share nothing with other warps may lie in one CTA (`nv.packed`: how many
// at most): a grid of CTAs of one warp starts more slowly than it computes. The launch decides.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/OrderTurns.h"
#include "passes/NV/Passes.h"

#include "dialects/NV/Packing.h"
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

/// Warps of a CTA beyond which starting CTAs takes no time any more (H200, rows of 256 and 512 columns: 2, 4 and 8 in turn are faster).
constexpr int64_t mostPacked = 8;

class WarpAssigner {
public:
  explicit WarpAssigner(warp::SpecializeOp specialize)
      : specialize(specialize), function(specialize->getParentOfType<func::FuncOp>()), builder(specialize.getContext()),
        ctas(ctasPerSm(function)) {
    for (bool whole : {true, false})
      for (auto role : specialize.getBody().getOps<warp::RoleOp>())
        if ((role.getWarps() % 4 == 0) == whole)
          roles.push_back(role);
  }

  LogicalResult run() {
    placeRoles();
    if (failed(assignBarriers()))
      return failure();
    threads = warps * 32;
    if (threads > 1024)
      return specialize.emitOpError("threads: expected at most 1024 in a CTA, found ") << threads;
    if (threads * ctas > 2048)
      return specialize.emitOpError("threads: expected at most 2048 on an SM, found ")
             << ctas << " CTAs of " << threads;
    // setmaxnreg counts in steps of 8, as a launch does.
    int64_t entry = budgets ? std::min(schedule::namedRegisters, schedule::registerPool / (threads * ctas)) / 8 * 8
                            : std::min(schedule::namedRegisters, registersOfQuarter() / 8 * 8);
    if ((budgets && failed(checkPool(entry))) || failed(checkProducts(entry)))
      return failure();
    function->setAttr(nv::threadsAttrName, builder.getI64IntegerAttr(threads));
    function->setAttr(nv::registerLimitAttrName, builder.getI64IntegerAttr(entry));
    if (isPackable())
      function->setAttr(nv::packedAttrName, builder.getI64IntegerAttr(mostPacked));
    return success();
  }

private:
  /// ptxas wants the sums of one instruction and some more within the registers of the launch, whatever setmaxnreg gives later (C7602).
  LogicalResult checkProducts(int64_t entry) {
    constexpr int64_t more = 26; // 130 for 104
    WalkResult result = specialize.walk([&](nv::WgmmaOp product) {
      auto sum = cast<RankedTensorType>(product.getType());
      int64_t needed = sum.getDimSize(1) * sum.getElementTypeBitWidth() / 64 + more;
      if (needed <= entry)
        return WalkResult::advance();
      product.emitOpError("columns: a product of ")
          << sum.getDimSize(1) << " columns needs " << needed << " registers a thread when the kernel starts, of which " << threads
          << " threads have " << entry << ": expected fewer columns, or fewer warpgroups (schedule: replicas, divide = \"columns\")";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  void placeRoles() {
    std::optional<int64_t> budget;
    for (warp::RoleOp role : roles) {
      if (role.getWarps() % 4 == 0 || (role.getRegisters() && role.getRegisters() != budget))
        warps = llvm::alignTo(warps, 4); // a warpgroup of its own
      budget = role.getRegisters();
      budgets |= budget.has_value();
      role->setAttr(nv::firstWarpAttrName, builder.getI64IntegerAttr(warps));
      if (role.getWarps() == 1 && !isSingleThreadRole(role))
        role->setAttr(nv::singleThreadAttrName, builder.getBoolAttr(false));
      warps += role.getWarps() * role.getReplicas();
    }
    if (budgets)
      warps = llvm::alignTo(warps, 4);
  }

  /// Whether a CTA may hold several programs: each is one warp, the caller gives the grid, and nothing is shared or waited for.
  bool isPackable() {
    auto launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName);
    if (warps != 1 || roles.size() != 1 || isSingleThreadRole(roles.front()) || budgets || hasBarriers(roles.front()) || !launch ||
        launch.getPersistent() || launch.getCluster() > 1 || function->hasAttr(nv::gridAttrName))
      return false;
    auto isShared = [](Type type) { return isa<nv::MemDescType>(type); };
    return !function
                .walk([&](Operation *op) {
                  bool shares = llvm::any_of(op->getResultTypes(), isShared) || llvm::any_of(op->getOperandTypes(), isShared);
                  return shares ? WalkResult::interrupt() : WalkResult::advance();
                })
                .wasInterrupted();
  }

  /// Registers of a thread where each quarter of an SM runs every fourth warp.
  int64_t registersOfQuarter() const {
    return schedule::quarterPool / (int64_t(llvm::divideCeil(warps, 4)) * ctas * 32);
  }

  static bool hasBarriers(warp::RoleOp role) {
    return role.getBody()
        .walk([](Operation *op) {
          bool meets = isa<nv::NamedBarrierOp>(op) || (takesScratch(op) && scratchOperand(op).size() != 0);
          return meets ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Hardware barriers 1 to 15 (0 is the CTA's), one for each replica of a role that meets in one.
  LogicalResult assignBarriers() {
    int64_t barrier = 1;
    for (warp::RoleOp role : roles) {
      if (!hasBarriers(role))
        continue;
      role->setAttr(nv::barrierAttrName, builder.getI64IntegerAttr(barrier));
      barrier += role.getReplicas();
    }
    auto taken = function->getAttrOfType<IntegerAttr>(nv::orderBarriersAttrName);
    int64_t left = nv::hardwareBarriers - (taken ? taken.getInt() : 0);
    if (barrier > left)
      return specialize.emitOpError("named barriers: expected at most ")
             << left - 1 << " replicas that meet, found " << barrier - 1;
    return success();
  }

  /// Whether a launch with `entry` registers a thread has enough for all budgets.
  LogicalResult checkPool(int64_t entry) {
    int64_t pool = entry * threads, need = 0;
    std::string table;
    for (int64_t group = 0; group < warps / 4; ++group) {
      for (warp::RoleOp role : roles) {
        int64_t first = role->getAttrOfType<IntegerAttr>(nv::firstWarpAttrName).getInt();
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
    return success();
  }

  warp::SpecializeOp specialize;
  func::FuncOp function;
  Builder builder;
  int64_t ctas;
  SmallVector<warp::RoleOp> roles; ///< those of whole warpgroups first
  int64_t warps = 0, threads = 0;
  bool budgets = false;
};

struct AssignWarps : tileloom::nv::impl::NVAssignWarpsBase<AssignWarps> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](warp::SpecializeOp specialize) {
      return failed(WarpAssigner(specialize).run()) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
