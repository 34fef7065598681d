//===- StageRole.cpp - Work by rows while a product is in flight --------------------------===//
//
// In: loops that warp-pipeline-role has made, in which synchronous work lies between the wait for
// one product's result and the wait for a product that is still in flight. Out: that work by row
// slots, in an order that starts the unit it needs most (often the exponentials) early and keeps it
// busy; a part of the last slot's is left for after the wait, which is pinned behind the part
// before it.
//
// Behind that wait the role asks for the slots that the next iteration takes before it issues
// anything: the answer comes while the rest is computed, instead of 60 to 100 clocks at the head of
// the chain of waits and work that an iteration is (of 2300; docs/notes/role-stage.md). Not where the
// chain is longer than what the units do for all replicas: there it gains nothing (8 bits) or loses
// (D 64 in tiles of 128 rows, where ptxas gave the other slot back late).
//
// Element-wise work and reductions along rows are sliced; everything else keeps its place and sees
// whole tiles. How much comes before the wait is `fraction` of the last slot's work for that unit;
// the attribute `warp.stage = "off"` of a loop leaves it alone.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"
#include "passes/Warp/Projection.h"

#include "ColumnPieces.h"
#include "RowPieces.h"
#include "SkewExpansion.h"
#include "WorkClusters.h"
#include "dialects/Warp/Warp.h"
#include "tileloom/Schedule/Engines.h"
#include "tileloom/Schedule/Staging.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSTAGEROLE
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Rows of an accumulator that each thread holds of 16 (PTX ISA 9.7.15.5.1).
static constexpr unsigned accumulatorSlots = 2;
/// Columns that a register operand of a product takes at a time; what is cut stays a multiple.
static constexpr int64_t columnStep = 16;
/// Columns of a tile that stand for all of it where only their being computed matters.
static constexpr int64_t pinColumns = 8;

namespace {

/// A piece of the schedule and what it stands for.
struct Work {
  unsigned cluster;
  Part part;
};

struct Stager {
  nv::WgmmaWaitOp start, retire;
  double fraction;
  Block *block;
  OpBuilder builder;
  std::optional<RowPieces> pieces;
  WorkClusters source;
  ArrayRef<Cluster> clusters;
  SmallVector<Work> work;
  SmallVector<schedule::Piece> plan;
  llvm::DenseMap<std::pair<unsigned, int>, unsigned> workOf; // cluster and part

  Stager(nv::WgmmaWaitOp start, nv::WgmmaWaitOp retire, double fraction)
      : start(start), retire(retire), fraction(fraction), block(retire->getBlock()),
        builder(retire) {}

  static int keyOf(Part part) { return static_cast<int>(part.slot) * 4 + part.chunk + 1; }

  bool isSliced(Operation *op) const { return source.isSliced(op); }

  bool collect() {
    auto tile = dyn_cast<RankedTensorType>(start->getResult(0).getType());
    if (!tile || tile.getRank() != 2 || tile.getDimSize(0) % 64)
      return false;
    int64_t columns = tile.getDimSize(1);
    int64_t cut = static_cast<int64_t>(fraction * columns) / columnStep * columnStep;
    pieces.emplace(builder, tile.getDimSize(0), accumulatorSlots, cut);
    if (!source.collect(start, retire, *pieces))
      return false;
    if (cut > 0 && cut < columns)
      source.chooseChunks(columns);
    clusters = source.clusters;
    return true;
  }

  void addWork(unsigned index, Part part) {
    const Cluster &cluster = clusters[index];
    schedule::Piece piece;
    double share = cluster.kept ? 1 : 1.0 / accumulatorSlots;
    bool last = part.slot == accumulatorSlots - 1;
    if (part.chunk >= 0)
      share *= part.chunk == 0 ? fraction : 1 - fraction;
    piece.critical = cluster.critical ? cluster.criticalBusy * share : 0;
    piece.other = cluster.otherBusy * share;
    piece.slot = part.slot;
    piece.late = last && !cluster.kept &&
                 (part.chunk == 1 || (cluster.critical && part.chunk < 0 && fraction <= 0));
    llvm::SetVector<unsigned> needs;
    auto need = [&](unsigned from, Part of) {
      if (auto found = workOf.find({from, keyOf(of)}); found != workOf.end())
        needs.insert(found->second);
    };
    source.forEachSource(cluster, [&](unsigned from) {
      for (unsigned slot = 0; slot < accumulatorSlots; ++slot) {
        if (!cluster.kept && !clusters[from].kept && slot != part.slot)
          continue;
        need(from, {slot, -1});
        for (int chunk : {0, 1})
          if (part.chunk < 0 || part.chunk == chunk)
            need(from, {slot, chunk});
      }
    });
    if (part.chunk == 1)
      need(index, {part.slot, 0});
    if (cluster.kept) // side effects in order
      for (unsigned i = work.size(); i-- > 0;)
        if (clusters[work[i].cluster].kept) {
          needs.insert(i);
          break;
        }
    piece.needs.assign(needs.begin(), needs.end());
    workOf[{index, keyOf(part)}] = work.size();
    work.push_back({index, part});
    plan.push_back(piece);
  }

