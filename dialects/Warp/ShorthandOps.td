//===- ShorthandOps.td - The warp dialect: what passes expand ------------*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_WARP_SHORTHANDOPS_TD
#define TILELOOM_DIALECTS_WARP_SHORTHANDOPS_TD

//===----------------------------------------------------------------------===//
// Shorthand (warp-expand-stores, warp-expand-channels)
//===----------------------------------------------------------------------===//

def Warp_StoreOp : Warp_Op<"store"> {
  let summary = "Writes a register tile to a global tensor through a staging ring";
  let description = [{
    Short for: acquire a slot of the ring, write the tile to it, copy it to the box of `desc` at `coordinates`, release the slot to the
    same ring once it has been read. The ring is one that this role alone uses, over a buffer of one view. `reduce` as in `nv.tma.store`.

    ```mlir
    %staged = warp.channel : !warp.buffer<2 x [64x64xbf16]>
    warp.store %p to %C[%i, %j] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, AnyType:$desc, Variadic<I32>:$coordinates, Warp_RingType:$ring,
                       OptionalAttr<Warp_StoreReduce>:$reduce);
  let assemblyFormat = [{
    $value `to` $desc `[` $coordinates `]` (`reduce` `(` $reduce^ `)`)? `through` $ring attr-dict `:` type($value) `,` type($desc)
  }];
  let hasVerifier = 1;
}

def Warp_ChannelOp : Warp_Op<"channel"> {
  let summary = "A buffer and its rings, in the order in which slots travel";
  let description = [{
    Short for a `warp.buffer` and one `warp.ring` for each result, of which the first starts `released`.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
    ```
  }];
  let arguments = (ins TypeAttrOf<Warp_BufferType>:$buffer, UnitAttr:$per_replica);
  let results = (outs Variadic<Warp_RingType>:$rings);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Warp_TakeOp : Warp_Op<"take"> {
  let summary = "Waits for the next slot of a ring and gives its token and views";
  let description = [{
    Short for `warp.acquire` and `warp.slot`. `alternate`: the replicas of the role take the slots of the ring in turn, replica 0
    the first one; without it each replica takes every slot.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16]>
    %t, %k = warp.take %ready : !nv.memdesc<128x64xbf16>
    warp.release %t to %free generic
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, UnitAttr:$alternate);
  let results = (outs Warp_TokenType:$token, Variadic<AnyType>:$views);
  let assemblyFormat = "$ring (`alternate` $alternate^)? attr-dict `:` type($views)";
  let hasVerifier = 1;
}

def Warp_LoadOp : Warp_Op<"load"> {
  let summary = "Loads a box of a global tensor into the next slot of a ring and passes it on";
  let description = [{
    Short for: acquire a slot of the first ring, copy the box of `desc` at `coordinates` to it, release it to the second ring once its
    bytes have come. The buffer has one view.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<4 x [128x64xbf16]>
    warp.load %K[%i, %j] through %free to %ready : !tile.desc<128x64xbf16>
    ```
  }];
  let arguments = (ins AnyType:$desc, Variadic<I32>:$coordinates, Warp_RingType:$ring, Warp_RingType:$to);
  let assemblyFormat = "$desc `[` $coordinates `]` `through` $ring `to` $to attr-dict `:` type($desc)";
  let hasVerifier = 1;
}

def Warp_PutOp : Warp_Op<"put"> {
  let summary = "Writes a register tile to the next slot of a ring and passes it on";
  let description = [{
    Short for: acquire a slot of the first ring, write the tile to it, release it to the second ring (`generic`). `alternate` as in
    `warp.take`.

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<2 x [128xf32]>
    warp.put %v through %free to %ready : tensor<128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Warp_RingType:$ring, Warp_RingType:$to, UnitAttr:$alternate);
  let assemblyFormat = "$value `through` $ring `to` $to (`alternate` $alternate^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Warp_GetOp : Warp_Op<"get"> {
  let summary = "Reads the next slot of a ring into a register tile and passes it on";
  let description = [{
    Short for: acquire a slot of the first ring, read it, release it to the second ring (`generic`).

    ```mlir
    %free, %ready = warp.channel : !warp.buffer<2 x [128xf32]>
    %v = warp.get %ready to %free : tensor<128xf32>
    ```
  }];
  let arguments = (ins Warp_RingType:$ring, Warp_RingType:$to);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "$ring `to` $to attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif // TILELOOM_DIALECTS_WARP_SHORTHANDOPS_TD
