//===- Tcgen05Ops.cpp - Verifiers of the tensor memory and tcgen05 operations -------------===//
//
// Every message says what was expected and what was found. Which instructions exist is asked of
// layout::Tcgen05Instruction.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/NV/Tcgen05.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::nv;
using layout::Tcgen05Instruction;
using layout::Tcgen05Kind;
using layout::Tcgen05Type;
using tile::elementBits;

namespace {

std::string text(ArrayRef<int64_t> shape) {
  std::string result;
  for (int64_t extent : shape)
    result += (result.empty() ? "" : "x") + std::to_string(extent);
  return result;
}

std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

std::optional<Tcgen05Type> operandType(Type type) {
  if (type.isF16())
    return Tcgen05Type::F16;
  if (type.isBF16())
    return Tcgen05Type::BF16;
  if (type.isF32())
    return Tcgen05Type::TF32;
  if (isa<Float8E4M3FNType>(type))
    return Tcgen05Type::E4M3;
  if (isa<Float8E5M2Type>(type))
    return Tcgen05Type::E5M2;
  if (isa<Float4E2M1FNType>(type))
    return Tcgen05Type::E2M1;
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? Tcgen05Type::U8 : Tcgen05Type::S8;
  return std::nullopt;
}

Tcgen05Kind plainKind(Tcgen05Type type) {
  switch (type) {
  case Tcgen05Type::F16:
  case Tcgen05Type::BF16:
    return Tcgen05Kind::F16;
  case Tcgen05Type::TF32:
    return Tcgen05Kind::TF32;
  case Tcgen05Type::U8:
  case Tcgen05Type::S8:
    return Tcgen05Kind::I8;
  default:
    return Tcgen05Kind::F8F6F4;
  }
}

/// What both forms of the product share: ranks, spaces, extents, types.
llvm::Error fillCommon(MemDescType a, MemDescType b, MemDescType d, int64_t group,
                       Tcgen05Instruction &op) {
  auto fail = [](const Twine &message) { return llvm::createStringError(message); };
  for (MemDescType type : {a, b, d})
    if (type.getShape().size() != 2)
      return fail("operand ranks: expected 2, found " + text(type));
  if (b.getSpace() != MemorySpace::Smem)
    return fail("b: expected a tile in shared memory, found " + text(b));
  if (d.getSpace() != MemorySpace::Tmem)
    return fail("d: expected a tile in tensor memory, found " + text(d));
  ArrayRef<int64_t> as = a.getShape(), bs = b.getShape(), ds = d.getShape();
  if (as[1] != bs[0])
    return fail("inner extents: expected equal, found a " + text(as) + " and b " + text(bs));
  if (ds[0] != as[0] || ds[1] != bs[1] * group)
    return fail("d: expected " + text({as[0], bs[1] * group}) + ", found " + text(ds));
  std::optional<Tcgen05Type> aType = operandType(a.getElementType()),
                             bType = operandType(b.getElementType());
  if (!aType || !bType)
    return fail(
        "element types: expected f16, bf16, f32 (tf32), f8E4M3FN, f8E5M2, f4E2M1FN or i8, found " +
        text(a.getElementType()) + " and " + text(b.getElementType()));
  op.a = *aType, op.b = *bType;
  Type accumulator = d.getElementType();
  if (!accumulator.isF32() && !accumulator.isF16() && !accumulator.isInteger(32))
    return fail("d: expected f32, f16 or i32, found " + text(accumulator));
  op.d = accumulator.isF32()   ? layout::Tcgen05Accumulator::F32
         : accumulator.isF16() ? layout::Tcgen05Accumulator::F16
                               : layout::Tcgen05Accumulator::S32;
  if (group == 2 && as[0] == 64)
    return fail("a: expected 128 rows in each CTA of a pair (M = 256), found 64");
  op.ctaGroup = group;
  // Until its form is known, a tile may be several blocks of rows (warp-split-replicas).
  bool blocks = group == 1 && !d.getLayout() && as[0] % 64 == 0;
  op.m = blocks ? (as[0] % 128 ? 64 : 128) : as[0] * group, op.n = ds[1];
  op.aInTensorMemory = a.getSpace() == MemorySpace::Tmem;
  op.transposeA = isTransposedView(a);
  op.transposeB =
      !isTransposedView(b) && b.getLayout(); // b is written [K, N]: K contiguous means transposed
  auto form = [](MemDescType type, TmemForm expected) {
    auto attr = dyn_cast_or_null<TmemAttr>(type.getLayout());
    return type.getSpace() != MemorySpace::Tmem || !attr || attr.getForm() == expected;
  };
  if (!form(a, TmemForm::Operand))
    return fail("a: expected the form 'operand' in tensor memory, found " + text(a));
  if (!form(d, TmemForm::Accumulator))
    return fail("d: expected the form 'accumulator' in tensor memory, found " + text(d));
  return llvm::Error::success();
}

llvm::Error checkInner(int64_t extent, const Tcgen05Instruction &op) {
  if (extent % op.k() == 0)
    return llvm::Error::success();
  return llvm::createStringError("inner extent: expected a multiple of " + Twine(op.k()) +
                                 " for kind " + layout::kindName(op.kind) + ", found " +
                                 Twine(extent));
}

} // namespace

