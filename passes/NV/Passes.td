//===- Passes.td - Passes of the nv stage ----------------------------*- tablegen -*-===//

#ifndef TILELOOM_PASSES_NV_PASSES_TD
#define TILELOOM_PASSES_NV_PASSES_TD

include "mlir/Pass/PassBase.td"

def NVResolveBoxes : Pass<"nv-resolve-boxes"> {
  let summary = "Give every shape of box through which a tensor is seen an argument of its own";
}

def NVCheckTarget : Pass<"nv-check-target"> {
  let summary = "Refuse mechanisms that the chip does not have, and scopes that do not fit the cluster";
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "Target, such as sm_100a">];
}

def NVAssignTensorMemory : Pass<"nv-assign-tensor-memory"> {
  let summary = "Give every tile in tensor memory its form, from the products that use it";
}

def NVMarkEqual : Pass<"nv-mark-equal"> {
  let summary = "Mark masks and offsets whose elements are known to be equal in groups";
  let description = [{
    `nv.equal` on an element-wise integer operation says that its elements are equal within aligned groups of that many along each
    dimension. A thread computes one of each group that it holds.
  }];
}

def NVAssignLayouts : Pass<"nv-assign-layouts"> {
  let summary = "Give every tile its layout, in registers and in shared memory";
  let description = [{
    Anchors are the operations whose hardware fixes a layout (wgmma accumulators and A operands, tensor memory loads); layouts
    flow from them through element-wise code, slices, reductions and loops. Where a value is needed in another layout than it has,
    constants and splats are made again and other values get an `nv.convert_layout`. Shared memory tiles get the widest
    swizzle that their rows allow.
  }];
}

def NVInsertFences : Pass<"nv-insert-fences"> {
  let summary = "Order ordinary shared memory writes before the asynchronous readers that follow";
  let description = [{
    A tile that a role writes with ordinary stores and then hands to a TMA store, an MMA, or another role that reads it
    asynchronously needs a proxy fence in each writing thread, then a barrier of those threads.
  }];
}

def NVInsertTcgen05Fences : Pass<"nv-insert-tcgen05-fences"> {
  let summary = "Add the waits and fences that order tensor memory accesses";
  let description = [{
    Reads and writes of tensor memory are asynchronous, also for the thread that issues them, and are ordered with other
    threads only through fences. Both follow from which slots a role's operations touch.
  }];
}

def NVFindLifetimes : Pass<"nv-find-lifetimes"> {
  let summary = "Find storage that is never used at the same time";
  let description = [{
    Roles run side by side, so that two buffers are apart only if rings order every use of one before every use of the other, for
    every interleaving, and all threads concerned know it. `nv.apart` on the function has pairs of `nv.storage` numbers.
  }];
}

def NVLowerRings : Pass<"nv-lower-rings"> {
  let summary = "Lower buffers, rings and orders to allocations and mbarriers";
  let description = [{
    One mbarrier for each slot of each ring. Loads into a slot complete on the barrier of the ring that the slot is
    released to, with the bytes of all its loads summed. A ring whose only releases are `bulk_read` by the role that also
    acquires it needs no mbarrier: the store engine's own groups count its slots. The ring's scope decides where a
    release arrives and how many arrivals complete a hand-over.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def NVAssignScratch : Pass<"nv-assign-scratch"> {
  let summary = "Give reductions and conversions that cross warps their shared memory";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NVAllocateTensorMemory : Pass<"nv-allocate-tensor-memory"> {
  let summary = "Place buffers in the columns of tensor memory";
}

def NVAllocateShared : Pass<"nv-allocate-shared"> {
  let summary = "Place allocations in dynamic shared memory";
  let options = [Option<"limit", "limit", "int64_t", "schedule::sharedLimit", "Bytes of shared memory that a CTA can have">];
}

def NVAssignWarps : Pass<"nv-assign-warps"> {
  let summary = "Give roles their warps and check register budgets";
  let description = [{
    Roles of whole warpgroups come first and start at warpgroup boundaries. With register budgets every warpgroup has one
    budget, and the budgets fit in the pool that the launch gives (65536 / threads, rounded down to 8, for each thread);
    without, the registers of a thread are capped so that the launch fits each sub-partition.
  }];
}

def NVPlanRegisters : Pass<"nv-plan-registers"> {
  let summary = "Cap the registers of plain kernels so that several CTAs run on an SM, and load early with those that remain";
  let description = [{
    The cap is `nv.wanted_registers`. It is never below what the program is estimated to need (tiles that live across accesses and
    reductions), and left alone where not even two CTAs would fit.
  }];
}

def NVHoistDescriptors : Pass<"nv-hoist-descriptors"> {
  let summary = "Turn descriptors into tensor map parameters and write the launch recipe";
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "Target, such as sm_100a">];
}

def NVWriteReport : Pass<"nv-write-report"> {
  let summary = "Record roles, rings, memory and products for the compilation report";
}

#endif // TILELOOM_PASSES_NV_PASSES_TD
