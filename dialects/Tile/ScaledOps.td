//===- ScaledOps.td - The tile dialect: products with block scales ---*- tablegen -*-===//
//
// The first pass of the tile stage leaves none of these: their classes are in a header of their own.
//
//===------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_TILE_SCALED_OPS_TD
#define TILELOOM_DIALECTS_TILE_SCALED_OPS_TD

def Tile_DotScaledOp : Tile_Op<"dot_scaled", [Pure, AttrSizedOperandSegments,
    OptionalTypesMatchWith<"the accumulator has the type of the result", "result", "acc", "$_self">]> {
  let summary = "Matrix product of operands with scales of blocks along K, added to an accumulator";
  let description = [{
    result = (a * scale_a) · (b * scale_b) + acc for a [M, K], b [K, N]: each block of 32 elements along K of a row of a (a column of b) has a power of
    two, scale_a [M, K / 32] (scale_b [N, K / 32]), either of which may be left out. At least one is there.
    - a and b are of 8-bit or 16-bit floats, each of its own; the result is f32;
    - scales are the bits of f8E8M0FNU, as i8: 2^(s - 127), and NaN for 255, which `fast` lets be anything.

    The operands are multiplied by their scales in bf16, exactly unless that leaves its range (`tile-expand-scaled-products`).

    ```mlir
    %d = tile.dot_scaled %a scale(%sa), %b scale(%sb) acc(%c) : tensor<128x64xf8E4M3FN> scale tensor<128x2xi8>, tensor<64x256xf8E5M2> scale tensor<256x2xi8> -> tensor<128x256xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, Optional<AnyRankedTensor>:$scale_a, AnyRankedTensor:$b, Optional<AnyRankedTensor>:$scale_b,
                       Optional<AnyRankedTensor>:$acc, UnitAttr:$fast);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a (`scale` `(` $scale_a^ `)`)? `,` $b (`scale` `(` $scale_b^ `)`)? (`acc` `(` $acc^ `)`)? (`fast` $fast^)? attr-dict
    `:` type($a) (`scale` type($scale_a)^)? `,` type($b) (`scale` type($scale_b)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements along K that share a scale.
    static constexpr int64_t block = 32;
  }];
}

#endif // TILELOOM_DIALECTS_TILE_SCALED_OPS_TD
