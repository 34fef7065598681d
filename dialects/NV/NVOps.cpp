//===- NVOps.cpp - The nv dialect: operation verifiers and folders ------------------------===//
//
// Every message says what was expected and what was found.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/NV/NV.h"
#include "dialects/Tile/Verify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tileloom::nv;
using tileloom::tile::DescType;
using tileloom::tile::elementBits;
using tileloom::tile::shapeText;
using tileloom::tile::squeeze;

#define GET_OP_CLASSES
#include "dialects/NV/NVOps.cpp.inc"

namespace {

/// A descriptor's box and the view it is copied to or from must hold the same elements.
LogicalResult verifyBox(Operation *op, Type descType, MemDescType view, size_t coordinates) {
  auto desc = dyn_cast<DescType>(descType);
  if (!desc)
    return success(); // lowered to a pointer to the tensor map
  if (desc.getShape().size() != coordinates)
    return op->emitOpError("coordinates: expected ")
           << desc.getShape().size() << " for " << desc << ", found " << coordinates;
  if (desc.getElementType() != view.getElementType())
    return op->emitOpError("view element type: expected ")
           << desc.getElementType() << ", found " << view.getElementType();
  if (squeeze(desc.getShape()) != squeeze(view.getShape()) &&
      !tileloom::tile::mergesRows(squeeze(desc.getShape()), squeeze(view.getShape())))
    return op->emitOpError("view shape: expected ")
           << shapeText(squeeze(desc.getShape())) << " (the box of " << desc << "), found "
           << shapeText(view.getShape());
  if (view.getSpace() != MemorySpace::Smem)
    return op->emitOpError("view space: expected shared memory, found ")
           << stringifyMemorySpace(view.getSpace());
  return success();
}

} // namespace

LogicalResult MemDescSliceOp::verify() {
  MemDescType source = getSource().getType(), result = getResult().getType();
  size_t rank = source.getShape().size();
  if (getOffsets().size() != rank)
    return emitOpError("offsets: expected ") << rank << ", found " << getOffsets().size();
  if (result.getShape().size() != rank)
    return emitOpError("result rank: expected ") << rank << ", found " << result.getShape().size();
  if (source.getElementType() != result.getElementType())
    return emitOpError("result element type: expected ")
           << source.getElementType() << ", found " << result.getElementType();
  for (auto [whole, part] : llvm::zip(source.getShape(), result.getShape()))
    if (part > whole)
      return emitOpError("result extents: expected at most ")
             << shapeText(source.getShape()) << ", found " << shapeText(result.getShape());
  return success();
}

