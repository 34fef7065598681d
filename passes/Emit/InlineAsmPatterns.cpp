//===- InlineAsmPatterns.cpp - The user's assembly ----------------------------------------===//
//
// user.asm: one call of LLVM's inline assembly for each group of a thread's elements, which are in
// the same order in all tiles. A last group that the elements do not fill has the last one several times.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/UserPatterns.h"

#include "dialects/NV/NV.h"
#include "dialects/User/User.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

Type registerType(Builder &builder, char letter) {
  switch (letter) {
  case 'h':
    return builder.getI16Type();
  case 'r':
    return builder.getI32Type();
  case 'f':
    return builder.getF32Type();
  case 'd':
    return builder.getF64Type();
  default:
    return builder.getI64Type();
  }
}

struct InlineAsmPattern : OpConversionPattern<user::AsmOp> {
  InlineAsmPattern(TileTypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {} // before other element-wise operations'

  LogicalResult matchAndRewrite(user::AsmOp op, OneToNOpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<user::AsmOp::Register> outputs, inputs;
    SmallVector<StringRef> clobbers;
    if (!op.registers(outputs, inputs, clobbers).empty())
      return failure(); // the verifier has said it
    size_t count = 1;
    SmallVector<SmallVector<Value>> elements;
    for (auto [input, converted] : llvm::zip(op.getInputs(), adaptor.getInputs())) {
      auto type = dyn_cast<RankedTensorType>(input.getType());
      elements.push_back(type ? unpack(rewriter, loc, type, converted) : SmallVector<Value>(converted));
      count = elements.back().size();
    }
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    for (size_t first = 0; first < count; first += op.getPack())
      call(op, first, count, outputs, inputs, clobbers, elements, results, rewriter);
    SmallVector<SmallVector<Value>> packed;
    for (auto [result, values] : llvm::zip(op.getResults(), results)) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      packed.push_back(type ? pack(rewriter, loc, type, values) : values);
    }
    rewriter.replaceOpWithMultiple(op, SmallVector<ValueRange>(llvm::map_range(packed, [](auto &values) { return ValueRange(values); })));
    return success();
  }

private:
  /// Adds the results for elements first, first + 1, ...
  static void call(user::AsmOp op, size_t first, size_t count, ArrayRef<user::AsmOp::Register> outputs,
                   ArrayRef<user::AsmOp::Register> inputs, ArrayRef<StringRef> clobbers, ArrayRef<SmallVector<Value>> elements,
                   MutableArrayRef<SmallVector<Value>> results, ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    SmallVector<Type> types;
    SmallVector<Value> operands;
    std::string constraints;
    auto constrain = [&](StringRef constraint) { constraints += (constraints.empty() ? "" : ",") + constraint.str(); };
    for (const auto &output : outputs) {
      types.push_back(registerType(rewriter, output.letter));
      constrain(output.constraint);
    }
    size_t next = first;
    for (auto [index, input] : llvm::enumerate(inputs)) {
      if (index && inputs[index - 1].operand != input.operand)
        next = first;
      SmallVector<Value> own;
      for (int64_t i = 0; i < op.perRegister(op.getInputs()[input.operand].getType()); ++i)
        own.push_back(elements[input.operand][std::min(next++, count - 1)]);
      operands.push_back(joined(own, registerType(rewriter, input.letter), loc, rewriter));
      constrain(input.constraint);
    }
    for (StringRef clobber : clobbers)
      constrain(clobber);
    Type type = types.size() == 1 ? types.front() : Type(LLVM::LLVMStructType::getLiteral(op.getContext(), types));
    auto assembly = LLVM::InlineAsmOp::create(rewriter, loc, type, operands, op.getText(), constraints, /*has_side_effects=*/!op.getPure(),
                                              /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                              LLVM::AsmDialectAttr::get(op.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    for (auto [index, output] : llvm::enumerate(outputs)) {
      Value value = assembly.getResult(0);
      if (types.size() > 1)
        value = LLVM::ExtractValueOp::create(rewriter, loc, value, index);
      Type result = op.getResultTypes()[output.operand];
      split(value, op.perRegister(result), scalarType(getElementTypeOrSelf(result)), count, results[output.operand], loc, rewriter);
    }
  }

  static Value bitcast(Value value, Type type, Location loc, OpBuilder &builder) {
    return value.getType() == type ? value : LLVM::BitcastOp::create(builder, loc, type, value).getResult();
  }

  static Value integer(Value value, Location loc, OpBuilder &builder) {
    return bitcast(value, builder.getIntegerType(value.getType().getIntOrFloatBitWidth()), loc, builder);
  }

  /// A register with these elements, the first in the lowest bits.
  static Value joined(ArrayRef<Value> elements, Type type, Location loc, OpBuilder &builder) {
    unsigned bits = type.getIntOrFloatBitWidth(), width = elements.front().getType().getIntOrFloatBitWidth();
    Type whole = builder.getIntegerType(bits);
    Value result;
    for (auto [index, element] : llvm::enumerate(elements)) {
      Value own = integer(element, loc, builder);
      if (width < bits)
        own = arith::ExtUIOp::create(builder, loc, whole, own);
      if (index)
        own = arith::ShLIOp::create(builder, loc, own, arith::ConstantIntOp::create(builder, loc, whole, index * width));
      result = index ? arith::OrIOp::create(builder, loc, result, own).getResult() : own;
    }
    return bitcast(result, type, loc, builder);
  }

  /// The elements of a register, as far as there are any left.
  static void split(Value value, int64_t number, Type element, size_t count, SmallVector<Value> &results, Location loc, OpBuilder &builder) {
    unsigned width = element.getIntOrFloatBitWidth();
    Value whole = integer(value, loc, builder);
    Type narrow = builder.getIntegerType(width);
    for (int64_t i = 0; i < number && results.size() < count; ++i) {
      Value own = whole;
      if (i)
        own = arith::ShRUIOp::create(builder, loc, own, arith::ConstantIntOp::create(builder, loc, own.getType(), i * width));
      if (own.getType() != narrow)
        own = arith::TruncIOp::create(builder, loc, narrow, own);
      results.push_back(bitcast(own, element, loc, builder));
    }
  }
};

} // namespace

void tileloom::emit::populateInlineAsmPatterns(TileTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<InlineAsmPattern>(converter, patterns.getContext());
}
