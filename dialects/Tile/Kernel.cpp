//===- Kernel.cpp - What a kernel is made of ----------------------------------------------===//
//
// `tile.kernel` marks a function with a body. What passes take for granted is verified here: the
// attributes of its arguments, loops whose bounds are signed, tiles of a size that registers can hold.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/Tile/Kernel.h"

#include "dialects/Tile/Verify.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tileloom::tile;

/// As in Triton. A tile of 1024 x 1024 fills the registers of eight processors.
static constexpr int64_t mostElements = int64_t(1) << 20;

static LogicalResult verifyArgument(FunctionOpInterface kernel, unsigned index) {
  auto check = [&](StringRef name, StringRef expected, auto good) -> LogicalResult {
    Attribute value = kernel.getArgAttr(index, name);
    if (!value || good(value))
      return success();
    return kernel->emitOpError("argument ")
           << index << ": '" << name << "' expected " << expected << ", found " << value;
  };
  return success(succeeded(check(pointerAttrName, "a type", llvm::IsaPred<TypeAttr>)) &&
                 succeeded(check(argumentNameAttrName, "a string", llvm::IsaPred<StringAttr>)) &&
                 succeeded(check(divisibilityAttrName, "a positive integer", [](Attribute value) {
                   auto integer = dyn_cast<IntegerAttr>(value);
                   return integer && integer.getValue().isStrictlyPositive();
                 })));
}

static LogicalResult verifyTile(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return success();
  int64_t elements = 1;
  for (int64_t extent : tensor.getShape())
    if (extent > 0 && (elements *= extent) > mostElements)
      return op->emitOpError("tile: expected at most ")
             << mostElements << " elements, found " << shapeText(tensor.getShape());
  return success();
}

LogicalResult tileloom::tile::verifyKernel(FunctionOpInterface kernel) {
  if (kernel.isExternal())
    return kernel->emitOpError("'tile.kernel' expected a function with a body, found a declaration");
  for (unsigned index = 0; index < kernel.getNumArguments(); ++index)
    if (failed(verifyArgument(kernel, index)))
      return failure();
  WalkResult result = kernel->walk([](Operation *op) {
    // Passes that move or take apart loops compare as signed.
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && loop.getUnsignedCmp()) {
      op->emitOpError("in a kernel: expected bounds that are compared as signed, found 'unsigned'");
      return WalkResult::interrupt();
    }
    for (Type type : op->getResultTypes())
      if (failed(verifyTile(op, type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
