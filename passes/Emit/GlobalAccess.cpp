//===- GlobalAccess.cpp - Single accesses to global memory --------------------------------===//

#include "passes/Emit/GlobalAccess.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

Words::Words(Type element, size_t count) : element(element), count(count) {
  unsigned bits = std::max(8u, tile::elementBits(element)), total = bits * count;
  wordBits = bits == 64 ? 64 : std::min(32u, total);
  words = total / wordBits;
}

SmallVector<Value> Words::from(OpBuilder &builder, Location loc, ArrayRef<Value> elements) const {
  SmallVector<Value> result;
  size_t each = count / words;
  Type word = type(builder);
  for (size_t first = 0; first < count; first += each) {
    if (each == 1) {
      Value value = elements[first];
      if (value.getType().isInteger(1))
        value = arith::ExtUIOp::create(builder, loc, word, value);
      result.push_back(value.getType() == word
                           ? value
                           : LLVM::BitcastOp::create(builder, loc, word, value).getResult());
      continue;
    }
    auto vector = VectorType::get({static_cast<int64_t>(each)}, elements[first].getType());
    Value value = LLVM::PoisonOp::create(builder, loc, vector);
    for (size_t i = 0; i < each; ++i)
      value = LLVM::InsertElementOp::create(builder, loc, value, elements[first + i],
                                            Scalar{builder, loc}.i32(i));
    result.push_back(LLVM::BitcastOp::create(builder, loc, word, value));
  }
  return result;
}

SmallVector<Value> Words::to(OpBuilder &builder, Location loc, ArrayRef<Value> values) const {
  SmallVector<Value> result;
  size_t each = count / words;
  Type scalar = scalarType(element);
  for (Value value : values) {
    if (each == 1) {
      if (scalar.isInteger(1))
        value = arith::TruncIOp::create(builder, loc, scalar, value);
      result.push_back(value.getType() == scalar
                           ? value
                           : LLVM::BitcastOp::create(builder, loc, scalar, value).getResult());
      continue;
    }
    Value vector = LLVM::BitcastOp::create(
        builder, loc, VectorType::get({static_cast<int64_t>(each)}, scalar), value);
    for (size_t i = 0; i < each; ++i)
      result.push_back(
          LLVM::ExtractElementOp::create(builder, loc, vector, Scalar{builder, loc}.i32(i)));
  }
  return result;
}

