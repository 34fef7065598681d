//===- NV.h - The nv dialect -----------------------------------------------------*- C++ -*-===//
//
// One op for each hardware mechanism, sized for tiles. See NV.td and NVOps.td for the reference,
// Rationale.md for the reasons.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_NV_H
#define TILELOOM_DIALECTS_NV_H

#include "dialects/NV/NVNames.h"
#include "dialects/Tile/Tile.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NV/NVDialect.h.inc"
#include "dialects/NV/NVEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/NV/NVAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/NV/NVTypes.h.inc"

namespace tileloom::nv {

/// Marks operations that one elected thread performs for its role.
template <typename ConcreteType>
class SingleThread : public mlir::OpTrait::TraitBase<ConcreteType, SingleThread> {};

} // namespace tileloom::nv

#define GET_OP_CLASSES
#include "dialects/NV/NVOps.h.inc"

#endif // TILELOOM_DIALECTS_NV_H
