//===- Simulator.cpp - C API of the PTX simulator -------------------------===//
//
// Thin wrapper of tileloom/Simulator/Simulator.h: exceptions become a status and a text.
//
//===----------------------------------------------------------------------===//
#include "tileloom-c/Simulator.h"

#include "tileloom/Simulator/RuntimeMap.h"
#include "tileloom/Simulator/Simulator.h"

#include <cstring>
#include <new>

using namespace tileloom::sim;

struct TileloomSimulator {
  Simulator sim;
  std::string error, text, json;
  RunStatistics statistics;
};

template <class F> static TileloomSimStatus guarded(TileloomSimulator *sim, F run) {
  try {
    sim->error.clear();
    return run();
  } catch (const std::exception &e) {
    sim->error = e.what();
    return TILELOOM_SIM_ERROR;
  }
}

TileloomSimulator *tileloomSimCreate(void) { return new (std::nothrow) TileloomSimulator; }
void tileloomSimRelease(TileloomSimulator *sim) { delete sim; }
const char *tileloomSimError(TileloomSimulator *sim) { return sim->error.c_str(); }

TileloomSimStatus tileloomSimLoad(TileloomSimulator *sim, const char *ptx, size_t size) {
  return guarded(sim, [&] {
    sim->sim.load(std::string(ptx, size));
    return TILELOOM_SIM_OK;
  });
}

uint64_t tileloomSimAddBuffer(TileloomSimulator *sim, const char *name, void *host, uint64_t size,
                              uint64_t address, int writable) {
  uint64_t result = 0;
  guarded(sim, [&] {
    if (!address) {
      result = sim->sim.memory().add(name, host, size, writable);
    } else if (sim->sim.memory().addAt(address, name, host, size, writable)) {
      result = address;
    } else {
      throw LoadError(std::string("buffer '") + name + "' overlaps another buffer");
    }
    return TILELOOM_SIM_OK;
  });
  return result;
}

void tileloomSimRemoveBuffer(TileloomSimulator *sim, uint64_t address) {
  sim->sim.memory().remove(address);
}

/// Replaces a TileloomTensorMap by the simulator's own opaque form.
static void convertTensorMap(unsigned char *bytes) {
  TileloomTensorMap from;
  std::memcpy(&from, bytes, sizeof from);
  if (from.magic != TILELOOM_TENSOR_MAP_MAGIC)
    throw LoadError("a tensor map parameter does not hold a TileloomTensorMap");
  Error error = encodeRuntimeMap(from, bytes);
  if (!error.empty())
    throw LoadError("tensor map: " + error);
}

TileloomSimStatus tileloomSimRun(TileloomSimulator *sim, const TileloomSimLaunch *l) {
  return guarded(sim, [&] {
    Launch launch;
    launch.kernel = l->kernel ? l->kernel : "";
    auto dim = [](const uint32_t(&d)[3]) {
      return Dim3{d[0] ? d[0] : 1, d[1] ? d[1] : 1, d[2] ? d[2] : 1};
    };
    launch.grid = dim(l->grid);
    launch.cluster = dim(l->cluster);
    launch.block = dim(l->block);
    launch.dynamicShared = l->sharedBytes;
    launch.parameters.assign(l->parameters, l->parameters + l->parameterBytes);
    for (uint32_t i = 0; i < l->tensorMapCount; ++i) {
      if (uint64_t(l->tensorMapOffsets[i]) + tensorMapBytes > l->parameterBytes)
        throw LoadError("tensor map at offset " + std::to_string(l->tensorMapOffsets[i]) +
                        " passes the " + std::to_string(l->parameterBytes) +
                        " bytes of parameters");
      convertTensorMap(launch.parameters.data() + l->tensorMapOffsets[i]);
    }
    std::string error;
    if (l->checks && !parseChecks(l->checks, launch.options.checks, error))
      throw LoadError(error);
    launch.options.seed = l->seed;
    launch.options.maxSteps = l->maxSteps;
    launch.options.threads = l->threads;
    if (l->multiprocessors)
      launch.options.smCount = l->multiprocessors;
    launch.options.timeline = l->timeline;
    launch.options.fastMath = l->fastMath;
    sim->sim.findings().take();
    sim->statistics = sim->sim.launch(launch);
    return sim->sim.findings().empty() ? TILELOOM_SIM_OK : TILELOOM_SIM_FINDINGS;
  });
}

const char *tileloomSimFindingsText(TileloomSimulator *sim) {
  sim->text.clear();
  for (const Finding &f : sim->sim.findings().list())
    sim->text += f.text();
  return sim->text.c_str();
}
const char *tileloomSimFindingsJson(TileloomSimulator *sim) {
  sim->json = sim->sim.findings().json();
  return sim->json.c_str();
}
const char *tileloomSimTrace(TileloomSimulator *sim) {
  sim->text = sim->sim.traceJson();
  return sim->text.c_str();
}
const char *tileloomSimSummary(TileloomSimulator *sim) {
  sim->text = sim->sim.summary();
  return sim->text.c_str();
}
uint64_t tileloomSimInstructions(TileloomSimulator *sim) { return sim->statistics.instructions; }
uint64_t tileloomSimCycles(TileloomSimulator *sim) { return sim->statistics.cycles; }
