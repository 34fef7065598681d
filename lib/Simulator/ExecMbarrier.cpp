//===- ExecMbarrier.cpp - mbarrier instructions (PTX ISA 9.7.13.15) -------===//
//
// init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait, try_wait, pending_count. A
// wait that fails suspends the thread group until something happens; at a standstill the scheduler
// lets it return false, as the hardware's time limit would.
//
//===----------------------------------------------------------------------===//
#include "Barriers.h"
#include "Lanes.h"

namespace tileloom {
namespace sim {

namespace {

// sub: bit 0 wide address, bit 1 any CTA, bit 2 relaxed, bit 3 expect_tx, bit 4 drop, bit 5
// noComplete, bit 6 has result, bit 7 parity, bit 8 try, bit 9 complete_tx, bit 10 has count.
constexpr uint32_t WideAddress = 1, AnyCta = 2, Relaxed = 4, ExpectTx = 8, Drop = 16,
                   NoComplete = 32, HasResult = 64, Parity = 128, Try = 256, CompleteTx = 512,
                   HasCount = 1024;

inline uint32_t addressOf(Warp &w, const Instr &in, unsigned lane) {
  return (in.sub & WideAddress ? uint32_t(w.reg<uint64_t>(in.a)[lane])
                               : w.reg<uint32_t>(in.a)[lane]) +
         uint32_t(in.imm);
}

Step init(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    SharedPlace p = sharedPlace(w, addressOf(w, in, lane), 8, 8, false, int(lane));
    if (!p)
      return;
    Cta &cta = *p.cta;
    uint16_t &slot = cta.barrierAt[p.offset >> 3];
    if (!slot) {
      cta.barriers.emplace_back();
      slot = uint16_t(cta.barriers.size());
      cta.barriers.back().actor = barrierActor(cta, cta.barriers.size() - 1);
    }
    BarrierInfo &info = cta.barriers[slot - 1];
    uint64_t word = 0;
    if (info.live)
      std::memcpy(&word, p.data(), 8);
    MbarrierResult r = mbarrierInit(word, w.reg<uint32_t>(in.b)[lane], info.live);
    if (!r.ok()) {
      report(w, "mbarrier", "mbarrier.init at " + hex(p.offset) + ": " + r.error, int(lane));
      if (!info.live)
        return;
    }
    std::memcpy(p.data(), &word, 8);
    if (cta.shadow)
      noteShared(w, p, 8, Mode::Write, genericActor(w), int(lane));
    // The stream's epochs go on over a second life, or old accesses would look unordered.
    info.address = p.offset;
    info.live = true;
    info.initLine = in.line;
    info.initActor = w.actor;
    info.initEpoch = w.clocks.empty() ? 0 : w.clocks.seen[w.actor];
    info.firstPhase = info.copiesPhase = info.waitedPhase = info.phase;
    info.time = w.time;
    info.initFenced = false;
    w.initialised.push_back({&cta, p.offset});
  });
  madeProgress(w);
  return Step::Next;
}

Step inval(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    BarrierPlace b = liveBarrier(w, addressOf(w, in, lane), false, int(lane));
    if (!b)
      return;
    b.info()->live = false;
    uint64_t word = b.load();
    mbarrierInval(word);
    b.store(word);
    if (b.cta->shadow)
      b.cta->shadow->forget(b.offset, 8);
  });
  madeProgress(w);
  return Step::Next;
}

Step transactions(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    BarrierPlace b = liveBarrier(w, addressOf(w, in, lane), in.sub & AnyCta, int(lane));
    if (!b)
      return;
    uint64_t word = b.load();
    uint32_t bytes = w.reg<uint32_t>(in.b)[lane];
    MbarrierResult r =
        in.sub & CompleteTx ? mbarrierCompleteTx(word, bytes) : mbarrierExpectTx(word, bytes);
    b.store(word);
    if (!r.ok())
      report(w, "mbarrier", "mbarrier " + hex(b.offset) + ": " + r.error, int(lane));
    b.info()->time = std::max(b.info()->time, w.time);
    if (r.completed)
      phaseDone(*w.cluster, *b.info());
  });
  madeProgress(w);
  return Step::Next;
}

