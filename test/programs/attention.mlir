// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// Attention forward: O = softmax(scale * Q K^T) V and its log-sum-exp, head dimension 128, in bf16. q, k, v, o are [B, S, H, 128],
// lse [B, H, S] in fp32; scale includes log2(e). Key tiles are walked from the last to the first, so that only the first one taken
// can be ragged.

func.func @attention(%Q: !tile.desc<1x128x1x128xbf16>, %K: !tile.desc<1x128x1x128xbf16>, %V: !tile.desc<1x128x1x128xbf16>,
                     %O: !tile.desc<1x128x1x128xbf16>, %lse: i64 {tile.pointer = f32}, %batches: i32, %heads: i32, %length: i32, %scale: f32)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %none = arith.constant dense<0xFF800000> : tensor<128xf32>
  %never = arith.constant dense<0xFF800000> : tensor<128x128xf32>
  %nothing = arith.constant dense<0.0> : tensor<128xf32>
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %ln2 = arith.constant dense<0.693147181> : tensor<128xf32>
  %tiles = arith.ceildivui %length, %c128 : i32
  tile.for_each_tile (%b, %h, %i) in (%batches, %heads, %tiles) {
    %m = arith.muli %i, %c128 : i32
    %q = tile.load %Q[%b, %m, %h, %c0] : !tile.desc<1x128x1x128xbf16> -> tensor<128x128xbf16>
    %scales = tile.splat %scale : f32 -> tensor<128x128xf32>
    %scaleRow = tile.splat %scale : f32 -> tensor<128xf32>
    %acc, %top, %total = scf.for %j = %c0 to %tiles step %c1
        iter_args(%acc0 = %zero, %top0 = %none, %total0 = %nothing)
        -> (tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>) : i32 {
      %left = arith.subi %tiles, %j : i32
      %index = arith.subi %left, %c1 : i32
      %n = arith.muli %index, %c128 : i32
      %k = tile.load %K[%b, %n, %h, %c0] : !tile.desc<1x128x1x128xbf16> -> tensor<128x128xbf16>
      %kt = tile.trans %k : tensor<128x128xbf16> -> tensor<128x128xbf16>
      %s0 = tile.dot %q, %kt : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
      %column = tile.iota : tensor<128xi32>
      %first = tile.splat %n : i32 -> tensor<128xi32>
      %at = arith.addi %column, %first : tensor<128xi32>
      %end = tile.splat %length : i32 -> tensor<128xi32>
      %inside = arith.cmpi slt, %at, %end : tensor<128xi32>
      %insideRow = tile.expand_dims %inside dim(0) : tensor<128xi1> -> tensor<1x128xi1>
      %visible = tile.broadcast %insideRow : tensor<1x128xi1> -> tensor<128x128xi1>
      %s = arith.select %visible, %s0, %never : tensor<128x128xi1>, tensor<128x128xf32>
      %high = tile.reduce max %s dim(1) : tensor<128x128xf32> -> tensor<128xf32>
      %top1 = arith.maxnumf %top0, %high : tensor<128xf32>
      %shift = arith.mulf %top1, %scaleRow fastmath<contract> : tensor<128xf32>
      %shiftColumn = tile.expand_dims %shift dim(1) : tensor<128xf32> -> tensor<128x1xf32>
      %shifts = tile.broadcast %shiftColumn : tensor<128x1xf32> -> tensor<128x128xf32>
      %scaled = arith.mulf %s, %scales fastmath<contract> : tensor<128x128xf32>
      %x = arith.subf %scaled, %shifts fastmath<contract> : tensor<128x128xf32>
      %p = math.exp2 %x : tensor<128x128xf32>
      %fall = arith.subf %top0, %top1 : tensor<128xf32>
      %fallScaled = arith.mulf %fall, %scaleRow : tensor<128xf32>
      %alpha = math.exp2 %fallScaled : tensor<128xf32>
      %sum = tile.reduce add %p dim(1) : tensor<128x128xf32> -> tensor<128xf32>
      %kept = arith.mulf %total0, %alpha fastmath<contract> : tensor<128xf32>
      %total1 = arith.addf %kept, %sum fastmath<contract> : tensor<128xf32>
      %alphaColumn = tile.expand_dims %alpha dim(1) : tensor<128xf32> -> tensor<128x1xf32>
      %alphas = tile.broadcast %alphaColumn : tensor<128x1xf32> -> tensor<128x128xf32>
      %acc1 = arith.mulf %acc0, %alphas : tensor<128x128xf32>
      %p16 = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xbf16>
      %v = tile.load %V[%b, %n, %h, %c0] : !tile.desc<1x128x1x128xbf16> -> tensor<128x128xbf16>
      %acc2 = tile.dot %p16, %v acc(%acc1) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
      scf.yield %acc2, %top1, %total1 : tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>
    }
    %inverse = arith.divf %one, %total fastmath<arcp> : tensor<128xf32>
    %inverseColumn = tile.expand_dims %inverse dim(1) : tensor<128xf32> -> tensor<128x1xf32>
    %inverses = tile.broadcast %inverseColumn : tensor<128x1xf32> -> tensor<128x128xf32>
    %o = arith.mulf %acc, %inverses : tensor<128x128xf32>
    %o16 = arith.truncf %o : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %o16 to %O[%b, %m, %h, %c0] : tensor<128x128xbf16>, !tile.desc<1x128x1x128xbf16>
    %log = math.log2 %total : tensor<128xf32>
    %topScaled = arith.mulf %top, %scaleRow : tensor<128xf32>
    %l2 = arith.addf %topScaled, %log : tensor<128xf32>
    %l = arith.mulf %l2, %ln2 : tensor<128xf32>
    %row = tile.iota : tensor<128xi32>
    %rowFirst = tile.splat %m : i32 -> tensor<128xi32>
    %rowAt = arith.addi %row, %rowFirst : tensor<128xi32>
    %rowEnd = tile.splat %length : i32 -> tensor<128xi32>
    %valid = arith.cmpi slt, %rowAt, %rowEnd : tensor<128xi32>
    %bh0 = arith.muli %b, %heads : i32
    %bh = arith.addi %bh0, %h : i32
    %bh64 = arith.extsi %bh : i32 to i64
    %length64 = arith.extsi %length : i32 to i64
    %head = arith.muli %bh64, %length64 : i64
    %heads64 = tile.splat %head : i64 -> tensor<128xi64>
    %rowAt64 = arith.extsi %rowAt : tensor<128xi32> to tensor<128xi64>
    %offset = arith.addi %heads64, %rowAt64 : tensor<128xi64>
    tile.scatter %l to %lse[%offset] mask(%valid : tensor<128xi1>) : tensor<128xf32>, tensor<128xi64>
  }
  return
}
