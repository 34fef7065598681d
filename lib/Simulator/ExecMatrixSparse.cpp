//===- ExecMatrixSparse.cpp - mma.sp: mma.sync with a sparse A ------------===//
//
// Half of A's elements are in registers, placed by metadata of four bits for each chunk of a row
// (PTX ISA 9.7.14.6). What the lanes hold is that of a dense mma of K/2 for A and of K for B. 8-bit
// floats have no instruction on Hopper: ptxas makes two of f16, of the even and the odd chunks.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"
#include "MatrixTypes.h"
#include "tileloom/Simulator/FloatOps.h"
#include "tileloom/Simulator/Fragments.h"
#include "tileloom/Simulator/Sparse.h"

namespace tileloom {
namespace sim {
namespace {

/// What decodeMmaSparse leaves in Program::extras; the instruction's imm is its index.
struct Form {
  MmaType a, b, d;
  unsigned bits, k; // of an element; of the whole row
  unsigned na, nb, nd;
  unsigned selector;
  bool ordered, saturate, signedA, signedB;
  unsigned chunk() const { return sparseChunk(bits); }
};

/// Elements of one row after another: those in the registers of A (`depth` of each of the 16 rows)
/// or B (8 columns).
template <class Map>
void collect(Warp &w, const int32_t *list, unsigned registers, unsigned bits, Map map,
             uint32_t *out) {
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned b = 0; b < 32 / bits; ++b) {
        uint32_t v = w.reg<uint32_t>(list[r])[t] >> (b * bits);
        out[map(t, r, b)] = bits == 32 ? v : v & ((1u << bits) - 1);
      }
}

/// Where the stored elements of the 16 rows stand; reports codes without a meaning.
void places(Warp &w, const Instr &in, const Form &f, uint8_t *out) {
  const uint32_t *metadata = w.reg<uint32_t>(in.e);
  unsigned chunk = f.chunk(), chunks = f.k / chunk;
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned c = 0; c < chunks; ++c) {
      SparsePlace at = sparseRegister(f.bits, chunks, f.selector, row, c);
      uint32_t code = metadata[at.lane] >> at.bit & 15;
      uint8_t *place = out + row * (f.k / 2) + c * (chunk / 2);
      if (!sparsePlaces(chunk, code, f.ordered, place))
        report(w, "sparse-metadata",
               "row " + std::to_string(row) + " of A, columns " + std::to_string(c * chunk) +
                   " to " + std::to_string(c * chunk + chunk - 1) + ": the code is " +
                   sparseCode(code) +
                   (chunk == 2  ? ", needs 0b0100 or 0b1110"
                    : f.ordered ? ", needs two increasing indices"
                                : ", needs two different indices"),
               int(at.lane));
      for (unsigned i = 0; i < chunk / 2; ++i)
        place[i] = uint8_t(place[i] + c * chunk);
    }
}

void multiply(const Form &f, MmaType ta, MmaType tb, const std::vector<uint32_t> &aBits,
              const std::vector<uint32_t> &bBits, const uint8_t *place, unsigned stored,
              uint32_t *words, bool saturate) {
  static thread_local DecodedOperand a, b;
  unsigned bytes = f.bits == 4 ? 1 : ta == MmaType::TF32 ? 4 : isInteger(ta) ? 1 : 2;
  std::vector<uint8_t> aBytes(aBits.size() * bytes), bBytes(bBits.size() * bytes);
  auto pack = [&](const std::vector<uint32_t> &from, std::vector<uint8_t> &to) {
    for (size_t i = 0; i < from.size(); ++i)
      std::memcpy(to.data() + i * bytes, &from[i], bytes);
  };
  pack(aBits, aBytes);
  pack(bBits, bBytes);
  a.load(ta, Packing::Container, aBytes.data(), stored * bytes, 16, stored);
  b.load(tb, Packing::Container, bBytes.data(), 2 * stored * bytes, 8, 2 * stored);
  a.spread(place);
  TileOptions options;
  options.satfinite = saturate;
  multiplyAccumulate(dotModel(MmaUnit::MmaSync, ta, tb, f.d), a, b, {words, 8}, options);
}

/// The even chunks of 4, then the odd ones, as f16 and starting from zero; C is added last.
void multiplyFp8(const Form &f, const std::vector<uint32_t> &aBits,
                 const std::vector<uint32_t> &bBits, const uint8_t *place, uint32_t *words) {
  unsigned stored = f.k / 2, half = stored / 2;
  uint32_t sums[16 * 8] = {};
  auto toHalf = [](MmaType from, uint32_t bits) {
    return uint32_t(convert(Format::F16, formatOf(from), bits));
  };
  for (unsigned odd : {0, 1}) {
    std::vector<uint32_t> a(16 * half), b(8 * stored);
    std::vector<uint8_t> to(16 * half);
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned i = 0; i < half; ++i) {
        unsigned from = row * stored + i / 2 * 4 + 2 * odd + i % 2;
        a[row * half + i] = toHalf(f.a, aBits[from]);
        to[row * half + i] = uint8_t(place[from] / 8 * 4 + place[from] % 4);
      }
    for (unsigned col = 0; col < 8; ++col)
      for (unsigned k = 0; k < stored; ++k)
        b[col * stored + k] = toHalf(f.b, bBits[col * f.k + k / 4 * 8 + 4 * odd + k % 4]);
    multiply(f, MmaType::F16, MmaType::F16, a, b, to.data(), half, sums, false);
  }
  for (unsigned i = 0; i < 16 * 8; ++i)
    words[i] = uint32_t(addOp(Format::F32, sums[i], words[i]));
}

