//===- ColumnMask.cpp - The zero-column mask of tcgen05.mma.ws
//------------------------------------===//
//
// See ColumnMask.h.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/ColumnMask.h"

using namespace tileloom::sim;

Error tileloom::sim::decodeColumnMask(uint64_t bits, unsigned m, unsigned n, ColumnMask &mask) {
  auto field = [&](unsigned low, unsigned width) {
    return unsigned(bits >> low & ((uint64_t(1) << width) - 1));
  };
  mask.zero.assign(n, 0);
  mask.shift = field(56, 6);
  unsigned most = m == 32 ? 16 : 32;
  if (mask.shift > most)
    return "zero-column mask: the column shift is " + std::to_string(mask.shift) +
           ", M = " + std::to_string(m) + " allows up to " + std::to_string(most);
  if (field(36, 3) || field(62, 2))
    return "zero-column mask: bits 38:36 and 63:62 must be 0";
  if (!field(39, 1))
    return {};
  unsigned skip = field(40, 8) + 1, use = field(48, 8) + 1; // columns of zeros, columns of B
  unsigned parts = 128 / m, width = n / parts;
  for (unsigned part = 0; part < parts; ++part) {
    bool first = field(32 + part, 1);
    for (unsigned i = 0; i < width; ++i) {
      unsigned at = (field(8 * part, 8) + i) % (skip + use);
      mask.zero[part * width + i] = first ? at < skip : at >= use;
    }
  }
  return {};
}