LogicalResult MemDescTransOp::verify() {
  MemDescType source = getSource().getType(), result = getResult().getType();
  if (source.getShape().size() != 2)
    return emitOpError("source rank: expected 2, found ") << source.getShape().size();
  SmallVector<int64_t> expected(llvm::reverse(source.getShape()));
  if (result.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("result shape: expected ")
           << shapeText(expected) << ", found " << shapeText(result.getShape());
  if (source.getElementType() != result.getElementType())
    return emitOpError("result element type: expected ")
           << source.getElementType() << ", found " << result.getElementType();
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return verifyBox(*this, getDesc().getType(), getView().getType(), getCoordinates().size());
}

LogicalResult TmaStoreOp::verify() {
  if (auto kind = getReduce(); kind && (*kind == AtomicKind::Umax || *kind == AtomicKind::Umin ||
                                        *kind == AtomicKind::Xchg || *kind == AtomicKind::Cas))
    return emitOpError("reduce: expected add, max, min, and, or or xor, found ")
           << stringifyAtomicKind(*kind);
  return verifyBox(*this, getDesc().getType(), getView().getType(), getCoordinates().size());
}

LogicalResult WgmmaOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  auto aShaped = dyn_cast<RankedTensorType>(getA().getType());
  auto aMem = dyn_cast<MemDescType>(getA().getType());
  ArrayRef<int64_t> a = aShaped ? aShaped.getShape() : aMem.getShape();
  Type aElement = aShaped ? aShaped.getElementType() : aMem.getElementType();
  ArrayRef<int64_t> b = getB().getType().getShape();
  if (a.size() != 2 || b.size() != 2 || result.getRank() != 2)
    return emitOpError("operand ranks: expected 2, found a ")
           << a.size() << ", b " << b.size() << ", result " << result.getRank();
  if (a[1] != b[0])
    return emitOpError("inner extents: expected equal, found a ")
           << shapeText(a) << " and b " << shapeText(b);
  if (result.getDimSize(0) != a[0] || result.getDimSize(1) != b[1])
    return emitOpError("result shape: expected ")
           << a[0] << 'x' << b[1] << ", found " << shapeText(result.getShape());
  if (a[0] % 64)
    return emitOpError("rows: expected a multiple of 64, found ") << a[0];
  if (b[1] % 8)
    return emitOpError("columns: expected a multiple of 8, found ") << b[1];
  unsigned bits = elementBits(aElement);
  if (bits != elementBits(getB().getType().getElementType()))
    return emitOpError("element types: expected equal widths, found a ")
           << aElement << " and b " << getB().getType().getElementType();
  int64_t k = 256 / bits;
  if (a[1] % k)
    return emitOpError("inner extent: expected a multiple of ")
           << k << " for " << aElement << " (32 bytes a step), found " << a[1];
  if (getUseC() && !getC())
    return emitOpError("use_c: expected an accumulator operand, found none");
  // PTX ISA 9.7.15.2: types of wgmma.mma_async.
  Type sum = result.getElementType();
  bool integers = aElement.isInteger(8),
       halves = aElement.isF16() || isa<Float8E4M3FNType, Float8E5M2Type>(aElement);
  if (integers ? !sum.isInteger(32) : !sum.isF32() && !(sum.isF16() && halves))
    return emitOpError("accumulator type: expected ")
           << (integers ? "i32" : halves ? "f32 or f16" : "f32") << " for " << aElement
           << " operands, found " << sum;
  if (integers != getB().getType().getElementType().isInteger(8))
    return emitOpError("element types: expected both floats or both integers, found a ")
           << aElement << " and b " << getB().getType().getElementType();
  if (integers && b[1] > 24 && b[1] % 16)
    return emitOpError("columns: expected 8, 16, 24 or a multiple of 16 for integers, found ") << b[1];
  if (getSatfinite() && !integers)
    return emitOpError("satfinite: expected operands of 8-bit integers, found ") << aElement;
  return success();
}

LogicalResult ExtractOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  if (static_cast<int64_t>(getOffsets().size()) != source.getRank() ||
      result.getRank() != source.getRank())
    return emitOpError("ranks: expected offsets and result of rank ")
           << source.getRank() << ", found " << getOffsets().size() << " and " << result.getRank();
  for (auto [offset, part, whole] : llvm::zip(getOffsets(), result.getShape(), source.getShape()))
    if (offset < 0 || offset + part > whole)
      return emitOpError("result range: expected within ")
             << shapeText(source.getShape()) << ", found offset " << offset << " extent " << part;
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("inputs: expected at least one, found none");
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  if (getDim() >= static_cast<uint64_t>(first.getRank()))
    return emitOpError("dim: expected 0 to ") << first.getRank() - 1 << ", found " << getDim();
  SmallVector<int64_t> expected(first.getShape());
  expected[getDim()] = 0;
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape(type.getShape()), others(first.getShape());
    if (type.getRank() == first.getRank())
      expected[getDim()] += shape[getDim()], shape[getDim()] = others[getDim()];
    if (shape != others || type.getElementType() != first.getElementType())
      return emitOpError("inputs: expected types equal but for dimension ")
             << getDim() << ", found " << first << " and " << type;
  }
  if (getResult().getType().getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("result shape: expected ")
           << shapeText(expected) << ", found " << shapeText(getResult().getType().getShape());
  return success();
}

