//===- ExecWgmma.cpp - Warpgroup matrix instructions (PTX ISA 9.7.15) -----===//
//
// A wgmma is queued by each of the four warps of a warpgroup. It executes once all have issued it:
// at the wait that needs it, or earlier when a random schedule says so. Until the wait, its
// accumulator and A registers belong to it, and its shared memory reads are an asynchronous stream
// of the warp.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"
#include "MatrixTypes.h"
#include "Wgmma.h"
#include "tileloom/Simulator/Fragments.h"

namespace tileloom {
namespace sim {

bool drainWgmma(Warp &w);

namespace {

struct Scratch {
  DecodedOperand a, b;
  std::vector<uint8_t> aBytes, bBytes, aBits, bBits;
  std::vector<uint32_t> accumulator;
};

/// Gathers `rows` rows of an operand from shared memory; false if an address is out of range.
bool gather(Cta &cta, uint64_t bits, Major major, unsigned bytes, unsigned rows, unsigned k,
            std::vector<uint8_t> &out) {
  MatrixDescriptor desc;
  if (!decodeWgmmaDescriptor(bits, desc).empty())
    return false;
  out.resize(size_t(rows) * k * bytes);
  return gatherOperand(
      desc, major, bytes, rows, k,
      [&](uint32_t address, uint32_t n) -> const uint8_t * {
        return uint64_t(address) + n <= cta.shared.size() ? cta.shared.data() + address : nullptr;
      },
      out.data());
}

/// Every bit as an element of u8, the low one of a byte first.
void spread(const std::vector<uint8_t> &packed, std::vector<uint8_t> &elements) {
  elements.resize(packed.size() * 8);
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = packed[i / 8] >> i % 8 & 1;
}

void execute(Cta &cta, unsigned group, WgmmaOp &op) {
  static thread_local Scratch s;
  const Instr &in = *op.instr;
  WgmmaProperties p(in);
  Cluster &c = *cta.cluster;
  bool fast = c.grid->launch.options.fastMath;
  unsigned bytes = p.elementBits / 8, rowBytes = p.k * bytes;
  Warp *warps[4];
  for (unsigned i = 0; i < 4; ++i)
    warps[i] = cta.warps[group * 4 + i].get();
  const int32_t *list = warps[0]->program->lists.data() + in.list;
  const int32_t *aRegs = list + p.accumulatorRegs;
  if (p.aInRegisters) {
    s.aBytes.resize(64 * rowBytes);
    unsigned per = 32 / p.elementBits;
    for (unsigned w = 0; w < 4; ++w)
      for (unsigned r = 0; r < 4; ++r) {
        const uint32_t *reg = warps[w]->reg<uint32_t>(aRegs[r]);
        for (unsigned t = 0; t < 32; ++t)
          for (unsigned b = 0; b < per; ++b) {
            Coord at = wgmmaA(p.elementBits, w, t, r, b);
            uint32_t v = reg[t] >> (b * p.elementBits);
            std::memcpy(s.aBytes.data() + at.row * rowBytes + at.col * bytes, &v, bytes);
          }
      }
  } else if (!gather(cta, op.aDescriptor, p.transA ? Major::MN : Major::K, bytes, 64, p.k,
                     s.aBytes)) {
    return; // reported when it was issued
  }
  if (!gather(cta, op.bDescriptor, p.transB ? Major::MN : Major::K, bytes, p.n, p.kB, s.bBytes))
    return;
  if (!p.binary) {
    s.a.load(p.a, Packing::Container, s.aBytes.data(), rowBytes, 64, p.k, p.negateA);
    s.b.load(p.b, Packing::Container, s.bBytes.data(), p.kB * bytes, p.n, p.kB, p.negateB);
    if (p.sparse)
      s.a.spread(op.places.data());
  }
  s.accumulator.resize(64 * p.n);
  uint32_t *words = s.accumulator.data();
  bool half = p.d == MmaType::F16;
  if (op.scaleD)
    for (unsigned w = 0; w < 4; ++w)
      for (unsigned r = 0; r < p.accumulatorRegs; ++r) {
        const uint32_t *reg = warps[w]->reg<uint32_t>(list[r]);
        for (unsigned t = 0; t < 32; ++t) {
          Coord at = wgmmaD(w, t, half ? 2 * r : r);
          uint32_t *to = words + at.row * p.n + at.col;
          to[0] = half ? reg[t] & 0xFFFF : reg[t];
          if (half)
            to[1] = reg[t] >> 16;
        }
      }
  TileOptions o;
  o.accumulate = op.scaleD;
  o.satfinite = p.saturate;
  DotModel model = dotModel(MmaUnit::Wgmma, p.a, p.b, p.d);
  auto multiply = [&] {
    return fast ? multiplyAccumulateFast(model, s.a, s.b, {words, p.n}, o)
                : multiplyAccumulate(model, s.a, s.b, {words, p.n}, o);
  };
  std::string error;
  if (p.binary) {
    // The count of bits that both have is the product of elements of one bit; the unit takes
    // half of them at a time.
    spread(s.aBytes, s.aBits);
    spread(s.bBytes, s.bBits);
    for (unsigned part = 0; part < 2 && error.empty(); ++part) {
      unsigned first = part * rowBytes * 4, count = rowBytes * 4;
      s.a.load(p.a, Packing::Container, s.aBits.data() + first, 2 * count, 64, count);
      s.b.load(p.b, Packing::Container, s.bBits.data() + first, 2 * count, p.n, count);
      error = multiply();
      o.accumulate = true;
    }
  } else {
    error = multiply();
  }
  if (!error.empty()) {
    warps[0]->current = op.instr;
    report(*warps[0], "wgmma", error);
  }
  for (unsigned w = 0; w < 4; ++w)
    for (unsigned r = 0; r < p.accumulatorRegs; ++r) {
      uint32_t *reg = warps[w]->reg<uint32_t>(list[r]);
      for (unsigned t = 0; t < 32; ++t) {
        Coord at = wgmmaD(w, t, half ? 2 * r : r);
        const uint32_t *from = words + at.row * p.n + at.col;
        reg[t] = half ? (from[0] & 0xFFFF) | from[1] << 16 : from[0];
      }
    }
}

/// Runs the oldest wgmma of a warpgroup if all its warps have issued it.
bool executeNext(Cta &cta, unsigned group) {
  Warpgroup &g = cta.warpgroups[group];
  if (g.ops.empty() || g.ops.front().arrived != 15)
    return false;
  WgmmaOp &op = g.ops.front();
  WgmmaProperties p(*op.instr);
  uint64_t start = std::max(op.time, cta.tensorTime);
  uint64_t cycles = uint64_t(64) * p.n * p.k /
                    (p.elementBits == 8    ? 4096
                     : p.elementBits == 16 ? 2048
                                           : 1024);
  cta.tensorTime = start + cycles;
  g.lastDone = start + cycles + 30;
  noteWork(cta, "tensor", int(group * 4), start, start + cycles, "wgmma", op.instr->line);
  execute(cta, group, op);
  g.ops.pop_front();
  ++g.first;
  ++g.executed;
  madeEvent(*cta.cluster);
  return true;
}

// a: A descriptor; b: B descriptor; c: scale-d predicate.
Step issue(Warp &w, const Instr &in) {
  WgmmaProperties p(in);
  unsigned group = w.id / 4, member = w.id % 4;
  Warpgroup &g = w.cta->warpgroups[group];
  if (group * 4 + 4 > w.cta->warps.size()) {
    report(w, "warpgroup",
           "wgmma in an incomplete warpgroup: the CTA has " + std::to_string(w.cta->warps.size()) +
               " warps");
    w.cluster->failed = true;
    return Step::Next;
  }
  WgmmaOp mine;
  mine.instr = &in;
  unsigned lane = w.firstLane();
  if (!p.aInRegisters)
    mine.aDescriptor = w.reg<uint64_t>(in.a)[lane];
  mine.bDescriptor = w.reg<uint64_t>(in.b)[lane];
  uint32_t scale = getPredicate(w, in.c, in.sub >> 27 & 1);
  mine.scaleD = scale >> lane & 1;
  bool uniform = (scale & w.active) == (mine.scaleD ? w.active : 0);
  eachLane(w.active, [&](unsigned i) {
    uniform &= w.reg<uint64_t>(in.b)[i] == mine.bDescriptor &&
               (p.aInRegisters || w.reg<uint64_t>(in.a)[i] == mine.aDescriptor);
  });
  if (!uniform)
    report(w, "descriptor", "descriptors or scale-d differ between lanes of the warp");
  uint64_t number = w.wgmmaIssued++;
  if (number >= g.first + g.ops.size())
    g.ops.push_back(mine);
  WgmmaOp &op = g.ops[size_t(number - g.first)];
  if (op.instr != &in)
    report(w, "warpgroup",
           "the warps of the warpgroup execute different wgmmas: another is at line " +
               std::to_string(op.instr->line));
  else if (op.aDescriptor != mine.aDescriptor || op.bDescriptor != mine.bDescriptor ||
           op.scaleD != mine.scaleD)
    report(w, "descriptor", "descriptors or scale-d differ between the warps of the warpgroup");
  if (p.sparse) {
    op.places.resize(64 * p.k);
    wgmmaPlaces(w, in, p, op.places.data() + 16 * member * p.k);
  }
  op.arrived |= 1u << member;
  op.time = std::max(op.time, w.time);
  if (!w.written.empty())
    checkWgmmaRegisters(w, in, p, mine.scaleD);
  unsigned bytes = p.elementBits / 8;
  if (!p.aInRegisters)
    noteWgmmaOperand(w, mine.aDescriptor, p.transA ? Major::MN : Major::K, bytes, 16 * member, 16,
                     p.k, "A");
  noteWgmmaOperand(w, mine.bDescriptor, p.transB ? Major::MN : Major::K, bytes, 0, p.n, p.kB, "B");
  madeEvent(*w.cluster);
  return Step::Next;
}

Step fence(Warp &w, const Instr &) {
  ++w.wgmmaFences;
  endLoads(w);
  return Step::Next;
}

Step commit(Warp &w, const Instr &) {
  ++w.wgmmaCommits;
  w.wgmmaGroupEnds.push_back(w.wgmmaIssued);
  w.wgmmaGroupRegs.push_back(std::move(w.wgmmaOpenRegs));
  w.wgmmaOpenRegs.clear();
  return Step::Next;
}

Step waitGroup(Warp &w, const Instr &in) {
  size_t keep = size_t(in.imm), have = w.wgmmaGroupEnds.size();
  if (have <= keep)
    return Step::Next;
  Warpgroup &g = w.cta->warpgroups[w.id / 4];
  uint64_t needed = w.wgmmaGroupEnds[have - keep - 1];
  while (g.executed < needed)
    if (!executeNext(*w.cta, w.id / 4)) {
      w.block(WaitInfo::Warpgroup);
      return Step::Blocked;
    }
  for (size_t i = 0; i < have - keep; ++i) {
    uint32_t retired = uint32_t(w.wgmmaCommits - have + i + 1);
    if (!w.inFlight.empty())
      for (uint32_t r : w.wgmmaGroupRegs.front())
        if (w.inFlightGroup[r] <= retired)
          w.inFlight[r] = 0;
    w.wgmmaGroupRegs.pop_front();
    w.wgmmaGroupEnds.pop_front();
  }
  w.inFlightCount = !w.wgmmaGroupRegs.empty() || !w.wgmmaOpenRegs.empty();
  learn(w, wgmmaActor(w), uint32_t(w.wgmmaCommits - keep), w.active);
  w.group->wait.kind = WaitInfo::Warpgroup;
  finishWait(w, g.lastDone);
  return Step::Next;
}

void decodeMma(Decoder &d) {
  bool sparse = d.take("sp");
  d.take("sync");
  d.take("aligned");
  std::string_view shape = d.takeAny();
  unsigned m = 0, n = 0, k = 0;
  if (std::sscanf(std::string(shape).c_str(), "m%un%uk%u", &m, &n, &k) != 3 || m != 64 || n < 8 ||
      n > 256 || n % 8)
    d.fail("wgmma shape '" + std::string(shape) +
           "'; m64nNkK with N a multiple of 8 up to 256 is needed");
  bool saturate = d.take("satfinite");
  Ty td = d.needType(), ta = Ty::U8, tb = Ty::U8;
  bool binary = d.take("b1");
  if (!binary) {
    ta = d.needType();
    tb = d.needType();
  } else if (!d.take("b1") || !d.take("and") || !d.take("popc")) {
    d.fail("wgmma of b1 needs .b1.b1.and.popc");
  }
  MmaType md, ma, mb;
  if (!matrixType(td, md) || !matrixType(ta, ma) || !matrixType(tb, mb))
    d.fail("type is not supported by wgmma");
  bool integer = isInteger(ma);
  if (integer && n > 24 && n % 16)
    d.fail("N is " + std::to_string(n) + ", integers need 8, 24 or a multiple of 16");
  const Operand &a = d.operand(1);
  bool inRegisters = a.kind == Operand::Vector;
  d.in.sub = n | uint32_t(ma) << 9 | uint32_t(mb) << 13 | uint32_t(md) << 17 |
             (inRegisters ? 1u << 21 : 0) | (saturate ? 1u << 26 : 0) | (binary ? 1u << 28 : 0) |
             (sparse ? 1u << 29 : 0);
  if (sparse && binary)
    d.fail("wgmma.mma_async.sp has no form of .b1");
  WgmmaProperties p(d.in);
  if (unsigned needed = binary ? 8 * p.k : p.kB; k != needed)
    d.fail("K is " + std::to_string(k) + ", the element type needs " + std::to_string(needed));
  const Operand &dv = d.operand(0);
  if (dv.kind != Operand::Vector || dv.parts.size() != p.accumulatorRegs)
    d.fail("the accumulator needs " + std::to_string(p.accumulatorRegs) + " registers");
  if (inRegisters && a.parts.size() != 4)
    d.fail("matrix A in registers needs 4");
  std::vector<int32_t> slots;
  // Uses in order: B, metadata, scale-d, then A; checkOperands counts on A being the last four.
  d.in.b = d.use(d.operand(2), Ty::B64);
  size_t at = 3;
  if (sparse) {
    d.in.e = d.use(d.operand(at++), Ty::B32);
    int64_t selector = d.needImmediate(d.operand(at++), "the sparsity selector");
    if (selector < 0 || selector > (p.elementBits == 8 ? 0 : 1))
      d.fail("the sparsity selector is " + std::to_string(selector) + ", needs " +
             (p.elementBits == 8 ? "0" : "0 or 1") + " for this type");
    d.in.sub |= uint32_t(selector) << 30;
  }
  bool negated = false;
  if (d.operandCount() > at)
    d.in.c = d.usePred(d.operand(at++), negated);
  else
    d.in.c = d.constant(1, 0);
  d.in.sub |= negated ? 1u << 27 : 0;
  if (inRegisters)
    for (const Operand &o : a.parts)
      slots.push_back(d.use(o, Ty::B32));
  else
    d.in.a = d.use(a, Ty::B64);
  d.in.list = uint32_t(d.program.lists.size());
  for (const Operand &o : dv.parts)
    d.program.lists.push_back(d.def(o, td == Ty::F16 ? Ty::B32 : Ty::B32));
  d.program.lists.insert(d.program.lists.end(), slots.begin(), slots.end());
  auto sign = [&](uint32_t bit, const char *what) {
    int64_t v = d.needImmediate(d.operand(at++), what);
    if (v != 1 && v != -1)
      d.fail(std::string(what) + " must be 1 or -1");
    if (v < 0)
      d.in.sub |= bit;
  };
  if (!integer && d.operandCount() > at) {
    sign(1u << 24, "imm-scale-a");
    sign(1u << 25, "imm-scale-b");
    if (p.elementBits == 16) {
      auto transposed = [&](uint32_t bit, const char *what) {
        int64_t v = d.needImmediate(d.operand(at++), what);
        if (v != 0 && v != 1)
          d.fail(std::string(what) + " must be 0 or 1");
        d.in.sub |= v ? bit : 0;
      };
      if (!inRegisters)
        transposed(1u << 22, "imm-trans-a");
      transposed(1u << 23, "imm-trans-b");
    }
  }
  if (at < d.operandCount() && !integer)
    d.fail("too many operands");
  d.emit(issue, FlagAligned | FlagMatrix, 2);
}

void decode(Decoder &d) {
  std::string_view op = d.takeAny();
  d.take("sync");
  d.take("aligned");
  if (op == "mma_async")
    return decodeMma(d);
  if (op == "fence")
    return d.emit(fence, FlagAligned);
  if (op == "commit_group")
    return d.emit(commit, FlagAligned);
  if (op == "wait_group") {
    d.needOperands(1, 1);
    d.in.imm = d.needImmediate(d.operand(0), "the number of groups");
    return d.emit(waitGroup, FlagAligned, 2);
  }
  d.fail("unknown wgmma operation '" + std::string(op) + "'");
}

} // namespace

bool drainWgmma(Warp &w) { return executeNext(*w.cta, w.id / 4); }

void registerWgmma(DecodeTable &t) { t["wgmma"] = decode; }

} // namespace sim
} // namespace tileloom
