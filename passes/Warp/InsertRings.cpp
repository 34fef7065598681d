//===- InsertRings.cpp - From accesses to ownership ---------------------------------------===//
//
// In: a partitioned, still sequential kernel. Out: every tile that crosses roles lives in a buffer,
// and travels along its rings: the loads of one role and the uses of another are between acquire
// and release. Products are nv operations.
//
// A load and its uses are two tenures of one storage: the load role's, which begins with a full
// overwrite, and the using role's, from the first use to the last. Loads with the same block and
// the same users become views of one buffer: one barrier for both. A release names what completes
// the use: `wgmma` after the wait of a product, `generic` for reads into registers.
//
// An operand A that is loaded once for a loop of products moves to registers when they suffice: its
// slot is then free for the next tile before the loop runs.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/Boxes.h"
#include "passes/Warp/CacheHints.h"
#include "passes/Warp/Products.h"
#include "passes/Warp/Projection.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPINSERTRINGS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// Tiles that share a buffer's slots: loaded by TMA, or written by threads (tile.to_shared).
struct Tenure {
  SmallVector<Operation *> sources;
  SmallVector<Operation *> users; // of the loaded tiles, through transposed views
  StringAttr reader;              // the role of the users
  Value free, ready;              // rings
  Value token;                    // of the using role
};

/// Whether a tile is used where it lies: as an operand of products, directly or transposed (a
/// transposed view). Any other use reads it to registers.
bool readsSlot(OpOperand &use) {
  if (auto dot = dyn_cast<tile::DotOp>(use.getOwner()))
    return use.get() != dot.getAcc();
  return isa<tile::TransOp>(use.getOwner()) &&
         llvm::all_of(use.getOwner()->getUses(), [](OpOperand &next) { return readsSlot(next); });
}

/// Operations that use the loaded tile; transposed views are not among them.
void collectUsers(Value value, SmallVectorImpl<Operation *> &users) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<tile::TransOp>(user) && readsSlot(use))
      collectUsers(user->getResult(0), users);
    else if (!llvm::is_contained(users, user))
      users.push_back(user);
  }
}

/// Makes every transposition a view of shared memory or code in registers, not both.
void separateTranspositions(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    auto trans = dyn_cast<tile::TransOp>(user);
    if (!trans)
      continue;
    separateTranspositions(trans.getResult());
    SmallVector<OpOperand *> views;
    size_t uses = 0;
    for (OpOperand &use : trans->getUses()) {
      ++uses;
      if (readsSlot(use))
        views.push_back(&use);
    }
    if (views.empty() || views.size() == uses)
      continue;
    Operation *view = OpBuilder(trans).clone(*trans);
    for (OpOperand *use : views)
      use->set(view->getResult(0));
  }
}

/// Erases what is left of a load's transposed views.
void eraseViews(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    eraseViews(user->getResult(0));
    user->erase();
  }
}

/// Whether element-wise code leads from a product to `value`.
bool dependsOnProduct(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def)
    return false;
  if (isa<tile::DotOp>(def))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(def))
    return dependsOnProduct(loop.getYieldedValues()[cast<OpResult>(value).getResultNumber()]);
  return OpTrait::hasElementwiseMappableTraits(def) &&
         llvm::any_of(def->getOperands(), dependsOnProduct);
}

class RingInserter {
public:
  RingInserter(func::FuncOp function, bool tensorMemory)
      : function(function), tensorMemory(tensorMemory), builder(function.getContext()),
        products(function, tensorMemory) {}

  LogicalResult run() {
    separateReaders();
    collect();
    for (Tenure &tenure : tenures) {
      declare(tenure);
      produce(tenure);
      consume(tenure);
    }
    function.walk([&](Operation *op) {
      if (isa<tile::StoreOp, tile::StoreReduceOp>(op) && dependsOnProduct(op->getOperand(0)))
        fromProduct.insert(op);
    });
    if (failed(products.lower()))
      return failure();
    for (Tenure &tenure : tenures)
      release(tenure);
    products.eraseProducts();
    for (Tenure &tenure : tenures)
      for (Operation *source : tenure.sources) {
        eraseViews(source->getResult(0));
        source->erase();
      }
    return stores();
  }

private:
  /// Where products are another role's than the code in registers, a tile that both use is loaded
  /// for each: a slot has one reader, which says when it is free.
  void separateReaders() {
    SmallVector<tile::LoadOp> loads;
    function.walk([&](tile::LoadOp load) { loads.push_back(load); });
    for (tile::LoadOp load : loads) {
      separateTranspositions(load.getResult());
      SmallVector<OpOperand *> others;
      size_t uses = 0;
      for (OpOperand &use : load->getUses()) {
        ++uses;
        if (!readsSlot(use))
          others.push_back(&use);
      }
      if (!tensorMemory || others.empty() || others.size() == uses)
        continue;
      Operation *again = OpBuilder(load).clone(*load);
      for (OpOperand *use : others)
        use->set(again->getResult(0));
    }
  }