Step arrive(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    BarrierPlace b = liveBarrier(w, addressOf(w, in, lane), in.sub & AnyCta, int(lane));
    if (!b)
      return;
    BarrierInfo &info = *b.info();
    if (b.cta != w.cta) {
      needInitFence(w, b, int(lane));
      info.remotePhase = info.phase + 1;
      info.remoteGeneration = w.cluster->clusterGeneration + w.clusterArrived;
      info.remoteActor = w.actor;
      info.remoteEpoch = genericActor(w).epoch;
      info.remoteLine = w.current->line;
    }
    ArriveOptions o;
    o.expectTx = in.sub & ExpectTx;
    o.drop = in.sub & Drop;
    o.noComplete = in.sub & NoComplete;
    uint64_t count = 1;
    if (o.expectTx)
      o.txBytes = w.reg<uint32_t>(in.b)[lane];
    else if (in.sub & HasCount)
      count = w.reg<uint32_t>(in.b)[lane];
    uint64_t word = b.load();
    MbarrierResult r = mbarrierArrive(word, count, o);
    b.store(word);
    if (!r.ok()) {
      report(w, "mbarrier", "arrive on mbarrier " + hex(b.offset) + ": " + r.error, int(lane));
      return;
    }
    if (in.sub & HasResult)
      w.reg<uint64_t>(in.d)[lane] = r.token;
    if (in.sub & Relaxed) {
      if (!w.fenced.empty()) {
        info.clocks.join(w.fenced);
        w.cluster->records.relaxed(w.actor, w.fenced.seen[w.actor], lane, w.syncs);
      }
    } else {
      releaseInto(w, info.clocks, 1u << lane);
    }
    info.time = std::max(info.time, w.time);
    if (r.completed)
      phaseDone(*w.cluster, info);
  });
  madeProgress(w);
  return Step::Next;
}

Step wait(Warp &w, const Instr &in) {
  uint32_t result = 0;
  BarrierInfo *last = nullptr;
  uint32_t address = 0, parity = 0;
  uint64_t ready = 0;
  eachLane(w.active, [&](unsigned lane) {
    uint32_t a = addressOf(w, in, lane);
    BarrierInfo *info;
    BarrierPlace b;
    if (last && a == address) {
      b = {w.cta, a & 0xFFFFFF};
      info = last;
    } else {
      b = liveBarrier(w, a, false, int(lane));
      if (!b) {
        result |= 1u << lane; // reported; waiting for it would only hang
        return;
      }
      info = b.info();
    }
    bool done = false;
    uint32_t p = in.sub & Parity ? w.reg<uint32_t>(in.b)[lane] : 0;
    // PTX wants 0 or 1; Triton's warp-specialised kernels pass -1, and run: bit 0 is what counts.
    if (p > 1 && w.cluster->checking(CheckStrict))
      report(w, "mbarrier",
             "wait on mbarrier " + hex(b.offset) + ": phase parity is " + std::to_string(p) +
                 ", needs 0 or 1",
             int(lane));
    p &= 1;
    std::string error = in.sub & Parity
                            ? mbarrierTestParity(b.load(), p, done)
                            : mbarrierTestState(b.load(), w.reg<uint64_t>(in.b)[lane], done);
    if (!error.empty()) {
      report(w, "mbarrier", "wait on mbarrier " + hex(b.offset) + ": " + error, int(lane));
      done = true;
    }
    last = info;
    address = a;
    parity = p;
    if (done) {
      ready = std::max(ready, info->doneTime);
      info->waitedPhase = info->phase;
    }
    result |= uint32_t(done) << lane;
  });
  bool all = (result & w.active) == w.active;
  Cluster &c = *w.cluster;
  Group &g = *w.group;
  if (last && g.token && g.wait.address == address && last->phase >= g.token + 1 &&
      c.checking(CheckBarriers)) {
    // token is the phase that was awaited, plus 1: two completions since mean a lap.
    report(w, "barrier-lapped",
           "mbarrier " + hex(address & 0xFFFFFF) + " completed " +
               std::to_string(last->phase - g.token + 1) +
               " phases while this thread waited for one of them: parity " +
               std::to_string(parity) + " is ambiguous");
    g.token = 0;
  }
  // The first try of a wait returns false, for code that forgets to try again; the next suspends.
  bool again = g.wait.kind == WaitInfo::TryWait && g.wait.address == address && last &&
               g.wait.phase == last->phase + 1;
  if (last)
    g.wait.phase = last->phase + 1;
  bool spurious = c.randomised && !all && c.random() % 16 == 0;
  if (!all && in.sub & Try && again && !g.released && !spurious) {
    w.block(WaitInfo::TryWait, address, parity);
    if (last && !g.token)
      g.token = last->phase + 1;
    return Step::Blocked;
  }
  g.released = false;
  setPredicate(w, in.d, result);
  if (all) {
    g.token = 0;
    if (last) {
      if (!(in.sub & Relaxed))
        acquireFrom(w, last->done);
      w.block(WaitInfo::TryWait, address, parity);
      finishWait(w, ready);
    }
    return Step::Next;
  }
  w.block(WaitInfo::TryWait, address, parity);
  return Step::Yield;
}

