// RUN: kernel-opt %s --warp-slice-results --split-input-file | FileCheck %s

// Two pieces of a chain, each in slices of 64 columns (32 registers of 128 threads), where they are stored. A vector for the columns
// and one for the rows come along; what is read from memory is cut and stays where it is.
// CHECK-LABEL: func.func @chain
// CHECK: %[[SUM:.*]] = nv.wgmma.wait
// CHECK: %[[READ:.*]] = nv.global_load
// CHECK: %[[S0:.*]] = nv.extract %[[SUM]][0, 0] : tensor<64x256xf32> -> tensor<64x64xf32>
// CHECK: %[[B0:.*]] = nv.extract %{{.*}}[0] : tensor<256xf32> -> tensor<64xf32>
// CHECK: nv.broadcast %[[B0]] dim(0) : tensor<64xf32> -> tensor<64x64xf32>
// CHECK: arith.addf %[[S0]]
// CHECK: math.exp2 {{.*}} : tensor<64x64xf32>
// CHECK: nv.extract %[[READ]][0, 0] : tensor<64x256xf32> -> tensor<64x64xf32>
// CHECK: nv.extract %[[SUM]][0, 64]
// CHECK: %[[P:.*]] = nv.concat %{{.*}}, %{{.*}} dim(1) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x128xbf16>
// CHECK: warp.store %[[P]]
// CHECK: nv.index dim(1) : tensor<64x64xi32>
// CHECK-NEXT: arith.constant dense<128>
// CHECK-NEXT: arith.addi
// CHECK: nv.extract %[[SUM]][0, 128]
// CHECK: nv.extract %[[SUM]][0, 192]
// CHECK: warp.store
// CHECK-NOT: tensor<64x256xi32>
func.func @chain(%C: !tile.desc<64x128xbf16>, %v: tensor<256xf32>, %r: tensor<64xf32>, %p: i64, %acc: tensor<64x256xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %out = warp.buffer : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [64x128xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %sum = nv.wgmma.wait %acc pending(0) : tensor<64x256xf32>
      %at = arith.constant dense<0> : tensor<64x256xi64>
      %read = nv.global_load %p[%at] : tensor<64x256xi64> -> tensor<64x256xf32>
      %columns = nv.broadcast %v dim(0) : tensor<256xf32> -> tensor<64x256xf32>
      %rows = nv.broadcast %r dim(1) : tensor<64xf32> -> tensor<64x256xf32>
      %a = arith.addf %sum, %columns : tensor<64x256xf32>
      %b = arith.mulf %a, %rows : tensor<64x256xf32>
      %e = math.exp2 %b : tensor<64x256xf32>
      %d = arith.addf %e, %read : tensor<64x256xf32>
      %i = nv.index dim(1) : tensor<64x256xi32>
      %limit = arith.constant dense<200> : tensor<64x256xi32>
      %zero = arith.constant dense<0.0> : tensor<64x256xf32>
      %inside = arith.cmpi slt, %i, %limit : tensor<64x256xi32>
      %masked = arith.select %inside, %d, %zero : tensor<64x256xi1>, tensor<64x256xf32>
      %h = arith.truncf %masked : tensor<64x256xf32> to tensor<64x256xbf16>
      %x = nv.extract %h[0, 0] : tensor<64x256xbf16> -> tensor<64x128xbf16>
      warp.store %x to %C[%c0, %c0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      %y = nv.extract %h[0, 128] : tensor<64x256xbf16> -> tensor<64x128xbf16>
      warp.store %y to %C[%c0, %c128] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
    }
  }
  return
}

// -----

// A conversion alone is left as it is.
// CHECK-LABEL: func.func @plain
// CHECK: arith.truncf {{.*}} : tensor<64x128xf32> to tensor<64x128xbf16>
// CHECK-NEXT: warp.store
func.func @plain(%C: !tile.desc<64x128xbf16>, %acc: tensor<64x128xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %out = warp.buffer : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [64x128xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %sum = nv.wgmma.wait %acc pending(0) : tensor<64x128xf32>
      %h = arith.truncf %sum : tensor<64x128xf32> to tensor<64x128xbf16>
      warp.store %h to %C[%c0, %c0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
    }
  }
  return
}

// -----

