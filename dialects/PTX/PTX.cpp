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

static bool is8BitFloat(MatrixType type) {
  return type == MatrixType::E4M3 || type == MatrixType::E5M2;
}
static bool isInteger(MatrixType type) { return type == MatrixType::S8 || type == MatrixType::U8; }

/// Shapes and types that wgmma.mma_async has (PTX ISA 9.7.15.2, 9.7.15.5.2).
static LogicalResult verifyTypes(WgmmaOp op) {
  MatrixType a = op.getAType(), b = op.getBType();
  bool half = a == MatrixType::F16 || a == MatrixType::BF16;
  if (a != b && !(is8BitFloat(a) && is8BitFloat(b)) && !(isInteger(a) && isInteger(b)))
    return op.emitOpError("types: expected a and b alike (8-bit floats and integers may differ in "
                          "format), found ")
           << stringifyMatrixType(a) << " and " << stringifyMatrixType(b);
  uint64_t k = half ? 16 : a == MatrixType::TF32 ? 8 : 32;
  if (op.getK() != k)
    return op.emitOpError("k: expected ")
           << k << " for " << stringifyMatrixType(a) << ", found " << op.getK();
  Type d = op.getDType();
  if (isInteger(a)) {
    if (!d.isInteger(32))
      return op.emitOpError("d_type: expected i32 for ")
             << stringifyMatrixType(a) << ", found " << d;
  } else if (!d.isF32() && !(d.isF16() && (a == MatrixType::F16 || is8BitFloat(a)))) {
    return op.emitOpError("d_type: expected f32 for ") << stringifyMatrixType(a) << ", found " << d;
  }
  // PTX ISA 9.7.15.2: shapes of .s8 and .u8.
  if (isInteger(a) && op.getN() > 24 && op.getN() % 16)
    return op.emitOpError("n: expected 8, 16, 24 or a multiple of 16 for integers, found ")
           << op.getN();
  if (op.getSatfinite() && !isInteger(a))
    return op.emitOpError("satfinite: expected integers, found ") << stringifyMatrixType(a);
  if ((op.getTransA() || op.getTransB()) && !half)
    return op.emitOpError("trans: expected 16-bit operands, found ") << stringifyMatrixType(a);
  return success();
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
    return emitOpError("a: expected one descriptor or 4 registers, found ")
           << getA().size() << " values";
  if (getA().size() == 1 && !getA().front().getType().isInteger(64))
    return emitOpError("a: expected a descriptor of type i64, found ") << getA().front().getType();
  for (Value value : getA())
    if (getA().size() == 4 && !value.getType().isInteger(32))
      return emitOpError("a: expected 32-bit registers, found ") << value.getType();
  if (getTransA() && getA().size() == 4)
    return emitOpError("trans_a: expected a descriptor, found registers");
  if (getScaleD() && getAcc().empty())
    return emitOpError("scale_d: expected accumulators, found none");
  return verifyTypes(*this);
}

LogicalResult WgmmaWaitOp::verify() {
  if (!getAfter() != !getScratch())
    return emitOpError("after: expected a scratch address with it, found only one of the two");
  return success();
}
