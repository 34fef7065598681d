//===- Fragments.h - Which lane and register hold which matrix element
//----------------------------===//
//
// The register and tensor memory maps of ldmatrix, stmatrix, mma.sync, wgmma and tcgen05 as
// constexpr functions: lane t (0..31), warp w of the warpgroup (0..3), 32-bit register r,
// sub-element b of the register (0 = least significant). Sources: PTX
// ISA 9.7.14.5, 9.7.15.5.1.1, 9.7.16.2 and 9.7.16.10.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_FRAGMENTS_H
#define TILELOOM_SIMULATOR_FRAGMENTS_H

#include <cstdint>

namespace tileloom::sim {

/// Row and column (or k) of an element of a matrix fragment.
struct Coord {
  uint32_t row, col;
};
constexpr bool operator==(Coord a, Coord b) { return a.row == b.row && a.col == b.col; }

/// Lane and column of a tensor memory word.
struct TmemCoord {
  uint32_t lane, column;
};

//===----------------------------------------------------------------------------------------------===//
// ldmatrix and stmatrix: element of one matrix held by lane t
//===----------------------------------------------------------------------------------------------===//

/// m8n8.b16: row (= row address index) and column (16-bit element) of half b; also stmatrix.
constexpr Coord ldmatrixM8N8(uint32_t t, uint32_t b, bool trans) {
  return trans ? Coord{2 * (t % 4) + b, t / 4} : Coord{t / 4, 2 * (t % 4) + b};
}
/// m16n16.b8.trans: memory row and byte column of byte b of register q (0..1).
constexpr Coord ldmatrixM16N16(uint32_t t, uint32_t q, uint32_t b) {
  return {4 * (t % 4) + b, t / 4 + 8 * q};
}
/// m8n16 (b4x16_p64, b6x16_p32 to bytes): row and column of byte b.
constexpr Coord ldmatrixM8N16(uint32_t t, uint32_t b) { return {t / 4, 4 * (t % 4) + b}; }
/// stmatrix m16n8.b8.trans: memory row (0..7, 16 bytes each) and byte in the row of byte b.
constexpr Coord stmatrixM16N8(uint32_t t, uint32_t b) {
  return {2 * (t % 4) + (b & 1), t / 4 + 8 * (b >> 1)};
}

//===----------------------------------------------------------------------------------------------===//
// mma.sync m16n8: A (row, k), B (k as row, n as col), C/D
//===----------------------------------------------------------------------------------------------===//

/// Element size selects the map: 16 (k16, 4 registers; the first 2 are m16n8k8), 32 (tf32 k8), 8
/// (k32).
constexpr Coord mmaA(uint32_t bits, uint32_t t, uint32_t r, uint32_t b) {
  uint32_t per = 32 / bits;
  return {t / 4 + 8 * (r & 1), per * (t % 4) + b + 4 * per * (r >> 1)};
}
constexpr Coord mmaB(uint32_t bits, uint32_t t, uint32_t r, uint32_t b) {
  uint32_t per = 32 / bits;
  return {per * (t % 4) + b + 4 * per * r, t / 4};
}
/// C/D element i (0..3); f16 accumulators hold elements 2q and 2q+1 in register q.
constexpr Coord mmaC(uint32_t t, uint32_t i) {
  return {t / 4 + 8 * (i >> 1), 2 * (t % 4) + (i & 1)};
}

//===----------------------------------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------------------------------===//

/// D with 32-bit elements: register r of N/2. f16: register q holds r = 2q (low half) and 2q+1.
constexpr Coord wgmmaD(uint32_t w, uint32_t t, uint32_t r) {
  return {16 * w + t / 4 + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (t % 4) + (r & 1)};
}
/// A in registers (4 of them), element bits 16, 32 (tf32) or 8.
constexpr Coord wgmmaA(uint32_t bits, uint32_t w, uint32_t t, uint32_t r, uint32_t b) {
  Coord c = mmaA(bits, t, r, b);
  return {16 * w + c.row, c.col};
}

//===----------------------------------------------------------------------------------------------===//
// tcgen05.ld and tcgen05.st
//===----------------------------------------------------------------------------------------------===//

enum class TmemShape : uint8_t { S32x32b, S16x64b, S16x128b, S16x256b, S16x32bx2 };

/// Registers of one repetition (.x1).
constexpr uint32_t tmemRegisters(TmemShape shape) {
  return shape == TmemShape::S16x128b ? 2 : shape == TmemShape::S16x256b ? 4 : 1;
}
/// Lane offset inside the warp's quadrant and column offset of register r; with .pack::16b the
/// column counts 16-bit halves of consecutive columns (see tmemPacked). `splitOffset` is the
/// immediate of 16x32bx2.
constexpr TmemCoord tmemElement(TmemShape shape, uint32_t t, uint32_t r, uint32_t splitOffset = 0) {
  switch (shape) {
  case TmemShape::S32x32b:
    return {t, r};
  case TmemShape::S16x64b:
    return {t / 4 + 8 * (t & 1), ((t >> 1) & 1) + 2 * r};
  case TmemShape::S16x128b:
    return {t / 4 + 8 * (r & 1), (t % 4) + 4 * (r >> 1)};
  case TmemShape::S16x256b:
    return {t / 4 + 8 * ((r >> 1) & 1), 2 * (t % 4) + (r & 1) + 8 * (r >> 2)};
  case TmemShape::S16x32bx2:
    return {t % 16, r + (t >= 16 ? splitOffset : 0)};
  }
  return {0, 0};
}
/// .pack::16b (ld) and .unpack::16b (st): half b of register r comes from the low 16 bits of column
/// 2 * column(r) + b; for 16x32bx2 the split offset is not doubled (UNVERIFIED).
constexpr TmemCoord tmemPacked(TmemShape shape, uint32_t t, uint32_t r, uint32_t b,
                               uint32_t splitOffset = 0) {
  TmemCoord c = tmemElement(shape, t, r, 0);
  uint32_t split = shape == TmemShape::S16x32bx2 && t >= 16 ? splitOffset : 0;
  return {c.lane, 2 * c.column + b + split};
}

//===----------------------------------------------------------------------------------------------===//
// Tensor memory layouts of tcgen05.mma
//===----------------------------------------------------------------------------------------------===//

/// Layouts of D (names of the PTX ISA). C: figure only, UNVERIFIED.
enum class TmemLayout : uint8_t { A, B, C, D, E, F, G };

struct TmemPlace {
  uint32_t cta; ///< rank in the pair
  uint32_t lane, column;
};

/// The layout of D. False if M, cta_group and .ws do not combine.
constexpr bool tmemLayoutOf(uint32_t m, uint32_t ctaGroup, bool ws, bool sparse, TmemLayout &out) {
  if (ctaGroup == 2) {
    out = m == 256 ? TmemLayout::A : sparse ? TmemLayout::C : TmemLayout::B;
    return !ws && (m == 256 || m == 128);
  }
  out = m == 128 ? TmemLayout::D : m == 64 ? (ws ? TmemLayout::E : TmemLayout::F) : TmemLayout::G;
  return m == 128 || m == 64 || (m == 32 && ws);
}

/// Place of D element (row, col) of an M x n product relative to the column of the D address;
/// `lane0` is the lane of the address (0, or 16 for C and F).
constexpr TmemPlace tmemD(TmemLayout layout, uint32_t n, uint32_t row, uint32_t col,
                          uint32_t lane0 = 0) {
  switch (layout) {
  case TmemLayout::A:
    return {row / 128, row % 128, col};
  case TmemLayout::B:
    return {row / 64, row % 64 + 64 * (col / (n / 2)), col % (n / 2)};
  case TmemLayout::C:
    return {row / 64, lane0 + row % 16 + 32 * (row % 64 / 16), col};
  case TmemLayout::D:
    return {0, row, col};
  case TmemLayout::E:
    return {0, row + 64 * (col / (n / 2)), col % (n / 2)};
  case TmemLayout::F:
    return {0, lane0 + row % 16 + 32 * (row / 16), col};
  case TmemLayout::G:
    return {0, row + 32 * (col / (n / 4)), col % (n / 4)};
  }
  return {0, 0, 0};
}

/// Place of A element (row, k) in tensor memory: bit offset in the row counts from the A address.
/// For layout B the row is stored twice, the copy 64 lanes further on.
struct TmemBits {
  uint32_t cta, lane, column, bit;
};
constexpr TmemBits tmemA(TmemLayout layout, uint32_t row, uint32_t k, uint32_t elementBits,
                         uint32_t lane0 = 0) {
  uint32_t bit = k * elementBits;
  uint32_t cta = layout == TmemLayout::A   ? row / 128
                 : layout == TmemLayout::B ? row / 64
                 : layout == TmemLayout::C ? row / 64
                                           : 0;
  uint32_t local = layout == TmemLayout::A                              ? row % 128
                   : layout == TmemLayout::B || layout == TmemLayout::C ? row % 64
                                                                        : row;
  uint32_t lane = layout == TmemLayout::C || layout == TmemLayout::F
                      ? lane0 + local % 16 + 32 * (local / 16)
                      : local;
  return {cta, lane, bit / 32, bit % 32};
}

/// Scale factor s of a row of A or B: lane in quadrant q (all four hold a copy), column offset and
/// byte in the word. `id` is the SF id of the instruction descriptor.
struct TmemScale {
  uint32_t lane, column, byte;
};
constexpr TmemScale tmemScale(uint32_t row, uint32_t s, uint32_t id, uint32_t quadrant = 0) {
  return {row % 32 + 32 * quadrant, row / 32, id + s};
}

/// tcgen05.cp: the lanes that receive source row `row`, copy `i`; false past the last copy.
enum class TmemCopyShape : uint8_t {
  S128x256b,
  S128x128b,
  S4x256b,
  S64x128bWarpx2_02_13,
  S64x128bWarpx2_01_23,
  S32x128bWarpx4
};
constexpr uint32_t tmemCopyRows(TmemCopyShape s) {
  return s <= TmemCopyShape::S128x128b        ? 128
         : s == TmemCopyShape::S4x256b        ? 4
         : s == TmemCopyShape::S32x128bWarpx4 ? 32
                                              : 64;
}
constexpr uint32_t tmemCopyRowBytes(TmemCopyShape s) {
  return s == TmemCopyShape::S128x256b || s == TmemCopyShape::S4x256b ? 32 : 16;
}
constexpr uint32_t tmemCopyCopies(TmemCopyShape s) {
  return s <= TmemCopyShape::S4x256b ? 1 : s == TmemCopyShape::S32x128bWarpx4 ? 4 : 2;
}
/// Lane of copy `i` (< tmemCopyCopies) of a source row. 4x256b: lane of the address inside the
/// quadrant, one row per quadrant (UNVERIFIED).
constexpr uint32_t tmemCopyLane(TmemCopyShape s, uint32_t row, uint32_t i, uint32_t lane0 = 0) {
  switch (s) {
  case TmemCopyShape::S128x256b:
  case TmemCopyShape::S128x128b:
    return row;
  case TmemCopyShape::S4x256b:
    return 32 * row + lane0 % 32;
  case TmemCopyShape::S64x128bWarpx2_02_13:
    return row + 64 * i;
  case TmemCopyShape::S64x128bWarpx2_01_23:
    return row % 32 + 64 * (row / 32) + 32 * i;
  case TmemCopyShape::S32x128bWarpx4:
    return row + 32 * i;
  }
  return 0;
}

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_FRAGMENTS_H
