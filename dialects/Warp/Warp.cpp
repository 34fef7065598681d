//===- Warp.cpp - The warp dialect: types and attributes ----------------------------------===//
//
// Parsing, printing and verification of buffers and launch attributes.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tileloom::warp;

#include "dialects/Warp/WarpDialect.cpp.inc"
#include "dialects/Warp/WarpEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Warp/WarpAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Warp/WarpTypes.cpp.inc"

void WarpDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Warp/WarpAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Warp/WarpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Warp/WarpOps.cpp.inc"
      >();
}

LogicalResult WarpDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != launchAttrName)
    return success();
  if (!isa<FunctionOpInterface>(op) || !isa<LaunchAttr>(attribute.getValue()))
    return op->emitOpError("'warp.launch' expected a #warp.launch attribute on a function");
  return success();
}

Type BufferType::parse(AsmParser &parser) {
  int64_t depth;
  SmallVector<RankedTensorType> views;
  Space space = Space::Smem;
  SMLoc loc = parser.getCurrentLocation();
  auto parseView = [&]() -> ParseResult {
    SmallVector<int64_t> shape;
    Type elementType;
    if (failed(tile::parseShapedBody(parser, shape, elementType)))
      return failure();
    views.push_back(RankedTensorType::get(shape, elementType));
    return success();
  };
  if (parser.parseLess() || parser.parseInteger(depth) || parser.parseKeyword("x") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseView))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("tmem"))
      return {};
    space = Space::Tmem;
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), depth, views,
                    space);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<' << getDepth() << " x [";
  llvm::interleaveComma(getViews(), printer, [&](RankedTensorType view) {
    tile::printShapedBody(printer, view.getShape(), view.getElementType());
  });
  printer << ']';
  if (getSpace() == Space::Tmem)
    printer << ", tmem";
  printer << '>';
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t depth,
                                 ArrayRef<RankedTensorType> views, Space space) {
  if (depth < 1)
    return emitError() << "buffer depth: expected at least 1, found " << depth;
  for (RankedTensorType view : views)
    if (!tile::elementBits(view.getElementType()))
      return emitError() << "buffer view element type: expected an integer or float, found "
                         << view.getElementType();
  return success();
}

LogicalResult LaunchAttr::verify(function_ref<InFlightDiagnostic()> emitError, bool persistent,
                                 int64_t cluster, int64_t perSm) {
  if (cluster < 1 || cluster > 8)
    return emitError()
           << "cluster size: expected 1 to 8 CTAs (16 need a non-portable launch), found "
           << cluster;
  if (perSm < 1)
    return emitError() << "per_sm: expected at least 1 CTA, found " << perSm;
  return success();
}
