//===- MemoryOps.cpp - Verifiers of accesses to global and shared memory ------------------===//
//
// Every message says what was expected and what was found.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/NV/NV.h"
#include "dialects/Tile/Verify.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::nv;
using tile::shapeText;
using tile::squeeze;

/// Offsets, mask and other value of an access to global memory must have the shape of `value`.
static LogicalResult verifyPlaces(Operation *op, Type value, Type offset, Value mask,
                                  Value other = {}) {
  auto shapeOf = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.getShape() : ArrayRef<int64_t>();
  };
  auto describe = [&](Type type) {
    return isa<RankedTensorType>(type) ? shapeText(shapeOf(type)) : std::string("a scalar");
  };
  auto offsetElement = getElementTypeOrSelf(offset);
  if (!offsetElement.isInteger(32) && !offsetElement.isInteger(64))
    return op->emitOpError("offset: expected i32 or i64, found ") << offsetElement;
  if (shapeOf(offset) != shapeOf(value))
    return op->emitOpError("offset shape: expected ")
           << describe(value) << ", found " << describe(offset);
  if (mask && (!getElementTypeOrSelf(mask.getType()).isInteger(1) ||
               shapeOf(mask.getType()) != shapeOf(value)))
    return op->emitOpError("mask: expected ")
           << describe(value) << " of i1, found " << mask.getType();
  if (other && (getElementTypeOrSelf(other.getType()) != getElementTypeOrSelf(value) ||
                shapeOf(other.getType()) != shapeOf(value)))
    return op->emitOpError("other: expected ") << value << ", found " << other.getType();
  return success();
}

LogicalResult GlobalLoadOp::verify() {
  if (getOther() && !getMask())
    return emitOpError("other: expected a mask beside it, found none");
  return verifyPlaces(*this, getResult().getType(), getOffset().getType(), getMask(), getOther());
}

LogicalResult GlobalStoreOp::verify() {
  return verifyPlaces(*this, getValue().getType(), getOffset().getType(), getMask());
}

LogicalResult GlobalReduceOp::verify() {
  Type element = getElementTypeOrSelf(getValue().getType());
  bool integer = element.isInteger(32) || element.isInteger(64);
  bool real = element.isF32() || element.isF16() || element.isBF16();
  if (getKind() == ReduceKind::Mul)
    return emitOpError("kind: expected add, max or min, found mul");
  if (!integer && !(real && getKind() == ReduceKind::Add))
    return emitOpError("element type: expected ")
           << (getKind() == ReduceKind::Add ? "f32, f16, bf16, i32 or i64" : "i32 or i64")
           << ", found " << element;
  return verifyPlaces(*this, getValue().getType(), getOffset().getType(), getMask());
}

LogicalResult GlobalAtomicOp::verify() {
  if (failed(tile::verifyAtomic(*this, stringifyAtomicKind(getKind()), getValue(), getCompare())))
    return failure();
  return verifyPlaces(*this, getValue().getType(), getOffset().getType(), getMask());
}

LogicalResult CpAsyncOp::verify() {
  auto view = getView().getType();
  if (squeeze(getOffset().getType().getShape()) != squeeze(view.getShape()))
    return emitOpError("shapes: expected equal, found ")
           << shapeText(getOffset().getType().getShape()) << " and " << shapeText(view.getShape());
  if (view.getSpace() != MemorySpace::Smem)
    return emitOpError("view space: expected shared memory, found tensor memory");
  return verifyPlaces(
      *this, RankedTensorType::get(getOffset().getType().getShape(), view.getElementType()),
      getOffset().getType(), getMask());
}

static LogicalResult verifyLocal(Operation *op, RankedTensorType value, MemDescType view) {
  if (value.getElementType() != view.getElementType())
    return op->emitOpError("element types: expected equal, found ")
           << value.getElementType() << " and " << view.getElementType();
  if (auto shared = dyn_cast_or_null<SmemAttr>(view.getLayout()); shared && shared.getPaired())
    return op->emitOpError("layout: expected elements in their order, found a paired tile, which only products read");
  if (squeeze(value.getShape()) != squeeze(view.getShape()))
    return op->emitOpError("shapes: expected equal, found ")
           << shapeText(value.getShape()) << " and " << shapeText(view.getShape());
  return success();
}

LogicalResult LocalStoreOp::verify() {
  return verifyLocal(*this, cast<RankedTensorType>(getValue().getType()), getView().getType());
}

LogicalResult LocalLoadOp::verify() {
  return verifyLocal(*this, cast<RankedTensorType>(getResult().getType()), getView().getType());
}

LogicalResult LocalTransposeOp::verify() {
  MemDescType source = getSource().getType(), target = getTarget().getType();
  if (source.getElementType() != target.getElementType() || !source.getElementType().isIntOrFloat() ||
      source.getElementType().getIntOrFloatBitWidth() != 8)
    return emitOpError("element types: expected equal ones of 8 bits, found ")
           << source.getElementType() << " and " << target.getElementType();
  SmallVector<int64_t> from = squeeze(source.getShape()), to = squeeze(target.getShape());
  if (from.size() != 2 || from[0] % 32 || from[1] % 16)
    return emitOpError("source: expected a multiple of 32 rows and of 16 columns, found ")
           << shapeText(source.getShape());
  if (to != SmallVector<int64_t>(llvm::reverse(from)))
    return emitOpError("target: expected the shape of the source, reversed, found ")
           << shapeText(target.getShape()) << " for " << shapeText(source.getShape());
  return success();
}

/// Partial sums travel as words of 32 bits.
static LogicalResult verifyPartial(Operation *op, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF32() || element.isInteger(32))
    return success();
  return op->emitOpError("element type: expected f32 or i32, found ") << element;
}

LogicalResult StorePartialOp::verify() { return verifyPartial(*this, getValue().getType()); }

LogicalResult SumPartialsOp::verify() { return verifyPartial(*this, getResult().getType()); }
