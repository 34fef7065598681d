// Each kind of artifact from one LLVM-dialect kernel.
// RUN: kernel-opt %s --target=sm_90a --emit=tile | FileCheck %s --check-prefix=TILE
// RUN: kernel-opt %s --target=sm_90a --emit=warp | FileCheck %s --check-prefix=TILE
// RUN: kernel-opt %s --target=sm_90a --emit=nv | FileCheck %s --check-prefix=TILE
// RUN: kernel-opt %s --target=sm_90a --emit=llvm | FileCheck %s --check-prefix=TILE
// RUN: kernel-opt %s --target=sm_90a --emit=llvmir | FileCheck %s --check-prefix=LLVMIR
// RUN: kernel-opt %s --target=sm_90a --emit=ptx | FileCheck %s --check-prefixes=PTX,PTX90
// RUN: kernel-opt %s --target=sm_90a | FileCheck %s --check-prefixes=PTX,PTX90
// RUN: kernel-opt %s --target=sm_100a --emit=ptx | FileCheck %s --check-prefixes=PTX,PTX100
// RUN: kernel-opt %s --target=sm_103a --emit=ptx | FileCheck %s --check-prefixes=PTX,PTX103
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --lineinfo | FileCheck %s --check-prefix=LINES
// RUN: kernel-opt < %s --target=sm_90a --emit=ptx --verify-llvm --opt-level=0 | FileCheck %s --check-prefix=PTX90

// TILE: llvm.func @scale
// TILE-SAME: nvvm.kernel

// LLVMIR: target triple = "nvptx64-nvidia-cuda"
// The helper is inlined, and assembly with side effects is convergent.
// LLVMIR-NOT: @twice
// LLVMIR: define{{.*}} ptx_kernel void @scale
// LLVMIR: call void asm sideeffect "bar.sync 0;", "~{memory}"() #[[ASM:[0-9]+]]
// LLVMIR: attributes #[[ASM]] = {{.*}}convergent

// PTX90: .version 8.6
// PTX90: .target sm_90a
// PTX100: .version 8.8
// PTX100: .target sm_100a
// PTX103: .version 8.8
// PTX103: .target sm_103a
// PTX: .visible .entry scale(
// PTX: .reqntid 128, 1, 1
// PTX: .minnctapersm 1
// Shared addresses are 32 bits.
// PTX: mov.b32 %r{{[0-9]+}}, buffer;
// PTX: bar.sync 0;
// PTX-NOT: call

// LINES: .target sm_90a
// LINES-NOT: debug
// LINES: .loc 1
// LINES: .file 1 "{{.*}}emit.mlir"

module {
  llvm.mlir.global external @buffer() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<128 x f32>

  llvm.func @twice(%x: f32) -> f32 {
    %sum = llvm.fadd %x, %x : f32
    llvm.return %sum : f32
  }

  llvm.func @scale(%out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.minctasm = 1 : i32} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %slot = llvm.getelementptr %buffer[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %in = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %in : !llvm.ptr<1> -> f32
    llvm.store %x, %slot : f32, !llvm.ptr<3>
    llvm.inline_asm has_side_effects "bar.sync 0;", "~{memory}" : () -> ()
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %other = llvm.xor %tid, %c1 : i32
    %from = llvm.getelementptr %buffer[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %y = llvm.load %from : !llvm.ptr<3> -> f32
    %z = llvm.call @twice(%y) : (f32) -> f32
    llvm.store %z, %in : f32, !llvm.ptr<1>
    llvm.return
  }
}
