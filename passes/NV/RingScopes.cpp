//===- RingScopes.cpp - Which CTAs wait for and signal a ring -----------------------------===//

#include "passes/NV/RingScopes.h"

using namespace mlir;
using namespace tileloom;

int64_t tileloom::clusterSize(func::FuncOp function) {
  auto launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName);
  return launch ? launch.getCluster() : 1;
}

bool tileloom::waitsInLeader(warp::RingOp ring) {
  for (Operation *user : ring.getRing().getUsers())
    if (isa<warp::AcquireOp>(user) && user->getParentOfType<warp::RoleOp>().getLeader())
      return true;
  return false;
}

nv::Targets tileloom::releaseTargets(warp::RingOp ring, warp::RoleOp role) {
  switch (ring.getScope()) {
  case warp::Scope::Cta:
    return nv::Targets::Self;
  case warp::Scope::Pair:
    if (waitsInLeader(ring))
      return role.getLeader() ? nv::Targets::Self : nv::Targets::Leader;
    return nv::Targets::Pair;
  case warp::Scope::Cluster:
    return nv::Targets::Cluster;
  }
  llvm_unreachable("unknown scope");
}

int64_t tileloom::releasingCtas(warp::RingOp ring, warp::RoleOp role, int64_t cluster) {
  switch (ring.getScope()) {
  case warp::Scope::Cta:
    return 1;
  case warp::Scope::Pair:
    return role.getLeader() ? 1 : 2;
  case warp::Scope::Cluster:
    return role.getLeader() ? cluster / 2 : cluster;
  }
  llvm_unreachable("unknown scope");
}

static int64_t groupOf(Operation *op) {
  if (auto mma = dyn_cast<nv::Tcgen05MmaOp>(op))
    return mma.getCtaGroup();
  if (auto mma = dyn_cast<nv::Tcgen05MmaScaledOp>(op))
    return mma.getCtaGroup();
  if (auto copy = dyn_cast<nv::Tcgen05CpOp>(op))
    return copy.getCtaGroup();
  return 0;
}

int64_t tileloom::tcgen05Group(func::FuncOp function) {
  int64_t group = 1;
  function.walk([&](Operation *op) { group = std::max(group, groupOf(op)); });
  return group;
}

LogicalResult tileloom::checkScopes(func::FuncOp function) {
  int64_t cluster = clusterSize(function), group = tcgen05Group(function);
  WalkResult result = function.walk([&](Operation *op) {
    if (auto ring = dyn_cast<warp::RingOp>(op)) {
      if (ring.getScope() == warp::Scope::Pair && cluster % 2) {
        ring.emitOpError("scope: expected clusters of an even number of CTAs for 'pair', found ")
            << cluster;
        return WalkResult::interrupt();
      }
    } else if (auto role = dyn_cast<warp::RoleOp>(op)) {
      if (role.getLeader() && cluster % 2) {
        role.emitOpError("leader: expected clusters of an even number of CTAs, found ") << cluster;
        return WalkResult::interrupt();
      }
    } else if (int64_t found = groupOf(op)) {
      auto role = op->getParentOfType<warp::RoleOp>();
      if (found != group) {
        op->emitOpError("cta_group: expected ")
            << group << " as in the rest of the kernel, found " << found;
        return WalkResult::interrupt();
      }
      if (role && role.getLeader() != (group == 2)) {
        op->emitOpError("in role @")
            << role.getSymName() << ": expected "
            << (group == 2 ? "a leader role, which issues for both CTAs"
                           : "a role that runs in every CTA, found a leader role");
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
