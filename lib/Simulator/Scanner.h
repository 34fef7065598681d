//===- Scanner.h - Characters of PTX text -----------------------*- C++ -*-===//
//
// The lexical half of the parser: white space and comments, words, numbers (PTX ISA 4.5: decimal,
// hexadecimal, octal and binary integers, decimal floats, 0f/0d bit patterns), punctuation.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_SCANNER_H
#define TILELOOM_LIB_SIMULATOR_SCANNER_H

#include "Ast.h"
#include "tileloom/Simulator/Error.h"

namespace tileloom {
namespace sim {

class Scanner {
public:
  explicit Scanner(std::string_view text)
      : cur(text.data()), end(text.data() + text.size()), line(1) {}

  const char *cur, *end;
  uint32_t line;

  [[noreturn]] void fail(const std::string &message) const { throw LoadError(line, message); }
  void skipSpace();
  bool atEnd() {
    skipSpace();
    return cur == end;
  }
  char peek() {
    skipSpace();
    return cur == end ? '\0' : *cur;
  }
  bool accept(char c) {
    if (peek() != c)
      return false;
    ++cur;
    return true;
  }
  void expect(char c, const char *where);
  /// A word of letters, digits, _, $ and %; empty if none starts here.
  std::string_view word();
  /// A dotted word such as "ld.global.b32" or "cp.async.bulk.mbarrier::complete_tx::bytes".
  std::string_view dotted();
  bool startsNumber();
  /// A number, with sign, as an Imm or Float operand.
  Operand number();
  /// A quoted string without its quotes.
  std::string_view quoted();
  void skipToSemicolon();
  /// What stands here, for messages.
  std::string found();
};

inline bool isWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

} // namespace sim
} // namespace tileloom

#endif
