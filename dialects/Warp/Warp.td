//===- Warp.td - The warp dialect: who does it, and how they hand over -*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_WARP_TD
#define TILELOOM_DIALECTS_WARP_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::tileloom::warp";
  let summary = "Which warps do which part of a kernel, and how they hand storage to each other.";
  let description = [{
    A kernel at this level is one `warp.specialize` with a `warp.role` for each group of warps. Storage and hand-over
    are apart: a **buffer** is storage with a depth; a **ring** is the right to use its slots in turn. `acquire` waits
    for the next slot of a ring and gives a token, `slot` gives the views of that slot, `release … to` passes the slot
    on to another ring and says what completes the pass. Nothing else synchronises roles.

    The level is the same for Hopper and Blackwell. See Rationale.md.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tileloom::nv::NVDialect"];
  let hasOperationAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Warp_ReleaseKind : I32EnumAttr<"ReleaseKind", "what completes a hand-over", [
    I32EnumAttrCase<"Generic", 0, "generic">, I32EnumAttrCase<"Tma", 1, "tma">,
    I32EnumAttrCase<"CpAsync", 2, "cp_async">, I32EnumAttrCase<"BulkRead", 3, "bulk_read">,
    I32EnumAttrCase<"Wgmma", 4, "wgmma">, I32EnumAttrCase<"Tcgen05", 5, "tcgen05">]> {
  let cppNamespace = "::tileloom::warp";
}

/// The kinds of nv.tma.store, by nv's numbers.
def Warp_StoreReduce : I32EnumAttr<"StoreReduce", "how a stored tile combines with memory", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"And", 5, "and">, I32EnumAttrCase<"Or", 6, "or">, I32EnumAttrCase<"Xor", 7, "xor">]> {
  let cppNamespace = "::tileloom::warp";
}

def Warp_Scope : I32EnumAttr<"Scope", "which CTAs share a ring", [
    I32EnumAttrCase<"Cta", 0, "cta">, I32EnumAttrCase<"Cluster", 1, "cluster">,
    I32EnumAttrCase<"Pair", 2, "pair">]> {
  let cppNamespace = "::tileloom::warp";
}

def Warp_Space : I32EnumAttr<"Space", "memory space of a buffer", [
    I32EnumAttrCase<"Smem", 0, "smem">, I32EnumAttrCase<"Tmem", 1, "tmem">]> {
  let cppNamespace = "::tileloom::warp";
}

def Warp_TileStep : I32EnumAttr<"TileStep", "how replicas share the tiles of a CTA", [
    I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Replica", 1, "replica">]> {
  let cppNamespace = "::tileloom::warp";
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

class Warp_Type<string name, string typeMnemonic> : TypeDef<Warp_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Warp_BufferType : Warp_Type<"Buffer", "buffer"> {
  let summary = "Storage with a depth: `depth` slots of the same list of views";
  let description = [{
    `!warp.buffer<4 x [128x64xbf16, 256x64xbf16]>` has four slots, each an A tile and a B tile.
    `!warp.buffer<2 x [128x256xf32], tmem>` lies in tensor memory.
  }];
  let parameters = (ins "int64_t":$depth, ArrayRefParameter<"::mlir::RankedTensorType">:$views, "Space":$space);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Warp_RingType : Warp_Type<"Ring", "ring"> {
  let summary = "The right to use the slots of a buffer, in turn";
}

def Warp_TokenType : Warp_Type<"Token", "token"> {
  let summary = "One slot, held by a role between acquire and release";
}

def Warp_OrderType : Warp_Type<"Order", "order"> {
  let summary = "Turns that the replicas of a role take, one after the other";
}

def Warp_LaunchAttr : AttrDef<Warp_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "How many CTAs a kernel gets";
  let description = [{
    `#warp.launch<persistent>`: as many CTAs as run at once (`per_sm` on each SM), in clusters of `cluster` CTAs; the
    role's `for_each_tile` loops share the tiles. Without `persistent`, one CTA a tile.
  }];
  let parameters = (ins DefaultValuedParameter<"bool", "true">:$persistent,
                        DefaultValuedParameter<"int64_t", "1">:$cluster,
                        DefaultValuedParameter<"int64_t", "1">:$perSm);
  let assemblyFormat = "`<` struct($persistent, $cluster, $perSm) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Storage and rings
//===----------------------------------------------------------------------===//

class Warp_Op<string mnemonic, list<Trait> traits = []> : Op<Warp_Dialect, mnemonic, traits>;

def Warp_BufferOp : Warp_Op<"buffer"> {
  let summary = "Declares storage with a depth";
  let description = [{
    Reserves `depth` slots in shared or tensor memory for the kernel's whole life. With `per_replica` every replica of
    the role that uses it has slots of its own.

    ```mlir
    %ab = warp.buffer : !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
    ```
  }];
  let arguments = (ins UnitAttr:$per_replica);
  let results = (outs Warp_BufferType:$buffer);
  let assemblyFormat = "(`per_replica` $per_replica^)? attr-dict `:` type($buffer)";
}

def Warp_RingOp : Warp_Op<"ring"> {
  let summary = "Declares the right to use the slots of a buffer";
  let description = [{
    The rings of one buffer form a cycle along which every slot travels. Exactly one ring of a cycle starts
    `released`: its slots are all free at the start. `scope` says which CTAs hand over to each other:
    - `cta`: each CTA for itself;
    - `pair`: two CTAs of a 2-CTA product. Who waits for a slot in a `leader` role waits for both CTAs; a release by a `leader` role
      goes to both. Loads count in the even CTA where a `leader` role waits for them;
    - `cluster`: all CTAs. A release arrives in every CTA, and a slot has come when all CTAs have released it: for slots
      that CTAs fill for each other (multicast).

    ```mlir
    %free = warp.ring released %ab : !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
    %ready = warp.ring %ab : !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer, UnitAttr:$released,
                       DefaultValuedAttr<Warp_Scope, "Scope::Cta">:$scope);
  let results = (outs Warp_RingType:$ring);
  let assemblyFormat = "(`released` $released^)? $buffer (`scope` `(` $scope^ `)`)? attr-dict `:` type($buffer)";
}

def Warp_OrderOp : Warp_Op<"order"> {
  let summary = "Declares turns for the replicas of a role";
  let description = [{
    Replica 0 has the first turn; `warp.await` waits for the executing replica's turn and `warp.pass` hands the turn to the
    next replica.

    ```mlir
    %turn = warp.order 2
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<2>, IntMaxValue<4>]>:$replicas);
  let results = (outs Warp_OrderType:$order);
  let assemblyFormat = "$replicas attr-dict";
}

def Warp_AcquireOp : Warp_Op<"acquire", [AttrSizedOperandSegments]> {
  let summary = "Waits for the next slot of a ring";
  let description = [{
    Gives the token of the next slot. A role takes the slots of a ring in order; it may hold several tokens. `at` holds
    the stage and phase of the slot once `warp-assign-stage-phase` has run, `known` what the last `warp.peek` of the slot
    said: where it is true there is nothing to wait for.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16]>
    %t = warp.acquire %ready
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, Optional<I32>:$stage, Optional<I32>:$phase, Optional<I1>:$known);
  let results = (outs Warp_TokenType:$token);
  let assemblyFormat = "$ring (`at` `(` $stage^ `,` $phase `)`)? (`known` `(` $known^ `)`)? attr-dict";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$ring), [{
    build($_builder, $_state, TokenType::get($_builder.getContext()), ring, {}, {}, {});
  }]>];
}

def Warp_PeekOp : Warp_Op<"peek", [AttrSizedOperandSegments]> {
  let summary = "Asks whether the next slot of a ring can be had already";
  let description = [{
    Never waits and takes nothing. The role's next `acquire` of the ring waits only where the answer was no, so that the latency of
    asking is hidden behind what lies between the two.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16]>
    %soon = warp.peek %ready
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, Optional<I32>:$stage, Optional<I32>:$phase);
  let results = (outs I1:$available);
  let assemblyFormat = "$ring (`at` `(` $stage^ `,` $phase `)`)? attr-dict";
  let hasVerifier = 1;
}

def Warp_HoldOp : Warp_Op<"hold", [AllTypesMatch<["values", "results"]>]> {
  let summary = "Waits again for a slot that the role holds, once `values` are computed";
  let description = [{
    The wait passes at once. Its use is its place: neither LLVM nor ptxas moves the computation of `values` past it. Left alone, they
    overlap it with the products that follow, for which there are not registers enough: sums that products are added to element by
    element, half of a tile after the other, spill.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16]>
    %t = warp.acquire %ready
    %sum = warp.hold %t, %s : tensor<64x128xf32>
    warp.release %t to %free generic
    ```
  }];
  let arguments = (ins Warp_TokenType:$token, Variadic<AnyRankedTensor>:$values);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$token `,` $values attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def Warp_SlotOp : Warp_Op<"slot", [Pure]> {
  let summary = "The views of a slot";
  let description = [{
    One result for each view of the ring's buffer, of the same shape and element type.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
    %t = warp.acquire %ready
    %a, %b = warp.slot %t : !nv.memdesc<128x64xbf16>, !nv.memdesc<256x64xbf16>
    ```
  }];
  let arguments = (ins Warp_TokenType:$token);
  let results = (outs Variadic<AnyType>:$views);
  let assemblyFormat = "$token attr-dict `:` type($views)";
  let hasVerifier = 1;
}