bool tileloom::nv::isTransposedView(MemDescType type) {
  auto smem = dyn_cast_or_null<SmemAttr>(type.getLayout());
  return smem && smem.getTransposed();
}

llvm::Expected<Tcgen05Instruction> tileloom::nv::instructionOf(Tcgen05MmaOp op) {
  Tcgen05Instruction result;
  if (llvm::Error error = fillCommon(op.getA().getType(), op.getB().getType(), op.getD().getType(),
                                     op.getCtaGroup(), result))
    return error;
  result.kind = plainKind(result.a);
  if (result.a == Tcgen05Type::E2M1 || result.b == Tcgen05Type::E2M1)
    return llvm::createStringError(
        "element types: expected 8-bit floats without scales (4-bit ones would need padded tiles), "
        "found f4E2M1FN");
  if (llvm::Error error = result.verify())
    return error;
  if (llvm::Error error = checkInner(op.getA().getType().getShape()[1], result))
    return error;
  return result;
}

llvm::Expected<Tcgen05Instruction> tileloom::nv::instructionOf(Tcgen05MmaScaledOp op) {
  Tcgen05Instruction result;
  MemDescType a = op.getA().getType(), b = op.getB().getType();
  if (llvm::Error error = fillCommon(a, b, op.getD().getType(), op.getCtaGroup(), result))
    return error;
  bool four = result.a == Tcgen05Type::E2M1;
  if (four != (result.b == Tcgen05Type::E2M1))
    return llvm::createStringError(
        "element types: expected two 8-bit floats or two f4E2M1FN, found " +
        text(a.getElementType()) + " and " + text(b.getElementType()));
  MemDescType sa = op.getScaleA().getType(), sb = op.getScaleB().getType();
  Type scale = sa.getElementType();
  if (sb.getElementType() != scale || !isa<Float8E8M0FNUType, Float8E4M3FNType>(scale))
    return llvm::createStringError(
        "scales: expected two tiles of f8E8M0FNU or of f8E4M3FN, found " + text(scale) + " and " +
        text(sb.getElementType()));
  result.scale =
      isa<Float8E8M0FNUType>(scale) ? layout::Tcgen05Scale::UE8M0 : layout::Tcgen05Scale::UE4M3;
  int64_t block = op.getBlock();
  if (block != 16 && block != 32)
    return llvm::createStringError("block: expected 16 or 32, found " + Twine(block));
  result.kind = !four         ? Tcgen05Kind::MXF8F6F4
                : block == 16 ? Tcgen05Kind::MXF4NVF4
                              : Tcgen05Kind::MXF4;
  result.scalesPerStep = result.k() / block;
  if (llvm::Error error = result.verify())
    return error;
  int64_t k = a.getShape()[1];
  if (llvm::Error error = checkInner(k, result))
    return error;
  auto checkScales = [&](StringRef name, MemDescType type, int64_t rows) -> llvm::Error {
    auto form = dyn_cast_or_null<TmemAttr>(type.getLayout());
    if (type.getSpace() == MemorySpace::Tmem &&
        type.getShape() == ArrayRef<int64_t>({rows, k / block}) &&
        (!form || form.getForm() == TmemForm::Scales))
      return llvm::Error::success();
    return llvm::createStringError(name + ": expected " + text({rows, k / block}) +
                                   " scales in tensor memory, found " + text(Type(type)));
  };
  if (llvm::Error error = checkScales("scale_a", sa, a.getShape()[0]))
    return error;
  if (llvm::Error error = checkScales("scale_b", sb, result.n))
    return error;
  return result;
}

