//===- AtomicPatterns.cpp - Atomic operations whose values before are wanted --------------===//
//
// nv.global_atomic: of the threads that hold an element the first performs the operation, under the
// element's mask. If other threads hold it too (or it is a scalar, which all have), the values before
// go to them through scratch memory: written, a barrier of the role, read.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/GlobalAccess.h"
#include "passes/Emit/TileConversion.h"

#include "dialects/NV/NV.h"
#include "tileloom/Analysis/Exchange.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

LLVM::AtomicBinOp operationOf(nv::AtomicKind kind, Type element) {
  switch (kind) {
  case nv::AtomicKind::Add:
    return isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  case nv::AtomicKind::Max:
    return LLVM::AtomicBinOp::max;
  case nv::AtomicKind::Min:
    return LLVM::AtomicBinOp::min;
  case nv::AtomicKind::Umax:
    return LLVM::AtomicBinOp::umax;
  case nv::AtomicKind::Umin:
    return LLVM::AtomicBinOp::umin;
  case nv::AtomicKind::And:
    return LLVM::AtomicBinOp::_and;
  case nv::AtomicKind::Or:
    return LLVM::AtomicBinOp::_or;
  case nv::AtomicKind::Xor:
    return LLVM::AtomicBinOp::_xor;
  default:
    return LLVM::AtomicBinOp::xchg;
  }
}

/// One element: `compare` only for cas, `mask` if there is one.
struct Element {
  Value value, compare, address, mask;
};

/// The operation on one element; gives the value before, or zero where the mask is false.
Value perform(OpBuilder &builder, nv::GlobalAtomicOp op, const Element &element) {
  Location loc = op.getLoc();
  Type type = element.value.getType();
  if (element.mask) {
    auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, element.mask, true);
    OpBuilder then = branch.getThenBodyBuilder(), otherwise = branch.getElseBodyBuilder();
    Element plain = element;
    plain.mask = {};
    scf::YieldOp::create(then, loc, perform(then, op, plain));
    Value zero = arith::ConstantOp::create(otherwise, loc, otherwise.getZeroAttr(type));
    scf::YieldOp::create(otherwise, loc, zero);
    return branch.getResult(0);
  }
  StringRef scope = syncScopeOf(op.getScope());
  auto relaxed = LLVM::AtomicOrdering::monotonic;
  bool bits = op.getKind() == nv::AtomicKind::Cas || op.getKind() == nv::AtomicKind::Xchg;
  if (!bits)
    return LLVM::AtomicRMWOp::create(builder, loc, operationOf(op.getKind(), type),
                                     element.address, element.value, relaxed, scope);
  Type word = builder.getIntegerType(type.getIntOrFloatBitWidth());
  auto as = [&](Value value, Type wanted) {
    return value.getType() == wanted
               ? value
               : arith::BitcastOp::create(builder, loc, wanted, value).getResult();
  };
  Value old;
  if (op.getKind() == nv::AtomicKind::Xchg) {
    old = LLVM::AtomicRMWOp::create(builder, loc, LLVM::AtomicBinOp::xchg, element.address,
                                    as(element.value, word), relaxed, scope);
  } else {
    Value pair =
        LLVM::AtomicCmpXchgOp::create(builder, loc, element.address, as(element.compare, word),
                                      as(element.value, word), relaxed, relaxed, scope);
    old = LLVM::ExtractValueOp::create(builder, loc, pair, 0);
  }
  return as(old, type);
}

struct GlobalAtomicPattern : OpPattern<nv::GlobalAtomicOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::GlobalAtomicOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto tensor = dyn_cast<RankedTensorType>(op.getType());
    return tensor ? onTile(op, adaptor, tensor, rewriter) : onScalar(op, adaptor, rewriter);
  }

private:
  LogicalResult onScalar(nv::GlobalAtomicOp op, OneToN adaptor,
                         ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    Type type = op.getType();
    Element element = elementOf(rewriter, op, adaptor, 0, adaptor.getValue(), adaptor.getCompare());
    Value old;
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      old = perform(builder, op, element);
      if (op.getScratch())
        LLVM::StoreOp::create(builder, loc, old, adaptor.getScratch().front());
    });
    if (op.getScratch()) {
      createRoleBarrier(rewriter, op);
      old = LLVM::LoadOp::create(rewriter, loc, type, adaptor.getScratch().front());
    } else if (op->use_empty()) {
      rewriter.eraseOp(op);
      return success();
    }
    rewriter.replaceOp(op, old);
    return success();
  }

  LogicalResult onTile(nv::GlobalAtomicOp op, OneToN adaptor, RankedTensorType tensor,
                       ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    const layout::RegisterLayout *layout = converter.layoutOf(tensor, loc);
    if (!layout)
      return failure();
    Type type = tensor.getElementType();
    SmallVector<Value> values = unpack(rewriter, loc, tensor, adaptor.getValue()), compares;
    if (op.getCompare())
      compares = unpack(rewriter, loc, tensor, adaptor.getCompare());
    ThreadPosition position(rewriter, op);
    unsigned count = layout->registersPerThread();
    int64_t bytes = scratchBits(type) / 8;
    SmallVector<Value> places, olds(count);
    if (op.getScratch())
      for (Value index : flatIndices(rewriter, loc, *layout, position))
        places.push_back(Scalar{rewriter, loc}.advance(
            adaptor.getScratch().front(), Scalar{rewriter, loc}.mul(index, bytes)));
    auto all = [&](OpBuilder &builder) {
      for (unsigned reg = 0; reg < count; ++reg) {
        if (!layout->isPrimary(reg, 0, 0))
          continue;
        olds[reg] = perform(builder, op, elementOf(builder, op, adaptor, reg, values, compares));
        if (op.getScratch())
          LLVM::StoreOp::create(builder, loc, olds[reg], places[reg], bytes);
      }
    };
    if (Value primary = withoutCopies(rewriter, loc, layout->replicatedLanes(),
                                      layout->replicatedWarps(), position)) {
      auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      all(inner);
    } else {
      all(rewriter);
    }
    if (op.getScratch()) {
      createRoleBarrier(rewriter, op);
      for (unsigned reg = 0; reg < count; ++reg)
        olds[reg] = LLVM::LoadOp::create(rewriter, loc, type, places[reg], bytes);
    } else if (op->use_empty()) {
      rewriter.eraseOp(op);
      return success();
    }
    // Registers that repeat an element of the same thread.
    for (unsigned reg = 0; reg < count; ++reg)
      for (unsigned other = 0; !olds[reg] && other < count; ++other)
        if (olds[other] && layout->flatIndexOf(other, 0, 0) == layout->flatIndexOf(reg, 0, 0))
          olds[reg] = olds[other];
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, tensor, olds)});
    return success();
  }

  Element elementOf(OpBuilder &builder, nv::GlobalAtomicOp op, OneToN adaptor, unsigned reg,
                    ValueRange values, ValueRange compares) const {
    Element element;
    element.value = values[reg];
    if (op.getCompare())
      element.compare = compares[reg];
    element.address = globalAddress(builder, op.getLoc(), adaptor.getPointer().front(),
                                    adaptor.getOffset()[reg], values[reg].getType());
    if (op.getMask())
      element.mask = adaptor.getMask()[reg];
    return element;
  }
};

} // namespace

void tileloom::emit::populateAtomicPatterns(TileTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  patterns.add<GlobalAtomicPattern>(converter, patterns.getContext());
}
