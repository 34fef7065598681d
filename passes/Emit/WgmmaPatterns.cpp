//===- WgmmaPatterns.cpp - Warpgroup products as instructions -----------------------------===//
//
// nv.wgmma to ptx.wgmma: one instruction for each 64 rows and 32 bytes of K, between one fence and
// one commit.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/OperandDescriptors.h"

#include "dialects/PTX/PTX.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

std::optional<ptx::MatrixType> matrixType(Type type) {
  if (type.isF16())
    return ptx::MatrixType::F16;
  if (type.isBF16())
    return ptx::MatrixType::BF16;
  if (type.isF32())
    return ptx::MatrixType::TF32;
  if (isa<Float8E4M3FNType>(type))
    return ptx::MatrixType::E4M3;
  if (isa<Float8E5M2Type>(type))
    return ptx::MatrixType::E5M2;
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? ptx::MatrixType::U8 : ptx::MatrixType::S8;
  return std::nullopt;
}

/// Packed values as 32-bit registers.
SmallVector<Value> asRegisters(OpBuilder &builder, Location loc, ValueRange values) {
  SmallVector<Value> registers;
  for (Value value : values)
    registers.push_back(
        isa<VectorType>(value.getType())
            ? LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), value).getResult()
            : value);
  return registers;
}

/// The descriptor of an operand in shared memory.
FailureOr<layout::OperandDescriptor> fieldsOf(nv::WgmmaOp op, StringRef operand, nv::MemDescType type, bool transpose) {
  auto shared = sharedLayout(type);
  if (!shared)
    return op.emitOpError(operand) << ": " << llvm::toString(shared.takeError());
  auto fields = layout::OperandDescriptor::get(transpose ? shared->transposed() : *shared, layout::MmaTarget::Sm90);
  if (!fields)
    return op.emitOpError(operand) << ": " << llvm::toString(fields.takeError());
  return *fields;
}

/// Operand A: in shared memory, or in registers.
class OperandA {
public:
  OperandA(OpBuilder &builder, nv::WgmmaOp op, std::optional<layout::OperandDescriptor> fields, ValueRange values, int64_t steps)
      : builder(builder), op(op), fields(fields), values(values), steps(steps) {
    if (fields)
      descriptors.emplace(builder, op, *fields, values.front());
  }

  bool isTransposed() const { return fields && fields->isTransposed(); }

  /// What the instruction for step `step` of block `block` takes of it.
  FailureOr<SmallVector<Value>> at(int64_t block, int64_t step) {
    if (!descriptors) {
      SmallVector<Value> registers(values.slice((block * steps + step) * 4, 4));
      for (Value &value : registers)
        if (!value.getType().isInteger(32))
          value = LLVM::BitcastOp::create(builder, op.getLoc(), builder.getI32Type(), value);
      return registers;
    }
    auto rows = fields->mnOffsetBytes(64 * block);
    auto columns = fields->stepBytes(step);
    if (!rows || !columns)
      return op.emitOpError("a: ") << llvm::toString(rows ? columns.takeError() : rows.takeError());
    return SmallVector<Value>{descriptors->at(*rows + *columns)};
  }

private:
  OpBuilder &builder;
  nv::WgmmaOp op;
  std::optional<layout::OperandDescriptor> fields;
  std::optional<OperandDescriptors> descriptors;
  ValueRange values;
  int64_t steps;
};

