//===- RingProgram.h - From a warp.specialize to ring models --------------------*- C++ -*-===//
//
// RingProgram holds what is fixed about the rings of one warp.specialize: who acquires, who
// releases, how many arrivals complete a hand-over, and which scalars decide how often. `trace`
// runs all roles, replicas and CTAs for one choice of these scalars and gives a rings::Model. Used
// by warp-verify-rings.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_RINGPROGRAM_H
#define TILELOOM_ANALYSIS_RINGPROGRAM_H

#include "tileloom/Analysis/RingInputs.h"
#include "tileloom/Analysis/RingModel.h"

#include "dialects/Warp/Warp.h"

namespace tileloom::rings {

/// A ring, or the turns of an order (depth 1, one instance for each replica).
struct RingInfo {
  mlir::Value value;
  mutable warp::RingOp op; ///< null for an order (mutable: MLIR's handles have no const accessors)
  int32_t buffer = -1;
  int32_t depth = 1, instances = 1;
  bool released = false;
  bool shared = false; ///< scope cluster or pair: a release arrives in every CTA that acquires
  bool tensorMemory = false;
  bool storeEngine = false; ///< its slots are counted by the store engine's groups, not an mbarrier
  llvm::SmallVector<int32_t> acquirers, releasers; ///< roles
  int32_t firstBarrier = 0;
};

struct BufferInfo {
  mlir::Value value;
  int32_t depth = 1, instances = 1, firstStorage = 0;
  llvm::SmallVector<int32_t> rings;
};

struct RoleInfo {
  mutable warp::RoleOp op;
  int32_t replicas = 1;
  bool leader = false; ///< runs in CTA 0 of the cluster only
  bool singleThread = false;
  llvm::SmallDenseSet<int32_t>
      alternating; ///< rings whose slots the replicas take by turns of tiles
  bool writesScalars = false; ///< into slots, where other roles may read them
};

/// Why a role cannot be traced: an operation that is wrong for the chosen scalars.
struct TraceFault {
  mlir::Operation *op = nullptr;
  std::string message;
  mlir::Operation *noteOp = nullptr;
  std::string note;
};

/// Operations that use storage of their replica alone, and which: storages are numbered from 0.
using PrivateStorage = llvm::DenseMap<mlir::Operation *, int32_t>;

/// An operation that a trace executes.
struct Relevant {
  mlir::Operation *op;
  ScalarOp scalar;
};

class RingProgram {
public:
  /// Collects rings and roles. Fails with diagnostics if the rings of a buffer cannot form a cycle
  /// with one start.
  static mlir::FailureOr<RingProgram> get(warp::SpecializeOp specialize,
                                          const PrivateStorage &uses = PrivateStorage());

  /// Runs every agent with the given scalars. `fault` is set if a role's own order is wrong;
  /// `truncated` if an agent makes more than `maxSteps` steps.
  Model trace(const Valuation &valuation, size_t maxSteps, TraceFault &fault,
              bool &truncated) const;

  warp::SpecializeOp specialize;
  int32_t ctas = 1;
  llvm::SmallVector<RoleInfo> roles;
  llvm::SmallVector<RingInfo> rings;
  llvm::SmallVector<BufferInfo> buffers;
  Inputs inputs;
  /// Stages are assigned: the positions of replicas that take alternate tiles are known up to 2 x
  /// depth only.
  bool placed = false;
  /// The operation of each Step::site.
  std::vector<mlir::Operation *> sites;
  llvm::DenseMap<mlir::Operation *, int32_t> siteOf;
  llvm::DenseMap<mlir::Value, int32_t> ringOf;
  /// For operations that touch a slot through a view: the tokens that gave the views.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> touches;
  llvm::SmallVector<mlir::Operation *> touchers; ///< the keys of `touches`, in order
  PrivateStorage privateStorage;
  int32_t slots = 0, mostReplicas = 1; ///< storages of rings; the most replicas of a role
  /// The number in a model of private storage.
  int32_t storageOf(int32_t number, int32_t replica, int32_t cta) const {
    return slots + (number * mostReplicas + replica) * ctas + cta;
  }
  /// The operations of each block that tracing has to look at.
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<Relevant, 4>> relevant;
  /// Their operands that are constants: a program is traced once for each combination of scalars.
  llvm::DenseMap<mlir::Value, int64_t> constants;

  int32_t barrier(int32_t ring, int32_t cta, int32_t instance, int32_t slot) const {
    const RingInfo &info = rings[ring];
    return info.firstBarrier + (cta * info.instances + instance) * info.depth + slot;
  }
  /// The CTAs in which a release to the ring arrives when the releasing agent runs in `cta`.
  llvm::SmallVector<int32_t, 2> targets(int32_t ring, int32_t cta) const;

private:
  mlir::LogicalResult collect();
  mlir::FailureOr<RingInfo> ringInfo(mlir::Operation *op, warp::RoleOp role);
  void placeSlots();
  void collectRole(int32_t role);
  mlir::LogicalResult checkStructure() const;
  mlir::LogicalResult checkWholeSlot(mlir::Operation *op, int32_t ring) const;
  void findRelevant();
  int32_t expectedArrivals(int32_t ring) const;
};

} // namespace tileloom::rings

#endif // TILELOOM_ANALYSIS_RINGPROGRAM_H
