//===- Lanes.h - Loops over the lanes of a warp ------------------*- C++ -*-===//
//
// Handlers apply a scalar function to each active lane. When all 32 are active the loop has no
// condition and vectorises: operands are equal or disjoint slots and read at the same lane only, so
// the compiler may ignore aliasing.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_LANES_H
#define TILELOOM_LIB_SIMULATOR_LANES_H

#include "Decoder.h"
#include "Machine.h"

#include <cstring>

#if defined(__clang__)
#define TILELOOM_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define TILELOOM_LANES _Pragma("GCC ivdep")
#endif

namespace tileloom {
namespace sim {

template <class F> inline void eachLane(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(unsigned(__builtin_ctz(mask)));
}

template <class D, class A, class F> inline void map1(Warp &w, const Instr &in, F f) {
  D *d = w.reg<D>(in.d);
  const A *a = w.reg<A>(in.a);
  if (w.active == ~0u) {
    TILELOOM_LANES
    for (unsigned i = 0; i < 32; ++i)
      d[i] = f(a[i]);
  } else {
    eachLane(w.active, [&](unsigned i) { d[i] = f(a[i]); });
  }
}

template <class D, class A, class B, class F> inline void map2(Warp &w, const Instr &in, F f) {
  D *d = w.reg<D>(in.d);
  const A *a = w.reg<A>(in.a);
  const B *b = w.reg<B>(in.b);
  if (w.active == ~0u) {
    TILELOOM_LANES
    for (unsigned i = 0; i < 32; ++i)
      d[i] = f(a[i], b[i]);
  } else {
    eachLane(w.active, [&](unsigned i) { d[i] = f(a[i], b[i]); });
  }
}

template <class D, class A, class B, class C, class F>
inline void map3(Warp &w, const Instr &in, F f) {
  D *d = w.reg<D>(in.d);
  const A *a = w.reg<A>(in.a);
  const B *b = w.reg<B>(in.b);
  const C *c = w.reg<C>(in.c);
  if (w.active == ~0u) {
    TILELOOM_LANES
    for (unsigned i = 0; i < 32; ++i)
      d[i] = f(a[i], b[i], c[i]);
  } else {
    eachLane(w.active, [&](unsigned i) { d[i] = f(a[i], b[i], c[i]); });
  }
}

/// Writes the active lanes of a predicate register.
inline void setPredicate(Warp &w, int32_t slot, uint32_t value) {
  uint32_t *p = w.reg<uint32_t>(slot);
  *p = (*p & ~w.active) | (value & w.active);
}
inline uint32_t getPredicate(const Warp &w, int32_t slot, bool negated) {
  uint32_t p = w.predicate(slot);
  return negated ? ~p : p;
}

// Handler makers: F is a stateless functor type.
template <class D, class A, class F> Step op1(Warp &w, const Instr &in) {
  map1<D, A>(w, in, F());
  return Step::Next;
}
template <class D, class A, class B, class F> Step op2(Warp &w, const Instr &in) {
  map2<D, A, B>(w, in, F());
  return Step::Next;
}
template <class D, class A, class B, class C, class F> Step op3(Warp &w, const Instr &in) {
  map3<D, A, B, C>(w, in, F());
  return Step::Next;
}

} // namespace sim
} // namespace tileloom

#endif
