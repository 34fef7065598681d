//===- ExecControl.cpp - trap, nanosleep, hints (PTX ISA 9.7.19) ----------===//
//
// Instructions that stop or slow a thread, setmaxnreg with its register pool, griddepcontrol.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"

namespace tileloom {
namespace sim {
namespace {

Step trap(Warp &w, const Instr &) {
  report(w, "trap", "the kernel executed trap", int(w.firstLane()));
  w.cluster->failed = true;
  return Step::Stop;
}
Step nothing(Warp &, const Instr &) { return Step::Next; }
Step sleep(Warp &w, const Instr &in) {
  w.time += w.reg<uint32_t>(in.a)[w.firstLane()];
  return Step::Yield;
}

/// PTX ISA 9.7.19.5. The pool of a CTA is what the launch allotted: registers given up by .dec are
/// taken by .inc, which waits for them.
/// All warps of a warpgroup execute the same setmaxnreg, and none the next one before all have (PTX
/// ISA 9.7.19.5). Triton's kernels run, in which warps have the same one in different places, and go
/// on to the next at their own pace.
void noteRegisterChange(Warp &w, const Instr &in) {
  w.registerChanges.push_back(&in);
  if (!w.cluster->checking(CheckBarriers))
    return;
  size_t number = w.registerChanges.size(), first = w.id & ~3u;
  for (size_t i = first; i < first + 4 && i < w.cta->warps.size(); ++i) {
    const Warp &other = *w.cta->warps[i];
    std::string name = "warp " + std::to_string(other.id) + " of the warpgroup ";
    const Instr *its =
        other.registerChanges.size() >= number ? other.registerChanges[number - 1] : nullptr;
    if (its && (its->imm != in.imm || its->sub != in.sub))
      report(w, "setmaxnreg",
             name + "has executed the setmaxnreg at line " +
                 std::to_string(its->line) + " instead; all four must execute the same");
    else if (w.cluster->checking(CheckStrict) && other.registerChanges.size() + 1 < number)
      report(w, "setmaxnreg", name + "has not executed the setmaxnreg before this one yet");
  }
}

Step setMaxRegisters(Warp &w, const Instr &in) {
  uint32_t want = uint32_t(in.imm), have = w.maxRegisters;
  uint32_t &pool = w.cta->registerPool;
  if (in.sub) { // inc
    if (want < have) {
      report(w, "setmaxnreg",
             "setmaxnreg.inc to " + std::to_string(want) + " registers, the warp has " +
                 std::to_string(have));
      w.maxRegisters = want;
      return Step::Next;
    }
    uint32_t need = (want - have) * 32;
    if (need > pool) {
      w.block(WaitInfo::Registers, 0, want);
      return Step::Blocked;
    }
    pool -= need;
    finishWait(w, w.time);
  } else {
    if (want > have) {
      report(w, "setmaxnreg",
             "setmaxnreg.dec to " + std::to_string(want) + " registers, the warp has " +
                 std::to_string(have));
      return Step::Next;
    }
    pool += (have - want) * 32;
    madeEvent(*w.cluster);
  }
  w.maxRegisters = want;
  noteRegisterChange(w, in);
  return Step::Next;
}

} // namespace

void checkRegisterChanges(Cta &cta) {
  if (!cta.cluster->checking(CheckBarriers))
    return;
  for (size_t i = 0; i < cta.warps.size(); ++i) {
    const Warp &w = *cta.warps[i], &first = *cta.warps[i & ~size_t(3)];
    size_t mine = w.registerChanges.size(), its = first.registerChanges.size();
    if (mine == its)
      continue;
    Finding f = findingAt(w, "setmaxnreg",
                          "warps " + std::to_string(first.id) + " and " + std::to_string(w.id) +
                              " of a warpgroup have executed " + std::to_string(its) + " and " +
                              std::to_string(mine) + " setmaxnregs; all four must execute the same");
    moveTo(f, *w.program, (mine > its ? w : first).registerChanges[std::min(mine, its)]->line);
    cta.cluster->report(f);
  }
}

void registerControl(DecodeTable &t) {
  t["trap"] = [](Decoder &d) { d.emit(trap, FlagTrap); };
  t["brkpt"] = [](Decoder &d) { d.emit(trap, FlagTrap); };
  t["pmevent"] = [](Decoder &d) {
    d.take("mask");
    d.emit(nothing);
  };
  t["nanosleep"] = [](Decoder &d) {
    d.takeType();
    d.needOperands(1, 1);
    d.in.a = d.use(d.operand(0), Ty::U32);
    d.emit(sleep);
  };
  t["griddepcontrol"] = [](Decoder &d) {
    // Launches are not chained here: all prerequisite grids have finished.
    if (!d.take("wait") && !d.take("launch_dependents"))
      d.fail("griddepcontrol needs .wait or .launch_dependents");
    d.emit(nothing);
  };
  t["setmaxnreg"] = [](Decoder &d) {
    int which = d.takeOneOf({"dec", "inc"});
    d.take("sync");
    d.take("aligned");
    d.takeType();
    d.needOperands(1, 1);
    d.in.imm = d.needImmediate(d.operand(0), "the register count");
    if (which < 0 || d.in.imm < 24 || d.in.imm > 256 || d.in.imm % 8)
      d.fail("setmaxnreg needs a multiple of 8 in 24 to 256");
    d.in.sub = uint32_t(which);
    d.program.usesSetMaxNreg = true;
    d.emit(setMaxRegisters, FlagAligned);
  };
}

} // namespace sim
} // namespace tileloom
