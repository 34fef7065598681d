//===- Decoder.cpp - Operands, modifiers, constants -----------------------===//
//
// The part of the decoder that all opcodes share. See Decoder.h.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>
#include <cstring>

namespace tileloom {
namespace sim {

namespace {
struct TypeRow {
  const char *name;
  Ty type;
  uint8_t bytes;
};
const TypeRow typeRows[] = {
    {"pred", Ty::Pred, 0},     {"b8", Ty::B8, 1},         {"u8", Ty::U8, 1},
    {"s8", Ty::S8, 1},         {"b16", Ty::B16, 2},       {"u16", Ty::U16, 2},
    {"s16", Ty::S16, 2},       {"b32", Ty::B32, 4},       {"u32", Ty::U32, 4},
    {"s32", Ty::S32, 4},       {"b64", Ty::B64, 8},       {"u64", Ty::U64, 8},
    {"s64", Ty::S64, 8},       {"b128", Ty::B128, 16},    {"f16", Ty::F16, 2},
    {"bf16", Ty::BF16, 2},     {"f32", Ty::F32, 4},       {"f64", Ty::F64, 8},
    {"tf32", Ty::TF32, 4},     {"f16x2", Ty::F16x2, 4},   {"bf16x2", Ty::BF16x2, 4},
    {"f32x2", Ty::F32x2, 8},   {"u16x2", Ty::U16x2, 4},   {"s16x2", Ty::S16x2, 4},
    {"e4m3x2", Ty::E4M3x2, 2}, {"e5m2x2", Ty::E5M2x2, 2}, {"e2m1x2", Ty::E2M1x2, 1},
    {"e2m3x2", Ty::E2M3x2, 2}, {"e3m2x2", Ty::E3M2x2, 2}, {"ue8m0x2", Ty::UE8M0x2, 2},
    {"e4m3x4", Ty::E4M3x4, 4}, {"e5m2x4", Ty::E5M2x4, 4}, {"e2m1x4", Ty::E2M1x4, 2},
    {"e2m3x4", Ty::E2M3x4, 4}, {"e3m2x4", Ty::E3M2x4, 4}, {"e4m3", Ty::E4M3, 1},
    {"e5m2", Ty::E5M2, 1}};
} // namespace

unsigned bytesOf(Ty t) {
  for (const TypeRow &r : typeRows)
    if (r.type == t)
      return r.bytes;
  return 0;
}
bool isSigned(Ty t) { return t == Ty::S8 || t == Ty::S16 || t == Ty::S32 || t == Ty::S64; }
bool isInteger(Ty t) { return t >= Ty::B8 && t <= Ty::B128; }
bool parseType(std::string_view name, Ty &t) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Ty> m;
    for (const TypeRow &r : typeRows)
      m.emplace(r.name, r.type);
    return m;
  }();
  auto it = table.find(name);
  if (it == table.end())
    return false;
  t = it->second;
  return true;
}

Decoder::Decoder(Program &program, const Ast &ast,
                 const std::unordered_map<std::string, uint64_t> &addresses)
    : program(program), ast(ast), addresses(addresses) {}

void Decoder::fail(const std::string &message) const {
  std::string text(st->text());
  if (text.size() > 160)
    text = text.substr(0, 160) + "...";
  throw LoadError(st->line, message + "\n  in: " + text);
}

bool Decoder::take(std::string_view modifier) {
  auto it = std::find(left.begin(), left.end(), modifier);
  if (it == left.end())
    return false;
  left.erase(it);
  return true;
}

int Decoder::takeOneOf(std::initializer_list<const char *> modifiers) {
  int i = 0;
  for (const char *m : modifiers) {
    if (take(m))
      return i;
    ++i;
  }
  return -1;
}

bool Decoder::has(std::string_view m) const {
  return std::find(left.begin(), left.end(), m) != left.end();
}

