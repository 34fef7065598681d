// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --mlir-print-op-generic | kernel-opt | FileCheck %s

// CHECK-LABEL: func.func private @layouts
// CHECK-SAME: !nv.memdesc<128x256xf16, #nv.tmem<accumulator>, tmem>
// CHECK-SAME: !nv.memdesc<128x4xf8E8M0FNU, #nv.tmem<scales>, tmem>
// CHECK-SAME: tensor<64x32xbf16, #nv.tmem_load<shape = s16x256b, bits = 16>>
func.func private @layouts(!nv.memdesc<128x256xf16, #nv.tmem<accumulator>, tmem>, !nv.memdesc<128x4xf8E8M0FNU, #nv.tmem<scales>, tmem>,
                           tensor<64x32xbf16, #nv.tmem_load<shape = s16x256b, bits = 16>>)

// CHECK-LABEL: func.func @products
func.func @products(%a: !nv.memdesc<128x64xbf16>, %b: !nv.memdesc<64x128xbf16>, %d: !nv.memdesc<128x128xf32, tmem>,
                    %p: !nv.memdesc<128x64xbf16, tmem>, %d2: !nv.memdesc<128x256xf32, tmem>, %more: i1) {
  // CHECK: nv.tcgen05.mma %{{.*}}, %{{.*}}, %{{.*}} accumulate(%{{.*}}) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf32, tmem>
  nv.tcgen05.mma %a, %b, %d accumulate(%more) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf32, tmem>
  // CHECK: nv.tcgen05.mma %{{.*}} : !nv.memdesc<128x64xbf16, tmem>
  nv.tcgen05.mma %p, %b, %d accumulate(%more) : !nv.memdesc<128x64xbf16, tmem>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf32, tmem>
  // CHECK: nv.tcgen05.mma %{{.*}} accumulate(%{{.*}}) cta_group(2)
  nv.tcgen05.mma %a, %b, %d2 accumulate(%more) cta_group(2) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x256xf32, tmem>
  return
}

// CHECK-LABEL: func.func @scaled
func.func @scaled(%a: !nv.memdesc<128x128xf8E4M3FN>, %sa: !nv.memdesc<128x4xf8E8M0FNU, tmem>, %b: !nv.memdesc<128x256xf8E4M3FN>,
                  %sb: !nv.memdesc<256x4xf8E8M0FNU, tmem>, %d: !nv.memdesc<128x256xf32, tmem>, %s: !nv.memdesc<64x16xi8>, %more: i1) {
  // CHECK: nv.tcgen05.cp %{{.*}} to %{{.*}} x32x128b : !nv.memdesc<64x16xi8>, !nv.memdesc<256x4xf8E8M0FNU, tmem>
  nv.tcgen05.cp %s to %sb x32x128b : !nv.memdesc<64x16xi8>, !nv.memdesc<256x4xf8E8M0FNU, tmem>
  // CHECK: nv.tcgen05.mma_scaled %{{.*}} scale(%{{.*}}), %{{.*}} scale(%{{.*}}), %{{.*}} accumulate(%{{.*}}) block(32)
  nv.tcgen05.mma_scaled %a scale(%sa), %b scale(%sb), %d accumulate(%more) block(32)
    : !nv.memdesc<128x128xf8E4M3FN>, !nv.memdesc<128x4xf8E8M0FNU, tmem>, !nv.memdesc<128x256xf8E4M3FN>, !nv.memdesc<256x4xf8E8M0FNU, tmem>, !nv.memdesc<128x256xf32, tmem>
  return
}

// CHECK-LABEL: func.func @registers
func.func @registers(%s: !nv.memdesc<128x128xf32, tmem>, %d: !nv.memdesc<128x64xf32, tmem>) {
  // CHECK: nv.memdesc.reinterpret %{{.*}} at 0 : !nv.memdesc<128x128xf32, tmem> -> !nv.memdesc<128x64xf32, tmem>
  %p = nv.memdesc.reinterpret %s at 0 : !nv.memdesc<128x128xf32, tmem> -> !nv.memdesc<128x64xf32, tmem>
  // CHECK: %[[X:.*]] = nv.tmem.load %{{.*}} : !nv.memdesc<128x64xf32, tmem> -> tensor<128x64xf32>
  %x = nv.tmem.load %d : !nv.memdesc<128x64xf32, tmem> -> tensor<128x64xf32>
  // CHECK: nv.tmem.wait_load %[[X]] : tensor<128x64xf32>
  %y = nv.tmem.wait_load %x : tensor<128x64xf32>
  // CHECK: nv.tmem.store %{{.*}} to %{{.*}} : tensor<128x64xf32>, !nv.memdesc<128x64xf32, tmem>
  nv.tmem.store %y to %p : tensor<128x64xf32>, !nv.memdesc<128x64xf32, tmem>
  // CHECK: nv.tmem.wait_store
  nv.tmem.wait_store
  return
}

// CHECK-LABEL: func.func @signals
func.func @signals(%b: !nv.barrier) {
  // CHECK: nv.cta_rank
  %r = nv.cta_rank
  // CHECK: nv.tcgen05.fence{{$}}
  nv.tcgen05.fence
  // CHECK: nv.tcgen05.fence after
  nv.tcgen05.fence after
  // CHECK: nv.tcgen05.commit %{{.*}} to pair cta_group(2)
  nv.tcgen05.commit %b to pair cta_group(2)
  // CHECK: nv.mbarrier.arrive_at %{{.*}} by warp to leader
  nv.mbarrier.arrive_at %b by warp to leader
  // CHECK: nv.warp_sync
  nv.warp_sync
  return
}

// CHECK-LABEL: func.func @memory
func.func @memory(%w: !nv.barrier, %i: i32) {
  // CHECK: nv.tmem.alloc 2 x 128 at 256
  %a = nv.tmem.alloc 2 x 128 at 256
  // CHECK: nv.tmem.reserve %{{.*}}, 512 cta_group(2) : !nv.barrier
  nv.tmem.reserve %w, 512 cta_group(2) : !nv.barrier
  // CHECK: nv.tmem.base %{{.*}} : !nv.barrier
  %b = nv.tmem.base %w : !nv.barrier
  // CHECK: nv.tmem.view %{{.*}}[%{{.*}}] stride 128 column 4 -> !nv.memdesc<128x64xf32, tmem>
  %v = nv.tmem.view %b[%i] stride 128 column 4 -> !nv.memdesc<128x64xf32, tmem>
  return
}
