//===- OperandDescriptors.h - Matrix descriptors as values -----------------------*- C++ -*-===//
//
// The 64-bit descriptors of one operand of wgmma or tcgen05: the first is put together from a low word (address, leading offset) and a
// constant high word by a mov that LLVM does not see through; the others add to it. In uniform registers that is one UIADD3.64
// each; with the constant in view LLVM folds it into every addition, which costs three instructions (measured: attention's 16
// products took 40 more instructions than they need).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_EMIT_OPERANDDESCRIPTORS_H
#define TILELOOM_PASSES_EMIT_OPERANDDESCRIPTORS_H

#include "passes/Emit/TileConversion.h"
#include "tileloom/Layout/MatrixDescriptor.h"

namespace tileloom::emit {

class OperandDescriptors {
public:
  /// `address` of the tile in shared memory. In a cluster it carries the rank of the CTA above its 18 bits, which has to stay out of
  /// the descriptor's other fields.
  OperandDescriptors(mlir::OpBuilder &builder, mlir::Location loc, const layout::OperandDescriptor &fields, mlir::Value address)
      : OperandDescriptors(builder, loc, fields.encode(), address) {}
  OperandDescriptors(mlir::OpBuilder &builder, mlir::Location loc, uint64_t encoded, mlir::Value address)
      : builder(builder), loc(loc) {
    Scalar math{builder, loc};
    mlir::Value bits = mlir::LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
    bits = math.bitAnd(math.shiftRight(bits, 4), 0x3fff);
    mlir::Value low = math.add(bits, static_cast<int64_t>(encoded & 0xffffffff));
    std::string text = "mov.b64 $0, {$1, " + std::to_string(static_cast<int32_t>(encoded >> 32)) + "};";
    first = mlir::LLVM::InlineAsmOp::create(
                builder, loc, builder.getI64Type(), low, text, "=l,r", /*has_side_effects=*/false, /*is_align_stack=*/false,
                mlir::LLVM::TailCallKind::None,
                mlir::LLVM::AsmDialectAttr::get(builder.getContext(), mlir::LLVM::AsmDialect::AD_ATT), mlir::ArrayAttr())
                .getResult(0);
  }

  /// Of the instruction operand `bytes` after the start of the tile.
  mlir::Value at(int64_t bytes) {
    if (!bytes)
      return first;
    return mlir::arith::AddIOp::create(builder, loc, first, mlir::arith::ConstantIntOp::create(builder, loc, bytes / 16, 64));
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value first;
};

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_OPERANDDESCRIPTORS_H
