//===- ParserBody.cpp - PTX function bodies -------------------------------===//
//
// Statement half of the parser: scopes, register declarations, labels, guards, operands (PTX ISA
// 4.4, 6.3). Registers become indices; labels stay names until the decoder needs them.
//
//===----------------------------------------------------------------------===//
#include "Parser.h"

#include <algorithm>

namespace tileloom {
namespace sim {

std::string Function::findLabel(std::string_view name, uint32_t scope) const {
  while (true) {
    std::string key = std::string(name) + "@" + std::to_string(scope);
    if (labels.count(key))
      return key;
    if (!scope)
      return {};
    scope = scopeParents[scope];
  }
}

void Parser::parseBody(Function &f) {
  scopes.clear();
  scopes.emplace_back();
  for (auto *list : {&f.returns, &f.params}) {
    for (Variable &v : *list) {
      if (v.space != Space::Reg)
        continue;
      Name n;
      n.reg = int32_t(f.registers.size());
      f.registers.push_back({v.elementBytes, v.name});
      scopes.back().names[v.name] = n;
    }
  }
  parseBlock(f);
}

void Parser::parseBlock(Function &f) {
  Nesting nesting(*this);
  while (!s.accept('}')) {
    if (s.atEnd())
      s.fail("function '" + f.name + "' is not closed: expected '}'");
    if (s.accept('{')) {
      f.scopeParents.push_back(scopes.back().id);
      scopes.emplace_back();
      scopes.back().id = uint32_t(f.scopeParents.size() - 1);
      parseBlock(f);
      scopes.pop_back();
      continue;
    }
    if (s.accept(';'))
      continue;
    const char *begin = s.cur;
    if (*s.cur == '.') {
      if (!parseDirective(f))
        s.fail("unknown directive in a function body: " + s.found());
      continue;
    }
    if (*s.cur == '@') {
      parseStatement(f, {}, begin);
      continue;
    }
    std::string_view w = s.word();
    if (w.empty())
      s.fail("expected an instruction, found " + s.found());
    const char *afterWord = s.cur;
    uint32_t lineAfter = s.line;
    if (s.peek() == ':' && !(s.cur + 1 < s.end && s.cur[1] == ':')) {
      ++s.cur;
      const char *at = s.cur;
      uint32_t atLine = s.line;
      if (s.peek() == '.') { // label: .branchtargets a, b;  or .callprototype
        std::string_view d = s.dotted();
        if (d == ".branchtargets") {
          auto &targets = f.branchTargets[std::string(w)];
          do
            targets.emplace_back(s.word());
          while (s.accept(','));
          s.expect(';', "after .branchtargets");
          continue;
        }
        if (d == ".callprototype" || d == ".calltargets") {
          s.skipToSemicolon();
          continue;
        }
        s.cur = at;
        s.line = atLine;
      }
      if (!f.labels
               .emplace(std::string(w) + "@" + std::to_string(scopes.back().id),
                        uint32_t(f.body.size()))
               .second)
        s.fail("label '" + std::string(w) + "' is defined twice");
      continue;
    }
    s.cur = afterWord;
    s.line = lineAfter;
    parseStatement(f, w, begin);
  }
}

bool Parser::parseDirective(Function &f) {
  const char *at = s.cur;
  uint32_t atLine = s.line;
  std::string_view d = s.dotted();
  if (d == ".reg") {
    parseRegisters(f);
    return true;
  }
  if (d == ".loc") { // file, line, column; ends at the end of the line, without a semicolon
    sourceFile = uint32_t(s.number().bits);
    sourceLine = uint32_t(s.number().bits);
    while (s.cur < s.end && *s.cur != '\n')
      ++s.cur;
    return true;
  }
  if (d == ".pragma") {
    s.skipToSemicolon();
    return true;
  }
  Space space = d == ".local"    ? Space::Local
                : d == ".shared" ? Space::Shared
                : d == ".param"  ? Space::Param
                : d == ".global" ? Space::Global
                : d == ".const"  ? Space::Const
                                 : Space::Reg;
  if (space == Space::Reg) {
    s.cur = at;
    s.line = atLine;
    return false;
  }
  size_t first = f.locals.size();
  parseVariables(space, false, f.locals, false);
  s.expect(';', "after a variable");
  for (size_t i = first; i < f.locals.size(); ++i) {
    Name n;
    n.local = int32_t(i);
    // The key must outlive vector growth: find the name in the text instead of in the variable.
    std::string_view text(at, size_t(s.cur - at));
    size_t pos = text.find(f.locals[i].name);
    scopes.back().names[text.substr(pos, f.locals[i].name.size())] = n;
  }
  return true;
}

void Parser::parseRegisters(Function &f) {
  uint32_t vector = 1;
  std::string_view type = s.dotted();
  if (type == ".v2" || type == ".v4")
    s.fail("vector registers ('.reg " + std::string(type) + "') are not supported");
  int bytes = type.empty() ? -1 : typeBytes(type.substr(1));
  if (bytes < 0)
    s.fail("unknown register type '" + std::string(type) + "'");
  (void)vector;
  do {
    std::string_view name = s.word();
    if (name.empty())
      s.fail("expected a register name, found " + s.found());
    Name n;
    n.reg = int32_t(f.registers.size());
    uint64_t count = 1;
    if (s.accept('<')) {
      count = s.number().bits;
      s.expect('>', "after a register count");
      if (count > 1u << 18 || count + f.registers.size() > 1u << 18)
        s.fail("register count " + std::to_string(count) +
               " is out of range: a function may have " + std::to_string(1u << 18));
      n.count = uint32_t(count);
      for (uint64_t i = 0; i < count; ++i)
        f.registers.push_back({uint8_t(bytes), std::string(name) + std::to_string(i)});
      if (count == 0)
        continue;
    } else {
      f.registers.push_back({uint8_t(bytes), std::string(name)});
    }
    // "%r<4>" and "%r" are different names; '<' cannot be in a word, so ranges get the text
    // with the '<' as their key.
    scopes.back().names[n.count ? std::string_view(name.data(), name.size() + 1) : name] = n;
  } while (s.accept(','));
  s.expect(';', "after .reg");
}

const Parser::Name *Parser::lookup(std::string_view name) const {
  for (auto it = scopes.rbegin(); it != scopes.rend(); ++it) {
    auto found = it->names.find(name);
    if (found != it->names.end())
      return &found->second;
  }
  return nullptr;
}

int32_t Parser::lookupRegister(std::string_view name) const {
  if (const Name *n = lookup(name))
    return n->reg;
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  if (digits == name.size() || name.size() - digits > 7)
    return -1;
  uint32_t index = 0;
  for (char c : name.substr(digits))
    index = index * 10 + uint32_t(c - '0');
  std::string key = std::string(name.substr(0, digits)) + "<";
  const Name *n = lookup(key);
  return n && index < n->count ? n->reg + int32_t(index) : -1;
}

void Parser::parseStatement(Function &f, std::string_view firstWord, const char *begin) {
  Statement st;
  st.line = s.line;
  st.sourceFile = sourceFile;
  st.sourceLine = sourceLine;
  st.scope = scopes.back().id;
  st.begin = begin;
  if (firstWord.empty()) {
    s.expect('@', "to start a guard");
    st.guardNegated = s.accept('!');
    std::string_view p = s.word();
    st.guard = lookupRegister(p);
    if (st.guard < 0)
      s.fail("guard '" + std::string(p) + "' is not a declared register");
    if (f.registers[size_t(st.guard)].bytes)
      s.fail("guard '" + std::string(p) + "' is not a .pred register");
    s.skipSpace();
    st.line = s.line;
  st.sourceFile = sourceFile;
  st.sourceLine = sourceLine;
    firstWord = s.word();
    if (firstWord.empty())
      s.fail("expected an instruction after a guard, found " + s.found());
  }
  std::string_view rest = s.cur < s.end && *s.cur == '.' ? s.dotted() : std::string_view();
  std::string_view full(firstWord.data(), firstWord.size() + rest.size());
  for (size_t pos = 0; pos <= full.size();) {
    size_t dot = std::min(full.find('.', pos), full.size());
    st.op.push_back(full.substr(pos, dot - pos));
    pos = dot + 1;
  }
  if (s.peek() != ';') {
    do
      st.operands.push_back(parseOperand(f));
    while (s.accept(','));
  }
  s.skipSpace();
  st.end = s.cur;
  s.expect(';', "at the end of an instruction");
  f.body.push_back(std::move(st));
}

Operand Parser::parseOperand(Function &f) {
  Nesting nesting(*this);
  if (s.accept('{'))
    return parseVector(f, '}');
  if (s.accept('('))
    return parseVector(f, ')');
  if (s.accept('['))
    return parseAddress(f);
  Operand o = parseAtom(f);
  if (s.accept('|'))
    o.pair.push_back(parseAtom(f));
  return o;
}

Operand Parser::parseVector(Function &f, char close) {
  Operand o;
  o.kind = Operand::Vector;
  while (!s.accept(close)) {
    o.parts.push_back(parseOperand(f));
    if (s.peek() != close)
      s.expect(',', "between vector elements");
  }
  return o;
}

Operand Parser::parseAtom(Function &f) {
  if (s.startsNumber())
    return s.number();
  Operand o;
  o.negated = s.accept('!');
  std::string_view w = s.word();
  if (w.empty())
    s.fail("expected an operand, found " + s.found());
  if (w == "_") {
    o.kind = Operand::Sink;
    return o;
  }
  o.name = w;
  o.reg = lookupRegister(w);
  if (o.reg >= 0) {
    o.kind = Operand::Reg;
    return o;
  }
  if (w == "WARP_SZ") {
    o.kind = Operand::Imm;
    o.bits = 32;
    return o;
  }
  if (w[0] == '%') {
    o.kind = Operand::Special;
    if (s.cur < s.end && *s.cur == '.') {
      ++s.cur;
      std::string_view part = s.word();
      o.name = std::string_view(w.data(), w.size() + 1 + part.size());
    }
    static const char *known[] = {"%tid",
                                  "%ntid",
                                  "%ctaid",
                                  "%nctaid",
                                  "%laneid",
                                  "%warpid",
                                  "%nwarpid",
                                  "%smid",
                                  "%nsmid",
                                  "%gridid",
                                  "%lanemask_eq",
                                  "%lanemask_le",
                                  "%lanemask_lt",
                                  "%lanemask_ge",
                                  "%lanemask_gt",
                                  "%clock",
                                  "%clock_hi",
                                  "%clock64",
                                  "%globaltimer",
                                  "%globaltimer_lo",
                                  "%globaltimer_hi",
                                  "%clusterid",
                                  "%nclusterid",
                                  "%cluster_ctaid",
                                  "%cluster_nctaid",
                                  "%cluster_ctarank",
                                  "%cluster_nctarank",
                                  "%is_explicit_cluster",
                                  "%dynamic_smem_size",
                                  "%total_smem_size",
                                  "%aggr_smem_size"};
    for (const char *k : known)
      if (w == k)
        return o;
    s.fail("'" + std::string(w) + "' is neither a declared register nor a known special register");
  }
  o.kind = Operand::Symbol;
  if (const Name *n = lookup(w))
    o.local = n->local;
  if (s.peek() == '+' || s.peek() == '-')
    o.offset = int64_t(s.number().bits);
  return o;
}

Operand Parser::parseAddress(Function &f) {
  Operand o;
  o.kind = Operand::Address;
  if (s.startsNumber()) {
    o.offset = int64_t(s.number().bits);
  } else {
    Operand base = parseAtom(f);
    if (base.kind == Operand::Reg)
      o.reg = base.reg;
    else if (base.kind != Operand::Symbol)
      s.fail("an address needs a register, a variable or a number");
    o.name = base.name;
    o.local = base.local;
    o.offset = base.offset;
    while (s.peek() == '+' || s.peek() == '-')
      o.offset += int64_t(s.number().bits);
  }
  if (s.accept(','))
    o.parts.push_back(parseOperand(f));
  s.expect(']', "after an address");
  return o;
}

} // namespace sim
} // namespace tileloom
