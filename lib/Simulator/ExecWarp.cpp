//===- ExecWarp.cpp - Instructions across lanes (PTX ISA 9.7.9.6, 9.7.13) -===//
//
// shfl, vote, match, redux, elect, activemask, bar.warp.sync. Lanes named by the member mask meet
// first: a group that lacks some of them waits until they come to the same instruction.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"
#include "tileloom/Simulator/FloatOps.h"

namespace tileloom {
namespace sim {
namespace {

/// Makes the lanes of `mask` execute together: true when all live ones are here. Groups of the warp
/// that stand at the same instruction are merged; otherwise the group waits.
bool gather(Warp &w, uint32_t mask, Step &step) {
  uint32_t needed = mask & w.live;
  if ((w.active & needed) == needed)
    return true;
  uint32_t pc = uint32_t(w.current - w.program->code.data());
  // Others of the same pc wait here too: join them under the innermost common place.
  for (size_t i = 0; i < w.groups.size(); ++i) {
    Group &g = w.groups[i];
    if (&g == w.group || g.pc != pc || g.join != w.group->join)
      continue;
    w.group->mask |= g.mask;
    size_t own = size_t(w.group - w.groups.data());
    w.groups.erase(w.groups.begin() + long(i));
    w.group = &w.groups[own - (i < own)];
    ++w.cluster->events;
    step = Step::Again;
    return false;
  }
  w.block(WaitInfo::WarpSync, 0, mask);
  step = Step::Blocked;
  return false;
}

uint32_t memberMask(Warp &w, int32_t slot) {
  uint32_t mask = w.reg<uint32_t>(slot)[w.firstLane()];
  eachLane(w.active, [&](unsigned i) {
    if (w.reg<uint32_t>(slot)[i] >> i & 1)
      return;
    report(w, "bad-membermask",
           "the executing lane is not in the member mask " + hex(w.reg<uint32_t>(slot)[i]), int(i));
  });
  return mask;
}

enum ShflMode { Up, Down, Bfly, Idx };
// a: value, b: lane operand, c: clamp, e: mask, f: predicate; sub: mode | has predicate << 4
Step shfl(Warp &w, const Instr &in) {
  Step step;
  if (!gather(w, memberMask(w, in.e), step))
    return step;
  const uint32_t *a = w.reg<uint32_t>(in.a), *b = w.reg<uint32_t>(in.b), *c = w.reg<uint32_t>(in.c);
  uint32_t result[32], ok = 0;
  eachLane(w.active, [&](unsigned lane) {
    uint32_t seg = c[lane] >> 8 & 31, clamp = c[lane] & 31, bv = b[lane] & 31;
    uint32_t top = (lane & seg) | (clamp & ~seg), low = lane & seg;
    int j;
    bool p;
    switch (in.sub & 3) {
    case Up:
      j = int(lane) - int(bv);
      p = j >= int(top);
      break;
    case Down:
      j = int(lane + bv);
      p = j <= int(top);
      break;
    case Bfly:
      j = int(lane ^ bv);
      p = j <= int(top);
      break;
    default:
      j = int(low | (bv & ~seg));
      p = j <= int(top);
      break;
    }
    if (!p)
      j = int(lane);
    if (!(w.active >> (j & 31) & 1))
      report(w, "shfl-inactive",
             "shfl reads lane " + std::to_string(j) + ", which does not execute it", int(lane));
    result[lane] = a[j & 31];
    ok |= uint32_t(p) << lane;
  });
  uint32_t *d = w.reg<uint32_t>(in.d);
  eachLane(w.active, [&](unsigned i) { d[i] = result[i]; });
  if (in.sub & 16)
    setPredicate(w, in.f, ok);
  return Step::Next;
}

enum VoteMode { All, Any, Uni, Ballot };
// a: predicate (sub bit 4: negated), e: mask
Step vote(Warp &w, const Instr &in) {
  Step step;
  uint32_t mask = memberMask(w, in.e);
  if (!gather(w, mask, step))
    return step;
  uint32_t lanes = w.active & mask, p = getPredicate(w, in.a, in.sub & 16) & lanes;
  if ((in.sub & 3) == Ballot) {
    eachLane(w.active, [&](unsigned i) { w.reg<uint32_t>(in.d)[i] = p; });
    return Step::Next;
  }
  bool r = (in.sub & 3) == All ? p == lanes : (in.sub & 3) == Any ? p != 0 : p == 0 || p == lanes;
  setPredicate(w, in.d, r ? ~0u : 0);
  return Step::Next;
}

template <class T> Step match(Warp &w, const Instr &in) {
  Step step;
  uint32_t mask = memberMask(w, in.e);
  if (!gather(w, mask, step))
    return step;
  const T *a = w.reg<T>(in.a);
  uint32_t *d = w.reg<uint32_t>(in.d), lanes = w.active & mask, ok = 0;
  uint32_t result[32];
  eachLane(w.active, [&](unsigned i) {
    uint32_t same = 0;
    eachLane(lanes, [&](unsigned j) { same |= uint32_t(a[i] == a[j]) << j; });
    if (in.sub & 1) { // all
      result[i] = same == lanes ? same : 0;
      ok |= uint32_t(same == lanes) << i;
    } else {
      result[i] = same;
    }
  });
  eachLane(w.active, [&](unsigned i) { d[i] = result[i]; });
  if (in.sub & 2)
    setPredicate(w, in.f, ok);
  return Step::Next;
}

enum ReduxOp { RAdd, RMin, RMax, RAnd, ROr, RXor };
// sub: op | signed << 4 | float << 5 | abs << 6 | nan << 7
Step redux(Warp &w, const Instr &in) {
  Step step;
  uint32_t mask = memberMask(w, in.e);
  if (!gather(w, mask, step))
    return step;
  const uint32_t *a = w.reg<uint32_t>(in.a);
  bool first = true;
  uint32_t r = 0;
  MinMaxOptions o;
  o.abs = in.sub & 64;
  o.nan = in.sub & 128;
  eachLane(w.active & mask, [&](unsigned i) {
    uint32_t v = a[i];
    if (first) {
      r = in.sub & 32 && in.sub & 64 ? v & 0x7FFFFFFF : v;
      first = false;
      return;
    }
    bool s = in.sub & 16;
    switch (in.sub & 7) {
    case RAdd:
      r += v;
      break;
    case RMin:
      r = in.sub & 32 ? uint32_t(minOp(Format::F32, r, v, o))
          : s         ? uint32_t(std::min(int32_t(r), int32_t(v)))
                      : std::min(r, v);
      break;
    case RMax:
      r = in.sub & 32 ? uint32_t(maxOp(Format::F32, r, v, o))
          : s         ? uint32_t(std::max(int32_t(r), int32_t(v)))
                      : std::max(r, v);
      break;
    case RAnd:
      r &= v;
      break;
    case ROr:
      r |= v;
      break;
    case RXor:
      r ^= v;
      break;
    }
  });
  eachLane(w.active, [&](unsigned i) { w.reg<uint32_t>(in.d)[i] = r; });
  return Step::Next;
}

Step elect(Warp &w, const Instr &in) {
  Step step;
  uint32_t mask = memberMask(w, in.e);
  if (!gather(w, mask, step))
    return step;
  // The lowest lane of the mask leads (not stated by PTX; the hardware's choice is fixed for a
  // mask).
  uint32_t lanes = mask & w.active, leader = lanes & -lanes;
  eachLane(w.active,
           [&](unsigned i) { w.reg<uint32_t>(in.d)[i] = uint32_t(__builtin_ctz(leader)); });
  setPredicate(w, in.f, leader);
  return Step::Next;
}

Step activeMask(Warp &w, const Instr &in) {
  uint32_t m = w.active;
  eachLane(m, [&](unsigned i) { w.reg<uint32_t>(in.d)[i] = m; });
  return Step::Next;
}

Step warpSync(Warp &w, const Instr &in) {
  Step step;
  if (!gather(w, memberMask(w, in.e), step))
    return step;
  ++w.syncs; // for all lanes, also those outside of the mask: lenient
  return Step::Next;
}

void decodeShfl(Decoder &d) {
  if (!d.take("sync"))
    d.fail("shfl without .sync is not supported");
  int mode = d.takeOneOf({"up", "down", "bfly", "idx"});
  d.takeType();
  d.needOperands(5, 5);
  d.in.sub = uint32_t(mode);
  d.in.a = d.use(d.operand(1), Ty::B32);
  d.in.b = d.use(d.operand(2), Ty::B32);
  d.in.c = d.use(d.operand(3), Ty::B32);
  d.in.e = d.use(d.operand(4), Ty::B32);
  d.in.d = d.def(d.operand(0), Ty::B32);
  if (!d.operand(0).pair.empty()) {
    d.in.f = d.defPred(d.operand(0).pair[0]);
    d.in.sub |= 16;
  }
  d.emit(shfl, 0, 4);
}

void decodeVote(Decoder &d) {
  d.take("sync");
  int mode = d.takeOneOf({"all", "any", "uni", "ballot"});
  d.takeType();
  d.needOperands(3, 3);
  bool negated;
  d.in.a = d.usePred(d.operand(1), negated);
  d.in.e = d.use(d.operand(2), Ty::B32);
  d.in.sub = uint32_t(mode) | (negated ? 16 : 0);
  d.in.d = mode == Ballot ? d.def(d.operand(0), Ty::B32) : d.defPred(d.operand(0));
  d.emit(vote, 0, 4);
}

} // namespace

void registerWarp(DecodeTable &t) {
  t["shfl"] = decodeShfl;
  t["vote"] = [](Decoder &d) {
    if (!d.has("sync"))
      d.fail("vote without .sync is not supported");
    decodeVote(d);
  };
  t["match"] = [](Decoder &d) {
    d.take("sync");
    bool all = d.takeOneOf({"any", "all"}) == 1;
    Ty ty = d.needType();
    d.needOperands(3, 3);
    d.in.a = d.use(d.operand(1), ty);
    d.in.e = d.use(d.operand(2), Ty::B32);
    d.in.d = d.def(d.operand(0), Ty::B32);
    d.in.sub = all;
    if (!d.operand(0).pair.empty()) {
      d.in.f = d.defPred(d.operand(0).pair[0]);
      d.in.sub |= 2;
    }
    d.emit(bytesOf(ty) == 8 ? match<uint64_t> : match<uint32_t>, 0, 8);
  };
  t["redux"] = [](Decoder &d) {
    d.take("sync");
    int op = d.takeOneOf({"add", "min", "max", "and", "or", "xor"});
    bool abs = d.take("abs"), nan = d.take("NaN");
    Ty ty = d.needType();
    d.needOperands(3, 3);
    if (op < 0)
      d.fail("operation is missing");
    d.in.sub = uint32_t(op) | (ty == Ty::S32 ? 16 : 0) | (ty == Ty::F32 ? 32 : 0) | (abs ? 64 : 0) |
               (nan ? 128 : 0);
    d.in.a = d.use(d.operand(1), ty);
    d.in.e = d.use(d.operand(2), Ty::B32);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(redux, 0, 8);
  };
  t["elect"] = [](Decoder &d) {
    d.take("sync");
    d.needOperands(2, 2);
    const Operand &o = d.operand(0);
    if (o.pair.empty())
      d.fail("elect.sync needs a destination d|p");
    d.in.e = d.use(d.operand(1), Ty::B32);
    d.in.d = d.def(o, Ty::B32);
    d.in.f = d.defPred(o.pair[0]);
    d.emit(elect);
  };
  t["activemask"] = [](Decoder &d) {
    d.takeType();
    d.needOperands(1, 1);
    d.in.d = d.def(d.operand(0), Ty::B32);
    d.emit(activeMask);
  };
  t["@bar.warp"] = [](Decoder &d) {
    d.take("warp");
    d.take("sync");
    d.needOperands(1, 1);
    d.in.e = d.use(d.operand(0), Ty::B32);
    d.emit(warpSync);
  };
}

} // namespace sim
} // namespace tileloom
