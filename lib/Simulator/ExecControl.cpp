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
  return Step::Next;
}

} // namespace

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
