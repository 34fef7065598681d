//===- User.h - The user dialect ------------------------------------------------------*- C++ -*-===//
//
// Prints, checks and assembly of the user's. See User.td for the reference, Rationale.md for the
// reasons.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_USER_H
#define TILELOOM_DIALECTS_USER_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/User/UserDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/User/UserOps.h.inc"

#endif // TILELOOM_DIALECTS_USER_H
