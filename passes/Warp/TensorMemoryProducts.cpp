//===- TensorMemoryProducts.cpp - Products whose sums lie in tensor memory ----------------===//
//
// Blackwell: one thread (role mma) issues nv.tcgen05.mma; the sum lies in tensor memory, an operand
// made in registers goes there too. Each is a storage with owners in turn, so each has a buffer and
// rings like a loaded tile:
// - a sum that a loop only adds to is the mma role's for the whole loop: free -> mma -> full ->
// math. It may start undefined or at zero: then the first product does not add, and after no iteration at
// all the reader writes zeros first;
// - a product without accumulator: the same, once an iteration;
// - a sum that something else touches between products goes through registers:
//   free -> math writes -> ready -> mma -> full -> math reads;
// - an operand: free -> math writes -> ready -> mma.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Products.h"

#include "passes/Warp/Projection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

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

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// The place of a loop's value that is a product's accumulator.
static unsigned carriedIndex(tile::DotOp dot) {
  return cast<BlockArgument>(dot.getAcc()).getArgNumber() - 1;
}

/// The loop that does nothing with the product's sum but carry it, if there is one.
static scf::ForOp carryingLoop(tile::DotOp dot) {
  auto carried = dyn_cast_or_null<BlockArgument>(dot.getAcc());
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!carried || !loop || carried.getOwner() != loop.getBody() || carried.getArgNumber() == 0)
    return {};
  unsigned index = carried.getArgNumber() - 1;
  bool own = carried.hasOneUse() && dot.getResult().hasOneUse() &&
             loop.getYieldedValues()[index] == dot.getResult() &&
             (loop.getInitArgs()[index].getDefiningOp<ub::PoisonOp>() ||
              (!dot.getUseAcc() && isZero(loop.getInitArgs()[index])));
  return own ? loop : scf::ForOp();
}

LogicalResult ProductLowering::lowerToTensorMemory(tile::DotOp dot) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  StringAttr mma = roleOfUser(dot);
  StringAttr math = builder.getStringAttr(mathRole);
  auto a = cast<RankedTensorType>(dot.getA().getType());
  auto d = cast<RankedTensorType>(dot.getType());
  if (a.getDimSize(0) != 128 && a.getDimSize(0) != 64)
    return dot.emitOpError("rows: expected 64 or 128 (one tensor core), found ") << a.getDimSize(0);
  FailureOr<Value> right = memoryOf(builder, dot.getB());
  if (failed(right))
    return dot.emitOpError(
        "b: expected a tile in shared memory, found one computed in registers");

  // Operand A.
  FailureOr<Value> left = memoryOf(builder, dot.getA());
  Value operandToken, operandFree, view = succeeded(left) ? *left : Value();
  if (failed(left)) {
    SmallVector<Value> rings = storage(function, loc, a, Space::Tmem, 2);
    nv::MemDescType type = memoryType(a, nv::MemorySpace::Tmem);
    InRole writer{builder, loc, math};
    auto [token, slot] = writer.take(rings[0], type);
    writer.make<nv::TmemStoreOp>(dot.getA(), slot);
    writer.give(token, rings[1], ReleaseKind::Generic);
    std::tie(operandToken, view) = InRole{builder, loc, mma}.take(rings[1], type);
    operandFree = rings[0];
  }

  // The sum.
  nv::MemDescType sum = memoryType(d, nv::MemorySpace::Tmem);
  scf::ForOp loop = carryingLoop(dot);
  bool throughRegisters = dot.getAcc() && !loop;
  SmallVector<Value> rings = storage(function, loc, d, Space::Tmem, throughRegisters ? 3 : 2);
  Value free = rings[0], full = rings.back();
  InRole issuer{builder, loc, mma};
  Value token, target, accumulate;
  if (throughRegisters) {
    InRole writer{builder, loc, math};
    auto [written, slot] = writer.take(free, sum);
    writer.make<nv::TmemStoreOp>(dot.getAcc(), slot);
    writer.give(written, rings[1], ReleaseKind::Generic);
    std::tie(token, target) = issuer.take(rings[1], sum);
    accumulate = dot.getUseAcc();
  } else {
    if (loop)
      builder.setInsertionPoint(loop);
    std::tie(token, target) = issuer.take(free, sum);
    builder.setInsertionPoint(dot);
    if (loop)
      accumulate = dot.getUseAcc();
    if (loop && !accumulate)
      accumulate = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                         loop.getInductionVar(), loop.getLowerBound());
  }
  if (!accumulate)
    accumulate = arith::ConstantIntOp::create(builder, loc, dot.getAcc() ? 1 : 0, 1);
  auto product = issuer.make<nv::Tcgen05MmaOp>(view, *right, target, accumulate, uint64_t(1));
  if (operandToken)
    issuer.give(operandToken, operandFree, ReleaseKind::Tcgen05);
  if (loop)
    builder.setInsertionPointAfter(loop);
  issuer.give(token, full, ReleaseKind::Tcgen05);
  InRole reader{builder, loc, math};
  auto [readToken, source] = reader.take(full, sum);
  if (loop && !loop.getInitArgs()[carriedIndex(dot)].getDefiningOp<ub::PoisonOp>()) {
    // No product has written a sum that had none.
    Value none = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                       loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(builder, loc, none, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    InRole{inside, loc, math}.make<nv::TmemStoreOp>(loop.getInitArgs()[carriedIndex(dot)], source);
  }
  auto value = reader.make<nv::TmemLoadOp>(Type(d), source);
  reader.give(readToken, free, ReleaseKind::Generic);

  ends[dot] = product;
  if (loop) {
    unsigned index = carriedIndex(dot);
    loop.getResult(index).replaceAllUsesWith(value.getResult());
    // Nothing needs what the loop carries any more; it carries it unchanged.
    loop.getBody()->getTerminator()->setOperand(index, loop.getRegionIterArgs()[index]);
    dot.getAccMutable().clear();
    dot.getUseAccMutable().clear();
  } else {
    dot.getResult().replaceAllUsesWith(value.getResult());
  }
  return success();
}

} // namespace tileloom