// A gated product: two sums share the registers of a slice, 32 columns of each. What is reduced along the columns is combined, what is
// reduced along the rows put together; the element-wise code is done once for both and for the store.
// CHECK-LABEL: func.func @gated
// CHECK: nv.extract %{{.*}}[0, 0] : tensor<64x128xf32> -> tensor<64x32xf32>
// CHECK: nv.extract %{{.*}}[0, 0] : tensor<64x128xf32> -> tensor<64x32xf32>
// CHECK: %[[V0:.*]] = arith.mulf {{.*}} : tensor<64x32xf32>
// CHECK: %[[R0:.*]] = nv.reduce max %[[V0]] dim(1) : tensor<64x32xf32> -> tensor<64xf32>
// CHECK: %[[R1:.*]] = nv.reduce max {{.*}} dim(1)
// CHECK: arith.maxnumf %[[R0]], %[[R1]]
// CHECK-COUNT-2: arith.maxnumf
// CHECK: nv.reduce max %[[V0]] dim(0) : tensor<64x32xf32> -> tensor<32xf32>
// CHECK-COUNT-3: nv.reduce max {{.*}} dim(0) : tensor<64x32xf32> -> tensor<32xf32>
// CHECK: nv.concat {{.*}} dim(0) : {{.*}} -> tensor<128xf32>
// CHECK-NOT: arith.mulf
// CHECK: warp.store
func.func @gated(%C: !tile.desc<64x128xbf16>, %p: i64, %acc: tensor<64x128xf32>, %acc2: tensor<64x128xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %out = warp.buffer : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [64x128xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %gate = nv.wgmma.wait %acc pending(0) : tensor<64x128xf32>
      %up = nv.wgmma.wait %acc2 pending(0) : tensor<64x128xf32>
      %v = arith.mulf %gate, %up : tensor<64x128xf32>
      %rows = nv.reduce max %v dim(1) : tensor<64x128xf32> -> tensor<64xf32>
      %columns = nv.reduce max %v dim(0) : tensor<64x128xf32> -> tensor<128xf32>
      %o = arith.constant dense<0> : tensor<64xi32>
      nv.global_store %rows to %p[%o] : tensor<64xf32>, tensor<64xi32>
      %q = arith.constant dense<0> : tensor<128xi32>
      nv.global_store %columns to %p[%q] : tensor<128xf32>, tensor<128xi32>
      %h = arith.truncf %v : tensor<64x128xf32> to tensor<64x128xbf16>
      warp.store %h to %C[%c0, %c0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
    }
  }
  return
}

// -----

// Through pointers, a sum of 208 elements a thread is stored in slices of 64 columns, with the offsets and the mask of each; a small one at once.
// CHECK-LABEL: func.func @pointers
// CHECK: nv.global_store {{.*}} : tensor<128x128xbf16>
// CHECK: scf.if
// CHECK: nv.extract %{{.*}}[0, 0] : tensor<128x208xbf16> -> tensor<128x64xbf16>
// CHECK: nv.global_store {{.*}} mask({{.*}} : tensor<128x64xi1>) : tensor<128x64xbf16>, tensor<128x64xi64>
// CHECK: nv.extract %{{.*}}[0, 64] : tensor<128x208xbf16> -> tensor<128x64xbf16>
// CHECK: nv.global_store
// CHECK: nv.extract %{{.*}}[0, 128] : tensor<128x208xbf16> -> tensor<128x64xbf16>
// CHECK: nv.global_store
// CHECK: arith.constant dense<192> : tensor<128x16xi32>
// CHECK: nv.extract %{{.*}}[0, 192] : tensor<128x208xbf16> -> tensor<128x16xbf16>
// CHECK: nv.global_store {{.*}} : tensor<128x16xbf16>, tensor<128x16xi64>
// CHECK-NOT: nv.global_store
func.func @pointers(%acc: tensor<128x208xf32>, %part: tensor<128x128xf32>, %to: i64, %n: i32, %some: i1) attributes {tile.kernel} {
  warp.specialize {
    warp.role @math warps(4) {
      %sum = nv.wgmma.wait %acc pending(0) : tensor<128x208xf32>
      %small = nv.wgmma.wait %part pending(0) : tensor<128x128xf32>
      %h = arith.truncf %sum : tensor<128x208xf32> to tensor<128x208xbf16>
      %h2 = arith.truncf %small : tensor<128x128xf32> to tensor<128x128xbf16>
      %at2 = arith.constant dense<0> : tensor<128x128xi64>
      nv.global_store %h2 to %to[%at2] : tensor<128x128xbf16>, tensor<128x128xi64>
      scf.if %some {
        %i = nv.index dim(1) : tensor<128x208xi32>
        %limit = nv.splat %n : i32 -> tensor<128x208xi32>
        %inside = arith.cmpi slt, %i, %limit : tensor<128x208xi32>
        %at = arith.extsi %i : tensor<128x208xi32> to tensor<128x208xi64>
        nv.global_store %h to %to[%at] mask(%inside : tensor<128x208xi1>) : tensor<128x208xbf16>, tensor<128x208xi64>
      }
    }
  }
  return
}

// -----

