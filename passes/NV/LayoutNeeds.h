//===- LayoutNeeds.h - Layouts that operations need ------------------------------*- C++ -*-===//
//
// Once every tile has a layout: which one each operation needs its operands in, and how a value
// gets into it: made again where it is cheap (indices, splats, constants and integer arithmetic on
// them, as offsets and masks are), else converted.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_NV_LAYOUTNEEDS_H
#define TILELOOM_PASSES_NV_LAYOUTNEEDS_H

#include "dialects/Warp/Warp.h"

namespace tileloom::nv {

/// The fragments in which a product of `warps` warps takes A from registers: B's rows say in which order.
nv::WgmmaAAttr fragmentsOfA(nv::WgmmaOp wgmma, int64_t warps);

/// The layout that `use` needs its operand in, given the layouts of everything else; none if any
/// will do.
mlir::Attribute neededLayout(mlir::OpOperand &use);

/// The layout of a tile whose dimensions are put in another order (or back); none if it has no
/// name.
mlir::Attribute transposedLayout(mlir::Attribute layout, llvm::ArrayRef<int64_t> order,
                                 bool inverse);

/// Makes the operands of every operation of the role meet its needs.
void meetNeeds(warp::RoleOp role);

} // namespace tileloom::nv

#endif // TILELOOM_PASSES_NV_LAYOUTNEEDS_H
