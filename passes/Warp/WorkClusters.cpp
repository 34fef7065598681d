//===- WorkClusters.cpp - Synchronous work in clusters ------------------------------------===//

#include "WorkClusters.h"

#include "tileloom/Analysis/Elementwise.h"
#include "tileloom/Schedule/Engines.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;
using schedule::Engine;

static int64_t columnsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 ? type.getDimSize(1) : 0;
}

SmallVector<Value> warp::valuesUsedBy(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

bool WorkClusters::collect(nv::WgmmaWaitOp start, nv::WgmmaWaitOp retire, const RowPieces &pieces) {
  SmallVector<Operation *> kept;
  auto waits = [&](Operation *op) { // for something sliced
    return llvm::any_of(valuesUsedBy(op), [&](Value value) {
      Operation *def = value.getDefiningOp();
      return def && (isSliced(def) || llvm::is_contained(kept, def));
    });
  };
  for (Operation &op : llvm::make_range(std::next(start->getIterator()), retire->getIterator())) {
    if (pieces.isSliceable(&op) && isPure(&op))
      sliced.push_back(&op);
    else if (waits(&op))
      kept.push_back(&op);
  }
  addClusters(kept, start, retire, pieces);
  return !sliced.empty() && findCritical(columnsOf(start->getResult(0)));
}

void WorkClusters::addClusters(ArrayRef<Operation *> kept, nv::WgmmaWaitOp start,
                               nv::WgmmaWaitOp retire, const RowPieces &pieces) {
  llvm::DenseMap<Operation *, Operation *> rootOf;
  auto isTile2 = [](Operation *op) {
    return isElementwise(op) && cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 2;
  };
  for (Operation *op : llvm::reverse(sliced)) {
    Operation *user = op->hasOneUse() ? *op->user_begin() : nullptr;
    bool joins = user && isSliced(user) && isTile2(op) && isTile2(user);
    rootOf[op] = joins ? rootOf[user] : op;
  }
  llvm::MapVector<Operation *, Cluster> byRoot;
  for (Operation &op : llvm::make_range(std::next(start->getIterator()), retire->getIterator())) {
    bool isKept = llvm::is_contained(kept, &op);
    if (!isKept && (!isSliced(&op) || pieces.isRepeated(&op)))
      continue;
    Operation *root = isKept ? &op : rootOf[&op];
    Cluster &cluster = byRoot[root];
    cluster.kept = isKept;
    cluster.elementwise = !isKept && isTile2(root);
    cluster.ops.push_back(&op);
  }
  auto all = byRoot.takeVector();
  llvm::sort(all, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
  for (auto &[root, cluster] : all) {
    for (Operation *op : cluster.ops)
      clusterOf[op] = clusters.size();
    clusters.push_back(cluster);
  }
}

/// The unit with most work, and which clusters are on it.
bool WorkClusters::findCritical(int64_t columns) {
  double total[schedule::engineCount] = {}, sum = 0;
  for (const Cluster &cluster : clusters)
    for (Operation *op : cluster.ops) {
      auto cost = schedule::costOf(op);
      total[static_cast<unsigned>(cost.engine)] += cost.busy;
      sum += cost.busy;
    }
  Engine unit = Engine::Special;
  if (total[static_cast<unsigned>(unit)] < 0.3 * sum)
    unit = Engine::Alu;
  double most = total[static_cast<unsigned>(unit)];
  for (Cluster &cluster : clusters) {
    for (Operation *op : cluster.ops) {
      auto cost = schedule::costOf(op);
      (cost.engine == unit ? cluster.criticalBusy : cluster.otherBusy) += cost.busy;
      if (isa<nv::ReduceOp>(op))
        cluster.otherBusy += cost.latency - cost.busy;
    }
    cluster.critical = cluster.elementwise && columnsOf(cluster.result()) == columns &&
                       cluster.criticalBusy > 0.05 * most;
    if (unit == Engine::Alu || !cluster.critical)
      cluster.otherBusy += cluster.criticalBusy; // the warps issue it
  }
  return most > 0 && llvm::any_of(clusters, [](const Cluster &c) { return c.critical; });
}

void WorkClusters::forEachSource(const Cluster &cluster,
                                 llvm::function_ref<void(unsigned)> visit) const {
  SmallVector<Value> values;
  for (Operation *op : cluster.ops)
    values.append(valuesUsedBy(op));
  while (!values.empty()) {
    Operation *def = values.pop_back_val().getDefiningOp();
    if (!def)
      continue;
    if (auto found = clusterOf.find(def); found != clusterOf.end()) {
      if (&clusters[found->second] != &cluster)
        visit(found->second);
    } else if (isSliced(def)) { // made again
      values.append(def->operand_begin(), def->operand_end());
    }
  }
}

void WorkClusters::chooseChunks(int64_t columns) {
  auto isWide = [&](const Cluster &cluster) {
    return cluster.elementwise && columnsOf(cluster.result()) == columns;
  };
  // What more critical work needs through a reduction is done whole: all of it would be late.
  SmallVector<bool> leads(clusters.size(), false), whole(clusters.size(), false);
  for (unsigned i = clusters.size(); i-- > 0;) {
    const Cluster &cluster = clusters[i];
    bool passes = isWide(cluster) || isa<nv::FoldOp>(cluster.ops.back());
    leads[i] = leads[i] || cluster.critical;
    forEachSource(cluster, [&](unsigned source) {
      leads[source] = leads[source] || leads[i];
      whole[source] = whole[source] || (passes ? whole[i] : leads[i]);
    });
  }
  for (auto [i, cluster] : llvm::enumerate(clusters)) {
    bool behind = false;
    forEachSource(cluster, [&](unsigned source) {
      behind |= clusters[source].chunked && clusters[source].elementwise;
    });
    if (isWide(cluster))
      cluster.chunked = !whole[i] && (cluster.critical || behind);
    else if (auto fold = dyn_cast<nv::FoldOp>(cluster.ops.back()))
      cluster.chunked = behind && columnsOf(fold.getSource()) == columns;
  }
}
