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
using namespace tileloom::rings;

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

ScalarOp ScalarOp::of(Operation *op) {
  ScalarOp scalar;
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 || !widthOf(op->getResult(0).getType()) ||
      llvm::any_of(op->getOperandTypes(), [](Type type) { return !widthOf(type); }))
    return scalar;
  scalar.width = widthOf(op->getOperand(0).getType());
  scalar.resultWidth = widthOf(op->getResult(0).getType());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    scalar.predicate = static_cast<uint8_t>(compare.getPredicate());
  scalar.kind = llvm::TypeSwitch<Operation *, Kind>(op)
                    .Case<arith::AddIOp>([](auto) { return Add; })
                    .Case<arith::SubIOp>([](auto) { return Sub; })
                    .Case<arith::MulIOp>([](auto) { return Mul; })
                    .Case<arith::DivUIOp>([](auto) { return DivU; })
                    .Case<arith::DivSIOp>([](auto) { return DivS; })
                    .Case<arith::CeilDivUIOp>([](auto) { return CeilDivU; })
                    .Case<arith::CeilDivSIOp>([](auto) { return CeilDivS; })
                    .Case<arith::FloorDivSIOp>([](auto) { return FloorDivS; })
                    .Case<arith::RemUIOp>([](auto) { return RemU; })
                    .Case<arith::RemSIOp>([](auto) { return RemS; })
                    .Case<arith::MinSIOp>([](auto) { return MinS; })
                    .Case<arith::MaxSIOp>([](auto) { return MaxS; })
                    .Case<arith::MinUIOp>([](auto) { return MinU; })
                    .Case<arith::MaxUIOp>([](auto) { return MaxU; })
                    .Case<arith::AndIOp>([](auto) { return And; })
                    .Case<arith::OrIOp>([](auto) { return Or; })
                    .Case<arith::XOrIOp>([](auto) { return Xor; })
                    .Case<arith::ShLIOp>([](auto) { return ShL; })
                    .Case<arith::ShRUIOp>([](auto) { return ShRU; })
                    .Case<arith::ShRSIOp>([](auto) { return ShRS; })
                    .Case<arith::ExtUIOp, arith::IndexCastUIOp>([](auto) { return ZeroExtend; })
                    .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([](auto) { return Keep; })
                    .Case<arith::CmpIOp>([](auto) { return Compare; })
                    .Case<arith::SelectOp>([](auto) { return Select; })
                    .Default([](auto) { return None; });
  return scalar;
}

int64_t ScalarOp::evaluate(ArrayRef<int64_t> v) const {
  auto u = [&](unsigned index) { return zeroExtend(v[index], width); };
  // Division by zero is undefined; 0 keeps the walk going and is the same in all roles. The smallest
  // value divided by -1 would trap.
  auto quotient = [&] {
    return v[1] == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v[0])) : v[0] / v[1];
  };
  auto remainder = [&] { return v[1] == -1 ? 0 : v[0] % v[1]; };
  auto value = [&]() -> uint64_t {
    if (kind >= DivU && kind <= RemS && v[1] == 0)
      return 0;
    switch (kind) {
    case None:
      break;
    case Add:
      return u(0) + u(1);
    case Sub:
      return u(0) - u(1);
    case Mul:
      return u(0) * u(1);
    case DivU:
      return u(0) / u(1);
    case DivS:
      return quotient();
    case CeilDivU:
      return u(0) / u(1) + (u(0) % u(1) != 0);
    case CeilDivS:
      return quotient() + (remainder() != 0 && (v[0] < 0) == (v[1] < 0));
    case FloorDivS:
      return quotient() - (remainder() != 0 && (v[0] < 0) != (v[1] < 0));
    case RemU:
      return u(0) % u(1);
    case RemS:
      return remainder();
    case MinS:
      return std::min(v[0], v[1]);
    case MaxS:
      return std::max(v[0], v[1]);
    case MinU:
      return u(0) < u(1) ? v[0] : v[1];
    case MaxU:
      return u(0) > u(1) ? v[0] : v[1];
    case And:
      return v[0] & v[1];
    case Or:
      return v[0] | v[1];
    case Xor:
      return v[0] ^ v[1];
    case ShL:
      return u(1) < width ? u(0) << u(1) : 0;
    case ShRU:
      return u(1) < width ? u(0) >> u(1) : 0;
    case ShRS:
      return u(1) < width ? v[0] >> u(1) : 0;
    case ZeroExtend:
      return u(0);
    case Keep:
      return v[0];
    case Compare:
      return compare(static_cast<arith::CmpIPredicate>(predicate), v[0], v[1], width);
    case Select:
      return v[0] ? v[1] : v[2];
    }
    return 0;
  };
  return resultWidth == 1 ? value() & 1 : llvm::SignExtend64(value(), resultWidth);
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
