//===- Tile.td - The tile dialect: what a kernel computes ------------*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_TILE_TD
#define TILELOOM_DIALECTS_TILE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tileloom::tile";
  let summary = "What one block of work computes, without saying who does it.";
  let description = [{
    Values are layout-free tensors; a kernel is a `func.func` with the unit attribute `tile.kernel`. Control flow is `scf`, scalars and
    element-wise operations are `arith` and `math`. See Rationale.md.

    Attributes of kernel arguments: `tile.name` (a string), `tile.pointer` (the element type that an i64 points to), `tile.divisibility`
    (the argument's value is a multiple of it). `tile.schedule` on a kernel says how to map it to the machine.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
}

def Tile_DescType : TypeDef<Tile_Dialect, "Desc"> {
  let mnemonic = "desc";
  let summary = "A global tensor seen through boxes of one shape";
  let description = [{
    A kernel argument of this type stands for a whole tensor in global memory (the host passes pointer, shape and
    strides) that is read or written in boxes of the given shape. Rank 1 to 5; the last dimension is contiguous.
    How a box maps to hardware copies (tensor map, swizzle, several copies of at most 256 x 128 bytes) is decided by
    the compiler once shared memory layouts are known.

    Example: `!tile.desc<128x64xbf16>`, `!tile.desc<1x128x1x64xbf16>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_ScheduleAttr : AttrDef<Tile_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "How a kernel is mapped to the machine";
  let description = [{
    Everything is optional; what is absent is decided by the compiler.

    | field | meaning |
    |---|---|
    | `replicas = 2` | math warpgroups that share the work |
    | `use = "cooperative"` or `"pingpong"` | whether replicas split each tile's rows, or take tiles in turn |
    | `stages = 4` | depth of the rings that feed the innermost loops |
    | `registers = 232` | registers per thread of the math role (the load role gets the rest) |
    | `raster = 16` | rows of tiles that are walked together, for locality in L2 |
    | `order = "reverse"` | the last tile of the innermost extent first |
    | `persistent = true` | as many CTAs as the machine holds; a loop over tiles always is |
    | `specialize = "auto"`, `"on"`, `"off"` | roles where tiles are loaded through descriptors; `on` and `off` insist |
    | `warps = 4` | warps of a kernel without roles |
    | `skew = "auto"`, `"off"` | overlap of dependent products across iterations |
    | `fraction = 0.25` | share of the last rows' work that goes before the wait for a product in flight |
    | `guard = "auto"`, `"off"` | branch around scaling by one |
    | `epilogue = 128` | columns of a piece that a result is staged and stored in |
    | `pending = 1` | products left in flight at a wait in the main loop |
    | `split = 4`; `cluster = 2`, `multicast = "rows"` | slices of the loop that sums products, each an item of work of its own; CTAs (1, 2, 4, 8) that load for each other what a row of tiles (or `"columns"`) has in common |

    Example: `tile.schedule = #tile.schedule<replicas = 2, use = "cooperative", stages = 4>`.
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$fields);
  let extraClassDeclaration = [{
    /// The value of an integer or word field, if it is given.
    std::optional<int64_t> integer(::llvm::StringRef name) const;
    /// Whether replicas that share a tile have columns of it, not rows.
    bool dividesColumns() const;
    std::optional<::llvm::StringRef> word(::llvm::StringRef name) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // TILELOOM_DIALECTS_TILE_TD
