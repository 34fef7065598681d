//===- ExecMatrix.cpp - ldmatrix, stmatrix, movmatrix, mma.sync -----------===//
//
// Warp-level matrix instructions (PTX ISA 9.7.14.5). Fragment maps come from Fragments.h,
// arithmetic from MatrixUnit.h.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"
#include "MatrixTypes.h"
#include "tileloom/Simulator/FloatOps.h"
#include "tileloom/Simulator/Fragments.h"

namespace tileloom {
namespace sim {

bool decodeMmaSmall(Decoder &d, unsigned m, unsigned k); // ExecMatrixSmall.cpp
void decodeMmaSparse(Decoder &d, bool ordered);          // ExecMatrixSparse.cpp

namespace {

// sub: bits 0-2 matrices, bit 3 trans, bit 4 wide address, bit 5 generic space, bit 6 any CTA,
// bits 8-9 shape (0 m8n8.b16, 1 m16n16.b8 / m16n8.b8, 2 m8n16), bits 12-14 bits of packed elements.
constexpr uint32_t Trans = 8, Wide = 16, Generic = 32, AnyCta = 64;

uint8_t *rowAddress(Warp &w, const Instr &in, unsigned lane, unsigned bytes, Mode mode,
                    const uint8_t *value = nullptr) {
  uint64_t a = in.sub & Wide ? w.reg<uint64_t>(in.a)[lane] + uint64_t(in.imm)
                             : w.reg<uint32_t>(in.a)[lane] + uint32_t(in.imm);
  w.collective = mode == Mode::Read;
  uint8_t *p = place(w, in.sub & Generic ? Space::Generic : Space::Shared, a, bytes, 16, mode,
                     int(lane), in.sub & AnyCta, value);
  w.collective = false;
  return p;
}

Step loadMatrix(Warp &w, const Instr &in) {
  unsigned n = in.sub & 7;
  const int32_t *list = w.program->lists.data() + in.list;
  for (unsigned i = 0; i < n; ++i) {
    uint8_t rows[8][16];
    for (unsigned r = 0; r < 8; ++r) {
      const uint8_t *p = rowAddress(w, in, 8 * i + r, 16, Mode::Read);
      if (p)
        std::memcpy(rows[r], p, 16);
      else
        std::memset(rows[r], 0, 16);
    }
    uint32_t *d = w.reg<uint32_t>(list[i]);
    for (unsigned t = 0; t < 32; ++t) {
      uint32_t v = 0;
      for (unsigned b = 0; b < 2; ++b) {
        Coord at = ldmatrixM8N8(t, b, in.sub & Trans);
        uint16_t e;
        std::memcpy(&e, rows[at.row] + 2 * at.col, 2);
        v |= uint32_t(e) << (16 * b);
      }
      d[t] = v;
    }
  }
  return Step::Next;
}

/// m16n16.trans and m8n16: bytes, or elements of 4 or 6 bits (16 in the first 8 or 12 bytes of a
/// row) that get the low bits of a byte each; where they go in it is in figures of PTX only, CUTLASS
/// says it in words (mma_traits_sm120.hpp, fp4_shift_A).
Step loadMatrixBytes(Warp &w, const Instr &in) {
  unsigned n = in.sub & 7, unpack = in.sub >> 12 & 7;
  bool wide = (in.sub >> 8 & 3) == 1;
  unsigned count = wide ? 16 : 8, registers = wide ? 2 : 1;
  const int32_t *list = w.program->lists.data() + in.list;
  for (unsigned i = 0; i < n; ++i) {
    uint8_t rows[16][16] = {};
    for (unsigned r = 0; r < count; ++r)
      if (const uint8_t *p = rowAddress(w, in, count * i + r, 16, Mode::Read))
        for (unsigned e = 0; e < 16; ++e) {
          unsigned bit = e * unpack, pair = p[bit / 8] | p[bit / 8 + 1] << 8;
          rows[r][e] = unpack ? uint8_t(pair >> bit % 8 & ((1u << unpack) - 1)) : p[e];
        }
    for (unsigned q = 0; q < registers; ++q)
      for (unsigned t = 0; t < 32; ++t) {
        uint32_t v = 0;
        for (unsigned b = 0; b < 4; ++b) {
          Coord at = wide ? ldmatrixM16N16(t, q, b) : ldmatrixM8N16(t, b);
          v |= uint32_t(rows[at.row][at.col]) << (8 * b);
        }
        w.reg<uint32_t>(list[registers * i + q])[t] = v;
      }
  }
  return Step::Next;
}

Step storeMatrix(Warp &w, const Instr &in) {
  unsigned n = in.sub & 7;
  const int32_t *list = w.program->lists.data() + in.list;
  bool bytes = in.sub >> 8 & 3;
  for (unsigned i = 0; i < n; ++i) {
    uint8_t rows[8][16];
    const uint32_t *s = w.reg<uint32_t>(list[i]);
    for (unsigned t = 0; t < 32; ++t)
      if (bytes) {
        for (unsigned b = 0; b < 4; ++b) {
          Coord at = stmatrixM16N8(t, b);
          rows[at.row][at.col] = uint8_t(s[t] >> (8 * b));
        }
      } else {
        for (unsigned b = 0; b < 2; ++b) {
          Coord at = ldmatrixM8N8(t, b, in.sub & Trans);
          uint16_t e = uint16_t(s[t] >> (16 * b));
          std::memcpy(rows[at.row] + 2 * at.col, &e, 2);
        }
      }
    for (unsigned r = 0; r < 8; ++r)
      if (uint8_t *p = rowAddress(w, in, 8 * i + r, 16, Mode::Write, rows[r]))
        std::memcpy(p, rows[r], 16);
  }
  return Step::Next;
}

Step moveMatrix(Warp &w, const Instr &in) { // transposes an 8x8 of 16-bit elements
  const uint32_t *a = w.reg<uint32_t>(in.a);
  uint16_t m[8][8];
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned b = 0; b < 2; ++b)
      m[t / 4][2 * (t % 4) + b] = uint16_t(a[t] >> (16 * b));
  uint32_t *d = w.reg<uint32_t>(in.d);
  for (unsigned t = 0; t < 32; ++t)
    d[t] = m[2 * (t % 4)][t / 4] | uint32_t(m[2 * (t % 4) + 1][t / 4]) << 16;
  return Step::Next;
}

void decodeMatrixMemory(Decoder &d, bool load) {
  d.take("sync");
  d.take("aligned");
  int shape = d.takeOneOf({"m8n8", "m16n16", "m16n8", "m8n16"});
  int count = d.takeOneOf({"x1", "x2", "x4"});
  bool trans = d.take("trans");
  if (d.take("shared::cluster"))
    d.in.sub |= AnyCta;
  else if (!d.take("shared") && !d.take("shared::cta"))
    d.in.sub |= Generic;
  bool unpacked = d.take("b8x16");
  int format = d.takeOneOf({"b4x16_p64", "b6x16_p32"});
  Ty t = d.takeType();
  if (shape < 0 || count < 0)
    d.fail("shape or count is missing");
  if (unpacked != (format >= 0) || (unpacked && (!load || (shape != 1 && shape != 3))))
    d.fail("elements of 4 and 6 bits need ldmatrix.m16n16.trans or .m8n16, with .b8x16.b4x16_p64 or "
           ".b8x16.b6x16_p32");
  if (shape == 3 ? !unpacked || trans
                 : shape && ((!unpacked && t != Ty::B8) || !trans || (load ? shape != 1 : shape != 2)))
    d.fail("b8 needs " + std::string(load ? "ldmatrix.m16n16.trans" : "stmatrix.m16n8.trans"));
  d.needOperands(2, 2);
  const Operand &regs = d.operand(load ? 0 : 1);
  Decoder::Address a = d.address(d.operand(load ? 1 : 0));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  unsigned n = 1u << count;
  d.in.sub |= n | (trans ? Trans : 0) | (a.wide ? Wide : 0) |
              (shape == 3 ? 2u << 8 : shape ? 1u << 8 : 0) |
              (format < 0 ? 0 : format ? 6u : 4u) << 12;
  if (load)
    d.defList(regs, Ty::B32);
  else
    d.useList(regs, Ty::B32);
  unsigned want = n * (shape == 1 ? 2 : 1);
  if (d.in.count != want)
    d.fail("found " + std::to_string(d.in.count) + " registers, needed " + std::to_string(want));
  d.emit(!load ? storeMatrix : shape ? loadMatrixBytes : loadMatrix, FlagAligned, 4);
}

/// Hopper has no fp8 mma.sync: what a driver makes of one converts the elements to f16, which holds
/// all of them exactly, and multiplies the lower halves of the registers (k % 4 < 2), then the
/// upper ones, starting from zero; C is added last, to nearest (H200, cases mma_m16n8k*_e*).
/// Whether Blackwell does the same is UNVERIFIED.
void multiplyFp8(MmaType ta, const uint8_t *aBytes, MmaType tb, const uint8_t *bBytes, unsigned k,
                 MmaType td, uint32_t *words) {
  static thread_local DecodedOperand a, b;
  auto half = [&](MmaType type, const uint8_t *from, unsigned rows, unsigned first,
                  DecodedOperand &to) {
    uint8_t wide[16 * 32];
    for (unsigned i = 0; i < rows * k / 2; ++i) {
      auto v = uint16_t(convert(Format::F16, formatOf(type), from[i / 2 * 4 + first + i % 2]));
      std::memcpy(wide + 2 * i, &v, 2);
    }
    to.load(MmaType::F16, Packing::Container, wide, k, rows, k / 2);
  };
  uint32_t sums[16 * 8] = {};
  for (unsigned first : {0, 2}) {
    half(ta, aBytes, 16, first, a);
    half(tb, bBytes, 8, first, b);
    multiplyAccumulate(dotModel(MmaUnit::MmaSync, MmaType::F16, MmaType::F16, td), a, b, {sums, 8});
  }
  Format format = td == MmaType::F16 ? Format::F16 : Format::F32;
  for (unsigned i = 0; i < 16 * 8; ++i)
    words[i] = uint32_t(addOp(format, sums[i], words[i]));
}

// mma.sync m16n8kK. sub: bits 0-3 A type, 4-7 B type, 8-11 D type, 12-15 C type, 16-21 k, bit 22
// satfinite. list: D registers, A, B, C.
Step mma(Warp &w, const Instr &in) {
  static thread_local DecodedOperand a, b;
  MmaType ta = MmaType(in.sub & 15), tb = MmaType(in.sub >> 4 & 15), td = MmaType(in.sub >> 8 & 15),
          tc = MmaType(in.sub >> 12 & 15);
  unsigned k = in.sub >> 16 & 63;
  unsigned bits = ta == MmaType::TF32 ? 32 : ta == MmaType::F16 || ta == MmaType::BF16 ? 16 : 8;
  unsigned bytes = bits / 8, per = 32 / bits, rowBytes = k * bytes;
  unsigned nd = td == MmaType::F16 ? 2 : 4, na = 16 * k * bits / 1024, nb = 8 * k * bits / 1024;
  const int32_t *list = w.program->lists.data() + in.list;
  uint8_t aBytes[16 * 32], bBytes[8 * 32];
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned e = 0; e < per; ++e) {
      for (unsigned r = 0; r < na; ++r) {
        uint32_t v = w.reg<uint32_t>(list[nd + r])[t] >> (e * bits);
        Coord at = mmaA(bits, t, r, e);
        std::memcpy(aBytes + at.row * rowBytes + at.col * bytes, &v, bytes);
      }
      for (unsigned r = 0; r < nb; ++r) {
        uint32_t v = w.reg<uint32_t>(list[nd + na + r])[t] >> (e * bits);
        Coord at = mmaB(bits, t, r, e); // row is k, col is n
        std::memcpy(bBytes + at.col * rowBytes + at.row * bytes, &v, bytes);
      }
    }
  uint32_t words[16 * 8];
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < 4; ++i) {
      Coord at = mmaC(t, i);
      uint32_t v;
      if (tc == MmaType::F16)
        v = w.reg<uint32_t>(list[nd + na + nb + i / 2])[t] >> (16 * (i & 1)) & 0xFFFF;
      else
        v = w.reg<uint32_t>(list[nd + na + nb + i])[t];
      if (tc == MmaType::F16 && td == MmaType::F32)
        v = bitsOf(f16ToFloat(uint16_t(v)));
      else if (tc == MmaType::F32 && td == MmaType::F16)
        v = floatToF16(floatOf(v));
      words[at.row * 8 + at.col] = v;
    }
  TileOptions o;
  o.satfinite = in.sub >> 22 & 1;
  if (ta == MmaType::E4M3 || ta == MmaType::E5M2) {
    multiplyFp8(ta, aBytes, tb, bBytes, k, td, words);
  } else {
    a.load(ta, Packing::Container, aBytes, rowBytes, 16, k);
    b.load(tb, Packing::Container, bBytes, rowBytes, 8, k);
    multiplyAccumulate(dotModel(MmaUnit::MmaSync, ta, tb, td), a, b, {words, 8}, o);
  }
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < 4; ++i) {
      Coord at = mmaC(t, i);
      uint32_t v = words[at.row * 8 + at.col];
      if (td == MmaType::F16) {
        uint32_t &r = w.reg<uint32_t>(list[i / 2])[t];
        r = i & 1 ? (r & 0xFFFF) | v << 16 : (r & 0xFFFF0000) | (v & 0xFFFF);
      } else {
        w.reg<uint32_t>(list[i])[t] = v;
      }
    }
  return Step::Next;
}

