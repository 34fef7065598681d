//===- Program.h - Decoded kernels ------------------------------*- C++ -*-===//
//
// What the machine runs: one flat array of instructions, each with a handler and resolved operand
// slots. A register of a warp is an array of 32 lanes (2, 4, 8 or 16 bytes each) and a predicate is
// a 32-bit mask; a slot is its byte offset in the warp's register file. Slots below zero are
// constants, spread over 32 lanes once and copied in front of each register file, so that handlers
// never ask what kind of operand they have.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_PROGRAM_H
#define TILELOOM_LIB_SIMULATOR_PROGRAM_H

#include "Ast.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tileloom {
namespace sim {

struct Warp;
struct Instr;

/// What a handler tells the interpreter.
enum class Step : uint8_t {
  Next,    // go on
  Blocked, // wait; run this instruction again when something has happened
  Yield,   // done, but let others run first
  Again,   // not done: run it again after others had a turn
  Stop     // the thread group ended
};
using Handler = Step (*)(Warp &, const Instr &);

enum InstrFlag : uint16_t {
  FlagBranch = 1,    // bra: handled by the interpreter
  FlagExit = 2,      // ret/exit
  FlagAligned = 4,   // .aligned: all live lanes must execute it together
  FlagMove = 8,      // copies undefined values without complaint
  FlagTrap = 16,     //
  FlagIndirect = 32, // brx.idx
  FlagPhiLike = 64,  // chooses between sources: one of them may be undefined
  FlagMatrix = 128,  // wgmma: checks its registers itself
  FlagBytes = 256,   // moves bytes as Program::byteMoves says, undefined ones without complaint
  FlagHalves = 512,  // two values of 16 bits in each register: those of an undefined half are undefined
};

struct Instr {
  Handler run = nullptr;
  int32_t d = 0, a = 0, b = 0, c = 0, e = 0, f = 0; // slots
  int64_t imm = 0;
  uint32_t list = 0; // first of `count` slots in Program::lists
  uint16_t count = 0;
  uint16_t flags = 0;
  uint32_t sub = 0;   // bits of the family
  int32_t guard = -1; // predicate slot
  uint8_t guardNegated = 0;
  uint8_t cost = 1;
  uint16_t sub2 = 0;
  uint32_t target = 0; // FlagBranch
  uint32_t join = ~0u; // FlagBranch: where the sides meet again; ~0: nowhere
  uint32_t line = 0;
  uint32_t refs = 0; // first entry in Program::refs
  uint16_t uses = 0, defs = 0;
};

/// A register-file slot that a warp fills in when it starts.
struct InitialSlot {
  int32_t slot;
  enum Kind : uint8_t {
    TidX,
    TidY,
    TidZ,
    NtidX,
    NtidY,
    NtidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    LaneId,
    WarpId,
    NwarpId,
    SmId,
    NsmId,
    GridId,
    MaskEq,
    MaskLe,
    MaskLt,
    MaskGe,
    MaskGt,
    ClusterIdX,
    ClusterIdY,
    ClusterIdZ,
    NclusterIdX,
    NclusterIdY,
    NclusterIdZ,
    ClusterCtaX,
    ClusterCtaY,
    ClusterCtaZ,
    ClusterNctaX,
    ClusterNctaY,
    ClusterNctaZ,
    ClusterRank,
    ClusterSize,
    IsExplicitCluster,
    DynamicShared,
    TotalShared,
    SharedSymbol
  } kind;
  uint8_t bytes = 4;
  int64_t value = 0; // SharedSymbol: the offset
};

/// Bits in `uses`/`defs` entries.
struct RegisterRef {
  uint32_t id;
};

/// Where a byte of a result comes from: of the uses of the instruction, or from something defined.
struct ByteSource {
  static constexpr uint8_t Defined = 0xFF;
  uint8_t use = Defined, byte = 0;
};

struct Program {
  std::string name;
  const Ast *ast = nullptr;
  std::vector<Instr> code;
  std::vector<int32_t> lists;
  std::vector<uint32_t> refs; // register ids: uses then defs of each instruction
  // By Instr::refs: the bytes of all results of a FlagBytes instruction, one result after the other.
  std::unordered_map<uint32_t, std::vector<ByteSource>> byteMoves;
  std::unordered_map<uint32_t, uint8_t> narrowReads; // by place in refs: only these low bytes are read
  std::vector<std::vector<uint32_t>> jumpTables;
  std::vector<std::shared_ptr<void>> extras; // what does not fit into an Instr (cvt)
  std::vector<uint8_t> constants;            // image placed below slot 0
  std::vector<InitialSlot> initial;
  std::vector<std::string> registerNames; // by id
  std::vector<std::string_view> text;     // source of each instruction
  std::vector<std::pair<uint32_t, uint32_t>> sources; // its .loc: file and line
  uint32_t registerBytes = 0, registerCount = 0;
  uint32_t localBytes = 0;
  uint32_t staticShared = 0; // bytes above the base, before the dynamic part
  std::vector<Variable> params;
  std::vector<uint32_t> paramOffsets;
  uint32_t parameterBytes = 0;
  uint32_t requiredThreads[3] = {0, 0, 0}, maxThreads[3] = {0, 0, 0}, cluster[3] = {0, 0, 0};
  uint32_t maxRegisters = 0, minCtas = 0;
  bool usesSetMaxNreg = false, usesGlobalAtomics = false, usesTensorMemory = false,
       usesTensorFences = false;
};

/// Address windows. Shared addresses carry the CTA's rank in the cluster from bit 24 up (as the
/// hardware's do: CUTLASS clears bit 24 to name the even CTA of a pair); a CTA's own start at 1024.
constexpr uint64_t SharedWindow = uint64_t(1) << 48, LocalWindow = uint64_t(2) << 48,
                   ParamWindow = uint64_t(3) << 48;
constexpr uint32_t SharedBase = 1024;

} // namespace sim
} // namespace tileloom

#endif
