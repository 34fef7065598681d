//===- PTX.cpp - The ptx dialect ----------------------------------------------------------===//
//
// Verifiers: the shapes and types that the instructions allow.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/PTX/PTX.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom::ptx;

#include "dialects/PTX/PTXDialect.cpp.inc"
#include "dialects/PTX/PTXEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/PTX/PTXOps.cpp.inc"

void PTXDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/PTX/PTXOps.cpp.inc"
      >();
}

LogicalResult WgmmaOp::verify() {
  if (getN() < 8 || getN() > 256 || getN() % 8)
    return emitOpError("n: expected a multiple of 8 from 8 to 256, found ") << getN();
  size_t registers = getDType().isF16() ? getN() / 4 : getN() / 2;
  if (getResults().size() != registers)
    return emitOpError("results: expected ") << registers << ", found " << getResults().size();
  if (!getAcc().empty() && getAcc().size() != registers)
    return emitOpError("accumulators: expected ") << registers << ", found " << getAcc().size();
  if (getA().size() != 1 && getA().size() != 4)
    return emitOpError("a: expected one descriptor or 4 registers, found ") << getA().size() << " values";
  if (getScaleD() && getAcc().empty())
    return emitOpError("scale_d: expected accumulators, found none");
  return success();
}
