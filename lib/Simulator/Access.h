//===- Access.h - Checked accesses to simulated memory -----------*- C++ -*-===//
//
// Turns addresses into host pointers, and tells the checks about the access. A bad address is
// reported and gives a null pointer; the caller then skips the lane.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_ACCESS_H
#define TILELOOM_LIB_SIMULATOR_ACCESS_H

#include "Machine.h"

namespace tileloom {
namespace sim {

/// Update: atomic read-modify-write or strong write. StrongRead: volatile, relaxed or acquire load.
enum class Mode : uint8_t { Read, Write, Update, StrongRead };
inline bool writes(Mode m) { return m == Mode::Write || m == Mode::Update; }

/// Whose access it is, for happens-before. Default: the running warp, generic proxy.
struct Actor {
  uint32_t id = 0, epoch = 0;
  bool async = false;
  bool update = false;
  uint8_t layout = 0; // AccessRecord::layout: what a TMA load writes or a descriptor expects
  const char *what = nullptr; // null: the opcode of the instruction
};
Actor genericActor(const Warp &w);

struct SharedPlace {
  Cta *cta = nullptr;
  uint32_t offset = 0;
  uint8_t *data() const { return cta->shared.data() + offset; }
  explicit operator bool() const { return cta != nullptr; }
};

/// Resolves a 32-bit shared address; `anyCta`: shared::cluster, else only the own CTA. Checks
/// bounds and alignment (0: none) and reports.
SharedPlace sharedPlace(Warp &w, uint32_t address, uint32_t bytes, uint32_t align, bool anyCta,
                        int lane, const char *what = nullptr);
/// Tells the race and initialisation checks.
void noteShared(Warp &w, const SharedPlace &p, uint32_t bytes, Mode mode, const Actor &actor,
                int lane, bool sameValue = false);
/// Global memory: pointer or null.
uint8_t *globalPlace(Warp &w, uint64_t address, uint32_t bytes, uint32_t align, Mode mode, int lane,
                     const char *what = nullptr);
void noteGlobal(Warp &w, uint64_t address, uint32_t bytes, Mode mode, const Actor &actor, int lane);
/// The space that an address lies in: itself, or of a generic address what its window says.
Space spaceOf(Space space, uint64_t address);
/// Any address of a space; notes the access as generic-proxy.
/// `value`: the bytes that a write stores; writing what is there already disturbs nobody.
uint8_t *place(Warp &w, Space space, uint64_t address, uint32_t bytes, uint32_t align, Mode mode,
               int lane, bool anyCta = false, const uint8_t *value = nullptr);

std::string hex(uint64_t v);
std::string describeShared(const Cta &cta, uint32_t offset);
/// Registers with undefined bytes (PartialRegisters.cpp). Of the lanes that lack (part of) the register
/// of Program::refs[ref]: those in which the instruction reads an undefined byte of it.
uint32_t undefinedIn(const Warp &w, uint32_t ref, uint32_t lanes);
/// What an instruction that moves bytes, undefined ones among them, leaves in its results.
void moveUndefined(Warp &w, const Instr &in, uint32_t lanes);
void report(Warp &w, const char *kind, const std::string &message, int lane = -1);

/// Release and acquire of the running warp's clocks. `lanes`: who releases; the active ones acquire.
void releaseInto(Warp &w, Clocks &to, uint32_t lanes);
/// What comes behind a release (or a fence that later ones build on) of the lanes.
void nextEpoch(Warp &w, uint32_t lanes);
void acquireFrom(Warp &w, const Clocks &from);
/// Raises what a warp knows of one actor (an asynchronous stream that it has waited for).
/// `proxied`: also what the asynchronous proxy may see (not so for cp.async, which is generic).
void learn(Warp &w, uint32_t actor, uint32_t epoch, uint32_t lanes, bool proxied = true);
void learn(Clocks &c, uint32_t actor, uint32_t epoch, bool proxied = true, bool tensor = false);

inline uint32_t warpActor(const Cta &cta, uint32_t warp) {
  return cta.rank * cta.cluster->grid->actorsPerCta + warp;
}
inline uint32_t bulkActor(const Warp &w) { return w.actor + w.cluster->grid->warpsPerCta; }
inline uint32_t wgmmaActor(const Warp &w) { return w.actor + 2 * w.cluster->grid->warpsPerCta; }
inline uint32_t tensorActor(const Warp &w) { return w.actor + 3 * w.cluster->grid->warpsPerCta; }
inline uint32_t barrierActor(const Cta &cta, size_t index) {
  return cta.rank * cta.cluster->grid->actorsPerCta + 4 * cta.cluster->grid->warpsPerCta +
         uint32_t(std::min<size_t>(index, MaxBarriers - 1));
}

inline void madeProgress(Warp &w) { ++w.cluster->progress; }
inline void madeEvent(Cluster &c) {
  ++c.events;
  ++c.progress;
}

} // namespace sim
} // namespace tileloom

#endif
