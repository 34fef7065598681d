//===- RingScalars.cpp - Integer operations on known operands -----------------------------===//
//
// What ring verification computes itself instead of trying values: integer arith, and launch
// indices.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingInputs.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tileloom;

namespace {

unsigned widthOf(Type type) {
  if (type.isIndex())
    return 64;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() <= 64 ? integer.getWidth() : 0;
}

uint64_t zeroExtend(int64_t value, unsigned width) {
  return static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(width);
}

int64_t compare(arith::CmpIPredicate predicate, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = zeroExtend(a, width), ub = zeroExtend(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return 0;
}

} // namespace

bool rings::isScalarOp(Operation *op) {
  if (op->getNumResults() != 1 || !widthOf(op->getResult(0).getType()))
    return false;
  if (llvm::any_of(op->getOperandTypes(), [](Type type) { return !widthOf(type); }))
    return false;
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp, arith::DivSIOp,
             arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp, arith::RemUIOp,
             arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp, arith::ShRUIOp,
             arith::ShRSIOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp,
             arith::IndexCastUIOp, arith::CmpIOp, arith::SelectOp>(op);
}

int64_t rings::evaluateScalar(Operation *op, ArrayRef<int64_t> v) {
  unsigned width = widthOf(op->getOperand(0).getType());
  auto u = [&](unsigned index) { return zeroExtend(v[index], width); };
  auto shift = [&](auto value) { return u(1) < width ? value : decltype(value)(0); };
  // Division by zero is undefined; 0 keeps the walk going and is the same in all roles.
  int64_t d = v.size() > 1 && v[1] ? v[1] : 1, zero = v.size() > 1 && !v[1] ? 0 : 1;
  uint64_t ud = zeroExtend(d, width);
  // The smallest value divided by -1 would trap.
  int64_t quotient = d == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v[0])) : v[0] / d;
  int64_t remainder = d == -1 ? 0 : v[0] % d;
  int64_t result =
      llvm::TypeSwitch<Operation *, int64_t>(op)
          .Case([&](arith::AddIOp) { return static_cast<int64_t>(u(0) + u(1)); })
          .Case([&](arith::SubIOp) { return static_cast<int64_t>(u(0) - u(1)); })
          .Case([&](arith::MulIOp) { return static_cast<int64_t>(u(0) * u(1)); })
          .Case([&](arith::DivUIOp) { return static_cast<int64_t>(u(0) / ud) * zero; })
          .Case([&](arith::DivSIOp) { return quotient * zero; })
          .Case([&](arith::CeilDivUIOp) {
            return static_cast<int64_t>(u(0) / ud + (u(0) % ud != 0)) * zero;
          })
          .Case([&](arith::CeilDivSIOp) {
            return (quotient + (remainder != 0 && (v[0] < 0) == (d < 0))) * zero;
          })
          .Case([&](arith::FloorDivSIOp) {
            return (quotient - (remainder != 0 && (v[0] < 0) != (d < 0))) * zero;
          })
          .Case([&](arith::RemUIOp) { return static_cast<int64_t>(u(0) % ud) * zero; })
          .Case([&](arith::RemSIOp) { return remainder * zero; })
          .Case([&](arith::MinSIOp) { return std::min(v[0], v[1]); })
          .Case([&](arith::MaxSIOp) { return std::max(v[0], v[1]); })
          .Case([&](arith::MinUIOp) { return u(0) < u(1) ? v[0] : v[1]; })
          .Case([&](arith::MaxUIOp) { return u(0) > u(1) ? v[0] : v[1]; })
          .Case([&](arith::AndIOp) { return v[0] & v[1]; })
          .Case([&](arith::OrIOp) { return v[0] | v[1]; })
          .Case([&](arith::XOrIOp) { return v[0] ^ v[1]; })
          .Case([&](arith::ShLIOp) { return static_cast<int64_t>(shift(u(0) << (u(1) & 63))); })
          .Case([&](arith::ShRUIOp) { return static_cast<int64_t>(shift(u(0) >> (u(1) & 63))); })
          .Case([&](arith::ShRSIOp) { return shift(v[0] >> (u(1) & 63)); })
          .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
              [&](auto) { return static_cast<int64_t>(u(0)); })
          .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto) { return v[0]; })
          .Case([&](arith::CmpIOp cmp) { return compare(cmp.getPredicate(), v[0], v[1], width); })
          .Case([&](arith::SelectOp) { return v[0] ? v[1] : v[2]; });
  unsigned resultWidth = widthOf(op->getResult(0).getType());
  if (resultWidth == 1)
    return result & 1;
  return llvm::SignExtend64(static_cast<uint64_t>(result), resultWidth);
}

std::optional<int64_t> rings::fixedValue(Operation *op, int64_t replica, int64_t cta,
                                         int64_t ctas) {
  IntegerAttr constant;
  if (matchPattern(op, m_Constant(&constant)) && constant.getValue().getSignificantBits() <= 64)
    return constant.getType().isInteger(1) ? constant.getValue().getZExtValue()
                                           : constant.getValue().getSExtValue();
  if (isa<warp::ReplicaIndexOp>(op))
    return replica;
  if (isa<NVVM::BlockInClusterIdXOp, NVVM::ClusterId>(op))
    return cta;
  if (isa<NVVM::BlockIdXOp>(op))
    return cta;
  if (isa<NVVM::GridDimXOp, NVVM::ClusterDimBlocksXOp, NVVM::ClusterDim>(op))
    return ctas;
  if (isa<NVVM::ClusterDimXOp>(op)) // clusters in the grid
    return 1;
  if (isa<NVVM::ClusterIdXOp, NVVM::ClusterIdYOp, NVVM::ClusterIdZOp, NVVM::BlockIdYOp,
          NVVM::BlockIdZOp>(op))
    return 0;
  if (isa<NVVM::GridDimYOp, NVVM::GridDimZOp>(op))
    return 1;
  return std::nullopt;
}