// list: D registers, A, B, C; e: metadata.
Step mma(Warp &w, const Instr &in) {
  const Form &f = *static_cast<const Form *>(w.program->extras[size_t(in.imm)].get());
  const int32_t *list = w.program->lists.data() + in.list, *aRegs = list + f.nd,
                *bRegs = aRegs + f.na, *cRegs = bRegs + f.nb;
  unsigned stored = f.k / 2;
  std::vector<uint32_t> aBits(16 * stored), bBits(8 * f.k);
  collect(
      w, aRegs, f.na, f.bits,
      [&](unsigned t, unsigned r, unsigned b) {
        Coord at = mmaA(f.bits, t, r, b);
        return at.row * stored + at.col;
      },
      aBits.data());
  collect(
      w, bRegs, f.nb, f.bits,
      [&](unsigned t, unsigned r, unsigned b) {
        Coord at = mmaB(f.bits, t, r, b); // row is k, col is n
        return at.col * f.k + at.row;
      },
      bBits.data());
  if (f.bits == 4) { // as bytes
    auto widen = [](std::vector<uint32_t> &elements, bool isSigned) {
      for (uint32_t &e : elements)
        e = isSigned && e >= 8 ? e | 0xF0 : e;
    };
    widen(aBits, f.signedA);
    widen(bBits, f.signedB);
  }
  std::vector<uint8_t> place(16 * stored);
  places(w, in, f, place.data());
  bool half = f.d == MmaType::F16;
  uint32_t words[16 * 8];
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < 4; ++i) {
      Coord at = mmaC(t, i);
      uint32_t v = w.reg<uint32_t>(cRegs[half ? i / 2 : i])[t];
      words[at.row * 8 + at.col] = half ? v >> (16 * (i & 1)) & 0xFFFF : v;
    }
  if (f.a == MmaType::E4M3 || f.a == MmaType::E5M2)
    multiplyFp8(f, aBits, bBits, place.data(), words);
  else
    multiply(f, f.a, f.b, aBits, bBits, place.data(), stored, words, f.saturate);
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned i = 0; i < 4; ++i) {
      Coord at = mmaC(t, i);
      uint32_t v = words[at.row * 8 + at.col];
      uint32_t &r = w.reg<uint32_t>(list[half ? i / 2 : i])[t];
      r = !half ? v : i & 1 ? (r & 0xFFFF) | v << 16 : (r & 0xFFFF0000) | (v & 0xFFFF);
    }
  return Step::Next;
}

/// Types of A and B, 4-bit integers among them.
bool operandType(std::string_view name, MmaType &type, bool &isSigned, unsigned &bits) {
  bool four = name == "s4" || name == "u4";
  isSigned = name == "s4" || name == "s8";
  Ty t = Ty::None;
  if (!four && (!parseType(name, t) || !matrixType(t, type)))
    return false;
  if (four)
    type = isSigned ? MmaType::S8 : MmaType::U8;
  bits = four                                               ? 4
           : type == MmaType::TF32                            ? 32
           : type == MmaType::F16 || type == MmaType::BF16 ? 16
                                                              : 8;
  return true;
}

} // namespace

