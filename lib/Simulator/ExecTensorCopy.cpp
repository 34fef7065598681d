//===- ExecTensorCopy.cpp - tcgen05.cp, shift and commit ------------------===//
//
// Asynchronous operations that one thread issues (PTX ISA 9.7.16.9, .12); they run in issue order
// with the matrix operations of the CTA. commit arrives on an mbarrier when all before it are done.
//
//===----------------------------------------------------------------------===//
#include "Barriers.h"
#include "Lanes.h"
#include "Tensor.h"
#include "tileloom/Simulator/Descriptor.h"
#include "tileloom/Simulator/Fragments.h"

namespace tileloom {
namespace sim {

void decodeTensorMemory(Decoder &d, std::string_view op, uint32_t group); // ExecTensorMemory.cpp
void decodeTensorMma(Decoder &d, uint32_t group);                         // ExecTensorMma.cpp

void queueTensor(Warp &w, const char *what, uint64_t cycles, std::function<void()> run) {
  TensorMemory &t = tensorOf(*w.cta);
  Cluster *c = w.cluster;
  uint64_t start = std::max(w.time, w.cta->tensorTime);
  w.cta->tensorTime = start + cycles;
  t.lastTime = start + cycles + 50;
  if (cycles)
    noteWork(*w.cta, "tensor", int(w.id), start, start + cycles, what, w.current->line);
  AsyncOp op;
  op.what = what;
  op.line = w.current->line;
  op.cta = w.cta->rank;
  op.after = {t.lastOp};
  op.complete = [c, run = std::move(run)] {
    run();
    madeEvent(*c);
  };
  t.lastOp = c->async.push(std::move(op), c->randomised ? &c->random : nullptr);
  madeProgress(w);
}

namespace {

/// 16 bytes of shared memory as they go to tensor memory; `unpack` bits of an element (4, 6): the
/// first 8 or 12 bytes hold 16 elements, of which each gets a byte (PTX ISA 9.7.16.9.1, figures
/// only), where the products look for it (Packing::Tmem4).
void unpackChunk(const uint8_t *from, unsigned unpack, uint8_t *to) {
  if (!unpack) {
    std::memcpy(to, from, 16);
    return;
  }
  for (unsigned i = 0; i < 16; ++i) {
    unsigned bit = i * unpack, pair = from[bit / 8] | from[bit / 8 + 1] << 8;
    unsigned element = pair >> bit % 8 & ((1u << unpack) - 1);
    to[i] = uint8_t(unpack == 4 ? element << 2 : element);
  }
}

// sub: bits 0-3 shape, bits 4-5 cta_group, bits 6-8 bits of packed elements; a: tensor address, b:
// descriptor.
Step copy(Warp &w, const Instr &in) {
  TmemCopyShape shape = TmemCopyShape(in.sub & 15);
  uint32_t group = in.sub >> 4 & 3, unpack = in.sub >> 6;
  tensorGroup(w, group);
  unsigned lane = w.firstLane();
  uint32_t address = w.reg<uint32_t>(in.a)[lane] + uint32_t(in.imm);
  MatrixDescriptor desc;
  std::string error = decodeTcgen05Descriptor(w.reg<uint64_t>(in.b)[lane], desc);
  if (!error.empty()) {
    report(w, "descriptor", "tcgen05.cp: " + error);
    return Step::Next;
  }
  Cta *peer = group == 2 ? pairOf(w) : nullptr;
  if (group == 2 && !peer)
    return Step::Next;
  ++w.tensorSequence;
  Actor actor = tensorStream(w, "tcgen05.cp");
  uint32_t rows = tmemCopyRows(shape), rowBytes = tmemCopyRowBytes(shape),
           column = address & 0xFFFF;
  for (Cta *cta : {w.cta, peer}) {
    if (!cta || !tensorColumns(w, *cta, column, rowBytes / 4, "tcgen05.cp"))
      continue;
    bool ok = true;
    for (uint32_t r = 0; r < rows && ok; ++r) {
      for (uint32_t at = 0; at < rowBytes && ok; at += 16) {
        uint32_t from = elementAddress(desc, Major::K, 1, r, at);
        SharedPlace p =
            sharedPlace(w, cta->rank << 24 | from, 16, 16, true, int(lane), "tcgen05.cp");
        ok = bool(p);
        if (ok)
          noteShared(w, p, 16, Mode::Read, actor, int(lane));
      }
      for (uint32_t i = 0; i < tmemCopyCopies(shape); ++i)
        noteTensor(w, *cta, tmemCopyLane(shape, r, i, address >> 16), column, rowBytes / 4,
                   Mode::Write, actor);
    }
    if (!ok)
      return Step::Next;
  }
  Cta *own = w.cta;
  queueTensor(w, "tcgen05.cp", rows / 4, [=] {
    for (Cta *cta : {own, peer}) {
      if (!cta || cta->done)
        continue;
      TensorMemory &t = tensorOf(*cta);
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t at = 0; at < rowBytes; at += 16) {
          uint8_t chunk[16];
          unpackChunk(cta->shared.data() + elementAddress(desc, Major::K, 1, r, at), unpack, chunk);
          for (uint32_t i = 0; i < tmemCopyCopies(shape); ++i)
            for (uint32_t word = 0; word < 4; ++word)
              std::memcpy(&t.word(tmemCopyLane(shape, r, i, address >> 16),
                                  (column + at / 4 + word) % 512),
                          chunk + 4 * word, 4);
        }
    }
  });
  return Step::Next;
}

// PTX says in words only that 32-byte rows move "down, except the last": taken as towards lane 0 in
// each quarter of the lanes, lane i receives lane i + 1 (UNVERIFIED; 4x256b fills the four last ones).
Step shift(Warp &w, const Instr &in) {
  tensorGroup(w, in.sub);
  uint32_t address = w.reg<uint32_t>(in.a)[w.firstLane()] + uint32_t(in.imm),
           column = address & 0xFFFF;
  if (address >> 16 & 31) {
    report(w, "tensor-address",
           "tcgen05.shift at lane " + std::to_string(address >> 16) + "; a multiple of 32 is needed");
    return Step::Next;
  }
  Cta *peer = in.sub == 2 ? pairOf(w) : nullptr;
  if (in.sub == 2 && !peer)
    return Step::Next;
  ++w.tensorSequence;
  Actor actor = tensorStream(w, "tcgen05.shift");
  for (Cta *cta : {w.cta, peer}) {
    if (!cta)
      continue;
    if (!tensorColumns(w, *cta, column, 8, "tcgen05.shift"))
      return Step::Next;
    for (uint32_t lane = 0; lane < 128; ++lane) {
      if (lane % 32)
        noteTensor(w, *cta, lane, column, 8, Mode::Read, actor);
      if (lane % 32 != 31)
        noteTensor(w, *cta, lane, column, 8, Mode::Write, actor);
    }
  }
  Cta *own = w.cta;
  queueTensor(w, "tcgen05.shift", 16, [=] {
    for (Cta *cta : {own, peer}) {
      if (!cta || cta->done)
        continue;
      TensorMemory &t = tensorOf(*cta);
      for (uint32_t lane = 0; lane < 127; ++lane)
        for (uint32_t c = 0; c < 8 && lane % 32 != 31; ++c)
          t.word(lane, column + c) = t.word(lane + 1, column + c);
    }
  });
  return Step::Next;
}

// sub: bits 0-1 cta_group, bit 2 multicast, bit 3 wide address; a/imm: mbarrier, b: mask.
Step commit(Warp &w, const Instr &in) {
  tensorGroup(w, in.sub & 3);
  eachLane(w.active, [&](unsigned lane) {
    uint32_t address =
        (in.sub & 8 ? uint32_t(w.reg<uint64_t>(in.a)[lane]) : w.reg<uint32_t>(in.a)[lane]) +
        uint32_t(in.imm);
    uint32_t mask = in.sub & 4 ? w.reg<uint16_t>(in.b)[lane] : 0;
    std::vector<BarrierPlace> barriers;
    if (in.sub & 4) {
      for (uint32_t r = 0; r < w.cluster->ctas.size(); ++r)
        if (mask >> r & 1)
          barriers.push_back(barrierOf(w, r, address & 0xFFFFFF));
    } else {
      barriers.push_back(liveBarrier(w, address, true, int(lane)));
    }
    AsyncArrival from;
    from.actor = tensorActor(w);
    from.epoch = w.tensorSequence;
    from.tensor = true;
    from.time = tensorOf(*w.cta).lastTime;
    Cluster *c = w.cluster;
    uint32_t line = in.line;
    queueTensor(w, "tcgen05.commit", 0, [=] {
      for (const BarrierPlace &b : barriers)
        if (b)
          arriveAsync(*c, b, from, "tcgen05.commit", line);
    });
  });
  return Step::Next;
}

void decodeCommit(Decoder &d, uint32_t group) {
  if (!d.take("mbarrier::arrive::one"))
    d.fail("tcgen05.commit needs .mbarrier::arrive::one");
  bool multicast = d.take("multicast::cluster");
  d.takeOneOf({"shared::cluster", "shared::cta"});
  d.takeType();
  d.needOperands(multicast ? 2 : 1, multicast ? 2 : 1);
  Decoder::Address a = d.address(d.operand(0));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  if (multicast)
    d.in.b = d.use(d.operand(1), Ty::B16);
  d.in.sub = group | (multicast ? 4 : 0) | (a.wide ? 8 : 0);
  d.emit(commit, 0, 4);
}

void decodeCopy(Decoder &d, uint32_t group) {
  int shape = d.takeOneOf({"128x256b", "128x128b", "4x256b", "64x128b", "32x128b"});
  int cast = d.takeOneOf({"warpx2::02_13", "warpx2::01_23", "warpx4"});
  bool unpacked = d.take("b8x16");
  int format = d.takeOneOf({"b4x16_p64", "b6x16_p32"});
  if (unpacked != (format >= 0))
    d.fail("tcgen05.cp to .b8x16 is from .b4x16_p64 or .b6x16_p32");
  if (shape < 0 || (shape < 3 && cast >= 0) || (shape == 3 && (cast < 0 || cast > 1)) ||
      (shape == 4 && cast != 2))
    d.fail("unknown shape or multicast of tcgen05.cp");
  TmemCopyShape s = shape < 3    ? TmemCopyShape(shape)
                    : shape == 4 ? TmemCopyShape::S32x128bWarpx4
                    : cast == 0  ? TmemCopyShape::S64x128bWarpx2_02_13
                                 : TmemCopyShape::S64x128bWarpx2_01_23;
  d.needOperands(2, 2);
  Decoder::Address a = d.address(d.operand(0));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  d.in.b = d.use(d.operand(1), Ty::B64);
  d.in.sub = uint32_t(s) | group << 4 | (format < 0 ? 0 : format ? 6u : 4u) << 6;
  d.emit(copy, 0, 4);
}

void decode(Decoder &d) {
  std::string_view op = d.takeAny();
  d.program.usesTensorMemory = true;
  uint32_t group = d.take("cta_group::2") ? 2 : 1;
  d.take("cta_group::1");
  d.take("sync");
  d.take("aligned");
  if (op == "mma")
    return decodeTensorMma(d, group);
  if (op == "cp")
    return decodeCopy(d, group);
  if (op == "commit")
    return decodeCommit(d, group);
  if (op == "shift") {
    d.take("down");
    d.needOperands(1, 1);
    Decoder::Address a = d.address(d.operand(0));
    d.in.a = a.slot;
    d.in.imm = a.offset;
    d.in.sub = group;
    return d.emit(shift, 0, 4);
  }
  for (const char *known : {"alloc", "dealloc", "relinquish_alloc_permit", "ld", "st", "wait::ld",
                            "wait::st", "fence::before_thread_sync", "fence::after_thread_sync"})
    if (op == known)
      return decodeTensorMemory(d, op, group);
  d.fail("unknown tcgen05 operation '" + std::string(op) + "'");
}

} // namespace

void registerTensor(DecodeTable &t) { t["tcgen05"] = decode; }

} // namespace sim
} // namespace tileloom
