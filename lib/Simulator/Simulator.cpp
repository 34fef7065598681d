//===- Simulator.cpp - Loading modules and launching kernels --------------===//
//
// The public interface: decodes every entry of a module when it is loaded (so that an instruction
// that cannot be simulated is refused then, with its line), checks a launch, and runs its clusters,
// over several host threads when nothing ties them to an order.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Simulator/Simulator.h"
#include "Access.h"
#include "Decoder.h"
#include "Tensor.h"
#include "Timeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <numeric>
#include <thread>

namespace tileloom {
namespace sim {

struct LoadedModule {
  std::unique_ptr<Ast> ast;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<KernelInfo> infos;
  std::list<std::vector<uint8_t>> storage; // of .global and .const variables
  std::vector<uint64_t> bases;
};

Simulator::Simulator() = default;
Simulator::~Simulator() = default;

static void placeVariables(LoadedModule &m, Memory &memory,
                           std::unordered_map<std::string, uint64_t> &addresses) {
  std::vector<std::pair<const Variable *, uint8_t *>> placed;
  auto put = [&](const Variable &v, const std::string &name) {
    if (v.space != Space::Global && v.space != Space::Const)
      return;
    if (v.isExtern)
      throw LoadError(v.line, "extern variable '" + v.name + "' has no definition");
    m.storage.emplace_back(v.size, 0);
    auto &bytes = m.storage.back();
    std::copy(v.init.begin(), v.init.end(), bytes.begin());
    uint64_t base = memory.add(v.name, bytes.data(), bytes.size(), v.space == Space::Global);
    m.bases.push_back(base);
    addresses[name] = base;
    placed.emplace_back(&v, bytes.data());
  };
  for (const Variable &v : m.ast->variables)
    put(v, v.name);
  for (const auto &f : m.ast->functions)
    for (const Variable &v : f->locals)
      put(v, f->name + "." + v.name);
  for (auto &[v, bytes] : placed)
    for (const Variable::Fixup &fix : v->fixups) {
      auto it = addresses.find(fix.symbol);
      if (it == addresses.end())
        throw LoadError(v->line,
                        "initialiser of '" + v->name + "' names unknown '" + fix.symbol + "'");
      uint64_t value = it->second + uint64_t(fix.addend);
      std::memcpy(bytes + fix.at, &value, 8);
    }
}

void Simulator::load(const std::string &ptx) {
  auto m = std::make_unique<LoadedModule>();
  m->ast = parsePtx(ptx);
  if (module)
    for (uint64_t base : module->bases)
      deviceMemory.remove(base);
  module.reset();
  std::unordered_map<std::string, uint64_t> addresses;
  placeVariables(*m, deviceMemory, addresses);
  for (const auto &f : m->ast->functions) {
    if (!f->isEntry || f->isDeclaration)
      continue;
    auto p = std::make_unique<Program>();
    Decoder(*p, *m->ast, addresses).decode(*f);
    KernelInfo info;
    info.name = p->name;
    for (size_t i = 0; i < p->params.size(); ++i)
      info.parameters.push_back(
          {p->params[i].name, p->paramOffsets[i], uint32_t(p->params[i].size)});
    info.parameterBytes = p->parameterBytes;
    info.staticShared = p->staticShared;
    info.registers = p->registerCount;
    info.hasRequiredBlock = p->requiredThreads[0] != 0;
    info.requiredBlock = {p->requiredThreads[0], p->requiredThreads[1], p->requiredThreads[2]};
    info.hasCluster = p->cluster[0] != 0;
    info.cluster = info.hasCluster ? Dim3{p->cluster[0], p->cluster[1], p->cluster[2]} : Dim3{};
    m->infos.push_back(info);
    m->programs.push_back(std::move(p));
  }
  if (m->programs.empty())
    throw LoadError("the module has no .entry");
  module = std::move(m);
}

std::vector<KernelInfo> Simulator::kernels() const {
  return module ? module->infos : std::vector<KernelInfo>();
}

const KernelInfo &Simulator::kernel(const std::string &name) const {
  if (!module)
    throw LoadError("no PTX module is loaded");
  if (name.empty() && module->infos.size() == 1)
    return module->infos[0];
  std::string known;
  for (const KernelInfo &k : module->infos) {
    if (k.name == name)
      return k;
    known += (known.empty() ? "" : ", ") + k.name;
  }
  throw LoadError("no kernel '" + name + "' in the module; it has: " + known);
}

static std::string dims(const Dim3 &d) {
  return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
}

static void checkLaunch(const Launch &l, const Program &p) {
  auto need = [](bool ok, const std::string &message) {
    if (!ok)
      throw LoadError(message);
  };
  uint64_t threads = l.block.count();
  need(threads >= 1 && threads <= 1024, "block " + dims(l.block) + " has " +
                                            std::to_string(threads) +
                                            " threads; 1 to 1024 are possible");
  if (p.requiredThreads[0])
    need(l.block.x == p.requiredThreads[0] && l.block.y == p.requiredThreads[1] &&
             l.block.z == p.requiredThreads[2],
         "block is " + dims(l.block) + ", the kernel requires " +
             dims({p.requiredThreads[0], p.requiredThreads[1], p.requiredThreads[2]}) +
             " (.reqntid)");
  if (p.maxThreads[0])
    need(threads <= uint64_t(p.maxThreads[0]) * p.maxThreads[1] * p.maxThreads[2],
         "block " + dims(l.block) + " exceeds .maxntid");
  const Dim3 &c = l.cluster, &g = l.grid;
  need(c.count() >= 1 && c.count() <= 16, "cluster " + dims(c) + " must have 1 to 16 CTAs");
  if (p.cluster[0])
    need(c.x == p.cluster[0] && c.y == p.cluster[1] && c.z == p.cluster[2],
         "cluster is " + dims(c) + ", the kernel requires " +
             dims({p.cluster[0], p.cluster[1], p.cluster[2]}) + " (.reqnctapercluster)");
  need(g.count() >= 1, "grid " + dims(g) + " is empty");
  need(g.x % c.x == 0 && g.y % c.y == 0 && g.z % c.z == 0,
       "grid " + dims(g) + " is not a multiple of the cluster " + dims(c));
  constexpr uint64_t mostShared = 232448; // compute capability 9.0 and 10.0
  uint64_t shared = uint64_t(p.staticShared) + l.dynamicShared;
  need(shared <= mostShared, "the launch needs " + std::to_string(shared) +
                             " bytes of shared memory (" + std::to_string(p.staticShared) +
                             " static and " + std::to_string(l.dynamicShared) +
                             " dynamic); " + std::to_string(mostShared) + " are possible");
  need(l.parameters.size() == p.parameterBytes, "found " + std::to_string(l.parameters.size()) +
                                                    " bytes of parameters, the kernel needs " +
                                                    std::to_string(p.parameterBytes));
}

static void work(Grid &grid, std::atomic<uint64_t> &next, std::atomic<bool> &failed,
                 std::atomic<uint64_t> &instructions, std::atomic<uint64_t> &cycles);

/// A host thread must not throw: what goes wrong inside (memory, mostly) ends the run as a finding.
static void workSafely(Grid &grid, std::atomic<uint64_t> &next, std::atomic<bool> &failed,
                       std::atomic<uint64_t> &instructions, std::atomic<uint64_t> &cycles) {
  try {
    work(grid, next, failed, instructions, cycles);
  } catch (const std::exception &e) {
    Finding f;
    f.kind = "simulator";
    f.kernel = grid.program->name;
    f.message = std::string("the simulator cannot go on: ") + e.what();
    grid.findings->add(f);
    failed = true;
  }
}

/// One host thread: takes clusters in launch order; those that spin on global memory wait in `parked`.
static void work(Grid &grid, std::atomic<uint64_t> &next, std::atomic<bool> &failed,
                 std::atomic<uint64_t> &instructions, std::atomic<uint64_t> &cycles) {
  std::list<std::unique_ptr<Cluster>> parked;
  auto finish = [&](Cluster &c) {
    uint64_t n = 0, longest = 0;
    for (auto &cta : c.ctas) {
      for (auto &w : cta->warps) {
        n += w->instructions;
        longest = std::max(longest, w->time);
      }
      if (grid.timeline)
        grid.timeline->finish(*cta);
    }
    instructions += n;
    uint64_t seen = cycles;
    while (longest > seen && !cycles.compare_exchange_weak(seen, longest)) {
    }
  };
  while (!failed) {
    uint64_t i = next++;
    if (i >= grid.clusters)
      break;
    auto c = makeCluster(grid, grid.clusterAt(i));
    RunStatus s = runCluster(*c);
    if (s == RunStatus::Stalled) {
      parked.push_back(std::move(c));
      continue;
    }
    finish(*c);
    if (s == RunStatus::Failed)
      failed = true;
  }
  // Only clusters that wait for each other are left: turn by turn, until none gets on.
  unsigned idle = 0;
  while (!parked.empty() && !failed) {
    auto it = parked.begin();
    uint64_t before = (*it)->progress;
    RunStatus s = runCluster(**it);
    bool progressed = (*it)->progress != before || s == RunStatus::Done;
    idle = progressed ? 0 : idle + 1;
    if (s == RunStatus::Stalled && idle >= parked.size() && openJoins(**it))
      continue;
    if (s == RunStatus::Stalled && idle > 40 * parked.size() + 40) {
      reportDeadlock(**it, "its warps run without ever changing memory or a barrier");
      s = RunStatus::Failed;
    }
    if (s == RunStatus::Stalled) {
      parked.splice(parked.end(), parked, it);
      continue;
    }
    finish(**it);
    if (s == RunStatus::Failed)
      failed = true;
    parked.erase(it);
  }
}

RunStatistics Simulator::launch(const Launch &given) {
  const KernelInfo &info = kernel(given.kernel);
  const Program *program = nullptr;
  for (auto &p : module->programs)
    if (p->name == info.name)
      program = p.get();
  Grid grid;
  grid.launch = given;
  grid.program = program;
  if (info.hasCluster && given.cluster.count() == 1)
    grid.launch.cluster = info.cluster;
  if (info.hasRequiredBlock && given.block.count() == 1)
    grid.launch.block = info.requiredBlock;
  checkLaunch(grid.launch, *program);
  auto start = std::chrono::steady_clock::now();
  deviceMemory.clearShadow();
  grid.memory = &deviceMemory;
  grid.findings = &found;
  grid.blockThreads = uint32_t(grid.launch.block.count());
  grid.warpsPerCta = (grid.blockThreads + 31) / 32;
  grid.clusterSize = uint32_t(grid.launch.cluster.count());
  grid.sharedBytes = (SharedBase + program->staticShared + given.dynamicShared + 15) / 16 * 16;
  grid.clusters = grid.launch.grid.count() / grid.clusterSize;
  grid.checks = given.options.checks;
  grid.actorsPerCta = 4 * grid.warpsPerCta + MaxBarriers;
  grid.parameters = given.parameters;
  Timeline timeline;
  if (given.options.timeline)
    grid.timeline = &timeline;
  // Host threads would make the order of global atomics, and what the race check sees, vary.
  bool free = !program->usesGlobalAtomics && !(grid.checks & CheckRaces) && !grid.timeline;
  unsigned threads = given.options.threads ? given.options.threads
                                           : std::max(1u, std::thread::hardware_concurrency());
  threads = free ? unsigned(std::min<uint64_t>(threads, grid.clusters)) : 1;
  grid.singleThread = threads == 1;
  // A GPU launches clusters in any order; so do random schedules, of grids that may well be small.
  if (given.options.seed && grid.clusters > 1 && grid.clusters <= 65536) {
    grid.launchOrder.resize(grid.clusters);
    std::iota(grid.launchOrder.begin(), grid.launchOrder.end(), 0);
    std::mt19937_64 random(given.options.seed * 0x9E3779B97F4A7C15ull);
    std::shuffle(grid.launchOrder.begin(), grid.launchOrder.end(), random);
  }
  std::atomic<uint64_t> next{0}, instructions{0}, cycles{0};
  std::atomic<bool> failed{false};
  grid.next = &next;
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back([&] { workSafely(grid, next, failed, instructions, cycles); });
  workSafely(grid, next, failed, instructions, cycles);
  for (std::thread &t : pool)
    t.join();
  if (grid.timeline) {
    trace = timeline.json();
    summaryText = timeline.summary();
  }
  RunStatistics s;
  s.instructions = instructions;
  s.cycles = cycles;
  s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return s;
}

} // namespace sim
} // namespace tileloom
