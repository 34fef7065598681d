//===- Tcgen05Ops.td - The nv dialect: tensor memory and tcgen05 -----*- tablegen -*-===//
//
// The tensor core of sm_100: operands in shared and tensor memory, accumulators in tensor memory, issued by one thread, completion by
// commit to an mbarrier. Tiles are those of one CTA, also when a pair of CTAs works together.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_NV_TCGEN05_OPS_TD
#define TILELOOM_DIALECTS_NV_TCGEN05_OPS_TD

defvar NV_CtaGroup = DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<2>]>, "1">;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def NV_Tcgen05MmaOp : NV_Op<"tcgen05.mma", [NV_SingleThread]> {
  let summary = "Issues an asynchronous matrix product into tensor memory";
  let description = [{
    d = a · b, plus d where `accumulate` is true (a run-time choice: no zeroing, no peeled first step). One thread issues it.
    - a [M, K] lies in shared memory, or in tensor memory with K contiguous; b [K, N] in shared memory; d [M, N] in tensor memory;
    - M is 64 or 128, N a multiple of 8 up to 256 (of 16 with a in tensor memory and M = 128; for 8-bit types of 16 where N is
      contiguous), K a multiple of 32 bytes;
    - f16, bf16; f32 (read as tf32); 8-bit floats; i8. d is f32 (f16 for f16 and 8-bit floats if so typed; i32 for i8);
    - with `cta_group(2)` the even CTA of a pair issues for both: each CTA has 128 rows of a and d, and half of the columns of b;
      d has all columns, M is 256 and N a multiple of 16 (32 for a in tensor memory). All tcgen05 operations of a kernel
      have the same group.

    The result is there once a release of kind `tcgen05` that follows has completed.

    ```mlir
    nv.tcgen05.mma %a, %b, %d accumulate(%more) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x256xbf16>, !nv.memdesc<128x256xf32, tmem>
    ```
  }];
  let arguments = (ins NV_MemDescType:$a, NV_MemDescType:$b, NV_MemDescType:$d, I1:$accumulate, NV_CtaGroup:$cta_group);
  let assemblyFormat = [{
    $a `,` $b `,` $d `accumulate` `(` $accumulate `)` (`cta_group` `(` $cta_group^ `)`)? attr-dict
    `:` type($a) `,` type($b) `,` type($d)
  }];
  let hasVerifier = 1;
}

def NV_Tcgen05MmaScaledOp : NV_Op<"tcgen05.mma_scaled", [NV_SingleThread]> {
  let summary = "Issues an asynchronous matrix product of block-scaled operands";
  let description = [{
    As `nv.tcgen05.mma`, with each block of `block` elements along K of a and b multiplied by its scale factor. The scales
    are in tensor memory, one byte each: scale_a [M, K / block] of this CTA's rows, scale_b [N, K / block] of all columns.
    - 8-bit floats with `block(32)` and f8E8M0FNU scales (kind mxf8f6f4);
    - f4E2M1FN with `block(32)` and f8E8M0FNU scales (mxf4), or `block(16)` and f8E8M0FNU or f8E4M3FN scales (mxf4nvf4);
    - M is 128 in each CTA, d is f32.

    ```mlir
    nv.tcgen05.mma_scaled %a scale(%sa), %b scale(%sb), %d accumulate(%more) block(32)
      : !nv.memdesc<128x128xf8E4M3FN>, !nv.memdesc<128x4xf8E8M0FNU, tmem>, !nv.memdesc<128x256xf8E4M3FN>, !nv.memdesc<256x4xf8E8M0FNU, tmem>, !nv.memdesc<128x256xf32, tmem>
    ```
  }];
  let arguments = (ins NV_MemDescType:$a, NV_MemDescType:$scale_a, NV_MemDescType:$b, NV_MemDescType:$scale_b,
                       NV_MemDescType:$d, I1:$accumulate, I64Attr:$block, NV_CtaGroup:$cta_group);
  let assemblyFormat = [{
    $a `scale` `(` $scale_a `)` `,` $b `scale` `(` $scale_b `)` `,` $d `accumulate` `(` $accumulate `)` `block` `(` $block `)`
    (`cta_group` `(` $cta_group^ `)`)? attr-dict `:` type($a) `,` type($scale_a) `,` type($b) `,` type($scale_b) `,` type($d)
  }];
  let hasVerifier = 1;
}