// A row of a slot is read in the slices, each behind the store before, and the slot goes back after the last one. The ring has a slot
// more, so that another one may be asked for meanwhile.
// CHECK-LABEL: func.func @row
// CHECK: %[[TOKEN:.*]] = warp.acquire
// CHECK-NEXT: %[[ROW:.*]] = warp.slot %[[TOKEN]]
// CHECK-NOT: nv.local_load {{.*}} -> tensor<256xbf16>
// CHECK-NOT: warp.release %[[TOKEN]]
// CHECK: nv.memdesc.slice %[[ROW]][{{.*}}] : <256xbf16> -> <64xbf16>
// CHECK: warp.store
// CHECK: %[[LAST:.*]] = nv.memdesc.slice %[[ROW]][{{.*}}] : <256xbf16> -> <64xbf16>
// CHECK-NEXT: nv.local_load %[[LAST]] : <64xbf16> -> tensor<64xbf16>
// CHECK: warp.release %[[TOKEN]]
// CHECK: warp.store
func.func @row(%C: !tile.desc<64x128xbf16>, %acc: tensor<64x256xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %out = warp.buffer : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [64x128xbf16]>
  %rows = warp.buffer : !warp.buffer<2 x [256xbf16]>
  %free = warp.ring released %rows : !warp.buffer<2 x [256xbf16]>
  %full = warp.ring %rows : !warp.buffer<2 x [256xbf16]>
  %others = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %otherFree = warp.ring released %others : !warp.buffer<1 x [64x64xbf16]>
  %otherFull = warp.ring %others : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %sum = nv.wgmma.wait %acc pending(0) : tensor<64x256xf32>
      %t = warp.acquire %full
      %slot = warp.slot %t : !nv.memdesc<256xbf16>
      %row = nv.local_load %slot : !nv.memdesc<256xbf16> -> tensor<256xbf16>
      warp.release %t to %free generic
      %other = warp.acquire %otherFull
      warp.release %other to %otherFree generic
      %wide = arith.extf %row : tensor<256xbf16> to tensor<256xf32>
      %columns = nv.broadcast %wide dim(0) : tensor<256xf32> -> tensor<64x256xf32>
      %a = arith.addf %sum, %columns : tensor<64x256xf32>
      %e = math.exp2 %a : tensor<64x256xf32>
      %h = arith.truncf %e : tensor<64x256xf32> to tensor<64x256xbf16>
      %x = nv.extract %h[0, 0] : tensor<64x256xbf16> -> tensor<64x128xbf16>
      warp.store %x to %C[%c0, %c0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      %y = nv.extract %h[0, 128] : tensor<64x256xbf16> -> tensor<64x128xbf16>
      warp.store %y to %C[%c0, %c128] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
    }
  }
  return
}

// -----

// Of one slot alone, none is held while another role is waited for: it is read whole.
// CHECK-LABEL: func.func @row_of_one_slot
// CHECK: nv.local_load {{.*}} : <256xbf16> -> tensor<256xbf16>
// CHECK-NEXT: warp.release
// CHECK-NEXT: warp.acquire
// CHECK-NOT: nv.local_load
// CHECK-NOT: nv.memdesc.slice
func.func @row_of_one_slot(%C: !tile.desc<64x128xbf16>, %acc: tensor<64x256xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %out = warp.buffer : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [64x128xbf16]>
  %rows = warp.buffer : !warp.buffer<1 x [256xbf16]>
  %free = warp.ring released %rows : !warp.buffer<1 x [256xbf16]>
  %full = warp.ring %rows : !warp.buffer<1 x [256xbf16]>
  %others = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %otherFree = warp.ring released %others : !warp.buffer<1 x [64x64xbf16]>
  %otherFull = warp.ring %others : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %sum = nv.wgmma.wait %acc pending(0) : tensor<64x256xf32>
      %t = warp.acquire %full
      %slot = warp.slot %t : !nv.memdesc<256xbf16>
      %row = nv.local_load %slot : !nv.memdesc<256xbf16> -> tensor<256xbf16>
      warp.release %t to %free generic
      %other = warp.acquire %otherFull
      warp.release %other to %otherFree generic
      %wide = arith.extf %row : tensor<256xbf16> to tensor<256xf32>
      %columns = nv.broadcast %wide dim(0) : tensor<256xf32> -> tensor<64x256xf32>
      %a = arith.addf %sum, %columns : tensor<64x256xf32>
      %e = math.exp2 %a : tensor<64x256xf32>
      %h = arith.truncf %e : tensor<64x256xf32> to tensor<64x256xbf16>
      %x = nv.extract %h[0, 0] : tensor<64x256xbf16> -> tensor<64x128xbf16>
      warp.store %x to %C[%c0, %c0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      %y = nv.extract %h[0, 128] : tensor<64x256xbf16> -> tensor<64x128xbf16>
      warp.store %y to %C[%c0, %c128] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
    }
  }
  return
}
