//===- OrderTurns.cpp - Orders to hardware barriers ---------------------------------------===//
//
// Turn r of an order is a hardware barrier that replica r waits in and replica r - 1 arrives at, so
// the threads of two replicas make it complete. The last replica gives the first turn when its role
// starts. Barriers are counted down from the last one; roles that meet count up (nv-assign-warps).
//
// Waiting in it is one instruction; an mbarrier takes a loop, a phase that is carried, and an
// election to arrive. Only whole warps can use it, and only one role.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/OrderTurns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tileloom;

/// Barriers that are left for roles that meet.
static constexpr int64_t leftForRoles = 8;

bool tileloom::nv::lowerToHardwareBarriers(warp::OrderOp order) {
  auto function = order->getParentOfType<FunctionOpInterface>();
  auto taken = function->getAttrOfType<IntegerAttr>(nv::orderBarriersAttrName);
  int64_t replicas = order.getReplicas(), count = replicas + (taken ? taken.getInt() : 0);
  warp::RoleOp role;
  for (Operation *user : order.getOrder().getUsers()) {
    auto parent = user->getParentOfType<warp::RoleOp>();
    if (!isa<warp::AwaitOp, warp::PassOp>(user) || (role && parent != role))
      return false;
    role = parent;
  }
  if (!role || role.getWarps() == 1 || replicas < 2 || count > hardwareBarriers - leftForRoles)
    return false;

  OpBuilder builder(order.getContext());
  function->setAttr(nv::orderBarriersAttrName, builder.getI64IntegerAttr(count));
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, order.getLoc(), value, 32);
  };
  auto isLast = [&](Location loc, Value replica) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, replica,
                                 constant(replicas - 1));
  };
  int64_t first = hardwareBarriers - count, threads = 2 * 32 * role.getWarps();

  Location loc = role.getLoc();
  builder.setInsertionPointToStart(&role.getBody().front());
  Value replica = warp::ReplicaIndexOp::create(builder, loc, builder.getI32Type());
  auto start = scf::IfOp::create(builder, loc, isLast(loc, replica), /*withElseRegion=*/false);
  builder.setInsertionPointToStart(start.thenBlock());
  NVVM::BarrierArriveOp::create(builder, loc, constant(first), constant(threads));

  for (Operation *user : llvm::make_early_inc_range(order.getOrder().getUsers())) {
    loc = user->getLoc();
    builder.setInsertionPoint(user);
    replica = warp::ReplicaIndexOp::create(builder, loc, builder.getI32Type());
    if (isa<warp::AwaitOp>(user)) {
      Value barrier = arith::AddIOp::create(builder, loc, replica, constant(first));
      NVVM::BarrierOp::create(builder, loc, TypeRange(), barrier, constant(threads),
                              NVVM::BarrierReductionAttr(), Value());
    } else {
      Value next = arith::AddIOp::create(builder, loc, replica, constant(first + 1));
      next = arith::SelectOp::create(builder, loc, isLast(loc, replica), constant(first), next);
      NVVM::BarrierArriveOp::create(builder, loc, next, constant(threads));
    }
    user->erase();
  }
  return true;
}
