//===- Passes.td - Passes of the tile stage --------------------------*- tablegen -*-===//

#ifndef TILELOOM_PASSES_TILE_PASSES_TD
#define TILELOOM_PASSES_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileAssignSchedule : Pass<"tile-assign-schedule"> {
  let summary = "Decide what a kernel's #tile.schedule leaves open";
  let description = [{
    From the shapes of the products: how many math warpgroups share a tile, the order of tiles. What is written is kept; what
    contradicts the program is an error.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "Target, such as sm_90a">];
}

def TileCheckCopies : Pass<"tile-check-copies"> {
  let summary = "Refuse boxes that begin where no hardware copy can";
  let description = [{
    A box begins at a multiple of 16 bytes of its row, and a stored one at no negative coordinate. Coordinates that are not known when the
    program is compiled pass.
  }];
}

def TileExpandScaledProducts : Pass<"tile-expand-scaled-products"> {
  let summary = "Make products with block scales plain ones of scaled operands";
  let description = [{
    An operand of `dot_scaled` is widened to f32, multiplied by the powers of two of its blocks, and rounded to bf16; the product is a `dot`. The
    scaled products of Blackwell's tensor core are a matter of the warp level.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileNormalizeShapes : Pass<"tile-normalize-shapes"> {
  let summary = "Move dimensions of extent one out of element-wise code, and name what is left in nv terms";
  let description = [{
    `expand_dims` sinks below element-wise operations until it meets the `broadcast` that uses it, so that values of one dimension stay
    values of one dimension.
  }];
  let dependentDialects = ["::tileloom::nv::NVDialect"];
}

def TileFoldZeroInit : Pass<"tile-fold-zero-init"> {
  let summary = "Start sums of products undefined instead of at zero";
  let description = [{
    A loop that carries the sum of a product from zero gives its first iteration `use_acc` = false. Where the loop may run not at all, it
    runs once at a place outside of the tensors that it loads, which reads as zero: a path around the loop would make all registers
    of the sum meet zeros.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::ub::UBDialect"];
}

def TileJoinProducts : Pass<"tile-join-products"> {
  let summary = "Make one product of products that share an operand";
  let description = [{
    Two sums that a loop carries, of products with the same operand A, become one sum of a product whose operand B is both tiles, one below
    the other in shared memory. The tensor core reads A once.
  }];
  let dependentDialects = ["::tileloom::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def TileSwapOperands : Pass<"tile-swap-operands"> {
  let summary = "Make products of rows that the tensor core does not take transposed ones";
  let description = [{
    A sum that a loop carries from zero, whose rows are no multiple of what the tensor core takes and whose columns are, becomes the transposed
    sum of the operands transposed and exchanged. After the loop it is transposed back: the same registers under other names.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "Target, such as sm_90a">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TilePlaceWorkspaces : Pass<"tile-place-workspaces"> {
  let summary = "Make workspaces arguments that the runtime gives";
  let description = [{
    Each `tile.workspace` becomes an argument of its kernel with its size as a recipe expression.
  }];
}

def TileSplitLoops : Pass<"tile-split-loops"> {
  let summary = "Make slices of a loop that sums products items of work of their own";
  let description = [{
    Where the schedule has `split`: the items of a tile leave their sums in a workspace, and the one that arrives last adds them in the
    order of the slices and goes on. For few tiles and long loops.
  }];
  let dependentDialects = ["::tileloom::nv::NVDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileFormClusters : Pass<"tile-form-clusters"> {
  let summary = "Let CTAs with neighbouring tiles load for each other what these share";
  let description = [{
    Where the schedule has `cluster`: an item of work becomes `cluster` tiles that differ in one extent, one for each CTA. What they load
    alike in loops is marked `tile.multicast`. A CTA beyond the last tile takes part and stores nothing.
  }];
  let dependentDialects = ["::tileloom::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def TileLowerToNV : Pass<"tile-lower-to-nv"> {
  let summary = "What is left of tile operations in roles to nv operations";
  let dependentDialects = ["::tileloom::nv::NVDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif // TILELOOM_PASSES_TILE_PASSES_TD
