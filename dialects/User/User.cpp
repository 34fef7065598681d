//===- User.cpp - The user dialect: verifiers, effects ------------------------------------===//
//
// Every message says what was expected and what was found.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/User/User.h"

#include "dialects/Tile/Tile.h"
#include "dialects/Tile/Verify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::user;
using tile::shapeText;

#include "dialects/User/UserDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/User/UserOps.cpp.inc"

void UserDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/User/UserOps.cpp.inc"
      >();
}

LogicalResult PrintOp::verify() {
  size_t conversions = 0;
  StringRef format = getFormat();
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%')
      continue;
    if (i + 1 < format.size() && format[i + 1] == '%')
      ++i;
    else
      ++conversions;
  }
  if (conversions != getValues().size())
    return emitOpError("format: expected ") << getValues().size() << " conversions, found " << conversions;
  RankedTensorType first;
  for (Type type : getValues().getTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (!element.isInteger(32) && !element.isInteger(64) && !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element))
      return emitOpError("element type: expected i32, i64, f16, bf16, f32 or f64, found ") << element;
    auto tile = dyn_cast<RankedTensorType>(type);
    if (tile && first && tile.getShape() != first.getShape())
      return emitOpError("shapes: expected ") << shapeText(first.getShape()) << ", found " << shapeText(tile.getShape());
    if (tile && !first)
      first = tile;
  }
  return success();
}

LogicalResult AssertOp::verify() {
  Type element = getElementTypeOrSelf(getCondition().getType());
  if (!element.isInteger(1))
    return emitOpError("condition: expected i1, found ") << element;
  return success();
}

//===--------------------------------------------------------------------------------------===//
// user.asm
//===--------------------------------------------------------------------------------------===//

void AsmOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

Speculation::Speculatability AsmOp::getSpeculatability() {
  return getPure() ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

int64_t AsmOp::perRegister(Type type) {
  int64_t bits = tile::elementBits(getElementTypeOrSelf(type));
  return bits < 32 ? std::min<int64_t>(getPack(), 32 / bits) : 1;
}

/// Bits of a register; 0 for what is none.
static int64_t bitsOf(char letter) {
  switch (letter) {
  case 'h':
    return 16;
  case 'r':
  case 'f':
    return 32;
  case 'l':
  case 'd':
    return 64;
  default:
    return 0;
  }
}

std::string AsmOp::registers(SmallVectorImpl<Register> &outputs, SmallVectorImpl<Register> &inputs, SmallVectorImpl<StringRef> &clobbers) {
  SmallVector<StringRef> parts;
  if (!getConstraints().trim().empty())
    getConstraints().split(parts, ',');
  auto numbered = [&](TypeRange types) {
    SmallVector<unsigned> operands;
    for (auto [index, type] : llvm::enumerate(types))
      operands.append((getPack() + perRegister(type) - 1) / perRegister(type), index);
    return operands;
  };
  SmallVector<unsigned> ofResults = numbered(getResultTypes()), ofInputs = numbered(getInputs().getTypes());
  auto check = [&](char letter, Type type, StringRef part) -> std::string {
    Type element = getElementTypeOrSelf(type);
    int64_t wanted = tile::elementBits(element) * perRegister(type), own = bitsOf(letter);
    if (!own)
      return ("expected h, r, l, f or d, found '" + part + "'").str();
    bool exact = letter == 'f' || letter == 'd';
    if (exact ? own != wanted : own < wanted)
      return ("expected a register of " + Twine(wanted) + " bits" + (exact ? "" : " or more") + ", found '" + part + "' of " + Twine(own)).str();
    return "";
  };
  for (StringRef part : parts) {
    StringRef whole = part = part.trim();
    if (part.starts_with("~{") && part.ends_with("}")) {
      clobbers.push_back(part);
      continue;
    }
    bool output = part.consume_front("=");
    if (output)
      part.consume_front("&");
    SmallVectorImpl<Register> &list = output ? outputs : inputs;
    ArrayRef<unsigned> operands = output ? ofResults : ofInputs;
    if (output && !inputs.empty())
      return "expected results before inputs, found '" + whole.str() + "' behind an input";
    if (list.size() >= operands.size())
      return "expected " + std::to_string(ofResults.size()) + " of results and " + std::to_string(ofInputs.size()) + " of inputs, found more of " +
             (output ? "results" : "inputs");
    unsigned operand = operands[list.size()];
    char letter = part.size() == 1 ? part.front() : 0;
    unsigned tied;
    if (!output && !part.getAsInteger(10, tied)) {
      if (tied >= outputs.size())
        return "expected the number of a result, found '" + part.str() + "'";
      letter = outputs[tied].letter;
    }
    std::string wrong = check(letter, output ? getResultTypes()[operand] : getInputs()[operand].getType(), whole);
    if (!wrong.empty())
      return wrong;
    list.push_back({whole, letter, operand});
  }
  if (outputs.size() != ofResults.size() || inputs.size() != ofInputs.size())
    return "expected " + std::to_string(ofResults.size()) + " of results and " + std::to_string(ofInputs.size()) + " of inputs, found " +
           std::to_string(outputs.size()) + " and " + std::to_string(inputs.size());
  return "";
}

LogicalResult AsmOp::verify() {
  if (getResults().empty())
    return emitOpError("results: expected at least one, found none");
  SmallVector<Type> types(getResultTypes());
  llvm::append_range(types, getInputs().getTypes());
  for (Type type : types) {
    int64_t bits = tile::elementBits(getElementTypeOrSelf(type));
    if (!llvm::is_contained({8, 16, 32, 64}, bits))
      return emitOpError("element type: expected one of 8, 16, 32 or 64 bits, found ") << getElementTypeOrSelf(type);
    if (isa<RankedTensorType>(type) != isa<RankedTensorType>(types.front()))
      return emitOpError("types: expected tiles only, or scalars only, found ") << types.front() << " and " << type;
    if (getPack() % perRegister(type))
      return emitOpError("pack: expected a multiple of ") << perRegister(type) << ", the elements of " << bits << " bits in a register, found " << getPack();
  }
  SmallVector<Register> outputs, inputs;
  SmallVector<StringRef> clobbers;
  if (std::string wrong = registers(outputs, inputs, clobbers); !wrong.empty())
    return emitOpError("constraints: ") << wrong;
  return success();
}