  void addAllWork() {
    constexpr unsigned last = accumulatorSlots - 1;
    for (unsigned index = 0; index < clusters.size(); ++index) {
      if (clusters[index].kept) {
        addWork(index, {last, -1});
        continue;
      }
      for (unsigned slot = 0; slot < accumulatorSlots; ++slot)
        if (slot == last && clusters[index].chunked) {
          addWork(index, {slot, 0});
          addWork(index, {slot, 1});
        } else {
          addWork(index, {slot, -1});
        }
    }
  }

  void emit(const Work &item) {
    const Cluster &cluster = clusters[item.cluster];
    if (cluster.kept) {
      Operation *op = cluster.ops.back();
      op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
      return;
    }
    for (Operation *op : cluster.ops)
      pieces->clone(op, item.part);
    auto fold = dyn_cast<nv::FoldOp>(cluster.ops.back());
    if (!fold || item.part.chunk != 1)
      return;
    // Both chunks' sums.
    Value first = pieces->get(fold.getResult(), {item.part.slot, 0}),
          second = pieces->get(fold.getResult(), item.part);
    pieces->set(fold.getResult(), {item.part.slot, -1}, combineParts(builder, fold.getLoc(), fold.getKind(), first, second));
  }

  /// One value that needs all critical work of `before`: sums of it where there are any, else its
  /// last columns. Of a chunk only these: its sum would be three additions behind its last element,
  /// and the wait stands still meanwhile.
  Value pinFor(ArrayRef<unsigned> before) {
    SmallVector<Value> ends;
    for (unsigned i : before) {
      const Cluster &cluster = clusters[work[i].cluster];
      auto type = dyn_cast<RankedTensorType>(cluster.ops.back()->getResult(0).getType());
      if (!cluster.critical || !type || !type.getElementType().isF32())
        continue;
      Value end;
      for (unsigned j : before)
        if (auto fold = dyn_cast<nv::FoldOp>(clusters[work[j].cluster].ops.back());
            fold && fold.getSource() == cluster.result() &&
            keyOf(work[j].part) == keyOf(work[i].part) && work[i].part.chunk != 0)
          end = pieces->get(fold.getResult(), work[j].part);
      if (!end) {
        Value part = pieces->get(cluster.result(), work[i].part);
        auto whole = cast<RankedTensorType>(part.getType());
        auto few = RankedTensorType::get({whole.getDimSize(0), pinColumns}, whole.getElementType());
        end = nv::ExtractOp::create(builder, part.getLoc(), few, part,
                                    ArrayRef<int64_t>{0, whole.getDimSize(1) - pinColumns});
      }
      ends.push_back(end);
    }
    Value sum;
    for (Value end : ends)
      sum = sum ? combineParts(builder, end.getLoc(), nv::ReduceKind::Add, sum, end) : end;
    return sum;
  }

  /// Uses outside the sliced work see whole tiles, put together where the builder stands.
  void replaceUses(llvm::function_ref<bool(Operation *)> before) {
    for (Operation *op : source.sliced) {
      Value value = op->getResult(0);
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : value.getUses()) {
        Operation *owner = block->findAncestorOpInBlock(*use.getOwner());
        if (owner && !isSliced(owner) && before(owner))
          uses.push_back(&use);
      }
      for (OpOperand *use : uses)
        use->set(pieces->isRepeated(op) && !isa<nv::BroadcastOp>(op) ? value
                                                                     : pieces->whole(value));
    }
  }

  bool isLate(Value value) const {
    Operation *def = value.getDefiningOp();
    if (!def || !isSliced(def))
      return false;
    if (pieces->isRepeated(def))
      return llvm::any_of(def->getOperands(), [&](Value operand) { return isLate(operand); });
    for (unsigned slot = 0; slot < accumulatorSlots; ++slot)
      if (!pieces->knows(value, {slot, -1}) &&
          !(pieces->knows(value, {slot, 0}) && pieces->knows(value, {slot, 1})))
        return true;
    return false;
  }

