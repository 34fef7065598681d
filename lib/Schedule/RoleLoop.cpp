//===- RoleLoop.cpp - The loop of a role as a graph ---------------------------------------===//
//
// Which edges there are, and why:
// - data, also through what the loop carries;
// - a slot goes back after everything that reads it: products once they have retired;
// - the registers of an operand A are written only after the products that read the earlier value
//   have retired, those of an accumulator only after the earlier value was read: ptxas serialises
//   all products of a kernel that overwrites them in flight (C7513, C7514);
// - the slots of one ring are taken in order, what the role hands to itself after it was given; other side effects keep their order.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/RoleLoop.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::schedule;

namespace {

bool isTile(Type type) { return isa<RankedTensorType>(type); }

bool isView(Operation *op) {
  if (isa<warp::SlotOp, nv::MemDescSliceOp, nv::MemDescTransOp, nv::SplatOp, nv::IndexOp,
          arith::ConstantOp, ub::PoisonOp>(op))
    return true;
  return op->getNumRegions() == 0 && isPure(op) && llvm::none_of(op->getResultTypes(), isTile) &&
         llvm::none_of(op->getOperandTypes(), isTile);
}

/// Operations that no schedule sees from outside: pure ones, reads of slots, votes.
bool isFree(Operation *op) {
  if (isa<nv::WarpAnyOp, nv::LocalLoadOp, nv::KeepOp>(op))
    return true;
  if (auto load = dyn_cast<nv::GlobalLoadOp>(op))
    return load.getInvariant();
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    WalkResult found = branch.walk([&](Operation *inner) {
      bool free = inner == op || isa<scf::YieldOp>(inner) || isFree(inner);
      return free ? WalkResult::advance() : WalkResult::interrupt();
    });
    return !found.wasInterrupted();
  }
  return op->getNumRegions() == 0 && isMemoryEffectFree(op);
}

/// All values from outside that an operation uses, those in its regions included.
SmallVector<Value> usedBy(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

struct GraphBuilder {
  RoleLoop &graph;
  std::string &why;
  Block *body;

  bool fail(Operation *op, StringRef reason) {
    why = (op->getName().getStringRef() + ": " + reason).str();
    return false;
  }

  void add(unsigned from, unsigned to, unsigned distance, bool data = false) {
    if (from != to || distance)
      graph.edges.push_back({from, to, distance, data});
  }

  unsigned addNode(NodeKind kind, Operation *op) {
    graph.nodes.push_back({kind, op});
    graph.nodeOf[op] = graph.nodes.size() - 1;
    return graph.nodes.size() - 1;
  }

  bool addWait(nv::WgmmaWaitOp wait) {
    if (wait.getPending() != 0 || wait.getInputs().size() != 1 || wait.getAfter())
      return fail(wait, "scheduled by the program");
    auto product = wait.getInputs()[0].getDefiningOp<nv::WgmmaOp>();
    if (!product || product->getBlock() != body || !product->getResult(0).hasOneUse())
      return fail(wait, "expected a product of the same iteration that nothing else uses");
    unsigned issue = graph.nodeOf[product], retire = addNode(NodeKind::Retire, wait);
    graph.nodes[issue].partner = retire;
    graph.nodes[retire].partner = issue;
    return true;
  }

  bool addNodes() {
    for (Operation &op : body->without_terminator()) {
      if (isa<warp::AcquireOp>(op))
        addNode(NodeKind::Acquire, &op);
      else if (isa<warp::ReleaseOp>(op))
        addNode(NodeKind::Release, &op);
      else if (isa<nv::WgmmaOp>(op))
        addNode(NodeKind::Issue, &op);
      else if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op)) {
        if (!addWait(wait))
          return false;
      } else if (isView(&op))
        // One that the loop carries is work of one iteration.
        addNode(llvm::is_contained(op.getUsers(), body->getTerminator()) ? NodeKind::Sync
                                                                         : NodeKind::View,
                &op);
      else if (op.getDialect() && op.getDialect()->getNamespace() == "warp" &&
               !isa<warp::StoreOp>(op))
        return fail(&op, "not moved by this pass");
      else if (op.getNumRegions() && !isFree(&op))
        return fail(&op, "side effects in a nested region");
      else
        addNode(NodeKind::Sync, &op);
    }
    for (const Node &node : graph.nodes)
      if (node.kind == NodeKind::Issue && node.partner < 0)
        return fail(node.op, "not awaited in the same iteration");
    return true;
  }

  void addData() {
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      if (node.kind == NodeKind::Retire) {
        add(node.partner, i, 0);
        continue;
      }
      for (Value value : usedBy(node.op)) {
        auto source = graph.sourceOf(value);
        if (!source)
          continue;
        unsigned from = source->node;
        // Products that add to one another stay in order by themselves.
        if (node.kind == NodeKind::Issue && graph.nodes[from].kind == NodeKind::Retire &&
            graph.isChained(from))
          from = graph.nodes[from].partner;
        add(from, i, source->distance, /*data=*/true);
      }
    }
  }

  /// Nodes that read the slot of `token`, through views.
  SmallVector<unsigned> readersOf(Value token) {
    SmallVector<unsigned> readers;
    SmallVector<Value> worklist{token};
    while (!worklist.empty())
      for (Operation *user : worklist.pop_back_val().getUsers()) {
        Operation *op = body->findAncestorOpInBlock(*user);
        auto node = op ? graph.nodeOf.find(op) : graph.nodeOf.end();
        if (node == graph.nodeOf.end() || isa<warp::ReleaseOp>(op))
          continue;
        if (graph.nodes[node->second].kind == NodeKind::View)
          worklist.append(op->result_begin(), op->result_end());
        else
          readers.push_back(node->second);
      }
    return readers;
  }

  bool addSlots() {
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      auto release = dyn_cast<warp::ReleaseOp>(node.op);
      if (!release)
        continue;
      auto source = graph.sourceOf(release.getToken());
      if (!source || source->distance)
        return fail(release, "the token of an earlier iteration");
      for (unsigned reader : readersOf(release.getToken()))
        add(graph.nodes[reader].kind == NodeKind::Issue ? graph.nodes[reader].partner : reader, i,
            0);
    }
    return true;
  }

  void addRegisters() {
    for (unsigned issue : graph.products()) {
      auto product = cast<nv::WgmmaOp>(graph.nodes[issue].op);
      unsigned retire = graph.nodes[issue].partner;
      if (isTile(product.getA().getType()))
        if (auto source = graph.sourceOf(product.getA()))
          add(retire, source->node, 1 - source->distance);
      if (graph.isChained(retire))
        continue;
      for (Operation *user : graph.nodes[retire].op->getResult(0).getUsers())
        if (Operation *op = body->findAncestorOpInBlock(*user))
          if (auto reader = graph.nodeOf.find(op); reader != graph.nodeOf.end())
            add(reader->second, issue, 1);
    }
  }

  /// Consecutive ones in order, and the last one before the first of the next iteration.
  void addChain(ArrayRef<unsigned> chain) {
    for (size_t i = 0; i + 1 < chain.size(); ++i)
      add(chain[i], chain[i + 1], 0);
    if (chain.size() > 1)
      add(chain.back(), chain.front(), 1);
  }

  void addOrders() {
    llvm::MapVector<Value, SmallVector<unsigned>> rings;
    SmallVector<unsigned> effects;
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      if (auto acquire = dyn_cast<warp::AcquireOp>(node.op))
        rings[acquire.getRing()].push_back(i);
      else if (node.kind == NodeKind::Sync && !isFree(node.op) && !isa<nv::TmaLoadOp>(node.op))
        effects.push_back(i); // copies are ordered by their slots
    }
    for (auto &[ring, chain] : rings)
      addChain(chain);
    addChain(effects);
    addHandOvers(rings);
  }

  /// What the role hands to itself (operands that it computes): a slot is taken after it was given, that of a later iteration as many
  /// iterations later as there are slots.
  void addHandOvers(const llvm::MapVector<Value, SmallVector<unsigned>> &rings) {
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      auto release = dyn_cast<warp::ReleaseOp>(node.op);
      auto takers = release ? rings.find(release.getRing()) : rings.end();
      if (takers == rings.end())
        continue;
      auto ring = release.getRing().getDefiningOp<warp::RingOp>();
      unsigned depth = ring ? cast<warp::BufferType>(ring.getBuffer().getType()).getDepth() : 1;
      for (unsigned taker : takers->second)
        add(i, taker, i < taker ? 0 : depth);
    }
  }
};

} // namespace