def NV_Tcgen05CpShape : I32EnumAttr<"Tcgen05CpShape", "rows x bits that one tcgen05.cp moves, and the warps that get copies", [
    I32EnumAttrCase<"X128x256b", 0, "x128x256b">, I32EnumAttrCase<"X128x128b", 1, "x128x128b">,
    I32EnumAttrCase<"X64x128b_02_13", 2, "x64x128b_02_13">, I32EnumAttrCase<"X64x128b_01_23", 3, "x64x128b_01_23">,
    I32EnumAttrCase<"X32x128b", 4, "x32x128b">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_Tcgen05CpOp : NV_Op<"tcgen05.cp", [NV_SingleThread]> {
  let summary = "Copies shared memory to tensor memory, asynchronously";
  let description = [{
    PTX ISA 9.7.16.9. The source is a stack of pieces of 128, 64 or 32 rows (the first number of the shape) of 16 or 32 bytes; piece i goes
    to columns 4i (or 8i) of the target. `x64x128b_02_13` puts rows also 64 lanes on, `x64x128b_01_23` each half also 32 lanes on, `x32x128b`
    into all four quadrants: how scale factors have to lie. In order before the `nv.tcgen05.mma` that this thread issues next.

    ```mlir
    nv.tcgen05.cp %s to %t x32x128b : !nv.memdesc<64x16xi8>, !nv.memdesc<256x4xf8E8M0FNU, tmem>
    ```
  }];
  let arguments = (ins NV_MemDescType:$source, NV_MemDescType:$target, NV_Tcgen05CpShape:$shape, NV_CtaGroup:$cta_group);
  let assemblyFormat = [{
    $source `to` $target $shape (`cta_group` `(` $cta_group^ `)`)? attr-dict `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tensor memory and registers
//===----------------------------------------------------------------------===//

def NV_MemDescReinterpretOp : NV_Op<"memdesc.reinterpret", [Pure]> {
  let summary = "Another tile in the columns of a tile in tensor memory";
  let description = [{
    The tile of the result's type that starts at column `column` (32-bit columns) of the source: two values that share tensor memory.

    ```mlir
    %p = nv.memdesc.reinterpret %s at 0 : !nv.memdesc<128x128xf32, tmem> -> !nv.memdesc<128x128xbf16, tmem>
    ```
  }];
  let arguments = (ins NV_MemDescType:$source, ConfinedAttr<I64Attr, [IntNonNegative]>:$column);
  let results = (outs NV_MemDescType:$result);
  let assemblyFormat = "$source `at` $column attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NV_TmemLoadOp : NV_Op<"tmem.load"> {
  let summary = "Reads a tile of tensor memory to registers";
  let description = [{
    By whole warpgroups: warp w reads lanes 32w to 32w + 31. 128 rows give one row to each thread; 64 rows give the fragments of a wgmma
    accumulator. Asynchronous in hardware; `nv-insert-tcgen05-fences` adds the waits.

    ```mlir
    %x = nv.tmem.load %d : !nv.memdesc<128x64xf32, tmem> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins NV_MemDescType:$view);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$view attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def NV_TmemStoreOp : NV_Op<"tmem.store"> {
  let summary = "Writes a register tile to tensor memory";
  let description = [{
    As `nv.tmem.load`.

    ```mlir
    nv.tmem.store %p to %t : tensor<128x128xbf16>, !nv.memdesc<128x128xbf16, tmem>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, NV_MemDescType:$view);
  let assemblyFormat = "$value `to` $view attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}

def NV_TmemWaitLoadOp : NV_Op<"tmem.wait_load", [AllTypesMatch<["inputs", "results"]>]> {
  let summary = "Waits for this thread's tensor memory reads and gives back the values";
  let description = [{
    ```mlir
    %y = nv.tmem.wait_load %x : tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
}

def NV_TmemWaitStoreOp : NV_Op<"tmem.wait_store"> {
  let summary = "Waits for this thread's tensor memory writes";
  let description = [{
    ```mlir
    nv.tmem.wait_store
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// What rings and buffers lower to
//===----------------------------------------------------------------------===//

def NV_Tcgen05FenceOp : NV_Op<"tcgen05.fence", [NV_SingleThread]> {
  let summary = "Orders tcgen05 operations around a synchronisation of threads";
  let description = [{
    Without `after`: this thread's earlier tcgen05 operations come before the arrival that follows. With `after`: later ones come
    after the wait that precedes (PTX ISA 9.7.16.6).

    ```mlir
    nv.tcgen05.fence after
    ```
  }];
  let arguments = (ins UnitAttr:$after);
  let assemblyFormat = "(`after` $after^)? attr-dict";
}

def NV_Tcgen05CommitOp : NV_Op<"tcgen05.commit", [NV_SingleThread]> {
  let summary = "Arrives on an mbarrier when the tcgen05 operations issued so far have completed";
  let description = [{
    With `to` on the mbarriers at the same place in several CTAs of the cluster.

    ```mlir
    nv.tcgen05.commit %full to pair cta_group(2)
    ```
  }];
  let arguments = (ins NV_BarrierType:$barrier, NV_Targets:$targets, NV_CtaGroup:$cta_group);
  let assemblyFormat = "$barrier `to` $targets (`cta_group` `(` $cta_group^ `)`)? attr-dict";
}

def NV_TmemAllocOp : NV_Op<"tmem.alloc"> {
  let summary = "Columns of tensor memory for the kernel's whole life";
  let description = [{
    `count` slots of `stride` columns; `column` is their place in the kernel's allocation once `nv-allocate-tensor-memory` has run.

    ```mlir
    %columns = nv.tmem.alloc 2 x 128
    ```
  }];
  let arguments = (ins I64Attr:$count, I64Attr:$stride, OptionalAttr<I64Attr>:$column, OptionalAttr<StrAttr>:$name);
  let results = (outs Res<I32, "columns", [MemAlloc]>:$base);
  let assemblyFormat = "$count `x` $stride (`at` $column^)? attr-dict";
}

def NV_TmemReserveOp : NV_Op<"tmem.reserve"> {
  let summary = "Allocates the kernel's tensor memory, at its head, and frees it at its tail";
  let description = [{
    By one warp, in both CTAs of a pair; `address` is the word of shared memory that gets the first column.

    ```mlir
    nv.tmem.reserve %word, 256 : !nv.barrier
    ```
  }];
  let arguments = (ins AnyType:$address, I64Attr:$columns, NV_CtaGroup:$cta_group);
  let assemblyFormat = "$address `,` $columns (`cta_group` `(` $cta_group^ `)`)? attr-dict `:` type($address)";
}

def NV_TmemBaseOp : NV_Op<"tmem.base", [Pure]> {
  let summary = "The kernel's first column of tensor memory";
  let description = [{
    ```mlir
    %first = nv.tmem.base %word : !nv.barrier
    ```
  }];
  let arguments = (ins AnyType:$address);
  let results = (outs I32:$base);
  let assemblyFormat = "$address attr-dict `:` type($address)";
}

def NV_TmemViewOp : NV_Op<"tmem.view", [Pure]> {
  let summary = "A tile at a column in a slot of tensor memory";
  let description = [{
    ```mlir
    %acc = nv.tmem.view %columns[%stage] stride 128 column 0 -> !nv.memdesc<128x128xf32, tmem>
    ```
  }];
  let arguments = (ins I32:$base, I32:$slot, I64Attr:$stride, I64Attr:$column);
  let results = (outs NV_MemDescType:$result);
  let assemblyFormat = "$base `[` $slot `]` `stride` $stride `column` $column attr-dict `->` type($result)";
}

#endif // TILELOOM_DIALECTS_NV_TCGEN05_OPS_TD