/// pointer + offset * element bytes, in global memory.
Value tileloom::emit::globalAddress(OpBuilder &builder, Location loc, Value pointer, Value offset,
                                    Type element) {
  if (offset.getType().isInteger(32))
    offset = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), offset);
  Type global = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  Value base = LLVM::IntToPtrOp::create(builder, loc, global, pointer);
  return LLVM::GEPOp::create(builder, loc, global, scalarType(element), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

static std::string vectorSuffix(const Words &words) {
  return (words.words > 1 ? ".v" + std::to_string(words.words) : "") + ".b" +
         std::to_string(words.wordBits);
}

/// "{$first, $first+1}" or "$first".
static std::string operandList(size_t first, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

static StringRef constraintOf(unsigned bits) { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }

/// A hint of the access itself (PTX ISA 9.7.9.8); it speaks of the L1 cache.
static std::string cacheSuffix(std::optional<nv::CacheHint> cache) {
  if (!cache || *cache == nv::CacheHint::Normal)
    return "";
  return *cache == nv::CacheHint::First ? ".L1::evict_first" : ".L1::evict_last";
}

/// A predicated load: registers get `others` first. 8-bit words travel in 16-bit registers.
static SmallVector<Value> loadMasked(OpBuilder &builder, Location loc, const Words &words,
                                     Value address, Value mask, ArrayRef<Value> others,
                                     bool invariant, std::optional<nv::CacheHint> cache) {
  unsigned registerBits = std::max(16u, words.wordBits);
  Type word = builder.getIntegerType(registerBits);
  std::string text, constraints;
  size_t n = words.words;
  bool zero = others.empty();
  for (size_t i = 0; i < n; ++i) {
    text += "mov.b" + std::to_string(registerBits) + " $" + std::to_string(i) + ", " +
            (zero ? "0" : "$" + std::to_string(n + i)) + ";\n\t";
    constraints += std::string("=&") + constraintOf(registerBits).str() + ",";
  }
  size_t next = zero ? n : 2 * n;
  SmallVector<Value> operands;
  for (Value other : others) {
    constraints += constraintOf(registerBits).str() + ",";
    operands.push_back(words.wordBits < registerBits
                           ? arith::ExtUIOp::create(builder, loc, word, other).getResult()
                           : other);
  }
  text += "@$" + std::to_string(next + 1) + " ld.global" + (invariant ? ".nc" : "") +
          cacheSuffix(cache) + vectorSuffix(words) + " " + operandList(0, n) + ", [$" +
          std::to_string(next) + "];";
  constraints += "l,b";
  operands.append({address, mask});
  Type result = n == 1 ? word
                       : Type(LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                               SmallVector<Type>(n, word)));
  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, result, operands, text, constraints, /*has_side_effects=*/!invariant,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  assembly->setAttr(accessAttrName, builder.getStringAttr("load"));
  SmallVector<Value> values;
  for (size_t i = 0; i < n; ++i) {
    Value value = assembly.getResult(0);
    if (n > 1)
      value = LLVM::ExtractValueOp::create(builder, loc, value, i);
    if (words.wordBits < registerBits)
      value = arith::TruncIOp::create(builder, loc, words.type(builder), value);
    values.push_back(value);
  }
  return values;
}

/// A plain load, which LLVM may move and share.
static SmallVector<Value> loadPlain(OpBuilder &builder, Location loc, const Words &words,
                                    Value address, bool invariant) {
  Type unit = words.type(builder);
  if (words.words > 1)
    unit = VectorType::get({static_cast<int64_t>(words.words)}, unit);
  auto load = LLVM::LoadOp::create(builder, loc, unit, address, words.words * words.wordBits / 8);
  load.setInvariant(invariant);
  if (words.words == 1)
    return {load};
  SmallVector<Value> values;
  for (size_t i = 0; i < words.words; ++i)
    values.push_back(LLVM::ExtractElementOp::create(builder, loc, load.getResult(),
                                                    Scalar{builder, loc}.i32(i)));
  return values;
}

SmallVector<Value> tileloom::emit::loadWords(OpBuilder &builder, Location loc, const Words &words,
                                             Value address, Value mask, ArrayRef<Value> others,
                                             bool invariant, std::optional<nv::CacheHint> cache) {
  if (!mask && cacheSuffix(cache).empty())
    return loadPlain(builder, loc, words, address, invariant);
  if (!mask)
    mask = arith::ConstantIntOp::create(builder, loc, 1, 1);
  return loadMasked(builder, loc, words, address, mask, others, invariant, cache);
}

void tileloom::emit::storeWords(OpBuilder &builder, Location loc, const Words &words, Value address,
                                Value mask, ArrayRef<Value> values,
                                std::optional<nv::CacheHint> cache) {
  if (!mask && cacheSuffix(cache).empty()) {
    Value value = values.front();
    if (words.words > 1) {
      value = LLVM::PoisonOp::create(
          builder, loc, VectorType::get({static_cast<int64_t>(words.words)}, words.type(builder)));
      for (auto [i, word] : llvm::enumerate(values))
        value =
            LLVM::InsertElementOp::create(builder, loc, value, word, Scalar{builder, loc}.i32(i));
    }
    LLVM::StoreOp::create(builder, loc, value, address, words.words * words.wordBits / 8);
    return;
  }
  unsigned registerBits = std::max(16u, words.wordBits);
  size_t n = words.words;
  std::string text = mask ? "@$" + std::to_string(n + 1) + " " : "", constraints;
  text += "st.global" + cacheSuffix(cache) + vectorSuffix(words) + " [$" + std::to_string(n) +
          "], " + operandList(0, n) + ";";
  SmallVector<Value> operands;
  for (Value value : values) {
    constraints += constraintOf(registerBits).str() + ",";
    operands.push_back(
        words.wordBits < registerBits
            ? arith::ExtUIOp::create(builder, loc, builder.getIntegerType(registerBits), value)
                  .getResult()
            : value);
  }
  operands.push_back(address);
  constraints += "l";
  if (mask) {
    operands.push_back(mask);
    constraints += ",b";
  }
  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, Type(), operands, text, constraints + ",~{memory}", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  assembly->setAttr(accessAttrName, builder.getStringAttr("store"));
}

/// `.add.noftz.v2.bf16x2` and `.add.v4.f32`.
static std::string vectorAfter(StringRef vector, StringRef type) {
  if (!type.consume_front(".noftz"))
    return (vector + type).str();
  return (".noftz" + vector + type).str();
}

void tileloom::emit::reduceElements(OpBuilder &builder, Location loc, nv::ReduceKind kind,
                                    ArrayRef<Value> elements, Value address, Value mask) {
  Type element = elements.front().getType();
  Words words(element, elements.size());
  bool isFloat = isa<FloatType>(element), narrow = tile::elementBits(element) == 16;
  std::string type = element.isF32()               ? ".f32"
                     : element.isF16()             ? ".noftz.f16"
                     : element.isBF16()            ? ".noftz.bf16"
                     : kind == nv::ReduceKind::Add ? ".u"
                                                   : ".s";
  if (!isFloat)
    type += std::to_string(tile::elementBits(element));
  if (narrow && words.wordBits == 32)
    type += "x2";
  std::string vector = words.words > 1 ? ".v" + std::to_string(words.words) : "";
  size_t n = words.words;
  std::string text = mask ? "@$" + std::to_string(n + 1) + " " : "", constraints;
  text += "red.relaxed.gpu.global" + ("." + nv::stringifyReduceKind(kind).str());
  text += (n > 1 ? vectorAfter(vector, type) : type) + " [$" + std::to_string(n) + "], " +
          operandList(0, n) + ";";
  SmallVector<Value> operands;
  for (Value word : words.from(builder, loc, elements)) {
    if (element.isF32()) {
      word = LLVM::BitcastOp::create(builder, loc, element, word);
      constraints += "f,";
    } else {
      constraints += constraintOf(words.wordBits).str() + ",";
    }
    operands.push_back(word);
  }
  operands.push_back(address);
  constraints += "l";
  if (mask) {
    operands.push_back(mask);
    constraints += ",b";
  }
  LLVM::InlineAsmOp::create(
      builder, loc, Type(), operands, text, constraints + ",~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}
