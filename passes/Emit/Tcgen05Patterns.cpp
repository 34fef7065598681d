//===- Tcgen05Patterns.cpp - Products into tensor memory ----------------------------------===//
//
// nv.tcgen05.mma, mma_scaled, cp and fence to NVVM: one instruction for each 32 bytes of K (each
// piece of a copy), all issued by one thread. Operands in shared memory move by constants added to
// a descriptor, operands in tensor memory by columns.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/OperandDescriptors.h"

#include "dialects/NV/Tcgen05.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

Value tileloom::emit::tensorPointer(OpBuilder &builder, Location loc, Value address,
                                    int64_t columns) {
  address = Scalar{builder, loc}.add(address, columns);
  return LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 6),
                                  address);
}

namespace {

NVVM::CTAGroupKind groupKind(int64_t group) {
  return group == 2 ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

/// 256 bits of K in tensor memory.
constexpr int64_t columnsPerStep = 8;

/// An operand and where it lies for each step along K.
struct Operand {
  Value address;
  std::optional<layout::OperandDescriptor> fields; // none: in tensor memory
  SmallVector<int64_t> offsets;                    // bytes, or columns

  static llvm::Expected<Operand> get(nv::MemDescType type, Value address, bool isB, int64_t steps) {
    Operand operand;
    operand.address = address;
    if (type.getSpace() == nv::MemorySpace::Tmem) {
      for (int64_t step = 0; step < steps; ++step)
        operand.offsets.push_back(step * columnsPerStep);
      return operand;
    }
    auto shared = sharedLayout(type);
    if (!shared)
      return shared.takeError();
    auto fields = layout::OperandDescriptor::get(isB ? shared->transposed() : *shared,
                                                 layout::MmaTarget::Sm100);
    if (!fields)
      return fields.takeError();
    for (int64_t step = 0; step < steps; ++step) {
      auto bytes = fields->stepBytes(step);
      if (!bytes)
        return bytes.takeError();
      operand.offsets.push_back(*bytes);
    }
    operand.fields = *fields;
    return operand;
  }
};

/// Values of an operand, made where the instructions are.
struct OperandValues {
  OperandValues(OpBuilder &builder, Operation *op, const Operand &operand)
      : builder(builder), loc(op->getLoc()), operand(operand) {
    if (operand.fields)
      descriptors.emplace(builder, op, *operand.fields, operand.address);
  }
  Value at(int64_t step) {
    if (descriptors)
      return descriptors->inRegister(operand.offsets[step]);
    return tensorPointer(builder, loc, operand.address, operand.offsets[step]);
  }
  OpBuilder &builder;
  Location loc;
  const Operand &operand;
  std::optional<OperandDescriptors> descriptors;
};

/// What both forms of the product have in common: `instruction` is called for each step with a, b,
/// and whether to accumulate.
template <typename Op>
LogicalResult lowerProduct(Op op, typename Op::Adaptor adaptor, ConversionPatternRewriter &rewriter,
                           llvm::function_ref<void(OpBuilder &, const layout::Tcgen05Instruction &,
                                                   int64_t, Value, Value, Value)>
                               instruction) {
  Location loc = op.getLoc();
  auto shape = nv::instructionOf(op);
  if (!shape)
    return op.emitOpError() << llvm::toString(shape.takeError());
  int64_t steps = op.getA().getType().getShape()[1] / shape->k();
  auto a = Operand::get(op.getA().getType(), adaptor.getA(), /*isB=*/false, steps);
  if (!a)
    return op.emitOpError("a: ") << llvm::toString(a.takeError());
  auto b = Operand::get(op.getB().getType(), adaptor.getB(), /*isB=*/true, steps);
  if (!b)
    return op.emitOpError("b: ") << llvm::toString(b.takeError());
  shape->transposeA = a->fields && a->fields->isTransposed();
  shape->transposeB = b->fields->isTransposed();
  createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
    OperandValues aValues(builder, op, *a), bValues(builder, op, *b);
    Value always = arith::ConstantIntOp::create(builder, loc, 1, 1);
    for (int64_t step = 0; step < steps; ++step)
      instruction(builder, *shape, step, aValues.at(step), bValues.at(step),
                  step ? always : adaptor.getAccumulate());
  });
  rewriter.eraseOp(op);
  return success();
}

struct MmaPattern : OpPattern<nv::Tcgen05MmaOp> {
  using OpPattern::OpPattern;

  static NVVM::Tcgen05MMAKind kindOf(layout::Tcgen05Kind kind) {
    switch (kind) {
    case layout::Tcgen05Kind::F16:
      return NVVM::Tcgen05MMAKind::F16;
    case layout::Tcgen05Kind::TF32:
      return NVVM::Tcgen05MMAKind::TF32;
    case layout::Tcgen05Kind::I8:
      return NVVM::Tcgen05MMAKind::I8;
    default:
      return NVVM::Tcgen05MMAKind::F8F6F4;
    }
  }

