//===- NV.cpp - The nv dialect: types and attributes --------------------------------------===//
//
// Parsing, printing and verification of memory descriptors and layouts.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/NV/NV.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tileloom::nv;

#include "dialects/NV/NVDialect.cpp.inc"
#include "dialects/NV/NVEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NV/NVAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/NV/NVTypes.cpp.inc"

void NVDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NV/NVAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/NV/NVTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NV/NVOps.cpp.inc"
      >();
}

//===--------------------------------------------------------------------------------------===//
// MemDescType
//===--------------------------------------------------------------------------------------===//

Type MemDescType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  Attribute layout;
  MemorySpace space = MemorySpace::Smem;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || failed(tile::parseShapedBody(parser, shape, elementType)))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("tmem")))
      space = MemorySpace::Tmem;
    else if (parser.parseAttribute(layout))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, elementType,
                    layout, space);
}

void MemDescType::print(AsmPrinter &printer) const {
  printer << '<';
  tile::printShapedBody(printer, getShape(), getElementType());
  if (getLayout())
    printer << ", " << getLayout();
  if (getSpace() == MemorySpace::Tmem)
    printer << ", tmem";
  printer << '>';
}

LogicalResult MemDescType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> shape, Type elementType, Attribute layout,
                                  MemorySpace space) {
  if (shape.empty())
    return emitError() << "memory tile rank: expected at least 1, found 0";
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return emitError() << "memory tile extents: expected positive values";
  if (!tile::elementBits(elementType))
    return emitError() << "memory tile element type: expected an integer or float, found "
                       << elementType;
  if (space == MemorySpace::Tmem && shape.size() != 2)
    return emitError() << "tensor memory tile rank: expected 2, found " << shape.size();
  return success();
}

int64_t MemDescType::getNumElements() const {
  int64_t count = 1;
  for (int64_t extent : getShape())
    count *= extent;
  return count;
}

int64_t MemDescType::getSizeBytes() const {
  return (getNumElements() * tile::elementBits(getElementType()) + 7) / 8;
}

MemDescType MemDescType::withLayout(Attribute layout) const {
  return get(getContext(), getShape(), getElementType(), layout, getSpace());
}

LogicalResult SmemAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t swizzle,
                               bool transposed, int64_t rows, bool paired) {
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return emitError() << "swizzle width: expected 0, 32, 64 or 128 bytes, found " << swizzle;
  return success();
}
