//===- Tcgen05.h - What the tcgen05 operations say to the hardware ---------------*- C++ -*-===//
//
// The instruction shape of a product, shared by its verifier and its expansion.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_NV_TCGEN05_H
#define TILELOOM_DIALECTS_NV_TCGEN05_H

#include "dialects/NV/NV.h"
#include "tileloom/Layout/Tcgen05.h"

namespace tileloom::nv {

/// The instruction that a product consists of, one for each step along K; an error when the
/// hardware has none. The major orders are filled in only where layouts say them.
llvm::Expected<layout::Tcgen05Instruction> instructionOf(Tcgen05MmaOp op);
llvm::Expected<layout::Tcgen05Instruction> instructionOf(Tcgen05MmaScaledOp op);

/// True if the view's layout has its last two dimensions exchanged.
bool isTransposedView(MemDescType type);

/// Rows of one piece of a tcgen05.cp, bytes of its rows, and the columns that it fills.
struct CpShape {
  int64_t rows, bytes, columns;
};
CpShape cpShape(Tcgen05CpShape shape);

} // namespace tileloom::nv

#endif // TILELOOM_DIALECTS_NV_TCGEN05_H