def Warp_ReleaseOp : Warp_Op<"release"> {
  let summary = "Passes a slot on to another ring";
  let description = [{
    `kind` says what completes the hand-over:
    - `generic`: the plain reads and writes that precede it in this role;
    - `tma`: the bytes of the loads into the slot;
    - `cp_async`: the role's earlier cp.async copies;
    - `bulk_read`: a store engine has read the slot;
    - `wgmma`: the MMA that read it has retired (an `nv.wgmma.wait` precedes);
    - `tcgen05`: the tcgen05 operations issued so far have completed (a commit).

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16]>
    %t, %k = warp.take %free : !nv.memdesc<128x64xbf16>
    nv.tma.load %K[%i, %j] to %k : !tile.desc<128x64xbf16>, !nv.memdesc<128x64xbf16>
    warp.release %t to %ready tma
    ```
  }];
  let arguments = (ins Warp_TokenType:$token, Warp_RingType:$ring, Warp_ReleaseKind:$kind);
  let assemblyFormat = "$token `to` $ring $kind attr-dict";
  let hasVerifier = 1;
}

def Warp_SkipOp : Warp_Op<"skip"> {
  let summary = "Moves a role's place in a ring past slots that another replica takes";
  let description = [{
    The executing replica's next `acquire` of the ring takes the slot `count` further on. Made by
    `warp-expand-tile-loops` where replicas take alternate tiles; removed by `warp-assign-stage-phase`.

    ```mlir
    warp.skip %ready by %n
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, I32:$count);
  let assemblyFormat = "$ring `by` $count attr-dict";
}