  void collect() {
    SmallVector<Operation *> sources;
    function.walk([&](Operation *op) {
      if (isa<tile::LoadOp, tile::ToSharedOp>(op))
        sources.push_back(op);
    });
    for (Operation *source : sources)
      collect(source);
  }

  void collect(Operation *source) {
    if (source->use_empty()) {
      source->removeAttr(inAttrName); // nobody waits for it
      return;
    }
    SmallVector<Operation *> users;
    collectUsers(source->getResult(0), users);
    OpOperand &use = *source->getUses().begin();
    auto reader = tensorMemory && readsSlot(use) ? products.roleOfUser(users.front())
                                                 : builder.getStringAttr(mathRole);
    for (Tenure &tenure : tenures) {
      Operation *first = tenure.sources.front();
      bool same = first->getBlock() == source->getBlock() && first->getName() == source->getName() &&
                  roleOf(first) == roleOf(source) && tenure.reader == reader &&
                  tenure.users.size() == users.size() &&
                  std::is_permutation(users.begin(), users.end(), tenure.users.begin());
      if (same) {
        tenure.sources.push_back(source);
        return;
      }
    }
    Tenure tenure;
    tenure.sources.push_back(source);
    tenure.users = std::move(users);
    tenure.reader = reader;
    tenures.push_back(std::move(tenure));
  }

  void declare(Tenure &tenure) {
    builder.setInsertionPointToStart(&function.getBody().front());
    SmallVector<RankedTensorType> views;
    for (Operation *source : tenure.sources)
      views.push_back(cast<RankedTensorType>(source->getResult(0).getType()));
    // warp-plan-buffers finds the depth. Replicas that write a tile for themselves each have their own.
    auto type = BufferType::get(function.getContext(), 1, views, Space::Smem);
    Operation *first = tenure.sources.front();
    Location loc = first->getLoc();
    bool own = roleOf(first) == tenure.reader;
    auto buffer = BufferOp::create(builder, loc, type, /*per_replica=*/own);
    auto ringType = RingType::get(function.getContext());
    tenure.free = RingOp::create(builder, loc, ringType, buffer, true, Scope::Cta);
    tenure.ready = RingOp::create(builder, loc, ringType, buffer, false, Scope::Cta);
  }

  /// The writing role: a slot, the copies into it, and its hand-over when they have come.
  void produce(Tenure &tenure) {
    Operation *first = tenure.sources.front(), *last = tenure.sources.back();
    StringAttr role = roleOf(first);
    builder.setInsertionPoint(first);
    Location loc = first->getLoc();
    auto token = in(role, AcquireOp::create(builder, loc, tenure.free));
    SlotOp slot = slotOf(loc, token, tenure);
    in(role, slot);
    auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
    auto kind = ReleaseKind::Generic;
    for (auto [source, view] : llvm::zip(tenure.sources, slot.getViews())) {
      builder.setInsertionPoint(source);
      if (auto load = dyn_cast<tile::LoadOp>(source)) {
        for (Operation *op : copyBoxes(builder, load, view, cacheHintOf(load, schedule)))
          in(role, op);
        kind = ReleaseKind::Tma;
      } else {
        in(role, nv::LocalStoreOp::create(builder, source->getLoc(), source->getOperand(0), view));
      }
    }
    builder.setInsertionPointAfter(last);
    in(role, ReleaseOp::create(builder, loc, token, tenure.ready, kind));
  }

