//===- Run.cpp - One or several runs of a kernel --------------------------===//
//
// Loads the module, builds arguments, runs the schedules asked for, writes and compares outputs.
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace tileloom {
namespace sim {

static std::string readText(const std::string &path) {
  std::stringstream s;
  if (path == "-") {
    s << std::cin.rdbuf();
    return s.str();
  }
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw LoadError("cannot open '" + path + "'");
  s << in.rdbuf();
  return s.str();
}

static void writeText(const std::string &path, const std::string &text) {
  std::ofstream out(path);
  out << text;
  if (!out)
    throw LoadError("cannot write '" + path + "'");
}

static void listKernels(const Simulator &sim) {
  for (const KernelInfo &k : sim.kernels()) {
    std::printf("%s: %zu parameters (%u bytes), %u bytes of static shared memory\n", k.name.c_str(),
                k.parameters.size(), k.parameterBytes, k.staticShared);
    for (const Parameter &p : k.parameters)
      std::printf("  %s: %u bytes at %u\n", p.name.c_str(), p.size, p.offset);
  }
}

int runTool(ToolOptions &o) {
  Simulator sim;
  sim.load(readText(o.input));
  if (o.list) {
    listKernels(sim);
    return 0;
  }
  ArgumentList arguments(sim.memory());
  if (!o.recipe.empty()) {
    o.launch.parameters = applyRecipe(o, arguments, o.launch);
    if (o.launch.grid.count() == 0)
      return 0; // an empty problem launches nothing
  } else {
    o.launch.kernel = o.kernel;
    for (const std::string &a : o.arguments)
      arguments.add(a);
    o.launch.parameters = arguments.parameterBytes(sim.kernel(o.launch.kernel));
  }
  o.launch.options.timeline = !o.trace.empty() || o.summary;
  // Later schedules start from the same contents.
  std::vector<std::vector<uint8_t>> initial;
  for (auto &t : arguments.all())
    initial.push_back(t->data);
  uint64_t seed = o.launch.options.seed;
  bool bad = false;
  for (unsigned s = 0; s < o.schedules; ++s) {
    if (s) {
      for (size_t i = 0; i < initial.size(); ++i)
        std::copy(initial[i].begin(), initial[i].end(), arguments.all()[i]->data.begin());
      o.launch.options.seed = seed + s;
    }
    RunStatistics r = sim.launch(o.launch);
    if (!o.quiet)
      std::printf("ran %llu warp instructions, %llu cycles, in %.3f s (seed %llu)\n",
                  static_cast<unsigned long long>(r.instructions),
                  static_cast<unsigned long long>(r.cycles), r.seconds,
                  static_cast<unsigned long long>(o.launch.options.seed));
    if (!o.json.empty())
      writeText(o.json, sim.findings().json() + "\n");
    std::vector<Finding> found = sim.findings().take();
    // A mistake often shows at many instructions: a few of each kind are enough to read.
    std::map<std::string, size_t> ofKind;
    for (const Finding &f : found)
      if (++ofKind[f.kind] <= 4)
        std::fputs(f.text().c_str(), stderr);
    for (auto &[kind, n] : ofKind)
      if (n > 4)
        std::fprintf(stderr, "... and %zu more places with %s (--json FILE has all)\n", n - 4,
                     kind.c_str());
    if (!found.empty()) {
      if (o.launch.options.seed)
        std::fprintf(stderr, "found with --seed %llu\n",
                     static_cast<unsigned long long>(o.launch.options.seed));
      bad = true;
    }
    for (auto &[name, file] : o.compares) {
      HostTensor want;
      const HostTensor &got = arguments.tensor(name);
      want.element = got.element;
      readNpy(file, want, false);
      Difference d = compareTensors(got, want, o.tolerance);
      bool differs = d.mismatches != 0;
      if (differs || !o.quiet)
        std::printf("compare '%s': largest difference %g at element %llu (got %g, wanted %g), %llu "
                    "of %llu beyond %g\n",
                    name.c_str(), d.absolute, static_cast<unsigned long long>(d.at), d.got, d.want,
                    static_cast<unsigned long long>(d.mismatches),
                    static_cast<unsigned long long>(got.count()), o.tolerance);
      bad |= differs;
    }
    if (bad)
      break;
  }
  for (auto &[name, file] : o.outputs)
    writeNpy(file, arguments.tensor(name));
  if (!o.trace.empty())
    writeText(o.trace, sim.traceJson());
  if (o.summary)
    std::fputs(sim.summary().c_str(), stdout);
  return bad ? 1 : 0;
}

} // namespace sim
} // namespace tileloom
