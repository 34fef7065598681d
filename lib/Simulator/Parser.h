//===- Parser.h - Recursive descent over PTX --------------------*- C++ -*-===//
//
// Parser.cpp reads modules and declarations, ParserBody.cpp function bodies. Names are resolved
// while they are read: PTX declares before use, and inner scopes may hide outer names.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_PARSER_H
#define TILELOOM_LIB_SIMULATOR_PARSER_H

#include "Scanner.h"

#include <unordered_map>

namespace tileloom {
namespace sim {

class Parser {
public:
  explicit Parser(Ast &ast) : ast(ast), s(ast.text) {}
  void parseModule();

private:
  struct Name {
    int32_t reg = -1, local = -1; // one of them; count > 0: the range reg .. reg+count-1
    uint32_t count = 0;
  };
  struct Scope {
    uint32_t id = 0;
    std::unordered_map<std::string_view, Name> names;
  };

  // Declarations.
  void parseFunction(bool isEntry);
  std::vector<Variable> parseParameterList();
  /// `.align`, type and declarators; `space` has been read. Appends to `out`.
  void parseVariables(Space space, bool isExtern, std::vector<Variable> &out, bool single);
  void parseInitialiser(Variable &v, std::string_view type);
  void parsePerformanceDirectives(Function &f);
  void parseThree(uint32_t (&out)[3]);

  // Bodies.
  void parseBody(Function &f);
  void parseBlock(Function &f);
  bool parseDirective(Function &f);
  void parseRegisters(Function &f);
  void parseStatement(Function &f, std::string_view firstWord, const char *begin);
  Operand parseOperand(Function &f);
  Operand parseAtom(Function &f);
  Operand parseAddress(Function &f);
  Operand parseVector(Function &f, char close);
  int32_t lookupRegister(std::string_view name) const;
  const Name *lookup(std::string_view name) const;

  /// Counts recursion: text may nest braces at will, the stack may not.
  struct Nesting {
    explicit Nesting(Parser &p) : parser(p) {
      if (++p.depth > 64)
        p.s.fail("braces nest deeper than 64");
    }
    ~Nesting() { --parser.depth; }
    Parser &parser;
  };
  unsigned depth = 0;
  uint32_t sourceFile = 0, sourceLine = 0; // of the last .loc

  Ast &ast;
  Scanner s;
  std::vector<Scope> scopes;
};

/// Bytes of a fundamental type ("b32", "f16x2", "pred" -> 0); -1 if unknown.
int typeBytes(std::string_view type);

} // namespace sim
} // namespace tileloom

#endif
