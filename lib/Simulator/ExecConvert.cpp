//===- ExecConvert.cpp - cvt (PTX ISA 9.7.9.21) ---------------------------===//
//
// Conversions between integers, floats and the packed narrow formats. The hot pairs have handlers
// of their own; the rest takes one general path over Formats.h.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "tileloom/Simulator/Formats.h"

namespace tileloom {
namespace sim {
namespace {

bool formatOfType(Ty t, Format &f) {
  switch (t) {
  case Ty::F64:
    f = Format::F64;
    return true;
  case Ty::F32:
  case Ty::F32x2:
    f = Format::F32;
    return true;
  case Ty::F16:
  case Ty::F16x2:
    f = Format::F16;
    return true;
  case Ty::BF16:
  case Ty::BF16x2:
    f = Format::BF16;
    return true;
  case Ty::TF32:
    f = Format::TF32;
    return true;
  case Ty::E4M3x2:
  case Ty::E4M3x4:
  case Ty::E4M3:
    f = Format::E4M3;
    return true;
  case Ty::E5M2x2:
  case Ty::E5M2x4:
  case Ty::E5M2:
    f = Format::E5M2;
    return true;
  case Ty::E2M1x2:
  case Ty::E2M1x4:
    f = Format::E2M1;
    return true;
  case Ty::E2M3x2:
  case Ty::E2M3x4:
    f = Format::E2M3;
    return true;
  case Ty::E3M2x2:
  case Ty::E3M2x4:
    f = Format::E3M2;
    return true;
  case Ty::UE8M0x2:
    f = Format::UE8M0;
    return true;
  default:
    return false;
  }
}
/// Bits of an element inside a packed word: 4 for e2m1, else the container.
unsigned elementBits(Format f) {
  return f == Format::E2M1 ? 4 : f == Format::E2M3 || f == Format::E3M2 ? 8 : formatInfo(f).bits;
}
unsigned elementsOf(Ty t) {
  switch (t) {
  case Ty::F16x2:
  case Ty::BF16x2:
  case Ty::F32x2:
  case Ty::E4M3x2:
  case Ty::E5M2x2:
  case Ty::E2M1x2:
  case Ty::E2M3x2:
  case Ty::E3M2x2:
  case Ty::UE8M0x2:
    return 2;
  case Ty::E4M3x4:
  case Ty::E5M2x4:
  case Ty::E2M1x4:
  case Ty::E2M3x4:
  case Ty::E3M2x4:
    return 4;
  default:
    return 1;
  }
}

uint64_t readLane(Warp &w, int32_t slot, unsigned bytes, unsigned lane) {
  uint64_t v = 0;
  bytes = bytes < 2 ? 2 : bytes;
  std::memcpy(&v, w.regs + slot + lane * bytes, bytes > 8 ? 8 : bytes);
  return v;
}
void writeLane(Warp &w, int32_t slot, unsigned bytes, unsigned lane, uint64_t v) {
  bytes = bytes < 2 ? 2 : bytes;
  std::memcpy(w.regs + slot + lane * bytes, &v, bytes > 8 ? 8 : bytes);
}
uint64_t extend(uint64_t v, unsigned bits, bool sign) {
  if (bits >= 64)
    return v;
  v &= (uint64_t(1) << bits) - 1;
  return sign && v >> (bits - 1) & 1 ? v | ~uint64_t(0) << bits : v;
}

/// Everything about one cvt; Instr::imm is its place in Program::extras.
struct Conversion {
  Ty to = Ty::None, from = Ty::None;
  Format toFormat = Format::F32, fromFormat = Format::F32;
  bool toFloat = false, fromFloat = false, integral = false, sat = false;
  unsigned toBytes = 0, fromBytes = 0; // of the registers
  ConvertOptions options;
  unsigned sources = 1;
};
const Conversion &conversionOf(const Warp &w, const Instr &in) {
  return *static_cast<const Conversion *>(w.program->extras[size_t(in.imm)].get());
}
void keep(Decoder &d, const Conversion &c) {
  d.in.imm = int64_t(d.program.extras.size());
  d.program.extras.push_back(std::make_shared<Conversion>(c));
}

Step general(Warp &w, const Instr &in) {
  const Conversion &c = conversionOf(w, in);
  unsigned toBits = 8 * bytesOf(c.to), fromBits = 8 * bytesOf(c.from);
  eachLane(w.active, [&](unsigned i) {
    uint64_t v = readLane(w, in.a, c.fromBytes, i), r;
    if (!c.toFloat && !c.fromFloat) {
      r = extend(v, fromBits, isSigned(c.from));
      if (c.sat) {
        if (isSigned(c.from)) {
          int64_t x = int64_t(r), low = isSigned(c.to) ? -(int64_t(1) << (toBits - 1)) : 0;
          int64_t high = isSigned(c.to) ? int64_t((uint64_t(1) << (toBits - 1)) - 1)
                         : toBits == 64 ? INT64_MAX
                                        : int64_t((uint64_t(1) << toBits) - 1);
          r = uint64_t(x < low ? low : x > high ? high : x);
        } else {
          uint64_t high = toBits == 64 && !isSigned(c.to) ? ~uint64_t(0)
                          : isSigned(c.to)                ? (uint64_t(1) << (toBits - 1)) - 1
                                                          : (uint64_t(1) << toBits) - 1;
          r = r > high ? high : r;
        }
      }
      r = extend(r, toBits, isSigned(c.to));
    } else if (!c.toFloat) {
      r = floatToInt(c.fromFormat, v, toBits, isSigned(c.to), c.options.rounding, c.options.ftz);
    } else if (!c.fromFloat) {
      r = intToFloat(c.toFormat, extend(v, fromBits, isSigned(c.from)), isSigned(c.from),
                     c.options.rounding);
      if (c.sat)
        r = encode(c.toFormat,
                   [](double d) { return d > 0 ? (d < 1 ? d : 1) : 0; }(decode(c.toFormat, r)));
    } else if (c.integral) {
      r = roundToIntegral(c.toFormat, v, c.options.rounding, c.options.ftz, c.sat);
    } else {
      r = convert(c.toFormat, c.fromFormat, v, c.options);
      if (c.sat) {
        double d = decode(c.toFormat, r);
        r = encode(c.toFormat, d > 0 ? (d < 1 ? d : 1) : 0);
      }
    }
    writeLane(w, in.d, c.toBytes, i, r);
  });
  return Step::Next;
}

/// Packed results: sources a (highest) .. in a list, or one packed source.
Step packed(Warp &w, const Instr &in) {
  const Conversion &c = conversionOf(w, in);
  unsigned n = elementsOf(c.to), width = elementBits(c.toFormat);
  const int32_t *list = w.program->lists.data() + in.list;
  unsigned fromElements = elementsOf(c.from),
           fromWidth = c.fromFloat ? elementBits(c.fromFormat) : 0;
  eachLane(w.active, [&](unsigned i) {
    uint64_t r = 0;
    for (unsigned k = 0; k < n; ++k) { // k = 0 is the lowest element
      uint64_t v;
      if (fromElements > 1)
        v = readLane(w, list[0], c.fromBytes, i) >> (fromWidth * k);
      else
        v = readLane(w, list[n - 1 - k], c.fromBytes, i);
      if (fromWidth && fromWidth < 64)
        v &= (uint64_t(1) << fromWidth) - 1;
      ConvertOptions o = c.options;
      if (o.rounding == Rounding::RS)
        o.randomBits =
            stochasticBits(c.toFormat, k, uint32_t(readLane(w, in.c, 4, i)), o.randomCount);
      r |= (convert(c.toFormat, c.fromFormat, v, o) & ((uint64_t(1) << width) - 1)) << (width * k);
    }
    writeLane(w, in.d, c.toBytes, i, r);
  });
  return Step::Next;
}

Step bf16x2(Warp &w, const Instr &in) {
  map2<uint32_t, float, float>(
      w, in, [](float a, float b) { return uint32_t(floatToBF16(a)) << 16 | floatToBF16(b); });
  return Step::Next;
}
Step f16x2(Warp &w, const Instr &in) {
  map2<uint32_t, float, float>(
      w, in, [](float a, float b) { return uint32_t(floatToF16(a)) << 16 | floatToF16(b); });
  return Step::Next;
}
struct FromBF16 {
  float operator()(uint16_t a) const { return bf16ToFloat(a); }
};
struct FromF16 {
  float operator()(uint16_t a) const { return f16ToFloat(a); }
};
struct ToBF16 {
  uint16_t operator()(float a) const { return floatToBF16(a); }
};
template <class D, class S> struct Cast {
  D operator()(S a) const { return D(a); }
};

/// The bytes of the result of a conversion between integers; `bytes` are those of the source.
std::vector<ByteSource> resized(const Conversion &c, std::vector<ByteSource> bytes) {
  bytes.resize(bytesOf(c.to), isSigned(c.from) ? bytes.back() : ByteSource());
  bytes.resize(std::max(c.toBytes, 2u), isSigned(c.to) ? bytes.back() : ByteSource());
  return bytes;
}

Handler fastPath(const Conversion &c, int rounding) {
  if (c.sat || c.options.ftz || c.options.relu)
    return nullptr;
  unsigned tb = c.toBytes, fb = c.fromBytes;
  if (!c.toFloat && !c.fromFloat) {
    bool s = isSigned(c.from);
    unsigned tt = bytesOf(c.to), ft = bytesOf(c.from);
    if (tb != tt || fb != ft)
      return nullptr;
    if (tt == 8 && ft == 4)
      return s ? op1<uint64_t, int32_t, Cast<uint64_t, int32_t>>
               : op1<uint64_t, uint32_t, Cast<uint64_t, uint32_t>>;
    if (tt == 4 && ft == 8)
      return op1<uint32_t, uint64_t, Cast<uint32_t, uint64_t>>;
    if (tt == 4 && ft == 2)
      return s ? op1<uint32_t, int16_t, Cast<uint32_t, int16_t>>
               : op1<uint32_t, uint16_t, Cast<uint32_t, uint16_t>>;
    if (tt == 2 && ft == 4)
      return op1<uint16_t, uint32_t, Cast<uint16_t, uint32_t>>;
    return nullptr;
  }
  if (rounding > 0)
    return nullptr;
  if (c.to == Ty::F32 && c.from == Ty::S32)
    return op1<float, int32_t, Cast<float, int32_t>>;
  if (c.to == Ty::F32 && c.from == Ty::U32)
    return op1<float, uint32_t, Cast<float, uint32_t>>;
  if (c.to == Ty::F32 && c.from == Ty::BF16)
    return op1<float, uint16_t, FromBF16>;
  if (c.to == Ty::F32 && c.from == Ty::F16)
    return op1<float, uint16_t, FromF16>;
  if (c.to == Ty::BF16 && c.from == Ty::F32)
    return op1<uint16_t, float, ToBF16>;
  return nullptr;
}

void cvtPack(Decoder &d) {
  // cvt.pack.sat.ct.s32 {.b32} d, a, b {, c}
  d.take("sat");
  Ty to = d.needType(), from = d.needType();
  d.takeType();
  if (from != Ty::S32)
    d.fail("cvt.pack needs .s32 sources");
  d.needOperands(3, 4);
  d.in.sub = uint32_t(to);
  d.in.a = d.use(d.operand(1), Ty::S32);
  d.in.b = d.use(d.operand(2), Ty::S32);
  d.in.c = d.operandCount() == 4 ? d.use(d.operand(3), Ty::B32) : d.constant(0, 4);
  d.in.d = d.def(d.operand(0), Ty::B32);
  d.emit([](Warp &w, const Instr &in) {
    Ty t = Ty(in.sub);
    unsigned bits = 8 * bytesOf(t);
    int64_t low = isSigned(t) ? -(int64_t(1) << (bits - 1)) : 0;
    int64_t high = isSigned(t) ? (int64_t(1) << (bits - 1)) - 1 : (int64_t(1) << bits) - 1;
    uint32_t mask = uint32_t((uint64_t(1) << bits) - 1);
    map3<uint32_t, int32_t, int32_t, uint32_t>(w, in, [=](int32_t a, int32_t b, uint32_t c) {
      auto clamp = [=](int64_t v) { return uint32_t(v < low ? low : v > high ? high : v) & mask; };
      return (bits == 8 ? c << 16 : 0) | clamp(a) << bits | clamp(b);
    });
    return Step::Next;
  });
}

void cvt(Decoder &d) {
  if (d.take("pack"))
    return cvtPack(d);
  Conversion c;
  int integer = d.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  int rounding = d.takeOneOf({"rn", "rz", "rm", "rp", "rna", "rs"});
  c.options.satfinite = d.take("satfinite");
  c.options.ftz = d.take("ftz");
  c.options.relu = d.take("relu");
  c.sat = d.take("sat");
  if (d.has("scaled::n2::ue8m0"))
    d.fail("cvt with a scale is not supported");
  c.to = d.needType();
  c.from = d.needType();
  c.toFloat = formatOfType(c.to, c.toFormat);
  c.fromFloat = formatOfType(c.from, c.fromFormat);
  c.options.rounding = Rounding(integer >= 0 ? integer : rounding >= 0 ? rounding : 0);
  c.integral = integer >= 0 && c.toFloat && c.fromFloat;
  if (!c.toFloat && c.fromFloat && integer < 0)
    d.fail("conversion of a float to an integer needs .rni, .rzi, .rmi or .rpi");
  // PTX ISA 9.7.9.21 wants a rounding where the result is smaller; f16 to bf16 and back may have
  // none, and ptxas takes that for .rn.
  if (c.fromFloat && c.toFloat && integer < 0 && rounding < 0 && elementsOf(c.to) == 1 &&
      bytesOf(c.to) < bytesOf(c.from))
    d.fail("narrowing conversion without a rounding modifier");
  const Operand &o0 = d.operand(0);
  unsigned n = elementsOf(c.to);
  if (n > 1) {
    size_t sources = elementsOf(c.from) > 1 ? 1 : n == 4 ? 1 : n;
    bool random = rounding == 5;
    d.needOperands(1 + sources + random, 1 + sources + random);
    d.in.list = uint32_t(d.program.lists.size());
    std::vector<int32_t> slots;
    for (size_t i = 0; i < sources; ++i) {
      const Operand &s = d.operand(1 + i);
      if (s.kind == Operand::Vector)
        for (const Operand &p : s.parts)
          slots.push_back(d.use(p, c.from, true));
      else
        slots.push_back(d.use(s, c.from, true));
      c.fromBytes = bytesOf(c.from);
      if (unsigned b = d.registerBytes(s.kind == Operand::Vector ? s.parts[0] : s))
        c.fromBytes = b;
    }
    if (elementsOf(c.from) == 1 && slots.size() != n)
      d.fail("the conversion needs " + std::to_string(n) + " source elements");
    d.program.lists.insert(d.program.lists.end(), slots.begin(), slots.end());
    if (random)
      d.in.c = d.use(d.operand(d.operandCount() - 1), Ty::B32);
    c.toBytes = d.registerBytes(o0) ? d.registerBytes(o0) : bytesOf(c.to);
    d.in.d = d.def(o0, c.to, true);
    bool plain = rounding == 0 && !c.options.satfinite && !c.options.relu && !c.options.ftz &&
                 c.from == Ty::F32 && sources == 2;
    if (plain && (c.to == Ty::BF16x2 || c.to == Ty::F16x2)) {
      d.in.a = slots[0];
      d.in.b = slots[1];
      return d.emit(c.to == Ty::BF16x2 ? bf16x2 : f16x2);
    }
    keep(d, c);
    return d.emit(packed);
  }
  d.needOperands(2, 2);
  c.fromBytes = d.registerBytes(d.operand(1)) ? d.registerBytes(d.operand(1)) : bytesOf(c.from);
  c.toBytes = d.registerBytes(o0) ? d.registerBytes(o0) : bytesOf(c.to);
  std::vector<ByteSource> bytes = d.sourceBytes({d.operand(1)}, bytesOf(c.from));
  d.in.a = d.use(d.operand(1), c.from, true);
  d.in.d = d.def(o0, c.to, true);
  Handler h = fastPath(c, integer >= 0 ? 1 : rounding);
  if (!h) {
    keep(d, c);
    h = general;
  }
  if (!isInteger(c.to) || !isInteger(c.from) || c.sat)
    return d.emit(h);
  d.emitBytes(h, resized(c, bytes));
}

} // namespace

void registerConvert(DecodeTable &t) { t["cvt"] = cvt; }

} // namespace sim
} // namespace tileloom
