//===- Wgmma.h - What one wgmma instruction is --------------------*- C++ -*-===//
//
// The static properties of a wgmma, and its checks at issue (WgmmaChecks.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_WGMMA_H
#define TILELOOM_LIB_SIMULATOR_WGMMA_H

#include "Access.h"
#include "tileloom/Simulator/Descriptor.h"
#include "tileloom/Simulator/MatrixUnit.h"

namespace tileloom {
namespace sim {

/// Static properties of one wgmma instruction; packed in sub/sub2:
/// sub: bits 0-8 n, 9-12 A type, 13-16 B type, 17-20 D type, 21 A in registers, 22 trans A, 23
/// trans B, 24 negate A, 25 negate B, 26 satfinite, 27 negated scale-d predicate, 28 operands of
/// single bits: k counts their bytes, 29 sparse A, of which k elements of a row are stored, 30
/// sparsity selector.
struct WgmmaProperties {
  unsigned n, k, kB; // kB: of a row of B
  MmaType a, b, d;
  bool aInRegisters, transA, transB, negateA, negateB, saturate, binary, sparse;
  unsigned selector;
  unsigned accumulatorRegs, elementBits;
  explicit WgmmaProperties(const Instr &in) {
    n = in.sub & 511;
    a = MmaType(in.sub >> 9 & 15);
    b = MmaType(in.sub >> 13 & 15);
    d = MmaType(in.sub >> 17 & 15);
    aInRegisters = in.sub >> 21 & 1;
    transA = in.sub >> 22 & 1;
    transB = in.sub >> 23 & 1;
    negateA = in.sub >> 24 & 1;
    negateB = in.sub >> 25 & 1;
    saturate = in.sub >> 26 & 1;
    binary = in.sub >> 28 & 1;
    sparse = in.sub >> 29 & 1;
    selector = in.sub >> 30;
    elementBits = a == MmaType::TF32 ? 32 : a == MmaType::F16 || a == MmaType::BF16 ? 16 : 8;
    k = 256 / elementBits;
    kB = sparse ? 2 * k : k;
    accumulatorRegs = d == MmaType::F16 ? n / 4 : n / 2;
  }
};

/// The shared memory that a warp's part of the instruction reads: descriptor, bounds, races.
void noteWgmmaOperand(Warp &w, uint64_t bits, Major major, unsigned bytes, unsigned row0,
                      unsigned rows, unsigned k, const char *name);
/// Sparsity metadata of a warp's 16 rows, read when it issues: where the stored elements of each row
/// stand. Reports codes without a meaning.
void wgmmaPlaces(Warp &w, const Instr &in, const WgmmaProperties &p, uint8_t *places);
/// Register rules at issue (PTX ISA 9.7.15.5.2, 9.7.15.7.1); marks the registers as in flight.
void checkWgmmaRegisters(Warp &w, const Instr &in, const WgmmaProperties &p, bool scaleD);

} // namespace sim
} // namespace tileloom

#endif
