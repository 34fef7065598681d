//===- Verify.cpp - What verifiers of several dialects share ------------------------------===//

#include "dialects/Tile/Verify.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tileloom::tile {

SmallVector<int64_t> squeeze(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result;
  for (int64_t extent : shape)
    if (extent != 1)
      result.push_back(extent);
  if (result.empty())
    result.push_back(1);
  return result;
}

bool mergesRows(ArrayRef<int64_t> box, ArrayRef<int64_t> shape) {
  if (box.back() != shape.back())
    return false;
  size_t next = 0, last = box.size() - 1;
  for (int64_t extent : shape.drop_back()) {
    int64_t rows = 1;
    while (next < last && rows < extent)
      rows *= box[next++];
    if (rows != extent)
      return false;
  }
  return next == last;
}

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  llvm::interleave(shape, stream, "x");
  return result;
}

LogicalResult verifyAtomic(Operation *op, StringRef kind, Value value, Value compare) {
  bool cas = kind == "cas";
  if (cas != static_cast<bool>(compare))
    return op->emitOpError("compare: expected ")
           << (cas ? "an operand" : "none") << " with " << kind << ", found "
           << (cas ? "none" : "one");
  if (cas && compare.getType() != value.getType())
    return op->emitOpError("compare: expected ")
           << value.getType() << ", found " << compare.getType();
  Type element = getElementTypeOrSelf(value.getType());
  bool fits = element.isInteger(32) || element.isInteger(64);
  StringRef fitting = "i32 or i64";
  if (kind == "add") {
    fits |= isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element);
    fitting = "f64, f32, f16, bf16, i32 or i64";
  } else if (cas || kind == "xchg") {
    unsigned bits = elementBits(element);
    fits = bits == 32 || bits == 64;
    fitting = "32 or 64 bits";
  }
  if (!fits)
    return op->emitOpError("element type of ")
           << kind << ": expected " << fitting << ", found " << element;
  return success();
}

} // namespace tileloom::tile
