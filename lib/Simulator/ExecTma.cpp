//===- ExecTma.cpp - Tensor copies and tensor maps ------------------------===//
//
// cp.async.bulk.tensor loads, stores and reductions (PTX ISA 9.7.9.25.5), over the TensorMap and
// BoxWalk engines.
//
//===----------------------------------------------------------------------===//
#include "Bulk.h"
#include "Lanes.h"
#include "tileloom/Simulator/BoxWalk.h"
#include "tileloom/Simulator/Reduce.h"

namespace tileloom {
namespace sim {

/// ExecTensorMap.cpp: reads a tensor map; false (reported) if there is no good one.
bool readMap(Warp &w, uint64_t address, TensorMap &map, int lane);

namespace {

// sub: bit 0 load, bit 1 multicast, bit 2 gather/scatter, bit 3 cta_group 2, bit 4 reduce,
// bits 5-8 op, bit 9 smem wide, bit 10 mbar wide, bit 11 map wide.
// a map, b shared, c mbar, e mask; list: coordinates, then offsets of map, smem and mbar.
constexpr uint32_t Load = 1, Multicast = 2, Gather = 4, Pair = 8, Reducing = 16, SmemWide = 1 << 9,
                   MbarWide = 1 << 10, MapWide = 1 << 11;

struct Chunk {
  uint8_t *global;
  uint32_t shared, bytes;
  bool inBounds;
};

/// Whether the box covers one solid range of shared memory, whatever the swizzle does inside.
bool solid(const BoxWalk &walk, uint32_t total) {
  uint32_t period = swizzlePeriod(walk.swizzle);
  bool gaps = walk.rowGroups || walk.rowBytes != walk.count[0] / walk.unitElements * walk.unit;
  return !gaps && (walk.sharedBase & 0xFFFFFF) % period == 0 && total % period == 0;
}

/// Bounds of all chunks in global memory, and their checks.
bool collect(Warp &w, const BoxWalk &walk, Mode mode, const Actor &actor, int lane,
             const char *what, std::vector<Chunk> &chunks) {
  bool ok = true;
  uint64_t noted = 0, notedEnd = 0;
  auto flush = [&] {
    if (notedEnd > noted)
      noteGlobal(w, noted, uint32_t(notedEnd - noted), mode, actor, lane);
    noted = notedEnd = 0;
  };
  forEachChunk(walk, [&](const BoxChunk &c) {
    if (!c.sharedBytes || !ok)
      return;
    Chunk k{nullptr, c.shared & 0xFFFFFF, c.sharedBytes, c.inBounds};
    if (c.inBounds) {
      k.global = globalPlace(w, c.global, c.globalBytes, 1, mode, lane, what);
      if (!k.global) {
        ok = false;
        return;
      }
      if (c.global != notedEnd) {
        flush();
        noted = c.global;
      }
      notedEnd = c.global + c.globalBytes;
    }
    chunks.push_back(k);
  });
  flush();
  return ok;
}

Step tensorCopy(Warp &w, const Instr &in) {
  const int32_t *list = w.program->lists.data() + in.list;
  unsigned rank = in.count;
  const int32_t *offsets = list + rank;
  bool isLoad = in.sub & Load;
  const char *what = isLoad ? "TMA load" : in.sub & Reducing ? "TMA reduction" : "TMA store";
  eachLane(w.active, [&](unsigned lane) {
    int32_t coords[5] = {0, 0, 0, 0, 0};
    for (unsigned i = 0; i < rank; ++i)
      coords[i] = w.reg<int32_t>(list[i])[lane];
    TensorMap map;
    if (!readMap(w, addressAt(w, in.a, offsets[0], in.sub & MapWide, lane), map, int(lane)))
      return;
    if (!(in.sub & Gather) && map.rank != rank) {
      report(w, "tensor-map",
             std::string(what) + " of " + std::to_string(rank) + " dimensions with a map of rank " +
                 std::to_string(map.rank),
             int(lane));
      return;
    }
    uint32_t shared = uint32_t(addressAt(w, in.b, offsets[1], in.sub & SmemWide, lane));
    BoxWalk walk;
    BoxDirection direction = isLoad ? BoxDirection::Load : BoxDirection::Store;
    Error e = in.sub & Gather ? prepareGather4(map, coords, shared & 0xFFFFFF, direction, walk)
                              : prepareBox(map, coords, shared & 0xFFFFFF, direction, walk);
    if (!e.empty()) {
      report(w, "tensor-map", std::string(what) + ": " + e, int(lane));
      return;
    }
    uint32_t total = in.sub & Gather ? 4 * sharedBoxBytes(map) : sharedBoxBytes(map);
    Cluster *c = w.cluster;
    uint32_t line = in.line;
    auto chunks = std::make_shared<std::vector<Chunk>>();
    ++w.bulkSequence;
    uint64_t time = chargeCopy(w, total, what);
    bool whole = solid(walk, total);
    auto note = [&](Cta *cta, Mode mode, const Actor &actor) {
      if (!cta->shadow)
        return;
      if (whole)
        return noteShared(w, {cta, shared & 0xFFFFFF}, total, mode, actor, int(lane));
      for (const Chunk &k : *chunks)
        if (isLoad || k.inBounds)
          noteShared(w, {cta, k.shared}, k.bytes, mode, actor, int(lane));
    };
    if (!isLoad) {
      SharedPlace from = sharedPlace(w, shared, total, 1, false, int(lane), what);
      Actor actor = bulkStream(w, what);
      Mode mode = in.sub & Reducing ? Mode::Update : Mode::Write;
      if (!from || !collect(w, walk, mode, actor, int(lane), what, *chunks))
        return;
      note(from.cta, Mode::Read, actor);
      w.bulk[lane].readsPending = true;
      Cta *cta = from.cta;
      ReduceOp op = ReduceOp(in.sub >> 5 & 15);
      ReduceType type = ReduceType::U32;
      if (in.sub & Reducing) {
        Error bad = tensorReduceType(op, map.type, type);
        if (!bad.empty()) {
          report(w, "tensor-map", std::string(what) + ": " + bad, int(lane));
          return;
        }
      }
      bool reduce = in.sub & Reducing, sixBits = map.type == TmaType::U6Align16;
      queueCopy(w, lane, true, what, time, [=] {
        for (const Chunk &k : *chunks) {
          const uint8_t *data = cta->shared.data() + k.shared;
          if (!k.inBounds)
            continue;
          if (reduce)
            reduceSpan(op, type, k.global, data, k.bytes, map.type == TmaType::F32Ftz);
          else if (sixBits)
            packB6(data, k.global);
          else
            std::memcpy(k.global, data, k.bytes);
        }
      });
      return;
    }
    uint32_t mbar = uint32_t(addressAt(w, in.c, offsets[2], in.sub & MbarWide, lane));
    uint32_t mask = in.sub & Multicast ? w.reg<uint16_t>(in.e)[lane] : 0;
    auto targets = loadTargets(w, shared, total, 1, mbar, in.sub & Multicast, mask,
                               in.sub & Pair ? 2 : 1, int(lane), what);
    if (targets.empty())
      return;
    if (!collect(w, walk, Mode::Read, barrierStream(targets[0].barrier, what), int(lane), what,
                 *chunks))
      return;
    uint32_t bytes = in.sub & Gather ? gather4TransactionBytes(map) : transactionBytes(map);
    for (const LoadTarget &t : targets) {
      Actor writer = barrierStream(t.barrier, what);
      if (map.rank > 1) // a map of one dimension may copy data that is swizzled already
        writer.layout = uint8_t(1 + unsigned(map.swizzle));
      note(t.cta, Mode::Write, writer);
      queueCopy(w, lane, false, what, time, [=] {
        if (t.cta->done)
          return;
        for (const Chunk &k : *chunks) {
          uint8_t *to = t.cta->shared.data() + k.shared;
          if (k.inBounds)
            loadElements(map, to, k.global, k.bytes);
          else
            writeFill(map, to, k.bytes);
        }
        AsyncArrival arrival;
        arrival.time = time;
        completeBytes(*c, t.barrier, bytes, arrival, what, line);
      });
    }
  });
  return Step::Next;
}

} // namespace

void decodeTensorCopy(Decoder &d, bool reduce) {
  int dims = d.takeOneOf({"1d", "2d", "3d", "4d", "5d"});
  std::string_view to = d.takeAny(), from = d.takeAny();
  bool load = from == "global";
  if (dims < 0 || (!load && to != "global"))
    d.fail("cp.async.bulk.tensor needs .1d to .5d, a destination and a source space");
  int op = reduce ? d.takeOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor"}) : -1;
  bool gather = d.take("tile::gather4") || d.take("tile::scatter4");
  d.take("tile");
  if (d.has("im2col") || d.has("im2col_no_offs") || d.has("im2col::w") || d.has("im2col::w::128"))
    d.fail("im2col is not supported");
  bool barrier = d.take("mbarrier::complete_tx::bytes"), group = d.take("bulk_group");
  bool multicast = d.take("multicast::cluster"), pair = d.take("cta_group::2");
  d.take("cta_group::1");
  takeCacheHints(d);
  if (load ? !barrier : !group)
    d.fail(load ? "a load completes by .mbarrier::complete_tx::bytes"
                : "a store completes by .bulk_group");
  const Operand &mapOperand = d.operand(load ? 1 : 0), &smem = d.operand(load ? 0 : 1);
  Decoder::Address map = d.address(mapOperand), s = d.address(smem), m;
  if (mapOperand.parts.size() != 1 || mapOperand.parts[0].kind != Operand::Vector)
    d.fail("the tensor coordinates {..} are missing");
  d.useList(mapOperand.parts[0], Ty::S32);
  unsigned want = gather ? 5 : unsigned(dims) + 1;
  if (d.in.count != want)
    d.fail("found " + std::to_string(d.in.count) + " coordinates, needed " + std::to_string(want));
  if (load) {
    m = d.address(d.operand(2));
    d.in.c = m.slot;
    if (multicast)
      d.in.e = d.use(d.operand(3), Ty::B16);
  }
  for (size_t i = load ? 3 + multicast : 2; i < d.operandCount(); ++i)
    d.use(d.operand(i), Ty::B64, true); // the cache policy
  d.program.lists.insert(d.program.lists.end(),
                         {int32_t(map.offset), int32_t(s.offset), int32_t(m.offset)});
  d.in.a = map.slot;
  d.in.b = s.slot;
  d.in.sub = (load ? Load : 0) | (multicast ? Multicast : 0) | (gather ? Gather : 0) |
             (pair ? Pair : 0) | (reduce ? Reducing | uint32_t(op) << 5 : 0) |
             (s.wide ? SmemWide : 0) | (m.wide ? MbarWide : 0) | (map.wide ? MapWide : 0);
  if (reduce)
    d.program.usesGlobalAtomics = true;
  d.emit(tensorCopy, 0, 8);
}

} // namespace sim
} // namespace tileloom
