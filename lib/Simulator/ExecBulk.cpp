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

namespace {

template <bool Wide> uint64_t addr(Warp &w, int32_t slot, int64_t offset, unsigned lane) {
  return Wide ? w.reg<uint64_t>(slot)[lane] + uint64_t(offset) : w.reg<uint32_t>(slot)[lane] + uint32_t(offset);
}
uint64_t addressAt(Warp &w, int32_t slot, int64_t offset, bool wide, unsigned lane) {
  return wide ? addr<true>(w, slot, offset, lane) : addr<false>(w, slot, offset, lane);
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//


// sub: bits 0-7 bytes, 8 dst wide, 9 has source size, 10 has ignore predicate, 11 negated.
Step cpAsync(Warp &w, const Instr &in) {
  struct Piece {
    uint8_t *to;
    const uint8_t *from;
    uint32_t bytes;
  };
  uint32_t size = in.sub & 0xFF;
  auto pieces = std::make_shared<std::vector<Piece>>();
  ++w.bulkSequence;
  Actor writer;
  writer.id = bulkActor(w);
  writer.epoch = w.bulkSequence;
  int64_t srcOffset = w.program->lists[in.list];
  eachLane(w.active, [&](unsigned lane) {
    uint32_t dst = uint32_t(addressAt(w, in.a, in.imm, in.sub & 256, lane));
    uint64_t src = w.reg<uint64_t>(in.b)[lane] + uint64_t(srcOffset);
    uint32_t bytes = in.sub & 512 ? w.reg<uint32_t>(in.c)[lane] : size;
    if (in.sub & 1024 && getPredicate(w, in.e, in.sub & 2048) >> lane & 1)
      bytes = 0;
    if (bytes > size) {
      report(w, "bad-size", "cp.async source size " + std::to_string(bytes) + " exceeds the copy size " +
                                std::to_string(size), int(lane));
      bytes = size;
    }
    SharedPlace p = sharedPlace(w, dst, size, size, false, int(lane));
    const uint8_t *from = nullptr;
    if (bytes) {
      from = globalPlace(w, src, bytes, size, Mode::Read, int(lane));
      if (from)
        noteGlobal(w, src, bytes, Mode::Read, genericActor(w), int(lane));
    }
    if (!p)
      return;
    noteShared(w, p, size, Mode::Write, writer, int(lane));
    pieces->push_back({p.data(), from, from ? bytes : 0});
  });
  Cluster *c = w.cluster;
  AsyncOp op;
  op.what = "cp.async";
  op.line = in.line;
  op.cta = w.cta->rank;
  op.time = chargeCopy(w, size * uint32_t(__builtin_popcount(w.active)), "cp.async");
  uint64_t time = op.time;
  op.complete = [c, pieces, size] {
    for (const Piece &p : *pieces) {
      std::memset(p.to + p.bytes, 0, size - p.bytes);
      if (p.bytes)
        std::memcpy(p.to, p.from, p.bytes);
    }
    madeEvent(*c);
  };
  uint64_t id = c->async.push(std::move(op), c->randomised ? &c->random : nullptr);
  eachLane(w.active, [&](unsigned lane) { w.cpAsync[lane].open.push_back({id, w.bulkSequence, time}); });
  madeProgress(w);
  return Step::Next;
}

void commit(Warp::BulkState &s) {
  s.groups.push_back(std::move(s.open));
  s.open.clear();
}

/// Waits until at most `keep` groups are pending; all: uncommitted copies too.
bool waitGroups(Warp &w, Warp::BulkState &s, uint64_t keep, bool all, uint64_t &ready, uint32_t &sequence) {
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
  uint32_t sequence = 0;
  bool done = true;
  eachLane(w.active, [&](unsigned lane) {
    if (in.sub & 1) {
      auto it = w.bulk.find(lane);
      if (it == w.bulk.end())
        return;
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
    learn(w, bulkActor(w), sequence, in.sub & 1);
  w.group->wait.kind = WaitInfo::BulkGroup;
  finishWait(w, ready);
  return Step::Next;
}

Step commitCopies(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) { commit(in.sub & 1 ? w.bulk[lane] : w.cpAsync[lane]); });
  return Step::Next;
}

// sub: bit 0 wide address, bit 1 noinc.
Step cpAsyncArrive(Warp &w, const Instr &in) {
  Cluster *c = w.cluster;
  eachLane(w.active, [&](unsigned lane) {
    uint32_t a = uint32_t(addressAt(w, in.a, in.imm, in.sub & 1, lane));
    BarrierPlace b = liveBarrier(w, a, false, int(lane));
    if (!b)
      return;
    if (!(in.sub & 2)) {
      uint64_t word = b.load();
      MbarrierResult r = mbarrierIncrementPending(word);
      b.store(word);
      if (!r.ok())
        report(w, "mbarrier", r.error, int(lane));
    }
    // The arrival comes after all copies of the thread so far.
    uint64_t after = 0;
    uint32_t sequence = 0;
    uint64_t time = w.time;
    auto look = [&](const std::vector<Warp::Copy> &group) {
      for (const Warp::Copy &k : group) {
        if (c->async.pending(k.id))
          after = std::max(after, k.id);
        sequence = std::max(sequence, k.sequence);
        time = std::max(time, k.time);
      }
    };
    for (auto &g : w.cpAsync[lane].groups)
      look(g);
    look(w.cpAsync[lane].open);
    AsyncArrival from;
    from.actor = bulkActor(w);
    from.epoch = sequence;
    from.proxied = false;
    from.time = time;
    AsyncOp op;
    op.what = "cp.async.mbarrier.arrive";
    op.line = in.line;
    op.cta = w.cta->rank;
    op.after = after;
    uint32_t line = in.line;
    op.complete = [c, b, from, line] { arriveAsync(*c, b, from, "cp.async.mbarrier.arrive", line); };
    c->async.push(std::move(op), nullptr);
  });
  madeProgress(w);
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
  const char *what = reduce ? "bulk reduction" : direction == SharedToGlobal ? "bulk store" : "bulk copy";
  ReduceOp op = ReduceOp(in.sub >> 4 & 15);
  ReduceType type = ReduceType(in.sub >> 8 & 31);
  bool ftz = type == ReduceType::F32;
  eachLane(w.active, [&](unsigned lane) {
    uint64_t dst = addressAt(w, in.a, offsets[0], in.sub & 1 << 13, lane);
    uint64_t src = addressAt(w, in.b, offsets[1], in.sub & 1 << 14, lane);
    uint32_t size = w.reg<uint32_t>(in.c)[lane];
    if (size % 16) {
      report(w, "bad-size", std::string(what) + " of " + std::to_string(size) + " bytes; a multiple of 16 is needed", int(lane));
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
          return reduceSpan(op, type, to, data, size, ftz);
        for (uint32_t i = 0; i < size; ++i)
          if (mask >> (i & 15) & 1)
            to[i] = data[i];
      });
      return;
    }
    uint32_t mbar = uint32_t(addressAt(w, in.e, offsets[2], in.sub & 1 << 15, lane));
    uint32_t mask = in.sub & 4 ? w.reg<uint16_t>(in.f)[lane] : 0;
    auto targets = loadTargets(w, uint32_t(dst), size, 16, mbar, in.sub & 4, mask, 1, int(lane), what);
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
      SharedPlace p{t.cta, uint32_t(dst) & 0xFFFFFF};
      noteShared(w, p, size, reduce ? Mode::Update : Mode::Write, a, int(lane));
      queueCopy(w, lane, false, what, time, [=] {
        if (t.cta->done)
          return;
        if (reduce)
          reduceSpan(op, type, p.data(), from, size, ftz);
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
  case Ty::U32: r = ReduceType::U32; return true;
  case Ty::S32: r = ReduceType::S32; return true;
  case Ty::U64: r = ReduceType::U64; return true;
  case Ty::S64: r = ReduceType::S64; return true;
  case Ty::F16: r = ReduceType::F16; return true;
  case Ty::BF16: r = ReduceType::BF16; return true;
  case Ty::F32: r = ReduceType::F32; return true;
  case Ty::F64: r = ReduceType::F64; return true;
  case Ty::B32: r = ReduceType::B32; return true;
  case Ty::B64: r = ReduceType::B64; return true;
  default: return false;
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
  Direction direction = to == "global" ? SharedToGlobal : from == "global" ? GlobalToShared : SharedToShared;
  bool group = d.take("bulk_group"), barrier = d.take("mbarrier::complete_tx::bytes");
  if (group == barrier || (direction == SharedToGlobal) != group)
    d.fail("a copy to global memory completes by .bulk_group, others by .mbarrier::complete_tx::bytes");
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
  d.program.lists.insert(d.program.lists.end(), {int32_t(a.offset), int32_t(b.offset), int32_t(m.offset)});
  if (reduce)
    d.program.usesGlobalAtomics |= direction == SharedToGlobal;
  d.emit(bulkCopy, 0, 4);
}

void decodeCopyAsync(Decoder &d) {
  if (!d.take("async"))
    d.fail("only cp.async is known");
  if (d.take("bulk"))
    return decodeBulk(d, false);
  if (d.take("mbarrier")) {
    d.take("arrive");
    d.in.sub = d.take("noinc") ? 2 : 0;
    d.takeOneOf({"shared", "shared::cta"});
    d.takeType();
    d.needOperands(1, 1);
    Decoder::Address a = d.address(d.operand(0));
    d.in.a = a.slot;
    d.in.imm = a.offset;
    d.in.sub |= a.wide;
    return d.emit(cpAsyncArrive);
  }
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
  bool cg = d.takeOneOf({"ca", "cg"}) == 1;
  d.takeOneOf({"shared", "shared::cta"});
  d.take("global");
  takeCacheHints(d);
  d.needOperands(3, 5);
  Decoder::Address a = d.address(d.operand(0)), b = d.address(d.operand(1));
  int64_t size = d.needImmediate(d.operand(2), "the size of cp.async");
  if ((size != 4 && size != 8 && size != 16) || (cg && size != 16))
    d.fail("cp.async." + std::string(cg ? "cg" : "ca") + " of " + std::to_string(size) + " bytes");
  if (!b.wide)
    d.fail("the global address of cp.async needs 64 bits");
  d.in.a = a.slot;
  d.in.imm = a.offset;
  d.in.b = b.slot;
  d.in.sub = uint32_t(size) | (a.wide ? 256 : 0);
  d.in.list = uint32_t(d.program.lists.size());
  d.program.lists.push_back(int32_t(b.offset));
  if (d.operandCount() >= 4) {
    const Operand &o = d.operand(3);
    if (o.kind == Operand::Reg && d.registerBytes(o) == 0) {
      bool negated;
      d.in.e = d.usePred(o, negated);
      d.in.sub |= 1024 | (negated ? 2048 : 0);
    } else if (o.kind == Operand::Imm || d.registerBytes(o) == 4) {
      d.in.c = d.use(o, Ty::U32);
      d.in.sub |= 512;
    }
  }
  d.emit(cpAsync, 0, 4);
}

// st.async: sub bits 0-7 bytes, 8 dst wide, 9 mbar wide; a dst, b mbar, list: values then offsets.
Step storeAsync(Warp &w, const Instr &in) {
  const int32_t *list = w.program->lists.data() + in.list;
  unsigned bytes = in.sub & 0xFF, n = in.count;
  Cluster *c = w.cluster;
  uint32_t line = in.line;
  eachLane(w.active, [&](unsigned lane) {
    uint32_t dst = uint32_t(addressAt(w, in.a, in.imm, in.sub & 256, lane));
    uint32_t mbar = uint32_t(addressAt(w, in.b, list[n], in.sub & 512, lane));
    SharedPlace p = sharedPlace(w, dst, bytes * n, bytes * n, true, int(lane));
    BarrierPlace b = liveBarrier(w, mbar, true, int(lane));
    if (!p || !b)
      return;
    if (p.cta != b.cta)
      report(w, "bad-mbarrier", "st.async: data and mbarrier lie in different CTAs", int(lane));
    Actor a = barrierStream(b, "st.async");
    a.async = false;
    noteShared(w, p, bytes * n, Mode::Write, a, int(lane));
    std::vector<uint8_t> data(bytes * n);
    for (unsigned k = 0; k < n; ++k)
      std::memcpy(data.data() + k * bytes, w.regs + list[k] + lane * bytes, bytes);
    uint64_t time = w.time + 200;
    queueCopy(w, lane, false, "st.async", time, [=] {
      if (p.cta->done)
        return;
      std::memcpy(p.data(), data.data(), data.size());
      AsyncArrival arrival;
      arrival.time = time;
      completeBytes(*c, b, uint32_t(data.size()), arrival, "st.async", line);
    });
  });
  return Step::Next;
}

} // namespace

void decodeStoreAsync(Decoder &d) {
  if (d.take("bulk"))
    d.fail("st.bulk is not supported");
  d.take("async");
  d.take("weak");
  if (!d.take("shared::cluster") || !d.take("mbarrier::complete_tx::bytes"))
    d.fail("only st.async.shared::cluster.mbarrier::complete_tx::bytes is known");
  int vec = d.takeOneOf({"v2", "v4"});
  Ty t = d.needType();
  d.needOperands(3, 3);
  Decoder::Address a = d.address(d.operand(0)), m = d.address(d.operand(2));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  d.in.b = m.slot;
  d.useList(d.operand(1), t);
  d.program.lists.push_back(int32_t(m.offset));
  if (d.in.count != (vec < 0 ? 1u : 2u << vec))
    d.fail("number of values does not fit the vector");
  d.in.sub = bytesOf(t) | (a.wide ? 256 : 0) | (m.wide ? 512 : 0);
  d.emit(storeAsync, 0, 4);
}

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
