//===- SliceColumns.cpp - Tiles of tensor memory in slices of columns ---------------------===//
//
// In: roles that read tiles from tensor memory, work on them element by element, reduce them along the
// columns and write them back, whole. A thread holds a whole row. Out: the same in slices of columns, of
// at most 32 registers: each is computed, reduced into a partial result and written before the next one.
//
// What a slice ends in is a sink: a store to tensor memory, or a reduction. Sinks that share element-wise
// code make one group, so that it is computed once; not those of which one needs the result of the other
// (the exponentials of a row need its maximum). An extracted piece is a slice by itself. A tile that is
// read from tensor memory is read again for each slice, which is free if only one group uses it. Else it
// stays in registers while such tiles take at most 128.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/ColumnPieces.h"
#include "tileloom/Analysis/Elementwise.h"
#include "tileloom/Schedule/Engines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSLICECOLUMNS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// Registers of a thread that a slice of 32-bit elements takes (with 64, ptxas hoists the reads of all slices), and for tiles
/// that are kept whole.
constexpr int64_t sliceRegisters = 32, keptRegisters = 128;

/// Sinks that are computed slice by slice together, and what they are computed from.
struct Group {
  SmallVector<Operation *> sinks;
  llvm::SetVector<Operation *> steps; // element-wise
  llvm::SetVector<Operation *> loads; // from tensor memory
  int64_t columns = 0;                // of a slice
};

Value valueOf(Operation *sink) { return sink->getOperand(0); }

/// The operations after `first` and before `last`.
auto between(Operation *first, Operation *last) {
  return llvm::make_range(std::next(first->getIterator()), last->getIterator());
}

class Slicer {
public:
  Slicer(Block &block, int64_t threads) : block(block), threads(threads) {}

  void run() {
    SmallVector<Operation *> sinks;
    for (Operation &op : block)
      if (isa<nv::TmemStoreOp, nv::ReduceOp, nv::ExtractOp>(op))
        sinks.push_back(&op);
    for (Operation *sink : sinks)
      add(sink);
    for (Group &group : groups)
      emit(group);
    llvm::SetVector<Operation *> replaced; // groups share them
    for (Group &group : groups)
      replaced.insert(group.loads.begin(), group.loads.end());
    for (Group &group : groups)
      replaced.insert(group.steps.begin(), group.steps.end());
    for (Operation *op : llvm::reverse(replaced))
      if (op->use_empty())
        op->erase();
  }

private:
  /// As few slices as fit the registers, about equal, of a multiple of 16 columns: of packed bf16 that is one
  /// tcgen05.st of x8. The last one may be narrower.
  int64_t columnsOfSlice(RankedTensorType type) const {
    int64_t columns = type.getDimSize(1);
    int64_t slices = llvm::divideCeil(type.getDimSize(0) * columns, sliceRegisters * threads);
    return std::min<int64_t>(columns, llvm::alignTo(llvm::divideCeil(columns, slices), 16));
  }

