//===- Scanner.cpp - Characters of PTX text -------------------------------===//
//
// See Scanner.h.
//
//===----------------------------------------------------------------------===//
#include "Scanner.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tileloom {
namespace sim {

void Scanner::skipSpace() {
  while (cur < end) {
    char c = *cur;
    if (c == '\n') {
      ++line;
      ++cur;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
      ++cur;
    } else if (c == '/' && cur + 1 < end && cur[1] == '/') {
      while (cur < end && *cur != '\n')
        ++cur;
    } else if (c == '/' && cur + 1 < end && cur[1] == '*') {
      cur += 2;
      while (cur + 1 < end && !(cur[0] == '*' && cur[1] == '/')) {
        line += *cur == '\n';
        ++cur;
      }
      if (cur + 1 >= end)
        fail("comment is not closed: expected '*/' before the end of the text");
      cur += 2;
    } else {
      return;
    }
  }
}

void Scanner::expect(char c, const char *where) {
  if (!accept(c))
    fail(std::string("expected '") + c + "' " + where + ", found " + found());
}

std::string Scanner::found() {
  skipSpace();
  if (cur == end)
    return "the end of the text";
  const char *stop = cur;
  while (stop < end && *stop != '\n' && stop - cur < 24)
    ++stop;
  return "'" + std::string(cur, stop) + "'";
}

std::string_view Scanner::word() {
  skipSpace();
  const char *start = cur;
  while (cur < end && isWordChar(*cur))
    ++cur;
  return {start, size_t(cur - start)};
}

std::string_view Scanner::dotted() {
  skipSpace();
  const char *start = cur;
  while (cur < end) {
    if (isWordChar(*cur) || *cur == '.')
      ++cur;
    else if (*cur == ':' && cur + 1 < end && cur[1] == ':')
      cur += 2;
    else
      break;
  }
  return {start, size_t(cur - start)};
}

bool Scanner::startsNumber() {
  char c = peek();
  if (c >= '0' && c <= '9')
    return true;
  if ((c == '-' || c == '+' || c == '.') && cur + 1 < end)
    return (cur[1] >= '0' && cur[1] <= '9') || cur[1] == '.';
  return false;
}

Operand Scanner::number() {
  skipSpace();
  Operand o;
  o.kind = Operand::Imm;
  bool negative = false;
  while (cur < end && (*cur == '-' || *cur == '+')) {
    negative ^= *cur == '-';
    ++cur;
    skipSpace();
  }
  const char *start = cur;
  auto hexBits = [&](int digits) {
    uint64_t v = 0;
    cur = start + 2;
    for (int i = 0; i < digits; ++i, ++cur) {
      char c = cur < end ? *cur : ' ';
      int d = c >= '0' && c <= '9'   ? c - '0'
              : c >= 'a' && c <= 'f' ? c - 'a' + 10
              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                     : -1;
      if (d < 0)
        fail("floating constant needs " + std::to_string(digits) + " hexadecimal digits");
      v = v << 4 | uint64_t(d);
    }
    return v;
  };
  char second = cur + 1 < end ? cur[1] : ' ';
  if (*cur == '0' && (second == 'f' || second == 'F')) {
    o.kind = Operand::Float;
    o.bits = hexBits(8) ^ (negative ? 0x80000000u : 0);
    return o;
  }
  if (*cur == '0' && (second == 'd' || second == 'D')) {
    o.kind = Operand::Float;
    o.isDouble = true;
    o.bits = hexBits(16) ^ (negative ? uint64_t(1) << 63 : 0);
    return o;
  }
  bool isHex = *cur == '0' && (second == 'x' || second == 'X');
  bool isBinary = *cur == '0' && (second == 'b' || second == 'B');
  bool isFloat = false;
  const char *p = cur + (isHex || isBinary ? 2 : 0);
  while (p < end && (isWordChar(*p) || *p == '.' ||
                     ((*p == '-' || *p == '+') && !isHex && (p[-1] == 'e' || p[-1] == 'E')))) {
    if (!isHex && (*p == '.' || *p == 'e' || *p == 'E'))
      isFloat = true;
    ++p;
  }
  std::string text(start, p);
  cur = p;
  char *stop = nullptr;
  if (isFloat) {
    double d = std::strtod(text.c_str(), &stop);
    if (*stop)
      fail("malformed number '" + text + "'");
    if (negative)
      d = -d;
    o.kind = Operand::Float;
    o.isDouble = true;
    std::memcpy(&o.bits, &d, 8);
    return o;
  }
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u'))
    text.pop_back();
  errno = 0;
  o.bits = std::strtoull(text.c_str() + (isBinary ? 2 : 0), &stop, isBinary ? 2 : 0);
  if (*stop || text.empty())
    fail("malformed number '" + text + "'");
  if (errno == ERANGE)
    fail("number '" + text.substr(0, 40) + "' does not fit into 64 bits");
  if (negative)
    o.bits = 0 - o.bits;
  return o;
}

std::string_view Scanner::quoted() {
  expect('"', "to start a string");
  const char *start = cur;
  while (cur < end && *cur != '"') {
    line += *cur == '\n';
    ++cur;
  }
  if (cur == end)
    fail("string is not closed");
  return {start, size_t(cur++ - start)};
}

void Scanner::skipToSemicolon() {
  while (!atEnd() && *cur != ';') {
    if (*cur == '"')
      quoted();
    else
      ++cur;
  }
  expect(';', "at the end of a directive");
}

} // namespace sim
} // namespace tileloom
