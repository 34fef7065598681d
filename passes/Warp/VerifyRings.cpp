//===- VerifyRings.cpp - Reject unsafe hand-overs -----------------------------------------===//
//
// In: warp.specialize before or after its tile loops are expanded and stages assigned. Out: the
// same, or an error.
//
// Runs all roles, replicas and both CTAs of a cluster for small values of every scalar that decides
// a trip count, and asks rings::checkCausality whether some interleaving deadlocks, is fooled by
// mbarrier parity or overwrites a slot that is still held. This file only turns the answers into
// messages.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "tileloom/Analysis/RingProgram.h"

#include "mlir/IR/AsmState.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPVERIFYRINGS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

namespace {

/// The operation within which values are numbered.
Operation *namingScope(warp::SpecializeOp op) {
  Operation *scope = op->getParentWithTrait<OpTrait::IsIsolatedFromAbove>();
  return scope ? scope : op.getOperation();
}

class Reporter {
public:
  Reporter(const RingProgram &program, const Valuation &valuation, const Model &model)
      : program(program), valuation(valuation), model(model),
        names(namingScope(program.specialize)) {}

  void report(const TraceFault &fault) {
    InFlightDiagnostic diag = fault.op->emitOpError(fault.message) << scalars();
    if (fault.noteOp)
      diag.attachNote(fault.noteOp->getLoc()) << fault.note;
  }

  void report(const Fault &fault) {
    const Barrier &barrier = model.barriers[fault.barrier];
    Operation *op = operation(fault.at);
    InFlightDiagnostic diag = op->emitOpError();
    std::string state = std::to_string(fault.arrived) + " of " + std::to_string(barrier.expected) +
                        " arrivals there";
    switch (fault.kind) {
    case Fault::None:
      break;
    case Fault::Deadlock:
      diag << "deadlock" << scalars() << ": " << waits(fault.at) << ", " << state;
      missing(diag, fault);
      for (Place place : llvm::ArrayRef(fault.blocked).drop_front())
        diag.attachNote(operation(place)->getLoc()) << waits(place);
      break;
    case Fault::Early:
      diag << "can arrive too early" << scalars() << ": " << agent(fault.at.agent)
           << " can pass on round " << step(fault.at).phase << " of " << ringName(fault.barrier)
           << " before round " << step(fault.at).phase - 1 << " is complete";
      break;
    case Fault::Late:
      diag << "arrives once too often" << scalars() << ": " << agent(fault.at.agent)
           << " passes on round " << step(fault.at).phase << " of " << ringName(fault.barrier)
           << ", which " << barrier.expected << " arrivals have completed already";
      break;
    case Fault::Ahead:
      diag << "runs two phases ahead" << scalars() << ": " << agent(fault.at.agent)
           << " can wait for completion " << step(fault.at).phase << " of "
           << ringName(fault.barrier) << " before completion " << step(fault.at).phase - 1
           << ", which the parity of the barrier does not tell apart";
      break;
    case Fault::Behind:
      diag << "falls two phases behind" << scalars() << ": " << ringName(fault.barrier)
           << " can complete " << step(fault.at).phase + 1 << " times while "
           << agent(fault.at.agent) << " still waits for completion " << step(fault.at).phase;
      break;
    case Fault::Overlap:
      diag << "overwrites a live slot" << scalars() << ": " << agent(fault.at.agent) << " can take "
           << ringName(fault.barrier) << " while " << agent(fault.other.agent) << " holds the slot";
      diag.attachNote(operation(fault.other)->getLoc()) << "held from here";
      break;
    case Fault::Undrained:
      diag << "hands over a slot that is never taken" << scalars() << ": completion "
           << fault.completed << " of " << ringName(fault.barrier)
           << " is not acquired by every replica of role @" << roleOp(fault.role).getSymName();
      break;
    case Fault::Partial:
      diag << "arrival counts differ between paths" << scalars() << ": the program ends with "
           << fault.arrived << " of " << barrier.expected << " arrivals on "
           << ringName(fault.barrier);
      break;
    }
    if (Value ring = program.rings[barrier.ring].value; ring)
      diag.attachNote(ring.getLoc())
          << "the " << (program.rings[barrier.ring].op ? "ring" : "order") << " is here";
  }

private:
  const RingProgram &program;
  const Valuation &valuation;
  const Model &model;
  AsmState names;

  warp::RoleOp roleOp(int32_t role) const {
    warp::RoleOp op = program.roles[role].op;
    return op;
  }
  const Step &step(Place place) const { return model.agents[place.agent].steps[place.step]; }
  Operation *operation(Place place) const { return program.sites[step(place).site]; }

  std::string name(Value value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.printAsOperand(stream, names);
    return text;
  }

