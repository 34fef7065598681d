//===- NV.td - The nv dialect: types, attributes ---------------------*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_NV_TD
#define TILELOOM_DIALECTS_NV_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def NV_Dialect : Dialect {
  let name = "nv";
  let cppNamespace = "::tileloom::nv";
  let summary = "One op for each hardware mechanism, sized for tiles.";
  let description = [{
    Register tiles are ranked tensors, whose encoding is a register layout once `nv-assign-layouts` has run; tiles in shared
    and tensor memory are `!nv.memdesc` values. An op here stands for one mechanism (TMA, mbarrier, wgmma, tcgen05,
    stmatrix, …) applied to a whole tile; splitting into instructions happens in the emit stage. See Rationale.md.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tileloom::tile::TileDialect"];
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def NV_MemorySpace : I32EnumAttr<"MemorySpace", "where a tile lies", [
    I32EnumAttrCase<"Smem", 0, "smem">, I32EnumAttrCase<"Tmem", 1, "tmem">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_CacheHint : I32EnumAttr<"CacheHint", "L2 eviction priority", [
    I32EnumAttrCase<"Normal", 0, "evict_normal">, I32EnumAttrCase<"First", 1, "evict_first">,
    I32EnumAttrCase<"Last", 2, "evict_last">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Mul", 3, "mul">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_AtomicKind : I32EnumAttr<"AtomicKind", "what an atomic operation does to memory", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Umax", 3, "umax">, I32EnumAttrCase<"Umin", 4, "umin">, I32EnumAttrCase<"And", 5, "and">,
    I32EnumAttrCase<"Or", 6, "or">, I32EnumAttrCase<"Xor", 7, "xor">, I32EnumAttrCase<"Xchg", 8, "xchg">,
    I32EnumAttrCase<"Cas", 9, "cas">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_MemScope : I32EnumAttr<"MemScope", "for whom an operation is atomic or ordered", [
    I32EnumAttrCase<"Gpu", 0, "gpu">, I32EnumAttrCase<"Cta", 1, "cta">, I32EnumAttrCase<"Sys", 2, "sys">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_Issuer : I32EnumAttr<"Issuer", "which threads of a role perform an operation", [
    I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Warp", 1, "warp">, I32EnumAttrCase<"Role", 2, "role">]> {
  let cppNamespace = "::tileloom::nv";
  let description = [{
    `all`: every thread; `warp`: one thread of each warp; `role`: one thread of the replica, always the same one.
  }];
}

//===----------------------------------------------------------------------===//
// Register layouts
//===----------------------------------------------------------------------===//

class NV_Layout<string name, string attrMnemonic> : AttrDef<NV_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def NV_WgmmaAccAttr : NV_Layout<"WgmmaAcc", "wgmma_acc"> {
  let summary = "Accumulator fragments of wgmma";
  let description = [{PTX ISA 9.7.15.5.1: rows 16w + t/4 (+8), column pairs 8j + 2(t%4). Rows are blocks of 64, columns of 8.}];
  let parameters = (ins DefaultValuedParameter<"int64_t", "4">:$warps);
  let assemblyFormat = "(`<` struct($warps)^ `>`)?";
}

def NV_WgmmaAAttr : NV_Layout<"WgmmaA", "wgmma_a"> {
  let summary = "A operand fragments of wgmma";
  let description = [{
    PTX ISA 9.7.15.5.1; element width 8, 16 or 32 bits from the tensor. `paired`: of a tile of 8 bits, the columns that a thread of an
    accumulator holds, in its order. B has its rows in the same order (`paired` of #nv.smem).
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "4">:$warps, DefaultValuedParameter<"bool", "false">:$paired);
  let assemblyFormat = "(`<` struct($warps, $paired)^ `>`)?";
}

class NV_MmaLayout<string name, string attrMnemonic, string what> : NV_Layout<name, attrMnemonic> {
  let summary = what # " fragments of mma.sync";
  let description = [{
    PTX ISA 9.7.14.5: m16n8 fragments, K in steps of 32 bytes. `rows` x `columns` warps tile the product; those in a row hold the same
    part of A, those in a column the same part of B.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` struct($rows, $columns) `>`";
}

def NV_MmaAccAttr : NV_MmaLayout<"MmaAcc", "mma_acc", "Accumulator">;
def NV_MmaAAttr : NV_MmaLayout<"MmaA", "mma_a", "A operand">;
def NV_MmaBAttr : NV_MmaLayout<"MmaB", "mma_b", "B operand">;

def NV_BlockedAttr : NV_Layout<"Blocked", "blocked"> {
  let summary = "Each thread holds a small block; blocks tile the tensor";
  let parameters = (ins ArrayRefParameter<"int64_t">:$sizePerThread, ArrayRefParameter<"int64_t">:$threadsPerWarp,
                        ArrayRefParameter<"int64_t">:$warpsPerRole, ArrayRefParameter<"int64_t">:$order);
  let assemblyFormat = [{`<` `[` $sizePerThread `]` `,` `[` $threadsPerWarp `]` `,` `[` $warpsPerRole `]` `,` `[` $order `]` `>`}];
}

def NV_TmemShape : I32EnumAttr<"TmemShape", "lanes x bits of tcgen05.ld and st", [
    I32EnumAttrCase<"S32x32b", 0, "s32x32b">, I32EnumAttrCase<"S16x64b", 1, "s16x64b">,
    I32EnumAttrCase<"S16x128b", 2, "s16x128b">, I32EnumAttrCase<"S16x256b", 3, "s16x256b">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_TmemLoadAttr : NV_Layout<"TmemLoad", "tmem_load"> {
  let summary = "What tcgen05.ld gives: with the shape 32x32b, thread = row and registers = columns";
  let description = [{
    PTX ISA 9.7.16.8: warp w of a warpgroup holds rows 32w … 32w+31 (16w … 16w+15 of a tile of 64 rows, in the 16-lane shapes).
    `bits` is the width of the elements in tensor memory; conversions keep it, since they keep the places.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "4">:$warps,
                        DefaultValuedParameter<"TmemShape", "TmemShape::S32x32b">:$shape,
                        DefaultValuedParameter<"int64_t", "32">:$bits);
  let assemblyFormat = "(`<` struct($warps, $shape, $bits)^ `>`)?";
}

def NV_SliceAttr : NV_Layout<"Slice", "slice"> {
  let summary = "The layout of a tile reduced along one dimension";
  let parameters = (ins "int64_t":$dim, "::mlir::Attribute":$parent);
  let assemblyFormat = "`<` $dim `,` $parent `>`";
}

def NV_TransposedAttr : NV_Layout<"Transposed", "transposed"> {
  let summary = "The layout of a tile of two dimensions whose transpose has another one";
  let description = [{A thread holds element (j, i) where it would hold (i, j) with `parent`: a tile is transposed by renaming.}];
  let parameters = (ins "::mlir::Attribute":$parent);
  let assemblyFormat = "`<` $parent `>`";
}

def NV_RowSlotAttr : NV_Layout<"RowSlot", "row_slot"> {
  let summary = "One of the row groups that each thread holds";
  let description = [{
    With the wgmma accumulator a thread holds rows t/4 and t/4 + 8 of each block of 16; slot 0 of 2 is the tile of all rows
    whose bit 3 is clear, renumbered without that bit.
  }];
  let parameters = (ins "int64_t":$slot, "int64_t":$count, "::mlir::Attribute":$parent);
  let assemblyFormat = "`<` $slot `of` $count `,` $parent `>`";
}

//===----------------------------------------------------------------------===//
// Memory layouts and descriptors
//===----------------------------------------------------------------------===//

def NV_SmemAttr : NV_Layout<"Smem", "smem"> {
  let summary = "Swizzled shared memory";
  let description = [{
    Rows of `swizzle` bytes (0, 32, 64 or 128; 0 keeps whole rows), 16-byte chunks exchanged by address bits as TMA and wgmma
    do (PTX ISA 5.5.7). Wider tiles are several such columns of rows, one after the other. `rows` is the number of rows of the
    allocation when the view is a slice of it (0: the view's own); `transposed` marks a view whose last two dimensions are exchanged.
    `paired`: of each 16 bytes of a row, byte 4t + b is element 2t + b % 2 + 8 (b / 2), so that four neighbours are two pairs of
    neighbours, as in the registers of an accumulator. Only `nv.local_transpose` writes such a tile, and only `nv.wgmma` reads it.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "128">:$swizzle, DefaultValuedParameter<"bool", "false">:$transposed,
                        DefaultValuedParameter<"int64_t", "0">:$rows, DefaultValuedParameter<"bool", "false">:$paired);
  let assemblyFormat = "`<` struct($swizzle, $transposed, $rows, $paired) `>`";
  let genVerifyDecl = 1;
}

def NV_TmemForm : I32EnumAttr<"TmemForm", "how elements lie in tensor memory", [
    I32EnumAttrCase<"Accumulator", 0, "accumulator">, I32EnumAttrCase<"Operand", 1, "operand">,
    I32EnumAttrCase<"Scales", 2, "scales">]> {
  let cppNamespace = "::tileloom::nv";
}

def NV_TmemAttr : NV_Layout<"Tmem", "tmem"> {
  let summary = "A tile in tensor memory";
  let description = [{
    PTX ISA 9.7.16.10: `accumulator` has an element in each 32-bit column, `operand` packs narrower ones densely, `scales` has four scale
    factors of a row in a word and the rows in all four quadrants of lanes. 128 rows are lanes; 64 rows are the
    first 16 lanes of each quadrant.
  }];
  let parameters = (ins "TmemForm":$form);
  let assemblyFormat = "`<` $form `>`";
}

class NV_Type<string name, string typeMnemonic> : TypeDef<NV_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def NV_MemDescType : NV_Type<"MemDesc", "memdesc"> {
  let summary = "A tile in shared or tensor memory";
  let description = [{
    `!nv.memdesc<128x64xbf16>`, with a layout `!nv.memdesc<128x64xbf16, #nv.smem<swizzle = 128>>`, in tensor memory
    `!nv.memdesc<128x256xf32, tmem>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::mlir::Attribute":$layout, "MemorySpace":$space);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumElements() const;
    int64_t getSizeBytes() const;
    MemDescType withLayout(::mlir::Attribute layout) const;
  }];
}

def NV_BarrierType : NV_Type<"Barrier", "barrier"> {
  let summary = "The address of one mbarrier, or of the first of an array of them";
}

#endif // TILELOOM_DIALECTS_NV_TD
