//===- ExecTensorMma.cpp - tcgen05.mma (PTX ISA 9.7.16.10) ----------------===//
//
// Gathers A from shared or tensor memory and B from shared memory of one CTA or of the pair,
// multiplies in the matrix unit and writes D to tensor memory. Operands are looked at when the
// instruction is issued (checks) and read when it executes. Sparse forms and the column masks of
// .ws are refused.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Tensor.h"
#include "tileloom/Simulator/Fragments.h"
#include "tileloom/Simulator/InstructionDescriptor.h"

namespace tileloom {
namespace sim {
namespace {

// sub: bits 0-2 kind, 3-4 cta_group, 5 ws, 6 A in tensor memory, 7 negated enable, 8 has lane mask,
// 9 block scaled, 10-12 scale_vec, 16-19 scale-input-d.
// a: d, b: A (d: its offset), c: B descriptor, e: idesc, f: enable; list: lane mask words, or sfa and
// sfb and their offsets.
struct Operation {
  InstructionDescriptor d;
  TmemLayout layout = TmemLayout::D;
  uint32_t group = 1, dColumn = 0, dLane = 0, aTensor = 0, scaleA = 0, scaleB = 0;
  MatrixDescriptor aDesc, bDesc;
  bool aInTensor = false, accumulate = true;
  unsigned scaleInput = 0;
  uint32_t mask[8] = {0};
  Cta *ctas[2] = {nullptr, nullptr}; // even rank first
  bool fast = false;
};

unsigned rowBytesOf(const InstructionDescriptor &d, uint8_t container) {
  return container ? d.k * container : d.k / 2;
}
Packing packingOf(MmaType t, uint8_t container, bool tensor) {
  if (!container)
    return Packing::Packed4;
  if (t == MmaType::E2M1)
    return tensor ? Packing::Tmem4 : Packing::Padded4;
  if ((t == MmaType::E2M3 || t == MmaType::E3M2) && !tensor)
    return Packing::Padded6;
  return Packing::Container;
}

/// Shared memory rows of one CTA, dense. Packed and padded forms are gathered as bytes.
bool gather(Cta &cta, const MatrixDescriptor &desc, Major major, uint8_t container, unsigned rows,
            unsigned k, uint8_t *out) {
  unsigned bytes = container ? container : 1, elements = container ? k : k / 2;
  return gatherOperand(
      desc, major, bytes, rows, elements,
      [&](uint32_t a, uint32_t n) -> const uint8_t * {
        return uint64_t(a) + n <= cta.shared.size() ? cta.shared.data() + a : nullptr;
      },
      out);
}

void execute(const Operation &o) {
  static thread_local DecodedOperand a, b;
  const InstructionDescriptor &d = o.d;
  for (unsigned c = 0; c < o.group; ++c)
    if (o.ctas[c]->done)
      return;
  unsigned aRow = rowBytesOf(d, d.containerBytesA), bRow = rowBytesOf(d, d.containerBytesB);
  std::vector<uint8_t> aBytes(size_t(d.m) * aRow), bBytes(size_t(d.n) * bRow);
  unsigned m1 = d.m / o.group, n1 = d.n / o.group;
  for (unsigned c = 0; c < o.group; ++c) {
    if (!o.aInTensor && !gather(*o.ctas[c], o.aDesc, d.aMajor, d.containerBytesA, m1, d.k,
                                aBytes.data() + size_t(c) * m1 * aRow))
      return;
    if (!gather(*o.ctas[c], o.bDesc, d.bMajor, d.containerBytesB, n1, d.k,
                bBytes.data() + size_t(c) * n1 * bRow))
      return;
  }
  if (o.aInTensor)
    for (unsigned row = 0; row < d.m; ++row) {
      TmemBits at = tmemA(o.layout, row, 0, 8, o.aTensor >> 16);
      TensorMemory &t = tensorOf(*o.ctas[at.cta]);
      for (unsigned i = 0; i < aRow; i += 4)
        std::memcpy(aBytes.data() + size_t(row) * aRow + i,
                    &t.word(at.lane % 128, ((o.aTensor & 0xFFFF) + i / 4) % 512), 4);
    }
  a.load(d.aType, packingOf(d.aType, d.containerBytesA, o.aInTensor), aBytes.data(), aRow, d.m, d.k,
         d.negateA);
  b.load(d.bType, packingOf(d.bType, d.containerBytesB, false), bBytes.data(), bRow, d.n, d.k,
         d.negateB);
  if (d.scalesPerRow) {
    std::vector<uint8_t> sa(size_t(d.m) * d.scalesPerRow), sb(size_t(d.n) * d.scalesPerRow);
    auto read = [&](Cta &cta, uint32_t base, unsigned row, unsigned s, unsigned id) {
      TmemScale at = tmemScale(row, s, id);
      return uint8_t(tensorOf(cta).word(at.lane, ((base & 0xFFFF) + at.column) % 512) >>
                     (8 * (at.byte & 3)));
    };
    for (unsigned s = 0; s < d.scalesPerRow; ++s) {
      for (unsigned r = 0; r < d.m; ++r)
        sa[r * d.scalesPerRow + s] = read(*o.ctas[r / m1], o.scaleA, r % m1, s, d.scaleIdA);
      for (unsigned r = 0; r < d.n; ++r)
        sb[r * d.scalesPerRow + s] = read(*o.ctas[0], o.scaleB, r, s, d.scaleIdB);
    }
    a.setScales(d.scaleType, sa.data(), d.scalesPerRow);
    b.setScales(d.scaleType, sb.data(), d.scalesPerRow);
  }
  std::vector<uint32_t> words(size_t(d.m) * d.n);
  auto each = [&](auto f) {
    for (unsigned row = 0; row < d.m; ++row)
      for (unsigned col = 0; col < d.n; ++col) {
        TmemPlace p = tmemD(o.layout, d.n, row, col, o.dLane);
        f(tensorOf(*o.ctas[p.cta]).word(p.lane % 128, (o.dColumn + p.column) % 512),
          words[size_t(row) * d.n + col], p.cta * 128 + p.lane);
      }
  };
  if (o.accumulate)
    each([](uint32_t &tensor, uint32_t &word, uint32_t) { word = tensor; });
  TileOptions options;
  options.accumulate = o.accumulate;
  options.scaleInputD = o.scaleInput;
  options.satfinite = d.saturate;
  DotModel model = dotModel(MmaUnit::Tcgen05, d.aType, d.bType, d.dType);
  if (o.fast)
    multiplyAccumulateFast(model, a, b, {words.data(), d.n}, options);
  else
    multiplyAccumulate(model, a, b, {words.data(), d.n}, options);
  each([&](uint32_t &tensor, uint32_t &word, uint32_t lane) {
    if (!(o.mask[lane / 32 % 8] >> (lane & 31) & 1))
      tensor = word;
  });
}

/// Everything that the checks want to know about the accesses of the operation.
bool note(Warp &w, const Operation &o) {
  const InstructionDescriptor &d = o.d;
  Actor actor = tensorStream(w, "tcgen05.mma");
  unsigned m1 = d.m / o.group, n1 = d.n / o.group;
  bool wide = o.layout == TmemLayout::B || o.layout == TmemLayout::E;
  uint32_t columns = wide ? d.n / 2 : o.layout == TmemLayout::G ? d.n / 4 : d.n;
  for (unsigned c = 0; c < o.group; ++c) {
    Cta &cta = *o.ctas[c];
    if (!tensorColumns(w, cta, o.dColumn, columns, "the accumulator of tcgen05.mma"))
      return false;
    bool ok = true;
    auto read = [&](const MatrixDescriptor &desc, Major major, uint8_t container, unsigned rows) {
      unsigned bytes = container ? container : 1, k = container ? d.k : d.k / 2, chunk = 16 / bytes;
      Actor reader = actor;
      reader.layout = uint8_t(1 + unsigned(desc.swizzle));
      auto one = [&](unsigned row, unsigned kk) {
        uint32_t at = elementAddress(desc, major, bytes, row, kk);
        SharedPlace p = sharedPlace(w, cta.rank << 24 | at, 16, 1, true, -1, "tcgen05.mma");
        ok &= bool(p);
        if (p)
          noteShared(w, p, 16, Mode::Read, reader, -1);
      };
      if (major == Major::K) {
        for (unsigned row = 0; row < rows && ok; ++row)
          for (unsigned kk = 0; kk < k && ok; kk += chunk)
            one(row, kk);
      } else {
        for (unsigned kk = 0; kk < k && ok; ++kk)
          for (unsigned row = 0; row < rows && ok; row += chunk)
            one(row, kk);
      }
    };
    if (!o.aInTensor)
      read(o.aDesc, d.aMajor, d.containerBytesA, m1);
    read(o.bDesc, d.bMajor, d.containerBytesB, n1);
    if (!ok)
      return false;
    if (!cta.shadow)
      continue;
    std::vector<uint8_t> lanes(128, 0);
    for (unsigned row = 0; row < d.m; ++row)
      for (unsigned col = 0; col < d.n; col += std::max(1u, d.n / 4)) {
        TmemPlace p = tmemD(o.layout, d.n, row, col, o.dLane);
        if (p.cta == c)
          lanes[p.lane % 128] = 1;
      }
    for (unsigned lane = 0; lane < 128; ++lane) {
      if (!lanes[lane])
        continue;
      if (o.accumulate)
        noteTensor(w, cta, lane, o.dColumn, columns, Mode::Read, actor);
      noteTensor(w, cta, lane, o.dColumn, columns, Mode::Write, actor);
    }
    if (d.scalesPerRow)
      for (unsigned lane = 0; lane < 128; ++lane) {
        noteTensor(w, cta, lane, o.scaleA & 0xFFFF, (m1 + 31) / 32, Mode::Read, actor);
        noteTensor(w, cta, lane, o.scaleB & 0xFFFF, (d.n + 31) / 32, Mode::Read, actor);
      }
    if (o.aInTensor)
      for (unsigned row = 0; row < d.m; ++row) {
        TmemBits at = tmemA(o.layout, row, 0, 8, o.aTensor >> 16);
        if (at.cta == c)
          noteTensor(w, cta, at.lane % 128, o.aTensor & 0xFFFF,
                     rowBytesOf(d, d.containerBytesA) / 4, Mode::Read, actor);
      }
  }
  return true;
}

Step issue(Warp &w, const Instr &in) {
  Operation o;
  o.group = in.sub >> 3 & 3;
  tensorGroup(w, o.group);
  unsigned lane = w.firstLane();
  if (w.active & (w.active - 1))
    report(w, "tcgen05-issue", "tcgen05.mma is issued by several threads: each issues it");
  MmaForm form;
  form.ctaGroup = o.group;
  form.ws = in.sub & 32;
  form.aInTmem = o.aInTensor = in.sub & 64;
  form.scaleVector = in.sub >> 10 & 7;
  std::string error =
      decodeInstructionDescriptor(MmaKind(in.sub & 7), w.reg<uint32_t>(in.e)[lane], form, o.d);
  if (error.empty() && o.d.sparse)
    error = "sparse operands are not supported";
  if (error.empty() && !tmemLayoutOf(o.d.m, o.group, form.ws, false, o.layout))
    error = "M = " + std::to_string(o.d.m) + " has no layout for this form";
  if (error.empty())
    error = decodeTcgen05Descriptor(w.reg<uint64_t>(in.c)[lane], o.bDesc);
  if (error.empty() && !o.aInTensor)
    error = decodeTcgen05Descriptor(w.reg<uint64_t>(in.b)[lane], o.aDesc);
  if (!error.empty()) {
    report(w, "descriptor", "tcgen05.mma: " + error);
    return Step::Next;
  }
  uint32_t address = w.reg<uint32_t>(in.a)[lane] + uint32_t(in.imm);
  o.dColumn = address & 0xFFFF;
  o.dLane = address >> 16;
  bool half = o.layout == TmemLayout::C || o.layout == TmemLayout::F;
  if (o.dLane && !(half && o.dLane == 16)) {
    report(w, "tensor-address",
           "the accumulator starts at lane " + std::to_string(o.dLane) + "; lane 0" +
               (half ? " or 16" : "") + " is needed");
    return Step::Next;
  }
  if (o.aInTensor)
    o.aTensor = w.reg<uint32_t>(in.b)[lane] + uint32_t(in.d);
  o.accumulate = getPredicate(w, in.f, in.sub & 128) >> lane & 1;
  o.scaleInput = in.sub >> 16 & 15;
  o.fast = w.cluster->grid->launch.options.fastMath;
  const int32_t *list = w.program->lists.data() + in.list;
  if (in.sub & 256)
    for (unsigned i = 0; i < in.count && i < 8; ++i)
      o.mask[i] = w.reg<uint32_t>(list[i])[lane];
  if (in.sub & 512) {
    o.scaleA = w.reg<uint32_t>(list[0])[lane] + uint32_t(list[2]);
    o.scaleB = w.reg<uint32_t>(list[1])[lane] + uint32_t(list[3]);
  }
  o.ctas[0] = w.cta;
  if (o.group == 2) {
    Cta *peer = pairOf(w);
    if (!peer)
      return Step::Next;
    o.ctas[w.cta->rank & 1] = w.cta;
    o.ctas[(w.cta->rank & 1) ^ 1] = peer;
  }
  if (w.cluster->checking(CheckInFlight) && w.tensorStores)
    report(w, "missing-tcgen05-wait",
           "tcgen05.mma after a tcgen05.st of the same warp without tcgen05.wait::st");
  ++w.tensorSequence;
  if (!note(w, o))
    return Step::Next;
  uint64_t cycles = uint64_t(o.d.m) * o.d.n * o.d.k / (o.group * (o.d.k >= 32 ? 8192 : 4096)) + 4;
  queueTensor(w, "tcgen05.mma", cycles, [o] { execute(o); });
  return Step::Next;
}

} // namespace

void decodeTensorMma(Decoder &d, uint32_t group) {
  if (d.has("sp"))
    d.fail("sparse tcgen05.mma is not supported");
  bool ws = d.take("ws");
  int kind = d.takeOneOf({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8", "kind::mxf8f6f4",
                          "kind::mxf4", "kind::mxf4nvf4"});
  if (kind < 0)
    d.fail("unknown kind of tcgen05.mma");
  bool scaled = d.take("block_scale");
  int vector = d.takeOneOf({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  int block = d.takeOneOf({"block32", "block16"});
  uint32_t scaleVector = vector >= 0  ? 1u << vector
                         : block == 1 ? 4
                         : block == 0 ? (kind == 4 ? 1 : 2)
                                      : 0;
  // Collector usage and A shifts: the first have no effect on results.
  if (d.take("ashift"))
    d.fail("tcgen05.mma.ashift is not supported");
  while (!d.has("") &&
         d.takeOneOf({"collector::a::fill",     "collector::a::use",      "collector::a::lastuse",
                      "collector::a::discard",  "collector::b0::fill",    "collector::b0::use",
                      "collector::b0::lastuse", "collector::b0::discard", "collector::b1::fill",
                      "collector::b1::use",     "collector::b1::lastuse", "collector::b1::discard",
                      "collector::b2::fill",    "collector::b2::use",     "collector::b2::lastuse",
                      "collector::b2::discard", "collector::b3::fill",    "collector::b3::use",
                      "collector::b3::lastuse", "collector::b3::discard"}) >= 0) {
  }
  if (scaled != (kind >= 4))
    d.fail(scaled ? "this kind has no block scales" : "this kind needs .block_scale");
  d.needOperands(scaled ? 7 : 5, 7);
  Decoder::Address a = d.address(d.operand(0));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  bool tensor = d.operand(1).kind == Operand::Address;
  if (tensor) {
    Decoder::Address     address = d.address(d.operand(1));
    d.in.b = address.slot;
    d.in.d = int32_t(address.offset);
  }
  if (!tensor)
    d.in.b = d.use(d.operand(1), Ty::B64);
  d.in.c = d.use(d.operand(2), Ty::B64);
  d.in.e = d.use(d.operand(3), Ty::B32);
  size_t at = 4;
  bool masked = false;
  d.in.list = uint32_t(d.program.lists.size());
  if (scaled) {
    Decoder::Address sfa = d.address(d.operand(4)), sfb = d.address(d.operand(5));
    d.program.lists.insert(d.program.lists.end(),
                           {sfa.slot, sfb.slot, int32_t(sfa.offset), int32_t(sfb.offset)});
    d.in.count = 2;
    at = 6;
  } else if (d.operand(at).kind == Operand::Vector) {
    masked = true;
    d.useList(d.operand(at++), Ty::B32);
    if (d.in.count != (group == 2 ? 8 : 4))
      d.fail("disable-output-lane needs " + std::to_string(group == 2 ? 8 : 4) + " registers");
  }
  bool negated;
  d.in.f = d.usePred(d.operand(at++), negated);
  uint32_t scaleInput = 0;
  if (at < d.operandCount()) {
    if (ws)
      d.fail("the zero-column mask of tcgen05.mma.ws is not supported");
    int64_t v = d.needImmediate(d.operand(at++), "scale-input-d");
    if (v < 0 || v > 15 || kind > 1)
      d.fail("scale-input-d must be 0 to 15, for kind::f16 and kind::tf32");
    scaleInput = uint32_t(v);
  }
  if (at != d.operandCount())
    d.fail("too many operands");
  d.in.sub = uint32_t(kind) | group << 3 | (ws ? 32 : 0) | (tensor ? 64 : 0) | (negated ? 128 : 0) |
             (masked ? 256 : 0) | (scaled ? 512 : 0) | scaleVector << 10 | scaleInput << 16;
  d.emit(issue, 0, 4);
}

} // namespace sim
} // namespace tileloom
