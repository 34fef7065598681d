//===- SliceResults.cpp - Results in slices of columns ------------------------------------===//
//
// In: roles that work on the sum of a product element by element, as whole tiles, before they store or
// reduce it. Out: the same in slices of columns, each of at most 32 registers of a thread. One
// tile after the other, a chain of operations needs registers for two whole tiles at every step: beside
// an accumulator of 128 registers there is no room for its exponentials.
//
// Slices are computed where they are used. A store takes them put together (nv.concat), a choice of
// registers; reductions combine those of the slices. What is read from memory stays whole, as it has to
// be read before the stores, but for a row of a slot that all rows are combined with (a bias, scales of the
// columns): it is read in the same slices, and the slot goes back after the last one. No load of shared memory
// goes over the barriers of the store before, so that the slice's arithmetic stays behind them, too. Without,
// ptxas computes all slices ahead of the first store, in one stretch that the other replica's products, which
// share registers and issue slots with it, feel: GELU on 128 x 176 took 2.3 % longer (notes/epilogues.md).
// A store through pointers of more than 128 elements of a thread becomes
// one for each slice: the elements go to other threads and arrive one in a register.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/ColumnPieces.h"
#include "tileloom/Analysis/Elementwise.h"
#include "tileloom/Schedule/Engines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSLICERESULTS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// Columns of an accumulator that lie side by side in the registers of a thread.
constexpr int64_t columnUnit = 8;
/// Registers of a thread that a slice of 32-bit elements takes.
constexpr int64_t sliceRegisters = 32;
/// Elements of a thread that one store through pointers writes, and how many are more than one store's.
constexpr int64_t storedAtOnce = 64, storedWhole = 128;

/// Whether a value is what a product left: its layout comes apart by columns.
bool isSum(Value value) {
  if (auto loop = value.getDefiningOp<scf::ForOp>())
    return isSum(cast<scf::YieldOp>(loop.getBody()->getTerminator())
                     .getOperand(cast<OpResult>(value).getResultNumber()));
  if (auto concat = value.getDefiningOp<nv::ConcatOp>())
    return llvm::all_of(concat.getInputs(), isSum);
  return isa_and_nonnull<nv::WgmmaOp, nv::WgmmaWaitOp, nv::TmemLoadOp, nv::SumPartialsOp>(value.getDefiningOp());
}

/// Whether a value is computed from sums element by element, here or in a block around.
bool isOfSum(Value value) {
  Operation *def = value.getDefiningOp();
  return isSum(value) || ((isPureElementwise(def) || isa_and_nonnull<nv::ConcatOp>(def)) && llvm::any_of(def->getOperands(), isOfSum));
}

class Slicer {
public:
  Slicer(Block &block, int64_t threads) : block(block), threads(threads) {}

  void run() {
    SmallVector<Operation *> sinks;
    for (Operation &op : block)
      if (isa<StoreOp, nv::ReduceOp>(op))
        sinks.push_back(&op);
    for (Operation *sink : sinks)
      rewrite(sink);
    for (Operation &op : llvm::make_early_inc_range(block))
      if (auto store = dyn_cast<nv::GlobalStoreOp>(op))
        split(store);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && (isPureElementwise(&op) || isa<nv::ExtractOp, nv::BroadcastOp, nv::LocalLoadOp>(op)))
        op.erase();
    for (auto [release, read] : held)
      if (release->isBeforeInBlock(read))
        release->moveAfter(read);
  }

