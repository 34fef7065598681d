//===- TileOps.td - The tile dialect: operations ---------------------*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_TILE_OPS_TD
#define TILELOOM_DIALECTS_TILE_OPS_TD

include "dialects/Tile/Tile.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

/// Not Tile_DescType: the assembly format would drop `!tile.desc` from types of a known class.
def Tile_AnyDesc : Type<CPred<"::llvm::isa<::tileloom::tile::DescType>($_self)">, "descriptor">;

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Mul", 3, "mul">]> {
  let cppNamespace = "::tileloom::tile";
}

/// In the order of nv's.
def Tile_AtomicKind : I32EnumAttr<"AtomicKind", "what an atomic operation does to memory", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Umax", 3, "umax">, I32EnumAttrCase<"Umin", 4, "umin">, I32EnumAttrCase<"And", 5, "and">,
    I32EnumAttrCase<"Or", 6, "or">, I32EnumAttrCase<"Xor", 7, "xor">, I32EnumAttrCase<"Xchg", 8, "xchg">,
    I32EnumAttrCase<"Cas", 9, "cas">]> {
  let cppNamespace = "::tileloom::tile";
}

def Tile_MemOrder : I32EnumAttr<"MemOrder", "what is ordered around an atomic operation", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">]> {
  let cppNamespace = "::tileloom::tile";
}

def Tile_MemScope : I32EnumAttr<"MemScope", "for whom an operation is atomic", [
    I32EnumAttrCase<"Gpu", 0, "gpu">, I32EnumAttrCase<"Cta", 1, "cta">, I32EnumAttrCase<"Sys", 2, "sys">]> {
  let cppNamespace = "::tileloom::tile";
}

include "dialects/Tile/MemoryOps.td"

//===----------------------------------------------------------------------===//
// Products, reductions, shapes
//===----------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [Pure, AttrSizedOperandSegments,
    OptionalTypesMatchWith<"the accumulator has the type of the result", "result", "acc", "$_self">]> {
  let summary = "Matrix product, added to an accumulator";
  let description = [{
    result = a · b + acc for a [M, K], b [K, N] and acc, result [M, N]; without `acc`, and where `use_acc` is false, the sum starts at zero
    (`acc` may then be undefined). Products of 16-bit and 8-bit floats and of tf32 (f32 operands, rounded toward zero to 10 bits of mantissa by the tensor core) accumulate in f32.

    ```mlir
    %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, Optional<AnyRankedTensor>:$acc, Optional<I1>:$use_acc);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`acc` `(` $acc^ `)`)? (`use_acc` `(` $use_acc^ `)`)? attr-dict `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ToSharedOp : Tile_Op<"to_shared", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "The same tile, in shared memory";
  let description = [{
    Made by `warp-partition` for an operand of a product that is computed, or read through pointers: the tensor core of Hopper reads `b`
    from shared memory only. Its uses are products, directly or through `tile.trans`.

    ```mlir
    %s = tile.to_shared %x : tensor<64x128xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Tile_TransOp : Tile_Op<"trans", [Pure]> {
  let summary = "The tile with its dimensions in another order";
  let description = [{
    Dimension i of the result is dimension order[i] of the source; without an order the last two dimensions are swapped. The order is
    another one than that of the source.

    ```mlir
    %t = tile.trans %x : tensor<128x64xbf16> -> tensor<64x128xbf16>
    %p = tile.trans %y [2, 0, 1] : tensor<4x16x8xf32> -> tensor<8x4x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, OptionalAttr<DenseI64ArrayAttr>:$order);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source (custom<Order>($order)^)? attr-dict `:` type($source) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source), [{
    build($_builder, $_state, result, source, ::mlir::DenseI64ArrayAttr());
  }]>];
  let extraClassDeclaration = [{
    /// The order of the dimensions, written or not.
    ::llvm::SmallVector<int64_t> permutation();
    /// Whether this is a transposed matrix, as products see their operands.
    bool isMatrix() { return ::llvm::cast<::mlir::RankedTensorType>(getType()).getRank() == 2; }
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_TakeOp : Tile_Op<"take", [Pure]> {
  let summary = "Elements of a tile at computed places along one dimension";
  let description = [{
    Triton's gather. For `dim` 1 of two: result[i, j] = source[i, indices[i, j]]. Indices are i32, and lie inside. Source and indices
    agree in all other dimensions, and the result has the shape of the indices.

    ```mlir
    %r = tile.take %x[%at] dim(1) : tensor<64x128xf32>, tensor<64x16xi32> -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$indices, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` `dim` `(` $dim `)` attr-dict `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_HistogramOp : Tile_Op<"histogram", [Pure]> {
  let summary = "How often each number is in a tile";
  let description = [{
    Element b of the result counts the elements of the source (i32) that are b; numbers that the result has no element for are not counted.

    ```mlir
    %h = tile.histogram %x : tensor<1024xi32> -> tensor<256xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "Combines the elements along one dimension";
  let description = [{
    The result lacks dimension `dim`; of a tile with one dimension it is a scalar. `max` and `min` of floats give the number where one
    operand is NaN (as Triton's default). The order of a sum is not defined, but the same from run to run.

    ```mlir
    %m = tile.reduce max %s dim(1) : tensor<128x64xf32> -> tensor<128xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, AnyRankedTensor:$source, I64Attr:$dim);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $source `dim` `(` $dim `)` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "Running combination of the elements along one dimension";
  let description = [{
    Element i of the result combines elements 0 to i of the source; with `reverse`, elements i to the last.

    ```mlir
    %c = tile.scan add %x dim(0) : tensor<256xf32>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, AnyRankedTensor:$source, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $source `dim` `(` $dim `)` (`reverse` $reverse^)? attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure]> {
  let summary = "Inserts a dimension of extent one";
  let description = [{
    ```mlir
    %e = tile.expand_dims %m dim(1) : tensor<128xf32> -> tensor<128x1xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `dim` `(` $dim `)` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats a tile along its dimensions of extent one";
  let description = [{
    ```mlir
    %b = tile.broadcast %e : tensor<128x1xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    ```mlir
    %r = tile.reshape %x : tensor<128x64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "A tile of one value";
  let description = [{
    ```mlir
    %t = tile.splat %x : f32 -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins AnyType:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "0, 1, 2, ...";
  let description = [{
    ```mlir
    %i = tile.iota : tensor<128xi32>
    ```
  }];
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "Index of this program in the launch grid";
  let description = [{
    ```mlir
    %p = tile.program_id dim(0)
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "`dim` `(` $dim `)` attr-dict";
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "Extent of the launch grid";
  let description = [{
    ```mlir
    %n = tile.num_programs dim(0)
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "`dim` `(` $dim `)` attr-dict";
}

def Tile_ForEachTileOp : Tile_Op<"for_each_tile", [SingleBlock, NoTerminator, RecursiveMemoryEffects,
                                                   DeclareOpInterfaceMethods<LoopLikeOpInterface>]> {
  let summary = "The work of a kernel: one run of the body for each tile of a grid";
  let description = [{
    The tiles may run in any order and at the same time; how they fall to the CTAs, and in which order, is decided by the schedule. A
    kernel has at most one, at the top of its function.

    ```mlir
    tile.for_each_tile (%b, %i, %j) in (%batches, %m, %n) { ... }
    ```
  }];
  let arguments = (ins Variadic<I32>:$extents);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

include "dialects/Tile/ScaledOps.td"

#endif // TILELOOM_DIALECTS_TILE_OPS_TD