LogicalResult RowSlotOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  if (getCount() < 2 || source.getDimSize(0) % getCount())
    return emitOpError("count: expected a divisor of the ")
           << source.getDimSize(0) << " rows above 1, found " << getCount();
  if (getSlot() >= getCount())
    return emitOpError("slot: expected 0 to ") << getCount() - 1 << ", found " << getSlot();
  SmallVector<int64_t> expected(source.getShape());
  expected[0] /= getCount();
  if (result.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("result shape: expected ")
           << shapeText(expected) << ", found " << shapeText(result.getShape());
  return success();
}

LogicalResult JoinRowSlotsOp::verify() {
  if (getInputs().size() < 2)
    return emitOpError("inputs: expected at least 2, found ") << getInputs().size();
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getShape() != first.getShape() || type.getElementType() != first.getElementType())
      return emitOpError("inputs: expected one shape and element type, found ")
             << first << " and " << type;
  }
  SmallVector<int64_t> expected(cast<RankedTensorType>(getInputs().front().getType()).getShape());
  expected[0] *= getInputs().size();
  if (getResult().getType().getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("result shape: expected ")
           << shapeText(expected) << ", found " << shapeText(getResult().getType().getShape());
  return success();
}

LogicalResult ReduceOp::verify() {
  auto source = getSource().getType();
  if (getDim() >= static_cast<uint64_t>(source.getRank()))
    return emitOpError("dim: expected 0 to ") << source.getRank() - 1 << ", found " << getDim();
  if (source.getRank() == 1) {
    if (getResult().getType() != source.getElementType())
      return emitOpError("result: expected a scalar ")
             << source.getElementType() << " (of a tile of rank 1), found "
             << getResult().getType();
    return success();
  }
  SmallVector<int64_t> expected(source.getShape());
  expected.erase(expected.begin() + getDim());
  auto result = dyn_cast<RankedTensorType>(getResult().getType());
  if (!result || result.getElementType() != source.getElementType())
    return emitOpError("result: expected a tensor of ")
           << source.getElementType() << ", found " << getResult().getType();
  if (result.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("result shape: expected ")
           << shapeText(expected) << ", found " << shapeText(result.getShape());
  return success();
}

LogicalResult ScanOp::verify() {
  if (getDim() >= static_cast<uint64_t>(getSource().getType().getRank()))
    return emitOpError("dim: expected 0 to ")
           << getSource().getType().getRank() - 1 << ", found " << getDim();
  return success();
}

LogicalResult TransOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  int64_t rank = source.getRank();
  SmallVector<bool> seen(rank, false);
  SmallVector<int64_t> expected;
  for (int64_t dim : getOrder()) {
    if (dim < 0 || dim >= rank || seen[dim])
      return emitOpError("order: expected a permutation of 0 to ") << rank - 1;
    seen[dim] = true;
    expected.push_back(source.getDimSize(dim));
  }
  if (static_cast<int64_t>(expected.size()) != rank)
    return emitOpError("order: expected ") << rank << " dimensions, found " << expected.size();
  if (result.getShape() != ArrayRef<int64_t>(expected) ||
      result.getElementType() != source.getElementType())
    return emitOpError("result: expected ")
           << shapeText(expected) << " of " << source.getElementType() << ", found " << result;
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  if (source.getNumElements() != result.getNumElements() ||
      result.getElementType() != source.getElementType())
    return emitOpError("result: expected ") << source.getNumElements() << " elements of "
                                            << source.getElementType() << ", found " << result;
  return success();
}

