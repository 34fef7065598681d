//===- PartialRegisters.cpp - Registers with undefined bytes --------------===//
//
// LLVM packs a value and an undefined one into a register and then uses only the bytes of the first.
// Where Warp::written lacks lanes of a register, Warp::partial says which bytes hold a value in them.
// Instructions that only move bytes take that along, as do those of two values in a register by halves; a byte is used by all others that
// read it.
//
//===----------------------------------------------------------------------===//
#include "Access.h"

namespace tileloom {
namespace sim {

static uint32_t definedLanes(const Warp &w, uint32_t reg, unsigned byte) {
  auto it = w.partial.find(reg);
  return w.written[reg] | (it == w.partial.end() ? 0 : it->second[byte]);
}

uint32_t undefinedIn(const Warp &w, uint32_t ref, uint32_t lanes) {
  auto narrow = w.program->narrowReads.find(ref);
  if (narrow == w.program->narrowReads.end())
    return lanes;
  uint32_t defined = lanes;
  for (unsigned byte = 0; byte < narrow->second; ++byte)
    defined &= definedLanes(w, w.program->refs[ref], byte);
  return lanes & ~defined;
}

static void setDefined(Warp &w, uint32_t reg, uint32_t lanes, const std::array<uint32_t, 16> &defined, size_t count) {
  std::array<uint32_t, 16> &bytes = w.partial[reg];
  uint32_t whole = lanes;
  for (unsigned k = 0; k < 16; ++k) {
    bytes[k] = (bytes[k] & ~lanes) | defined[k];
    if (k < count)
      whole &= defined[k];
  }
  w.written[reg] = (w.written[reg] & ~lanes) | whole;
}

void moveUndefined(Warp &w, const Instr &in, uint32_t lanes) {
  const uint32_t *refs = w.program->refs.data() + in.refs;
  const bool guarded = in.guard >= 0; // the guard is the first use
  const uint32_t sure = guarded ? w.written[refs[0]] : ~0u;
  auto move = w.program->byteMoves.find(in.refs);
  if (in.flags & FlagHalves) {
    std::array<uint32_t, 16> defined = {};
    for (unsigned k = 0; k < 4; ++k) {
      defined[k] = lanes & sure;
      for (unsigned i = guarded; i < in.uses; ++i)
        defined[k] &= definedLanes(w, refs[i], k) & definedLanes(w, refs[i], k ^ 1);
    }
    if (in.defs == 1)
      return setDefined(w, refs[in.uses], lanes, defined, 4);
    for (unsigned i = 0; i < in.defs; ++i) { // comparisons: a predicate for each half
      std::array<uint32_t, 16> own = {};
      own.fill(defined[2 * i]);
      setDefined(w, refs[in.uses + i], lanes, own, 16);
    }
    return;
  }
  const bool copies = move == w.program->byteMoves.end(); // all bytes of the only source
  const uint8_t source = in.uses > guarded ? guarded : ByteSource::Defined;
  for (unsigned i = 0; i < in.defs; ++i) {
    const size_t count = copies ? 16 : move->second.size() / in.defs;
    uint32_t reg = refs[in.uses + i];
    std::array<uint32_t, 16> defined = {};
    for (unsigned k = 0; k < count; ++k) {
      ByteSource s = copies ? ByteSource{source, uint8_t(k)} : move->second[i * count + k];
      defined[k] = lanes & sure;
      if (s.use != ByteSource::Defined)
        defined[k] &= definedLanes(w, refs[s.use], s.byte);
    }
    setDefined(w, reg, lanes, defined, count);
  }
}

} // namespace sim
} // namespace tileloom