Ty Decoder::takeType() {
  for (auto it = left.begin(); it != left.end(); ++it) {
    Ty t;
    if (parseType(*it, t)) {
      left.erase(it);
      return t;
    }
  }
  return Ty::None;
}

Ty Decoder::needType() {
  Ty t = takeType();
  if (t == Ty::None)
    fail("instruction without a type");
  return t;
}

std::string_view Decoder::takeAny() {
  if (left.empty())
    return {};
  std::string_view m = left.front();
  left.erase(left.begin());
  return m;
}

void Decoder::finishModifiers() {
  if (!left.empty())
    fail("unsupported modifier '." + std::string(left.front()) + "' of '" + std::string(st->op[0]) +
         "'");
}

const Operand &Decoder::operand(size_t i) const {
  if (i >= st->operands.size())
    fail("operand " + std::to_string(i + 1) + " is missing");
  return st->operands[i];
}

void Decoder::needOperands(size_t low, size_t high) {
  size_t n = operandCount();
  if (n < low || n > high)
    fail("found " + std::to_string(n) + " operands, needed " + std::to_string(low) +
         (high > low ? " to " + std::to_string(high) : ""));
}

int32_t Decoder::newSlot(unsigned bytes) {
  unsigned size = bytes ? std::max(bytes, 2u) * 32 : 64;
  int32_t slot = int32_t(program.registerBytes);
  program.registerBytes += (size + 63) / 64 * 64;
  return slot;
}

int32_t Decoder::constant(uint64_t bits, unsigned bytes) {
  unsigned width = bytes == 0 ? 0 : bytes <= 2 ? 1 : bytes == 4 ? 2 : 3;
  if (bytes == 0)
    bits = bits ? 0xFFFFFFFFu : 0;
  else if (bytes < 8)
    bits &= (uint64_t(1) << (8 * std::max(bytes, 2u))) - 1;
  auto it = constantSlots[width].find(bits);
  if (it != constantSlots[width].end())
    return it->second;
  // Images grow downwards: the newest constant lies lowest, in front of the older ones.
  unsigned lane = bytes == 0 ? 4 : bytes == 16 ? 16 : std::max(bytes, 2u);
  unsigned size = bytes == 0 ? 64 : lane * 32;
  std::vector<uint8_t> image(size, 0);
  if (bytes == 0) {
    std::memcpy(image.data(), &bits, 4);
  } else {
    for (unsigned i = 0; i < 32; ++i)
      std::memcpy(image.data() + i * lane, &bits, std::min(lane, 8u));
  }
  program.constants.insert(program.constants.begin(), image.begin(), image.end());
  int32_t slot = -int32_t(program.constants.size());
  if (bytes != 16)
    constantSlots[width].emplace(bits, slot);
  return slot;
}

bool Decoder::immediate(const Operand &o, int64_t &value) const {
  if (o.kind != Operand::Imm)
    return false;
  value = int64_t(o.bits);
  return true;
}

int64_t Decoder::needImmediate(const Operand &o, const char *what) const {
  if (o.kind != Operand::Imm)
    fail(std::string(what) + " must be an immediate integer");
  return int64_t(o.bits);
}

unsigned Decoder::registerBytes(const Operand &o) const {
  return o.kind == Operand::Reg ? frame->function->registers[size_t(o.reg)].bytes : 0;
}