def Warp_AwaitOp : Warp_Op<"await"> {
  let summary = "Waits for the executing replica's turn";
  let description = [{
    `at` holds the phase once `warp-assign-stage-phase` has run.

    ```mlir
    warp.await %turn
    ```
  }];
  let arguments = (ins Warp_OrderType:$order, Optional<I32>:$phase);
  let assemblyFormat = "$order (`at` `(` $phase^ `)`)? attr-dict";
}

def Warp_PassOp : Warp_Op<"pass"> {
  let summary = "Hands the turn to the next replica";
  let description = [{
    ```mlir
    warp.pass %turn
    ```
  }];
  let arguments = (ins Warp_OrderType:$order);
  let assemblyFormat = "$order attr-dict";
}

include "dialects/Warp/ShorthandOps.td"

//===----------------------------------------------------------------------===//
// Roles and tiles
//===----------------------------------------------------------------------===//

def Warp_SpecializeOp : Warp_Op<"specialize", [SymbolTable, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "The roles of a kernel, run side by side";
  let description = [{
    Holds `warp.role` operations only. Exactly one per kernel; lowers to one branch on the warp index.

    ```mlir
    warp.specialize {
      warp.role @math warps(4) { ... }
      warp.role @load warps(1) { ... }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Warp_RoleOp : Warp_Op<"role", [HasParent<"SpecializeOp">, NoTerminator, SingleBlock, NoRegionArguments, Symbol]> {
  let summary = "One part of a kernel and the warps that run it";
  let description = [{
    - `warps`: warps of one replica (1, or a multiple of 4 for roles that use warpgroup instructions);
    - `replicas`: copies of the role, each with `warps` warps; `warp.replica_index` tells them apart;
    - `registers`: per-thread budget set with `setmaxnreg`; all roles give one or none does;
    - `leader`: runs in the even CTA of each pair only, for both (what issues tcgen05 operations of a pair);
    - only kernel arguments, constants, buffers, rings and orders may be used from outside.

    A role of one warp whose operations are all issued by one thread (copies, tcgen05, ring operations on them) runs in
    one elected thread.

    ```mlir
    warp.specialize {
      warp.role @math warps(4) replicas(2) registers(240) { ... }
      warp.role @load warps(1) registers(24) { ... }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ConfinedAttr<I64Attr, [IntPositive]>:$warps,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$replicas,
                       OptionalAttr<I64Attr>:$registers, UnitAttr:$leader);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `warps` `(` $warps `)` (`replicas` `(` $replicas^ `)`)? (`registers` `(` $registers^ `)`)?
    (`leader` $leader^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Warp_ReplicaIndexOp : Warp_Op<"replica_index", [Pure]> {
  let summary = "Index of the executing replica within its role";
  let description = [{
    ```mlir
    %r = warp.replica_index
    ```
  }];
  let results = (outs I32:$index);
  let assemblyFormat = "attr-dict";
}

def Warp_ForEachTileOp : Warp_Op<"for_each_tile", [SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "The loop of one CTA over its tiles";
  let description = [{
    Runs the body for each tile (i, j) of an `m` x `n` grid of tiles that falls to this CTA, in an order that keeps
    `group` rows of tiles (a number or a value) together in L2 (`group` = 1: row by row). All roles of a kernel must walk
    the same tiles. `step = replica`: the replicas of the role take the CTA's tiles in turn; rings whose slots belong to
    a skipped tile are skipped with it. With `warp.scheduler = "dynamic"` (in all roles) a CTA draws its next tile from a
    counter when it is done with one, which evens out tiles that differ in length. Where tiles get shorter along a row,
    `warp.hold_back = 4` has the last quarter of each row drawn after the others of many rows: a launch ends evenly.

    ```mlir
    warp.for_each_tile (%i, %j) in (%m, %n) group(16) { ... }
    warp.for_each_tile (%i, %j) in (%m, %n) group(%g) attributes {warp.scheduler = "dynamic"} { ... }
    ```
  }];
  let arguments = (ins I32:$m, I32:$n, Optional<I32>:$groupSize,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$group,
                       DefaultValuedAttr<Warp_TileStep, "TileStep::All">:$step);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // TILELOOM_DIALECTS_WARP_TD