LogicalResult TakeOp::verify() {
  auto source = getSource().getType(), indices = getIndices().getType(), result = getResult().getType();
  if (getDim() >= static_cast<uint64_t>(source.getRank()))
    return emitOpError("dim: expected 0 to ") << source.getRank() - 1 << ", found " << getDim();
  if (!indices.getElementType().isInteger(32))
    return emitOpError("indices: expected i32 elements, found ") << indices;
  SmallVector<int64_t> expected(source.getShape());
  if (indices.getRank() == source.getRank())
    expected[getDim()] = indices.getDimSize(getDim());
  if (indices.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("indices: expected the extents of ")
           << shapeText(source.getShape()) << " but along dimension " << getDim() << ", found " << shapeText(indices.getShape());
  if (result.getShape() != indices.getShape() || result.getElementType() != source.getElementType())
    return emitOpError("result: expected ")
           << shapeText(expected) << " of " << source.getElementType() << ", found " << result;
  return success();
}

LogicalResult HistogramOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  if (!source.getElementType().isInteger(32))
    return emitOpError("source: expected i32 elements, found ") << source;
  if (result.getRank() != 1 || !result.getElementType().isInteger(32))
    return emitOpError("result: expected one dimension of i32, found ") << result;
  return success();
}

LogicalResult MmaOp::verify() {
  auto a = getA().getType(), b = getB().getType(), c = getC().getType();
  if (a.getRank() != 2 || b.getRank() != 2 || c.getRank() != 2)
    return emitOpError("operand ranks: expected 2, found a ")
           << a.getRank() << ", b " << b.getRank() << ", c " << c.getRank();
  if (a.getDimSize(1) != b.getDimSize(0) || c.getDimSize(0) != a.getDimSize(0) ||
      c.getDimSize(1) != b.getDimSize(1))
    return emitOpError("shapes: expected MxK, KxN and MxN, found ")
           << shapeText(a.getShape()) << ", " << shapeText(b.getShape()) << " and "
           << shapeText(c.getShape());
  unsigned bits = elementBits(a.getElementType());
  if (bits != elementBits(b.getElementType()) || (bits != 8 && bits != 16 && bits != 32))
    return emitOpError("element types: expected equal widths of 8, 16 or 32 bits, found a ")
           << a.getElementType() << " and b " << b.getElementType();
  int64_t k = 256 / bits;
  if (a.getDimSize(0) % 16 || c.getDimSize(1) % 8 || a.getDimSize(1) % k)
    return emitOpError("shapes: expected M a multiple of 16, N of 8 and K of ")
           << k << ", found " << shapeText(a.getShape()) << " and " << shapeText(b.getShape());
  bool integers = isa<IntegerType>(a.getElementType());
  bool halves = c.getElementType().isF16() && a.getElementType().isF16();
  if (integers ? !c.getElementType().isInteger(32) : !c.getElementType().isF32() && !halves)
    return emitOpError("accumulator type: expected ")
           << (integers                       ? "i32"
               : a.getElementType().isF16() ? "f32 or f16"
                                            : "f32")
           << ", found " << c.getElementType();
  return success();
}

LogicalResult FoldOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  if (source.getRank() != 2 || result.getRank() != 2)
    return emitOpError("ranks: expected 2, found ")
           << source.getRank() << " and " << result.getRank();
  if (source.getDimSize(0) != result.getDimSize(0) || source.getDimSize(1) % result.getDimSize(1))
    return emitOpError("result shape: expected ")
           << source.getDimSize(0) << " rows and a divisor of " << source.getDimSize(1)
           << " columns, found " << shapeText(result.getShape());
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto result = getResult().getType();
  if (getDim() >= static_cast<uint64_t>(result.getRank()))
    return emitOpError("dim: expected 0 to ") << result.getRank() - 1 << ", found " << getDim();
  SmallVector<int64_t> expected(result.getShape());
  expected.erase(expected.begin() + getDim());
  if (getSource().getType().getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("source shape: expected ")
           << shapeText(expected) << ", found " << shapeText(getSource().getType().getShape());
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  return getSource().getType() == getResult().getType() ? getSource() : Value();
}
