//===- TileOps.td - The nv dialect: register tiles                *- tablegen -*-===//
//
// Operations on tiles in registers: parts, reductions, broadcasts, layouts, products of a warp.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_NV_TILE_OPS_TD
#define TILELOOM_DIALECTS_NV_TILE_OPS_TD

def NV_ExtractOp : NV_Op<"extract", [Pure]> {
  let summary = "A part of a register tile";
  let description = [{
    The sub-tile of the result's shape at the static `offsets`; it must consist of whole registers of every thread.

    ```mlir
    %p = nv.extract %acc[0, 64] : tensor<64x256xf32> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, DenseI64ArrayAttr:$offsets);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `` $offsets attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NV_ConcatOp : NV_Op<"concat", [Pure]> {
  let summary = "Register tiles side by side";
  let description = [{
    The inverse of `nv.extract`: tiles put together along dimension `dim`; they agree in the other extents.

    ```mlir
    %t = nv.concat %a, %b dim(1) : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs `dim` `(` $dim `)` attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def NV_RowSlotOp : NV_Op<"row_slot", [Pure]> {
  let summary = "One of the row groups that each thread holds";
  let description = [{
    With wgmma accumulators a thread holds two rows of each block of 16; slot 0 is the tile of the rows whose bit 3 is clear,
    slot 1 of the others. Lets element-wise work proceed row by row, which keeps the exponential unit busy while the rest waits.

    ```mlir
    %s0 = nv.row_slot %s 0 of 2 : tensor<64x128xf32> -> tensor<32x128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$slot, I64Attr:$count);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source $slot `of` $count attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NV_JoinRowSlotsOp : NV_Op<"join_row_slots", [Pure]> {
  let summary = "Puts the row groups of a tile together again";
  let description = [{
    ```mlir
    %s = nv.join_row_slots %s0, %s1 : tensor<32x128xf32>, tensor<32x128xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def NV_ReduceOp : NV_Op<"reduce", [Pure]> {
  let summary = "Combines the elements along one dimension";
  let description = [{
    In the thread first (in `chains` independent chains), then across lanes by shuffles, then across warps through `scratch` (given by
    `nv-assign-scratch` where warps share a result). A tile of rank 1 gives a scalar, which all threads of the role have. `max` and `min` compare
    integers as signed and pass over NaN.

    ```mlir
    %m = nv.reduce max %s dim(1) : tensor<64x128xf32> -> tensor<64xf32>
    %t = nv.reduce add %v dim(0) : tensor<1024xf32> -> f32
    ```
  }];
  let arguments = (ins NV_ReduceKind:$kind, AnyRankedTensor:$source, I64Attr:$dim,
                       DefaultValuedAttr<I64Attr, "2">:$chains, Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $kind $source `dim` `(` $dim `)` (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NV_ScanOp : NV_Op<"scan", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "Running sums, maxima or minima along one dimension";
  let description = [{
    Element i of the result combines elements 0 … i of the source along `dim`; with `reverse` elements i … end.

    ```mlir
    %s = nv.scan add %v dim(0) : tensor<1024xi32>
    ```
  }];
  let arguments = (ins NV_ReduceKind:$kind, AnyRankedTensor:$source, I64Attr:$dim, UnitAttr:$reverse,
                       Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $source `dim` `(` $dim `)` (`reverse` $reverse^)? (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict
    `:` type($source)
  }];
  let hasVerifier = 1;
}

def NV_FoldOp : NV_Op<"fold", [Pure]> {
  let summary = "Combines the blocks of columns of a tile";
  let description = [{
    result[i, c] combines source[i, c + j * n] over all j, for a result of n columns. With n the columns that a warp covers side by side
    (8 for wgmma accumulators) this needs no shuffles: a running row sum kept in this form is reduced across lanes once, at the end.

    ```mlir
    %s = nv.fold add %p : tensor<32x128xf32> -> tensor<32x8xf32>
    ```
  }];
  let arguments = (ins NV_ReduceKind:$kind, AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NV_BroadcastOp : NV_Op<"broadcast", [Pure]> {
  let summary = "Repeats a tile along a new dimension";
  let description = [{
    ```mlir
    %b = nv.broadcast %m dim(1) : tensor<64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `dim` `(` $dim `)` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NV_SplatOp : NV_Op<"splat", [Pure]> {
  let summary = "A tile of one value";
  let description = [{
    ```mlir
    %t = nv.splat %x : f32 -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyType:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}

def NV_IndexOp : NV_Op<"index", [Pure]> {
  let summary = "The position of each element along one dimension";
  let description = [{
    ```mlir
    %c = nv.index dim(1) : tensor<64x128xi32>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`dim` `(` $dim `)` attr-dict `:` type($result)";
}

def NV_ConvertLayoutOp : NV_Op<"convert_layout", [Pure, AllShapesMatch<["source", "result"]>,
                                                  AllElementTypesMatch<["source", "result"]>]> {
  let summary = "The same tile, spread over the threads in another way";
  let description = [{
    By renaming registers, by shuffles, or through `scratch` (given by `nv-assign-scratch` where elements change warps).

    ```mlir
    %sum = nv.convert_layout %acc : tensor<64x64xf32> -> tensor<64x64xf32, #nv.wgmma_acc<>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source), [{
    build($_builder, $_state, result, source, ::mlir::Value());
  }]>];
}

def NV_TransOp : NV_Op<"trans", [Pure]> {
  let summary = "A tile with its dimensions in another order";
  let description = [{
    Dimension i of the result is dimension order[i] of the source. `scratch` as in `nv.convert_layout`.

    ```mlir
    %t = nv.trans %s [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, DenseI64ArrayAttr:$order, Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source $order (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NV_ReshapeOp : NV_Op<"reshape", [Pure]> {
  let summary = "The elements of a tile, in row-major order, as a tile of another shape";
  let description = [{
    ```mlir
    %t = nv.reshape %s : tensor<64x128xf32> -> tensor<8192xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NV_TakeOp : NV_Op<"take", [Pure]> {
  let summary = "Elements of a tile at computed places along one dimension";
  let description = [{
    As `tile.take`. The source goes through `scratch` (from `nv-assign-scratch`), from which each thread reads the elements of its indices.

    ```mlir
    %r = nv.take %x[%at] dim(1) : tensor<64x128xf32>, tensor<64x16xi32> -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$indices, I64Attr:$dim, Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` `dim` `(` $dim `)` (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict
    `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NV_HistogramOp : NV_Op<"histogram", [Pure]> {
  let summary = "How often each number is in a tile";
  let description = [{
    As `tile.histogram`. The counters are in `scratch` (from `nv-assign-scratch`), to which the threads that hold an element first add one.

    ```mlir
    %h = nv.histogram %x : tensor<1024xi32> -> tensor<256xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NV_MmaOp : NV_Op<"mma", [AllTypesMatch<["c", "result"]>]> {
  let summary = "A matrix product of register tiles";
  let description = [{
    result = a · b + c for a [M, K], b [K, N], c [M, N], by mma.sync of each warp: M a multiple of 16, N of 8, K of 32 bytes. For
    products too small for warpgroups, and for roles of any number of warps.

    ```mlir
    %d = nv.mma %a, %b, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<16x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, AnyRankedTensor:$c);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
}

def NV_ProgramIdOp : NV_Op<"program_id", [Pure]> {
  let summary = "The number of the executing CTA along one axis of the grid";
  let description = [{
    ```mlir
    %i = nv.program_id 0
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

def NV_NumProgramsOp : NV_Op<"num_programs", [Pure]> {
  let summary = "The extent of the grid along one axis";
  let description = [{
    ```mlir
    %n = nv.num_programs 0
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

def NV_KeepOp : NV_Op<"keep", [AllTypesMatch<["values", "results"]>]> {
  let summary = "Values that are computed here and not later";
  let description = [{
    No instruction: a place in the order of side effects that LLVM does not move the computation of `values` past.

    ```mlir
    %sum = nv.keep %s : tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def NV_WarpAnyOp : NV_Op<"warp_any"> {
  let summary = "Whether any element held by the executing warp is true";
  let description = [{
    ```mlir
    %p = nv.warp_any %grew : tensor<64xi1>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs I1:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

#endif // TILELOOM_DIALECTS_NV_TILE_OPS_TD