struct WgmmaPattern : OpConversionPattern<nv::WgmmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(nv::WgmmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto result = cast<RankedTensorType>(op.getResult().getType());
    auto bFields = fieldsOf(op, "b", op.getB().getType(), /*transpose=*/true);
    if (failed(bFields))
      return failure();
    std::optional<layout::OperandDescriptor> aFields;
    Type aElement = getElementTypeOrSelf(op.getA().getType());
    if (auto memdesc = dyn_cast<nv::MemDescType>(op.getA().getType())) {
      aElement = memdesc.getElementType();
      auto fields = fieldsOf(op, "a", memdesc, /*transpose=*/false);
      if (failed(fields))
        return failure();
      aFields = *fields;
    }
    auto aType = matrixType(aElement), bType = matrixType(op.getB().getType().getElementType());
    if (!aType || !bType)
      return op.emitOpError("element types: expected f16, bf16, f32 (tf32), f8 or i8, found ")
             << aElement << " and " << op.getB().getType().getElementType();
    bool transposed = bFields->isTransposed() || (aFields && aFields->isTransposed());
    if (transposed && tile::elementBits(aElement) != 16)
      return op.emitOpError(bFields->isTransposed() ? "b" : "a")
             << ": expected K last in memory for elements of " << tile::elementBits(aElement)
             << " bits";

    int64_t k = 256 / tile::elementBits(aElement), n = result.getDimSize(1);
    int64_t steps = op.getB().getType().getShape()[0] / k, blocks = result.getDimSize(0) / 64;
    // Sums of 16 bits are two to a register.
    bool halves = result.getElementType().isF16();
    unsigned perBlock = halves ? n / 4 : n / 2;
    SmallVector<Type> types(perBlock, halves ? rewriter.getI32Type() : result.getElementType());
    SmallVector<Value> accumulators = asRegisters(rewriter, loc, adaptor.getC()), results;

    NVVM::WgmmaFenceAlignedOp::create(rewriter, loc);
    OperandDescriptors b(rewriter, op, *bFields, adaptor.getB().front());
    OperandA a(rewriter, op, aFields, adaptor.getA(), steps);
    for (int64_t block = 0; block < blocks; ++block) {
      SmallVector<Value> acc;
      if (!accumulators.empty())
        acc.assign(accumulators.begin() + block * perBlock,
                   accumulators.begin() + (block + 1) * perBlock);
      for (int64_t step = 0; step < steps; ++step) {
        FailureOr<SmallVector<Value>> aValues = a.at(block, step);
        if (failed(aValues))
          return failure();
        auto advance = bFields->stepBytes(step);
        if (!advance)
          return op.emitOpError("b: ") << llvm::toString(advance.takeError());
        Value scale = step == 0 && op.getUseC() ? adaptor.getUseC().front() : Value();
        auto product = ptx::WgmmaOp::create(
            rewriter, loc, types, acc, *aValues, b.at(*advance), scale, n, k, *aType, *bType,
            result.getElementType(), a.isTransposed(), bFields->isTransposed(), op.getSatfinite());
        acc.assign(product.getResults().begin(), product.getResults().end());
      }
      results.append(acc);
    }
    NVVM::WgmmaGroupSyncAlignedOp::create(rewriter, loc);
    if (halves)
      for (Value &value : results)
        value = LLVM::BitcastOp::create(rewriter, loc, valueType(result.getElementType(), 2), value);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};

struct WgmmaWaitPattern : OpConversionPattern<nv::WgmmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(nv::WgmmaWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> values;
    for (ValueRange input : adaptor.getInputs())
      values.append(input.begin(), input.end());
    Value after, scratch;
    if (op.getAfter()) {
      // One value that depends on all of them.
      for (Value value : adaptor.getAfter()) {
        if (!value.getType().isF32())
          return op.emitOpError("after: expected f32, found ") << value.getType();
        after = after ? arith::AddFOp::create(rewriter, loc, after, value).getResult() : value;
      }
      scratch = LLVM::AddressOfOp::create(
          rewriter, loc, LLVM::LLVMPointerType::get(getContext(), 3), sharedSymbol);
    }
    SmallVector<Value> registers = asRegisters(rewriter, loc, values);
    auto wait = ptx::WgmmaWaitOp::create(rewriter, loc, TypeRange(ValueRange(registers)), registers,
                                         after, scratch, op.getPending());
    SmallVector<SmallVector<Value>> results;
    size_t next = 0;
    for (ValueRange input : adaptor.getInputs()) {
      results.emplace_back();
      for (Value value : input) {
        Value done = wait.getResult(next++);
        if (done.getType() != value.getType())
          done = LLVM::BitcastOp::create(rewriter, loc, value.getType(), done);
        results.back().push_back(done);
      }
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

/// nv.keep: an assembly call without text, whose results are its operands.
struct KeepPattern : OpConversionPattern<nv::KeepOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(nv::KeepOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> values;
    for (ValueRange input : adaptor.getValues())
      values.append(input.begin(), input.end());
    std::string outputs, ties;
    for (auto [i, value] : llvm::enumerate(values)) {
      if (!value.getType().isF32() && !value.getType().isInteger(32))
        return op.emitOpError("values: expected elements of 32 bits, found registers of ")
               << value.getType();
      outputs += value.getType().isF32() ? "=f," : "=r,";
      ties += (i ? "," : "") + std::to_string(i);
    }
    bool one = values.size() == 1;
    SmallVector<Type> types(ValueRange(values).getTypes());
    Type type = one ? types[0] : Type(LLVM::LLVMStructType::getLiteral(getContext(), types));
    auto call = LLVM::InlineAsmOp::create(
        rewriter, loc, TypeRange(type), values, "", outputs + ties, /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    SmallVector<SmallVector<Value>> results;
    size_t next = 0;
    for (ValueRange input : adaptor.getValues()) {
      results.emplace_back();
      for (size_t i = 0; i < input.size(); ++i, ++next)
        results.back().push_back(
            one ? call.getResult(0)
                : LLVM::ExtractValueOp::create(rewriter, loc, call.getResult(0), next).getResult());
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void tileloom::emit::populateWgmmaPatterns(TileTypeConverter &converter,
                                           RewritePatternSet &patterns) {
  patterns.add<WgmmaPattern, WgmmaWaitPattern, KeepPattern>(converter, patterns.getContext());
}
