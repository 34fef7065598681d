//===- ExecTensorMap.cpp - Tensor maps that kernels edit ------------------===//
//
// tensormap.replace (PTX ISA 9.7.9.26), tensormap.cp_fenceproxy (9.7.13.16) and the fences between
// the generic and the tensormap proxy (9.7.13.4): a map in global memory that a kernel has written
// must be released by its writer (cp_fenceproxy does) and acquired by each CTA that uses it.
//
//===----------------------------------------------------------------------===//
#include "Bulk.h"
#include "GlobalOrder.h"
#include "Lanes.h"
#include "tileloom/Simulator/TensorMap.h"

namespace tileloom {
namespace sim {
namespace {

/// The last writers of a map in global memory, if there are any and races are looked at.
const uint32_t *mapWriters(Warp &w, uint64_t address) {
  Region *r = w.cluster->lastRegion;
  if (!w.cluster->checking(CheckRaces) || !r || address < r->base ||
      address + tensorMapBytes > r->base + r->size || !r->writers)
    return nullptr;
  return r->writers->data() + ((address - r->base) >> 2);
}

void checkMapFences(Warp &w, uint64_t address, int lane) {
  const uint32_t *writers = mapWriters(w, address);
  if (!writers)
    return;
  GlobalOrder &order = GlobalOrder::of(*w.cluster->grid);
  auto acquired = w.cta->mapsAcquired.find(address);
  for (unsigned i = 0; i < tensorMapBytes / 4; ++i) {
    if (!writers[i])
      continue;
    const GlobalRecord &g = order[writers[i]];
    bool mine = acquired != w.cta->mapsAcquired.end() && acquired->second[i] == writers[i],
         released = order.mapReleased(g, writers[i]);
    if (mine && released)
      continue;
    report(w, "missing-proxy-fence",
           "the tensor map at " + hex(address) + " was written by warp " + std::to_string(g.warp) +
               " of CTA " + std::to_string(g.cta) + " at line " + std::to_string(g.line) +
               (released ? "; this CTA has executed no fence.proxy.tensormap::generic.acquire of "
                           "the map since then"
                         : ", with no fence.proxy.tensormap::generic.release behind it"),
           lane);
    return;
  }
}

Step acquireMap(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    uint64_t address = addressAt(w, in.a, in.imm, in.sub & 1, lane);
    if (!place(w, Space::Global, address, tensorMapBytes, 64, Mode::StrongRead, int(lane)))
      return;
    if (const uint32_t *writers = mapWriters(w, address))
      w.cta->mapsAcquired[address].assign(writers, writers + tensorMapBytes / 4);
  });
  return Step::Next;
}

Step releaseMaps(Warp &w, const Instr &) {
  if (w.cluster->checking(CheckRaces))
    GlobalOrder::of(*w.cluster->grid).releaseMaps(w);
  return Step::Next;
}

// sub: bits 0-7 field, 8-15 ordinal, bit 16 shared, bit 17 wide address, bit 18 64-bit value.
Step replace(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    uint64_t address = addressAt(w, in.a, in.imm, in.sub & 1 << 17, lane);
    Space s = in.sub & 1 << 16 ? Space::Shared : Space::Generic;
    uint8_t *blob = place(w, s, address, tensorMapBytes, 64, Mode::Read, int(lane));
    if (!blob || !place(w, s, address, tensorMapBytes, 64, Mode::Write, int(lane)))
      return;
    uint64_t value = in.sub & 1 << 18 ? w.reg<uint64_t>(in.b)[lane] : w.reg<uint32_t>(in.b)[lane];
    Error e = replaceField(blob, TmaField(in.sub & 0xFF), in.sub >> 8 & 0xFF, value);
    if (!e.empty())
      report(w, "tensor-map", "tensormap.replace: " + e, int(lane));
  });
  return Step::Next;
}

