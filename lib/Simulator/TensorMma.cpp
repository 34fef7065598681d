//===- TensorMma.cpp - Execution and checks of tcgen05.mma ----------------===//
//
// Gathers A from shared or tensor memory and B from shared memory of one CTA or of the pair,
// multiplies in the matrix unit and writes D to tensor memory (PTX ISA 9.7.16.10).
//
//===----------------------------------------------------------------------===//
#include "TensorMma.h"
#include "tileloom/Simulator/Sparse.h"

namespace tileloom {
namespace sim {
namespace {

unsigned rowBytesOf(uint8_t container, unsigned k) { return container ? k * container : k / 2; }

/// Bits of an element as the sparse forms count them: two of mxf4 share a byte and a place.
unsigned sparseBits(const InstructionDescriptor &d) {
  return d.containerBytesA ? 8u * d.containerBytesA : 4;
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

/// Where the stored elements of A stand (PTX ISA 9.7.16.10.8); reports codes without a meaning.
std::vector<uint8_t> places(const TensorProduct &o) {
  const InstructionDescriptor &d = o.d;
  unsigned bits = sparseBits(d), chunk = sparseChunk(bits), chunks = d.k / chunk,
           stored = o.storedA();
  std::vector<uint8_t> out(size_t(d.m) * stored);
  for (unsigned row = 0; row < d.m; ++row)
    for (unsigned c = 0; c < chunks; ++c) {
      Cta &cta = *o.ctas[row / o.rows()];
      SparsePlace at = sparseTensor(bits, d.sparsitySelector, row % o.rows(), c);
      uint32_t code =
          tensorOf(cta).word(at.lane, ((o.metadata & 0xFFFF) + at.column) % 512) >> at.bit & 15;
      uint8_t *place = out.data() + size_t(row) * stored + c * (chunk / 2);
      if (!sparsePlaces(chunk, code, false, place)) {
        Finding f = o.badMetadata;
        f.message = "row " + std::to_string(row) + " of A, columns " + std::to_string(c * chunk) +
                    " to " + std::to_string(c * chunk + chunk - 1) + ": the code is " +
                    sparseCode(code) + ", needs " +
                    (chunk == 2 ? "0b0100 or 0b1110" : "two different indices");
        cta.cluster->report(f);
      }
      for (unsigned i = 0; i < chunk / 2; ++i)
        place[i] = uint8_t(place[i] + c * chunk);
    }
  return out;
}

/// Rows of B, those of one CTA behind those of the other.
bool gatherB(const TensorProduct &o, std::vector<uint8_t> &out) {
  const InstructionDescriptor &d = o.d;
  unsigned row = rowBytesOf(d.containerBytesB, d.k), n = o.width(), shift = o.columns.shift;
  out.resize(size_t(d.n) * row);
  for (unsigned c = 0; c < o.group; ++c) {
    std::vector<uint8_t> shifted(size_t(n + shift) * row);
    if (!gather(*o.ctas[c], o.bDesc, d.bMajor, d.containerBytesB, n + shift, d.k, shifted.data()))
      return false;
    std::copy(shifted.begin() + ptrdiff_t(shift) * row, shifted.end(),
              out.begin() + ptrdiff_t(c) * n * row);
  }
  for (size_t column = 0; column < o.columns.zero.size(); ++column)
    if (o.columns.zero[column])
      std::fill_n(out.begin() + ptrdiff_t(column * row), row, 0);
  return true;
}

bool gatherA(const TensorProduct &o, std::vector<uint8_t> &out) {
  const InstructionDescriptor &d = o.d;
  unsigned bytes = rowBytesOf(d.containerBytesA, o.storedA()), m = o.rows();
  out.resize(size_t(d.m) * bytes);
  for (unsigned c = 0; c < o.group && !o.aInTensor; ++c)
    if (!gather(*o.ctas[c], o.aDesc, d.aMajor, d.containerBytesA, m, o.storedA(),
                out.data() + size_t(c) * m * bytes))
      return false;
  for (unsigned row = 0; row < d.m && o.aInTensor; ++row) {
    TmemBits at = tmemA(o.layout, row, 0, 8, o.aTensor >> 16);
    TensorMemory &t = tensorOf(*o.ctas[at.cta]);
    for (unsigned i = 0; i < bytes; i += 4)
      std::memcpy(out.data() + size_t(row) * bytes + i,
                  &t.word(at.lane % 128, ((o.aTensor & 0xFFFF) + i / 4) % 512), 4);
  }
  return true;
}

void setScales(const TensorProduct &o, DecodedOperand &a, DecodedOperand &b) {
  const InstructionDescriptor &d = o.d;
  unsigned m = o.rows();
  std::vector<uint8_t> sa(size_t(d.m) * d.scalesPerRow), sb(size_t(d.n) * d.scalesPerRow);
  auto read = [&](Cta &cta, uint32_t base, unsigned row, unsigned s, unsigned id) {
    TmemScale at = tmemScale(row, s, id);
    return uint8_t(tensorOf(cta).word(at.lane, ((base & 0xFFFF) + at.column) % 512) >>
                   (8 * (at.byte & 3)));
  };
  for (unsigned s = 0; s < d.scalesPerRow; ++s) {
    for (unsigned r = 0; r < d.m; ++r)
      sa[r * d.scalesPerRow + s] = read(*o.ctas[r / m], o.scaleA, r % m, s, d.scaleIdA);
    for (unsigned r = 0; r < d.n; ++r)
      sb[r * d.scalesPerRow + s] = read(*o.ctas[0], o.scaleB, r, s, d.scaleIdB);
  }
  a.setScales(d.scaleType, sa.data(), d.scalesPerRow);
  b.setScales(d.scaleType, sb.data(), d.scalesPerRow);
}

} // namespace

void executeTensorProduct(const TensorProduct &o) {
  static thread_local DecodedOperand a, b;
  static thread_local std::vector<uint8_t> aBytes, bBytes;
  const InstructionDescriptor &d = o.d;
  for (unsigned c = 0; c < o.group; ++c)
    if (o.ctas[c]->done)
      return;
  if (!gatherA(o, aBytes) || !gatherB(o, bBytes))
    return; // reported when it was issued
  unsigned stored = o.storedA();
  a.load(d.aType, packingOf(d.aType, d.containerBytesA, o.aInTensor), aBytes.data(),
         rowBytesOf(d.containerBytesA, stored), d.m, stored, d.negateA);
  b.load(d.bType, packingOf(d.bType, d.containerBytesB, false), bBytes.data(),
         rowBytesOf(d.containerBytesB, d.k), d.n, d.k, d.negateB);
  if (d.sparse)
    a.spread(places(o).data());
  if (d.scalesPerRow)
    setScales(o, a, b);
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

bool noteTensorProduct(Warp &w, const TensorProduct &o) {
  const InstructionDescriptor &d = o.d;
  Actor actor = tensorStream(w, "tcgen05.mma");
  bool wide = o.layout == TmemLayout::B || o.layout == TmemLayout::E;
  uint32_t columns = wide ? d.n / 2 : o.layout == TmemLayout::G ? d.n / 4 : d.n;
  for (unsigned c = 0; c < o.group; ++c) {
    Cta &cta = *o.ctas[c];
    if (!tensorColumns(w, cta, o.dColumn, columns, "the accumulator of tcgen05.mma"))
      return false;
    bool ok = true;
    auto read = [&](const MatrixDescriptor &desc, Major major, uint8_t container, unsigned row0,
                    unsigned rows, unsigned depth) {
      unsigned bytes = container ? container : 1, k = container ? depth : depth / 2,
               chunk = 16 / bytes;
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
        for (unsigned row = row0; row < row0 + rows && ok; ++row)
          for (unsigned kk = 0; kk < k && ok; kk += chunk)
            one(row, kk);
      } else {
        for (unsigned kk = 0; kk < k && ok; ++kk)
          for (unsigned row = row0; row < row0 + rows && ok; row += chunk)
            one(row, kk);
      }
    };
    if (!o.aInTensor)
      read(o.aDesc, d.aMajor, d.containerBytesA, 0, o.rows(), o.storedA());
    read(o.bDesc, d.bMajor, d.containerBytesB, o.columns.shift, o.width(), d.k);
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
        noteTensor(w, cta, lane, o.scaleA & 0xFFFF, (o.rows() + 31) / 32, Mode::Read, actor);
        noteTensor(w, cta, lane, o.scaleB & 0xFFFF, (d.n + 31) / 32, Mode::Read, actor);
      }
    if (d.sparse) { // those of M rows, again for each further part of the lanes (.ws)
      bool column = sparseBits(d) >= 16; // one column of codes, or two
      for (unsigned lane = 0; lane < 128; ++lane)
        noteTensor(w, cta, lane, (o.metadata & 0xFFFF) + (column ? d.sparsitySelector : 0),
                   column ? 1 : 2, Mode::Read, actor);
    }
    if (o.aInTensor)
      for (unsigned row = 0; row < d.m; ++row) {
        TmemBits at = tmemA(o.layout, row, 0, 8, o.aTensor >> 16);
        if (at.cta == c)
          noteTensor(w, cta, at.lane % 128, o.aTensor & 0xFFFF,
                     rowBytesOf(d.containerBytesA, o.storedA()) / 4, Mode::Read, actor);
      }
  }
  return true;
}

} // namespace sim
} // namespace tileloom
