//===- Sparse.cpp - Structured sparsity of matrix A
//-----------------------------------------------===//
//
// See Sparse.h.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Sparse.h"

#include "tileloom/Simulator/MatrixUnit.h"

using namespace tileloom::sim;

bool tileloom::sim::sparsePlaces(uint32_t chunk, uint32_t code, bool ordered, uint8_t *places) {
  uint8_t first = code & 3, second = code >> 2 & 3;
  if (chunk == 2) { // halves of 16 bits: 0 and 1, or 2 and 3
    places[0] = first / 2;
    return code == 0b0100 || code == 0b1110;
  }
  uint8_t width = chunk / 4;
  for (uint8_t i = 0; i < width; ++i) {
    places[i] = uint8_t(first * width + i);
    places[width + i] = uint8_t(second * width + i);
  }
  return ordered ? first < second : first != second;
}

std::string tileloom::sim::sparseCode(uint32_t code) {
  std::string text = "0b";
  for (int bit = 3; bit >= 0; --bit)
    text += code >> bit & 1 ? '1' : '0';
  return text;
}

void DecodedOperand::spread(const uint8_t *places) {
  auto packed = *this;
  size_t stored = k;
  k = 2 * stored;
  pattern.assign(k * stride, 0);
  value.assign(k * stride, 0);
  // An absent element raises no maximum, whatever it meets (see load).
  exponent.assign(k * stride, isInteger(type) ? 0 : -specialExponent / 10);
  present.assign(k * stride, 0);
  for (size_t i = 0; i < stored; ++i)
    for (size_t row = 0; row < rows; ++row) {
      size_t from = i * stride + row, to = places[row * stored + i] * stride + row;
      pattern[to] = packed.pattern[from];
      value[to] = packed.value[from];
      exponent[to] = packed.exponent[from];
      present[to] = 1;
    }
}