  /// The using role: the slot before the first use.
  void consume(Tenure &tenure) {
    Block *block = tenure.sources.front()->getBlock();
    Operation *first = nullptr;
    for (Operation *user : tenure.users) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!first || ancestor->isBeforeInBlock(first))
        first = ancestor;
    }
    StringAttr role = tenure.reader;
    builder.setInsertionPoint(first);
    Location loc = first->getLoc();
    auto token = in(role, AcquireOp::create(builder, loc, tenure.ready));
    tenure.token = token;
    SlotOp slot = slotOf(loc, token, tenure);
    in(role, slot);
    for (auto [source, view] : llvm::zip(tenure.sources, slot.getViews())) {
      Value tile = source->getResult(0);
      SmallVector<OpOperand *> others;
      for (OpOperand &use : tile.getUses())
        if (!readsSlot(use))
          others.push_back(&use);
      auto load = dyn_cast<tile::LoadOp>(source);
      if (others.empty() && load && products.operandInRegisters(load))
        for (OpOperand &use : tile.getUses())
          others.push_back(&use);
      if (!others.empty()) {
        auto value =
            in(role, nv::LocalLoadOp::create(builder, source->getLoc(), tile.getType(), view));
        for (OpOperand *use : others)
          use->set(value.getResult());
        read[tenure.token] = value;
      }
      products.setMemory(tile, view);
    }
  }

  /// The slot goes back after the last use.
  void release(Tenure &tenure) {
    Block *block = tenure.sources.front()->getBlock();
    Operation *last = read.lookup(tenure.token);
    auto kind = ReleaseKind::Generic;
    for (Operation *user : tenure.users) {
      // A product has become other operations; an operand read to registers was used above.
      Operation *end = products.endOf(user, tenure.token, kind);
      Operation *ancestor = end ? block->findAncestorOpInBlock(*end) : nullptr;
      if (ancestor && (!last || last->isBeforeInBlock(ancestor)))
        last = ancestor;
    }
    builder.setInsertionPointAfter(last);
    in(roleOf(tenure.token.getDefiningOp()),
       ReleaseOp::create(builder, last->getLoc(), tenure.token, tenure.free, kind));
  }

  LogicalResult stores();

  SlotOp slotOf(Location loc, Value token, const Tenure &tenure) {
    SmallVector<Type> types;
    for (Operation *source : tenure.sources)
      types.push_back(memoryType(cast<RankedTensorType>(source->getResult(0).getType())));
    return SlotOp::create(builder, loc, types, token);
  }

  template <typename Op> Op in(StringAttr role, Op op) {
    op->setAttr(inAttrName, role);
    return op;
  }
  static StringAttr roleOf(Operation *op) { return op->getAttrOfType<StringAttr>(inAttrName); }

  func::FuncOp function;
  bool tensorMemory;
  OpBuilder builder;
  ProductLowering products;
  SmallVector<Tenure> tenures;
  DenseSet<Operation *> fromProduct; // stores
  DenseMap<Value, Operation *> read; // token -> the read of its slot to registers
};

/// Results leave through shared memory in pieces of columns: one piece is written while the copy of
/// the one before is read.
LogicalResult RingInserter::stores() {
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  int64_t buffers = schedule ? schedule.integer("buffers").value_or(1) : 1;
  DenseMap<Type, Value> rings; // of pieces
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<tile::StoreOp, tile::StoreReduceOp>(op))
      ops.push_back(op);
  });
  for (Operation *store : ops) {
    Value whole = store->getOperand(0), target = store->getOperand(1);
    StoreReduceAttr reduce;
    if (auto combining = dyn_cast<tile::StoreReduceOp>(store))
      reduce = StoreReduceAttr::get(function.getContext(),
                                    static_cast<StoreReduce>(combining.getKind()));
    auto type = cast<RankedTensorType>(whole.getType());
    auto desc = cast<tile::DescType>(target.getType());
    int64_t columns = type.getShape().back();
    // Only the layouts of sums are known to come apart by columns without an exchange.
    int64_t piece =
        fromProduct.contains(store) ? pieceColumns(type, schedule, tensorMemory) : columns;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = piece;
    auto pieceType = RankedTensorType::get(shape, type.getElementType());
    Location loc = store->getLoc();
    Value &ring = rings[pieceType];
    if (!ring) {
      builder.setInsertionPointToStart(&function.getBody().front());
      auto type = BufferType::get(function.getContext(), buffers, {pieceType}, Space::Smem);
      auto buffer = BufferOp::create(builder, loc, type, true);
      ring = RingOp::create(builder, loc, RingType::get(function.getContext()), buffer, true,
                            Scope::Cta);
    }
    builder.setInsertionPoint(store);
    SmallVector<int64_t> box(desc.getShape());
    box.back() = piece;
    Value boxed = target;
    if (piece != columns)
      boxed = tile::ReboxOp::create(
          builder, loc, tile::DescType::get(function.getContext(), box, desc.getElementType()),
          boxed);
    for (int64_t column = 0; column < columns; column += piece) {
      SmallVector<Value> coordinates(store->getOperands().drop_front(2));
      Value value = whole;
      if (piece != columns) {
        SmallVector<int64_t> offsets(type.getRank(), 0);
        offsets.back() = column;
        value = nv::ExtractOp::create(builder, loc, pieceType, value, offsets);
        Value shift = arith::ConstantIntOp::create(builder, loc, column, 32);
        coordinates.back() = arith::AddIOp::create(builder, loc, coordinates.back(), shift);
      }
      in(roleOf(store), StoreOp::create(builder, loc, value, boxed, coordinates, ring, reduce));
    }
    store->erase();
  }
  return success();
}

struct InsertRings : tileloom::warp::impl::WarpInsertRingsBase<InsertRings> {
  using WarpInsertRingsBase::WarpInsertRingsBase;

  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (function->hasAttr(rolesAttrName) &&
          failed(RingInserter(function, tileloom::schedule::hasTensorMemory(chip)).run()))
        signalPassFailure();
    });
  }
};

} // namespace
