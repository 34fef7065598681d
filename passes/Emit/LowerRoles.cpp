//===- LowerRoles.cpp - Roles to branches on the warp index -------------------------------===//
//
// In: warp.specialize with assigned warps. Out: one branch per warpgroup budget (setmaxnreg acts on
// whole warpgroups), in it one per role; a role of one thread under elect.sync. The warp index is
// made uniform by a shuffle and the election is made once at the role's entry, so that ptxas sees
// one thread.
//
// A leader role runs in the even CTA of each pair. What comes before and after the roles is in
// KernelFrame.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "dialects/NV/Packing.h"
#include "dialects/Warp/Warp.h"
#include "passes/Emit/KernelFrame.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace tileloom::emit {
#define GEN_PASS_DEF_LOWERROLES
#include "passes/Emit/Passes.h.inc"
} // namespace tileloom::emit

using namespace mlir;
using namespace tileloom;

namespace {

struct RoleLowering {
  warp::SpecializeOp specialize;
  func::FuncOp function;
  OpBuilder builder;
  Location loc;
  Value warp;

  explicit RoleLowering(warp::SpecializeOp specialize)
      : specialize(specialize), function(specialize->getParentOfType<func::FuncOp>()),
        builder(specialize), loc(specialize.getLoc()) {}

  Value constant(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
  Value compare(arith::CmpIPredicate predicate, Value a, int64_t b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, constant(b));
  }
  static int64_t firstWarp(warp::RoleOp role) {
    return role->getAttrOfType<IntegerAttr>(nv::firstWarpAttrName).getInt();
  }
  static int64_t warpsOf(warp::RoleOp role) { return role.getWarps() * role.getReplicas(); }

  /// Moves the role's body to the insertion point.
  void inlineRole(warp::RoleOp role) {
    int64_t first = firstWarp(role);
    role.walk([&](warp::ReplicaIndexOp index) {
      OpBuilder inner(index);
      Value value;
      if (role.getReplicas() == 1) {
        value = arith::ConstantIntOp::create(inner, loc, 0, 32);
      } else {
        Value relative =
            first == 0 ? warp
                       : arith::SubIOp::create(inner, loc, warp,
                                               arith::ConstantIntOp::create(inner, loc, first, 32))
                             .getResult();
        value = arith::DivUIOp::create(
            inner, loc, relative, arith::ConstantIntOp::create(inner, loc, role.getWarps(), 32));
      }
      index.replaceAllUsesWith(value);
      index.erase();
    });
    Block *block = builder.getInsertionBlock();
    OpBuilder::InsertionGuard guard(builder);
    if (role.getLeader()) {
      Value rank =
          NVVM::ClusterId::create(builder, loc, builder.getI32Type(), LLVM::ConstantRangeAttr());
      Value odd = arith::AndIOp::create(builder, loc, rank, constant(1));
      auto even = scf::IfOp::create(builder, loc, compare(arith::CmpIPredicate::eq, odd, 0), false);
      block = even.thenBlock();
      builder.setInsertionPointToStart(block);
    }
    if (isSingleThreadRole(role)) {
      Value elected = NVVM::ElectSyncOp::create(builder, loc, builder.getI1Type(), Value());
      auto one = scf::IfOp::create(builder, loc, elected, false);
      block = one.thenBlock();
    }
    // A while loop ends with nothing but the way back, so LLVM sends threads that skip the last
    // branch of its body straight to its head, and ptxas then takes nothing that it carries for
    // uniform. A loop without a body (a wait) needs nothing.
    if (!isSingleThreadRole(role))
      role.walk([&](scf::WhileOp loop) {
        if (llvm::hasSingleElement(*loop.getAfterBody()))
          return;
        OpBuilder end(loop.getYieldOp());
        NVVM::SyncWarpOp::create(end, loc, arith::ConstantIntOp::create(end, loc, -1, 32));
      });
    block->getOperations().splice(block->getTerminator()->getIterator(),
                                  role.getBody().front().getOperations());
  }

  void run() {
    Value tid =
        NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type(), LLVM::ConstantRangeAttr());
    Value index = arith::ShRUIOp::create(builder, loc, tid, constant(5));
    warp = NVVM::ShflOp::create(builder, loc, builder.getI32Type(), constant(-1), index,
                                constant(0), constant(31), NVVM::ShflKind::idx, UnitAttr());
    emit::KernelFrame frame(function);
    frame.createHead(builder, loc, warp);

    SmallVector<warp::RoleOp> roles(specialize.getBody().getOps<warp::RoleOp>());
    llvm::sort(roles, [](warp::RoleOp a, warp::RoleOp b) { return firstWarp(a) < firstWarp(b); });
    auto entry = function->getAttrOfType<IntegerAttr>(nv::registerLimitAttrName);
    // Roles that share a warpgroup, or a budget, are one group.
    for (size_t begin = 0; begin < roles.size();) {
      size_t end = begin + 1;
      while (end < roles.size() && firstWarp(roles[end]) % 4 != 0)
        ++end;
      MutableArrayRef<warp::RoleOp> group = MutableArrayRef(roles).slice(begin, end - begin);
      bool final = end == roles.size();
      Operation *after = nullptr;
      if (!final) {
        auto branch = scf::IfOp::create(
            builder, loc, compare(arith::CmpIPredicate::ult, warp, firstWarp(roles[end])), true);
        builder.setInsertionPointToStart(branch.thenBlock());
        after = branch;
      }
      if (std::optional<int64_t> registers = roles[begin].getRegisters()) {
        auto action = *registers > entry.getInt() ? NVVM::SetMaxRegisterAction::increase
                                                  : NVVM::SetMaxRegisterAction::decrease;
        NVVM::SetMaxRegisterOp::create(builder, loc, *registers, action);
      }
      // With several programs in a CTA every warp runs the one role.
      bool whole = function->hasAttr(nv::packedAttrName) || (group.size() == 1 && warpsOf(group.front()) % 4 == 0);
      for (warp::RoleOp role : group) {
        OpBuilder::InsertionGuard guard(builder);
        if (!whole) {
          Value member = compare(arith::CmpIPredicate::eq, warp, firstWarp(role));
          if (warpsOf(role) > 1) {
            Value from = compare(arith::CmpIPredicate::uge, warp, firstWarp(role));
            Value to = compare(arith::CmpIPredicate::ult, warp, firstWarp(role) + warpsOf(role));
            member = arith::AndIOp::create(builder, loc, from, to);
          }
          auto branch = scf::IfOp::create(builder, loc, member, false);
          builder.setInsertionPointToStart(branch.thenBlock());
        }
        inlineRole(role);
      }
      if (after)
        builder.setInsertionPointToStart(cast<scf::IfOp>(after).elseBlock());
      begin = end;
    }
    builder.setInsertionPoint(specialize);
    frame.createTail(builder, loc, warp);
    // A kernel of one role needs no branch; a shuffle is never dead by itself.
    if (warp.use_empty())
      warp.getDefiningOp()->erase();
    specialize.erase();
  }
};

struct LowerRolesPass : tileloom::emit::impl::LowerRolesBase<LowerRolesPass> {
  void runOnOperation() override {
    SmallVector<warp::SpecializeOp> ops;
    getOperation()->walk([&](warp::SpecializeOp op) { ops.push_back(op); });
    for (warp::SpecializeOp op : ops)
      RoleLowering(op).run();
  }
};

} // namespace