Step pendingCount(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    uint32_t n = 0;
    std::string error = mbarrierPendingCount(w.reg<uint64_t>(in.a)[lane], n);
    if (!error.empty())
      report(w, "mbarrier", error, int(lane));
    w.reg<uint32_t>(in.d)[lane] = n;
  });
  return Step::Next;
}

void barrierAddress(Decoder &d, const Operand &o) {
  Decoder::Address a = d.address(o);
  d.in.a = a.slot;
  d.in.imm = a.offset;
  if (a.wide)
    d.in.sub |= WideAddress;
}

void decode(Decoder &d) {
  std::string_view op = d.takeAny();
  if (d.take("shared::cluster"))
    d.in.sub |= AnyCta;
  else if (!d.take("shared") && !d.take("shared::cta") && op != "pending_count")
    d.in.sub |= op == "init" || op == "inval" || op.find("wait") != op.npos ? 0 : AnyCta; // generic
  if (d.take("relaxed"))
    d.in.sub |= Relaxed;
  d.takeOneOf({"release", "acquire"});
  d.takeOneOf({"cta", "cluster"});
  bool expect = d.take("expect_tx"), noComplete = d.take("noComplete"), parity = d.take("parity");
  d.takeType();
  if (op == "init" || op == "expect_tx" || op == "complete_tx") {
    d.needOperands(2, 2);
    barrierAddress(d, d.operand(0));
    d.in.b = d.use(d.operand(1), Ty::B32);
    if (op == "complete_tx")
      d.in.sub |= CompleteTx;
    return d.emit(op == "init" ? init : transactions, 0, 2);
  }
  if (op == "inval") {
    d.needOperands(1, 1);
    barrierAddress(d, d.operand(0));
    return d.emit(inval);
  }
  if (op == "pending_count") {
    d.needOperands(2, 2);
    d.in.a = d.use(d.operand(1), Ty::B64);
    d.in.d = d.def(d.operand(0), Ty::B32);
    return d.emit(pendingCount);
  }
  if (op == "arrive" || op == "arrive_drop") {
    // The result may be missing altogether in front of the address.
    size_t at = d.operandCount() && d.operand(0).kind == Operand::Address ? 0 : 1;
    d.needOperands(at + 1, at + 2);
    if (at == 1 && d.operand(0).kind != Operand::Sink) {
      d.in.d = d.def(d.operand(0), Ty::B64);
      d.in.sub |= HasResult;
    }
    barrierAddress(d, d.operand(at));
    d.in.sub |=
        (expect ? ExpectTx : 0) | (noComplete ? NoComplete : 0) | (op == "arrive_drop" ? Drop : 0);
    if (d.operandCount() == at + 2) {
      d.in.b = d.use(d.operand(at + 1), Ty::B32);
      d.in.sub |= HasCount;
    } else if (expect) {
      d.fail("expect_tx needs the byte count");
    }
    return d.emit(arrive, 0, 2);
  }
  if (op == "test_wait" || op == "try_wait") {
    d.needOperands(3, 4);
    if (d.in.sub & AnyCta)
      d.fail("test_wait and try_wait need an mbarrier of the own CTA (shared::cta)");
    d.in.sub |= (parity ? Parity : 0) | (op == "try_wait" ? Try : 0);
    barrierAddress(d, d.operand(1));
    d.in.b = d.use(d.operand(2), parity ? Ty::B32 : Ty::B64);
    if (d.operandCount() == 4)
      d.use(d.operand(3), Ty::B32);
    d.in.d = d.defPred(d.operand(0));
    return d.emit(wait, 0, 4);
  }
  d.fail("unknown mbarrier operation '" + std::string(op) + "'");
}

} // namespace

void registerMbarrier(DecodeTable &t) { t["mbarrier"] = decode; }

} // namespace sim
} // namespace tileloom