template <typename Op> static LogicalResult verifyInstruction(Op op) {
  auto instruction = instructionOf(op);
  if (!instruction)
    return op.emitOpError() << llvm::toString(instruction.takeError());
  return success();
}

LogicalResult Tcgen05MmaOp::verify() { return verifyInstruction(*this); }
LogicalResult Tcgen05MmaScaledOp::verify() { return verifyInstruction(*this); }

CpShape tileloom::nv::cpShape(Tcgen05CpShape shape) {
  switch (shape) {
  case Tcgen05CpShape::X128x256b:
    return {128, 32, 8};
  case Tcgen05CpShape::X128x128b:
    return {128, 16, 4};
  case Tcgen05CpShape::X64x128b_02_13:
  case Tcgen05CpShape::X64x128b_01_23:
    return {64, 16, 4};
  case Tcgen05CpShape::X32x128b:
    return {32, 16, 4};
  }
  llvm_unreachable("unknown tcgen05.cp shape");
}

LogicalResult Tcgen05CpOp::verify() {
  MemDescType source = getSource().getType(), target = getTarget().getType();
  CpShape shape = cpShape(getShape());
  if (source.getSpace() != MemorySpace::Smem || source.getShape().size() != 2)
    return emitOpError("source: expected two dimensions in shared memory, found ") << source;
  if (target.getSpace() != MemorySpace::Tmem)
    return emitOpError("target: expected a tile in tensor memory, found ") << target;
  int64_t bytes = source.getShape()[1] * elementBits(source.getElementType()) / 8;
  if (source.getShape()[0] % shape.rows || bytes != shape.bytes)
    return emitOpError("source: expected pieces of ")
           << shape.rows << " rows of " << shape.bytes << " bytes for "
           << stringifyTcgen05CpShape(getShape()) << ", found " << source.getShape()[0]
           << " rows of " << bytes << " bytes";
  return success();
}

LogicalResult MemDescReinterpretOp::verify() {
  MemDescType source = getSource().getType(), result = getResult().getType();
  if (source.getSpace() != MemorySpace::Tmem || result.getSpace() != MemorySpace::Tmem)
    return emitOpError("spaces: expected tensor memory, found ") << source << " and " << result;
  return success();
}

static LogicalResult verifyTransfer(Operation *op, RankedTensorType value, MemDescType view) {
  if (view.getSpace() != MemorySpace::Tmem)
    return op->emitOpError("view: expected a tile in tensor memory, found ") << view;
  if (value.getElementType() != view.getElementType() || value.getShape() != view.getShape())
    return op->emitOpError("types: expected the same shape and elements, found ")
           << value << " and " << view;
  bool blocks = !view.getLayout() && view.getShape()[0] % 64 == 0; // of rows, until the form is known
  if (view.getShape()[0] != 128 && view.getShape()[0] != 64 && !blocks)
    return op->emitOpError("rows: expected 128, or 64 of an accumulator of 64 rows, found ")
           << view.getShape()[0];
  if (auto form = dyn_cast_or_null<TmemAttr>(view.getLayout());
      form && form.getForm() == TmemForm::Scales)
    return op->emitOpError("view: expected the form 'accumulator' or 'operand', found ") << view;
  return success();
}

LogicalResult TmemLoadOp::verify() {
  return verifyTransfer(*this, cast<RankedTensorType>(getResult().getType()), getView().getType());
}

LogicalResult TmemStoreOp::verify() {
  return verifyTransfer(*this, cast<RankedTensorType>(getValue().getType()), getView().getType());
}
