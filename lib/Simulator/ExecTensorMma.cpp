//===- ExecTensorMma.cpp - tcgen05.mma (PTX ISA 9.7.16.10.9) --------------===//
//
// Decodes the forms of tcgen05.mma (dense, .sp, .ws, block-scaled) and issues them: operands are
// looked at then (checks) and read when the instruction executes (TensorMma.cpp).
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "TensorMma.h"

namespace tileloom {
namespace sim {
namespace {

// What a form of the instruction asks of the collector buffers of A (0) or B (1 to 4); PTX ISA
// 9.7.16.10.9.1 and .3.
enum class Collector : uint8_t { Discard, LastUse, Use, Fill };

// sub: bits 0-2 kind, 3-4 cta_group, 5 ws, 6 A in tensor memory, 7 negated enable, 8 has lane mask,
// 9 block scaled, 10-12 scale_vec, 13 sparse, 14 has a column mask, 16-19 scale-input-d, 20-22
// collector buffer, 23-24 what is asked of it.
// a: d, b: A (d: its offset), c: B descriptor, e: idesc, f: enable; list: lane mask words, or sfa
// and sfb and their offsets; then the metadata and its offset, then the column mask.

/// Collector buffers have no effect on results, but what is to be used must have been filled with
/// the same operand. An instruction that says nothing discards.
void useCollector(Warp &w, const Instr &in, uint64_t operand, uint32_t idesc) {
  unsigned buffer = in.sub >> 20 & 7;
  TensorMemory::Collected &c = tensorOf(*w.cta).collectors[buffer];
  Collector op = Collector(in.sub >> 23 & 3);
  std::string name = buffer ? "b" + std::to_string(buffer - 1) : "a";
  if (op == Collector::Use || op == Collector::LastUse) {
    if (!c.valid)
      report(w, "collector",
             "collector buffer " + name + " is used, but no collector::" + name +
                 "::fill before it is still valid");
    else if (c.operand != operand || c.idesc != idesc)
      report(w, "collector",
             "collector buffer " + name + " holds another operand: it was filled at line " +
                 std::to_string(c.line));
  }
  if (op == Collector::Fill)
    c = {true, operand, idesc, in.line};
  else if (op != Collector::Use)
    c.valid = false;
}

Step issue(Warp &w, const Instr &in) {
  TensorProduct o;
  o.group = in.sub >> 3 & 3;
  tensorGroup(w, o.group);
  unsigned lane = w.firstLane();
  if (w.active & (w.active - 1))
    report(w, "tcgen05-issue", "tcgen05.mma is issued by several threads: each issues it");
  MmaForm form;
  form.ctaGroup = o.group;
  form.ws = in.sub & 32;
  form.aInTmem = o.aInTensor = in.sub & 64;
  form.sparse = in.sub >> 13 & 1;
  form.scaleVector = in.sub >> 10 & 7;
  std::string error =
      decodeInstructionDescriptor(MmaKind(in.sub & 7), w.reg<uint32_t>(in.e)[lane], form, o.d);
  if (error.empty() && !tmemLayoutOf(o.d.m, o.group, form.ws, o.d.sparse, o.layout))
    error = "M = " + std::to_string(o.d.m) + " has no layout for this form";
  // PTX ISA 9.0 has the metadata of these, and layout C, in figures only (9.7.16.10.8.4, 9.7.16.10.5.3), CUTLASS not at all.
  if (error.empty() && o.d.sparse && (o.layout == TmemLayout::C || o.layout == TmemLayout::F))
    error = "the metadata layout of a sparse A with M = " + std::to_string(o.d.m) +
            " and cta_group::" + std::to_string(o.group) + " is not supported (PTX ISA 9.7.16.10.8.4 gives it in figures only)";
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
    for (unsigned i = 0; i < in.count; ++i)
      o.mask[i] = w.reg<uint32_t>(*list++)[lane];
  if (in.sub & 512) {
    o.scaleA = w.reg<uint32_t>(list[0])[lane] + uint32_t(list[2]);
    o.scaleB = w.reg<uint32_t>(list[1])[lane] + uint32_t(list[3]);
    list += 4;
  }
  if (o.d.sparse) {
    o.metadata = w.reg<uint32_t>(list[0])[lane] + uint32_t(list[1]);
    list += 2;
    o.badMetadata = findingAt(w, "sparse-metadata", "");
    if (o.metadata >> 16 || (o.d.kind <= MmaKind::TF32 && o.metadata & 1)) {
      report(w, "tensor-address",
             "the sparsity metadata is at " + hex(o.metadata) +
                 "; lane 0 is needed, and an even column for kind::f16 and kind::tf32");
      return Step::Next;
    }
  }
  if (in.sub >> 14 & 1)
    error = decodeColumnMask(w.reg<uint64_t>(list[0])[lane], o.d.m, o.d.n, o.columns);
  if (!error.empty()) {
    report(w, "descriptor", "tcgen05.mma.ws: " + error);
    return Step::Next;
  }
  bool collectsB = in.sub >> 20 & 7;
  useCollector(w, in,
               collectsB || !o.aInTensor ? w.reg<uint64_t>(collectsB ? in.c : in.b)[lane]
                                         : o.aTensor,
               w.reg<uint32_t>(in.e)[lane]);
  o.ctas[0] = w.cta;
  if (o.group == 2) {
    Cta *peer = pairOf(w);
    if (!peer)
      return Step::Next;
    o.ctas[w.cta->rank & 1] = w.cta;
    o.ctas[(w.cta->rank & 1) ^ 1] = peer;
  }
  ++w.tensorSequence;
  if (!noteTensorProduct(w, o))
    return Step::Next;
  uint64_t cycles = uint64_t(o.d.m) * o.d.n * o.storedA() / (o.group * (o.storedA() >= 32 ? 8192 : 4096)) + 4;
  queueTensor(w, "tcgen05.mma", cycles, [o] { executeTensorProduct(o); });
  return Step::Next;
}

} // namespace

void decodeTensorMma(Decoder &d, uint32_t group) {
  bool sparse = d.take("sp"), ws = d.take("ws");
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
  if (d.take("ashift"))
    d.fail("tcgen05.mma.ashift is not supported");
  uint32_t buffer = ws ? 1 : 0, op = uint32_t(Collector::Discard);
  static constexpr const char *buffers[] = {"a", "b0", "b1", "b2", "b3"},
                              *ops[] = {"discard", "lastuse", "use", "fill"};
  for (uint32_t i = 0; i < 5; ++i)
    for (uint32_t j = 0; j < 4; ++j)
      if (d.take(std::string("collector::") + buffers[i] + "::" + ops[j])) {
        if (ws != (i > 0))
          d.fail(ws ? "tcgen05.mma.ws collects B: collector::b0 to ::b3"
                    : "collector::b0 to ::b3 are for tcgen05.mma.ws");
        buffer = i;
        op = j;
      }
  if (scaled != (kind >= 4))
    d.fail(scaled ? "this kind has no block scales" : "this kind needs .block_scale");
  if (ws && scaled)
    d.fail("tcgen05.mma.ws has no block scales");
  size_t extra = sparse;
  d.needOperands((scaled ? 7 : 5) + extra, 7 + extra);
  Decoder::Address a = d.address(d.operand(0));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  bool tensor = d.operand(1).kind == Operand::Address;
  if (tensor) {
    Decoder::Address address = d.address(d.operand(1));
    d.in.b = address.slot;
    d.in.d = int32_t(address.offset);
  }
  if (!tensor)
    d.in.b = d.use(d.operand(1), Ty::B64);
  d.in.c = d.use(d.operand(2), Ty::B64);
  size_t at = 3;
  Decoder::Address metadata;
  if (sparse)
    metadata = d.address(d.operand(at++));
  d.in.e = d.use(d.operand(at++), Ty::B32);
  bool masked = false;
  d.in.list = uint32_t(d.program.lists.size());
  if (scaled) {
    Decoder::Address sfa = d.address(d.operand(at)), sfb = d.address(d.operand(at + 1));
    d.program.lists.insert(d.program.lists.end(),
                           {sfa.slot, sfb.slot, int32_t(sfa.offset), int32_t(sfb.offset)});
    at += 2;
  } else if (d.operand(at).kind == Operand::Vector) {
    if (ws)
      d.fail("tcgen05.mma.ws has no disable-output-lane");
    masked = true;
    d.useList(d.operand(at++), Ty::B32);
    if (d.in.count != (group == 2 ? 8 : 4))
      d.fail("disable-output-lane needs " + std::to_string(group == 2 ? 8 : 4) + " registers");
  }
  bool negated;
  d.in.f = d.usePred(d.operand(at++), negated);
  if (sparse)
    d.program.lists.insert(d.program.lists.end(), {metadata.slot, int32_t(metadata.offset)});
  uint32_t scaleInput = 0;
  bool columnMask = ws && at < d.operandCount();
  if (columnMask) {
    d.program.lists.push_back(d.use(d.operand(at++), Ty::B64));
  } else if (at < d.operandCount()) {
    int64_t v = d.needImmediate(d.operand(at++), "scale-input-d");
    if (v < 0 || v > 15 || kind > 1)
      d.fail("scale-input-d must be 0 to 15, for kind::f16 and kind::tf32");
    scaleInput = uint32_t(v);
  }
  if (at != d.operandCount())
    d.fail("too many operands");
  d.in.sub = uint32_t(kind) | group << 3 | (ws ? 32 : 0) | (tensor ? 64 : 0) | (negated ? 128 : 0) |
             (masked ? 256 : 0) | (scaled ? 512 : 0) | scaleVector << 10 |
             (sparse ? 1u << 13 : 0) | (columnMask ? 1u << 14 : 0) | scaleInput << 16 |
             buffer << 20 | op << 23;
  d.emit(issue, 0, 4);
}

} // namespace sim
} // namespace tileloom
