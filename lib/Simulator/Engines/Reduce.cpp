//===- Reduce.cpp - Element reductions
//------------------------------------------------------------===//
//
// The arithmetic of red, atom and cp.reduce.async.bulk on one element, and which pairs of operation
// and type the bulk forms accept (PTX ISA 9.7.9.25.4.2 and 9.7.9.25.5.3, tables confirmed by
// ptxas).
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Reduce.h"

#include "tileloom/Simulator/FloatOps.h"

using namespace tileloom::sim;

namespace {
using T = ReduceType;

bool isFloat(T type) { return type >= T::F16 && type <= T::F64; }
bool isSigned(T type) { return type == T::S32 || type == T::S64; }
bool isBits(T type) { return type == T::B32 || type == T::B64; }
bool isLogic(ReduceOp op) { return op >= ReduceOp::And; }

Format formatOf(T type) {
  return type == T::F16    ? Format::F16
         : type == T::BF16 ? Format::BF16
         : type == T::F32  ? Format::F32
                           : Format::F64;
}

// Legal pairs of the bulk forms; `tensor` is the table of cp.reduce.async.bulk.tensor.
bool legal(ReduceOp op, T type, bool toShared, bool tensor) {
  if (isLogic(op))
    return isBits(type) && !(toShared && type == T::B64);
  if (isBits(type))
    return false;
  if (op == ReduceOp::Inc || op == ReduceOp::Dec)
    return type == T::U32;
  if (op == ReduceOp::Add) {
    if (toShared)
      return type == T::U32 || type == T::S32 || type == T::U64;
    return type != T::S64 && !(tensor && type == T::F64);
  }
  if (toShared)
    return type == T::U32 || type == T::S32;
  return type != T::F32 && type != T::F64;
}

Error illegal(const char *what, ReduceOp op, const char *type) {
  return std::string(what) + " has no ." + reduceOpName(op) + " for type " + type;
}
} // namespace

unsigned tileloom::sim::reduceTypeBytes(ReduceType type) {
  switch (type) {
  case T::F16:
  case T::BF16:
    return 2;
  case T::U64:
  case T::S64:
  case T::F64:
  case T::B64:
    return 8;
  default:
    return 4;
  }
}

const char *tileloom::sim::reduceOpName(ReduceOp op) {
  static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return names[unsigned(op) & 7];
}

const char *tileloom::sim::reduceTypeName(ReduceType type) {
  static const char *const names[] = {"u32",  "s32", "u64", "s64", "f16",
                                      "bf16", "f32", "f64", "b32", "b64"};
  return unsigned(type) < 10 ? names[unsigned(type)] : "invalid";
}

Error tileloom::sim::checkBulkReduce(ReduceOp op, ReduceType type, bool toShared) {
  if (legal(op, type, toShared, false))
    return {};
  return illegal(toShared ? "cp.reduce.async.bulk to shared::cluster"
                          : "cp.reduce.async.bulk to global",
                 op, reduceTypeName(type));
}

Error tileloom::sim::tensorReduceType(ReduceOp op, TmaType mapType, ReduceType &type) {
  Error error = illegal("cp.reduce.async.bulk.tensor", op, tmaTypeName(mapType));
  switch (mapType) {
  case TmaType::U32:
    type = isLogic(op) ? T::B32 : T::U32;
    break;
  case TmaType::S32:
    type = isLogic(op) ? T::B32 : T::S32;
    break;
  case TmaType::U64:
    type = isLogic(op) ? T::B64 : T::U64;
    break;
  case TmaType::S64:
    type = isLogic(op) ? T::B64 : T::S64;
    break;
  case TmaType::F16:
    type = T::F16;
    break;
  case TmaType::BF16:
    type = T::BF16;
    break;
  case TmaType::F32:
  case TmaType::F32Ftz:
    type = T::F32;
    break;
  default:
    return error;
  }
  return legal(op, type, false, true) ? Error() : error;
}

static uint64_t floatReduce(ReduceOp op, Format format, uint64_t old, uint64_t operand, bool ftz) {
  if (op == ReduceOp::Min)
    return minOp(format, old, operand);
  if (op == ReduceOp::Max)
    return maxOp(format, old, operand);
  if (format == Format::F64) { // a NaN passes as it is, not quieted
    if (decode(format, operand) != decode(format, operand))
      return operand;
    if (decode(format, old) != decode(format, old))
      return old;
  }
  ArithOptions options;
  options.ftz = ftz && format == Format::F32;
  return addOp(format, old, operand, options);
}

uint64_t tileloom::sim::reduceElement(ReduceOp op, ReduceType type, uint64_t old, uint64_t operand,
                                      bool ftz) {
  if (isFloat(type))
    return floatReduce(op, formatOf(type), old, operand, ftz);
  bool narrow = reduceTypeBytes(type) == 4;
  uint64_t mask = narrow ? 0xFFFFFFFFu : ~uint64_t(0);
  old &= mask;
  operand &= mask;
  bool less = narrow ? (isSigned(type) ? int32_t(old) < int32_t(operand) : old < operand)
                     : (isSigned(type) ? int64_t(old) < int64_t(operand) : old < operand);
  switch (op) {
  case ReduceOp::Add:
    return (old + operand) & mask;
  case ReduceOp::Min:
    return less ? old : operand;
  case ReduceOp::Max:
    return less ? operand : old;
  case ReduceOp::Inc: // wraps to 0 at the operand
    return old >= operand ? 0 : old + 1;
  case ReduceOp::Dec: // wraps to the operand below 1 or above it
    return old == 0 || old > operand ? operand : old - 1;
  case ReduceOp::And:
    return old & operand;
  case ReduceOp::Or:
    return old | operand;
  case ReduceOp::Xor:
    return old ^ operand;
  }
  return old;
}

void tileloom::sim::reduceSpan(ReduceOp op, ReduceType type, uint8_t *destination,
                               const uint8_t *source, uint32_t bytes, bool ftz) {
  unsigned size = reduceTypeBytes(type);
  for (uint32_t i = 0; i + size <= bytes; i += size) {
    uint64_t old = 0, operand = 0;
    std::memcpy(&old, destination + i, size);
    std::memcpy(&operand, source + i, size);
    uint64_t result = reduceElement(op, type, old, operand, ftz);
    std::memcpy(destination + i, &result, size);
  }
}
