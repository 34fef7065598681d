//===- Element.cpp - Element types of kernel arguments --------------------===//
//
// One table, indexed by the element's number.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Element.h"
#include "llvm/ADT/STLExtras.h"

namespace tileloom::runtime {

namespace {
enum class Class : uint8_t { Signless, Unsigned, Float };

struct Row {
  const char *name;
  uint8_t bits;
  Class kind;
  uint8_t dataType;
};

// dataType: CUtensorMapDataType of cuda.h. There is no signed 8 or 16-bit type and no fp8 type: TMA
// moves bits, and only reductions look at the type, which do not exist for these.
constexpr Row table[] = {
    {"i1", 8, Class::Signless, 0},   {"i8", 8, Class::Signless, 0},
    {"i16", 16, Class::Signless, 1}, {"i32", 32, Class::Signless, 3},
    {"i64", 64, Class::Signless, 5}, {"u8", 8, Class::Unsigned, 0},
    {"u16", 16, Class::Unsigned, 1}, {"u32", 32, Class::Unsigned, 2},
    {"u64", 64, Class::Unsigned, 4}, {"f16", 16, Class::Float, 6},
    {"bf16", 16, Class::Float, 9},   {"f32", 32, Class::Float, 7},
    {"f64", 64, Class::Float, 8},    {"e4m3", 8, Class::Float, 0},
    {"e5m2", 8, Class::Float, 0},    {"e2m1", 4, Class::Float, 13},
    {"e8m0", 8, Class::Float, 0},    {"tf32", 32, Class::Float, 11},
};
static_assert(std::size(table) == TILELOOM_TF32 + 1, "one row for each element");
} // namespace

std::optional<Element> parseElement(llvm::StringRef name) {
  for (auto [index, row] : llvm::enumerate(table))
    if (name == row.name)
      return static_cast<Element>(index);
  return std::nullopt;
}

llvm::StringRef elementName(uint32_t element) {
  return element < std::size(table) ? table[element].name : "unknown";
}

unsigned elementBits(Element element) { return table[element].bits; }
bool isInteger(Element element) { return table[element].kind != Class::Float; }
bool isFloat(Element element) { return table[element].kind == Class::Float; }
bool isSigned(Element element) {
  return table[element].kind == Class::Signless && element != TILELOOM_I1;
}

bool isCompatible(uint32_t found, Element needed) {
  if (found == static_cast<uint32_t>(needed))
    return true;
  if (found == TILELOOM_I1 && needed == TILELOOM_I8) // a bool is a byte in memory
    return true;
  return found < std::size(table) && table[needed].kind == Class::Signless &&
         table[found].kind == Class::Unsigned && table[found].bits == table[needed].bits &&
         needed != TILELOOM_I1;
}

uint8_t tensorMapDataType(Element element, bool expand) {
  return expand ? 14 : table[element].dataType;
}

} // namespace tileloom::runtime
