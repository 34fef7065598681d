//===- Parser.cpp - PTX modules and declarations --------------------------===//
//
// Module-level half of the parser: directives, variables with initialisers (PTX ISA 5.4), and
// function headers with their performance directives (PTX ISA 11).
//
//===----------------------------------------------------------------------===//
#include "Parser.h"

#include <cstring>

namespace tileloom {
namespace sim {

int typeBytes(std::string_view t) {
  static const std::unordered_map<std::string_view, int> table = {
      {"pred", 0}, {"b8", 1},  {"u8", 1},   {"s8", 1},     {"b16", 2},    {"u16", 2},
      {"s16", 2},  {"f16", 2}, {"bf16", 2}, {"e4m3x2", 2}, {"e5m2x2", 2}, {"b32", 4},
      {"u32", 4},  {"s32", 4}, {"f32", 4},  {"f16x2", 4},  {"bf16x2", 4}, {"tf32", 4},
      {"b64", 8},  {"u64", 8}, {"s64", 8},  {"f64", 8},    {"b128", 16},  {"f32x2", 8}};
  auto it = table.find(t);
  return it == table.end() ? -1 : it->second;
}

std::unique_ptr<Ast> parsePtx(std::string text) {
  auto ast = std::make_unique<Ast>();
  ast->text = std::move(text);
  Parser(*ast).parseModule();
  return ast;
}

void Parser::parseModule() {
  bool isExtern = false;
  while (!s.atEnd()) {
    std::string_view d = s.dotted();
    if (d.empty() || d[0] != '.')
      s.fail("expected a module directive, found '" + std::string(d) + "' before " + s.found());
    if (d == ".version") {
      ast.version = std::string(s.dotted());
    } else if (d == ".target") {
      ast.target = std::string(s.dotted());
      while (s.accept(','))
        s.dotted();
    } else if (d == ".address_size") {
      if (s.number().bits != 64)
        s.fail("only .address_size 64 can be simulated");
    } else if (d == ".extern" || d == ".weak") {
      isExtern = d == ".extern";
    } else if (d == ".visible" || d == ".common") {
    } else if (d == ".entry" || d == ".func") {
      parseFunction(d == ".entry");
      isExtern = false;
    } else if (d == ".global" || d == ".const" || d == ".shared") {
      Space space = d == ".global" ? Space::Global : d == ".const" ? Space::Const : Space::Shared;
      parseVariables(space, isExtern, ast.variables, false);
      s.expect(';', "after a variable");
      isExtern = false;
    } else if (d == ".file") {
      auto number = uint32_t(s.number().bits);
      ast.files[number] = std::string(s.quoted());
      while (s.accept(','))
        s.number();
    } else if (d == ".loc" || d == ".pragma" || d == ".alias") {
      s.skipToSemicolon();
    } else if (d == ".section") {
      while (!s.atEnd() && *s.cur != '{')
        ++s.cur;
      while (!s.atEnd() && *s.cur != '}')
        ++s.cur;
      s.expect('}', "after a section");
    } else {
      s.fail("unknown module directive '" + std::string(d) + "'");
    }
  }
}

void Parser::parseThree(uint32_t (&out)[3]) {
  for (int i = 0; i < 3; ++i)
    out[i] = 1;
  for (int i = 0; i < 3; ++i) {
    out[i] = uint32_t(s.number().bits);
    if (!s.accept(','))
      return;
  }
}

void Parser::parsePerformanceDirectives(Function &f) {
  uint32_t ignored[3];
  while (s.peek() == '.') {
    std::string_view d = s.dotted();
    if (d == ".reqntid")
      parseThree(f.requiredThreads);
    else if (d == ".maxntid")
      parseThree(f.maxThreads);
    else if (d == ".reqnctapercluster")
      parseThree(f.cluster);
    else if (d == ".maxclusterrank")
      parseThree(ignored);
    else if (d == ".maxnreg")
      f.maxRegisters = uint32_t(s.number().bits);
    else if (d == ".minnctapersm")
      f.minCtas = uint32_t(s.number().bits);
    else if (d == ".maxnctapersm")
      s.number();
    else if (d == ".pragma")
      s.skipToSemicolon();
    else if (d == ".noreturn" || d == ".explicitcluster" || d == ".blocksareclusters")
      continue;
    else if (d == ".abi_preserve" || d == ".abi_preserve_control")
      s.number();
    else
      s.fail("unknown function directive '" + std::string(d) + "'");
  }
}

void Parser::parseFunction(bool isEntry) {
  auto f = std::make_unique<Function>();
  f->isEntry = isEntry;
  f->line = s.line;
  if (!isEntry && s.peek() == '.') { // .func .noreturn
    const char *at = s.cur;
    uint32_t atLine = s.line;
    if (s.dotted() != ".noreturn") {
      s.cur = at;
      s.line = atLine;
    }
  }
  if (!isEntry && s.peek() == '(')
    f->returns = parseParameterList();
  f->name = std::string(s.word());
  if (f->name.empty())
    s.fail("expected a function name, found " + s.found());
  if (s.peek() == '(')
    f->params = parseParameterList();
  parsePerformanceDirectives(*f);
  if (s.accept(';')) {
    f->isDeclaration = true;
  } else {
    s.expect('{', "to start the function body");
    parseBody(*f);
  }
  ast.functions.push_back(std::move(f));
}

std::vector<Variable> Parser::parseParameterList() {
  std::vector<Variable> list;
  s.expect('(', "to start a parameter list");
  while (!s.accept(')')) {
    std::string_view d = s.dotted();
    if (d != ".param" && d != ".reg")
      s.fail("expected .param or .reg in a parameter list, found '" + std::string(d) + "'");
    parseVariables(d == ".param" ? Space::Param : Space::Reg, false, list, true);
    if (s.peek() != ')')
      s.expect(',', "between parameters");
  }
  return list;
}

void Parser::parseVariables(Space space, bool isExtern, std::vector<Variable> &out, bool single) {
  uint32_t align = 0, vector = 1;
  std::string_view type;
  while (s.peek() == '.') {
    std::string_view d = s.dotted();
    if (d == ".align") {
      align = uint32_t(s.number().bits);
    } else if (d == ".ptr") {
      // `.ptr .space .align n`: what a kernel parameter points to; no storage of its own.
      while (s.peek() == '.')
        if (s.dotted() == ".align")
          s.number();
    } else if (d == ".v2" || d == ".v4" || d == ".v8") {
      vector = uint32_t(d[2] - '0');
    } else if (d[0] == '.' && typeBytes(d.substr(1)) >= 0) {
      type = d.substr(1);
    } else if (d == ".attribute") {
      s.expect('(', "after .attribute");
      while (!s.atEnd() && *s.cur != ')')
        ++s.cur;
      s.expect(')', "after .attribute");
    } else {
      s.fail("unknown type or attribute '" + std::string(d) + "' in a declaration");
    }
  }
  if (type.empty())
    s.fail("declaration without a type, before " + s.found());
  do {
    Variable v;
    v.space = space;
    v.isExtern = isExtern;
    v.line = s.line;
    v.name = std::string(s.word());
    if (v.name.empty())
      s.fail("expected a variable name, found " + s.found());
    uint32_t bytes = uint32_t(typeBytes(type) ? typeBytes(type) : 1);
    v.elementBytes = uint8_t(bytes);
    v.align = align ? align : bytes * vector;
    if (v.align & (v.align - 1) || v.align > 65536)
      s.fail("alignment of '" + v.name + "' is " + std::to_string(v.align) +
             "; a power of two up to 65536 is needed");
    uint64_t count = vector;
    // Local memory: the hardware's 512 KiB a thread; others: enough for any kernel.
    const uint64_t limit = space == Space::Local                             ? 1u << 19
                           : space == Space::Shared || space == Space::Param ? 1u << 20
                                                                             : 1u << 30;
    while (s.accept('[')) {
      if (s.accept(']')) {
        v.isUnsized = true;
        continue;
      }
      uint64_t extent = s.number().bits;
      if (extent > limit || count * extent > limit)
        s.fail("'" + v.name + "' has more than " + std::to_string(limit) + " elements");
      count *= extent;
      s.expect(']', "after an array extent");
    }
    if (!v.isUnsized && count * bytes > limit)
      s.fail("'" + v.name + "' has " + std::to_string(count * bytes) + " bytes; at most " +
             std::to_string(limit) + " are possible in its space");
    v.size = v.isUnsized ? 0 : count * bytes;
    if (s.accept('='))
      parseInitialiser(v, type);
    if (v.isUnsized && !v.init.empty())
      v.size = v.init.size();
    if (v.init.size() > v.size)
      s.fail("'" + v.name + "' has " + std::to_string(v.size) + " bytes and " +
             std::to_string(v.init.size()) + " bytes of initial values");
    for (const Variable::Fixup &fix : v.fixups)
      if (fix.at + 8 > v.size)
        s.fail("an address as initial value of '" + v.name + "' needs 8 bytes");
    v.init.resize(v.init.empty() ? 0 : v.size);
    out.push_back(std::move(v));
  } while (!single && s.accept(','));
}

void Parser::parseInitialiser(Variable &v, std::string_view type) {
  Nesting nesting(*this);
  if (s.accept('{')) {
    while (!s.accept('}')) {
      parseInitialiser(v, type);
      if (s.peek() != '}')
        s.expect(',', "between initial values");
    }
    return;
  }
  uint64_t bits = 0;
  size_t at = v.init.size();
  if (s.startsNumber()) {
    Operand o = s.number();
    bits = o.bits;
    if (o.kind == Operand::Float && o.isDouble && type == "f32") {
      double d;
      std::memcpy(&d, &o.bits, 8);
      float f = float(d);
      uint32_t low;
      std::memcpy(&low, &f, 4);
      bits = low;
    }
  } else {
    Variable::Fixup fix{at, std::string(s.word()), 0, false};
    if (fix.symbol == "generic" && s.accept('(')) {
      fix.generic = true;
      fix.symbol = std::string(s.word());
      s.expect(')', "after generic(");
    }
    if (s.accept('+'))
      fix.addend = int64_t(s.number().bits);
    v.fixups.push_back(fix);
  }
  v.init.resize(at + v.elementBytes);
  std::memcpy(v.init.data() + at, &bits, v.elementBytes > 8 ? 8 : v.elementBytes);
}

} // namespace sim
} // namespace tileloom
