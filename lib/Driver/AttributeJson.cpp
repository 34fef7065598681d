//===- AttributeJson.cpp - Attributes as JSON; the launch recipe ---------------------------===//
//
// Passes write recipes and reports as attributes (or as a string of JSON) because they then print,
// parse and survive every later pass. Keys come out in alphabetical order, as MLIR keeps them.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Driver/Report.h"

#include "dialects/NV/NVNames.h"
#include "dialects/Tile/TileNames.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
namespace json = llvm::json;

template <typename Range> static json::Value arrayOf(const Range &values) {
  json::Array array;
  for (auto value : values)
    array.push_back(json::Value(value));
  return array;
}

static json::Value integerToJson(IntegerAttr attr) {
  if (attr.getType().isInteger(1))
    return attr.getValue().getBoolValue();
  const llvm::APInt &value = attr.getValue();
  if (attr.getType().isUnsignedInteger() && value.getActiveBits() <= 64)
    return value.getZExtValue();
  if (value.getSignificantBits() <= 64)
    return value.getSExtValue();
  return llvm::toString(value, 10, /*Signed=*/true); // JSON readers lose such numbers
}

json::Value tileloom::attributeToJson(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, json::Value>(attribute)
      .Case([](DictionaryAttr attr) {
        json::Object object;
        for (NamedAttribute entry : attr)
          object[json::fixUTF8(entry.getName().getValue())] = attributeToJson(entry.getValue());
        return json::Value(std::move(object));
      })
      .Case([](ArrayAttr attr) {
        json::Array array;
        for (Attribute element : attr)
          array.push_back(attributeToJson(element));
        return json::Value(std::move(array));
      })
      .Case([](IntegerAttr attr) { return integerToJson(attr); }) // BoolAttr too
      .Case([](FloatAttr attr) { return json::Value(attr.getValueAsDouble()); })
      .Case([](StringAttr attr) { return json::Value(json::fixUTF8(attr.getValue())); })
      .Case([](SymbolRefAttr attr) {
        return json::Value(json::fixUTF8(attr.getLeafReference().getValue()));
      })
      .Case([](DenseI64ArrayAttr attr) { return arrayOf(attr.asArrayRef()); })
      .Case([](DenseI32ArrayAttr attr) { return arrayOf(attr.asArrayRef()); })
      .Case([](DenseBoolArrayAttr attr) { return arrayOf(attr.asArrayRef()); })
      .Case([](UnitAttr) { return json::Value(true); })
      .Default([](Attribute attr) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        attr.print(stream);
        return json::Value(json::fixUTF8(text));
      });
}

/// The recipe that `attribute` holds; failure with a diagnostic on `owner` if a string is not JSON.
static FailureOr<json::Value> recipeOf(Operation *owner, Attribute attribute) {
  auto text = dyn_cast<StringAttr>(attribute);
  if (!text)
    return tileloom::attributeToJson(attribute);
  llvm::Expected<json::Value> parsed = json::parse(text.getValue());
  if (parsed)
    return std::move(*parsed);
  owner->emitError() << "'" << tileloom::nv::recipeAttrName
                     << "' is not JSON: " << llvm::toString(parsed.takeError());
  return failure();
}

std::vector<FunctionOpInterface> tileloom::findKernels(ModuleOp module) {
  std::vector<FunctionOpInterface> kernels;
  module.walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
    if (function->hasAttr("nvvm.kernel") || function->hasAttr(tile::kernelAttrName))
      kernels.push_back(function);
    return WalkResult::skip();
  });
  return kernels;
}

FailureOr<std::string> tileloom::recipeJson(ModuleOp module) {
  json::Array recipes;
  auto add = [&](Operation *owner) -> LogicalResult {
    Attribute attribute = owner->getAttr(nv::recipeAttrName);
    if (!attribute)
      return success();
    FailureOr<json::Value> recipe = recipeOf(owner, attribute);
    if (succeeded(recipe))
      recipes.push_back(std::move(*recipe));
    return recipe;
  };
  if (failed(add(module)))
    return failure();
  for (FunctionOpInterface kernel : findKernels(module))
    if (failed(add(kernel)))
      return failure();
  if (recipes.empty())
    return module.emitError("no launch recipe: neither the module nor a kernel in it has '")
           << nv::recipeAttrName << "'";
  json::Value value = recipes.size() == 1 ? std::move(recipes[0]) : json::Value(std::move(recipes));
  return llvm::formatv("{0:2}\n", value).str();
}
