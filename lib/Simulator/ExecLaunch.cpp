//===- ExecLaunch.cpp - clusterlaunchcontrol (PTX ISA 9.7.13.17, .18) -----===//
//
// A running cluster takes over the work of one that has not been launched yet. The 16-byte response
// is opaque in PTX; here it holds x, y, z of the first CTA of the cancelled cluster and a success
// flag.
//
//===----------------------------------------------------------------------===//
#include "Bulk.h"
#include "Lanes.h"

#include <atomic>

namespace tileloom {
namespace sim {
namespace {

struct Response {
  uint32_t id[3];
  uint32_t canceled;
};

// a, imm: response; b, list: mbarrier and its offset; sub: bit 0 multicast, 1 and 2 wide addresses.
Step tryCancel(Warp &w, const Instr &in) {
  Grid &g = *w.cluster->grid;
  int64_t barrierOffset = w.program->lists[in.list];
  if (w.cta->cancelRefused)
    report(w, "cluster-launch",
           "try_cancel by a CTA that has seen an earlier one refused: its result is undefined");
  eachLane(w.active, [&](unsigned lane) {
    uint32_t address = uint32_t(addressAt(w, in.a, in.imm, in.sub & 2, lane));
    uint32_t mbar = uint32_t(addressAt(w, in.b, barrierOffset, in.sub & 4, lane));
    uint32_t everyone = (1u << w.cluster->ctas.size()) - 1;
    auto targets =
        loadTargets(w, address, 16, 16, mbar, in.sub & 1, everyone, 1, int(lane), "try_cancel");
    if (targets.empty())
      return;
    Response r = {{0, 0, 0}, 0};
    uint64_t next = g.next->fetch_add(1);
    if (next < g.clusters) {
      next = g.clusterAt(next);
      const Dim3 &n = g.launch.grid, &s = g.launch.cluster;
      uint64_t nx = n.x / s.x, ny = n.y / s.y;
      r = {{uint32_t(next % nx) * s.x, uint32_t(next / nx % ny) * s.y,
            uint32_t(next / (nx * ny)) * s.z},
           1};
    }
    Cluster *c = w.cluster;
    uint32_t line = in.line;
    for (const LoadTarget &t : targets) {
      SharedPlace p{t.cta, address & 0xFFFFFF};
      noteShared(w, p, 16, Mode::Write, barrierStream(t.barrier, "try_cancel"), int(lane));
      uint64_t time = w.time + 500;
      queueCopy(w, lane, false, "try_cancel", time, [=] {
        if (t.cta->done)
          return;
        std::memcpy(p.data(), &r, 16);
        AsyncArrival arrival;
        arrival.time = time;
        completeBytes(*c, t.barrier, 16, arrival, "try_cancel", line);
      });
    }
  });
  return Step::Next;
}

Step isCanceled(Warp &w, const Instr &in) {
  const Response *r = w.reg<Response>(in.a);
  uint32_t result = 0;
  for (unsigned i = 0; i < 32; ++i)
    result |= uint32_t(r[i].canceled == 1) << i;
  w.cta->cancelRefused |= (result & w.active) != w.active;
  setPredicate(w, in.d, result);
  return Step::Next;
}

Step firstCta(Warp &w, const Instr &in) { // sub: first component
  const Response *r = w.reg<Response>(in.a);
  const int32_t *list = w.program->lists.data() + in.list;
  eachLane(w.active, [&](unsigned i) {
    if (r[i].canceled != 1)
      report(w, "cluster-launch", "get_first_ctaid of a request that was not granted", int(i));
    for (unsigned k = 0; k < in.count && k < 3; ++k)
      w.reg<uint32_t>(list[k])[i] = r[i].id[(in.sub + k) % 3];
  });
  return Step::Next;
}

void decode(Decoder &d) {
  if (d.take("try_cancel")) {
    d.take("async");
    d.take("shared::cta");
    if (!d.take("mbarrier::complete_tx::bytes"))
      d.fail("try_cancel needs .mbarrier::complete_tx::bytes");
    bool multicast = d.take("multicast::cluster::all");
    d.takeType();
    d.needOperands(2, 2);
    Decoder::Address a = d.address(d.operand(0)), b = d.address(d.operand(1));
    d.in.a = a.slot;
    d.in.imm = a.offset;
    d.in.b = b.slot;
    d.in.sub = (multicast ? 1 : 0) | (a.wide ? 2 : 0) | (b.wide ? 4 : 0);
    d.in.list = uint32_t(d.program.lists.size());
    d.program.lists.push_back(int32_t(b.offset));
    d.program.usesGlobalAtomics = true; // who gets which cluster depends on the order
    return d.emit(tryCancel, 0, 8);
  }
  if (!d.take("query_cancel"))
    d.fail("unknown clusterlaunchcontrol operation");
  bool whole = d.take("v4");
  int component = d.takeOneOf(
      {"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", "get_first_ctaid"});
  bool query = d.take("is_canceled");
  while (d.takeType() != Ty::None) {
  }
  d.needOperands(2, 2);
  d.in.a = d.use(d.operand(1), Ty::B128);
  if (query) {
    d.in.d = d.defPred(d.operand(0));
    return d.emit(isCanceled);
  }
  if (component < 0 || (component == 3) != whole)
    d.fail("unknown query of clusterlaunchcontrol");
  d.in.sub = uint32_t(component == 3 ? 0 : component);
  d.defList(d.operand(0), Ty::B32);
  d.emit(firstCta);
}

} // namespace

void registerLaunch(DecodeTable &t) { t["clusterlaunchcontrol"] = decode; }

} // namespace sim
} // namespace tileloom
