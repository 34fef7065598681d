//===- NVOps.td - The nv dialect: operations -------------------------*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_NV_OPS_TD
#define TILELOOM_DIALECTS_NV_OPS_TD

include "dialects/NV/NV.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class NV_Op<string mnemonic, list<Trait> traits = []> : Op<NV_Dialect, mnemonic, traits>;

/// Operations that one elected thread can perform for its role: a role of one warp made only of these (and of scalar
/// code) runs in a single thread.
def NV_SingleThread : NativeOpTrait<"SingleThread"> { let cppNamespace = "::tileloom::nv"; }

//===----------------------------------------------------------------------===//
// Views of memory tiles
//===----------------------------------------------------------------------===//

def NV_MemDescSliceOp : NV_Op<"memdesc.slice", [Pure]> {
  let summary = "A part of a tile in memory";
  let description = [{
    The sub-tile of the result's shape that starts at `offsets` (elements). Offsets are multiples of 8 rows, or of whole swizzle atoms
    along the columns. A tile of one dimension starts at any element.

    ```mlir
    %h = nv.memdesc.slice %a[%row, %c0] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x64xbf16>
    ```
  }];
  let arguments = (ins NV_MemDescType:$source, Variadic<I32>:$offsets);
  let results = (outs NV_MemDescType:$result);
  let assemblyFormat = "$source `[` $offsets `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NV_MemDescTransOp : NV_Op<"memdesc.trans", [Pure]> {
  let summary = "The transposed view of a tile in memory";
  let description = [{
    No data moves: MMA descriptors read either major order.

    ```mlir
    %bt = nv.memdesc.trans %b : !nv.memdesc<256x64xbf16> -> !nv.memdesc<64x256xbf16>
    ```
  }];
  let arguments = (ins NV_MemDescType:$source);
  let results = (outs NV_MemDescType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tensor memory accelerator
//===----------------------------------------------------------------------===//

def NV_TmaLoadOp : NV_Op<"tma.load", [NV_SingleThread, AttrSizedOperandSegments]> {
  let summary = "Copies a box of a global tensor to shared memory";
  let description = [{
    Coordinates are elements, outermost dimension first; elements outside the tensor are filled with zero. The box's unit
    dimensions are dropped in the view. Completion is counted in bytes on the barrier of the ring that the slot is
    released to (`barrier`, once `nv-lower-rings` has run). With `multicast` the CTAs of the cluster whose bits are set get the
    box, each at the same place and counted on its own barrier. With `pair` the bytes count on the barrier of the even CTA of
    the pair (set by `nv-lower-rings`).

    ```mlir
    nv.tma.load %A[%i, %k] to %a cache(evict_last) : !tile.desc<128x64xbf16>, !nv.memdesc<128x64xbf16>
    ```
  }];
  let arguments = (ins AnyType:$desc, Variadic<I32>:$coordinates, NV_MemDescType:$view,
                       Optional<NV_BarrierType>:$barrier, Optional<I16>:$multicast, OptionalAttr<NV_CacheHint>:$cache,
                       UnitAttr:$pair);
  let assemblyFormat = [{
    $desc `[` $coordinates `]` `to` $view (`barrier` `(` $barrier^ `)`)? (`multicast` `(` $multicast^ `)`)?
    (`cache` `(` $cache^ `)`)? (`pair` $pair^)? attr-dict `:` type($desc) `,` type($view)
  }];
  let hasVerifier = 1;
}

def NV_TmaStoreOp : NV_Op<"tma.store", [NV_SingleThread]> {
  let summary = "Copies a tile of shared memory to a box of a global tensor";
  let description = [{
    Elements outside the tensor are not written. The slot that holds the tile is free again once a release of kind
    `bulk_read` has completed. With `reduce` each element is combined with the one in memory, atomically (relaxed): `add`, `max`, `min`,
    `and`, `or`, `xor`.

    ```mlir
    nv.tma.store %s to %C[%i, %j] : !nv.memdesc<64x64xbf16>, !tile.desc<64x64xbf16>
    ```
  }];
  let arguments = (ins NV_MemDescType:$view, AnyType:$desc, Variadic<I32>:$coordinates, OptionalAttr<NV_CacheHint>:$cache,
                       OptionalAttr<NV_AtomicKind>:$reduce);
  let assemblyFormat = [{
    $view `to` $desc `[` $coordinates `]` (`reduce` `(` $reduce^ `)`)? (`cache` `(` $cache^ `)`)? attr-dict `:` type($view) `,` type($desc)
  }];
  let hasVerifier = 1;
}

def NV_BulkCommitOp : NV_Op<"bulk.commit", [NV_SingleThread]> {
  let summary = "Closes the group of the stores that the role's issuing thread has begun";
  let assemblyFormat = "attr-dict";
}

def NV_BulkWaitOp : NV_Op<"bulk.wait", [NV_SingleThread]> {
  let summary = "Waits until at most `pending` store groups of the role's issuing thread are open";
  let description = [{With `read` it is enough that their sources have been read.}];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Warpgroup MMA
//===----------------------------------------------------------------------===//

def NV_WgmmaOp : NV_Op<"wgmma", [AttrSizedOperandSegments,
    OptionalTypesMatchWith<"the accumulator has the type of the result", "result", "c", "$_self">]> {
  let summary = "Issues an asynchronous warpgroup matrix product";
  let description = [{
    result = a · b + c for a [M, K] in shared memory or registers, b [K, N] in shared memory, c and the result [M, N] in
    registers; M is a multiple of 64, N of 8, K of one instruction. Without `acc` the product starts from zero;
    `use_c` makes that a run-time choice. Sums are f32, f16 (of f16 and 8-bit floats: half the registers) or i32 (of 8-bit integers,
    signed unless their type is unsigned; N 8, 16, 24 or a multiple of 16; with `satfinite` sums saturate instead of wrapping). Operands
    of 8 and 32 bits have K last in memory. The result may only be read after an `nv.wgmma.wait` that covers it.

    ```mlir
    %d = nv.wgmma %a, %b acc(%c) use_c(%p) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x256xbf16> -> tensor<64x256xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[NV_MemDescType, AnyRankedTensor]>:$a, NV_MemDescType:$b,
                       Optional<AnyRankedTensor>:$c, Optional<I1>:$use_c, UnitAttr:$satfinite);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`acc` `(` $c^ `)`)? (`use_c` `(` $use_c^ `)`)? (`satfinite` $satfinite^)? attr-dict `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NV_WgmmaWaitOp : NV_Op<"wgmma.wait", [AttrSizedOperandSegments, AllTypesMatch<["inputs", "results"]>]> {
  let summary = "Waits for issued products and gives back the values it waited for";
  let description = [{
    At most `pending` groups stay in flight; each `nv.wgmma` is one group and they retire in order. `inputs` are the
    accumulators that may be used from here on. `after` keeps the wait behind the computation of that value: ptxas
    moves waits up over independent code, which a store that never happens prevents.

    ```mlir
    %w = nv.wgmma.wait %d pending(0) : tensor<64x256xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Optional<AnyType>:$after,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    ($inputs^)? `pending` `(` $pending `)` (`after` `(` $after^ `:` type($after) `)`)? attr-dict (`:` type($inputs)^)?
  }];
}

include "dialects/NV/TileOps.td"
include "dialects/NV/MemoryOps.td"

//===----------------------------------------------------------------------===//
// What rings and orders lower to
//===----------------------------------------------------------------------===//

def NV_AllocOp : NV_Op<"alloc"> {
  let summary = "Storage in shared memory";
  let description = [{
    `count` slots of `stride` bytes; `offset` is its place in dynamic shared memory once `nv-allocate-shared` has run: its own, but for
    what `nv-find-lifetimes` has found never to be used at the same time. An
    allocation is an effect: two of the same shape are two.
  }];
  let arguments = (ins I64Attr:$count, I64Attr:$stride, I64Attr:$alignment, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<StrAttr>:$name);
  let results = (outs Res<AnyType, "storage", [MemAlloc]>:$base);
  let assemblyFormat = "$count `x` $stride `align` $alignment (`at` $offset^)? attr-dict `:` type($base)";
}

def NV_ViewOp : NV_Op<"view", [Pure]> {
  let summary = "A tile at a byte offset in a slot of an allocation";
  let arguments = (ins AnyType:$base, I32:$slot, I64Attr:$stride, I64Attr:$offset);
  let results = (outs NV_MemDescType:$result);
  let assemblyFormat = "$base `[` $slot `]` `stride` $stride `offset` $offset attr-dict `:` type($base) `->` type($result)";
}

def NV_BarrierAtOp : NV_Op<"barrier_at", [Pure]> {
  let summary = "The mbarrier of one stage";
  let arguments = (ins NV_BarrierType:$base, I32:$stage);
  let results = (outs NV_BarrierType:$result);
  let assemblyFormat = "$base `[` $stage `]` attr-dict";
}

def NV_MBarrierInitOp : NV_Op<"mbarrier.init"> {
  let summary = "Initialises an array of mbarriers, in one thread, and makes them visible to all";
  let arguments = (ins NV_BarrierType:$base, I64Attr:$stages, I64Attr:$arrivals);
  let assemblyFormat = "$base `stages` $stages `arrivals` $arrivals attr-dict";
}

def NV_MBarrierWaitOp : NV_Op<"mbarrier.wait", [NV_SingleThread]> {
  let summary = "Waits until the phase of the given parity has completed, unless `known` says that it has";
  let arguments = (ins NV_BarrierType:$barrier, I32:$phase, Optional<I1>:$known);
  let assemblyFormat = "$barrier `,` $phase (`known` `(` $known^ `)`)? attr-dict";
}

def NV_MBarrierTestOp : NV_Op<"mbarrier.test", [NV_SingleThread]> {
  let summary = "Whether the phase of the given parity has completed";
  let arguments = (ins NV_BarrierType:$barrier, I32:$phase);
  let results = (outs I1:$done);
  let assemblyFormat = "$barrier `,` $phase attr-dict";
}

def NV_MBarrierArriveOp : NV_Op<"mbarrier.arrive", [NV_SingleThread]> {
  let summary = "Arrives once for each issuer, after expecting `bytes`";
  let arguments = (ins NV_BarrierType:$barrier, DefaultValuedAttr<I64Attr, "0">:$bytes, NV_Issuer:$issuer);
  let assemblyFormat = "$barrier `by` $issuer (`expect` $bytes^)? attr-dict";
}

def NV_NamedBarrierOp : NV_Op<"named_barrier"> {
  let summary = "Waits for all threads of the replica";
  let description = [{`nv-allocate-registers` gives every replica a hardware barrier (1 to 15).}];
  let assemblyFormat = "attr-dict";
}

def NV_FenceProxyOp : NV_Op<"fence.proxy", [NV_SingleThread]> {
  let summary = "Orders this thread's ordinary shared memory accesses before later asynchronous ones";
  let assemblyFormat = "attr-dict";
}

def NV_SetMaxRegistersOp : NV_Op<"setmaxreg", [NV_SingleThread]> {
  let summary = "Sets the executing warps' registers per thread";
  let arguments = (ins I64Attr:$count, UnitAttr:$increase);
  let assemblyFormat = "$count (`increase` $increase^)? attr-dict";
}

include "dialects/NV/ClusterOps.td"
include "dialects/NV/Tcgen05Ops.td"

#endif // TILELOOM_DIALECTS_NV_OPS_TD