/// mma.sp and mma.sp::ordered_metadata, behind .sync.aligned.
void decodeMmaSparse(Decoder &d, bool ordered) {
  auto form = std::make_shared<Form>();
  Form &f = *form;
  f.ordered = ordered;
  std::string_view shape = d.takeAny();
  unsigned m = 0, n = 0;
  if (std::sscanf(std::string(shape).c_str(), "m%un%uk%u", &m, &n, &f.k) != 3 || m != 16 || n != 8)
    d.fail("mma.sp shape '" + std::string(shape) + "'; m16n8kK is needed");
  if (!d.take("row") || !d.take("col"))
    d.fail("mma.sp needs .row.col");
  f.saturate = d.take("satfinite");
  std::string_view td = d.takeAny(), ta = d.takeAny(), tb = d.takeAny(), tc = d.takeAny();
  Ty dType = Ty::None;
  unsigned bitsB = 0;
  if (!parseType(td, dType) || !matrixType(dType, f.d) || !operandType(ta, f.a, f.signedA, f.bits) ||
      !operandType(tb, f.b, f.signedB, bitsB) || td != tc || bitsB != f.bits)
    d.fail("mma.sp has no " + std::string(td) + "." + std::string(ta) + "." + std::string(tb) + "." +
           std::string(tc));
  bool integer = isInteger(f.a), fp8 = !integer && f.bits == 8;
  bool types = integer == isInteger(f.b) && (integer || fp8 || f.a == f.b);
  bool result = integer ? f.d == MmaType::S32
                        : f.d == MmaType::F32 || (f.a == MmaType::F16 && f.d == MmaType::F16);
  if (!types || !result)
    d.fail("mma.sp has no " + std::string(td) + "." + std::string(ta) + "." + std::string(tb));
  // A row holds 128 or 256 bits of stored elements; 8-bit floats 256.
  unsigned row = f.k / 2 * f.bits;
  if (row != 256 && (row != 128 || fp8))
    d.fail("K is " + std::to_string(f.k) + ", mma.sp of this type needs " +
           (fp8 ? "" : std::to_string(256 / f.bits) + " or ") + std::to_string(512 / f.bits));
  f.na = 16 * row / 1024;
  f.nb = 2 * 8 * row / 1024;
  f.nd = f.d == MmaType::F16 ? 2 : 4;
  d.needOperands(6, 6);
  int64_t selector = d.needImmediate(d.operand(5), "the sparsity selector");
  // Threads of a group of four that hold the metadata: one, two or all.
  int64_t most = f.bits >= 16 ? (row == 128 ? 3 : 1) : (row == 128 ? 1 : 0);
  if (selector < 0 || selector > most)
    d.fail("the sparsity selector is " + std::to_string(selector) + ", needs 0" +
           (most ? " to " + std::to_string(most) : "") + " for this shape");
  f.selector = unsigned(selector);
  unsigned want[4] = {f.nd, f.na, f.nb, f.nd};
  std::vector<int32_t> slots[4];
  d.in.e = d.use(d.operand(4), Ty::B32);
  for (unsigned i = 1; i <= 4; ++i) { // uses before the definition
    const Operand &o = d.operand(i & 3);
    size_t count = o.kind == Operand::Vector ? o.parts.size() : 1;
    if (count != want[i & 3])
      d.fail("operand " + std::to_string((i & 3) + 1) + " has " + std::to_string(count) +
             " registers, needed " + std::to_string(want[i & 3]));
    for (size_t j = 0; j < count; ++j) {
      const Operand &e = o.kind == Operand::Vector ? o.parts[j] : o;
      slots[i & 3].push_back((i & 3) == 0 ? d.def(e, Ty::B32) : d.use(e, Ty::B32));
    }
  }
  d.in.list = uint32_t(d.program.lists.size());
  for (auto &s : slots)
    d.program.lists.insert(d.program.lists.end(), s.begin(), s.end());
  d.in.imm = int64_t(d.program.extras.size());
  d.program.extras.push_back(form);
  d.emit(mma, FlagAligned, 16);
}

} // namespace sim
} // namespace tileloom