void decodeMmaSync(Decoder &d) {
  int sparse = d.takeOneOf({"sp", "sp::ordered_metadata"});
  d.take("sync");
  d.take("aligned");
  for (const char *kind : {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"})
    if (d.has(kind))
      d.fail("mma with ." + std::string(kind) + " is an instruction of sm_120a, not supported");
  if (sparse >= 0)
    return decodeMmaSparse(d, sparse == 1);
  std::string_view shape = d.takeAny();
  unsigned m = 0, n = 0, k = 0;
  if (std::sscanf(std::string(shape).c_str(), "m%un%uk%u", &m, &n, &k) != 3 ||
      (m != 16 && m != 8) || n != 8)
    d.fail("mma shape '" + std::string(shape) + "' is not supported; m16n8kK and m8n8kK are");
  if (!d.take("row") || !d.take("col"))
    d.fail("mma needs .row.col");
  if (decodeMmaSmall(d, m, k))
    return;
  if (m != 16)
    d.fail("mma.m8n8 of these types is not supported");
  bool saturate = d.take("satfinite");
  d.take("kind::f8f6f4");
  Ty td = d.needType(), ta = d.needType(), tb = d.needType(), tc = d.needType();
  MmaType md, ma, mb, mc;
  if (!matrixType(td, md) || !matrixType(ta, ma) || !matrixType(tb, mb) || !matrixType(tc, mc))
    d.fail("type is not supported by mma.sync");
  unsigned bits = ma == MmaType::TF32 ? 32 : ma == MmaType::F16 || ma == MmaType::BF16 ? 16 : 8;
  if (k * bits != 256 && k * bits != 128)
    d.fail("K of " + std::to_string(k) + " is not supported for this type");
  unsigned nd = md == MmaType::F16 ? 2 : 4, na = 16 * k * bits / 1024, nb = 8 * k * bits / 1024,
           nc = mc == MmaType::F16 ? 2 : 4;
  d.needOperands(4, 4);
  d.in.sub = uint32_t(ma) | uint32_t(mb) << 4 | uint32_t(md) << 8 | uint32_t(mc) << 12 | k << 16 |
             (saturate ? 1u << 22 : 0);
  unsigned want[4] = {nd, na, nb, nc};
  std::vector<int32_t> slots[4];
  for (unsigned i = 1; i <= 4; ++i) { // uses before the definition
    const Operand &o = d.operand(i & 3);
    size_t n0 = o.kind == Operand::Vector ? o.parts.size() : 1;
    if (n0 != want[i & 3])
      d.fail("operand " + std::to_string((i & 3) + 1) + " has " + std::to_string(n0) +
             " registers, needed " + std::to_string(want[i & 3]));
    for (size_t j = 0; j < n0; ++j) {
      const Operand &e = o.kind == Operand::Vector ? o.parts[j] : o;
      slots[i & 3].push_back((i & 3) == 0 ? d.def(e, Ty::B32) : d.use(e, Ty::B32));
    }
  }
  d.in.list = uint32_t(d.program.lists.size());
  for (auto &s : slots)
    d.program.lists.insert(d.program.lists.end(), s.begin(), s.end());
  d.emit(mma, FlagAligned, 16);
}

} // namespace

void registerMatrix(DecodeTable &t) {
  t["ldmatrix"] = [](Decoder &d) { decodeMatrixMemory(d, true); };
  t["stmatrix"] = [](Decoder &d) { decodeMatrixMemory(d, false); };
  t["movmatrix"] = [](Decoder &d) {
    while (!d.takeAny().empty()) {
    }
    d.needOperands(2, 2);
    d.in.a = d.use(d.operand(1), Ty::B32);
    d.in.d = d.def(d.operand(0), Ty::B32);
    d.emit(moveMatrix, FlagAligned, 4);
  };
  t["mma"] = decodeMmaSync;
}

} // namespace sim
} // namespace tileloom