  LogicalResult matchAndRewrite(nv::Tcgen05MmaOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    return lowerProduct(
        op, adaptor, rewriter,
        [&](OpBuilder &builder, const layout::Tcgen05Instruction &shape, int64_t, Value a, Value b,
            Value accumulate) {
          Value descriptor = Scalar{builder, loc}.i32(static_cast<int32_t>(shape.encode()));
          NVVM::Tcgen05MMAOp::create(builder, loc, kindOf(shape.kind), groupKind(shape.ctaGroup),
                                     NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false,
                                     tensorPointer(builder, loc, adaptor.getD()), a, b, descriptor,
                                     accumulate,
                                     /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
        });
  }
};

struct MmaScaledPattern : OpPattern<nv::Tcgen05MmaScaledOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::Tcgen05MmaScaledOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    // Four scales of a row share a word; the words of further scales are as many columns on as the
    // rows need.
    auto wordColumns = [](nv::MemDescType type) { return (type.getShape()[0] + 127) / 128 * 4; };
    int64_t aColumns = wordColumns(op.getScaleA().getType()),
            bColumns = wordColumns(op.getScaleB().getType());
    return lowerProduct(
        op, adaptor, rewriter,
        [&](OpBuilder &builder, const layout::Tcgen05Instruction &shape, int64_t step, Value a,
            Value b, Value accumulate) {
          int64_t first = step * shape.scalesPerStep, word = first / 4, id = first % 4;
          Value descriptor = Scalar{builder, loc}.i32(static_cast<int32_t>(shape.encode(id, id)));
          auto kind = shape.kind == layout::Tcgen05Kind::MXF8F6F4
                          ? NVVM::MMABlockScaleKind::MXF8F6F4
                      : shape.kind == layout::Tcgen05Kind::MXF4 ? NVVM::MMABlockScaleKind::MXF4
                                                                : NVVM::MMABlockScaleKind::MXF4NVF4;
          auto block = shape.k() / shape.scalesPerStep == 16 ? NVVM::Tcgen05MMABlockScale::BLOCK16
                                                             : NVVM::Tcgen05MMABlockScale::BLOCK32;
          NVVM::Tcgen05MMABlockScaleOp::create(
              builder, loc, kind, groupKind(shape.ctaGroup), block,
              NVVM::Tcgen05MMACollectorOp::DISCARD, tensorPointer(builder, loc, adaptor.getD()), a,
              b, descriptor, accumulate,
              tensorPointer(builder, loc, adaptor.getScaleA(), word * aColumns),
              tensorPointer(builder, loc, adaptor.getScaleB(), word * bColumns));
        });
  }
};

struct CpPattern : OpPattern<nv::Tcgen05CpOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::Tcgen05CpOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    nv::CpShape piece = nv::cpShape(op.getShape());
    auto shared = sharedLayout(op.getSource().getType());
    if (!shared)
      return op.emitOpError("source: ") << llvm::toString(shared.takeError());
    auto fields = layout::OperandDescriptor::get(*shared, layout::MmaTarget::Sm100);
    // A row of 16 bytes is half of an instruction's K: such a tile is 8 x 16 byte matrices one
    // after the other.
    uint64_t encoded = 0;
    if (piece.bytes == 16) {
      llvm::consumeError(fields.takeError());
      if (shared->swizzle() != layout::Swizzle::None || shared->major() != layout::Major::K)
        return op.emitOpError("source: expected plain rows of 16 bytes, found ") << shared->str();
      encoded = uint64_t(1) << 46 | uint64_t(8 * 16 >> 4) << 32;
    } else if (!fields) {
      return op.emitOpError("source: ") << llvm::toString(fields.takeError());
    } else {
      encoded = fields->encode();
    }
    std::pair<NVVM::Tcgen05CpShape, NVVM::Tcgen05CpMulticast> form = [&]() -> decltype(form) {
      switch (op.getShape()) {
      case nv::Tcgen05CpShape::X128x256b:
        return {NVVM::Tcgen05CpShape::SHAPE_128x256b, NVVM::Tcgen05CpMulticast::NONE};
      case nv::Tcgen05CpShape::X128x128b:
        return {NVVM::Tcgen05CpShape::SHAPE_128x128b, NVVM::Tcgen05CpMulticast::NONE};
      case nv::Tcgen05CpShape::X64x128b_02_13:
        return {NVVM::Tcgen05CpShape::SHAPE_64x128b, NVVM::Tcgen05CpMulticast::WARPX2_02_13};
      case nv::Tcgen05CpShape::X64x128b_01_23:
        return {NVVM::Tcgen05CpShape::SHAPE_64x128b, NVVM::Tcgen05CpMulticast::WARPX2_01_23};
      case nv::Tcgen05CpShape::X32x128b:
        return {NVVM::Tcgen05CpShape::SHAPE_32x128b, NVVM::Tcgen05CpMulticast::WARPX4};
      }
      llvm_unreachable("unknown tcgen05.cp shape");
    }();
    int64_t pieces = op.getSource().getType().getShape()[0] / piece.rows;
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      OperandDescriptors descriptors(builder, op, encoded, adaptor.getSource());
      for (int64_t i = 0; i < pieces; ++i)
        NVVM::Tcgen05CpOp::create(
            builder, loc, form.first, groupKind(op.getCtaGroup()), form.second,
            NVVM::Tcgen05CpSrcFormatAttr(),
            tensorPointer(builder, loc, adaptor.getTarget(), i * piece.columns),
            descriptors.inRegister(i * piece.rows * piece.bytes));
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct FencePattern : OpPattern<nv::Tcgen05FenceOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::Tcgen05FenceOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05FenceOp>(
        op, op.getAfter() ? NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC
                          : NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    return success();
  }
};

} // namespace

void tileloom::emit::populateTcgen05Patterns(TileTypeConverter &converter,
                                             RewritePatternSet &patterns) {
  patterns.add<MmaPattern, MmaScaledPattern, CpPattern, FencePattern>(converter,
                                                                      patterns.getContext());
}
