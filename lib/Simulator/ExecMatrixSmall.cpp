//===- ExecMatrixSmall.cpp - mma.sync of s4, u4, b1, f64 and m8n8 ---------===//
//
// The forms of mma.sync (PTX ISA 9.7.14.5) beside the m16n8 ones of 8, 16 and 32 bits: rare, so
// each output is computed by itself. Integers are exact; f64 products are added one by one, each
// step rounded (fma), in the order of k, with the NaNs of fma.f64.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "tileloom/Simulator/FloatOps.h"
#include "tileloom/Simulator/Fragments.h"
#include "tileloom/Simulator/MatrixUnit.h"

#include <cmath>

namespace tileloom {
namespace sim {
namespace {

// sub: bits 0-6 element bits, bit 7 signed A, 8 signed B, 9 satfinite, 10 xor, 11 f64, 12 M is 8,
// bits 16-24 K. list: D, A, B, C; registers of 32 bits, or of 64 with f64.
struct Form {
  explicit Form(const Instr &in)
      : bits(in.sub & 127), k(in.sub >> 16 & 511), m(in.sub >> 12 & 1 ? 8 : 16),
        f64(in.sub & 2048) {
    per = f64 ? 1 : 32 / bits;
    na = m * k / 32 / per;
    nb = 8 * k / 32 / per;
    nd = m * 8 / 32;
  }
  unsigned bits, k, m, per, na, nb, nd;
  bool f64;
  // Element (row, k) of A: register r, sub-element b of lane t; the general map of m16n8, whose odd
  // registers hold rows 8 to 15.
  void placeOfA(unsigned row, unsigned kk, unsigned &t, unsigned &r, unsigned &b) const {
    b = kk % per;
    t = row % 8 * 4 + kk / per % 4;
    r = m == 8 ? kk / (4 * per) : row / 8 + 2 * (kk / (4 * per));
  }
  void placeOfB(unsigned kk, unsigned col, unsigned &t, unsigned &r, unsigned &b) const {
    b = kk % per;
    t = col * 4 + kk / per % 4;
    r = kk / (4 * per);
  }
};

Step integers(Warp &w, const Instr &in) {
  Form f(in);
  const int32_t *list = w.program->lists.data() + in.list;
  auto element = [&](int32_t slot, unsigned t, unsigned b, bool isSigned) {
    uint32_t v = w.reg<uint32_t>(slot)[t] >> (b * f.bits) & ((1u << f.bits) - 1);
    return isSigned && v >> (f.bits - 1) ? int32_t(v) - (1 << f.bits) : int32_t(v);
  };
  std::vector<int32_t> a(f.k), b(f.k);
  uint32_t out[32][4];
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < f.nd; ++i) {
      Coord at = mmaC(t, i);
      for (unsigned kk = 0; kk < f.k; ++kk) {
        unsigned lane, r, sub;
        f.placeOfA(at.row, kk, lane, r, sub);
        a[kk] = element(list[f.nd + r], lane, sub, in.sub & 128);
        f.placeOfB(kk, at.col, lane, r, sub);
        b[kk] = element(list[f.nd + f.na + r], lane, sub, in.sub & 256);
        if (f.bits == 1) {
          a[kk] = in.sub & 1024 ? a[kk] ^ b[kk] : a[kk] & b[kk];
          b[kk] = 1;
        }
      }
      int32_t c = w.reg<int32_t>(list[f.nd + f.na + f.nb + i])[t];
      out[t][i] = uint32_t(integerDotAdd(a.data(), b.data(), f.k, c, in.sub & 512));
    }
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < f.nd; ++i)
      w.reg<uint32_t>(list[i])[t] = out[t][i];
  return Step::Next;
}

Step doubles(Warp &w, const Instr &in) {
  Form f(in);
  const int32_t *list = w.program->lists.data() + in.list;
  double out[32][4];
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < f.nd; ++i) {
      Coord at = mmaC(t, i);
      double sum = w.reg<double>(list[f.nd + f.na + f.nb + i])[t];
      for (unsigned kk = 0; kk < f.k; ++kk) {
        unsigned la, ra, lb, rb, sub;
        f.placeOfA(at.row, kk, la, ra, sub);
        f.placeOfB(kk, at.col, lb, rb, sub);
        double x = w.reg<double>(list[f.nd + ra])[la],
               y = w.reg<double>(list[f.nd + f.na + rb])[lb], next = std::fma(x, y, sum);
        sum = next == next ? next : doubleOf(fmaOp(Format::F64, bitsOf(x), bitsOf(y), bitsOf(sum)));
      }
      out[t][i] = sum;
    }
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < f.nd; ++i)
      w.reg<double>(list[i])[t] = out[t][i];
  return Step::Next;
}

} // namespace

