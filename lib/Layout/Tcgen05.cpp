//===- Tcgen05.cpp - Instruction shapes and descriptors of tcgen05.mma ------===//
//
// PTX ISA Table 39 (shapes), 9.7.16.4.2 (descriptor), Tables 50-53 (major orders), and the static
// checks of CUTLASS's mma_traits_sm100 where these are narrower.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/Tcgen05.h"
#include "Support.h"

using namespace llvm;

namespace tileloom::layout {

using Kind = Tcgen05Kind;
using Type = Tcgen05Type;

StringRef kindName(Kind kind) {
  static const char *const names[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return names[unsigned(kind)];
}

StringRef typeName(Type type) {
  static const char *const names[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2",
                                      "e2m3", "e3m2", "e2m1", "u8",   "s8"};
  return names[unsigned(type)];
}

static unsigned typeCode(Kind kind, Type type) {
  if (kind == Kind::MXF4 || kind == Kind::MXF4NVF4)
    return 1; // E2M1, the only type
  switch (type) {
  case Type::F16:
  case Type::E4M3:
  case Type::U8:
    return 0;
  case Type::BF16:
  case Type::E5M2:
  case Type::S8:
    return 1;
  case Type::TF32:
    return 2;
  case Type::E2M3:
    return 3;
  case Type::E3M2:
    return 4;
  case Type::E2M1:
    return 5;
  }
  return 0;
}

static bool typeBelongs(Kind kind, Type type) {
  switch (kind) {
  case Kind::F16:
    return type == Type::F16 || type == Type::BF16;
  case Kind::TF32:
    return type == Type::TF32;
  case Kind::F8F6F4:
  case Kind::MXF8F6F4:
    return type >= Type::E4M3 && type <= Type::E2M1;
  case Kind::I8:
    return type == Type::U8 || type == Type::S8;
  case Kind::MXF4:
  case Kind::MXF4NVF4:
    return type == Type::E2M1;
  }
  return false;
}

int64_t Tcgen05Instruction::k() const {
  switch (kind) {
  case Kind::F16:
    return 16;
  case Kind::TF32:
    return 8;
  case Kind::MXF4:
  case Kind::MXF4NVF4:
    return 64;
  default:
    return 32;
  }
}

static Error checkTypes(const Tcgen05Instruction &op) {
  StringRef kind = kindName(op.kind);
  for (Type type : {op.a, op.b})
    if (!typeBelongs(op.kind, type))
      return makeError("kind " + kind + ": found operands of " + typeName(op.a) + " and " +
                       typeName(op.b) + ", which it does not have");
  if (op.kind == Kind::F16 && op.a != op.b)
    return makeError("kind f16: expected operands of one type, found " + typeName(op.a) + " and " +
                     typeName(op.b));
  bool half = op.d == Tcgen05Accumulator::F16, integer = op.d == Tcgen05Accumulator::S32;
  if (integer != (op.kind == Kind::I8))
    return makeError("kind " + kind + ": expected an accumulator of " +
                     (integer ? "f32, found i32" : "i32, found a float"));
  if (half && !(op.kind == Kind::F8F6F4 || op.a == Type::F16))
    return makeError("kind " + kind + ": expected an accumulator of f32 for operands of " +
                     typeName(op.a) + ", found f16");
  return Error::success();
}

static Error checkMajors(const Tcgen05Instruction &op) {
  if (op.transposeA && op.aInTensorMemory)
    return makeError("a: expected K contiguous in tensor memory, found M contiguous");
  auto check = [&](StringRef name, Type type, bool transposed) -> Error {
    // Sources disagree on 4- and 6-bit operands; mxf4 has no transpose bits at all.
    bool narrow = type >= Type::E2M3 && type <= Type::E2M1;
    if (transposed && narrow)
      return makeError(name + ": expected K contiguous for " + typeName(type) + ", found " +
                       (name == "a" ? "M" : "N") + " contiguous");
    return Error::success();
  };
  if (Error error = check("a", op.a, op.transposeA))
    return error;
  return check("b", op.b, op.transposeB);
}

static Error checkShape(const Tcgen05Instruction &op) {
  bool pair = op.ctaGroup == 2, scaled = isBlockScaled(op.kind);
  if (op.ctaGroup != 1 && op.ctaGroup != 2)
    return makeError("cta_group: expected 1 or 2, found " + Twine(op.ctaGroup));
  // Scales of B for a pair with M = 128 have no confirmed place in tensor memory.
  int64_t low = scaled ? (pair ? 256 : 128) : (pair ? 128 : 64), high = pair ? 256 : 128;
  if (op.m != low && op.m != high)
    return makeError("M: expected " + Twine(low) + (low == high ? "" : " or " + std::to_string(high)) +
                     " for kind " + kindName(op.kind) + " with cta_group " + Twine(op.ctaGroup) +
                     ", found " + Twine(op.m));
  bool bytes = op.kind == Kind::F8F6F4 || op.kind == Kind::I8 || op.kind == Kind::MXF8F6F4;
  int64_t step = pair ? 16 : 8;
  if (bytes && op.transposeB)
    step *= 2;
  if (pair && (op.aInTensorMemory || op.kind == Kind::I8))
    step = 32;
  if (!pair && op.aInTensorMemory && op.m == 128)
    step = 16;
  if (!pair && op.kind == Kind::I8 && op.n != 8)
    step = 16;
  if (op.n < step || op.n > 256 || op.n % step)
    return makeError("N: expected a multiple of " + Twine(step) + " up to 256 for kind " +
                     kindName(op.kind) + " with cta_group " + Twine(op.ctaGroup) +
                     (op.aInTensorMemory ? " and a in tensor memory" : "") +
                     (op.transposeB ? " and N contiguous" : "") + ", found " + Twine(op.n));
  return Error::success();
}

static Error checkScales(const Tcgen05Instruction &op) {
  bool fits = true;
  switch (op.kind) {
  case Kind::MXF8F6F4:
    fits = op.scalesPerStep == 1 && op.scale == Tcgen05Scale::UE8M0;
    break;
  case Kind::MXF4:
    fits = op.scalesPerStep == 2 && op.scale == Tcgen05Scale::UE8M0;
    break;
  case Kind::MXF4NVF4:
    fits = op.scalesPerStep == 4 || (op.scalesPerStep == 2 && op.scale == Tcgen05Scale::UE8M0);
    break;
  default:
    break;
  }
  if (fits)
    return Error::success();
  return makeError("scales: expected one ue8m0 for 32 elements of K (mxf8f6f4, mxf4, mxf4nvf4), or one "
                   "ue8m0 or e4m3 for 16 (mxf4nvf4), found " +
                   Twine(op.scalesPerStep) + " of " +
                   (op.scale == Tcgen05Scale::UE8M0 ? "ue8m0" : "e4m3") + " for " + Twine(op.k()) +
                   " elements with kind " + kindName(op.kind));
}

Error Tcgen05Instruction::verify() const {
  for (auto check : {checkTypes, checkMajors, checkShape, checkScales})
    if (Error error = check(*this))
      return error;
  return Error::success();
}

uint32_t Tcgen05Instruction::encode(unsigned scaleIdA, unsigned scaleIdB) const {
  uint32_t word = typeCode(kind, a) << 7 | typeCode(kind, b) << 10 | uint32_t(transposeA) << 15 |
                  uint32_t(transposeB) << 16 | uint32_t(n >> 3) << 17;
  if (!isBlockScaled(kind)) {
    unsigned dCode = d == Tcgen05Accumulator::F16 ? 0 : d == Tcgen05Accumulator::F32 ? 1 : 2;
    return word | dCode << 4 | uint32_t(m >> 4) << 24;
  }
  return word | scaleIdB << 4 | uint32_t(scale == Tcgen05Scale::UE8M0) << 23 |
         uint32_t(m >> 7) << 27 | scaleIdA << 29;
}

} // namespace tileloom::layout
