//===- Carry.h - Arithmetic with the carry flag -------------------*- C++ -*-===//
//
// Handlers of add.cc, addc, sub.cc, subc, mad.cc and madc (PTX ISA 9.7.2), and the high half of a
// product. Part of ExecInteger.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_CARRY_H
#define TILELOOM_LIB_SIMULATOR_CARRY_H

#include "Lanes.h"

#include <type_traits>

namespace tileloom {
namespace sim {

template <class T> using Unsigned = std::make_unsigned_t<T>;

template <class T> T mulHigh(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using W = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return T((W(a) * W(b)) >> 64);
  } else {
    using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return T((W(a) * W(b)) >> (8 * sizeof(T)));
  }
}

// add.cc, addc, sub.cc, subc, mad.cc, madc: sub bit 0 reads the carry, bit 1 writes it.
template <class T> Step carryAdd(Warp &w, const Instr &in) {
  T *d = w.reg<T>(in.d);
  const T *a = w.reg<T>(in.a), *b = w.reg<T>(in.b);
  eachLane(w.active, [&](unsigned i) {
    unsigned __int128 s = (unsigned __int128)a[i] + b[i] + (in.sub & 1 ? w.carry >> i & 1 : 0);
    d[i] = T(s);
    if (in.sub & 2)
      w.carry = (w.carry & ~(1u << i)) | uint32_t(s >> (8 * sizeof(T)) & 1) << i;
  });
  return Step::Next;
}
template <class T> Step carrySub(Warp &w, const Instr &in) {
  T *d = w.reg<T>(in.d);
  const T *a = w.reg<T>(in.a), *b = w.reg<T>(in.b);
  eachLane(w.active, [&](unsigned i) {
    unsigned __int128 s = (unsigned __int128)a[i] - b[i] - (in.sub & 1 ? w.carry >> i & 1 : 0);
    d[i] = T(s);
    if (in.sub & 2)
      w.carry = (w.carry & ~(1u << i)) | uint32_t(s >> (8 * sizeof(T)) & 1) << i;
  });
  return Step::Next;
}
template <class T, bool High> Step carryMad(Warp &w, const Instr &in) {
  using U = Unsigned<T>;
  U *d = w.reg<U>(in.d);
  const T *a = w.reg<T>(in.a), *b = w.reg<T>(in.b);
  const U *c = w.reg<U>(in.c);
  eachLane(w.active, [&](unsigned i) {
    U product = High ? U(mulHigh<T>(a[i], b[i])) : U(uint64_t(a[i]) * uint64_t(b[i]));
    unsigned __int128 s = (unsigned __int128)product + c[i] + (in.sub & 1 ? w.carry >> i & 1 : 0);
    d[i] = U(s);
    if (in.sub & 2)
      w.carry = (w.carry & ~(1u << i)) | uint32_t(s >> (8 * sizeof(T)) & 1) << i;
  });
  return Step::Next;
}

} // namespace sim
} // namespace tileloom

#endif