  /// What follows `at` and needs nothing late comes before it: the scale of the product that has
  /// just retired, say, before the conversion of the last exponentials.
  void advance(Operation *at) {
    llvm::SmallPtrSet<Operation *, 8> waiting;
    for (Operation *op = at, *next; !op->hasTrait<OpTrait::IsTerminator>(); op = next) {
      next = op->getNextNode();
      bool waits = llvm::any_of(valuesUsedBy(op), [&](Value value) {
        return isLate(value) || (value.getDefiningOp() && waiting.contains(value.getDefiningOp()));
      });
      if (!waits) {
        op->moveBefore(at);
        continue;
      }
      if (!isPure(op))
        return; // nothing passes it
      waiting.insert(op);
    }
  }

  bool run() {
    if (!collect())
      return false;
    addAllWork();
    schedule::Staging staging = schedule::stagePieces(plan);
    auto place = [&](ArrayRef<unsigned> order, Operation *at) {
      for (unsigned i : order) {
        builder.setInsertionPoint(at);
        const Cluster &cluster = clusters[work[i].cluster];
        if (cluster.kept)
          replaceUses([&](Operation *op) { return op == cluster.ops.back(); });
        emit(work[i]);
      }
    };
    place(staging.before, retire);
    builder.setInsertionPoint(retire);
    if (Value pin = pinFor(staging.before))
      retire.getAfterMutable().assign(pin);
    // What is late comes before the first operation that needs it.
    Operation *at = retire->getNextNode();
    while (!at->hasTrait<OpTrait::IsTerminator>() &&
           llvm::none_of(valuesUsedBy(at), [&](Value value) { return isLate(value); }))
      at = at->getNextNode();
    advance(at);
    builder.setInsertionPoint(retire);
    replaceUses(
        [&](Operation *op) { return retire->isBeforeInBlock(op) && op->isBeforeInBlock(at); });
    place(staging.after, at);
    builder.setInsertionPoint(at);
    replaceUses([&](Operation *op) { return op == at || at->isBeforeInBlock(op); });
    for (Operation *op : llvm::reverse(source.sliced))
      if (op->use_empty())
        op->erase();
    return true;
  }
};

/// Whether another role than `own` passes the slots of a ring on, so that they have a barrier to ask.
bool isPassedOn(Value ring, RoleOp own) {
  return llvm::any_of(ring.getUsers(), [&](Operation *user) { return isa<ReleaseOp>(user) && user->getParentOfType<RoleOp>() != own; });
}

/// Asks, behind `wait` and what is given back there, for the slots that an iteration of `loop` takes before its first product. With the question first
/// ptxas gave back behind some exponentials: 0.3 to 1 % at D 128, 2 % at D 64.
void peekBehind(nv::WgmmaWaitOp wait, scf::ForOp loop) {
  auto role = loop->getParentOfType<RoleOp>();
  llvm::MapVector<Value, unsigned> taken; // rings, and how often an iteration takes a slot
  loop.walk([&](AcquireOp acquire) { ++taken[acquire.getRing()]; });
  OpBuilder builder(wait->getContext());
  Operation *last = wait;
  while (isa<ReleaseOp>(last->getNextNode()))
    last = last->getNextNode();
  builder.setInsertionPointAfter(last);
  for (Operation &op : *loop.getBody()) {
    if (isa<nv::WgmmaOp>(op))
      return;
    auto acquire = dyn_cast<AcquireOp>(op);
    if (acquire && taken[acquire.getRing()] == 1 && isPassedOn(acquire.getRing(), role))
      PeekOp::create(builder, acquire.getLoc(), builder.getI1Type(), acquire.getRing(), Value(), Value());
  }
}

struct StageRole : tileloom::warp::impl::WarpStageRoleBase<StageRole> {
  using WarpStageRoleBase::WarpStageRoleBase;

  /// The schedule's, or the pass's.
  double fractionOf(scf::ForOp loop) {
    tile::ScheduleAttr given = scheduleOf(loop);
    auto own = given ? given.getFields().getAs<FloatAttr>("fraction") : FloatAttr();
    return own ? own.getValueAsDouble() : fraction;
  }

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      auto wanted = loop->getAttrOfType<StringAttr>(stageAttrName);
      if (loop->removeAttr(overlapAttrName) && !(wanted && wanted.getValue() == "off"))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      nv::WgmmaWaitOp start, retire;
      for (auto wait : loop.getBody()->getOps<nv::WgmmaWaitOp>())
        start = retire, retire = wait;
      if (start && !start.getResults().empty() && !retire.getResults().empty() &&
          start.getPending() > 0 && retire.getPending() == 0 && !retire.getAfter() && Stager(start, retire, fractionOf(loop)).run() &&
          !loop->hasAttr(longChainAttrName))
        peekBehind(retire, loop);
    }
  }
};

} // namespace
