//===- Tile.cpp - The tile dialect --------------------------------------------------------===//
//
// Types of the tile dialect: parsing, printing, verification.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/Tile/Kernel.h"
#include "dialects/Tile/ScaledOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tileloom::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/ScaledOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  return typed && typed.getType() == type ? arith::ConstantOp::create(builder, loc, type, typed)
                                          : nullptr;
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == scheduleAttrName &&
      (!isa<FunctionOpInterface>(op) || !isa<ScheduleAttr>(attribute.getValue())))
    return op->emitOpError("'tile.schedule' expected a #tile.schedule attribute on a function");
  if (attribute.getName() != kernelAttrName)
    return success();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError("'tile.kernel' expected on a function, found on '")
           << op->getName() << "'";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError("'tile.kernel' expected a unit attribute, found ")
           << attribute.getValue();
  return verifyKernel(function);
}

LogicalResult tileloom::tile::parseShapedBody(AsmParser &parser, SmallVectorImpl<int64_t> &shape,
                                              Type &elementType) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(elementType));
}

void tileloom::tile::printShapedBody(AsmPrinter &printer, ArrayRef<int64_t> shape,
                                     Type elementType) {
  for (int64_t extent : shape)
    printer << extent << 'x';
  printer << elementType;
}

unsigned tileloom::tile::elementBits(Type elementType) {
  return elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
}

Type DescType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || failed(parseShapedBody(parser, shape, elementType)) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape, elementType);
}

void DescType::print(AsmPrinter &printer) const {
  printer << '<';
  printShapedBody(printer, getShape(), getElementType());
  printer << '>';
}

LogicalResult DescType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType) {
  if (shape.empty() || shape.size() > 5)
    return emitError() << "descriptor rank: expected 1 to 5, found " << shape.size();
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return emitError() << "descriptor box extents: expected positive values";
  if (!llvm::is_contained({4, 6, 8, 16, 32, 64}, elementBits(elementType)))
    return emitError() << "descriptor element type: expected an integer or float of 4, 6, 8, 16, 32 "
                          "or 64 bits, found "
                       << elementType;
  return success();
}
