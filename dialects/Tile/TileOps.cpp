//===- TileOps.cpp - Verifiers, folders and assembly of the tile operations ---------------===//
//
// Every message says what was expected and what was found.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/Tile/Verify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tileloom::tile;

/// `[2, 0, 1]`, or nothing.
static OptionalParseResult parseOrder(OpAsmParser &parser, DenseI64ArrayAttr &order) {
  if (failed(parser.parseOptionalLSquare()))
    return std::nullopt;
  SmallVector<int64_t> dims;
  if (parser.parseCommaSeparatedList([&] { return parser.parseInteger(dims.emplace_back()); }) || parser.parseRSquare())
    return failure();
  order = parser.getBuilder().getDenseI64ArrayAttr(dims);
  return success();
}

static void printOrder(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr order) { printer << '[' << order.asArrayRef() << ']'; }

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

namespace {

RankedTensorType tensorOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

/// Whether `shape` is `box` with some of its unit dimensions dropped.
bool isBoxWithoutUnits(ArrayRef<int64_t> box, ArrayRef<int64_t> shape) {
  size_t next = 0;
  for (size_t i = 0; i < box.size(); ++i) {
    // A unit extent is kept when the rest could not be matched without it.
    if (next < shape.size() && shape[next] == box[i] &&
        (box[i] != 1 || box.size() - i == shape.size() - next))
      ++next;
    else if (box[i] != 1)
      return false;
  }
  return next == shape.size();
}

LogicalResult verifyBox(Operation *op, DescType desc, RankedTensorType value, size_t coordinates) {
  if (value.getRank() == 0)
    return op->emitOpError("tile: expected at least one dimension, found ") << value;
  if (coordinates != desc.getShape().size())
    return op->emitOpError("coordinates: expected ")
           << desc.getShape().size() << " (the descriptor's rank), found " << coordinates;
  if (value.getElementType() != desc.getElementType())
    return op->emitOpError("element type: expected ")
           << desc.getElementType() << " as in the descriptor, found " << value.getElementType();
  if (!isBoxWithoutUnits(desc.getShape(), value.getShape()) &&
      !(isa<LoadOp, StoreOp>(op) &&
        mergesRows(squeeze(desc.getShape()), squeeze(value.getShape()))))
    return op->emitOpError("tile shape: expected ")
           << shapeText(desc.getShape()) << " without some unit dimensions, found "
           << shapeText(value.getShape());
  return success();
}

/// Whether threads can read and write elements of `type` one by one; i1 takes a byte.
bool isElement(Type type) {
  return isa<IntegerType, FloatType>(type) && llvm::is_contained({1, 8, 16, 32, 64}, elementBits(type));
}

/// Offsets, mask and value of an access through a pointer agree.
LogicalResult verifyAccess(Operation *op, Type value, Type offset, Type mask, Type other) {
  auto shapeOf = [](Type type) -> std::optional<ArrayRef<int64_t>> {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      return tensor.getShape();
    return std::nullopt;
  };
  if (Type element = getElementTypeOrSelf(value); !isElement(element))
    return op->emitOpError("element type: expected i1, or an integer or float of 8, 16, 32 or 64 bits, found ")
           << element;
  Type index = getElementTypeOrSelf(offset);
  if (!index.isInteger(32) && !index.isInteger(64))
    return op->emitOpError("offset: expected i32 or i64 elements, found ") << index;
  auto check = [&](StringRef name, Type type) -> LogicalResult {
    if (type && shapeOf(type) != shapeOf(offset))
      return op->emitOpError(name)
             << ": expected the shape of the offsets, " << offset << ", found " << type;
    return success();
  };
  if (mask && !getElementTypeOrSelf(mask).isInteger(1))
    return op->emitOpError("mask: expected i1 elements, found ") << mask;
  if (other && getElementTypeOrSelf(other) != getElementTypeOrSelf(value))
    return op->emitOpError("other: expected elements of ") << value << ", found " << other;
  return success(succeeded(check("value", value)) && succeeded(check("mask", mask)) &&
                 succeeded(check("other", other)));
}

Type typeOrNull(Value value) { return value ? value.getType() : Type(); }

} // namespace

LogicalResult LoadOp::verify() {
  auto desc = cast<DescType>(getDesc().getType());
  size_t rank = desc.getShape().size(), coordinates = getCoordinates().size();
  if (coordinates > rank && coordinates % rank == 0) { // boxes one above the other
    SmallVector<int64_t> box = squeeze(desc.getShape()), shape(getType().getShape());
    int64_t count = coordinates / rank, rows = 1;
    for (int64_t extent : ArrayRef(box).drop_back())
      rows *= extent;
    if (box.size() < 2 || shape.size() != 2 || shape[0] != count * rows || shape[1] != box.back())
      return emitOpError("tile shape: expected ")
             << count * rows << 'x' << box.back() << " (" << count << " boxes of "
             << shapeText(desc.getShape()) << "), found " << shapeText(shape);
    if (getType().getElementType() != desc.getElementType())
      return emitOpError("element type: expected ")
             << desc.getElementType() << " as in the descriptor, found "
             << getType().getElementType();
    return success();
  }
  return verifyBox(*this, cast<DescType>(getDesc().getType()), getResult().getType(),
                   getCoordinates().size());
}

LogicalResult StoreOp::verify() {
  return verifyBox(*this, cast<DescType>(getDesc().getType()), getValue().getType(),
                   getCoordinates().size());
}

