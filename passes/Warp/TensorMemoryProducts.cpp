//===- TensorMemoryProducts.cpp - Products whose sums lie in tensor memory ----------------===//
//
// Blackwell: one thread (role mma) issues nv.tcgen05.mma; the sum lies in tensor memory, an operand
// made in registers goes there too. Each is a storage with owners in turn, so each has a buffer and
// rings like a loaded tile:
// - a sum that a loop only adds to is the mma role's for the whole loop: free -> mma -> full -> math,
//   from a start that math writes: free -> math -> ready -> mma -> full -> math;
// - a product without accumulator: the same, once an iteration;
// - a sum that element-wise code changes between products stays where it is: math writes the start
//   and passes it on through mma, then an iteration is
//   full -> math takes it in hand -> free -> math changes it in place -> ready -> mma -> full,
//   and math reads it at last. Each ring is passed once a round, so that every wait has its phase.
//   What lies in the slot is kept from round to round: there is one slot;
// - a sum that something else reads between products goes through registers:
//   free -> math writes -> ready -> mma -> full -> math reads;
// - an operand: free -> math writes -> ready -> mma.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Products.h"

#include "passes/Warp/OperandStaging.h"
#include "passes/Warp/Projection.h"
#include "tileloom/Analysis/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom::warp;

namespace tileloom {

/// A new storage for a tile, with its rings; the first of `count` rings starts released.
static SmallVector<Value> storage(func::FuncOp function, Location loc, RankedTensorType tile,
                                  Space space, unsigned count) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  auto type = BufferType::get(function.getContext(), 1, {tile}, space);
  auto buffer = BufferOp::create(builder, loc, type, false);
  SmallVector<Value> rings;
  for (unsigned i = 0; i < count; ++i)
    rings.push_back(RingOp::create(builder, loc, RingType::get(function.getContext()), buffer,
                                   i == 0, Scope::Cta));
  return rings;
}

namespace {
/// Builds operations of one role.
struct InRole {
  OpBuilder &builder;
  Location loc;
  StringAttr role;

  template <typename Op, typename... Args> Op make(Args &&...args) const {
    auto op = Op::create(builder, loc, std::forward<Args>(args)...);
    op->setAttr(inAttrName, role);
    return op;
  }
  /// A token of `ring` and the view of its slot.
  std::pair<Value, Value> take(Value ring, nv::MemDescType view) const {
    Value token = make<AcquireOp>(ring);
    auto slot = make<SlotOp>(TypeRange{Type(view)}, token);
    return {token, slot.getViews()[0]};
  }
  void give(Value token, Value ring, ReleaseKind kind) const { make<ReleaseOp>(token, ring, kind); }
};
} // namespace

/// A product whose sum its loop carries to the same product of the next iteration.
struct CarriedSum {
  scf::ForOp loop; // null if there is none
  unsigned index = 0;
  SmallVector<Operation *> between; // element-wise code from the carried value to the accumulator

  Value carried() { return loop.getRegionIterArgs()[index]; }
  Value init() { return loop.getInitArgs()[index]; }
};

/// Collects what is computed from `value`, element by element, in `block`; false if it goes anywhere
/// but into the accumulator of `dot`.
static bool onlyFeeds(tile::DotOp dot, Value value, SmallVectorImpl<Operation *> &between) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user == dot && use.get() == dot.getAcc() && use.get() != dot.getA())
      continue;
    if (!isPureElementwise(user) || user->getBlock() != dot->getBlock() || user->getResult(0).getType() != dot.getType())
      return false;
    if (llvm::is_contained(between, user))
      continue;
    between.push_back(user);
    if (!onlyFeeds(dot, user->getResult(0), between))
      return false;
  }
  return true;
}

static CarriedSum carriedSum(tile::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || !dot.getAcc() || !dot.getResult().hasOneUse())
    return {};
  OpOperand &use = *dot.getResult().getUses().begin();
  if (use.getOwner() != loop.getBody()->getTerminator())
    return {};
  CarriedSum sum{loop, use.getOperandNumber(), {}};
  if (!onlyFeeds(dot, sum.carried(), sum.between))
    return {};
  bool reached = sum.between.empty() ? dot.getAcc() == sum.carried()
                                     : llvm::is_contained(sum.between, dot.getAcc().getDefiningOp());
  if (!reached)
    return {};
  llvm::sort(sum.between, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sum;
}

/// An operand A that math computed, in tensor memory: its view, and the token that goes back to `free`.
struct WrittenOperand {
  Value view, token, free;
};

static WrittenOperand writeOperand(func::FuncOp function, const InRole &owner, const InRole &issuer, Value a) {
  auto tile = cast<RankedTensorType>(a.getType());
  SmallVector<Value> rings = storage(function, owner.loc, tile, Space::Tmem, 2);
  nv::MemDescType type = memoryType(tile, nv::MemorySpace::Tmem);
  auto [token, slot] = owner.take(rings[0], type);
  owner.make<nv::TmemStoreOp>(a, slot);
  owner.give(token, rings[1], ReleaseKind::Generic);
  WrittenOperand operand;
  std::tie(operand.token, operand.view) = issuer.take(rings[1], type);
  operand.free = rings[0];
  return operand;
}

