//===- ShapeOps.cpp - Verifiers and folders of what rearranges or combines elements -------===//

#include "dialects/Tile/Verify.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tileloom::tile;

static RankedTensorType tensorOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

SmallVector<int64_t> TransOp::permutation() {
  if (std::optional<ArrayRef<int64_t>> order = getOrder())
    return SmallVector<int64_t>(*order);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, tensorOf(getSource()).getRank()));
  if (order.size() >= 2)
    std::swap(order[order.size() - 2], order.back());
  return order;
}

LogicalResult TransOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (source.getRank() < 2)
    return emitOpError("source rank: expected 2 or more, found ") << source.getRank();
  SmallVector<int64_t> order = permutation(), expected;
  if (!isPermutationVector(order) || static_cast<int64_t>(order.size()) != source.getRank())
    return emitOpError("order: expected a permutation of 0 to ")
           << source.getRank() - 1 << ", found [" << order << "]";
  if (llvm::is_sorted(order))
    return emitOpError("order: expected another one than that of the source, found [") << order << "]";
  for (int64_t dim : order)
    expected.push_back(source.getDimSize(dim));
  if (result != RankedTensorType::get(expected, source.getElementType()))
    return emitOpError("result: expected ")
           << RankedTensorType::get(expected, source.getElementType()) << ", found " << result;
  return success();
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getSource()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  auto inner = getSource().getDefiningOp<TransOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> first = inner.permutation(), order;
  for (int64_t dim : permutation())
    order.push_back(first[dim]);
  if (llvm::is_sorted(order))
    return inner.getSource();
  getSourceMutable().assign(inner.getSource());
  setOrderAttr(DenseI64ArrayAttr::get(getContext(), order));
  return getResult();
}

LogicalResult TakeOp::verify() {
  RankedTensorType source = tensorOf(getSource()), indices = tensorOf(getIndices());
  int64_t rank = source.getRank(), dim = getDim();
  if (dim < 0 || dim >= rank)
    return emitOpError("dim: expected 0 to ") << rank - 1 << ", found " << dim;
  if (!indices.getElementType().isInteger(32))
    return emitOpError("indices: expected i32 elements, found ") << indices;
  SmallVector<int64_t> expected(source.getShape());
  if (indices.getRank() == rank)
    expected[dim] = indices.getDimSize(dim);
  if (indices.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("indices: expected the extents of ")
           << shapeText(source.getShape()) << " but along dimension " << dim << ", found " << shapeText(indices.getShape());
  auto wanted = RankedTensorType::get(expected, source.getElementType());
  if (getType() != wanted)
    return emitOpError("result: expected ") << wanted << ", found " << getType();
  return success();
}

LogicalResult HistogramOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (!source.getElementType().isInteger(32))
    return emitOpError("source: expected i32 elements, found ") << source;
  if (result.getRank() != 1 || !result.getElementType().isInteger(32))
    return emitOpError("result: expected one dimension of i32, found ") << result;
  return success();
}

LogicalResult ReduceOp::verify() {
  RankedTensorType source = tensorOf(getSource());
  if (static_cast<int64_t>(getDim()) < 0 || static_cast<int64_t>(getDim()) >= source.getRank())
    return emitOpError("dim: expected 0 to ") << source.getRank() - 1 << ", found " << getDim();
  SmallVector<int64_t> shape(source.getShape());
  shape.erase(shape.begin() + getDim());
  Type expected = shape.empty() ? source.getElementType()
                                : RankedTensorType::get(shape, source.getElementType());
  if (getResult().getType() != expected)
    return emitOpError("result: expected ") << expected << ", found " << getResult().getType();
  return success();
}

LogicalResult ScanOp::verify() {
  if (static_cast<int64_t>(getDim()) < 0 ||
      static_cast<int64_t>(getDim()) >= tensorOf(getSource()).getRank())
    return emitOpError("dim: expected 0 to ")
           << tensorOf(getSource()).getRank() - 1 << ", found " << getDim();
  return success();
}

LogicalResult ExpandDimsOp::verify() {
  RankedTensorType source = tensorOf(getSource());
  if (static_cast<int64_t>(getDim()) < 0 || static_cast<int64_t>(getDim()) > source.getRank())
    return emitOpError("dim: expected 0 to ") << source.getRank() << ", found " << getDim();
  SmallVector<int64_t> shape(source.getShape());
  shape.insert(shape.begin() + getDim(), 1);
  auto expected = RankedTensorType::get(shape, source.getElementType());
  if (getResult().getType() != expected)
    return emitOpError("result: expected ") << expected << ", found " << getResult().getType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (source.getRank() != result.getRank() || source.getElementType() != result.getElementType())
    return emitOpError("result: expected the rank and element type of ")
           << source << ", found " << result;
  for (auto [from, to] : llvm::zip(source.getShape(), result.getShape()))
    if (from != to && from != 1)
      return emitOpError("result extents: expected those of ")
             << shapeText(source.getShape()) << " where they are not 1, found "
             << shapeText(result.getShape());
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getSource()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (source.getNumElements() != result.getNumElements() ||
      source.getElementType() != result.getElementType())
    return emitOpError("result: expected ") << source.getNumElements() << " elements of "
                                            << source.getElementType() << ", found " << result;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getSource().getType() == getType() ? OpFoldResult(getSource()) : OpFoldResult();
}

LogicalResult SplatOp::verify() {
  Type element = tensorOf(getResult()).getElementType();
  if (getValue().getType() != element)
    return emitOpError("value: expected ") << element << ", found " << getValue().getType();
  return success();
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  if (Attribute value = adaptor.getValue())
    if (isa<IntegerAttr, FloatAttr>(value))
      return DenseElementsAttr::get(cast<ShapedType>(getType()), value);
  return {};
}

LogicalResult IotaOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  if (result.getRank() != 1 || !result.getElementType().isInteger(32))
    return emitOpError("result: expected one dimension of i32, found ") << result;
  return success();
}