std::optional<RoleLoop> RoleLoop::build(scf::ForOp loop, std::string &why) {
  RoleLoop graph;
  graph.loop = loop;
  GraphBuilder builder{graph, why, loop.getBody()};
  for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (auto other = dyn_cast<BlockArgument>(value); other && other.getOwner() == loop.getBody()) {
      why = "a carried value that is another one of the iteration before";
      return std::nullopt;
    }
  if (!builder.addNodes())
    return std::nullopt;
  builder.addData();
  if (!builder.addSlots())
    return std::nullopt;
  builder.addRegisters();
  builder.addOrders();
  return graph;
}

std::optional<RoleLoop::Source> RoleLoop::sourceOf(Value value) const {
  unsigned distance = 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != loop.getBody() || argument == loop.getInductionVar())
      return std::nullopt;
    value = yielded(argument);
    distance = 1;
  }
  Operation *def = value.getDefiningOp();
  auto node = def ? nodeOf.find(def) : nodeOf.end();
  if (node == nodeOf.end())
    return std::nullopt;
  return Source{node->second, distance};
}

SmallVector<unsigned> RoleLoop::products() const {
  SmallVector<unsigned> result;
  for (auto [i, node] : llvm::enumerate(nodes))
    if (node.kind == NodeKind::Issue)
      result.push_back(i);
  return result;
}

Value RoleLoop::yielded(BlockArgument argument) const {
  auto forOp = loop;
  return forOp.getYieldedValues()[argument.getArgNumber() - 1];
}

bool RoleLoop::isChained(unsigned retire) const {
  Operation *wait = nodes[retire].op;
  auto isAccumulator = [](OpOperand &use) {
    auto product = dyn_cast<nv::WgmmaOp>(use.getOwner());
    return product && product.getC() == use.get() && product.getA() != use.get();
  };
  // One next product: a value that two start from would be overwritten by the first.
  return wait->getResult(0).hasOneUse() && isAccumulator(*wait->getResult(0).use_begin());
}
