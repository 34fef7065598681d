//===- Roles.cpp - Facts about the roles of a kernel --------------------------------------===//

#include "tileloom/Analysis/Roles.h"

#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tileloom;

bool tileloom::isSingleThreadRole(warp::RoleOp role) {
  if (role.getWarps() != 1)
    return false;
  if (auto known = role->getAttrOfType<BoolAttr>(nv::singleThreadAttrName))
    return known.getValue();
  WalkResult result = role.getBody().walk([](Operation *op) {
    bool tensor = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) ||
                  llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
    bool ours = isa<nv::NVDialect, warp::WarpDialect>(op->getDialect());
    bool ring = isa<warp::AcquireOp, warp::PeekOp, warp::SlotOp, warp::ReleaseOp, warp::SkipOp,
                    warp::AwaitOp, warp::PassOp, warp::HoldOp, warp::ForEachTileOp>(op);
    bool scalarAccess = isa<nv::GlobalLoadOp, nv::GlobalStoreOp, nv::ScalarLoadOp>(op);
    if (tensor ||
        (ours && !ring && !scalarAccess && !op->hasTrait<nv::SingleThread>() && !isPure(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

int64_t tileloom::ctasPerSm(Operation *function) {
  auto launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName);
  return launch ? launch.getPerSm() : 1;
}

int64_t tileloom::arrivalsOf(warp::ReleaseOp release) {
  auto role = release->getParentOfType<warp::RoleOp>();
  warp::AcquireOp acquire = warp::originOf(release.getToken());
  int64_t replicas = acquire->hasAttr(warp::alternateAttrName) ? 1 : role.getReplicas();
  switch (release.getKind()) {
  case warp::ReleaseKind::Generic:
  case warp::ReleaseKind::Wgmma:
    return replicas * (isSingleThreadRole(role) ? 1 : role.getWarps());
  case warp::ReleaseKind::CpAsync:
    return replicas * role.getWarps() * 32;
  case warp::ReleaseKind::Tma:
  case warp::ReleaseKind::Tcgen05:
  case warp::ReleaseKind::BulkRead:
    return replicas;
  }
  llvm_unreachable("unknown release kind");
}

bool tileloom::countedByStoreEngine(warp::RingOp ring) {
  bool released = false;
  warp::RoleOp role;
  for (Operation *user : ring.getRing().getUsers()) {
    auto own = user->getParentOfType<warp::RoleOp>();
    auto release = dyn_cast<warp::ReleaseOp>(user);
    if ((role && role != own) || (release && release.getKind() != warp::ReleaseKind::BulkRead))
      return false;
    role = own;
    released |= release || isa<warp::StoreOp>(user);
  }
  return released;
}
