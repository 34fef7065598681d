//===- GlobalPatterns.cpp - Global memory accesses of tiles and scalars --------===//
//
// nv.global_load, nv.global_store, nv.global_reduce and nv.atomic_add: one access for each run of
// elements that a thread holds and that is known to be contiguous, aligned and under one mask
// (`nv.run`), 64-bit addresses. An element that several threads hold is written by one of them.
// Masked accesses are assembly under a predicate: as branches, they would wait for each other.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "tileloom/Analysis/Roles.h"

#include "tileloom/Analysis/Roles.h"

#include "tileloom/Analysis/Roles.h"

#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// pointer + offset * element bytes, in global memory.
Value globalAddress(OpBuilder &builder, Location loc, Value pointer, Value offset, Type element) {
  if (offset.getType().isInteger(32))
    offset = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), offset);
  if (offset.getType().isInteger(32))
    offset = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), offset);
  if (offset.getType().isInteger(32))
    offset = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), offset);
  if (offset.getType().isInteger(32))
    offset = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), offset);
  Type global = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  Value base = LLVM::IntToPtrOp::create(builder, loc, global, pointer);
  return LLVM::GEPOp::create(builder, loc, global, scalarType(element), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Groups of registers that one access moves, as `nv.run` allows.
SmallVector<SmallVector<unsigned, 16>, 8> runsOf(Operation *op,
                                                 const layout::RegisterLayout &layout) {
  auto run = op->getAttrOfType<DenseI64ArrayAttr>(runAttrName);
  return layout::registerRuns(layout, run ? run[0] : layout.rank() - 1, run ? run[1] : 1);
}

/// Elements of one access as the words that its instruction moves: 8 to 32 bits each, 64 for wide
/// elements.
struct Words {
  Words(Type element, size_t count) : element(element), count(count) {
    unsigned bits = std::max(8u, tile::elementBits(element)), total = bits * count;
    wordBits = bits == 64 ? 64 : std::min(32u, total);
    words = total / wordBits;
  }
  Type type(OpBuilder &builder) const { return builder.getIntegerType(wordBits); }

  /// i1 travels as a byte.
  SmallVector<Value> from(OpBuilder &builder, Location loc, ArrayRef<Value> elements) const {
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

  SmallVector<Value> to(OpBuilder &builder, Location loc, ArrayRef<Value> values) const {
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
        result.push_back(LLVM::ExtractElementOp::create(builder, loc, vector,
                                                        Scalar{builder, loc}.i32(i)));
    }
    return result;
  }

  Type element;
  size_t count, words;
  unsigned wordBits;
};

std::string vectorSuffix(const Words &words) {
  return (words.words > 1 ? ".v" + std::to_string(words.words) : "") + ".b" +
         std::to_string(words.wordBits);
}

/// "{$first, $first+1}" or "$first".
std::string operandList(size_t first, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

StringRef constraintOf(unsigned bits) { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }

/// A hint of the access itself (PTX ISA 9.7.9.8); it speaks of the L1 cache.
std::string cacheSuffix(std::optional<nv::CacheHint> cache) {
  if (!cache || *cache == nv::CacheHint::Normal)
    return "";
  return *cache == nv::CacheHint::First ? ".L1::evict_first" : ".L1::evict_last";
}

/// A predicated load: registers get `others` first. 8-bit words travel in 16-bit registers.
SmallVector<Value> loadMasked(OpBuilder &builder, Location loc, const Words &words, Value address,
                              Value mask, ArrayRef<Value> others, bool invariant,
                              std::optional<nv::CacheHint> cache) {
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
  Type result =
      n == 1 ? word
             : Type(LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(n, word)));
  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, result, operands, text, constraints, /*has_side_effects=*/!invariant,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
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
SmallVector<Value> loadPlain(OpBuilder &builder, Location loc, const Words &words, Value address,
                             bool invariant) {
  Type unit = words.type(builder);
  if (words.words > 1)
    unit = VectorType::get({static_cast<int64_t>(words.words)}, unit);
  auto load = LLVM::LoadOp::create(builder, loc, unit, address,
                                   words.words * words.wordBits / 8);
  load.setInvariant(invariant);
  if (words.words == 1)
    return {load};
  SmallVector<Value> values;
  for (size_t i = 0; i < words.words; ++i)
    values.push_back(LLVM::ExtractElementOp::create(builder, loc, load.getResult(),
                                                    Scalar{builder, loc}.i32(i)));
  return values;
}

void storeWords(OpBuilder &builder, Location loc, const Words &words, Value address, Value mask,
                ArrayRef<Value> values, std::optional<nv::CacheHint> cache) {
  if (!mask && cacheSuffix(cache).empty()) {
    Value value = values.front();
    if (words.words > 1) {
      value = LLVM::PoisonOp::create(
          builder, loc, VectorType::get({static_cast<int64_t>(words.words)}, words.type(builder)));
      for (auto [i, word] : llvm::enumerate(values))
        value = LLVM::InsertElementOp::create(builder, loc, value, word, Scalar{builder, loc}.i32(i));
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
    operands.push_back(words.wordBits < registerBits
                           ? arith::ExtUIOp::create(builder, loc,
                                                    builder.getIntegerType(registerBits), value)
                                 .getResult()
                           : value);
  }
  operands.push_back(address);
  constraints += "l";
  if (mask) {
    operands.push_back(mask);
    constraints += ",b";
  }
  LLVM::InlineAsmOp::create(
      builder, loc, Type(), operands, text, constraints + ",~{memory}", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

/// Groups of registers that one access moves, as `nv.run` allows.
SmallVector<SmallVector<unsigned, 16>, 8> runsOf(Operation *op,
                                                 const layout::RegisterLayout &layout) {
  auto run = op->getAttrOfType<DenseI64ArrayAttr>(runAttrName);
  return layout::registerRuns(layout, run ? run[0] : layout.rank() - 1, run ? run[1] : 1);
}

/// True in the threads that hold an element first; null if all do.
Value primaryThread(OpBuilder &builder, Location loc, const layout::RegisterLayout &layout,
                    const ThreadPosition &position) {
  Scalar math{builder, loc};
  Value primary;
  auto require = [&](Value index, unsigned copies) {
    if (!copies)
      return;
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        math.bitAnd(index, copies), math.i32(0));
    primary = primary ? arith::AndIOp::create(builder, loc, primary, first).getResult() : first;
  };
  require(position.lane, layout.replicatedLanes());
  require(position.warp, layout.replicatedWarps());
  return primary;
}

/// Elements of one access as the words that its instruction moves: 8 to 32 bits each, 64 for wide
/// elements.
struct Words {
  Words(Type element, size_t count) : element(element), count(count) {
    unsigned bits = std::max(8u, tile::elementBits(element)), total = bits * count;
    wordBits = bits == 64 ? 64 : std::min(32u, total);
    words = total / wordBits;
  }
  Type type(OpBuilder &builder) const { return builder.getIntegerType(wordBits); }

  /// i1 travels as a byte.
  SmallVector<Value> from(OpBuilder &builder, Location loc, ArrayRef<Value> elements) const {
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

  SmallVector<Value> to(OpBuilder &builder, Location loc, ArrayRef<Value> values) const {
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
        result.push_back(LLVM::ExtractElementOp::create(builder, loc, vector,
                                                        Scalar{builder, loc}.i32(i)));
    }
    return result;
  }

  Type element;
  size_t count, words;
  unsigned wordBits;
};

std::string vectorSuffix(const Words &words) {
  return (words.words > 1 ? ".v" + std::to_string(words.words) : "") + ".b" +
         std::to_string(words.wordBits);
}

/// "{$first, $first+1}" or "$first".
std::string operandList(size_t first, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

StringRef constraintOf(unsigned bits) { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }

/// ".L2::evict_first" is a hint of the access, not a policy operand (PTX ISA 9.7.9.8).
std::string cacheSuffix(std::optional<nv::CacheHint> cache) {
  if (!cache || *cache == nv::CacheHint::Normal)
    return "";
  return *cache == nv::CacheHint::First ? ".L1::evict_first" : ".L1::evict_last";
}

/// A predicated load: registers get `others` first. 8-bit words travel in 16-bit registers.
SmallVector<Value> loadMasked(OpBuilder &builder, Location loc, const Words &words, Value address,
                              Value mask, ArrayRef<Value> others, bool invariant,
                              std::optional<nv::CacheHint> cache) {
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
  Type result =
      n == 1 ? word
             : Type(LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(n, word)));
  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, result, operands, text, constraints, /*has_side_effects=*/!invariant,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
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
SmallVector<Value> loadPlain(OpBuilder &builder, Location loc, const Words &words, Value address,
                             bool invariant) {
  Type unit = words.type(builder);
  if (words.words > 1)
    unit = VectorType::get({static_cast<int64_t>(words.words)}, unit);
  auto load = LLVM::LoadOp::create(builder, loc, unit, address,
                                   words.words * words.wordBits / 8);
  load.setInvariant(invariant);
  if (words.words == 1)
    return {load};
  SmallVector<Value> values;
  for (size_t i = 0; i < words.words; ++i)
    values.push_back(LLVM::ExtractElementOp::create(builder, loc, load.getResult(),
                                                    Scalar{builder, loc}.i32(i)));
  return values;
}

void storeWords(OpBuilder &builder, Location loc, const Words &words, Value address, Value mask,
                ArrayRef<Value> values, std::optional<nv::CacheHint> cache) {
  if (!mask && cacheSuffix(cache).empty()) {
    Value value = values.front();
    if (words.words > 1) {
      value = LLVM::PoisonOp::create(
          builder, loc, VectorType::get({static_cast<int64_t>(words.words)}, words.type(builder)));
      for (auto [i, word] : llvm::enumerate(values))
        value = LLVM::InsertElementOp::create(builder, loc, value, word, Scalar{builder, loc}.i32(i));
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
    operands.push_back(words.wordBits < registerBits
                           ? arith::ExtUIOp::create(builder, loc,
                                                    builder.getIntegerType(registerBits), value)
                                 .getResult()
                           : value);
  }
  operands.push_back(address);
  constraints += "l";
  if (mask) {
    operands.push_back(mask);
    constraints += ",b";
  }
  LLVM::InlineAsmOp::create(
      builder, loc, Type(), operands, text, constraints + ",~{memory}", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

/// Groups of registers that one access moves, as `nv.run` allows.
SmallVector<SmallVector<unsigned, 16>, 8> runsOf(Operation *op,
                                                 const layout::RegisterLayout &layout) {
  auto run = op->getAttrOfType<DenseI64ArrayAttr>(runAttrName);
  return layout::registerRuns(layout, run ? run[0] : layout.rank() - 1, run ? run[1] : 1);
}

/// True in the threads that hold an element first; null if all do.
Value primaryThread(OpBuilder &builder, Location loc, const layout::RegisterLayout &layout,
                    const ThreadPosition &position) {
  Scalar math{builder, loc};
  Value primary;
  auto require = [&](Value index, unsigned copies) {
    if (!copies)
      return;
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        math.bitAnd(index, copies), math.i32(0));
    primary = primary ? arith::AndIOp::create(builder, loc, primary, first).getResult() : first;
  };
  require(position.lane, layout.replicatedLanes());
  require(position.warp, layout.replicatedWarps());
  return primary;
}

/// Elements of one access as the words that its instruction moves: 8 to 32 bits each, 64 for wide
/// elements.
struct Words {
  Words(Type element, size_t count) : element(element), count(count) {
    unsigned bits = std::max(8u, tile::elementBits(element)), total = bits * count;
    wordBits = bits == 64 ? 64 : std::min(32u, total);
    words = total / wordBits;
  }
  Type type(OpBuilder &builder) const { return builder.getIntegerType(wordBits); }

  /// i1 travels as a byte.
  SmallVector<Value> from(OpBuilder &builder, Location loc, ArrayRef<Value> elements) const {
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

  SmallVector<Value> to(OpBuilder &builder, Location loc, ArrayRef<Value> values) const {
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
        result.push_back(LLVM::ExtractElementOp::create(builder, loc, vector,
                                                        Scalar{builder, loc}.i32(i)));
    }
    return result;
  }

  Type element;
  size_t count, words;
  unsigned wordBits;
};

std::string vectorSuffix(const Words &words) {
  return (words.words > 1 ? ".v" + std::to_string(words.words) : "") + ".b" +
         std::to_string(words.wordBits);
}

/// "{$first, $first+1}" or "$first".
std::string operandList(size_t first, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

StringRef constraintOf(unsigned bits) { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }

/// ".L2::evict_first" is a hint of the access, not a policy operand (PTX ISA 9.7.9.8).
std::string cacheSuffix(std::optional<nv::CacheHint> cache) {
  if (!cache || *cache == nv::CacheHint::Normal)
    return "";
  return *cache == nv::CacheHint::First ? ".L1::evict_first" : ".L1::evict_last";
}

/// A predicated load: registers get `others` first. 8-bit words travel in 16-bit registers.
SmallVector<Value> loadMasked(OpBuilder &builder, Location loc, const Words &words, Value address,
                              Value mask, ArrayRef<Value> others, bool invariant,
                              std::optional<nv::CacheHint> cache) {
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
  Type result =
      n == 1 ? word
             : Type(LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(n, word)));
  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, result, operands, text, constraints, /*has_side_effects=*/!invariant,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
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
SmallVector<Value> loadPlain(OpBuilder &builder, Location loc, const Words &words, Value address,
                             bool invariant) {
  Type unit = words.type(builder);
  if (words.words > 1)
    unit = VectorType::get({static_cast<int64_t>(words.words)}, unit);
  auto load = LLVM::LoadOp::create(builder, loc, unit, address,
                                   words.words * words.wordBits / 8);
  load.setInvariant(invariant);
  if (words.words == 1)
    return {load};
  SmallVector<Value> values;
  for (size_t i = 0; i < words.words; ++i)
    values.push_back(LLVM::ExtractElementOp::create(builder, loc, load.getResult(),
                                                    Scalar{builder, loc}.i32(i)));
  return values;
}

void storeWords(OpBuilder &builder, Location loc, const Words &words, Value address, Value mask,
                ArrayRef<Value> values, std::optional<nv::CacheHint> cache) {
  if (!mask && cacheSuffix(cache).empty()) {
    Value value = values.front();
    if (words.words > 1) {
      value = LLVM::PoisonOp::create(
          builder, loc, VectorType::get({static_cast<int64_t>(words.words)}, words.type(builder)));
      for (auto [i, word] : llvm::enumerate(values))
        value = LLVM::InsertElementOp::create(builder, loc, value, word, Scalar{builder, loc}.i32(i));
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
    operands.push_back(words.wordBits < registerBits
                           ? arith::ExtUIOp::create(builder, loc,
                                                    builder.getIntegerType(registerBits), value)
                                 .getResult()
                           : value);
  }
  operands.push_back(address);
  constraints += "l";
  if (mask) {
    operands.push_back(mask);
    constraints += ",b";
  }
  LLVM::InlineAsmOp::create(
      builder, loc, Type(), operands, text, constraints + ",~{memory}", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

/// Groups of registers that one access moves, as `nv.run` allows.
SmallVector<SmallVector<unsigned, 16>, 8> runsOf(Operation *op,
                                                 const layout::RegisterLayout &layout) {
  auto run = op->getAttrOfType<DenseI64ArrayAttr>(runAttrName);
  return layout::registerRuns(layout, run ? run[0] : layout.rank() - 1, run ? run[1] : 1);
}

/// True in the threads that hold an element first; null if all do.
Value primaryThread(OpBuilder &builder, Location loc, const layout::RegisterLayout &layout,
                    const ThreadPosition &position) {
  Scalar math{builder, loc};
  Value primary;
  auto require = [&](Value index, unsigned copies) {
    if (!copies)
      return;
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        math.bitAnd(index, copies), math.i32(0));
    primary = primary ? arith::AndIOp::create(builder, loc, primary, first).getResult() : first;
  };
  require(position.lane, layout.replicatedLanes());
  require(position.warp, layout.replicatedWarps());
  return primary;
}

/// Elements of one access as the words that its instruction moves: 8 to 32 bits each, 64 for wide
/// elements.
struct Words {
  Words(Type element, size_t count) : element(element), count(count) {
    unsigned bits = std::max(8u, tile::elementBits(element)), total = bits * count;
    wordBits = bits == 64 ? 64 : std::min(32u, total);
    words = total / wordBits;
  }
  Type type(OpBuilder &builder) const { return builder.getIntegerType(wordBits); }

  /// i1 travels as a byte.
  SmallVector<Value> from(OpBuilder &builder, Location loc, ArrayRef<Value> elements) const {
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

  SmallVector<Value> to(OpBuilder &builder, Location loc, ArrayRef<Value> values) const {
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
        result.push_back(LLVM::ExtractElementOp::create(builder, loc, vector,
                                                        Scalar{builder, loc}.i32(i)));
    }
    return result;
  }

  Type element;
  size_t count, words;
  unsigned wordBits;
};

std::string vectorSuffix(const Words &words) {
  return (words.words > 1 ? ".v" + std::to_string(words.words) : "") + ".b" +
         std::to_string(words.wordBits);
}

/// "{$first, $first+1}" or "$first".
std::string operandList(size_t first, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

StringRef constraintOf(unsigned bits) { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }

/// ".L2::evict_first" is a hint of the access, not a policy operand (PTX ISA 9.7.9.8).
std::string cacheSuffix(std::optional<nv::CacheHint> cache) {
  if (!cache || *cache == nv::CacheHint::Normal)
    return "";
  return *cache == nv::CacheHint::First ? ".L1::evict_first" : ".L1::evict_last";
}

/// A predicated load: registers get `others` first. 8-bit words travel in 16-bit registers.
SmallVector<Value> loadMasked(OpBuilder &builder, Location loc, const Words &words, Value address,
                              Value mask, ArrayRef<Value> others, bool invariant,
                              std::optional<nv::CacheHint> cache) {
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
  Type result =
      n == 1 ? word
             : Type(LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(n, word)));
  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, result, operands, text, constraints, /*has_side_effects=*/!invariant,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
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
SmallVector<Value> loadPlain(OpBuilder &builder, Location loc, const Words &words, Value address,
                             bool invariant) {
  Type unit = words.type(builder);
  if (words.words > 1)
    unit = VectorType::get({static_cast<int64_t>(words.words)}, unit);
  auto load = LLVM::LoadOp::create(builder, loc, unit, address,
                                   words.words * words.wordBits / 8);
  load.setInvariant(invariant);
  if (words.words == 1)
    return {load};
  SmallVector<Value> values;
  for (size_t i = 0; i < words.words; ++i)
    values.push_back(LLVM::ExtractElementOp::create(builder, loc, load.getResult(),
                                                    Scalar{builder, loc}.i32(i)));
  return values;
}

void storeWords(OpBuilder &builder, Location loc, const Words &words, Value address, Value mask,
                ArrayRef<Value> values, std::optional<nv::CacheHint> cache) {
  if (!mask && cacheSuffix(cache).empty()) {
    Value value = values.front();
    if (words.words > 1) {
      value = LLVM::PoisonOp::create(
          builder, loc, VectorType::get({static_cast<int64_t>(words.words)}, words.type(builder)));
      for (auto [i, word] : llvm::enumerate(values))
        value = LLVM::InsertElementOp::create(builder, loc, value, word, Scalar{builder, loc}.i32(i));
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
    operands.push_back(words.wordBits < registerBits
                           ? arith::ExtUIOp::create(builder, loc,
                                                    builder.getIntegerType(registerBits), value)
                                 .getResult()
                           : value);
  }
  operands.push_back(address);
  constraints += "l";
  if (mask) {
    operands.push_back(mask);
    constraints += ",b";
  }
  LLVM::InlineAsmOp::create(
      builder, loc, Type(), operands, text, constraints + ",~{memory}", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

struct GlobalLoadPattern : OpPattern<nv::GlobalLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::GlobalLoadOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto tensor = dyn_cast<RankedTensorType>(op.getResult().getType());
    Type element = getElementTypeOrSelf(op.getResult().getType());
    SmallVector<SmallVector<unsigned, 16>, 8> runs{{0}};
    SmallVector<Value> others(adaptor.getOther());
    if (tensor) {
      const layout::RegisterLayout *layout = converter.layoutOf(tensor, loc);
      if (!layout)
        return failure();
      runs = runsOf(op, *layout);
      if (op.getOther())
        others = unpack(rewriter, loc, tensor, adaptor.getOther());
    }
    SmallVector<Value> loaded(runs.size() * runs.front().size());
    for (ArrayRef<unsigned> run : runs) {
      Words words(element, run.size());
      Value address = globalAddress(rewriter, loc, adaptor.getPointer().front(),
                                    adaptor.getOffset()[run[0]], element);
      SmallVector<Value> values, other;
      if (op.getMask()) {
        for (unsigned reg : run)
          if (op.getOther())
            other.push_back(others[reg]);
        if (op.getOther())
          other = words.from(rewriter, loc, other);
        values = loadMasked(rewriter, loc, words, address, adaptor.getMask()[run[0]], other,
                            op.getInvariant(), op.getCache());
      } else {
        values = loadPlain(rewriter, loc, words, address, op.getInvariant());
      }
      for (auto [reg, value] : llvm::zip(run, words.to(rewriter, loc, values)))
        loaded[reg] = value;
    }
    if (!tensor)
      rewriter.replaceOp(op, loaded);
    else
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, tensor, loaded)});
    return success();
  }
};

/// What global_store and global_reduce share: which threads write which runs of elements.
template <typename Op> struct GlobalWritePattern : OpPattern<Op> {
  using OpPattern<Op>::OpPattern;
  using typename OpPattern<Op>::OneToN;

  virtual void write(OpBuilder &builder, Op op, ArrayRef<Value> elements, Value address,
                     Value mask) const = 0;

  LogicalResult matchAndRewrite(Op op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = getElementTypeOrSelf(op.getValue().getType());
    auto tensor = dyn_cast<RankedTensorType>(op.getValue().getType());
    auto addressOf = [&](OpBuilder &builder, unsigned reg) {
      return globalAddress(builder, loc, adaptor.getPointer().front(), adaptor.getOffset()[reg],
                           element);
    };
    auto maskOf = [&](unsigned reg) { return op.getMask() ? adaptor.getMask()[reg] : Value(); };
    if (!tensor) {
      createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
        write(builder, op, adaptor.getValue().front(), addressOf(builder, 0), maskOf(0));
      });
      rewriter.eraseOp(op);
      return success();
    }
    const layout::RegisterLayout *layout = this->converter.layoutOf(tensor, loc);
    if (!layout)
      return failure();
    ThreadPosition position(rewriter, op);
    SmallVector<Value> elements = unpack(rewriter, loc, tensor, adaptor.getValue());
    auto writeAll = [&](OpBuilder &builder) {
      for (ArrayRef<unsigned> run : runsOf(op, *layout)) {
        if (!layout->isPrimary(run[0], 0, 0))
          continue;
        SmallVector<Value> part;
        for (unsigned reg : run)
          part.push_back(elements[reg]);
        write(builder, op, part, addressOf(builder, run[0]), maskOf(run[0]));
      }
    };
    if (Value primary = primaryThread(rewriter, loc, *layout, position)) {
      auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      writeAll(inner);
    } else {
      writeAll(rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct GlobalStorePattern : GlobalWritePattern<nv::GlobalStoreOp> {
  using GlobalWritePattern::GlobalWritePattern;
  void write(OpBuilder &builder, nv::GlobalStoreOp op, ArrayRef<Value> elements, Value address,
             Value mask) const override {
    Words words(getElementTypeOrSelf(op.getValue().getType()), elements.size());
    storeWords(builder, op.getLoc(), words, address, mask,
               words.from(builder, op.getLoc(), elements), op.getCache());
  }
};

/// red.global: one instruction for each element, pairs of 16-bit floats and fours of fp32 together
/// (PTX ISA 9.7.13.7).
struct GlobalReducePattern : GlobalWritePattern<nv::GlobalReduceOp> {
  using GlobalWritePattern::GlobalWritePattern;
  void write(OpBuilder &builder, nv::GlobalReduceOp op, ArrayRef<Value> elements, Value address,
             Value mask) const override {
    Location loc = op.getLoc();
    Type element = elements.front().getType();
    size_t bytes = tile::elementBits(element) / 8;
    // 16-bit floats one at a time still move 16 bits; .v2 and .v4 of fp32 and of pairs exist since
    // sm_90.
    size_t step = element.isF32() ? std::min<size_t>(4, elements.size())
                  : bytes == 2    ? std::min<size_t>(8, elements.size())
                                  : 1;
    for (size_t first = 0; first < elements.size(); first += step)
      reduce(builder, loc, op.getKind(), elements.slice(first, step),
             Scalar{builder, loc}.advance(address, first * bytes), mask);
  }

  static void reduce(OpBuilder &builder, Location loc, nv::ReduceKind kind,
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

  /// `.add.noftz.v2.bf16x2` and `.add.v4.f32`.
  static std::string vectorAfter(StringRef vector, StringRef type) {
    if (!type.consume_front(".noftz"))
      return (vector + type).str();
    return (".noftz" + vector + type).str();
  }
};

struct AtomicAddPattern : OpPattern<nv::AtomicAddOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::AtomicAddOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = op.getValue().getType();
    Value address = globalAddress(rewriter, loc, adaptor.getPointer().front(),
                                  adaptor.getOffset().front(), element);
    auto kind = isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
    rewriter.replaceOpWithNewOp<LLVM::AtomicRMWOp>(op, kind, address, adaptor.getValue().front(),
                                                   LLVM::AtomicOrdering::monotonic, "device");
    return success();
  }
};

} // namespace

void tileloom::emit::populateGlobalPatterns(TileTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  patterns.add<GlobalLoadPattern, GlobalStorePattern, GlobalReducePattern, AtomicAddPattern>(
      converter, patterns.getContext());
}
