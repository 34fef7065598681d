//===- Element.h - Element types of kernel arguments ----------------------===//
//
// The element types that a recipe can name, their sizes, and the data type that a tensor map uses
// for each. The numbers are those of the C API (TileloomElement).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_ELEMENT_H
#define TILELOOM_RUNTIME_ELEMENT_H

#include "tileloom-c/Runtime.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace tileloom::runtime {

using Element = TileloomElement;

/// The element called `name` in a recipe ("bf16"), or nothing.
std::optional<Element> parseElement(llvm::StringRef name);

/// "bf16"; "unknown" for a number that is no element.
llvm::StringRef elementName(uint32_t element);

/// Bits of one element as it lies in a tensor (i1 takes a byte there).
unsigned elementBits(Element element);

/// True for the integers, i1 included.
bool isInteger(Element element);
bool isFloat(Element element);
bool isSigned(Element element);

/// True if memory of elements `found` may be passed where the recipe says `needed`: the same type,
/// or, for the signless i8..i64, an unsigned integer of the same width, or, for i8, i1, which is a byte in memory.
bool isCompatible(uint32_t found, Element needed);

/// The CUtensorMapDataType (cuda.h) for tensors of `element`; `expand` asks for fp4 with the 8-byte
/// gaps that the mixed-precision MMAs want in shared memory.
uint8_t tensorMapDataType(Element element, bool expand);

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_ELEMENT_H
