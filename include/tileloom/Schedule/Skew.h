//===- Skew.h - Which iteration's work meets in one turn of a loop ---------------*- C++ -*-===//
//
// A plan for a role's loop: what runs one iteration late (stage 1), and in which order the body
// then works, so that products are in flight while other work runs.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_SKEW_H
#define TILELOOM_SCHEDULE_SKEW_H

#include "tileloom/Schedule/RoleLoop.h"

namespace tileloom::schedule {

/// One step of a schedule: a node at work for the iteration of its stage.
struct Step {
  unsigned node;
  unsigned stage;
  unsigned pending = 0; // of a retire: products issued since
};

struct SkewOptions {
  int64_t replicas = 1;    // sharing the units of the SM
  int64_t threads = 128;   // of one replica
  int64_t registers = 255; // of each thread
  bool late = false;       // something late if that is legal, whatever the model says
};

struct SkewPlan {
  llvm::SmallVector<unsigned> stages; // of each node
  llvm::SmallVector<Step> body, prologue, epilogue;
  double interval = 0; // clocks an iteration, by the model
  double chain = 0;    // of them, what one replica alone takes
  double bound = 0;    // and what the busiest unit does for all replicas
  int64_t registers = 0;
  bool skewed() const { return !epilogue.empty(); }
};

/// The best plan by the model, unskewed if nothing is gained. `why` says what was compared.
SkewPlan planSkew(const RoleLoop &graph, const SkewOptions &options, std::string &why);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_SKEW_H
