//===- Interpreter.cpp - Runs one warp ------------------------------------===//
//
// Threads of a warp are kept in groups of equal pc. A branch that divides a group opens a Join at
// the branch's post-dominator; groups that reach it wait there until all threads of the branch have
// come or exited, as with the hardware's convergence barriers. Other groups go on meanwhile, so
// threads of one warp may wait for each other; the scheduler lets a Join go early only when nothing
// else could run.
//
//===----------------------------------------------------------------------===//
#include "Access.h"

namespace tileloom {
namespace sim {

bool Warp::block(WaitInfo::Kind kind, uint32_t address, uint32_t detail) {
  if (group->wait.kind != kind || group->wait.address != address)
    group->wait.since = time;
  group->wait.kind = kind;
  group->wait.address = address;
  group->wait.detail = detail;
  return true;
}

static int32_t openJoin(Warp &w, uint32_t pc, uint32_t expected, int32_t parent) {
  size_t i = 0;
  while (i < w.joins.size() && w.joins[i].inUse)
    ++i;
  if (i == w.joins.size())
    w.joins.emplace_back();
  w.joins[i] = Join{pc, expected, 0, parent, true};
  return int32_t(i);
}

/// If everybody has arrived, the join becomes a group again.
static void settleJoin(Warp &w, int32_t index) {
  Join &j = w.joins[size_t(index)];
  if (!j.inUse || (j.arrived & j.expected) != j.expected)
    return;
  j.inUse = false;
  if (!j.expected)
    return;
  Group g;
  g.pc = j.pc;
  g.mask = j.expected;
  g.join = j.parent;
  w.groups.push_back(g);
}

/// The group at `index` reached the pc of its join.
static void arrive(Warp &w, size_t index) {
  Group g = w.groups[index];
  w.groups.erase(w.groups.begin() + long(index));
  w.joins[size_t(g.join)].arrived |= g.mask;
  settleJoin(w, g.join);
}

void exitLanes(Warp &w, uint32_t mask) {
  w.live &= ~mask;
  for (size_t i = 0; i < w.joins.size(); ++i) {
    if (!w.joins[i].inUse)
      continue;
    w.joins[i].expected &= ~mask;
    w.joins[i].arrived &= ~mask;
    settleJoin(w, int32_t(i));
  }
}

/// Divides the running group: `taken` goes to `target`, the rest falls through.
static void branch(Warp &w, size_t index, const Instr &in, uint32_t taken) {
  Group &g = w.groups[index];
  uint32_t next = g.pc + 1;
  if (taken == g.mask) {
    g.pc = in.target;
  } else if (!taken) {
    g.pc = next;
  } else {
    int32_t join = g.join;
    if (in.join != ~0u && !(join >= 0 && w.joins[size_t(join)].pc == in.join))
      join = openJoin(w, in.join, g.mask, g.join);
    Group other = g;
    other.pc = in.target;
    other.mask = taken;
    other.join = join;
    g.mask &= ~taken;
    g.pc = next;
    g.join = join;
    w.groups.push_back(other);
  }
}

static void branchIndirect(Warp &w, size_t index, const Instr &in, uint32_t mask) {
  const auto &table = w.program->jumpTables[size_t(in.imm)];
  const uint32_t *which = w.reg<uint32_t>(in.a);
  Group base = w.groups[index];
  int32_t join = base.join;
  uint32_t fall = base.mask & ~mask, left = mask;
  bool first = true, divided = fall != 0;
  for (uint32_t m = mask; m; m &= m - 1)
    divided |= which[__builtin_ctz(m)] != which[__builtin_ctz(mask)];
  if (divided && in.join != ~0u && !(join >= 0 && w.joins[size_t(join)].pc == in.join))
    join = openJoin(w, in.join, base.mask, base.join);
  auto put = [&](uint32_t pc, uint32_t lanes) {
    Group g = base;
    g.pc = pc;
    g.mask = lanes;
    g.join = divided ? join : base.join;
    if (first)
      w.groups[index] = g;
    else
      w.groups.push_back(g);
    first = false;
  };
  while (left) {
    uint32_t value = which[__builtin_ctz(left)], same = 0;
    for (uint32_t m = left; m; m &= m - 1)
      if (which[__builtin_ctz(m)] == value)
        same |= m & -m;
    left &= ~same;
    if (value >= table.size()) {
      report(w, "bad-branch",
             "brx.idx index " + std::to_string(value) + " is past the " +
                 std::to_string(table.size()) + " targets");
      w.cluster->failed = true;
      value = 0;
    }
    put(table[value], same);
  }
  if (fall)
    put(base.pc + 1, fall);
}

/// Register checks before an instruction: undefined sources, registers owned by a wgmma in flight.
static void checkRegisters(Warp &w, const Instr &in, uint32_t m) {
  const uint32_t *refs = w.program->refs.data() + in.refs;
  if (!w.loads.empty())
    useLoads(w, in);
  if (w.inFlightCount && !(in.flags & FlagMatrix) && w.cluster->checking(CheckInFlight)) {
    for (unsigned i = 0, n = in.uses + in.defs; i < n; ++i) {
      if (!w.inFlight[refs[i]])
        continue;
      // A true dependency on a tcgen05.ld is respected (PTX ISA 9.7.16.6.4.5), and Triton counts on
      // it; a kernel that fences is held to the pattern with tcgen05.wait::ld. Even there copies
      // may go ahead (LLVM moves them): the copy is then in flight as well.
      if (w.inFlight[refs[i]] == TensorLoadOwner && i < in.uses && !followsTensorFences(w))
        continue;
      if (w.inFlight[refs[i]] == TensorLoadOwner && i < in.uses && in.flags & FlagMove) {
        for (unsigned k = in.uses; k < n; ++k) {
          w.inFlight[refs[k]] = TensorLoadOwner;
          w.tensorLoadRegs.push_back(refs[k]);
        }
        break;
      }
      report(w, "register-in-flight",
             "register " + w.program->registerNames[refs[i]] +
                 (i < in.uses ? " is read" : " is written") +
                 " while a wgmma or tcgen05.ld that owns it has not been waited for");
      w.inFlight[refs[i]] = 0;
    }
  }
  if (!w.cluster->checking(CheckUninitialised))
    return;
  uint32_t missing = 0;
  for (unsigned i = 0; i < in.uses && !(in.flags & FlagPhiLike); ++i) {
    uint32_t lacks = m & ~w.written[refs[i]];
    if (!lacks)
      continue;
    missing |= lacks;
    if (in.flags & (FlagMove | FlagBytes | FlagHalves))
      continue;
    if ((lacks = undefinedIn(w, in.refs + i, lacks))) {
      report(w, "uninitialised",
             "register " + w.program->registerNames[refs[i]] + " is read but was never written",
             __builtin_ctz(lacks));
      w.written[refs[i]] |= m;
    }
  }
  if (in.flags & FlagMatrix)
    return;
  for (unsigned i = in.uses, n = in.uses + in.defs; i < n; ++i)
    w.fenceMark[refs[i]] = w.wgmmaFences;
  if (w.wgmmaFences)
    for (unsigned i = 0; i < in.uses; ++i)
      w.readMark[refs[i]] = w.wgmmaFences;
  if (missing && in.flags & (FlagMove | FlagBytes | FlagHalves))
    return moveUndefined(w, in, m);
  for (unsigned i = in.uses, n = in.uses + in.defs; i < n; ++i)
    w.written[refs[i]] |= m;
}

/// Of the groups that can run: the least pc, merging groups that stand at the same place.
static int pickGroup(Warp &w) {
  for (size_t i = 0; i < w.groups.size();) {
    Group &g = w.groups[i];
    if (g.join >= 0 && !g.blocked && !g.entered && g.pc == w.joins[size_t(g.join)].pc) {
      arrive(w, i);
      i = 0;
      continue;
    }
    ++i;
  }
  int best = -1;
  for (size_t i = 0; i < w.groups.size(); ++i) {
    Group &g = w.groups[i];
    if (g.blocked && g.seenEvents == w.cluster->events && !g.released)
      continue;
    if (best < 0 || g.spins < w.groups[size_t(best)].spins ||
        (g.spins == w.groups[size_t(best)].spins && g.pc < w.groups[size_t(best)].pc))
      best = int(i);
  }
  if (best < 0)
    return -1;
  for (size_t i = 0; i < w.groups.size();) {
    Group &g = w.groups[i], &b = w.groups[size_t(best)];
    if (int(i) != best && g.pc == b.pc && g.join == b.join && !g.entered && !b.entered &&
        !g.blocked && !b.blocked) {
      b.mask |= g.mask;
      w.groups.erase(w.groups.begin() + long(i));
      best -= int(i) < best;
      continue;
    }
    ++i;
  }
  return best;
}

static void endGroup(Warp &w, size_t index) {
  uint32_t mask = w.groups[index].mask;
  w.groups.erase(w.groups.begin() + long(index));
  exitLanes(w, mask);
}

/// Where the warp's lanes are that do not run now, for a message.
static std::string otherGroups(const Warp &w, size_t running) {
  std::string text;
  for (size_t i = 0; i < w.groups.size(); ++i)
    if (i != running && w.groups[i].pc < w.program->code.size())
      text += "; lanes " + hex(w.groups[i].mask) + (w.groups[i].blocked ? " wait" : " are") +
              " at line " + std::to_string(w.program->code[w.groups[i].pc].line);
  for (const Join &j : w.joins)
    if (j.inUse && j.arrived && j.pc < w.program->code.size())
      text += "; lanes " + hex(j.arrived) + " wait for others before line " +
              std::to_string(w.program->code[j.pc].line);
  return text;
}

bool runWarp(Warp &w, uint32_t budget) {
  const Instr *code = w.program->code.data();
  Cluster &cluster = *w.cluster;
  const bool checks = !w.written.empty();
  uint64_t executed = 0;
  bool ran = false;
  while (budget) {
    int picked = pickGroup(w);
    if (picked < 0)
      break;
    size_t index = size_t(picked);
    w.group = &w.groups[index];
    w.group->blocked = false;
    uint32_t mask = w.group->mask;
    uint32_t stop = w.group->join >= 0 ? w.joins[size_t(w.group->join)].pc : ~0u;
    uint32_t pc = w.group->pc;
    bool leave = false;
    while (budget && !leave) {
      const Instr &in = code[pc];
      w.current = &in;
      uint32_t m = mask;
      if (in.guard >= 0) {
        uint32_t p = w.predicate(in.guard);
        m &= in.guardNegated ? ~p : p;
      }
      --budget;
      ++executed;
      w.time += in.cost;
      if (in.flags & (FlagBranch | FlagExit | FlagIndirect)) {
        if (checks)
          checkRegisters(w, in, mask);
        w.group->pc = pc;
        ran = true;
        if (in.flags & FlagExit) {
          if (m == mask) {
            endGroup(w, index);
            leave = true;
            break;
          }
          if (m) {
            w.group->mask &= ~m;
            mask = w.group->mask;
            exitLanes(w, m);
            w.group = &w.groups[index];
          }
          w.group->pc = pc + 1;
        } else if (in.flags & FlagIndirect) {
          if (m)
            branchIndirect(w, index, in, m);
          else
            w.group->pc = pc + 1;
        } else {
          branch(w, index, in, m);
          // Turn to the other groups after a while of going backwards: they may be waited for.
          if (w.groups.size() > 1 && in.target <= pc && m)
            ++w.groups[index].spins;
        }
        w.group = &w.groups[index];
        pc = w.group->pc;
        if (w.group->mask != mask || pc == stop || w.groups.size() > 1)
          leave = true;
        continue;
      }
      if (!m) {
        if (!w.loads.empty() && !in.defs)
          useLoads(w, in); // its predicate is waited for, whatever it says
        w.group->pc = ++pc;
        ran = true;
        leave = pc == stop;
        continue;
      }
      if (in.flags & FlagAligned && m != w.live && !w.group->entered) {
        if (cluster.openedJoin)
          reportDeadlock(cluster, "lanes of a warp wait for others that get no further");
        report(w, "diverged",
               ".aligned instruction executed by lanes " + hex(m) + " of the warp; lanes " +
                   hex(w.live) + " must execute it together" + otherGroups(w, size_t(index)));
        cluster.failed = true;
        return true;
      }
      if (checks && !w.group->entered)
        checkRegisters(w, in, m);
      w.active = m;
      w.group->pc = pc;
      Step step = in.run(w, in);
      switch (step) {
      case Step::Next:
        if (w.readRecord)
          noteLoad(w, in);
        w.group->pc = ++pc;
        ran = true;
        leave = pc == stop;
        break;
      case Step::Yield:
        w.group->pc = ++pc;
        ++w.group->spins;
        w.instructions += executed;
        cluster.steps += executed;
        return true;
      case Step::Again:
        w.instructions += executed;
        cluster.steps += executed;
        return true;
      case Step::Blocked:
        w.group->blocked = true;
        w.group->released = false;
        w.group->seenEvents = cluster.events;
        leave = true;
        break;
      case Step::Stop:
        w.group->pc = pc;
        endGroup(w, index);
        ran = true;
        leave = true;
        break;
      }
      if (cluster.failed)
        return true;
    }
    if (w.groups.size() > 1)
      for (Group &g : w.groups)
        g.spins = g.spins > 1000000 ? 0 : g.spins;
    if (w.groups.empty())
      break;
  }
  w.instructions += executed;
  cluster.steps += executed;
  return ran;
}

} // namespace sim
} // namespace tileloom
