//===- MemoryOps.td - The tile dialect: global memory ----------------*- tablegen -*-===//
//
// Boxes of tensors, elements behind pointers, atomics, memory of the launch.
//
//===--------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_TILE_MEMORY_OPS_TD
#define TILELOOM_DIALECTS_TILE_MEMORY_OPS_TD

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads a box of a global tensor";
  let description = [{
    The box starts at `coordinates` (elements, outermost dimension first); elements outside the tensor read as zero. The
    result drops unit dimensions of the box: all of them, or as many as its own rank asks for.

    ```mlir
    %q = tile.load %Q[%b, %m, %h, %c0] : !tile.desc<1x128x1x64xbf16> -> tensor<128x64xbf16>
    ```
  }];
  let arguments = (ins Tile_AnyDesc:$desc, Variadic<I32>:$coordinates);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$desc `[` $coordinates `]` attr-dict `:` type($desc) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a box of a global tensor";
  let description = [{
    Elements outside the tensor are not written.

    ```mlir
    tile.store %v to %C[%i, %j] : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Tile_AnyDesc:$desc, Variadic<I32>:$coordinates);
  let assemblyFormat = "$value `to` $desc `[` $coordinates `]` attr-dict `:` type($value) `,` type($desc)";
  let hasVerifier = 1;
}

def Tile_StoreReduceOp : Tile_Op<"store_reduce", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Combines a tile with a box of a global tensor";
  let description = [{
    Each element atomically (relaxed), with `add`, `max`, `min`, `and`, `or` or `xor`, by the copy engine; elements outside the tensor are
    left alone. Elements: `add` f32, f16, bf16, i32, i64; `max` and `min` f16, bf16, i32, i64 (by the descriptor's sign); the others
    i32, i64.

    ```mlir
    tile.store_reduce add %v to %C[%i, %j] : tensor<128x64xf32>, !tile.desc<128x64xf32>
    ```
  }];
  let arguments = (ins Tile_AtomicKind:$kind, AnyRankedTensor:$value, Tile_AnyDesc:$desc, Variadic<I32>:$coordinates);
  let assemblyFormat = "$kind $value `to` $desc `[` $coordinates `]` attr-dict `:` type($value) `,` type($desc)";
  let hasVerifier = 1;
}

def Tile_ReboxOp : Tile_Op<"rebox", [Pure]> {
  let summary = "The same global tensor seen through boxes of another shape";
  let description = [{
    ```mlir
    %half = tile.rebox %C : !tile.desc<128x64xbf16> -> !tile.desc<64x64xbf16>
    ```
  }];
  let arguments = (ins Tile_AnyDesc:$source);
  let results = (outs Tile_AnyDesc:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "Reads elements at computed places";
  let description = [{
    `pointer` is an address in bytes, `offset` counts elements (a tile of i32 or i64, or one i32 or i64 for a scalar read). Where `mask` is
    false nothing is read and the element is that of `other`, or zero. `invariant`: nothing writes these elements while the kernel runs.

    ```mlir
    %x = tile.gather %p[%at] mask(%m : tensor<256xi1>) : tensor<256xi64> -> tensor<256xf32>
    ```
  }];
  let arguments = (ins I64:$pointer, AnyType:$offset, Optional<AnyType>:$mask, Optional<AnyType>:$other,
                       UnitAttr:$invariant);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? (`other` `(` $other^ `:` type($other) `)`)?
    (`invariant` $invariant^)? attr-dict `:` type($offset) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes elements at computed places";
  let description = [{
    As `tile.gather`; of several writes to one place, one wins.

    ```mlir
    tile.scatter %x to %p[%at] mask(%m : tensor<256xi1>) : tensor<256xf32>, tensor<256xi64>
    ```
  }];
  let arguments = (ins AnyType:$value, I64:$pointer, AnyType:$offset, Optional<AnyType>:$mask);
  let assemblyFormat = [{
    $value `to` $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($value) `,` type($offset)
  }];
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_Op<"atomic", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Combines elements with memory in one step each, and gives the values before";
  let description = [{
    As `tile.gather`; elements that `mask` leaves out give zero. `cas` writes `value` where memory equals `compare`. `order` and `scope` as
    in PTX: relaxed and gpu if not given. The order is that of the whole program: what any of its threads did before comes before.
    Elements: `add` f64, f32, f16, bf16, i32, i64; `xchg` and `cas` of 32 or 64 bits; the others i32, i64.

    ```mlir
    %old = tile.atomic add %x to %p[%at] order(acq_rel) : tensor<256xf32>, tensor<256xi64> -> tensor<256xf32>
    %won = tile.atomic cas %one to %lock[%first] compare(%zero : i32) : i32, i64 -> i32
    ```
  }];
  let arguments = (ins Tile_AtomicKind:$kind, AnyType:$value, I64:$pointer, AnyType:$offset, Optional<AnyType>:$mask,
                       Optional<AnyType>:$compare, DefaultValuedAttr<Tile_MemOrder, "MemOrder::Relaxed">:$order,
                       DefaultValuedAttr<Tile_MemScope, "MemScope::Gpu">:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $kind $value `to` $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? (`compare` `(` $compare^ `:` type($compare) `)`)?
    (`order` `(` $order^ `)`)? (`scope` `(` $scope^ `)`)? attr-dict `:` type($value) `,` type($offset) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_WorkspaceOp : Tile_Op<"workspace", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Memory of the launch, beside its arguments";
  let description = [{
    The address of `bytes` bytes of global memory, aligned to 256, that no launch on another stream has (docs/recipe.md); the same for all tiles.
    `bytes` is made of constants and of the kernel's integer arguments. It may hold anything; with `zero` it is zero at first use, and the kernel
    leaves it so.

    ```mlir
    %sums = tile.workspace %bytes of f32
    %counters = tile.workspace %bytes zero of i32
    ```
  }];
  let arguments = (ins I64:$bytes, UnitAttr:$zero, TypeAttr:$element);
  let results = (outs I64:$pointer);
  let assemblyFormat = "$bytes (`zero` $zero^)? `of` $element attr-dict";
}

def Tile_LastArrivalOp : Tile_Op<"last_arrival", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Counts an arrival, and says whether it is the last of several";
  let description = [{
    Adds one to the i32 counter at `pointer` + 4 * `index`, which starts at zero. The `count`-th arrival is the last: what came before the
    others is before what comes after it (acq_rel, gpu), and the counter is zero again. Replicas that share a tile arrive for their rows
    alone, each at a counter of its own: as many as the schedule has replicas lie from `index` on, and they may hear different answers.

    ```mlir
    %last = tile.last_arrival %counters[%tile] of %slices
    ```
  }];
  let arguments = (ins I64:$pointer, I32:$index, I32:$count);
  let results = (outs I1:$last);
  let assemblyFormat = "$pointer `[` $index `]` `of` $count attr-dict";
}

#endif // TILELOOM_DIALECTS_TILE_MEMORY_OPS_TD