/// What math changes in its turn of an iteration, in front of the product that adds to it.
static void changeInPlace(tile::DotOp dot, CarriedSum &carried, const InRole &owner, Value free, Value ready, Value full) {
  auto type = cast<RankedTensorType>(dot.getType());
  owner.give(owner.make<AcquireOp>(full), free, ReleaseKind::Generic);
  auto [held, slot] = owner.take(free, memoryType(type, nv::MemorySpace::Tmem));
  auto value = owner.make<nv::TmemLoadOp>(Type(type), slot);
  carried.carried().replaceAllUsesWith(value.getResult());
  for (Operation *op : carried.between)
    op->moveBefore(dot);
  owner.make<nv::TmemStoreOp>(dot.getAcc(), slot);
  owner.give(held, ready, ReleaseKind::Generic);
}

/// A sum that goes through registers is written before its first product, which may not read it: then it starts from zeros, as registers
/// that nothing was written to are no value to store.
static void defineStart(Value sum) {
  auto argument = dyn_cast<BlockArgument>(sum);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
  if (!init)
    return;
  auto poison = init->get().getDefiningOp<ub::PoisonOp>();
  if (!poison)
    return defineStart(init->get());
  OpBuilder builder(poison);
  init->set(arith::ConstantOp::create(builder, poison.getLoc(), cast<TypedAttr>(builder.getZeroAttr(poison.getType()))));
}

LogicalResult ProductLowering::lowerToTensorMemory(tile::DotOp dot) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  InRole issuer{builder, loc, roleOfUser(dot)}, owner{builder, loc, builder.getStringAttr(mathRole)};
  auto a = cast<RankedTensorType>(dot.getA().getType());
  auto d = cast<RankedTensorType>(dot.getType());
  int64_t blocks = rowBlocks(dot);
  if (a.getDimSize(0) != 128 * blocks && a.getDimSize(0) != 64 * blocks)
    return dot.emitOpError("rows: expected ") << 64 * blocks << " or " << 128 * blocks << (blocks > 1 ? " (of all replicas)" : " (one tensor core)")
                                              << ", found " << a.getDimSize(0);
  FailureOr<Value> right = memoryOf(builder, dot.getB());
  if (failed(right))
    return dot.emitOpError(
        "b: expected a tile in shared memory, found one computed in registers");

  FailureOr<Value> left = memoryOf(builder, dot.getA());
  WrittenOperand operand;
  if (failed(left))
    operand = writeOperand(function, owner, issuer, dot.getA());

  nv::MemDescType sum = memoryType(d, nv::MemorySpace::Tmem);
  CarriedSum carried = carriedSum(dot);
  scf::ForOp loop = carried.loop;
  bool inPlace = loop && !carried.between.empty();
  bool written = inPlace || (loop ? !carried.init().getDefiningOp<ub::PoisonOp>() : bool(dot.getAcc()));
  SmallVector<Value> rings = storage(function, loc, d, Space::Tmem, written ? 3 : 2);
  Value free = rings[0], ready = written ? rings[1] : rings[0], full = rings.back();
  if (loop)
    builder.setInsertionPoint(loop);
  if (written) {
    auto [token, slot] = owner.take(free, sum);
    if (!loop)
      defineStart(dot.getAcc());
    owner.make<nv::TmemStoreOp>(loop ? carried.init() : dot.getAcc(), slot);
    owner.give(token, ready, ReleaseKind::Generic);
  }
  Value token, target;
  if (inPlace) {
    issuer.give(issuer.make<AcquireOp>(ready), full, ReleaseKind::Tcgen05);
    builder.setInsertionPoint(dot);
    changeInPlace(dot, carried, owner, free, ready, full);
  }
  std::tie(token, target) = issuer.take(ready, sum);
  builder.setInsertionPoint(dot);
  Value accumulate = dot.getUseAcc();
  if (!accumulate)
    accumulate = arith::ConstantIntOp::create(builder, loc, dot.getAcc() ? 1 : 0, 1);
  auto product = issuer.make<nv::Tcgen05MmaOp>(succeeded(left) ? *left : operand.view, *right, target, accumulate, uint64_t(1));
  if (operand.token)
    issuer.give(operand.token, operand.free, ReleaseKind::Tcgen05);
  if (loop && !inPlace)
    builder.setInsertionPointAfter(loop);
  issuer.give(token, full, ReleaseKind::Tcgen05);
  if (inPlace)
    builder.setInsertionPointAfter(loop);
  auto [readToken, source] = owner.take(full, sum);
  auto value = owner.make<nv::TmemLoadOp>(Type(d), source);
  owner.give(readToken, free, ReleaseKind::Generic);

  ends[dot] = product;
  if (loop) {
    loop.getResult(carried.index).replaceAllUsesWith(value.getResult());
    // Nothing needs what the loop carries any more; it carries it unchanged.
    loop.getBody()->getTerminator()->setOperand(carried.index, carried.carried());
    dot.getAccMutable().clear();
    dot.getUseAccMutable().clear();
  } else {
    dot.getResult().replaceAllUsesWith(value.getResult());
  }
  return success();
}

} // namespace tileloom
