//===- Tile.td - The tile dialect: what a kernel computes ------------*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_TILE_TD
#define TILELOOM_DIALECTS_TILE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tileloom::tile";
  let summary = "What one block of work computes, without saying who does it.";
  let description = [{
    Values are layout-free tensors; a kernel is a `func.func` with the unit attribute `tile.kernel`. So far the
    dialect holds only what the lower levels share with it: the descriptor type of a boxed global tensor.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 0;
  let hasOperationAttrVerify = 1;
}

def Tile_DescType : TypeDef<Tile_Dialect, "Desc"> {
  let mnemonic = "desc";
  let summary = "A global tensor seen through boxes of one shape";
  let description = [{
    A kernel argument of this type stands for a whole tensor in global memory (the host passes pointer, shape and
    strides) that is read or written in boxes of the given shape. Rank 1 to 5; the last dimension is contiguous.
    How a box maps to hardware copies (tensor map, swizzle, several copies of at most 256 x 128 bytes) is decided by
    the compiler once shared memory layouts are known.

    Example: `!tile.desc<128x64xbf16>`, `!tile.desc<1x128x1x64xbf16>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // TILELOOM_DIALECTS_TILE_TD