int32_t Decoder::use(const Operand &o, Ty type, bool anyWidth) {
  unsigned bytes = bytesOf(type);
  switch (o.kind) {
  case Operand::Reg: {
    unsigned have = frame->function->registers[size_t(o.reg)].bytes;
    if (have != bytes && !anyWidth && !(have <= 2 && bytes <= 2 && have && bytes))
      fail("register '" + std::string(o.name) + "' has " + std::to_string(8 * have) +
           " bits, the instruction needs " + std::to_string(8 * bytes));
    if (bytes && have > bytes)
      narrowNow.emplace_back(usesNow.size(), uint8_t(bytes));
    usesNow.push_back(frame->ids[size_t(o.reg)]);
    return frame->slots[size_t(o.reg)];
  }
  case Operand::Imm:
    if (type == Ty::F32 || type == Ty::F64 || type == Ty::F16 || type == Ty::BF16)
      fail("an integer immediate cannot be a floating-point operand");
    return constant(o.bits, bytes);
  case Operand::Float: {
    uint64_t bits = o.bits;
    if (o.isDouble && bytes == 4) {
      double d;
      std::memcpy(&d, &o.bits, 8);
      float f = float(d);
      uint32_t low;
      std::memcpy(&low, &f, 4);
      bits = low;
    } else if (!o.isDouble && bytes == 8) {
      uint32_t low = uint32_t(o.bits);
      float f;
      std::memcpy(&f, &low, 4);
      double d = f;
      std::memcpy(&bits, &d, 8);
    }
    return constant(bits, bytes);
  }
  case Operand::Special:
    return slotOfSpecial(o, bytes);
  case Operand::Symbol:
    return slotOfSymbol(o, bytes);
  default:
    fail("operand cannot be read here");
  }
}

std::vector<ByteSource> Decoder::sourceBytes(const std::vector<Operand> &operands,
                                             unsigned bytes) const {
  std::vector<ByteSource> sources;
  size_t next = usesNow.size();
  for (const Operand &o : operands) {
    bool isRegister = o.kind == Operand::Reg;
    for (unsigned k = 0; k < bytes; ++k)
      sources.push_back(isRegister ? ByteSource{uint8_t(next), uint8_t(k)} : ByteSource());
    next += isRegister;
  }
  return sources;
}

int32_t Decoder::def(const Operand &o, Ty type, bool anyWidth) {
  if (o.kind == Operand::Sink)
    return scratch;
  if (o.kind != Operand::Reg)
    fail("the destination must be a register");
  unsigned have = frame->function->registers[size_t(o.reg)].bytes, bytes = bytesOf(type);
  if (have != bytes && !anyWidth && !(have <= 2 && bytes <= 2 && have && bytes))
    fail("destination register '" + std::string(o.name) + "' has " + std::to_string(8 * have) +
         " bits, the instruction writes " + std::to_string(8 * bytes));
  defsNow.push_back(frame->ids[size_t(o.reg)]);
  return frame->slots[size_t(o.reg)];
}

int32_t Decoder::usePred(const Operand &o, bool &negated) {
  negated = o.negated;
  if (o.kind == Operand::Imm)
    return constant(o.bits, 0);
  if (o.kind != Operand::Reg || registerBytes(o))
    fail("a predicate register is needed");
  usesNow.push_back(frame->ids[size_t(o.reg)]);
  return frame->slots[size_t(o.reg)];
}

int32_t Decoder::defPred(const Operand &o) {
  if (o.kind == Operand::Sink)
    return scratch;
  if (o.kind != Operand::Reg || registerBytes(o))
    fail("the destination must be a predicate register");
  defsNow.push_back(frame->ids[size_t(o.reg)]);
  return frame->slots[size_t(o.reg)];
}

void Decoder::useList(const Operand &o, Ty type) {
  in.list = uint32_t(program.lists.size());
  if (o.kind == Operand::Vector)
    for (const Operand &p : o.parts)
      program.lists.push_back(use(p, type, true));
  else
    program.lists.push_back(use(o, type, true));
  in.count = uint16_t(program.lists.size() - in.list);
}

void Decoder::defList(const Operand &o, Ty type) {
  in.list = uint32_t(program.lists.size());
  if (o.kind == Operand::Vector)
    for (const Operand &p : o.parts)
      program.lists.push_back(def(p, type, true));
  else
    program.lists.push_back(def(o, type, true));
  in.count = uint16_t(program.lists.size() - in.list);
}

} // namespace sim
} // namespace tileloom
