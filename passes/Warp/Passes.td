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

def WarpNarrowTensorMemory : Pass<"warp-narrow-tensor-memory"> {
  let summary = "Read tensor memory in the pieces that are used";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpPlanBuffers : Pass<"warp-plan-buffers"> {
  let summary = "Decide the depths of rings and the registers of roles";
}

def WarpFormTransposes : Pass<"warp-form-transposes"> {
  let summary = "Transpose tiles of 8 bits from shared memory to shared memory";
  let description = [{
    A read of a slot, its transposition and the write to another slot become `nv.local_transpose`; the slot goes back after it.
  }];
  let dependentDialects = ["::tileloom::nv::NVDialect"];
}

def WarpSliceResults : Pass<"warp-slice-results"> {
  let summary = "Work on results in slices of columns";
  let description = [{
    What is computed element by element from the sum of a product, until it is stored or reduced, is computed a slice of columns after the
    other. A row of a slot that all rows are combined with is read in the same slices, and the slot is released after the last one, which
    keeps each slice behind the store before it. Large tiles are stored through pointers in slices, too.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpSliceColumns : Pass<"warp-slice-columns"> {
  let summary = "Work on tiles of tensor memory in slices of columns";
  let description = [{
    Stores to tensor memory, and reductions along the columns of what was read from it, are done a slice of columns after the
    other, with the element-wise code before them. A tile is read in slices if they are read once, or if it does not fit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpExpandChannels : Pass<"warp-expand-channels"> {
  let summary = "Expand channels and what passes through them into ring operations";
  let dependentDialects = ["::tileloom::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def WarpExpandDivisions : Pass<"warp-expand-divisions"> {
  let summary = "Expand divisions that round up or down into plain arithmetic";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpExpandStores : Pass<"warp-expand-stores"> {
  let summary = "Expand warp.store into ring operations, a local store and a TMA store";
  let dependentDialects = ["::tileloom::nv::NVDialect"];
}

def WarpOrderHandovers : Pass<"warp-order-handovers"> {
  let summary = "Give slots back and take slots for results while a product runs";
  let description = [{
    In loops over tiles: a slot that was read into registers goes back behind the products that are issued next, and the first slot for results
    is taken in front of the wait for the product whose result it is for.
  }];
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

//===----------------------------------------------------------------------===//
// The role stage: from sequential roles to scheduled ones
//===----------------------------------------------------------------------===//

def WarpPipelineRole : Pass<"warp-pipeline-role"> {
  let summary = "Let the products of a role's loop overlap its synchronous work";
  let description = [{
    In innermost loops with two or more `nv.wgmma`, each awaited at once, finds an order of the body that keeps the tensor core
    and the other units busy together. A product that needs synchronous work on another one's result runs one iteration late: the
    loop gets a prologue and an epilogue, guarded unless the loop is known to run (`warp.min_trips` on the loop says so).
    In loops of several `nv.tcgen05.mma`, those that wait for no other one are issued an iteration ahead.
    `warp.pipeline = "off"` on a loop keeps it as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"skew", "skew", "bool", "true", "Change loops at all">,
    Option<"report", "report", "bool", "false", "Say in a remark what was compared">];
}

def WarpDeferReductions : Pass<"warp-defer-reductions"> {
  let summary = "Keep a running sum per thread and reduce across lanes after the loop";
  let description = [{
    A carried value that a loop only adds reductions to (and multiplies by factors), or takes the maximum or minimum with, is
    carried as a tile of eight columns (`nv.fold`) and reduced once, after the loop.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def WarpGuardScales : Pass<"warp-guard-scales"> {
  let summary = "Skip the multiplication of a carried tile by factors that are all one";
  let description = [{
    For factors that compare the old and new value of a running maximum or minimum. The same results to the bit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"minRegisters", "min-registers", "int64_t", "48", "Registers of a thread below which a vote does not pay">];
}

def WarpSplitMasks : Pass<"warp-split-masks"> {
  let summary = "Drop masks in the iterations in which they are true";
  let description = [{
    A select between a tile and a constant by comparisons that are affine in positions and in the induction variable (of step 1) is
    dropped where it is always true; else the loop is split in up to three, of which the middle one has no mask.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def WarpBranchMasks : Pass<"warp-branch-masks"> {
  let summary = "Branch around masks of a loop's first iteration where its tile is whole";
  let description = [{
    Before a loop that warp-pipeline-role has made, a select between a tile and a constant by comparisons of positions along one axis
    with scalars is put under a scalar comparison.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def WarpStartAtZero : Pass<"warp-start-at-zero"> {
  let summary = "Start sums at zero that start as zero times a factor";
  let description = [{
    Before a loop that warp-pipeline-role has made, for sums of products with an operand in registers. That a factor may not be finite goes
    into the operand's first columns. The same results to the bit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpStageRole : Pass<"warp-stage-role"> {
  let summary = "Order synchronous work by rows while a product is in flight";
  let description = [{
    Between the wait for one product and the wait for another one in flight: slices the work by the rows that each thread holds,
    lists it so that the unit with most work starts early, and pins the second wait behind the work before it (`nv.wgmma.wait ...
    after`). `fraction` of the last rows' work for that unit comes before the wait. `warp.stage = "off"` on a loop keeps it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"fraction", "fraction", "double", "0.25", "Share of the last row slot's work before the pinned wait">];
}

def WarpSpeculate : Pass<"warp-speculate"> {
  let summary = "Compute a tile with the value of before, again where that has changed";
  let description = [{
    For a value that follows an extremum where that is beyond a threshold, in loops that wait for one replica's chain of work. The same
    results to the bit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def WarpInvariantDivisions : Pass<"warp-invariant-divisions"> {
  let summary = "Divide in loops by multiplying";
  let description = [{
    Unsigned 32-bit divisions and remainders by what a loop does not change become multiplications by a factor that one division before
    the loop gives.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def WarpTakeTurns : Pass<"warp-take-turns"> {
  let summary = "Let replicas issue their products in turns";
  let description = [{
    In the loops of a role with replicas in which products overlap with other work: `warp.await` before the products that an
    iteration issues, `warp.pass` after them.
  }];
  let dependentDialects = ["::tileloom::warp::WarpDialect"];
}

#endif // TILELOOM_PASSES_WARP_PASSES_TD
