//===- Ast.h - Parsed form of a PTX module ----------------------*- C++ -*-===//
//
// What the parser makes of PTX text: declarations, functions and statements with register names
// resolved to indices, still in the words of the text (an opcode is a list of dotted parts). The
// decoder turns it into instructions that the machine runs. Strings point into the module's text.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_AST_H
#define TILELOOM_LIB_SIMULATOR_AST_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tileloom {
namespace sim {

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const, Reg };

struct Operand {
  enum Kind : uint8_t { None, Reg, Imm, Float, Symbol, Special, Vector, Address, Sink };
  Kind kind = None;
  bool negated = false;       // !p
  bool isDouble = false;      // a 0d or decimal floating literal (Float)
  int32_t reg = -1;           // Reg, or the base of an Address
  int32_t local = -1;         // Symbol or Address: index into Function::locals, if it is one
  std::string_view name;      // Symbol, Special, or the symbol base of an Address
  uint64_t bits = 0;          // Imm; Float: the bits of a double, or of a float if !isDouble
  int64_t offset = 0;         // Address
  std::vector<Operand> parts; // Vector elements; coordinates of an Address
  std::vector<Operand> pair;  // the second half of a|b
};

struct Statement {
  uint32_t line = 0;
  uint32_t sourceFile = 0, sourceLine = 0; // of the last .loc before it; line 0: none
  int32_t guard = -1; // predicate register
  bool guardNegated = false;
  uint32_t scope = 0;               // the {} that it stands in
  std::vector<std::string_view> op; // "ld", "global", "b32", ...
  std::vector<Operand> operands;
  std::string_view text() const { return {begin, size_t(end - begin)}; }
  const char *begin = nullptr, *end = nullptr;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  uint64_t size = 0; // bytes; 0 for extern .shared x[]
  uint32_t align = 1;
  uint8_t elementBytes = 1;
  bool isExtern = false, isUnsized = false;
  std::vector<uint8_t> init;
  struct Fixup {
    uint64_t at;
    std::string symbol;
    int64_t addend;
    bool generic;
  };
  std::vector<Fixup> fixups; // initialisers that name other variables
  uint32_t line = 0;
};

struct Register {
  uint8_t bytes; // 0 for .pred
  std::string name;
};

struct Function {
  std::string name;
  bool isEntry = false, isDeclaration = false;
  uint32_t line = 0;
  std::vector<Variable> returns, params;
  std::vector<Register> registers;
  std::vector<Variable> locals; // function-scope .local, .shared, .param, .global, .const
  std::vector<Statement> body;
  /// Labels are local to their {} scope: the key is "name@scope". -> index into body
  std::map<std::string, uint32_t, std::less<>> labels;
  std::vector<uint32_t> scopeParents{0};
  /// The key of a label seen from a scope; empty if there is none.
  std::string findLabel(std::string_view name, uint32_t scope) const;
  std::map<std::string, std::vector<std::string>, std::less<>> branchTargets;
  uint32_t requiredThreads[3] = {0, 0, 0}, maxThreads[3] = {0, 0, 0}, cluster[3] = {0, 0, 0};
  uint32_t maxRegisters = 0, minCtas = 0;
};

struct Ast {
  std::string text;
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<std::unique_ptr<Function>> functions;
  std::map<uint32_t, std::string> files; // .file directives
};

/// Parses PTX text; throws LoadError (Error.h) with the line of the first thing it cannot read.
std::unique_ptr<Ast> parsePtx(std::string text);

} // namespace sim
} // namespace tileloom

#endif
