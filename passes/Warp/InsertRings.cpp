//===- InsertRings.cpp - From accesses to ownership ---------------------------------------===//
//
// In: a partitioned, still sequential kernel. Out: every tile that crosses roles lives in a buffer, and travels along its rings: the loads of
// one role and the uses of another are between acquire and release. Products are nv operations.
//
// A load and its uses are two tenures of one storage: the load role's, which begins with a full overwrite, and the using role's, from the
// first use to the last. Loads with the same block and the same users become views of one buffer: one barrier for both. A release names
// what completes the use: `wgmma` after the wait of a product, `generic` for reads into registers.
//
// An operand A that is loaded once for a loop of products moves to registers when they suffice: its slot is then free for the next tile
// before the loop runs. Slots that the CTAs of a cluster fill for each other (tile.multicast) have rings of its scope. What the gather role
// only reads and writes (GatherCopies.h) is copied by cp.async.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/Boxes.h"
#include "passes/Warp/CacheHints.h"
#include "passes/Warp/GatherCopies.h"
#include "passes/Warp/OperandStaging.h"
#include "passes/Warp/Products.h"
#include "passes/Warp/Projection.h"
#include "passes/Warp/StorePieces.h"
#include "tileloom/Schedule/ClusterLoads.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

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

/// Whether the CTAs of a cluster load a tile, or parts of it, for each other.
bool isMulticast(Operation *source) {
  return source->hasAttr(schedule::multicastAttrName) || (isStack(source) && llvm::any_of(source->getOperands(), [](Value part) {
           return part.getDefiningOp()->hasAttr(schedule::multicastAttrName);
         }));
}

/// The role that reads a tile to registers for `use`: that of an operand of a product that is made ahead of it, else the one with the sums.
StringRef registerReader(OpOperand &use) {
  // Each use once: in code that uses values twice (orders, scans by pairs) the ways are exponentially many.
  llvm::SetVector<OpOperand *> reached;
  auto reach = [&](Value value) {
    for (OpOperand &next : value.getUses())
      reached.insert(&next);
  };
  reached.insert(&use);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i]->getOwner();
    if (isa<tile::ToSharedOp>(op)) {
      StringRef role = op->getAttrOfType<StringAttr>(inAttrName).getValue();
      if (op == use.getOwner() || role == gatherRole)
        return role;
    } else if (isa<scf::YieldOp>(op) && isa<scf::IfOp>(op->getParentOp())) {
      reach(op->getParentOp()->getResult(reached[i]->getOperandNumber()));
    } else if (!op->hasAttr(inAttrName) && !op->getNumRegions()) {
      llvm::for_each(op->getResults(), reach);
    }
  }
  return mathRole;
}

/// Erases what is left of a load's transposed views.
void eraseViews(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    eraseViews(user->getResult(0));
    user->erase();
  }
}

class RingInserter {
public:
  RingInserter(func::FuncOp function, bool tensorMemory)
      : function(function), tensorMemory(tensorMemory), builder(function.getContext()),
        products(function, tensorMemory) {}

  LogicalResult run() {
    separateReaders();
    collect();
    GatherCopies copies(function);
    for (Tenure &tenure : tenures) {
      declare(tenure);
      produce(tenure, copies);
      consume(tenure);
    }
    DenseSet<Operation *> fromProduct = storesOfProducts(function);
    if (failed(products.lower()))
      return failure();
    for (Tenure &tenure : tenures)
      release(tenure);
    products.eraseProducts();
    for (Tenure &tenure : tenures)
      for (Operation *source : tenure.sources) {
        eraseViews(source->getResult(0));
        SmallVector<Value> parts;
        if (isStack(source))
          llvm::append_range(parts, source->getOperands());
        source->erase();
        for (Value part : parts)
          part.getDefiningOp()->erase();
      }
    storeInPieces(function, fromProduct, tensorMemory);
    return success();
  }

private:
  StringAttr readerOf(OpOperand &use) {
    if (!readsSlot(use))
      return builder.getStringAttr(registerReader(use));
    Operation *user = use.getOwner();
    while (isa<tile::TransOp>(user))
      user = *user->getUsers().begin();
    return tensorMemory ? products.roleOfUser(user) : builder.getStringAttr(mathRole);
  }

  /// A tile that several roles use is loaded for each: a slot has one reader, which says when it is
  /// free.
  void separateReaders() {
    SmallVector<tile::LoadOp> loads;
    function.walk([&](tile::LoadOp load) { loads.push_back(load); });
    for (tile::LoadOp load : loads) {
      separateTranspositions(load.getResult());
      llvm::MapVector<StringAttr, SmallVector<OpOperand *>> readers;
      for (OpOperand &use : load->getUses())
        readers[readerOf(use)].push_back(&use);
      for (auto &[reader, uses] : llvm::drop_begin(readers)) {
        Operation *again = OpBuilder(load).clone(*load);
        for (OpOperand *use : uses)
          use->set(again->getResult(0));
      }
    }
  }

