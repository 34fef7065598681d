//===- Lifetimes.cpp - Which storage of a kernel can have the same bytes ------------------===//

#include "tileloom/Analysis/Lifetimes.h"

#include "tileloom/Analysis/RingProgram.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

/// As for warp-verify-rings.
static constexpr size_t mostCases = 512, mostSteps = 20000;

static bool inTensorMemory(Operation *storage) {
  auto buffer = dyn_cast<warp::BufferOp>(storage);
  return buffer && buffer.getBuffer().getType().getSpace() == warp::Space::Tmem;
}

/// Whether an operation is on one side of a branch that is taken again and again: a trace decides the
/// branch for few mixtures of both sides only.
static bool mayAlternate(Operation *op) {
  bool branch = false;
  for (Operation *up = op->getParentOp(); !isa<warp::RoleOp>(up); up = up->getParentOp()) {
    if (branch && !isa<scf::IfOp>(up))
      return true;
    branch |= isa<scf::IfOp>(up);
  }
  return false;
}

/// Pairs of storages, the smaller number first.
using Pairs = std::set<std::pair<int32_t, int32_t>>;

/// Lists the storages of a program; gives the number of the storage of each of its slots.
static std::vector<int32_t> listStorages(const RingProgram &program, ArrayRef<Operation *> roles, Lifetimes &lifetimes) {
  std::vector<int32_t> groups(program.slots + roles.size() * program.mostReplicas, -1);
  for (const BufferInfo &buffer : program.buffers) {
    for (int32_t slot = 0; slot < buffer.depth * buffer.instances; ++slot)
      groups[buffer.firstStorage + slot] = lifetimes.storages.size();
    lifetimes.storages.push_back(buffer.value.getDefiningOp());
  }
  for (size_t number = 0; number < roles.size(); ++number) {
    for (int32_t replica = 0; replica < program.mostReplicas; ++replica)
      groups[program.storageOf(number, replica, 0)] = lifetimes.storages.size();
    lifetimes.storages.push_back(roles[number]);
  }
  return groups;
}

/// Pairs that no trace need show: shared with tensor memory, and what traces do not show in full.
static Pairs overlapsInAnyCase(ArrayRef<Operation *> storages, ArrayRef<Operation *> scratchUsers) {
  Pairs overlaps;
  int64_t count = storages.size();
  for (int64_t second = 0; second < count; ++second)
    for (int64_t first = 0; first < second; ++first)
      if (inTensorMemory(storages[first]) != inTensorMemory(storages[second]))
        overlaps.insert({first, second});
  for (int64_t number = 0; number < count; ++number) {
    SmallVector<Operation *> users;
    if (auto buffer = dyn_cast<warp::BufferOp>(storages[number]))
      for (Operation *ring : buffer.getBuffer().getUsers())
        llvm::append_range(users, ring->getUsers());
    for (Operation *op : scratchUsers)
      if (op->getParentOfType<warp::RoleOp>() == storages[number])
        users.push_back(op);
    if (llvm::none_of(users, mayAlternate))
      continue;
    for (int64_t other = 0; other < count; ++other)
      if (other != number)
        overlaps.insert({std::min(number, other), std::max(number, other)});
  }
  return overlaps;
}

Lifetimes tileloom::findLifetimes(warp::SpecializeOp specialize,
                                  ArrayRef<Operation *> scratchUsers) {
  Lifetimes lifetimes;
  PrivateStorage uses;
  SmallVector<Operation *> roles; // with scratch
  for (Operation *op : scratchUsers) {
    Operation *role = op->getParentOfType<warp::RoleOp>();
    auto found = llvm::find(roles, role);
    uses[op] = found - roles.begin();
    if (found == roles.end())
      roles.push_back(role);
  }
  FailureOr<RingProgram> program = RingProgram::get(specialize, uses);
  if (failed(program) || program->ctas > 1 || program->inputs.exceedsLimit())
    return lifetimes;
  for (const Leaf &leaf : program->inputs.getLeaves()) // what memory says can be anything each time
    if (leaf.kind != Leaf::Argument && leaf.candidates.size() > 1)
      return lifetimes;

  std::vector<int32_t> groups = listStorages(*program, roles, lifetimes);
  std::vector<bool> tensorMemory;
  for (Operation *storage : lifetimes.storages)
    tensorMemory.push_back(inTensorMemory(storage));
  Pairs overlaps = overlapsInAnyCase(lifetimes.storages, scratchUsers);
  int64_t count = lifetimes.storages.size();
  size_t pairs = count * (count - 1) / 2;
  bool complete = true;
  std::vector<Valuation> cases = program->inputs.enumerate(mostCases, complete);
  if (!complete)
    return lifetimes;
  // The longest traces first: mostly they show at once that nothing is apart.
  for (const Valuation &valuation : llvm::reverse(cases)) {
    if (overlaps.size() == pairs)
      return lifetimes;
    TraceFault fault;
    bool truncated = false;
    Model model = program->trace(valuation, mostSteps, fault, truncated);
    if (fault.op || truncated || checkCausality(model))
      return lifetimes;
    findOverlaps(model, groups, tensorMemory, overlaps);
  }
  for (int64_t second = 0; second < count; ++second)
    for (int64_t first = 0; first < second; ++first)
      if (!overlaps.count({first, second}))
        lifetimes.apart.push_back({first, second});
  return lifetimes;
}
