//===- ExecBulk.cpp - Bulk copies and cp.async (PTX ISA 9.7.9.25) ---------===//
//
// cp.async with its groups, cp.async.bulk between global and shared memory, cp.reduce.async.bulk,
// commit and wait, st.async. Checks look at the accesses when the copy is issued (its accesses may
// happen at any time from then on); the bytes move when the scheduler completes it.
//
//===----------------------------------------------------------------------===//
#include "Bulk.h"
#include "Lanes.h"
#include "tileloom/Simulator/Reduce.h"

namespace tileloom {
namespace sim {

void decodeTensorCopy(Decoder &d, bool reduce); // ExecTma.cpp
void decodeCpAsync(Decoder &d);                 // ExecCpAsync.cpp

namespace {

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

void commit(Warp::BulkState &s) {
  s.groups.push_back(std::move(s.open));
  s.open.clear();
}

/// Waits until at most `keep` groups are pending; all: uncommitted copies too.
bool waitGroups(Warp &w, Warp::BulkState &s, uint64_t keep, bool all, uint64_t &ready,
                uint32_t &sequence) {
  AsyncQueue &q = w.cluster->async;
  auto busy = [&](const std::vector<Warp::Copy> &group) {
    for (const Warp::Copy &c : group)
      if (q.pending(c.id))
        return true;
    return false;
  };
  size_t must = s.groups.size() > keep ? s.groups.size() - size_t(keep) : 0;
  for (size_t i = 0; i < must; ++i)
    if (busy(s.groups[i]))
      return false;
  if (all && busy(s.open))
    return false;
  auto learnFrom = [&](const std::vector<Warp::Copy> &group) {
    for (const Warp::Copy &c : group) {
      ready = std::max(ready, c.time);
      sequence = std::max(sequence, c.sequence);
    }
  };
  for (size_t i = 0; i < must; ++i)
    learnFrom(s.groups[i]);
  s.groups.erase(s.groups.begin(), s.groups.begin() + long(must));
  if (all) {
    learnFrom(s.open);
    s.open.clear();
  }
  return true;
}

// sub: bit 0 bulk, bit 1 .read, bit 2 wait_all; imm: groups to keep.
Step waitCopies(Warp &w, const Instr &in) {
  uint64_t ready = 0;
  uint32_t sequence = 0, lanes = in.sub & 1 ? 0 : w.active;
  bool done = true;
  eachLane(w.active, [&](unsigned lane) {
    if (in.sub & 1) {
      auto it = w.bulk.find(lane);
      if (it == w.bulk.end())
        return;
      lanes |= 1u << lane; // who has no copies has nothing to wait for
      done &= waitGroups(w, it->second, uint64_t(in.imm), false, ready, sequence);
      if (done && it->second.groups.empty() && it->second.open.empty())
        it->second.readsPending = false;
    } else {
      done &= waitGroups(w, w.cpAsync[lane], uint64_t(in.imm), in.sub & 4, ready, sequence);
    }
  });
  if (!done) {
    w.block(WaitInfo::BulkGroup);
    return Step::Blocked;
  }
  if (sequence)
    learn(w, bulkActor(w), sequence, lanes, in.sub & 1);
  if (!(in.sub & 1))
    w.copyWaitSyncs = w.syncs, w.copyWaitEpoch = genericActor(w).epoch;
  w.group->wait.kind = WaitInfo::BulkGroup;
  finishWait(w, ready);
  return Step::Next;
}

Step commitCopies(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) { commit(in.sub & 1 ? w.bulk[lane] : w.cpAsync[lane]); });
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// cp.async.bulk and cp.reduce.async.bulk
//===----------------------------------------------------------------------===//

enum Direction : uint32_t { GlobalToShared, SharedToShared, SharedToGlobal };
// sub: bits 0-1 direction, bit 2 multicast, bit 3 reduce, bits 4-7 op, 8-12 type, bit 13 dst wide,
// bit 14 src wide, bit 15 mbar wide, bit 16 byte mask. a dst, b src, c size, e mbar, f mask;
// list: offsets of dst, src, mbar.
Step bulkCopy(Warp &w, const Instr &in) {
  const int32_t *offsets = w.program->lists.data() + in.list;
  Direction direction = Direction(in.sub & 3);
  bool reduce = in.sub & 8;
  const char *what = reduce                        ? "bulk reduction"
                     : direction == SharedToGlobal ? "bulk store"
                                                   : "bulk copy";
  ReduceOp op = ReduceOp(in.sub >> 4 & 15);
  ReduceType type = ReduceType(in.sub >> 8 & 31);
  eachLane(w.active, [&](unsigned lane) {
    uint64_t dst = addressAt(w, in.a, offsets[0], in.sub & 1 << 13, lane);
    uint64_t src = addressAt(w, in.b, offsets[1], in.sub & 1 << 14, lane);
    uint32_t size = w.reg<uint32_t>(in.c)[lane];
    if (size % 16) {
      report(w, "bad-size",
             std::string(what) + " of " + std::to_string(size) +
                 " bytes; a multiple of 16 is needed",
             int(lane));
      return;
    }
    Cluster *c = w.cluster;
    uint32_t line = in.line;
    ++w.bulkSequence;
    uint64_t time = chargeCopy(w, size, what);
    if (direction == SharedToGlobal) {
      SharedPlace from = sharedPlace(w, uint32_t(src), size, 16, false, int(lane), what);
      uint8_t *to = globalPlace(w, dst, size, 16, Mode::Write, int(lane), what);
      if (!from || !to)
        return;
      Actor actor = bulkStream(w, what);
      noteShared(w, from, size, Mode::Read, actor, int(lane));
      noteGlobal(w, dst, size, reduce ? Mode::Update : Mode::Write, actor, int(lane));
      uint8_t *data = from.data();
      uint32_t mask = in.sub & 1 << 16 ? w.reg<uint16_t>(in.f)[lane] : 0xFFFF;
      w.bulk[lane].readsPending = true;
      queueCopy(w, lane, true, what, time, [=] {
        if (reduce)
          return reduceSpan(op, type, to, data, size, false);
        for (uint32_t i = 0; i < size; ++i)
          if (mask >> (i & 15) & 1)
            to[i] = data[i];
      });
      return;
    }
    uint32_t mbar = uint32_t(addressAt(w, in.e, offsets[2], in.sub & 1 << 15, lane));
    uint32_t mask = in.sub & 4 ? w.reg<uint16_t>(in.f)[lane] : 0;
    auto targets =
        loadTargets(w, uint32_t(dst), size, 16, mbar, in.sub & 4, mask, 1, int(lane), what);
    if (targets.empty())
      return;
    const uint8_t *from;
    Actor actor = barrierStream(targets[0].barrier, what);
    if (direction == GlobalToShared) {
      from = globalPlace(w, src, size, 16, Mode::Read, int(lane), what);
      if (from)
        noteGlobal(w, src, size, Mode::Read, actor, int(lane));
    } else {
      SharedPlace p = sharedPlace(w, uint32_t(src), size, 16, false, int(lane), what);
      from = p ? p.data() : nullptr;
      if (p)
        noteShared(w, p, size, Mode::Read, actor, int(lane));
    }
    if (!from)
      return;
    for (const LoadTarget &t : targets) {
      Actor a = barrierStream(t.barrier, what);
      a.update = reduce;
      SharedPlace p{t.cta, uint32_t(dst) & 0xFFFFFF};
      noteShared(w, p, size, reduce ? Mode::Update : Mode::Write, a, int(lane));
      queueCopy(w, lane, false, what, time, [=] {
        if (t.cta->done)
          return;
        if (reduce)
          reduceSpan(op, type, p.data(), from, size, false);
        else
          std::memcpy(p.data(), from, size);
        AsyncArrival arrival;
        arrival.time = time;
        completeBytes(*c, t.barrier, size, arrival, what, line);
      });
    }
  });
  return Step::Next;
}

bool reduceTypeOf(Ty t, ReduceType &r) {
  switch (t) {
  case Ty::U32:
    r = ReduceType::U32;
    return true;
  case Ty::S32:
    r = ReduceType::S32;
    return true;
  case Ty::U64:
    r = ReduceType::U64;
    return true;
  case Ty::S64:
    r = ReduceType::S64;
    return true;
  case Ty::F16:
    r = ReduceType::F16;
    return true;
  case Ty::BF16:
    r = ReduceType::BF16;
    return true;
  case Ty::F32:
    r = ReduceType::F32;
    return true;
  case Ty::F64:
    r = ReduceType::F64;
    return true;
  case Ty::B32:
    r = ReduceType::B32;
    return true;
  case Ty::B64:
    r = ReduceType::B64;
    return true;
  default:
    return false;
  }
}

void decodeBulk(Decoder &d, bool reduce) {
  if (d.take("prefetch")) {
    while (!d.takeAny().empty()) {
    }
    for (size_t i = 0; i < d.operandCount(); ++i)
      if (d.operand(i).kind == Operand::Address)
        d.address(d.operand(i));
    return d.emit([](Warp &, const Instr &) { return Step::Next; });
  }
  if (d.take("commit_group")) {
    d.needOperands(0, 0);
    d.in.sub = 1;
    return d.emit(commitCopies);
  }
  if (d.take("wait_group")) {
    d.in.sub = 1 | (d.take("read") ? 2 : 0);
    d.needOperands(1, 1);
    d.in.imm = d.needImmediate(d.operand(0), "the number of groups");
    return d.emit(waitCopies, 0, 4);
  }
  if (d.take("tensor"))
    return decodeTensorCopy(d, reduce);
  // The two spaces: destination first.
  std::string_view to = d.takeAny(), from = d.takeAny();
  Direction direction = to == "global"     ? SharedToGlobal
                        : from == "global" ? GlobalToShared
                                           : SharedToShared;
  bool group = d.take("bulk_group"), barrier = d.take("mbarrier::complete_tx::bytes");
  if (group == barrier || (direction == SharedToGlobal) != group)
    d.fail("a copy to global memory completes by .bulk_group, others by "
           ".mbarrier::complete_tx::bytes");
  bool multicast = d.take("multicast::cluster"), byteMask = d.take("cp_mask");
  takeCacheHints(d);
  d.in.sub = direction | (multicast ? 4 : 0);
  if (reduce) {
    int op = d.takeOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
    bool noftz = d.take("noftz");
    Ty t = d.needType();
    ReduceType type;
    if (op < 0 || !reduceTypeOf(t, type))
      d.fail("operation and type of the reduction are missing");
    Error e = checkBulkReduce(ReduceOp(op), type, direction != SharedToGlobal);
    if (!e.empty())
      d.fail(e);
    if ((t == Ty::F16 || t == Ty::BF16) && op == 0 && !noftz)
      d.fail("add of f16 and bf16 needs .noftz");
    d.in.sub |= 8 | uint32_t(op) << 4 | uint32_t(type) << 8;
  }
  d.needOperands(direction == SharedToGlobal ? 3 : 4, 6);
  Decoder::Address a = d.address(d.operand(0)), b = d.address(d.operand(1)), m;
  d.in.a = a.slot;
  d.in.b = b.slot;
  d.in.c = d.use(d.operand(2), Ty::U32);
  if (direction != SharedToGlobal) {
    m = d.address(d.operand(3));
    d.in.e = m.slot;
  }
  if (multicast)
    d.in.f = d.use(d.operand(4), Ty::B16);
  if (byteMask) {
    d.in.f = d.use(d.operand(d.operandCount() - 1), Ty::B16);
    d.in.sub |= 1 << 16;
  }
  d.in.sub |= (a.wide ? 1u << 13 : 0) | (b.wide ? 1u << 14 : 0) | (m.wide ? 1u << 15 : 0);
  d.in.list = uint32_t(d.program.lists.size());
  d.program.lists.insert(d.program.lists.end(),
                         {int32_t(a.offset), int32_t(b.offset), int32_t(m.offset)});
  if (reduce)
    d.program.usesGlobalAtomics |= direction == SharedToGlobal;
  d.emit(bulkCopy, 0, 4);
}

void decodeCopyAsync(Decoder &d) {
  if (!d.take("async"))
    d.fail("only cp.async is known");
  if (d.take("bulk"))
    return decodeBulk(d, false);
  if (d.has("mbarrier"))
    return decodeCpAsync(d);
  if (d.take("commit_group"))
    return d.emit(commitCopies);
  if (d.take("wait_all")) {
    d.in.sub = 4;
    return d.emit(waitCopies, 0, 4);
  }
  if (d.take("wait_group")) {
    d.needOperands(1, 1);
    d.in.imm = d.needImmediate(d.operand(0), "the number of groups");
    return d.emit(waitCopies, 0, 4);
  }
  decodeCpAsync(d);
}

} // namespace

void registerBulk(DecodeTable &t) {
  t["cp"] = [](Decoder &d) {
    if (d.take("reduce")) {
      if (!d.take("async") || !d.take("bulk"))
        d.fail("only cp.reduce.async.bulk is known");
      return decodeBulk(d, true);
    }
    decodeCopyAsync(d);
  };
}

} // namespace sim
} // namespace tileloom
