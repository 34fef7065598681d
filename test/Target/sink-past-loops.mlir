// RUN: kernel-opt %s --target=sm_90a --emit=llvmir | FileCheck %s
// RUN: kernel-opt %s --target=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX

// What a store behind an inner loop needs is computed there, once for each iteration of the outer loop, and is in no register through
// the inner one; licm had moved it to the kernel's head. What the inner loop uses stays there, as does what is in front of it: an inner
// loop of one block is a wait.
// CHECK-LABEL: define ptx_kernel void @tiles
// CHECK: %[[T:.*]] = {{.*}}call {{.*}} @llvm.nvvm.read.ptx.sreg.tid.x
// CHECK-NOT: xor
// CHECK-DAG: %[[INNER:.*]] = or disjoint i32 {{.*}}, 3
// CHECK: br
// CHECK: asm sideeffect "work $0;", "r"(i32 %[[INNER]])
// CHECK: asm sideeffect "end of work;"
// CHECK: %[[X:.*]] = xor i32 {{.*}}, 144
// CHECK: asm sideeffect "store $0;", "r"(i32 %[[X]])
// PTX: work
// PTX: xor.b32
// PTX: store
llvm.func @tiles(%tiles: i32, %steps: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c7 = llvm.mlir.constant(7 : i32) : i32
  %c144 = llvm.mlir.constant(144 : i32) : i32
  %c160 = llvm.mlir.constant(160 : i32) : i32
  %c176 = llvm.mlir.constant(176 : i32) : i32
  %c192 = llvm.mlir.constant(192 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  llvm.br ^tile(%c0 : i32)
^tile(%i: i32):
  %row = llvm.shl %t, %c7 : i32
  %inner = llvm.or %row, %c3 : i32
  llvm.br ^step(%c0 : i32)
^step(%k: i32):
  llvm.inline_asm has_side_effects "work $0;", "r" %inner : (i32) -> ()
  llvm.br ^wait
^wait:
  %done = llvm.inline_asm has_side_effects "wait $0;", "=r" : () -> i32
  %is = llvm.icmp "eq" %done, %c0 : i32
  llvm.cond_br %is, ^wait, ^next
^next:
  %k1 = llvm.add %k, %c1 : i32
  %more = llvm.icmp "slt" %k1, %steps : i32
  llvm.cond_br %more, ^step(%k1 : i32), ^end
^end:
  llvm.inline_asm has_side_effects "end of work;", "" : () -> ()
  %x = llvm.xor %row, %c144 : i32
  llvm.inline_asm has_side_effects "store $0;", "r" %x : (i32) -> ()
  %y = llvm.xor %row, %c160 : i32
  llvm.inline_asm has_side_effects "store $0;", "r" %y : (i32) -> ()
  %z = llvm.xor %row, %c176 : i32
  llvm.inline_asm has_side_effects "store $0;", "r" %z : (i32) -> ()
  %w = llvm.xor %row, %c192 : i32
  llvm.inline_asm has_side_effects "store $0;", "r" %w : (i32) -> ()
  %i1 = llvm.add %i, %c1 : i32
  %again = llvm.icmp "slt" %i1, %tiles : i32
  llvm.cond_br %again, ^tile(%i1 : i32), ^out
^out:
  llvm.return
}

// One address is not worth it.
// CHECK-LABEL: define ptx_kernel void @one_address
// CHECK: xor i32 {{.*}}, 16
// CHECK: asm sideeffect "work;"
// CHECK-NOT: xor
// CHECK: ret void
llvm.func @one_address(%tiles: i32, %steps: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  llvm.br ^tile(%c0 : i32)
^tile(%i: i32):
  llvm.br ^step(%c0 : i32)
^step(%k: i32):
  llvm.inline_asm has_side_effects "work;", "" : () -> ()
  llvm.br ^wait
^wait:
  %done = llvm.inline_asm has_side_effects "wait $0;", "=r" : () -> i32
  %is = llvm.icmp "eq" %done, %c0 : i32
  llvm.cond_br %is, ^wait, ^next
^next:
  %k1 = llvm.add %k, %c1 : i32
  %more = llvm.icmp "slt" %k1, %steps : i32
  llvm.cond_br %more, ^step(%k1 : i32), ^end
^end:
  %x = llvm.xor %t, %c16 : i32
  llvm.inline_asm has_side_effects "store $0;", "r" %x : (i32) -> ()
  %i1 = llvm.add %i, %c1 : i32
  %again = llvm.icmp "slt" %i1, %tiles : i32
  llvm.cond_br %again, ^tile(%i1 : i32), ^out
^out:
  llvm.return
}

// Addresses that the next tile's head needs, too, stay where they are.
// CHECK-LABEL: define ptx_kernel void @used_before
// CHECK-COUNT-4: xor i32
// CHECK: asm sideeffect "work;"
// CHECK-NOT: xor
// CHECK: ret void
llvm.func @used_before(%tiles: i32, %steps: i32) attributes {nvvm.kernel} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %c48 = llvm.mlir.constant(48 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %t = nvvm.read.ptx.sreg.tid.x : i32
  llvm.br ^tile(%c0 : i32)
^tile(%i: i32):
  %x = llvm.xor %t, %c16 : i32
  %y = llvm.xor %t, %c32 : i32
  %z = llvm.xor %t, %c48 : i32
  %w = llvm.xor %t, %c64 : i32
  llvm.inline_asm has_side_effects "load $0, $1, $2, $3;", "r,r,r,r" %x, %y, %z, %w : (i32, i32, i32, i32) -> ()
  llvm.br ^step(%c0 : i32)
^step(%k: i32):
  llvm.inline_asm has_side_effects "work;", "" : () -> ()
  llvm.br ^wait
^wait:
  %done = llvm.inline_asm has_side_effects "wait $0;", "=r" : () -> i32
  %is = llvm.icmp "eq" %done, %c0 : i32
  llvm.cond_br %is, ^wait, ^next
^next:
  %k1 = llvm.add %k, %c1 : i32
  %more = llvm.icmp "slt" %k1, %steps : i32
  llvm.cond_br %more, ^step(%k1 : i32), ^end
^end:
  llvm.inline_asm has_side_effects "store $0, $1, $2, $3;", "r,r,r,r" %x, %y, %z, %w : (i32, i32, i32, i32) -> ()
  %i1 = llvm.add %i, %c1 : i32
  %again = llvm.icmp "slt" %i1, %tiles : i32
  llvm.cond_br %again, ^tile(%i1 : i32), ^out
^out:
  llvm.return
}
