// RUN: kernel-opt %s --warp-slice-columns --split-input-file | FileCheck %s

!b = !warp.buffer<1 x [128x128xf32], tmem>
!p = !warp.buffer<1 x [128x128xbf16], tmem>
!d = !nv.memdesc<128x128xf32, tmem>
!h = !nv.memdesc<128x128xbf16, tmem>
!t = tensor<128x128xf32>
!r = tensor<128xf32>

// The maximum of a row comes before its exponentials, which are computed once for their sum and for the store. What needs the sum
// goes behind the last slice, and no slice's maximum waits for what comes after it (nv.keep). One tile of 128 registers stays in registers, so its slot goes back at once.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[X:.*]] = nv.tmem.load
// CHECK-NEXT: warp.release
// CHECK-NEXT: %[[X0:.*]] = nv.extract %[[X]][0, 0] : tensor<128x128xf32> -> tensor<128x32xf32>
// CHECK-NEXT: %[[R0:.*]] = nv.reduce max %[[X0]] dim(1)
// CHECK-NEXT: %[[M0:.*]] = nv.keep %[[R0]]
// CHECK-NEXT: %[[X1:.*]] = nv.extract %[[X]][0, 32]
// CHECK-NEXT: %[[R1:.*]] = nv.reduce max %[[X1]] dim(1)
// CHECK-NEXT: %[[M1:.*]] = nv.keep %[[R1]]
// CHECK-NEXT: %[[M:.*]] = arith.maxnumf %[[M0]], %[[M1]]
// CHECK-COUNT-2: nv.reduce max
// CHECK: %[[MOST:.*]] = arith.maxnumf
// CHECK: warp.acquire
// CHECK: %[[P:.*]] = warp.slot
// CHECK: %[[S:.*]] = nv.broadcast %[[MOST]] dim(1) : tensor<128xf32> -> tensor<128x32xf32>
// CHECK-NEXT: arith.subf
// CHECK-NEXT: %[[E:.*]] = math.exp2
// CHECK-NEXT: %[[H:.*]] = arith.truncf %[[E]]
// CHECK-NEXT: %[[A0:.*]] = nv.reduce add %[[E]] dim(1)
// CHECK: %[[V:.*]] = nv.memdesc.slice %[[P]]
// CHECK-NEXT: nv.tmem.store %[[H]] to %[[V]]
// CHECK-COUNT-3: math.exp2
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: nv.tmem.store
// CHECK-NOT: math.exp2
// CHECK: arith.mulf %[[SUM]], %[[SUM]]
// CHECK: warp.release
func.func @softmax(%to: i64, %at: tensor<128xi64>) {
  %s = warp.buffer : !b
  %free = warp.ring released %s : !b
  %full = warp.ring %s : !b
  %o = warp.buffer : !p
  %p_free = warp.ring released %o : !p
  %p_ready = warp.ring %o : !p
  warp.specialize {
    warp.role @math warps(4) {
      %ts = warp.acquire %full
      %view = warp.slot %ts : !d
      %x = nv.tmem.load %view : !d -> !t
      warp.release %ts to %free generic
      %most = nv.reduce max %x dim(1) : !t -> !r
      %shifts = nv.broadcast %most dim(1) : !r -> !t
      %y = arith.subf %x, %shifts : !t
      %e = math.exp2 %y : !t
      %sum = nv.reduce add %e dim(1) : !t -> !r
      %square = arith.mulf %sum, %sum : !r
      %e16 = arith.truncf %e : !t to tensor<128x128xbf16>
      %tp = warp.acquire %p_free
      %p = warp.slot %tp : !h
      nv.tmem.store %e16 to %p : tensor<128x128xbf16>, !h
      warp.release %tp to %p_ready generic
      nv.global_store %square to %to[%at] : !r, tensor<128xi64>
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [128x64xf32], tmem>
!d = !nv.memdesc<128x64xf32, tmem>
!t = tensor<128x64xf32>

// In place: a slice is read, changed and written before the next one is read.
// CHECK-LABEL: func.func @in_place
// CHECK: %[[D:.*]] = warp.slot
// CHECK-NOT: nv.tmem.load %[[D]]
// CHECK: %[[L0:.*]] = nv.memdesc.slice %[[D]]
// CHECK-NEXT: %[[X0:.*]] = nv.tmem.load %[[L0]]
// CHECK: %[[Y0:.*]] = arith.mulf %[[X0]]
// CHECK: nv.tmem.store %[[Y0]]
// CHECK: nv.tmem.load
// CHECK: arith.mulf
// CHECK: nv.tmem.store
// CHECK-NEXT: warp.release
func.func @in_place(%f: f32) {
  %s = warp.buffer : !b
  %free = warp.ring released %s : !b
  %ready = warp.ring %s : !b
  warp.specialize {
    warp.role @math warps(4) {
      %fs = nv.splat %f : f32 -> !t
      %ts = warp.acquire %free
      %view = warp.slot %ts : !d
      %x = nv.tmem.load %view : !d -> !t
      %y = arith.mulf %x, %fs : !t
      nv.tmem.store %y to %view : !t, !d
      warp.release %ts to %ready generic
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [128x256xf32], tmem>
!d = !nv.memdesc<128x256xf32, tmem>
!t = tensor<128x256xf32>
!r = tensor<128xf32>

// A row of 256 columns does not fit: it is read in slices for the sum and again for the piece, and its slot goes back after that.
// CHECK-LABEL: func.func @wide
// CHECK: warp.slot
// CHECK-NOT: warp.release
// CHECK-COUNT-8: nv.tmem.load {{.*}} -> tensor<128x32xf32>
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: warp.release
// CHECK: nv.global_store
// CHECK-NOT: tensor<128x256xf32>
func.func @wide(%to: i64, %at: tensor<128x64xi64>) {
  %s = warp.buffer : !b
  %free = warp.ring released %s : !b
  %full = warp.ring %s : !b
  warp.specialize {
    warp.role @math warps(4) {
      %ts = warp.acquire %full
      %view = warp.slot %ts : !d
      %x = nv.tmem.load %view : !d -> !t
      warp.release %ts to %free generic
      %sum = nv.reduce add %x dim(1) : !t -> !r
      %sums = nv.broadcast %sum dim(1) : !r -> !t
      %y = arith.divf %x, %sums : !t
      %piece = nv.extract %y[0, 128] : !t -> tensor<128x64xf32>
      nv.global_store %piece to %to[%at] : tensor<128x64xf32>, tensor<128x64xi64>
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [128x256xf32], tmem>
!d = !nv.memdesc<128x256xf32, tmem>
!t = tensor<128x256xf32>

// The slot is taken again before the tile is written: its release cannot wait for that, so the tile is read whole.
// CHECK-LABEL: func.func @next_turn
// CHECK: nv.tmem.load {{.*}} -> tensor<128x256xf32>
// CHECK-NEXT: warp.release
// CHECK: warp.acquire
// CHECK: nv.extract
func.func @next_turn() {
  %s = warp.buffer : !b
  %free = warp.ring released %s : !b
  %ready = warp.ring %s : !b
  %full = warp.ring %s : !b
  warp.specialize {
    warp.role @math warps(4) {
      %ts = warp.acquire %full
      %view = warp.slot %ts : !d
      %x = nv.tmem.load %view : !d -> !t
      warp.release %ts to %free generic
      %y = math.absf %x : !t
      %tn = warp.acquire %free
      %next = warp.slot %tn : !d
      nv.tmem.store %y to %next : !t, !d
      warp.release %tn to %ready generic
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [128x208xf32], tmem>
!d = !nv.memdesc<128x208xf32, tmem>
!t = tensor<128x208xf32>

// Of 208 columns a slice takes 32, and the last one what is left.
// CHECK-LABEL: func.func @uneven
// CHECK-COUNT-6: nv.tmem.load {{.*}} -> tensor<128x32xf32>
// CHECK: nv.reduce max
// CHECK: nv.memdesc.slice {{.*}} <128x208xf32, tmem> -> <128x16xf32, tmem>
// CHECK-NEXT: nv.tmem.load {{.*}} -> tensor<128x16xf32>
// CHECK-NEXT: nv.reduce max
// CHECK-NOT: nv.tmem.load
func.func @uneven(%to: i64, %at: tensor<128xi64>) {
  %s = warp.buffer : !b
  %free = warp.ring released %s : !b
  %full = warp.ring %s : !b
  warp.specialize {
    warp.role @math warps(4) {
      %ts = warp.acquire %full
      %view = warp.slot %ts : !d
      %x = nv.tmem.load %view : !d -> !t
      %most = nv.reduce max %x dim(1) : !t -> tensor<128xf32>
      warp.release %ts to %free generic
      nv.global_store %most to %to[%at] : tensor<128xf32>, tensor<128xi64>
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [128x256xf32], tmem>
!p = !warp.buffer<1 x [128x256xbf16], tmem>
!d = !nv.memdesc<128x256xf32, tmem>
!h = !nv.memdesc<128x256xbf16, tmem>
!t = tensor<128x256xf32>

// The mask of the exponentials is that of the maximum, compared again: the limit that they compare with is another value to LLVM.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32
// CHECK: %[[FIRST:.*]] = nv.splat %[[N]] : i32 -> tensor<128x32xi32>
// CHECK: arith.cmpi slt, %{{.*}}, %[[FIRST]]
// CHECK: nv.reduce max
// CHECK: %[[MOST:.*]] = arith.maxnumf
// CHECK: warp.acquire
// CHECK: %[[ROW:.*]] = nv.splat %[[N]] : i32 -> tensor<128xi32>
// CHECK-NEXT: %[[KEPT:.*]] = nv.keep %[[ROW]]
// CHECK-NEXT: %[[LIMIT:.*]] = nv.broadcast %[[KEPT]] dim(1)
// CHECK-NEXT: arith.cmpi slt, %{{.*}}, %[[LIMIT]]
// CHECK: math.exp2
func.func @masked(%n: i32, %to: i64, %at: tensor<128xi64>) {
  %s = warp.buffer : !b
  %free = warp.ring released %s : !b
  %full = warp.ring %s : !b
  %o = warp.buffer : !p
  %p_free = warp.ring released %o : !p
  %p_ready = warp.ring %o : !p
  warp.specialize {
    warp.role @math warps(4) {
      %none = arith.constant dense<0xFF800000> : !t
      %columns = nv.index dim(1) : tensor<128x256xi32>
      %ts = warp.acquire %full
      %view = warp.slot %ts : !d
      %limit = nv.splat %n : i32 -> tensor<128x256xi32>
      %inside = arith.cmpi slt, %columns, %limit : tensor<128x256xi32>
      %x = nv.tmem.load %view : !d -> !t
      %y = arith.select %inside, %x, %none : tensor<128x256xi1>, !t
      %most = nv.reduce max %y dim(1) : !t -> tensor<128xf32>
      %tp = warp.acquire %p_free
      %p = warp.slot %tp : !h
      %shifts = nv.broadcast %most dim(1) : tensor<128xf32> -> !t
      %z = arith.subf %y, %shifts : !t
      %e = math.exp2 %z : !t
      %e16 = arith.truncf %e : !t to tensor<128x256xbf16>
      nv.tmem.store %e16 to %p : tensor<128x256xbf16>, !h
      warp.release %tp to %p_ready generic
      warp.release %ts to %free generic
      nv.global_store %most to %to[%at] : tensor<128xf32>, tensor<128xi64>
    }
  }
  return
}