LogicalResult StoreReduceOp::verify() {
  Type element = cast<DescType>(getDesc().getType()).getElementType();
  bool integer = element.isInteger(32) || element.isInteger(64);
  bool narrow = element.isF16() || element.isBF16();
  StringRef fitting;
  switch (getKind()) {
  case AtomicKind::Add:
    if (!integer && !narrow && !element.isF32())
      fitting = "f32, f16, bf16, i32 or i64";
    break;
  case AtomicKind::Max:
  case AtomicKind::Min:
    if (!integer && !narrow)
      fitting = "f16, bf16, i32 or i64";
    break;
  case AtomicKind::And:
  case AtomicKind::Or:
  case AtomicKind::Xor:
    if (!integer)
      fitting = "i32 or i64";
    break;
  default:
    return emitOpError("kind: expected add, max, min, and, or or xor, found ")
           << stringifyAtomicKind(getKind());
  }
  if (!fitting.empty())
    return emitOpError("element type of ")
           << stringifyAtomicKind(getKind()) << ": expected " << fitting << ", found " << element;
  return verifyBox(*this, cast<DescType>(getDesc().getType()), getValue().getType(),
                   getCoordinates().size());
}

LogicalResult ReboxOp::verify() {
  auto source = cast<DescType>(getSource().getType()),
       result = cast<DescType>(getResult().getType());
  if (source.getElementType() != result.getElementType() ||
      source.getShape().size() != result.getShape().size())
    return emitOpError("result: expected the rank and element type of ")
           << source << ", found " << result;
  return success();
}

OpFoldResult ReboxOp::fold(FoldAdaptor) {
  if (auto inner = getSource().getDefiningOp<ReboxOp>()) {
    setOperand(inner.getSource());
    return getResult();
  }
  return getSource().getType() == getType() ? OpFoldResult(getSource()) : OpFoldResult();
}

LogicalResult GatherOp::verify() {
  return verifyAccess(*this, getResult().getType(), getOffset().getType(), typeOrNull(getMask()),
                      typeOrNull(getOther()));
}

LogicalResult ScatterOp::verify() {
  return verifyAccess(*this, getValue().getType(), getOffset().getType(), typeOrNull(getMask()),
                      Type());
}

LogicalResult AtomicOp::verify() {
  if (getValue().getType() != getResult().getType())
    return emitOpError("result: expected ")
           << getValue().getType() << ", found " << getResult().getType();
  if (failed(verifyAtomic(*this, stringifyAtomicKind(getKind()), getValue(), getCompare())))
    return failure();
  return verifyAccess(*this, getValue().getType(), getOffset().getType(), typeOrNull(getMask()),
                      Type());
}

LogicalResult DotOp::verify() {
  RankedTensorType a = tensorOf(getA()), b = tensorOf(getB()), result = tensorOf(getResult());
  if (a.getRank() != 2 || b.getRank() != 2 || result.getRank() != 2)
    return emitOpError("operand ranks: expected 2, found a ")
           << a.getRank() << ", b " << b.getRank() << ", result " << result.getRank();
  if (a.getDimSize(1) != b.getDimSize(0))
    return emitOpError("inner extents: expected equal, found a ")
           << shapeText(a.getShape()) << " and b " << shapeText(b.getShape());
  if (result.getDimSize(0) != a.getDimSize(0) || result.getDimSize(1) != b.getDimSize(1))
    return emitOpError("result shape: expected ")
           << a.getDimSize(0) << 'x' << b.getDimSize(1) << ", found " << shapeText(result.getShape());
  if (elementBits(a.getElementType()) != elementBits(b.getElementType()))
    return emitOpError("element types: expected equal widths, found a ")
           << a.getElementType() << " and b " << b.getElementType();
  if (getUseAcc() && !getAcc())
    return emitOpError("use_acc: expected an accumulator operand, found none");
  bool integers = isa<IntegerType>(a.getElementType());
  if (integers ? !result.getElementType().isInteger(32)
               : !isa<Float32Type, Float16Type>(result.getElementType()))
    return emitOpError("result element type: expected ")
           << (integers ? "i32" : "f32 or f16") << ", found " << result.getElementType();
  return success();
}

LogicalResult ToSharedOp::verify() {
  for (Operation *user : getResult().getUsers())
    if (!isa<DotOp, TransOp>(user))
      return emitOpError("uses: expected tile.dot and tile.trans, found '")
             << user->getName() << "'";
  return success();
}

//===--------------------------------------------------------------------------------------===//
// ForEachTileOp
//===--------------------------------------------------------------------------------------===//

ParseResult ForEachTileOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> indices;
  SmallVector<OpAsmParser::UnresolvedOperand> extents;
  Type i32 = parser.getBuilder().getI32Type();
  if (parser.parseArgumentList(indices, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(extents, i32, state.operands))
    return failure();
  for (OpAsmParser::Argument &index : indices)
    index.type = i32;
  return failure(parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
                 parser.parseRegion(*state.addRegion(), indices));
}

void ForEachTileOp::print(OpAsmPrinter &printer) {
  printer << " (";
  printer.printOperands(getBody().front().getArguments());
  printer << ") in (" << getExtents() << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

SmallVector<Region *> ForEachTileOp::getLoopRegions() { return {&getBody()}; }

LogicalResult ForEachTileOp::verify() {
  if (getExtents().empty())
    return emitOpError("extents: expected at least one, found none");
  if (getBody().front().getNumArguments() != getExtents().size())
    return emitOpError("body arguments: expected ")
           << getExtents().size() << " tile coordinates, found "
           << getBody().front().getNumArguments();
  // The inner one would share its tiles over the CTAs again, so that each sees a part of a part.
  if ((*this)->getParentOfType<ForEachTileOp>())
    return emitOpError("place: expected no loop over tiles around it, found one; give one loop all "
                       "extents");
  return success();
}
