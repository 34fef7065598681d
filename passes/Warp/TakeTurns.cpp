//===- TakeTurns.cpp - Turns of replicas at the tensor core -------------------------------===//
//
// In: loops of a role with replicas whose products overlap with other work of some length. Out: each
// replica issues the products of an iteration in its turn (warp.order), so that one computes while
// another one's products run. Without turns the replicas drift together: all wait for products, then
// all compute.
//
// `warp.turns = "off"` on a loop, or `turns = "off"` of the schedule, leaves the order to them. All
// replicas of such a role meet the same iterations: they share its tiles by rows.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "SkewExpansion.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/Elementwise.h"
#include "tileloom/Schedule/Engines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPTAKETURNS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// The products of an iteration that are issued before anything is awaited.
struct Issue {
  Operation *first = nullptr, *last = nullptr;
};

/// Whether other work takes long enough that the products of another replica can run beside it.
bool hasWork(scf::ForOp loop) {
  double products = 0, work = 0;
  loop.getBody()->walk([&](Operation *op) {
    if (isa<nv::WgmmaOp>(op))
      products += schedule::costOf(op).busy;
    else if (isElementwise(op))
      work += schedule::costOf(op).busy;
  });
  return work > 0.25 * products;
}

std::optional<Issue> issueOf(scf::ForOp loop) {
  Issue issue;
  for (Operation &op : *loop.getBody()) {
    if (isa<nv::WgmmaOp>(op)) {
      issue.first = issue.first ? issue.first : &op;
      issue.last = &op;
    } else if (isa<nv::WgmmaWaitOp>(op) && issue.first) {
      return issue;
    }
  }
  return std::nullopt;
}

bool wanted(RoleOp role) {
  auto function = role->getParentOfType<func::FuncOp>();
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  return !schedule || schedule.word("turns") != StringRef("off");
}

struct TakeTurns : tileloom::warp::impl::WarpTakeTurnsBase<TakeTurns> {
  void runOnOperation() override {
    getOperation()->walk([&](RoleOp role) {
      bool ordered = role.walk([](AwaitOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (role.getReplicas() >= 2 && !ordered && wanted(role))
        order(role);
    });
  }

  void order(RoleOp role) {
    SmallVector<Issue> issues;
    role.walk([&](scf::ForOp loop) {
      auto own = loop->getAttrOfType<StringAttr>(turnsAttrName);
      if (!loop->hasAttr(overlapAttrName) || !hasWork(loop) || (own && own.getValue() == "off"))
        return;
      if (auto issue = issueOf(loop))
        issues.push_back(*issue);
    });
    if (issues.empty())
      return;
    OpBuilder builder(role->getParentOp());
    auto order = OrderOp::create(builder, role.getLoc(), OrderType::get(&getContext()),
                                 role.getReplicas());
    for (Issue issue : issues) {
      builder.setInsertionPoint(issue.first);
      AwaitOp::create(builder, issue.first->getLoc(), order, Value());
      builder.setInsertionPointAfter(issue.last);
      PassOp::create(builder, issue.last->getLoc(), order);
    }
  }
};

} // namespace
