//===- PTX.h - The ptx dialect ---------------------------------------------------*- C++ -*-===//
//
// The few instructions that NVVM cannot express. See PTX.td for the reference, Rationale.md for the
// reasons.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_PTX_H
#define TILELOOM_DIALECTS_PTX_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/PTX/PTXDialect.h.inc"
#include "dialects/PTX/PTXEnums.h.inc"

#define GET_OP_CLASSES
#include "dialects/PTX/PTXOps.h.inc"

#endif // TILELOOM_DIALECTS_PTX_H
