//===- ExecCpAsync.cpp - cp.async and st.async ----------------------------===//
//
// Non-bulk copies from global to shared memory (PTX ISA 9.7.9.25.3), their arrival on an mbarrier,
// and stores to another CTA that complete on one (9.7.9.12, 9.7.13.7). All belong to the generic proxy.
//
//===----------------------------------------------------------------------===//
#include "Bulk.h"
#include "Lanes.h"
#include "tileloom/Simulator/Reduce.h"

namespace tileloom {
namespace sim {
namespace {

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
      report(w, "bad-size",
             "cp.async source size " + std::to_string(bytes) + " exceeds the copy size " +
                 std::to_string(size),
             int(lane));
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
  eachLane(w.active, [&](unsigned lane) {
    w.cpAsync[lane].open.push_back({id, w.bulkSequence, time, w.current->line});
  });
  madeProgress(w);
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
    // The arrival comes after all copies of the thread so far, in whatever order they complete.
    AsyncOp op;
    uint32_t sequence = 0;
    uint64_t time = w.time;
    auto look = [&](const std::vector<Warp::Copy> &group) {
      for (const Warp::Copy &k : group) {
        if (c->async.pending(k.id))
          op.after.push_back(k.id);
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
    op.what = "cp.async.mbarrier.arrive";
    op.line = in.line;
    op.cta = w.cta->rank;
    uint32_t line = in.line;
    op.complete = [c, b, from, line] {
      arriveAsync(*c, b, from, "cp.async.mbarrier.arrive", line);
    };
    c->async.push(std::move(op), nullptr);
  });
  madeProgress(w);
  return Step::Next;
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

// red.async: sub bits 0-7 operation, 8 dst wide, 9 mbar wide, 16-23 type; a dst, b mbar, c value.
Step reduceAsync(Warp &w, const Instr &in) {
  ReduceOp op = ReduceOp(in.sub & 0xFF);
  ReduceType type = ReduceType(in.sub >> 16 & 0xFF);
  unsigned bytes = reduceTypeBytes(type);
  int64_t barrierOffset = w.program->lists[in.list];
  Cluster *c = w.cluster;
  uint32_t line = in.line;
  eachLane(w.active, [&](unsigned lane) {
    uint32_t dst = uint32_t(addressAt(w, in.a, in.imm, in.sub & 256, lane));
    uint32_t mbar = uint32_t(addressAt(w, in.b, barrierOffset, in.sub & 512, lane));
    SharedPlace p = sharedPlace(w, dst, bytes, bytes, true, int(lane));
    BarrierPlace b = liveBarrier(w, mbar, true, int(lane));
    if (!p || !b)
      return;
    if (p.cta != b.cta)
      report(w, "bad-mbarrier", "red.async: data and mbarrier lie in different CTAs", int(lane));
    Actor a = barrierStream(b, "red.async");
    a.async = false;
    a.update = true;
    noteShared(w, p, bytes, Mode::Update, a, int(lane));
    uint64_t value = bytes == 8 ? w.reg<uint64_t>(in.c)[lane] : w.reg<uint32_t>(in.c)[lane];
    uint64_t time = w.time + 200;
    queueCopy(w, lane, false, "red.async", time, [=] {
      if (p.cta->done)
        return;
      uint64_t old = 0;
      std::memcpy(&old, p.data(), bytes);
      uint64_t next = reduceElement(op, type, old, value, false);
      std::memcpy(p.data(), &next, bytes);
      AsyncArrival arrival;
      arrival.time = time;
      completeBytes(*c, b, bytes, arrival, "red.async", line);
    });
  });
  return Step::Next;
}

} // namespace

void decodeReduceAsync(Decoder &d) {
  d.take("async");
  d.take("relaxed");
  d.take("cluster");
  if (!d.take("shared::cluster") || !d.take("mbarrier::complete_tx::bytes"))
    d.fail("only red.async.shared::cluster.mbarrier::complete_tx::bytes is known");
  int op = d.takeOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  Ty t = d.needType();
  ReduceType type = t == Ty::S32   ? ReduceType::S32
                    : t == Ty::U64 ? ReduceType::U64
                    : t == Ty::S64 ? ReduceType::S64
                    : t == Ty::B32 ? ReduceType::B32
                                   : ReduceType::U32;
  if (op < 0 || (bytesOf(t) != 4 && bytesOf(t) != 8))
    d.fail("operation or type is not supported by red.async");
  d.needOperands(3, 3);
  Decoder::Address a = d.address(d.operand(0)), m = d.address(d.operand(2));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  d.in.b = m.slot;
  d.in.c = d.use(d.operand(1), t);
  d.in.list = uint32_t(d.program.lists.size());
  d.program.lists.push_back(int32_t(m.offset));
  d.in.sub = uint32_t(op) | (a.wide ? 256 : 0) | (m.wide ? 512 : 0) | uint32_t(type) << 16;
  d.emit(reduceAsync, 0, 4);
}

void decodeCpAsync(Decoder &d) {
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

void decodeStoreAsync(Decoder &d) {
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

} // namespace sim
} // namespace tileloom
