//===- ExecTensorMemory.cpp - Tensor memory: alloc, ld, st, fences --------===//
//
// tcgen05.alloc/dealloc/relinquish_alloc_permit (PTX ISA 9.7.16.7), ld, st and wait (9.7.16.8),
// fence (9.7.16.11). Loads and stores move data at once; that they are asynchronous shows in the
// checks: a loaded register is in flight until wait::ld, and what other threads wrote or read is
// ordered only through fence::before_thread_sync and fence::after_thread_sync.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Tensor.h"
#include "tileloom/Simulator/Fragments.h"

#include <algorithm>

namespace tileloom {
namespace sim {

TensorMemory &tensorOf(Cta &cta) {
  if (!cta.tensor) {
    cta.tensor = std::make_unique<TensorMemory>();
    if (cta.shadow)
      cta.tensor->shadow = std::make_unique<SharedShadow>(
          4 * TensorMemory::Lanes * TensorMemory::Columns, cta.cluster->records);
  }
  return *cta.tensor;
}

void checkTensorLeaks(Cta &cta) {
  for (const TensorMemory::Allocation &a : cta.tensor->allocations) {
    if (!a.live)
      continue;
    Finding f = findingAt(*cta.warps[0], "tensor-leak",
                          "the CTA ends with " + std::to_string(a.columns) +
                              " columns of tensor memory at column " + std::to_string(a.column) +
                              " still allocated (line " + std::to_string(a.line) + ")");
    f.warp = -1;
    moveTo(f, *cta.cluster->grid->program, a.line);
    cta.cluster->report(f);
  }
}

void tensorGroup(Warp &w, uint32_t group) {
  TensorMemory &t = tensorOf(*w.cta);
  if (t.group && t.group != group)
    report(w, "cta-group",
           "cta_group::" + std::to_string(group) +
               " in a kernel that has used cta_group::" + std::to_string(t.group));
  t.group = group;
}

Cta *pairOf(Warp &w) {
  Cta *peer = w.cluster->cta(w.cta->rank ^ 1);
  if (!peer || peer->done)
    report(w, "cta-group",
           "cta_group::2 needs the other CTA of the pair (rank " + std::to_string(w.cta->rank ^ 1) +
               "); it " + (peer ? "has exited" : "does not exist"));
  return peer && !peer->done ? peer : nullptr;
}

namespace {

Step alloc(Warp &w, const Instr &in) {
  tensorGroup(w, in.sub);
  TensorMemory &t = tensorOf(*w.cta);
  uint32_t columns = w.reg<uint32_t>(in.b)[w.firstLane()];
  if (columns < 32 || columns > 512 || columns & (columns - 1)) {
    report(w, "tensor-alloc",
           "allocation of " + std::to_string(columns) +
               " columns; a power of two from 32 to 512 is needed");
    return Step::Next;
  }
  if (t.relinquished)
    report(w, "tensor-alloc", "tcgen05.alloc after relinquish_alloc_permit");
  uint32_t run = 0, at = 0;
  bool found = false;
  for (uint32_t c = 0; c < TensorMemory::Columns && !found; ++c) {
    if (c % 32 == 0 && run == 0)
      at = c;
    run = t.owner[c] ? 0 : run + 1;
    if (run == 0)
      at = c + 1;
    found = run == columns;
  }
  if (!found) {
    if (in.sub == 2) { // the pair allocates together; a wait for the peer would never end
      report(w, "tensor-alloc", "no " + std::to_string(columns) + " free columns of tensor memory");
      return Step::Next;
    }
    w.block(WaitInfo::TensorAlloc, 0, columns);
    return Step::Blocked;
  }
  t.allocations.push_back({at, columns, in.line, true});
  std::fill(t.owner.begin() + at, t.owner.begin() + at + columns, uint16_t(t.allocations.size()));
  unsigned lane = w.firstLane();
  uint64_t address = in.sub2 ? w.reg<uint64_t>(in.a)[lane] : w.reg<uint32_t>(in.a)[lane];
  Space s = in.e ? Space::Generic : Space::Shared;
  if (uint8_t *p = place(w, s, address + uint64_t(in.imm), 4, 4, Mode::Write, int(lane)))
    std::memcpy(p, &at, 4);
  madeProgress(w);
  return Step::Next;
}

Step dealloc(Warp &w, const Instr &in) {
  tensorGroup(w, in.sub);
  TensorMemory &t = tensorOf(*w.cta);
  uint32_t address = w.reg<uint32_t>(in.a)[w.firstLane()],
           columns = w.reg<uint32_t>(in.b)[w.firstLane()];
  for (TensorMemory::Allocation &a : t.allocations) {
    if (!a.live || a.column != (address & 0xFFFF))
      continue;
    if (a.columns != columns)
      report(w, "tensor-alloc",
             "dealloc of " + std::to_string(columns) + " columns; " + std::to_string(a.columns) +
                 " were allocated there at line " + std::to_string(a.line));
    Actor actor = genericActor(w);
    actor.what = "tcgen05.dealloc";
    for (uint32_t lane = 0; lane < TensorMemory::Lanes && t.shadow; ++lane)
      noteTensor(w, *w.cta, lane, a.column, a.columns, Mode::Write, actor, &w.clocks);
    a.live = false;
    std::fill(t.owner.begin() + a.column, t.owner.begin() + a.column + a.columns, uint16_t(0));
    if (t.shadow)
      for (uint32_t lane = 0; lane < TensorMemory::Lanes; ++lane)
        t.shadow->forget(4 * (lane * TensorMemory::Columns + a.column), 4 * a.columns);
    madeEvent(*w.cluster);
    return Step::Next;
  }
  report(w, "tensor-alloc",
         "dealloc of tensor memory address " + hex(address) + ", which is not a live allocation");
  return Step::Next;
}

Step relinquish(Warp &w, const Instr &in) {
  tensorGroup(w, in.sub);
  tensorOf(*w.cta).relinquished = true;
  return Step::Next;
}

// sub: bits 0-2 shape, 3 store, 4 pack/unpack; imm: split offset; a, e: address and offset; list:
// registers.
Step loadStore(Warp &w, const Instr &in) {
  TmemShape shape = TmemShape(in.sub & 7);
  bool store = in.sub & 8, packed = in.sub & 16;
  const int32_t *list = w.program->lists.data() + in.list;
  unsigned first = w.firstLane();
  uint32_t address = w.reg<uint32_t>(in.a)[first] + uint32_t(in.e);
  eachLane(w.active, [&](unsigned i) {
    if (w.reg<uint32_t>(in.a)[i] + uint32_t(in.e) != address)
      report(w, "tensor-address", "the tensor memory address differs between lanes", int(i));
  });
  uint32_t quadrant = 32 * (w.id % 4), lane0 = address >> 16, column0 = address & 0xFFFF;
  if (lane0 && (lane0 & ~31u) != quadrant)
    report(w, "tensor-lane",
           "warp " + std::to_string(w.id) + " accesses lane " + std::to_string(lane0) +
               "; it may access lanes " + std::to_string(quadrant) + " to " +
               std::to_string(quadrant + 31));
  lane0 = quadrant + lane0 % 32;
  uint32_t split = uint32_t(in.imm), last = 0;
  for (unsigned r = 0; r < in.count; ++r)
    for (unsigned t = 0; t < 32; ++t)
      last = std::max(last, packed ? tmemPacked(shape, t, r, 1, split).column
                                   : tmemElement(shape, t, r, split).column);
  if (!tensorColumns(w, *w.cta, column0, last + 1, store ? "tcgen05.st" : "tcgen05.ld"))
    return Step::Next;
  TensorMemory &m = tensorOf(*w.cta);
  Actor actor = genericActor(w);
  actor.what = store ? "tcgen05.st" : "tcgen05.ld";
  std::vector<uint64_t> touched; // (lane, column), for the checks
  for (unsigned r = 0; r < in.count; ++r) {
    uint32_t *reg = w.reg<uint32_t>(list[r]);
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned b = 0; b < (packed ? 2u : 1u); ++b) {
        TmemCoord c = packed ? tmemPacked(shape, t, r, b, split) : tmemElement(shape, t, r, split);
        uint32_t lane = (lane0 & ~31u) + (lane0 + c.lane) % 32, column = column0 + c.column;
        uint32_t &word = m.word(lane, column);
        if (store)
          word = packed ? reg[t] >> (16 * b) & 0xFFFF : reg[t];
        else if (packed)
          reg[t] = b ? (reg[t] & 0xFFFF) | word << 16 : (reg[t] & 0xFFFF0000) | (word & 0xFFFF);
        else
          reg[t] = word;
        if (m.shadow)
          touched.push_back(uint64_t(lane) << 32 | column);
      }
  }
  std::sort(touched.begin(), touched.end());
  std::vector<Warp::TensorAccess> accesses; // lanes of equal columns together
  for (size_t i = 0; i < touched.size();) {
    size_t k = i + 1;
    while (k < touched.size() && touched[k] <= touched[k - 1] + 1)
      ++k;
    uint32_t lane = uint32_t(touched[i] >> 32), begin = uint32_t(touched[i]),
             end = uint32_t(touched[k - 1]) + 1;
    noteTensor(w, *w.cta, lane, begin, end - begin, store ? Mode::Write : Mode::Read, actor);
    auto same = std::find_if(accesses.begin(), accesses.end(), [&](const Warp::TensorAccess &a) {
      return a.begin == begin && a.end == end;
    });
    if (same == accesses.end())
      same = accesses.insert(same, {0, begin, end, in.line, store});
    same->lanes |= 1u << lane % 32;
    i = k;
  }
  w.tensorPending.insert(w.tensorPending.end(), accesses.begin(), accesses.end());
  if (store) {
    w.tensorStores = true;
  } else if (!w.inFlight.empty()) {
    const uint32_t *refs = w.program->refs.data() + in.refs + in.uses;
    for (unsigned i = 0; i < in.defs; ++i) {
      w.inFlight[refs[i]] = TensorLoadOwner;
      w.tensorLoadRegs.push_back(refs[i]);
    }
    w.inFlightCount = 1;
  }
  w.time += in.count / 2;
  madeProgress(w);
  return Step::Next;
}

Step wait(Warp &w, const Instr &in) {
  bool stores = in.sub;
  w.tensorPending.erase(std::remove_if(w.tensorPending.begin(), w.tensorPending.end(),
                                       [&](const Warp::TensorAccess &p) { return p.store == stores; }),
                        w.tensorPending.end());
  if (in.sub) {
    w.tensorStores = false;
  } else {
    for (uint32_t r : w.tensorLoadRegs)
      w.inFlight[r] = 0;
    w.tensorLoadRegs.clear();
    w.inFlightCount = !w.wgmmaGroupRegs.empty() || !w.wgmmaOpenRegs.empty();
  }
  return Step::Next;
}

Step fence(Warp &w, const Instr &in) {
  if (!in.sub) { // before_thread_sync
    if (w.cluster->checking(CheckInFlight) && (w.tensorStores || !w.tensorLoadRegs.empty()))
      report(
          w, "missing-tcgen05-wait",
          std::string("tcgen05.fence::before_thread_sync with a ") +
              (w.tensorStores ? "tcgen05.st" : "tcgen05.ld") +
              " that has not been waited for (tcgen05.wait::" + (w.tensorStores ? "st)" : "ld)"));
    if (!w.clocks.empty()) {
      joinInto(w.clocks.tensor, w.clocks.seen);
      w.fenced = w.clocks;
      w.cluster->records.tensorFenced(w.actor, w.active | ~w.live, w.syncs, w.clocks.seen);
      nextEpoch(w, 0);
    }
  } else if (!w.clocks.empty()) {
    joinInto(w.tensorSeen.seen, w.clocks.tensor);
  }
  return Step::Next;
}

} // namespace

void decodeTensorMemory(Decoder &d, std::string_view op, uint32_t group) {
  d.program.usesTensorMemory = true;
  if (op == "alloc") {
    bool shared = d.takeOneOf({"shared", "shared::cta"}) >= 0;
    d.takeType();
    d.needOperands(2, 2);
    Decoder::Address a = d.address(d.operand(0));
    d.in.a = a.slot;
    d.in.imm = a.offset;
    d.in.sub2 = a.wide;
    d.in.e = !shared;
    d.in.b = d.use(d.operand(1), Ty::B32);
    d.in.sub = group;
    return d.emit(alloc, FlagAligned, 20);
  }
  if (op == "dealloc") {
    d.takeType();
    d.needOperands(2, 2);
    d.in.a = d.use(d.operand(0), Ty::B32);
    d.in.b = d.use(d.operand(1), Ty::B32);
    d.in.sub = group;
    return d.emit(dealloc, FlagAligned, 20);
  }
  if (op == "relinquish_alloc_permit") {
    d.in.sub = group;
    return d.emit(relinquish, FlagAligned);
  }
  if (op == "wait::ld" || op == "wait::st") {
    d.in.sub = op == "wait::st";
    return d.emit(wait, FlagAligned, 4);
  }
  if (op == "fence::before_thread_sync" || op == "fence::after_thread_sync") {
    d.program.usesTensorFences = true;
    d.in.sub = op == "fence::after_thread_sync";
    return d.emit(fence);
  }
  // ld and st
  bool store = op == "st";
  int shape = d.takeOneOf({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  int times = d.takeOneOf({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  bool packed = d.take(store ? "unpack::16b" : "pack::16b");
  d.takeType();
  if (shape < 0 || times < 0)
    d.fail("tcgen05." + std::string(op) + " without a known shape or count");
  bool hasSplit = shape == 4;
  d.needOperands(hasSplit ? 3 : 2, hasSplit ? 3 : 2);
  const Operand &addressOperand = d.operand(store ? 0 : 1),
                &regs = d.operand(store ? (hasSplit ? 2 : 1) : 0);
  Decoder::Address a = d.address(addressOperand);
  if (a.wide)
    d.fail("a tensor memory address has 32 bits");
  d.in.a = a.slot;
  d.in.e = int32_t(a.offset);
  if (hasSplit)
    d.in.imm = d.needImmediate(d.operand(store ? 1 : 2), "the split offset");
  if (store)
    d.useList(regs, Ty::B32);
  else
    d.defList(regs, Ty::B32);
  unsigned want = tmemRegisters(TmemShape(shape)) << times;
  if (d.in.count != want || want > 128)
    d.fail("found " + std::to_string(d.in.count) + " registers, needed " + std::to_string(want) +
           " (at most 128)");
  d.in.sub = uint32_t(shape) | (store ? 8 : 0) | (packed ? 16 : 0);
  d.emit(loadStore, FlagAligned, 8);
}

} // namespace sim
} // namespace tileloom