  std::string agent(int32_t index) const {
    const Agent &agent = model.agents[index];
    std::string text = "role @" + roleOp(agent.role).getSymName().str();
    if (program.roles[agent.role].replicas > 1)
      text += " replica " + std::to_string(agent.replica);
    if (program.ctas > 1)
      text += " of CTA " + std::to_string(agent.cta);
    return text;
  }

  std::string ringName(int32_t index) {
    const Barrier &barrier = model.barriers[index];
    const RingInfo &ring = program.rings[barrier.ring];
    std::string text = (ring.op ? "ring " : "order ") + name(ring.value);
    if (ring.op)
      text += " slot " + std::to_string(barrier.slot);
    if (program.ctas > 1)
      text += " in CTA " + std::to_string(barrier.cta);
    return text;
  }

  std::string waits(Place place) {
    return agent(place.agent) + " waits for " + ringName(step(place).barrier) + ", completion " +
           std::to_string(step(place).phase);
  }

  /// " with %arg5 = 0, %arg3 = 2", or nothing if no scalar decides.
  std::string scalars() {
    std::string text;
    for (auto [leaf, choice] : llvm::zip(program.inputs.getLeaves(), valuation)) {
      if (leaf.kind == Leaf::Counter || leaf.candidates.size() < 2)
        continue;
      text += text.empty() ? " with " : ", ";
      text += name(leaf.value) + " = " + std::to_string(leaf.candidates[choice]);
      if (leaf.kind != Leaf::Argument)
        text += " first";
    }
    return text;
  }

  /// Where the awaited arrivals would come from.
  void missing(InFlightDiagnostic &diag, const Fault &fault) {
    const Step &wait = step(fault.at);
    for (Place place : fault.blocked) {
      const std::vector<Step> &steps = model.agents[place.agent].steps;
      for (size_t index = place.step + 1; index < steps.size(); ++index)
        if (steps[index].kind == Step::Arrive && steps[index].barrier == wait.barrier &&
            steps[index].phase < wait.phase) {
          diag.attachNote(program.sites[steps[index].site]->getLoc())
              << "released only here, by " << agent(place.agent) << " after what it waits for";
          return;
        }
    }
    for (int32_t role : program.rings[model.barriers[wait.barrier].ring].releasers)
      diag.attachNote(roleOp(role).getLoc())
          << "role @" << roleOp(role).getSymName() << " makes no further release to it";
  }
};

struct VerifyRings : warp::impl::WarpVerifyRingsBase<VerifyRings> {
  using WarpVerifyRingsBase::WarpVerifyRingsBase;

  void runOnOperation() override {
    SmallVector<warp::SpecializeOp> kernels;
    getOperation()->walk([&](warp::SpecializeOp op) { kernels.push_back(op); });
    for (warp::SpecializeOp kernel : kernels)
      if (failed(verify(kernel)))
        return signalPassFailure();
  }

  LogicalResult verify(warp::SpecializeOp kernel) {
    FailureOr<RingProgram> program = RingProgram::get(kernel);
    if (failed(program))
      return failure();
    if (program->inputs.exceedsLimit()) {
      kernel.emitRemark(
          "rings: not checked: with stages assigned, the places of replicas that take alternate "
          "tiles are "
          "known up to twice the depth of a ring only; verify before warp-assign-stage-phase");
      return success();
    }
    bool complete = true, truncated = false, explored = true;
    size_t cases = 0, steps = 0, states = 0;
    for (const Valuation &valuation : program->inputs.enumerate(maxCases, complete)) {
      TraceFault traceFault;
      bool tooLong = false;
      Model model = program->trace(valuation, maxSteps, traceFault, tooLong);
      ++cases;
      truncated |= tooLong;
      if (traceFault.op) {
        Reporter(*program, valuation, model).report(traceFault);
        return failure();
      }
      if (tooLong)
        continue;
      size_t executed = 0;
      Fault fault = checkCausality(model, &executed);
      steps += executed;
      if (!fault && maxStates) {
        Exploration exploration = exploreStates(model, maxStates);
        states += exploration.states;
        explored &= exploration.complete;
        fault = exploration.fault;
      }
      if (fault) {
        Reporter(*program, valuation, model).report(fault);
        return failure();
      }
    }
    if (report) {
      InFlightDiagnostic remark = kernel.emitRemark("rings: ")
                                  << cases << " combinations of scalars, " << steps << " steps";
      if (maxStates)
        remark << ", " << states << " states";
    }
    if (!complete)
      kernel.emitRemark("rings: too many combinations of scalars; each was varied alone");
    if (truncated)
      kernel.emitRemark("rings: some trip counts make more than ")
          << maxSteps.getValue() << " ring operations in a role; these were not checked";
    if (!explored)
      kernel.emitRemark("rings: more than ")
          << maxStates.getValue() << " states; not all were visited";
    return success();
  }
};

} // namespace