  void collect(Value value, Group &group) const {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != &block)
      return;
    if (isa<nv::TmemLoadOp>(def))
      group.loads.insert(def);
    else if (isPureElementwise(def) && !group.steps.contains(def)) {
      for (Value operand : def->getOperands())
        collect(operand, group);
      group.steps.insert(def);
    }
  }

  void add(Operation *sink) {
    auto type = cast<RankedTensorType>(valueOf(sink).getType());
    if (type.getRank() != 2)
      return;
    Group single;
    single.sinks.push_back(sink);
    single.columns = columnsOfSlice(type);
    if (single.columns == type.getDimSize(1))
      return;
    collect(valueOf(sink), single);
    if (auto reduce = dyn_cast<nv::ReduceOp>(sink)) {
      // Where lanes share a row, each slice would shuffle.
      if (reduce.getDim() != 1 || single.loads.empty() || type.getDimSize(0) != threads || !canCombineParts(reduce))
        return;
    }
    if (auto extract = dyn_cast<nv::ExtractOp>(sink)) {
      auto piece = cast<RankedTensorType>(extract.getType());
      if (single.loads.empty() || extract.getOffsets()[0] != 0 || piece.getDimSize(0) != type.getDimSize(0))
        return;
    }
    for (Group &group : groups)
      if (join(group, single))
        return;
    groups.push_back(std::move(single));
  }

  bool join(Group &group, const Group &single) {
    Operation *sink = single.sinks.front(), *first = group.sinks.front();
    if (isa<nv::ExtractOp>(sink) || isa<nv::ExtractOp>(first))
      return false;
    bool shares = llvm::any_of(single.steps, [&](Operation *op) { return group.steps.contains(op); });
    if (!shares || group.columns != single.columns)
      return false;
    // The group is computed where its last sink stands. What needs its results goes behind that.
    llvm::SetVector<Operation *> behind;
    bool stored = isa<nv::TmemStoreOp>(first);
    for (Operation &op : between(first, sink)) {
      bool member = llvm::is_contained(group.sinks, &op);
      if (stored && !member && !isPure(&op))
        return false; // the slot might be another owner's by then
      stored |= member && isa<nv::TmemStoreOp>(op);
      bool needs = needsAny(&op, group, behind);
      if (needs && (isa<nv::ReduceOp>(op) || !isPure(&op) || op.getNumRegions()))
        return false;
      if (needs)
        behind.insert(&op);
    }
    if (needsAny(sink, group, behind))
      return false;
    Operation *place = sink;
    for (Operation *op : behind) {
      op->moveAfter(place);
      place = op;
    }
    group.sinks.push_back(sink);
    group.steps.insert(single.steps.begin(), single.steps.end());
    group.loads.insert(single.loads.begin(), single.loads.end());
    return true;
  }

  static bool needsAny(Operation *op, const Group &group, const llvm::SetVector<Operation *> &behind) {
    return op->walk([&](Operation *inner) {
               for (Value operand : inner->getOperands())
                 if (Operation *def = operand.getDefiningOp();
                     def && (behind.contains(def) || llvm::is_contained(group.sinks, def)))
                   return WalkResult::interrupt();
               return WalkResult::advance();
             })
        .wasInterrupted();
  }

  /// Whether nothing outside of the group uses what it loads.
  static bool isOnlyUser(const Group &group) {
    auto inside = [&](Operation *user) { return group.steps.contains(user) || llvm::is_contained(group.sinks, user); };
    auto closed = [&](Operation *op) { return llvm::all_of(op->getUsers(), inside); };
    return llvm::all_of(group.loads, closed) && llvm::all_of(group.steps, closed);
  }

  /// Whether the tile can be read at `place` as well; `release` is what has to move behind that.
  bool canReadAt(nv::TmemLoadOp load, const Group &group, Operation *place, ReleaseOp &release) const {
    Value token = tokenOf(load.getView());
    if (!token)
      return false;
    ReleaseOp found = releaseOf(token);
    if (!found)
      return false;
    if (Operation *around = found->getBlock()->findAncestorOpInBlock(*place);
        !around || around->isBeforeInBlock(found))
      found = {};
    else if (found->getBlock() != &block)
      return false;
    auto taken = token.getDefiningOp<AcquireOp>();
    if (!taken)
      return false;
    auto bufferOf = [](AcquireOp acquire) { return acquire.getRing().getDefiningOp<RingOp>().getBuffer(); };
    for (Operation &op : between(load, place)) {
      bool blocks = op.walk([&](Operation *inner) {
                        if (auto store = dyn_cast<nv::TmemStoreOp>(inner))
                          if (tokenOf(store.getView()) == token && !llvm::is_contained(group.sinks, inner))
                            return WalkResult::interrupt();
                        // Another turn at the same slots, which may have to wait for the release.
                        if (auto acquire = dyn_cast<AcquireOp>(inner))
                          if (bufferOf(acquire) == bufferOf(taken))
                            return WalkResult::interrupt();
                        return WalkResult::advance();
                      })
                        .wasInterrupted();
      if (blocks)
        return false;
    }
    // In place: a slice is read before it is written, and no other one is.
    for (Operation *sink : group.sinks)
      if (auto store = dyn_cast<nv::TmemStoreOp>(sink))
        if (tokenOf(store.getView()) == token && store.getView() != load.getView())
          return false;
    release = found;
    return true;
  }

  void emit(Group &group) {
    Operation *place = group.sinks.back();
    int64_t registers = 0;
    for (Operation *load : group.loads)
      registers += schedule::registersOf(load->getResult(0).getType(), threads);
    bool again = isOnlyUser(group) || registers > keptRegisters;
    SmallVector<nv::TmemLoadOp> kept;
    Operation *end = place; // releases go behind the group
    for (Operation *op : group.loads) {
      auto load = cast<nv::TmemLoadOp>(op);
      ReleaseOp release;
      if (!again || !canReadAt(load, group, place, release))
        kept.push_back(load);
      else if (release) {
        release->moveAfter(end);
        end = release;
      }
    }
    OpBuilder builder(place);
    if (auto extract = dyn_cast<nv::ExtractOp>(place)) {
      ColumnPiece piece(builder, extract.getOffsets()[1], cast<RankedTensorType>(extract.getType()).getDimSize(1));
      for (nv::TmemLoadOp load : kept)
        piece.keep(load);
      extract.getResult().replaceAllUsesWith(piece.of(extract.getSource()));
      return extract.erase();
    }
    bool masked = llvm::any_of(group.steps, [&](Operation *step) { return isa<arith::CmpIOp>(step) && !repeated.insert(step); });
    SmallVector<Value> results(group.sinks.size());
    int64_t columns = cast<RankedTensorType>(valueOf(place).getType()).getDimSize(1);
    for (int64_t column = 0; column < columns; column += group.columns) {
      ColumnPiece piece(builder, column, std::min(group.columns, columns - column));
      for (nv::TmemLoadOp load : kept)
        piece.keep(load);
      if (masked)
        piece.compareAgain();
      SmallVector<Value> values;
      for (Operation *sink : group.sinks)
        values.push_back(piece.of(valueOf(sink)));
      for (auto [sink, value, result] : llvm::zip(group.sinks, values, results)) {
        if (auto store = dyn_cast<nv::TmemStoreOp>(sink))
          nv::TmemStoreOp::create(builder, store.getLoc(), value, piece.viewOf(store.getView()));
        else
          result = combine(builder, cast<nv::ReduceOp>(sink), value, result);
      }
    }
    for (auto [sink, result] : llvm::zip(group.sinks, results)) {
      if (result)
        sink->getResult(0).replaceAllUsesWith(result);
      sink->erase();
    }
  }

  /// The reduction of one more slice.
  static Value combine(OpBuilder &builder, nv::ReduceOp reduce, Value slice, Value before) {
    auto copy = cast<nv::ReduceOp>(builder.clone(*reduce));
    copy.getSourceMutable().assign(slice);
    Value part = copy.getResult();
    // LLVM takes a wait for a barrier for a loop and moves behind it what that loop does not use: a row's maximum, and with
    // it all of the row into registers.
    part = nv::KeepOp::create(builder, reduce.getLoc(), TypeRange(part.getType()), part).getResult(0);
    return before ? combineParts(builder, reduce.getLoc(), reduce.getKind(), before, part) : part;
  }

  Block &block;
  int64_t threads;
  SmallVector<Group> groups;
  llvm::SetVector<Operation *> repeated; // comparisons of the groups so far
};

struct SliceColumns : tileloom::warp::impl::WarpSliceColumnsBase<SliceColumns> {
  void runOnOperation() override {
    getOperation()->walk([&](RoleOp role) {
      llvm::SetVector<Block *> blocks;
      role.walk([&](Operation *op) {
        if (isa<nv::TmemLoadOp, nv::TmemStoreOp>(op))
          blocks.insert(op->getBlock());
      });
      for (Block *block : blocks)
        Slicer(*block, 32 * role.getWarps()).run();
    });
  }
};

} // namespace
