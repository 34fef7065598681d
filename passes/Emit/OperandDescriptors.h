//===- OperandDescriptors.h - Matrix descriptors as values -----------------------*- C++ -*-===//
//
// The 64-bit descriptors of one operand of wgmma or tcgen05: the first is put together from a low
// word (address, leading offset) and a constant high word by a mov that LLVM does not see through, and a
// multiple of the stage is added to it in 64 bits (one UIMAD.WIDE, which ptxas moves before a turn's
// barrier); the others add to that. In uniform registers that is one UIADD3.64 each; with the constant in
// view LLVM folds it into every addition, which costs three instructions (measured: attention's 16
// products took 40 more instructions than they need).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_EMIT_OPERANDDESCRIPTORS_H
#define TILELOOM_PASSES_EMIT_OPERANDDESCRIPTORS_H

#include "passes/Emit/TileConversion.h"
#include "tileloom/Layout/MatrixDescriptor.h"

#include "mlir/IR/Matchers.h"

namespace tileloom::emit {

class OperandDescriptors {
public:
  /// `address` of the tile in shared memory, an operand of `op`. In a cluster it carries the rank
  /// of the CTA above its 18 bits, which has to stay out of the descriptor's other fields.
  OperandDescriptors(mlir::OpBuilder &builder, mlir::Operation *op,
                     const layout::OperandDescriptor &fields, mlir::Value address)
      : OperandDescriptors(builder, op, fields.encode(), address) {}
  OperandDescriptors(mlir::OpBuilder &builder, mlir::Operation *op, uint64_t encoded,
                     mlir::Value address)
      : builder(builder), loc(op->getLoc()) {
    Scalar math{builder, loc};
    int64_t constant = encoded & 0xffffffff;
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
    address = splitAddress(address, terms, constant);
    mlir::Value bits = mlir::LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
    bits = math.shiftRight(bits, 4);
    if (clusterSizeOf(op) > 1)
      bits = math.bitAnd(bits, 0x3fff);
    mlir::Value low = math.add(bits, constant);
    first =
        assemble("mov.b64 $0, {$1, " + std::to_string(static_cast<int32_t>(encoded >> 32)) + "};",
                 "=l,r", low);
    for (auto [value, factor] : terms)
      first = mlir::arith::AddIOp::create(builder, loc, first, widened(value, factor));
  }

  /// Of the instruction operand `bytes` after the start of the tile, as an operand of ptx.wgmma. The
  /// addition becomes a part of the product's call (convert-ptx).
  mlir::Value at(int64_t bytes) {
    return bytes ? mlir::arith::AddIOp::create(builder, loc, first,
                                               mlir::arith::ConstantIntOp::create(builder, loc, bytes / 16, 64))
                       .getResult()
                 : first;
  }

  /// The same as an operand of an intrinsic: LLVM takes descriptors of tcgen05 for addresses and
  /// would print the sum as the operand (`%rd8+2`), which the PTX ISA does not have for registers.
  mlir::Value inRegister(int64_t bytes) {
    bool isSum = first.getDefiningOp<mlir::arith::AddIOp>() != nullptr; // of the slot's place, which LLVM may know
    return bytes || isSum ? assemble("add.s64 $0, $1, " + std::to_string(bytes / 16) + ";", "=l,l", first)
                          : first;
  }

private:
  /// value * factor in 64 bits: with the addition one multiply-add (UIMAD.WIDE).
  mlir::Value widened(mlir::Value value, int64_t factor) {
    mlir::Type wide = builder.getI64Type();
    mlir::Value extended = mlir::arith::ExtUIOp::create(builder, loc, wide, value);
    return mlir::arith::MulIOp::create(builder, loc, extended,
                                       mlir::arith::ConstantIntOp::create(builder, loc, factor, 64));
  }

  /// The pointer that `address` starts from. What was added to it since, in units of 16 bytes, goes
  /// to `terms` (value and factor) and `constant`, so that the stage of a slot, which changes in a
  /// loop, is a shift and an addition away from the descriptor and the rest stays outside.
  static mlir::Value splitAddress(mlir::Value address,
                                  llvm::SmallVectorImpl<std::pair<mlir::Value, int64_t>> &terms,
                                  int64_t &constant) {
    while (auto step = address.getDefiningOp<mlir::LLVM::GEPOp>()) {
      if (!step.getElemType().isInteger(8) || step.getIndices().size() != 1)
        break;
      auto index = *step.getIndices().begin();
      if (auto bytes = mlir::dyn_cast<mlir::IntegerAttr>(index)) {
        if (bytes.getInt() % 16)
          break;
        constant += bytes.getInt() / 16;
      } else {
        auto product = mlir::cast<mlir::Value>(index).getDefiningOp<mlir::arith::MulIOp>();
        llvm::APInt factor;
        if (!product || !matchPattern(product.getRhs(), mlir::m_ConstantInt(&factor)) ||
            factor.getSExtValue() % 16)
          break;
        terms.emplace_back(product.getLhs(), factor.getSExtValue() / 16);
      }
      address = step.getBase();
    }
    return address;
  }

  mlir::Value assemble(llvm::StringRef text, llvm::StringRef constraints, mlir::Value operand) {
    return mlir::LLVM::InlineAsmOp::create(
               builder, loc, builder.getI64Type(), operand, text, constraints,
               /*has_side_effects=*/false,
               /*is_align_stack=*/false, mlir::LLVM::TailCallKind::None,
               mlir::LLVM::AsmDialectAttr::get(builder.getContext(),
                                               mlir::LLVM::AsmDialect::AD_ATT),
               mlir::ArrayAttr())
        .getResult(0);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value first;
};

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_OPERANDDESCRIPTORS_H
