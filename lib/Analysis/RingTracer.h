//===- RingTracer.h - Running one agent on chosen scalars -----------------------*- C++ -*-===//
//
// The interpreter behind RingProgram::trace: one Tracer runs one replica of a role in one CTA and
// appends its steps and tenures to a model.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_LIB_ANALYSIS_RINGTRACER_H
#define TILELOOM_LIB_ANALYSIS_RINGTRACER_H

#include "tileloom/Analysis/RingProgram.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>
#include <tuple>

namespace tileloom::rings {

/// Scalars left in slots by other agents: (ring of the buffer, instance, position, view index) ->
/// value.
using SlotScalars = std::map<std::tuple<int32_t, int32_t, int64_t, int64_t>, int64_t>;

/// One slot between its acquire and its release. Values name tokens; a name moves with what loops
/// carry and branches yield, so several tokens of one acquire may be held at once.
struct Token {
  int32_t ring = -1;
  int64_t position = 0;
  size_t tenure = 0;
  bool released = false, filled = false, drained = true;
  bool written = false; ///< by ordinary stores
  int64_t lastRead = 0; ///< ordinal of the last nv.wgmma that reads the slot
  mlir::Operation *acquire = nullptr, *release = nullptr, *user = nullptr;
  mlir::Operation *multicast = nullptr; ///< a load that fills the slot in all CTAs
  mlir::Block *scope = nullptr;         ///< the outermost block that has a name for it
};

class Tracer {
public:
  Tracer(const RingProgram &program, const Valuation &valuation, Model &model, SlotScalars &scalars,
         size_t maxSteps, TraceFault &fault)
      : program(program), valuation(valuation), model(model), scalars(scalars), maxSteps(maxSteps),
        fault(fault) {}

  /// Returns whether the agent ran to its end.
  bool run(int32_t roleIndex, int32_t replicaIndex, int32_t ctaIndex);

  bool truncated = false;

private:
  const RingProgram &program;
  const Valuation &valuation;
  Model &model;
  SlotScalars &scalars;
  size_t maxSteps;
  TraceFault &fault;

  const RoleInfo *role = nullptr;
  int32_t replica = 0, cta = 0, agent = 0;
  bool skipping = false; ///< in a tile that another replica takes
  llvm::DenseMap<mlir::Value, int64_t> env;
  std::map<int64_t, Token> tokens; ///< by number; those whose names are gone are erased
  llvm::DenseMap<mlir::Value, int64_t> tokenOf;
  int64_t acquired = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> executions;
  /// Per ring: position of the next acquire, passes so far, position after the last bulk_read.
  std::vector<int64_t> next, passed, stored;
  int64_t issued = 0, retired = 0;   ///< nv.wgmma
  int64_t tensorWaits = 0; ///< steps up to the last wait for a slot in tensor memory, which a fence follows
  size_t operations = 0;

  // RingTraceFlow.cpp: control flow and scalars.
  bool runBlock(mlir::Block &block);
  /// Counts an operation; false once there have been too many.
  bool tick();
  bool execute(mlir::scf::ForOp loop);
  bool execute(mlir::scf::WhileOp loop);
  bool execute(mlir::scf::IfOp branch);
  bool execute(warp::ForEachTileOp loop);
  /// Checks that what loses its last name at the end of a block has been released.
  bool leave(mlir::Block &block);
  /// Integer arithmetic.
  void compute(mlir::Operation *op, ScalarOp scalar);
  /// Scalars in slots, and values that the valuation chooses.
  void executeScalar(mlir::Operation *op);
  void assign(mlir::ValueRange to, mlir::ValueRange from);
  std::optional<int64_t> lookup(mlir::Value value);
  Token *lookupToken(mlir::Value value);
  /// The place in a slot that a scalar access names, if it is a slot.
  std::optional<SlotScalars::key_type> slotScalar(mlir::Operation *op, mlir::Value index);

  // RingTrace.cpp: ring operations.
  bool execute(mlir::Operation *op);
  bool execute(warp::AcquireOp op);
  bool execute(warp::ReleaseOp op);
  /// What reads or fills slots asynchronously.
  bool executeHardware(mlir::Operation *op);
  bool take(Token &token, mlir::Operation *op);
  bool give(Token &token, int32_t to, warp::ReleaseKind kind, mlir::Operation *op);
  Step &step(Step::Kind kind, int32_t barrier, int64_t phase, bool whole, mlir::Operation *op);
  int32_t instance(const RingInfo &ring) const;
  int32_t storage(const RingInfo &ring, int32_t inCta, int64_t slot) const;
  bool fail(mlir::Operation *op, const llvm::Twine &message, mlir::Operation *noteOp = nullptr,
            llvm::StringRef note = "");
};

} // namespace tileloom::rings

#endif // TILELOOM_LIB_ANALYSIS_RINGTRACER_H
