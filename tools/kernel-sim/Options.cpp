//===- Options.cpp - The command line of kernel-sim -----------------------===//
//
// Parses options by hand: the tool must start fast and need nothing but the simulator.
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include <cstdio>
#include <cstdlib>

namespace tileloom {
namespace sim {

static const char *helpText =
    "usage: kernel-sim KERNEL.ptx [options]\n"
    "  --kernel NAME          entry to run (not needed if there is one)\n"
    "  --grid X[,Y,Z]         CTAs          --cluster X[,Y,Z]   CTAs of a cluster\n"
    "  --block X[,Y,Z]        threads       --shared BYTES      dynamic shared memory\n"
    "  --arg ARG              one kernel parameter, in order:\n"
    "      i32:5 f32:1.5 ...                  a scalar\n"
    "      buf:NAME:ELEMENT:SHAPE[:CONTENTS]  a buffer: zeros, random[=SEED], iota, fill=V\n"
    "      buf:NAME[:ELEMENT]@FILE.npy        a buffer from a file\n"
    "      buf:NAME:ELEMENT:SHAPE@FILE        a buffer from the bytes of a file\n"
    "      ref:NAME                           the address of a buffer given before\n"
    "      tmap:NAME:box=64x128[:swizzle=128][:dims=..][:strides=..][:type=..][:fill=nan]\n"
    "      tensor:...                         as buf, but only registered: no parameter\n"
    "  --recipe FILE          launch recipe; --arg then gives its arguments\n"
    "  --out NAME=FILE.npy    write a buffer after the run\n"
    "  --compare NAME=FILE    compare a buffer with a file (--tolerance T, default 1e-2)\n"
    "  --checks LIST          all, none, or of uninit,race,inflight,barrier,strict\n"
    "  --seed S               random interleaving     --schedules N   run N seeds\n"
    "  --threads N            host threads            --max-steps N   stop after N instructions\n"
    "  --fast-math            fp32 accumulation instead of the bit model of the tensor cores\n"
    "  --trace FILE           Chrome trace            --summary       who waited for what\n"
    "  --json FILE            findings as JSON        --list          kernels of the module\n"
    "  --quiet                only findings\n";

static Dim3 parseDim(const std::string &text, const char *option) {
  std::vector<std::string> parts = splitText(text, ',');
  if (parts.size() > 3)
    throw LoadError(std::string(option) + " takes one to three numbers, found '" + text + "'");
  Dim3 d;
  uint32_t *out[] = {&d.x, &d.y, &d.z};
  for (size_t i = 0; i < parts.size(); ++i)
    *out[i] = uint32_t(parseInteger(parts[i], option));
  return d;
}

static std::pair<std::string, std::string> parsePair(const std::string &text, const char *option) {
  size_t eq = text.find('=');
  if (eq == std::string::npos)
    throw LoadError(std::string(option) + " needs NAME=FILE, found '" + text + "'");
  return {text.substr(0, eq), text.substr(eq + 1)};
}

bool parseOptions(int argc, char **argv, ToolOptions &o) {
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i], value;
    bool hasValue = false;
    if (a.compare(0, 2, "--") == 0) {
      size_t eq = a.find('=');
      if (eq != std::string::npos) {
        value = a.substr(eq + 1);
        a = a.substr(0, eq);
        hasValue = true;
      }
    }
    auto next = [&]() -> std::string {
      if (hasValue)
        return value;
      if (++i >= argc)
        throw LoadError(a + " needs a value");
      return argv[i];
    };
    if (a == "--help" || a == "-h") {
      std::fputs(helpText, stdout);
      return false;
    } else if (a == "--kernel") {
      o.kernel = next();
    } else if (a == "--grid") {
      o.launch.grid = parseDim(next(), "--grid");
    } else if (a == "--cluster") {
      o.launch.cluster = parseDim(next(), "--cluster");
    } else if (a == "--block") {
      o.launch.block = parseDim(next(), "--block");
    } else if (a == "--shared") {
      o.launch.dynamicShared = uint32_t(parseInteger(next(), "--shared"));
    } else if (a == "--arg") {
      o.arguments.push_back(next());
    } else if (a == "--recipe") {
      o.recipe = next();
    } else if (a == "--out") {
      o.outputs.push_back(parsePair(next(), "--out"));
    } else if (a == "--compare") {
      o.compares.push_back(parsePair(next(), "--compare"));
    } else if (a == "--tolerance") {
      o.tolerance = std::strtod(next().c_str(), nullptr);
    } else if (a == "--checks") {
      std::string error;
      if (!parseChecks(next(), o.launch.options.checks, error))
        throw LoadError(error);
    } else if (a == "--seed") {
      o.launch.options.seed = parseInteger(next(), "--seed");
    } else if (a == "--schedules") {
      o.schedules = unsigned(parseInteger(next(), "--schedules"));
    } else if (a == "--threads") {
      o.launch.options.threads = unsigned(parseInteger(next(), "--threads"));
    } else if (a == "--max-steps") {
      o.launch.options.maxSteps = parseInteger(next(), "--max-steps");
    } else if (a == "--fast-math") {
      o.launch.options.fastMath = true;
    } else if (a == "--trace") {
      o.trace = next();
    } else if (a == "--summary") {
      o.summary = true;
    } else if (a == "--json") {
      o.json = next();
    } else if (a == "--list") {
      o.list = true;
    } else if (a == "--quiet") {
      o.quiet = true;
    } else if (!a.empty() && a[0] == '-' && a != "-") {
      throw LoadError("unknown option '" + a + "'; see --help");
    } else if (o.input.empty()) {
      o.input = a;
    } else {
      throw LoadError("two input files: '" + o.input + "' and '" + a + "'");
    }
  }
  if (o.input.empty())
    throw LoadError("no input file; see --help");
  return true;
}

} // namespace sim
} // namespace tileloom
