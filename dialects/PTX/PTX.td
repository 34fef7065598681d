//===- PTX.td - The ptx dialect: what NVVM cannot say ----------------*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_PTX_TD
#define TILELOOM_DIALECTS_PTX_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PTX_Dialect : Dialect {
  let name = "ptx";
  let cppNamespace = "::tileloom::ptx";
  let summary = "The few instructions that the NVVM dialect cannot express.";
  let description = [{
    One op for one PTX instruction, on scalars; each becomes one inline assembly call. Everything that NVVM can say is said with NVVM.
    See Rationale.md.
  }];
}

class PTX_Op<string mnemonic, list<Trait> traits = []> : Op<PTX_Dialect, mnemonic, traits>;

def PTX_MatrixType : I32EnumAttr<"MatrixType", "element type of a matrix operand", [
    I32EnumAttrCase<"F16", 0, "f16">, I32EnumAttrCase<"BF16", 1, "bf16">, I32EnumAttrCase<"TF32", 2, "tf32">,
    I32EnumAttrCase<"E4M3", 3, "e4m3">, I32EnumAttrCase<"E5M2", 4, "e5m2">, I32EnumAttrCase<"S8", 5, "s8">,
    I32EnumAttrCase<"U8", 6, "u8">]> {
  let cppNamespace = "::tileloom::ptx";
}

def PTX_WgmmaOp : PTX_Op<"wgmma", [AttrSizedOperandSegments]> {
  let summary = "wgmma.mma_async, one instruction";
  let description = [{
    m64nNkK of one warpgroup (PTX ISA 9.7.15.5). `a` is a matrix descriptor (one i64) or four 32-bit registers; `acc` the N/2 accumulators (N/4 of i32 for f16, two in each), which are
    tied to the results; without them the product starts from zero. `scale_d`, if given, selects at run time.
    NVVM's op has no A in registers, a static scale-d, and always ties C.
  }];
  let arguments = (ins Variadic<AnyType>:$acc, Variadic<AnyType>:$a, I64:$b, Optional<I1>:$scale_d,
                       I64Attr:$n, I64Attr:$k, PTX_MatrixType:$a_type, PTX_MatrixType:$b_type, TypeAttr:$d_type,
                       UnitAttr:$trans_a, UnitAttr:$trans_b, UnitAttr:$satfinite);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    `n` $n `k` $k $a_type $b_type $d_type `a` `(` $a `:` type($a) `)` `b` `(` $b `)`
    (`acc` `(` $acc^ `:` type($acc) `)`)? (`scale_d` `(` $scale_d^ `)`)? attr-dict `->` type($results)
  }];
  let hasVerifier = 1;
}

def PTX_WgmmaWaitOp : PTX_Op<"wgmma_wait", [AttrSizedOperandSegments, AllTypesMatch<["inputs", "results"]>]> {
  let summary = "wgmma.wait_group with the values that it completes";
  let description = [{
    The results are the inputs, usable from here on; the tie keeps LLVM from moving a reader before the wait. With `after`, a store to
    `scratch` under a condition on that value that never holds keeps ptxas from moving the wait before the value's
    computation (measured: -4 to -6 % attention without it).
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Optional<F32>:$after, Optional<AnyType>:$scratch,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $pending (`after` `(` $after^ `,` $scratch `:` type($scratch) `)`)? (`,` $inputs^ `:` type($inputs))? attr-dict
  }];
  let hasVerifier = 1;
}

def PTX_TmemLoadOp : PTX_Op<"tmem_load"> {
  let summary = "tcgen05.ld, one instruction";
  let description = [{
    A result for each 32-bit register. NVVM's op gives a vector, which LLVM takes apart into 64-bit pairs before the wait, and so
    reads registers that are still being written.
  }];
  let arguments = (ins StrAttr:$shape, I64Attr:$count, I32:$address);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$shape `x` $count `[` $address `]` attr-dict `:` type($results)";
}

def PTX_TmemWaitLoadOp : PTX_Op<"tmem_wait_load", [AllTypesMatch<["inputs", "results"]>]> {
  let summary = "tcgen05.wait::ld with the values that it completes";
  let description = [{
    The results are the inputs, usable from here on. NVVM's op has no operands: LLVM would move readers before it.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "($inputs^ `:` type($inputs))? attr-dict";
}

#endif // TILELOOM_DIALECTS_PTX_TD
