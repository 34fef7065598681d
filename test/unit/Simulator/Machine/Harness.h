//===- Harness.h - Small PTX kernels in unit tests ----------------*- C++ -*-===//
//
// Wraps a few instructions into a kernel and runs it: `lanes` gives each thread %a, %b, %c from
// three input arrays and stores %d; `run` takes a whole body with %in and %out pointers.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_TEST_SIMULATOR_HARNESS_H
#define TILELOOM_TEST_SIMULATOR_HARNESS_H

#include "tileloom/Simulator/Simulator.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

namespace tileloom {
namespace sim {

inline const char *ptxHeader = ".version 8.6\n.target sm_90a\n.address_size 64\n";

struct Outcome {
  std::vector<uint32_t> out;
  std::vector<Finding> found;
  RunStatistics statistics;
  bool has(const std::string &kind) const {
    for (const Finding &f : found)
      if (f.kind == kind)
        return true;
    return false;
  }
  std::string text() const {
    std::string s;
    for (const Finding &f : found)
      s += f.text();
    return s;
  }
};

struct KernelSetup {
  std::vector<uint32_t> in;
  size_t outWords = 32;
  Dim3 grid, cluster, block{32, 1, 1};
  uint32_t shared = 0;
  LaunchOptions options;
  std::string declarations;             // module scope
  std::vector<uint8_t> extraParameters; // after in and out
  std::string extraDeclarations;
};

/// Body with %in and %out (64-bit addresses) and %t; registers %r<64>, %rd<64>, %f<32>, %p<16>.
inline Outcome run(const std::string &body, KernelSetup s = {}) {
  Simulator sim;
  sim.load(ptxHeader + s.declarations +
           ".extern .shared .align 1024 .b8 smem[];\n"
           ".visible .entry k(.param .u64 pin, .param .u64 pout" +
           s.extraDeclarations +
           ")\n{\n"
           ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 "
           "%f<300>;\n"
           ".reg .b64 %in, %out; .reg .b32 %t;\n"
           "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %t, %tid.x;\n" +
           body + "\nret;\n}\n");
  Outcome o;
  o.out.assign(s.outWords, 0xDEADBEEF);
  if (s.in.empty())
    s.in.push_back(0);
  uint64_t in = sim.memory().add("in", s.in.data(), s.in.size() * 4);
  uint64_t out = sim.memory().add("out", o.out.data(), o.out.size() * 4);
  Launch l;
  l.grid = s.grid;
  l.cluster = s.cluster;
  l.block = s.block;
  l.dynamicShared = s.shared;
  l.options = s.options;
  l.parameters.resize(16);
  std::memcpy(l.parameters.data(), &in, 8);
  std::memcpy(l.parameters.data() + 8, &out, 8);
  if (!s.extraParameters.empty()) {
    l.parameters.resize(64, 0);
    l.parameters.insert(l.parameters.end(), s.extraParameters.begin(), s.extraParameters.end());
  }
  o.statistics = sim.launch(l);
  o.found = sim.findings().take();
  return o;
}

/// out[tid] = the instructions' %d for %a, %b, %c = in[tid], in[32 + tid], in[64 + tid] (32-bit).
inline std::vector<uint32_t> lanes(const std::string &instructions, std::vector<uint32_t> a,
                                   std::vector<uint32_t> b = {}, std::vector<uint32_t> c = {}) {
  KernelSetup s;
  a.resize(32, a.empty() ? 0 : a.back());
  b.resize(32, b.empty() ? 0 : b.back());
  c.resize(32, c.empty() ? 0 : c.back());
  s.in = a;
  s.in.insert(s.in.end(), b.begin(), b.end());
  s.in.insert(s.in.end(), c.begin(), c.end());
  Outcome o = run(
      ".reg .b32 %a, %b, %c, %d;\n"
      "mul.wide.u32 %rd1, %t, 4; add.s64 %rd2, %in, %rd1; add.s64 %rd3, %out, %rd1;\n"
      "ld.global.b32 %a, [%rd2]; ld.global.b32 %b, [%rd2+128]; ld.global.b32 %c, [%rd2+256];\n" +
          instructions + "\nst.global.b32 [%rd3], %d;",
      s);
  EXPECT_TRUE(o.found.empty()) << o.text();
  return o.out;
}
inline uint32_t lane0(const std::string &instructions, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
  return lanes(instructions, {a}, {b}, {c})[0];
}

inline std::string loadError(const std::string &body, const std::string &declarations = "") {
  try {
    KernelSetup s;
    s.declarations = declarations;
    run(body, s);
  } catch (const LoadError &e) {
    return e.what();
  }
  return "";
}

inline uint32_t bits(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return u;
}
inline float asFloat(uint32_t u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

} // namespace sim
} // namespace tileloom

#endif
