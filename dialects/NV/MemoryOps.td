//===- MemoryOps.td - The nv dialect: shared and global memory    *- tablegen -*-===//
//
// Register tiles to and from shared and global memory.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_NV_MEMORY_OPS_TD
#define TILELOOM_DIALECTS_NV_MEMORY_OPS_TD

def NV_LocalStoreOp : NV_Op<"local_store"> {
  let summary = "Writes a register tile to shared memory";
  let description = [{
    With `stmatrix` where the layouts allow it, else vector stores.

    ```mlir
    nv.local_store %t to %s : tensor<64x64xbf16>, !nv.memdesc<64x64xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, NV_MemDescType:$view);
  let assemblyFormat = "$value `to` $view attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}

def NV_LocalLoadOp : NV_Op<"local_load"> {
  let summary = "Reads a tile of shared memory to registers";
  let description = [{
    With `ldmatrix` where the layouts allow it, else vector loads.

    ```mlir
    %q = nv.local_load %s : !nv.memdesc<64x128xbf16> -> tensor<64x128xbf16>
    ```
  }];
  let arguments = (ins NV_MemDescType:$view);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$view attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def NV_LocalTransposeOp : NV_Op<"local_transpose"> {
  let summary = "Writes the transposed of a tile of 8 bits to another tile in shared memory";
  let description = [{
    The tensor core reads elements of 8 bits along K only. Pairs of rows are exchanged by `ldmatrix.trans` and `prmt` and written by
    `stmatrix`: the source has a multiple of 32 rows and of 16 columns.

    ```mlir
    nv.local_transpose %rows to %columns : !nv.memdesc<128x64xf8E4M3FN>, !nv.memdesc<64x128xf8E4M3FN>
    ```
  }];
  let arguments = (ins NV_MemDescType:$source, NV_MemDescType:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def NV_ScalarLoadOp : NV_Op<"scalar_load"> {
  let summary = "Reads one element of shared memory in every thread";
  let description = [{
    ```mlir
    %v = nv.scalar_load %s[%i] : !nv.memdesc<4xi32> -> i32
    ```
  }];
  let arguments = (ins NV_MemDescType:$view, I32:$index);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$view `[` $index `]` attr-dict `:` type($view) `->` type($result)";
}

def NV_ScalarStoreOp : NV_Op<"scalar_store", [NV_SingleThread]> {
  let summary = "Writes one element of shared memory from one thread of the role";
  let description = [{
    ```mlir
    nv.scalar_store %v to %s[%i] : i32, !nv.memdesc<4xi32>
    ```
  }];
  let arguments = (ins AnyType:$value, NV_MemDescType:$view, I32:$index);
  let assemblyFormat = "$value `to` $view `[` $index `]` attr-dict `:` type($value) `,` type($view)";
}

def NV_GlobalLoadOp : NV_Op<"global_load", [AttrSizedOperandSegments]> {
  let summary = "Reads elements of global memory";
  let description = [{
    `pointer` is an address in bytes, `offset` counts elements (32 or 64 bits, signed). A scalar offset reads one element in every thread; a tile
    of offsets reads a tile. Where `mask` is false the result is `other`, or zero without it. `invariant`: nothing writes these
    elements while the kernel runs. Neighbours in memory are read together, up to 16 bytes a thread, as far as contiguity,
    alignment and mask are known.

    ```mlir
    %x = nv.global_load %p[%i] : i64 -> f32
    %t = nv.global_load %p[%o] mask(%m : tensor<64xi1>) other(%z : tensor<64xf32>) : tensor<64xi64> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins I64:$pointer, AnyType:$offset, Optional<AnyType>:$mask, Optional<AnyType>:$other,
                       OptionalAttr<NV_CacheHint>:$cache, UnitAttr:$invariant);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? (`other` `(` $other^ `:` type($other) `)`)?
    (`cache` `(` $cache^ `)`)? (`invariant` $invariant^)? attr-dict `:` type($offset) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NV_GlobalStoreOp : NV_Op<"global_store"> {
  let summary = "Writes elements of global memory";
  let description = [{
    As `nv.global_load`. An element that several threads hold is written by one of them; a scalar by one thread of the role.

    ```mlir
    nv.global_store %x to %p[%i] mask(%m : tensor<64xi1>) : tensor<64xf32>, tensor<64xi64>
    ```
  }];
  let arguments = (ins AnyType:$value, I64:$pointer, AnyType:$offset, Optional<AnyType>:$mask,
                       OptionalAttr<NV_CacheHint>:$cache);
  let assemblyFormat = [{
    $value `to` $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? (`cache` `(` $cache^ `)`)? attr-dict
    `:` type($value) `,` type($offset)
  }];
  let hasVerifier = 1;
}

def NV_GlobalReduceOp : NV_Op<"global_reduce"> {
  let summary = "Combines elements into global memory, atomically";
  let description = [{
    Places as in `nv.global_store`; relaxed, device scope, no result. `add` for f32, f16, bf16, i32 and i64, `max` and `min` for signed integers.

    ```mlir
    nv.global_reduce add %x to %p[%i] mask(%m : tensor<64xi1>) : tensor<64xf32>, tensor<64xi64>
    ```
  }];
  let arguments = (ins NV_ReduceKind:$kind, AnyType:$value, I64:$pointer, AnyType:$offset, Optional<AnyType>:$mask);
  let assemblyFormat = [{
    $kind $value `to` $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($value) `,` type($offset)
  }];
  let hasVerifier = 1;
}

def NV_GlobalAtomicOp : NV_Op<"global_atomic", [AttrSizedOperandSegments, AllTypesMatch<["value", "result"]>]> {
  let summary = "Combines elements with global memory atomically, and gives the values before";
  let description = [{
    Places as in `nv.global_store`; relaxed. Of the threads that hold an element one performs the operation, and all get the value before,
    through `scratch` if they are several; zero where `mask` is false. `cas` writes `value` where memory equals `compare`. `add` for f64, f32,
    f16, bf16, i32 and i64, `xchg` and `cas` for 32 or 64 bits, the others for i32 and i64.

    ```mlir
    %old = nv.global_atomic add %x to %p[%i] mask(%m : tensor<64xi1>) : tensor<64xf32>, tensor<64xi64>
    ```
  }];
  let arguments = (ins NV_AtomicKind:$kind, AnyType:$value, I64:$pointer, AnyType:$offset, Optional<AnyType>:$mask,
                       Optional<AnyType>:$compare, DefaultValuedAttr<NV_MemScope, "MemScope::Gpu">:$scope,
                       Optional<NV_MemDescType>:$scratch);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $kind $value `to` $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? (`compare` `(` $compare^ `:` type($compare) `)`)?
    (`scope` `(` $scope^ `)`)? (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict `:` type($value) `,` type($offset)
  }];
  let hasVerifier = 1;
}

def NV_StorePartialOp : NV_Op<"store_partial"> {
  let summary = "Leaves a tile in global memory for nv.sum_partials";
  let description = [{
    Elements of 32 bits, in the order in which the threads of the replica hold them: 16 bytes of a thread beside those of the next one,
    whatever the layout. `pointer` is an address in bytes, aligned to 16, of as many bytes as the tile has.

    ```mlir
    nv.store_partial %x to %p : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, I64:$pointer);
  let assemblyFormat = "$value `to` $pointer attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def NV_SumPartialsOp : NV_Op<"sum_partials", [AllTypesMatch<["like", "result"]>]> {
  let summary = "The sum of tiles that nv.store_partial left";
  let description = [{
    `count` tiles of the type and layout of `like`, at `pointer`, `pointer` + `stride` bytes and so on, added in this order. Of `like` only the
    layout is used: it is what was stored.

    ```mlir
    %t = nv.sum_partials %p like %x count 4 stride 16384 : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins I64:$pointer, AnyRankedTensor:$like, ConfinedAttr<I64Attr, [IntPositive]>:$count, I64Attr:$stride);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$pointer `like` $like `count` $count `stride` $stride attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NV_MemoryFenceOp : NV_Op<"memory_fence"> {
  let summary = "Orders this thread's accesses to memory before later ones, as seen by the scope";
  let description = [{
    `fence.acq_rel`: with a barrier of the role before (a release) or after it (an acquire) it orders the role's accesses.

    ```mlir
    nv.memory_fence gpu
    ```
  }];
  let arguments = (ins NV_MemScope:$scope);
  let assemblyFormat = "$scope attr-dict";
}

def NV_CpAsyncOp : NV_Op<"cp_async"> {
  let summary = "Copies elements of global memory to shared memory without registers";
  let description = [{
    Places as in `nv.global_load`; where `mask` is false zeros are written. Completion: `nv.cp_async.wait`, or a release of kind `cp_async`. Contiguity and
    alignment must be known for at least 4 bytes at a time.

    ```mlir
    nv.cp_async %p[%o] mask(%m : tensor<64x64xi1>) to %s : tensor<64x64xi64>, !nv.memdesc<64x64xbf16>
    ```
  }];
  let arguments = (ins I64:$pointer, AnyRankedTensor:$offset, Optional<AnyRankedTensor>:$mask, NV_MemDescType:$view);
  let assemblyFormat = [{
    $pointer `[` $offset `]` (`mask` `(` $mask^ `:` type($mask) `)`)? `to` $view attr-dict `:` type($offset) `,` type($view)
  }];
  let hasVerifier = 1;
}

def NV_CpAsyncCommitOp : NV_Op<"cp_async.commit"> {
  let summary = "Closes the group of the copies that each thread has begun";
  let description = [{
    ```mlir
    nv.cp_async.commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NV_CpAsyncWaitOp : NV_Op<"cp_async.wait"> {
  let summary = "Waits until at most `pending` groups of the executing thread's copies are open";
  let description = [{
    ```mlir
    nv.cp_async.wait 1
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def NV_CpAsyncArriveOp : NV_Op<"cp_async.arrive"> {
  let summary = "Arrives on a barrier once the executing thread's earlier copies are complete";
  let description = [{
    ```mlir
    nv.cp_async.arrive %full
    ```
  }];
  let arguments = (ins NV_BarrierType:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def NV_AtomicAddOp : NV_Op<"atomic_add", [NV_SingleThread, AllTypesMatch<["value", "result"]>]> {
  let summary = "Adds to a counter in global memory and gives the value before";
  let description = [{
    Performed by every executing thread, so it belongs in a role that runs in one thread. Relaxed, device scope.

    ```mlir
    %old = nv.atomic_add %p[%i], %one : i32
    ```
  }];
  let arguments = (ins I64:$pointer, I64:$offset, AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pointer `[` $offset `]` `,` $value attr-dict `:` type($value)";
}

#endif // TILELOOM_DIALECTS_NV_MEMORY_OPS_TD