/// Takes the rest of an mma.sync of these types; false (nothing taken) if it is another.
bool decodeMmaSmall(Decoder &d, unsigned m, unsigned k) {
  bool f64 = d.has("f64"), b1 = d.has("b1"), s4 = d.has("s4") || d.has("u4");
  bool s8 = m == 8 && (d.has("s8") || d.has("u8"));
  if (!f64 && !b1 && !s4 && !s8)
    return false;
  d.in.sub = (d.take("satfinite") ? 512 : 0) | (f64 ? 2048 : 0) | (m == 8 ? 4096 : 0) | k << 16;
  d.takeOneOf({"rn", "rz", "rm", "rp"});
  std::string_view td = d.takeAny(), ta = d.takeAny(), tb = d.takeAny(), tc = d.takeAny();
  auto same = [&](std::string_view t, const char *x, const char *y) { return t == x || t == y; };
  unsigned bits = f64 ? 64 : b1 ? 1 : s4 ? 4 : 8;
  bool good = f64 ? td == "f64" && ta == td && tb == td && tc == td
                  : td == "s32" && tc == td &&
                        (b1   ? ta == "b1" && tb == "b1"
                         : s4 ? same(ta, "s4", "u4") && same(tb, "s4", "u4")
                              : same(ta, "s8", "u8") && same(tb, "s8", "u8"));
  // 128 or 256 bits of K; m8n8 has the smaller only. f64: K of 4, 8, 16.
  bool sized = f64 ? k == 4 || (m == 16 && (k == 8 || k == 16))
                   : k * bits == 128 || (m == 16 && k * bits == 256);
  if (!good || !sized)
    d.fail("types and shape of this mma do not go together");
  if (ta[0] == 's')
    d.in.sub |= 128;
  if (tb[0] == 's')
    d.in.sub |= 256;
  if (b1) {
    int op = d.takeOneOf({"and", "xor"});
    if (op < 0 || !d.take("popc"))
      d.fail("mma of b1 needs .and.popc or .xor.popc");
    d.in.sub |= op ? 1024 : 0;
  }
  d.in.sub |= f64 ? 0 : bits;
  Form f(d.in);
  Ty type = f64 ? Ty::F64 : Ty::B32;
  d.needOperands(4, 4);
  unsigned want[4] = {f.nd, f.na, f.nb, f.nd};
  std::vector<int32_t> slots[4];
  for (unsigned i = 1; i <= 4; ++i) { // uses before the definition
    const Operand &o = d.operand(i & 3);
    size_t n = o.kind == Operand::Vector ? o.parts.size() : 1;
    if (n != want[i & 3])
      d.fail("operand " + std::to_string((i & 3) + 1) + " has " + std::to_string(n) +
             " registers, needed " + std::to_string(want[i & 3]));
    for (size_t j = 0; j < n; ++j) {
      const Operand &e = o.kind == Operand::Vector ? o.parts[j] : o;
      slots[i & 3].push_back((i & 3) == 0 ? d.def(e, type) : d.use(e, type));
    }
  }
  d.in.list = uint32_t(d.program.lists.size());
  for (auto &s : slots)
    d.program.lists.insert(d.program.lists.end(), s.begin(), s.end());
  d.emit(f64 ? doubles : integers, FlagAligned, 16);
  return true;
}

} // namespace sim
} // namespace tileloom