  void collect() {
    SmallVector<Operation *> sources;
    function.walk([&](Operation *op) {
      if (isStack(op))
        op->setAttr(inAttrName, roleOf(op->getOperand(0).getDefiningOp()));
      bool part = isa<tile::LoadOp>(op) && op->hasOneUse() && isStack(*op->user_begin());
      if (isStack(op) || (isa<tile::LoadOp, tile::ToSharedOp>(op) && !part))
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
    StringAttr reader = readerOf(*source->getUses().begin());
    for (Tenure &tenure : tenures) {
      Operation *first = tenure.sources.front();
      bool same = first->getBlock() == source->getBlock() &&
                  isa<tile::ToSharedOp>(first) == isa<tile::ToSharedOp>(source) && roleOf(first) == roleOf(source) &&
                  tenure.reader == reader && tenure.users.size() == users.size() &&
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
    // warp-plan-buffers finds the depth. Replicas that write a tile for themselves each have their
    // own.
    auto type = BufferType::get(function.getContext(), 1, views, Space::Smem);
    Operation *first = tenure.sources.front();
    Location loc = first->getLoc();
    bool own = roleOf(first) == tenure.reader;
    auto buffer = BufferOp::create(builder, loc, type, /*per_replica=*/own);
    auto ringType = RingType::get(function.getContext());
    Scope scope = llvm::any_of(tenure.sources, isMulticast) ? Scope::Cluster : Scope::Cta;
    tenure.free = RingOp::create(builder, loc, ringType, buffer, true, scope);
    tenure.ready = RingOp::create(builder, loc, ringType, buffer, false, scope);
  }

  /// The writing role: a slot, the copies into it, and its hand-over when they have come.
  void produce(Tenure &tenure, const GatherCopies &copies) {
    Operation *first = tenure.sources.front(), *last = tenure.sources.back();
    StringAttr role = roleOf(first);
    builder.setInsertionPoint(first);
    Location loc = first->getLoc();
    auto token = in(role, AcquireOp::create(builder, loc, tenure.free));
    SlotOp slot = slotOf(loc, token, tenure);
    in(role, slot);
    auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
    auto kind = ReleaseKind::Generic;
    auto copy = [&](tile::LoadOp load, Value into) {
      nv::CacheHintAttr hint = cacheHintOf(load, schedule);
      for (Operation *op : isMulticast(load) ? copyShare(builder, load, into, hint, schedule.integer("cluster").value_or(1))
                                             : copyBoxes(builder, load, into, hint))
        in(role, op);
    };
    // A barrier counts copies or stores, not both.
    bool copied = llvm::all_of(tenure.sources, [&](Operation *op) { return copies.takes(op); });
    for (auto [source, view] : llvm::zip(tenure.sources, slot.getViews())) {
      builder.setInsertionPoint(source);
      if (copied) {
        in(role, GatherCopies::create(builder, source, view));
        kind = ReleaseKind::CpAsync;
      } else if (auto load = dyn_cast<tile::LoadOp>(source)) {
        copy(load, view);
        kind = ReleaseKind::Tma;
      } else if (isStack(source)) {
        int64_t row = 0;
        for (Value part : source->getOperands()) {
          auto load = part.getDefiningOp<tile::LoadOp>();
          copy(load, rowsOf(view, row, load.getType().getDimSize(0)));
          kind = ReleaseKind::Tma;
          row += load.getType().getDimSize(0);
        }
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
        auto value = in(role, nv::LocalLoadOp::create(builder, source->getLoc(), tile.getType(), view));
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
    // Only a product that reads the slot itself leaves nothing that the lanes of a warp have to meet after.
    if (kind == ReleaseKind::Wgmma && read.contains(tenure.token))
      kind = ReleaseKind::Generic;
    builder.setInsertionPointAfter(last);
    in(roleOf(tenure.token.getDefiningOp()),
       ReleaseOp::create(builder, last->getLoc(), tenure.token, tenure.free, kind));
  }

  Value rowsOf(Value view, int64_t first, int64_t rows) {
    auto type = cast<nv::MemDescType>(view.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = rows;
    auto part = nv::MemDescType::get(type.getContext(), shape, type.getElementType(), type.getLayout(), type.getSpace());
    SmallVector<Value> offsets(shape.size(), arith::ConstantIntOp::create(builder, view.getLoc(), 0, 32));
    offsets[0] = arith::ConstantIntOp::create(builder, view.getLoc(), first, 32);
    return nv::MemDescSliceOp::create(builder, view.getLoc(), part, view, offsets);
  }

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
  DenseMap<Value, Operation *> read; // token -> the read of its slot to registers
};

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
