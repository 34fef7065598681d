//===- FloatConversions.h - Conversions between floats of other widths ------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_EMIT_FLOATCONVERSIONS_H
#define TILELOOM_PASSES_EMIT_FLOATCONVERSIONS_H

#include "passes/Emit/TileConversion.h"

namespace tileloom::emit {

/// The registers of `result`, which a conversion to it (from floats, or from integers) makes of those of its operand, by instructions for two
/// elements, or for none (bf16 -> fp32). Nothing if there are no such.
std::optional<llvm::SmallVector<mlir::Value>> convertFloats(mlir::Operation *op, mlir::ValueRange operand,
                                                            mlir::RankedTensorType result, unsigned registers,
                                                            mlir::OpBuilder &builder);

/// Conversions of scalars from and to floats of 8 bits.
void populateScalarFp8Patterns(TileTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_FLOATCONVERSIONS_H
