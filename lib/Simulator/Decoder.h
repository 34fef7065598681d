//===- Decoder.h - From statements to instructions ---------------*- C++ -*-===//
//
// One decode function per opcode, registered in a table by the Decode*.cpp files. It takes the
// statement's modifiers apart (what is left over is an error), resolves the operands to slots and
// picks the handler. Calls are expanded in place, so the machine knows no call stack.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_DECODER_H
#define TILELOOM_LIB_SIMULATOR_DECODER_H

#include "Program.h"
#include "tileloom/Simulator/Error.h"

#include <functional>
#include <unordered_map>

namespace tileloom {
namespace sim {

enum class Ty : uint8_t {
  None,
  Pred,
  B8,
  U8,
  S8,
  B16,
  U16,
  S16,
  B32,
  U32,
  S32,
  B64,
  U64,
  S64,
  B128,
  F16,
  BF16,
  F32,
  F64,
  TF32,
  F16x2,
  BF16x2,
  F32x2,
  U16x2,
  S16x2,
  E4M3x2,
  E5M2x2,
  E2M1x2,
  E2M3x2,
  E3M2x2,
  UE8M0x2,
  E4M3x4,
  E5M2x4,
  E2M1x4,
  E2M3x4,
  E3M2x4,
  E4M3,
  E5M2
};
unsigned bytesOf(Ty t);
bool isSigned(Ty t);
bool isInteger(Ty t); // b, u, s
bool parseType(std::string_view name, Ty &t);

class Decoder;
using DecodeFunction = void (*)(Decoder &);
using DecodeTable = std::unordered_map<std::string_view, DecodeFunction>;

class Decoder {
public:
  Decoder(Program &program, const Ast &ast,
          const std::unordered_map<std::string, uint64_t> &addresses);
  void decode(const Function &entry);

  // The statement being decoded.
  const Statement *st = nullptr;
  Instr in;
  [[noreturn]] void fail(const std::string &message) const;

  // Modifiers.
  bool take(std::string_view modifier);
  /// Takes the first of the list that is there; -1 if none.
  int takeOneOf(std::initializer_list<const char *> modifiers);
  /// Takes the next part that names a type; Ty::None if there is none.
  Ty takeType();
  Ty needType();
  std::string_view takeAny(); // the next part; empty at the end
  bool has(std::string_view modifier) const;
  void finishModifiers(); // error if anything is left

  // Operands.
  size_t operandCount() const { return st->operands.size(); }
  const Operand &operand(size_t i) const;
  void needOperands(size_t low, size_t high);
  int32_t use(const Operand &o, Ty type, bool anyWidth = false);
  int32_t def(const Operand &o, Ty type, bool anyWidth = false);
  int32_t usePred(const Operand &o, bool &negated);
  int32_t defPred(const Operand &o);
  unsigned registerBytes(const Operand &o) const; // of a register operand; 0 otherwise
  /// A run of slots in Program::lists from a vector operand.
  void useList(const Operand &o, Ty type);
  void defList(const Operand &o, Ty type);
  void useDefList(const Operand &o, Ty type);
  int32_t constant(uint64_t bits, unsigned bytes);
  /// Their low bytes, as sources for emitBytes; to be called before use() of these operands.
  std::vector<ByteSource> sourceBytes(const std::vector<Operand> &operands, unsigned bytes) const;
  bool immediate(const Operand &o, int64_t &value) const;
  int64_t needImmediate(const Operand &o, const char *what) const;

  struct Address {
    int32_t slot = 0;
    int64_t offset = 0;
    bool wide = false;            // the slot holds 64 bits
    Space space = Space::Generic; // of a symbol
    bool isSymbol = false;
    bool isLocalParam = false;
  };
  Address address(const Operand &o);

  /// Finishes `in` and appends it.
  void emit(Handler handler, uint16_t flags = 0, uint8_t cost = 1);
  /// The same for an instruction that puts together its results from these bytes.
  /// The flag of an instruction whose result for each half of a register depends on that half of its operands.
  static uint16_t halves(Ty t) {
    return t == Ty::F16x2 || t == Ty::BF16x2 || t == Ty::U16x2 || t == Ty::S16x2 ? uint16_t(FlagHalves) : uint16_t(0);
  }
  void emitBytes(Handler handler, std::vector<ByteSource> sources, uint16_t flags = 0);
  Program &program;
  const Ast &ast;
  std::vector<uint32_t> usesNow, defsNow;
  std::vector<std::pair<size_t, uint8_t>> narrowNow; // of usesNow: the low bytes that are read

private:
  struct Frame {
    const Function *function = nullptr;
    std::vector<int32_t> slots; // of its registers
    std::vector<uint32_t> ids;
    std::vector<int64_t> localOffsets;                     // of its locals
    std::unordered_map<std::string, int64_t> paramOffsets; // formal name -> local memory offset
    std::unordered_map<std::string, uint32_t> labels;
    std::vector<std::pair<uint32_t, std::string>> branches;
    std::vector<uint32_t> returns; // branch instructions to the end
    unsigned depth = 0;
  };
  void emitFunction(const Function &f, Frame &frame);
  void allocate(const Function &f, Frame &frame);
  void decodeStatement();
  void branchTo(std::string_view label);
  void decodeBranch();
  void decodeIndirect();
  void decodeCall();
  void decodeReturn(bool isExit);
  const Function *findFunction(std::string_view name) const;
  int32_t slotOfSymbol(const Operand &o, unsigned bytes);
  int32_t slotOfSpecial(const Operand &o, unsigned bytes);
  int32_t initialSlot(InitialSlot::Kind kind, unsigned bytes, int64_t value = 0);
  int32_t newSlot(unsigned bytes);
  bool symbolOffset(const Operand &o, Space &space, int64_t &value);

  const std::unordered_map<std::string, uint64_t> &addresses;
  Frame *frame = nullptr;
  std::vector<std::string_view> left; // modifiers not yet taken
  std::unordered_map<uint64_t, int32_t> constantSlots[4];
  std::unordered_map<std::string, uint32_t> sharedOffsets;
  int32_t scratch = 0;
};

const DecodeTable &decodeTable();
void registerInteger(DecodeTable &);
void registerLogic(DecodeTable &);
void registerFloat(DecodeTable &);
void registerCompare(DecodeTable &);
void registerConvert(DecodeTable &);
void registerMove(DecodeTable &);
void registerMemory(DecodeTable &);
void registerAtomic(DecodeTable &);
void registerWarp(DecodeTable &);
void registerBarrier(DecodeTable &);
void registerMbarrier(DecodeTable &);
void registerBulk(DecodeTable &);
void registerTensorMap(DecodeTable &);
void registerMatrix(DecodeTable &);
void registerWgmma(DecodeTable &);
void registerTensor(DecodeTable &);
void registerControl(DecodeTable &);
void registerLaunch(DecodeTable &);

/// Fills Instr::join of every branch (Reconvergence.cpp).
void findJoins(Program &program);

} // namespace sim
} // namespace tileloom

#endif