Step copyFenced(Warp &w, const Instr &in) {
  // The warp copies once, each lane its part.
  unsigned lane = w.firstLane();
  uint64_t source = addressAt(w, in.b, w.program->lists[in.list], in.sub & 2, lane);
  const uint8_t *from = place(w, Space::Shared, source, tensorMapBytes, 64, Mode::Read, int(lane));
  for (unsigned i = 0; from && i < 32; ++i)
    place(w, Space::Shared, source + 4 * i, 4, 4, Mode::Read, int(i));
  uint64_t address = w.reg<uint64_t>(in.a)[lane] + uint64_t(in.imm);
  uint8_t *to = place(w, Space::Global, address, tensorMapBytes, 64, Mode::Write, int(lane));
  if (from && to) {
    std::memcpy(to, from, tensorMapBytes);
    if (w.cluster->checking(CheckRaces))
      GlobalOrder::of(*w.cluster->grid).releaseMaps(w);
  }
  return Step::Next;
}

void decodeReplace(Decoder &d) {
  d.take("tile");
  int field = d.takeOneOf({"global_address", "rank", "box_dim", "global_dim", "global_stride",
                           "element_stride", "elemtype", "interleave_layout", "swizzle_mode",
                           "swizzle_atomicity", "fill_mode"});
  if (field < 0)
    d.fail("tensormap.replace without a known field");
  bool shared = d.take("shared::cta");
  d.take("global");
  if (!d.take("b1024"))
    d.fail("tensormap.replace needs .b1024");
  Ty t = d.needType();
  bool indexed = field >= 2 && field <= 5;
  d.needOperands(indexed ? 3 : 2, indexed ? 3 : 2);
  Decoder::Address a = d.address(d.operand(0));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  int64_t ordinal = indexed ? d.needImmediate(d.operand(1), "the ordinal") : 0;
  d.in.b = d.use(d.operand(indexed ? 2 : 1), t);
  d.in.sub = uint32_t(field) | uint32_t(ordinal) << 8 | (shared ? 1u << 16 : 0) |
             (a.wide ? 1u << 17 : 0) | (bytesOf(t) == 8 ? 1u << 18 : 0);
  d.emit(replace, 0, 4);
}

} // namespace

bool readMap(Warp &w, uint64_t address, TensorMap &map, int lane) {
  // Kernel parameters are named by their offset, or generically after cvta.param.
  Space s = address < w.cluster->grid->parameters.size() ? Space::Param : Space::Generic;
  const uint8_t *blob = place(w, s, address, tensorMapBytes, 64, Mode::Read, lane);
  if (!blob)
    return false;
  if (spaceOf(s, address) == Space::Global)
    checkMapFences(w, address, lane);
  Error e = decode(blob, map);
  if (!e.empty())
    report(w, "tensor-map", "tensor map at " + hex(address) + ": " + e, lane);
  return e.empty();
}

/// fence.proxy.tensormap::generic: .acquire of a map, or .release.
void decodeMapFence(Decoder &d) {
  bool acquire = d.take("acquire");
  if (!acquire && !d.take("release"))
    d.fail("fence.proxy.tensormap::generic needs .acquire or .release");
  if (d.takeOneOf({"cta", "cluster", "gpu", "sys"}) < 0)
    d.fail("fence.proxy.tensormap::generic needs a scope");
  if (!acquire)
    return d.emit(releaseMaps, 0, 4);
  d.needOperands(2, 2);
  Decoder::Address a = d.address(d.operand(0));
  if (d.needImmediate(d.operand(1), "the size") != 128)
    d.fail("fence.proxy.tensormap::generic.acquire is of 128 bytes");
  d.in.a = a.slot;
  d.in.imm = a.offset;
  d.in.sub = a.wide;
  d.emit(acquireMap, 0, 4);
}

void registerTensorMap(DecodeTable &t) {
  t["tensormap"] = [](Decoder &d) {
    if (d.take("replace"))
      return decodeReplace(d);
    if (!d.take("cp_fenceproxy"))
      d.fail("unknown tensormap instruction");
    while (!d.takeAny().empty()) {
    }
    d.needOperands(3, 3);
    Decoder::Address a = d.address(d.operand(0)), b = d.address(d.operand(1));
    if (d.needImmediate(d.operand(2), "the size") != 128 || !a.wide)
      d.fail("tensormap.cp_fenceproxy copies 128 bytes to a 64-bit address");
    d.in.a = a.slot;
    d.in.imm = a.offset;
    d.in.b = b.slot;
    d.in.sub = b.wide ? 2 : 0;
    d.in.list = uint32_t(d.program.lists.size());
    d.program.lists.push_back(int32_t(b.offset));
    d.emit(copyFenced, FlagAligned, 8);
  };
}

} // namespace sim
} // namespace tileloom
