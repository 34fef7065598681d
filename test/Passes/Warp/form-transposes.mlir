// RUN: kernel-opt %s --warp-form-transposes --split-input-file | FileCheck %s

!rows = !nv.memdesc<64x32xf8E4M3FN>
!columns = !nv.memdesc<32x64xf8E4M3FN>

// From slot to slot: the one that is read goes back after it.
// CHECK-LABEL: func.func @staged
func.func @staged() {
  %b = warp.buffer : !warp.buffer<2 x [64x32xf8E4M3FN]>
  %d = warp.buffer : !warp.buffer<2 x [32x64xf8E4M3FN]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x32xf8E4M3FN]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x32xf8E4M3FN]>
  %empty = warp.ring released %d : !warp.buffer<2 x [32x64xf8E4M3FN]>
  %full = warp.ring %d : !warp.buffer<2 x [32x64xf8E4M3FN]>
  warp.specialize {
    warp.role @gather warps(2) {
      // CHECK: %[[T:.*]] = warp.acquire
      // CHECK: %[[FROM:.*]] = warp.slot %[[T]]
      // CHECK-NOT: nv.local_load
      // CHECK: %[[U:.*]] = warp.acquire
      // CHECK: %[[TO:.*]] = warp.slot %[[U]]
      // CHECK-NEXT: nv.local_transpose %[[FROM]] to %[[TO]]
      // CHECK-NEXT: warp.release %[[T]]
      // CHECK-NEXT: warp.release %[[U]]
      %t = warp.acquire %ready
      %from = warp.slot %t : !rows
      %x = nv.local_load %from : !rows -> tensor<64x32xf8E4M3FN>
      warp.release %t to %free generic
      %y = nv.trans %x [1, 0] : tensor<64x32xf8E4M3FN> -> tensor<32x64xf8E4M3FN>
      %u = warp.acquire %empty
      %to = warp.slot %u : !columns
      nv.local_store %y to %to : tensor<32x64xf8E4M3FN>, !columns
      warp.release %u to %full generic
    }
  }
  return
}

// -----

// Elements of 16 bits, a second use, and a tile without whole matrices stay in registers.
// CHECK-LABEL: func.func @others
// CHECK-NOT: nv.local_transpose
// CHECK: return
func.func @others(%w: !nv.memdesc<32x64xbf16>, %c: !nv.memdesc<32x64xi8>, %s: !nv.memdesc<32x48xi8>) {
  %b = warp.buffer : !warp.buffer<2 x [64x32xbf16, 64x32xi8, 48x32xi8]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x32xbf16, 64x32xi8, 48x32xi8]>
  warp.specialize {
    warp.role @gather warps(2) {
      %t = warp.acquire %ring
      %wide, %twice, %short = warp.slot %t : !nv.memdesc<64x32xbf16>, !nv.memdesc<64x32xi8>, !nv.memdesc<48x32xi8>
      %x = nv.local_load %wide : !nv.memdesc<64x32xbf16> -> tensor<64x32xbf16>
      %xt = nv.trans %x [1, 0] : tensor<64x32xbf16> -> tensor<32x64xbf16>
      nv.local_store %xt to %w : tensor<32x64xbf16>, !nv.memdesc<32x64xbf16>
      %y = nv.local_load %twice : !nv.memdesc<64x32xi8> -> tensor<64x32xi8>
      %yt = nv.trans %y [1, 0] : tensor<64x32xi8> -> tensor<32x64xi8>
      nv.local_store %yt to %c : tensor<32x64xi8>, !nv.memdesc<32x64xi8>
      nv.local_store %yt to %c : tensor<32x64xi8>, !nv.memdesc<32x64xi8>
      %z = nv.local_load %short : !nv.memdesc<48x32xi8> -> tensor<48x32xi8>
      %zt = nv.trans %z [1, 0] : tensor<48x32xi8> -> tensor<32x48xi8>
      nv.local_store %zt to %s : tensor<32x48xi8>, !nv.memdesc<32x48xi8>
      warp.release %t to %ring generic
    }
  }
  return
}