private:
  /// The sums that a value is computed from; none if only conversions are done, which need no
  /// registers besides.
  size_t sumsOf(Value value) {
    llvm::SetVector<Operation *> steps;
    llvm::SetVector<Value> sums;
    collect(value, steps, sums);
    bool plain = llvm::all_of(steps, [](Operation *op) { return isa<CastOpInterface>(op); });
    return plain ? 0 : sums.size();
  }

  void collect(Value value, llvm::SetVector<Operation *> &steps, llvm::SetVector<Value> &sums) {
    Operation *def = value.getDefiningOp();
    if (isSum(value))
      sums.insert(value);
    if (!def || def->getBlock() != &block || steps.contains(def))
      return;
    if (auto extract = dyn_cast<nv::ExtractOp>(def))
      return collect(extract.getSource(), steps, sums);
    if (!isPureElementwise(def))
      return;
    steps.insert(def);
    for (Value operand : def->getOperands())
      collect(operand, steps, sums);
  }

  /// Columns of a slice: 32-bit values of each sum, as that is what is computed with.
  int64_t columnsOf(RankedTensorType type, int64_t sums) const {
    int64_t fit = sliceRegisters * threads / (type.getDimSize(0) * sums) / columnUnit * columnUnit;
    return std::clamp(fit, columnUnit, type.getDimSize(1));
  }

  void rewrite(Operation *sink) {
    Value whole = sink->getOperand(0);
    auto type = dyn_cast<RankedTensorType>(whole.getType());
    if (!type || type.getRank() != 2)
      return;
    size_t sums = sumsOf(whole);
    if (!sums)
      return;
    int64_t columns = columnsOf(type, sums);
    auto extract = whole.getDefiningOp<nv::ExtractOp>();
    if (columns == type.getDimSize(1) && !extract)
      return;
    OpBuilder builder(sink);
    auto reduce = dyn_cast<nv::ReduceOp>(sink);
    if (reduce && (!canCombineParts(reduce) || isNeededWhole(whole)))
      return;
    SmallVector<Value> slices;
    for (int64_t column = 0; column < type.getDimSize(1); column += columns) {
      int64_t own = std::min(columns, type.getDimSize(1) - column); // the last one may be narrower
      Value slice = of(builder, whole, column, own);
      if (reduce) {
        Type part = reduce.getType();
        if (reduce.getDim() == 0)
          part = RankedTensorType::get({own}, type.getElementType());
        slice = nv::ReduceOp::create(builder, sink->getLoc(), part, reduce.getKind(), slice, reduce.getDim(),
                                     reduce.getChains(), Value());
        if (reduce.getDim() == 1 && !slices.empty()) {
          slices.front() = combineParts(builder, reduce.getLoc(), reduce.getKind(), slices.front(), slice);
          continue;
        }
      }
      slices.push_back(slice);
    }
    Value result = slices.front();
    if (slices.size() > 1)
      result = nv::ConcatOp::create(builder, sink->getLoc(),
                                    reduce ? cast<RankedTensorType>(reduce.getType()) : type, slices,
                                    reduce ? 0 : 1);
    if (!reduce)
      return sink->setOperand(0, result);
    reduce.getResult().replaceAllUsesWith(result);
    reduce.erase();
  }

  /// Whether something else than stores and reductions takes a value, or what is computed from it: there
  /// is a whole tile then, and slices would only compute it again.
  bool isNeededWhole(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isa<StoreOp, nv::GlobalStoreOp, nv::ReduceOp>(user))
        return false;
      bool step = user->getBlock() == &block && (isPureElementwise(user) || isa<nv::ExtractOp>(user));
      return !step || isNeededWhole(user->getResult(0));
    });
  }

  /// The release of the slot that a row is read from, if the slot can be held until `user`: what is on the way waits for no other role, or
  /// only for other slots, and the row's ring has one more.
  ReleaseOp heldRelease(nv::LocalLoadOp load, Operation *user) {
    auto slot = load.getView().getDefiningOp<SlotOp>();
    auto acquire = slot ? slot.getToken().getDefiningOp<AcquireOp>() : AcquireOp();
    ReleaseOp release = acquire ? releaseOf(slot.getToken()) : ReleaseOp();
    if (load.getType().getRank() != 1 || load->getBlock() != &block || !release || release->getBlock() != &block)
      return {};
    auto ring = acquire.getRing().getDefiningOp<RingOp>();
    if (!ring)
      return {};
    if (release->isBeforeInBlock(user))
      for (Operation *op = release->getNextNode(); op != user; op = op->getNextNode()) {
        auto other = dyn_cast<AcquireOp>(op);
        if (op->getNumRegions() || isa<AwaitOp>(op) ||
            (other && (other.getRing() == acquire.getRing() || ring.getBuffer().getType().getDepth() < 2)))
          return {};
      }
    return release;
  }

  /// These columns of a row of a slot, read by themselves where the builder stands; null if they are not.
  Value rowSlice(OpBuilder &builder, nv::LocalLoadOp load, RankedTensorType type, int64_t column) {
    constexpr int64_t accessBits = 128;
    if (column * type.getElementTypeBitWidth() % accessBits)
      return {};
    ReleaseOp release = heldRelease(load, &*builder.getInsertionPoint());
    if (!release)
      return {};
    nv::MemDescType whole = load.getView().getType();
    auto part = nv::MemDescType::get(whole.getContext(), type.getShape(), whole.getElementType(), whole.getLayout(), whole.getSpace());
    Value first = arith::ConstantIntOp::create(builder, load.getLoc(), column, 32);
    Value view = nv::MemDescSliceOp::create(builder, load.getLoc(), part, load.getView(), first);
    auto read = nv::LocalLoadOp::create(builder, load.getLoc(), type, view);
    Operation *&latest = held[release];
    if (!latest || latest->isBeforeInBlock(read))
      latest = read;
    return read;
  }

  void split(nv::GlobalStoreOp store) {
    auto type = dyn_cast<RankedTensorType>(store.getValue().getType());
    if (!type || type.getRank() != 2 || type.getNumElements() <= storedWhole * threads || !isOfSum(store.getValue()))
      return;
    // A power of two: lanes along the columns divide it.
    int64_t columns = std::max<int64_t>(llvm::bit_floor(uint64_t(storedAtOnce * threads / type.getDimSize(0))), columnUnit);
    OpBuilder builder(store);
    for (int64_t column = 0; column < type.getDimSize(1); column += columns) {
      int64_t own = std::min(columns, type.getDimSize(1) - column);
      Value mask = store.getMask() ? of(builder, store.getMask(), column, own) : Value();
      nv::GlobalStoreOp::create(builder, store.getLoc(), of(builder, store.getValue(), column, own), store.getPointer(),
                                of(builder, store.getOffset(), column, own), mask, store.getCacheAttr());
    }
    store.erase();
  }

  /// Columns [column, column + columns) of a value; its last dimension counts columns.
  Value of(OpBuilder &builder, Value value, int64_t column, int64_t columns) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return value;
    auto key = std::make_tuple(value.getAsOpaquePointer(), column, columns);
    if (auto found = known.find(key); found != known.end())
      return found->second;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = columns;
    Value result = make(builder, value, RankedTensorType::get(shape, type.getElementType()), column);
    known[key] = result;
    return result;
  }

  Value make(OpBuilder &builder, Value value, RankedTensorType type, int64_t column) {
    Operation *def = value.getDefiningOp();
    Location loc = value.getLoc();
    int64_t rank = type.getRank(), columns = type.getShape().back();
    if (Value splat = splatFor(builder, value, type))
      return splat;
    if (auto index = dyn_cast_or_null<nv::IndexOp>(def)) {
      Value first = nv::IndexOp::create(builder, loc, type, index.getDim());
      if (static_cast<int64_t>(index.getDim()) != rank - 1 || column == 0)
        return first;
      auto shift = SplatElementsAttr::get(type, builder.getI32IntegerAttr(column));
      return arith::AddIOp::create(builder, loc, first,
                                   arith::ConstantOp::create(builder, loc, shift));
    }
    if (auto repeated = dyn_cast_or_null<nv::BroadcastOp>(def); repeated && rank == 2) {
      Value source = repeated.getSource();
      if (repeated.getDim() == 0)
        source = of(builder, source, column, columns);
      return nv::BroadcastOp::create(builder, loc, type, source, repeated.getDim());
    }
    if (auto extract = dyn_cast_or_null<nv::ExtractOp>(def);
        extract && llvm::all_of(extract.getOffsets().drop_back(), [](int64_t at) { return at == 0; }) &&
        extract.getSource().getType().getShape().drop_back() == type.getShape().drop_back())
      return of(builder, extract.getSource(), column + extract.getOffsets().back(), columns);
    if (auto concat = dyn_cast_or_null<nv::ConcatOp>(def); concat && concat.getDim() == uint64_t(rank - 1)) {
      int64_t first = 0;
      for (Value input : concat.getInputs()) {
        int64_t own = cast<RankedTensorType>(input.getType()).getShape().back();
        if (column >= first && column + columns <= first + own)
          return of(builder, input, column - first, columns);
        first += own;
      }
    }
    if (isPureElementwise(def) && def->getBlock() == &block && !isSum(value)) {
      SmallVector<Value> operands;
      for (Value operand : def->getOperands())
        operands.push_back(of(builder, operand, column, columns));
      return cloneFor(builder, def, operands, type);
    }
    if (type == value.getType())
      return value;
    if (auto load = dyn_cast_or_null<nv::LocalLoadOp>(def))
      if (Value row = rowSlice(builder, load, type, column))
        return row;
    SmallVector<int64_t> offsets(rank, 0);
    offsets.back() = column;
    return nv::ExtractOp::create(builder, loc, type, value, builder.getDenseI64ArrayAttr(offsets));
  }

  Block &block;
  int64_t threads;
  llvm::MapVector<Operation *, Operation *> held; // releases, and the last read of their slots
  std::map<std::tuple<void *, int64_t, int64_t>, Value> known;
};

struct SliceResults : tileloom::warp::impl::WarpSliceResultsBase<SliceResults> {
  void runOnOperation() override {
    getOperation()->walk([&](RoleOp role) {
      llvm::SetVector<Block *> blocks;
      role.walk([&](Operation *op) {
        if (isa<StoreOp, nv::GlobalStoreOp>(op))
          blocks.insert(op->getBlock());
      });
      for (Block *block : blocks)
        Slicer(*block, 32 * role.getWarps()).run();
    });
  }
};

} // namespace
