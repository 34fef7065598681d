//===- WgmmaChecks.cpp - Rules of wgmma at issue --------------------------===//
//
// See Wgmma.h. Looks at descriptors, shared memory and registers when a warp issues a wgmma; reads
// of shared memory count from then on until the wait, whenever the simulator executes them.
//
//===----------------------------------------------------------------------===//
#include "Wgmma.h"

#include "tileloom/Simulator/Sparse.h"

namespace tileloom {
namespace sim {

/// The shared memory that the warp's part of the instruction reads.
void noteWgmmaOperand(Warp &w, uint64_t bits, Major major, unsigned bytes, unsigned row0,
                      unsigned rows, unsigned k, const char *name) {
  MatrixDescriptor desc;
  std::string e = decodeWgmmaDescriptor(bits, desc);
  if (e.empty())
    e = checkLayout(desc, major, bytes);
  if (!e.empty()) {
    report(w, "descriptor", std::string(name) + " descriptor " + hex(bits) + ": " + e);
    return;
  }
  Actor actor;
  actor.id = wgmmaActor(w);
  actor.epoch = uint32_t(w.wgmmaCommits + 1);
  actor.async = true;
  actor.what = "wgmma";
  actor.layout = uint8_t(1 + unsigned(desc.swizzle));
  bool ok = true;
  auto note = [&](uint32_t address, uint32_t n) {
    if (address < SharedBase || uint64_t(address) + n > w.cta->shared.size()) {
      if (ok)
        report(w, "out-of-bounds",
               std::string(name) + " of wgmma at shared address " + hex(address) +
                   "; shared memory ends at " + hex(w.cta->shared.size()));
      ok = false;
      return;
    }
    if (w.cta->shadow)
      noteShared(w, {w.cta, address}, n, Mode::Read, actor, -1);
  };
  uint32_t rowBytes = k * bytes, chunk = 16 / bytes;
  if (major == Major::K) {
    for (unsigned r = row0; r < row0 + rows && ok; ++r)
      for (unsigned kk = 0; kk < k; kk += chunk)
        note(elementAddress(desc, major, bytes, r, kk), std::min(16u, rowBytes));
  } else {
    for (unsigned kk = 0; kk < k && ok; ++kk)
      for (unsigned r = row0; r < row0 + rows; r += chunk)
        note(elementAddress(desc, major, bytes, r, kk), 16);
  }
}

void wgmmaPlaces(Warp &w, const Instr &in, const WgmmaProperties &p, uint8_t *places) {
  const uint32_t *metadata = w.reg<uint32_t>(in.e);
  unsigned chunk = sparseChunk(p.elementBits), chunks = p.kB / chunk;
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned c = 0; c < chunks; ++c) {
      SparsePlace at = sparseRegister(p.elementBits, chunks, p.selector, row, c);
      uint32_t code = metadata[at.lane] >> at.bit & 15;
      uint8_t *place = places + row * p.k + c * (chunk / 2);
      if (!sparsePlaces(chunk, code, false, place))
        report(w, "sparse-metadata",
               "row " + std::to_string(16 * (w.id % 4) + row) + " of A, columns " +
                   std::to_string(c * chunk) + " to " + std::to_string(c * chunk + chunk - 1) +
                   ": the code is " + sparseCode(code) + ", needs " +
                   (chunk == 2 ? "0b0100 or 0b1110" : "two different indices"),
               int(at.lane));
      for (unsigned i = 0; i < chunk / 2; ++i)
        place[i] = uint8_t(place[i] + c * chunk);
    }
}

/// The open group takes a register: it stays in flight until the youngest such group is waited for.
static void own(Warp &w, uint32_t reg, uint16_t owner) {
  if (!w.inFlight[reg] || w.inFlightGroup[reg] != w.wgmmaCommits + 1)
    w.wgmmaOpenRegs.push_back(reg);
  w.inFlight[reg] = owner;
  w.inFlightGroup[reg] = uint32_t(w.wgmmaCommits + 1);
}

/// Register rules at issue (PTX ISA 9.7.15.5.2, 9.7.15.7.1): a fence after the last write of A and accumulators,
/// no accumulator of another shape in flight, defined values.
void checkWgmmaRegisters(Warp &w, const Instr &in, const WgmmaProperties &p, bool scaleD) {
  const uint32_t *refs = w.program->refs.data() + in.refs;
  unsigned total = in.uses + in.defs, firstDef = in.uses;
  Cluster &c = *w.cluster;
  if (c.checking(CheckInFlight)) {
    if (!w.wgmmaFences)
      report(w, "missing-wgmma-fence", "wgmma without a wgmma.fence before it");
    for (unsigned i = p.aInRegisters ? firstDef - 4 : firstDef; i < total; ++i) {
      bool isD = i >= firstDef;
      const std::string &name = w.program->registerNames[refs[i]];
      if (w.wgmmaFences && w.fenceMark[refs[i]] == w.wgmmaFences && (!isD || scaleD))
        report(w, "missing-wgmma-fence",
               "register " + name + (isD ? " (accumulator)" : " (matrix A)") +
                   " was written after the last wgmma.fence");
      else if (w.wgmmaFences && isD && w.readMark[refs[i]] == w.wgmmaFences)
        report(w, "missing-wgmma-fence",
               "accumulator register " + name + " was read after the last wgmma.fence");
      uint16_t owner = w.inFlight[refs[i]];
      if (owner && isD && owner != 1 + (in.sub & 511))
        report(w, "register-in-flight",
               "accumulator register " + name +
                   " belongs to a wgmma of another shape that has not been waited for");
      if (owner && !isD && owner != 0xFFFF)
        report(w, "register-in-flight",
               "matrix A register " + name +
                   " is the accumulator of a wgmma that has not been waited for");
    }
  }
  for (unsigned i = firstDef; i < total; ++i) {
    own(w, refs[i], uint16_t(1 + (in.sub & 511)));
    if (c.checking(CheckUninitialised) && scaleD && w.written[refs[i]] != ~0u)
      report(w, "uninitialised",
             "accumulator register " + w.program->registerNames[refs[i]] +
                 " is added to but was never written");
    w.written[refs[i]] = ~0u;
    w.fenceMark[refs[i]] = w.readMark[refs[i]] = 0; // the chain of accumulators needs no fence
  }
  if (p.aInRegisters)
    for (unsigned i = firstDef - 4; i < firstDef; ++i)
      if (!w.inFlight[refs[i]] || w.inFlight[refs[i]] == 0xFFFF)
        own(w, refs[i], 0xFFFF);
  w.inFlightCount = 1;
}

} // namespace sim
} // namespace tileloom
