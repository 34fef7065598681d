//===- Passes.td - Passes of the warp stage --------------------------*- tablegen -*-===//

#ifndef TILELOOM_PASSES_WARP_PASSES_TD
#define TILELOOM_PASSES_WARP_PASSES_TD

include "mlir/Pass/PassBase.td"

def WarpPartition : Pass<"warp-partition"> {
  let summary = "Decide which role performs each operation of a tile kernel";
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "Target, such as sm_90a">];
}

def WarpInsertRings : Pass<"warp-insert-rings"> {
  let summary = "Put tiles that cross roles into buffers, and products on the tensor core";
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "Target, such as sm_90a">];
  let dependentDialects = ["::tileloom::nv::NVDialect", "::tileloom::warp::WarpDialect", "::mlir::arith::ArithDialect"];
}

def WarpSplitRoles : Pass<"warp-split-roles"> {
  let summary = "Split a partitioned kernel into one program for each role";
  let dependentDialects = ["::tileloom::warp::WarpDialect", "::mlir::arith::ArithDialect"];
}

def WarpSplitReplicas : Pass<"warp-split-replicas"> {
  let summary = "Share the work of a role among its replicas";
  let dependentDialects = ["::tileloom::warp::WarpDialect", "::mlir::arith::ArithDialect"];
}

def WarpPlanBuffers : Pass<"warp-plan-buffers"> {
  let summary = "Decide the depths of rings and the registers of roles";
}

def WarpExpandStores : Pass<"warp-expand-stores"> {
  let summary = "Expand warp.store into ring operations, a local store and a TMA store";
  let dependentDialects = ["::tileloom::nv::NVDialect"];
}

def WarpExpandTileLoops : Pass<"warp-expand-tile-loops"> {
  let summary = "Expand warp.for_each_tile into scf.for over the tiles of a CTA";
  let description = [{
    Where the replicas of a role take alternate tiles, adds `warp.skip` for the ring slots of the tiles that a replica
    leaves out.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::NVVM::NVVMDialect"];
}

def WarpVerifyRings : Pass<"warp-verify-rings"> {
  let summary = "Reject programs that can deadlock, run two phases ahead or overwrite a live slot";
  let description = [{
    Runs all roles, replicas and both CTAs of a cluster for small values of every scalar that decides a trip count:
    0, 1, 2, depth, depth + 1 and 2 depth + 1 iterations, 0 to 3 tiles. For each choice every interleaving is decided
    at once: a step can come before another one unless it is in its causal past. `max-states` also visits the states
    one after another, as a second opinion.
  }];
  let options = [
    Option<"maxCases", "max-cases", "unsigned", "512", "Combinations of scalars to try before varying each alone">,
    Option<"maxSteps", "max-steps", "unsigned", "20000", "Ring operations of one role beyond which a combination is left out">,
    Option<"maxStates", "max-states", "unsigned", "0", "States to visit for each combination (0: none)">,
    Option<"report", "report", "bool", "false", "Say in a remark what was checked">];
}

def WarpDrainRings : Pass<"warp-drain-rings"> {
  let summary = "Wait at the end of a role for arrivals that would otherwise outlive the CTA";
}

def WarpAssignStagePhase : Pass<"warp-assign-stage-phase"> {
  let summary = "Give every acquire its stage and phase, carried by each role through its control flow";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif // TILELOOM_PASSES_WARP_PASSES_TD
