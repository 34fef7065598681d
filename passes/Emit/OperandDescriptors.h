//===- OperandDescriptors.h - Matrix descriptors as values -----------------------*- C++ -*-===//
//
// The 64-bit descriptors of one operand of wgmma or tcgen05, made from a 32-bit low word (address and leading offset) and a constant
// high word: 64-bit additions would cost carry chains.
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
      : builder(builder), loc(loc), high(encoded & ~uint64_t(0xffffffff)) {
    Scalar math{builder, loc};
    mlir::Value bits = mlir::LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
    bits = math.bitAnd(math.shiftRight(bits, 4), 0x3fff);
    low = math.add(bits, static_cast<int64_t>(encoded & 0xffffffff));
  }

  /// Of the instruction operand `bytes` after the start of the tile.
  mlir::Value at(int64_t bytes) {
    Scalar math{builder, loc};
    mlir::Value word = math.add(low, bytes / 16);
    mlir::Value wide = mlir::arith::ExtUIOp::create(builder, loc, builder.getI64Type(), word);
    return mlir::arith::OrIOp::create(
        builder, loc, wide, mlir::arith::ConstantIntOp::create(builder, loc, static_cast<int64_t>(high), 64));
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value low;
  uint64_t high;
};

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_OPERANDDESCRIPTORS_H
