//===- User.td - The user dialect: what the compiler does not look into ---*- tablegen -*-===//

#ifndef TILELOOM_DIALECTS_USER_TD
#define TILELOOM_DIALECTS_USER_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def User_Dialect : Dialect {
  let name = "user";
  let cppNamespace = "::tileloom::user";
  let summary = "What a program says to the host or to the machine, past the compiler.";
  let description = [{
    Prints, checks and assembly of the user's, on tiles or scalars, from the tile program to the emit stage. See Rationale.md.
  }];
}

class User_Op<string mnemonic, list<Trait> traits = []> : Op<User_Dialect, mnemonic, traits>;

def User_PrintOp : User_Op<"print"> {
  let summary = "Prints a line for each element";
  let description = [{
    `format` is C's, with a conversion for each operand; tiles have one shape, scalars are the same on every line. An element that several
    threads hold is printed by one of them; without tiles the role prints one line. Floats are passed as double, integers as they are. The order of lines
    is not said.

    ```mlir
    user.print "idx (%3i) x: %f\0A" (%i, %x : tensor<128xi32>, tensor<128xf32>)
    ```
  }];
  let arguments = (ins StrAttr:$format, Variadic<AnyType>:$values);
  let assemblyFormat = "$format (`(` $values^ `:` type($values) `)`)? attr-dict";
  let hasVerifier = 1;
}

def User_AssertOp : User_Op<"assert"> {
  let summary = "Ends the launch with an error unless all elements are true";
  let description = [{
    The host is told the message, and the place and function in the user's source.

    ```mlir
    user.assert %inside, "index out of range" at "gather.py" : 12 in "gather" : tensor<128xi1>
    ```
  }];
  let arguments = (ins AnyType:$condition, StrAttr:$message, StrAttr:$file, I32Attr:$line, StrAttr:$function);
  let assemblyFormat = "$condition `,` $message `at` $file `:` $line `in` $function attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

def User_AsmOp : User_Op<"asm", [Elementwise, Scalarizable, Vectorizable, Tensorizable,
                                 DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                 DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let summary = "PTX for every element, or for groups of elements";
  let description = [{
    One copy of `text` for each group of `pack` elements that a thread holds, of all tiles the same ones; which elements share a group is not said. In `text`,
    `$0`, `$1`, ... are registers: first those of the results, then those of the inputs; `$$` is a dollar. Each tile has a register for each element of
    a group, but elements of less than 32 bits share registers of 32 bits, the first in the lowest bits. `constraints` names the registers, separated by commas: `=` (or
    `=&`: written before all inputs are read) and a letter for a result, a letter or the number of a result for an input, `~{memory}`. Letters: `h` 16 bits, `r`
    32, `l` 64, `f` f32, `d` f64; narrower integers are extended with zeros. Without `pure` it stays where it is, and is executed as often as the program says.

    ```mlir
    %y = user.asm "ex2.approx.ftz.f32 $0, $1;" constraints "=f,f" pure(%x) : (tensor<128xf32>) -> tensor<128xf32>
    %s = user.asm "add.rn.bf16x2 $0, $1, $2;" constraints "=r,r,r" pack 2 pure(%a, %b)
        : (tensor<128xbf16>, tensor<128xbf16>) -> tensor<128xbf16>
    ```
  }];
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$pack, UnitAttr:$pure,
                       Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $text `constraints` $constraints (`pack` $pack^)? (`pure` $pure^)? `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// A register of the text: its constraint, and which of the results or inputs it belongs to.
    struct Register {
      ::mlir::StringRef constraint;
      char letter;
      unsigned operand;
    };
    /// Those of the results, those of the inputs, and what else the constraints say. Gives what is wrong with them, or an empty text.
    std::string registers(::llvm::SmallVectorImpl<Register> &outputs, ::llvm::SmallVectorImpl<Register> &inputs,
                          ::llvm::SmallVectorImpl<::mlir::StringRef> &clobbers);
    /// Elements of a tile that share a register.
    int64_t perRegister(::mlir::Type type);
  }];
}

#endif // TILELOOM_DIALECTS_USER_TD
