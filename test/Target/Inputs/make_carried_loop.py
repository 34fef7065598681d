"""Prints a kernel with a loop of four iterations that carries the given number of fp32 values."""
import sys

count = int(sys.argv[1])
types = ", ".join(["f32"] * count)
print("llvm.func @k(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {")
print("  %c0 = llvm.mlir.constant(0 : i32) : i32\n  %c1 = llvm.mlir.constant(1 : i32) : i32\n  %c4 = llvm.mlir.constant(4 : i32) : i32")
for k in range(count):  # all different, or LLVM would carry one value
    print(f"  %f{k} = llvm.mlir.constant({k}.0 : f32) : f32\n  %q{k} = llvm.fmul %x, %f{k} : f32")
print(f"  llvm.br ^loop(%c0, {', '.join(f'%q{k}' for k in range(count))} : i32, {types})")
print(f"^loop(%i: i32, {', '.join(f'%p{k}: f32' for k in range(count))}):")
for k in range(count):
    print(f"  %s{k} = llvm.fadd %p{k}, %p{(k + 1) % count} : f32")
print("  %n = llvm.add %i, %c1 : i32\n  %more = llvm.icmp \"slt\" %n, %c4 : i32")
print(f"  llvm.cond_br %more, ^loop(%n, {', '.join(f'%s{k}' for k in range(count))} : i32, {types}), ^done")
print("^done:")
for k in range(count):
    print(f"  %i{k} = llvm.mlir.constant({k} : i32) : i32")
    print(f"  %a{k} = llvm.getelementptr %out[%i{k}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32")
    print(f"  llvm.store %s{k}, %a{k} : f32, !llvm.ptr<1>")
print("  llvm.return\n}")
