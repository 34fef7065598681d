// RUN: kernel-opt %s --nv-insert-fences --split-input-file | FileCheck %s

!smem = !nv.memdesc<64x64xbf16>

// Ordinary writes, then the store engine: one fence in every writing thread, then the threads meet. The role waits for its stores at the end.
// CHECK-LABEL: func.func @staged_store
func.func @staged_store(%C: !tile.desc<64x64xbf16>, %x: tensor<64x64xbf16>, %i: i32) {
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %ring
      %v = warp.slot %t : !smem
      // CHECK: nv.local_store
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: nv.tma.store
      // CHECK-NEXT: nv.tma.store
      // CHECK-NEXT: warp.release
      // CHECK-NEXT: nv.bulk.wait 0{{$}}
      nv.local_store %x to %v : tensor<64x64xbf16>, !smem
      nv.tma.store %v to %C[%i, %i] : !smem, !tile.desc<64x64xbf16>
      nv.tma.store %v to %C[%i, %i] : !smem, !tile.desc<64x64xbf16>
      warp.release %t to %ring bulk_read
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16>

// What TMA has written needs no fence.
// CHECK-LABEL: func.func @no_generic_write
// CHECK-NOT: nv.fence.proxy
// CHECK-NOT: nv.named_barrier
// CHECK-NOT: nv.bulk.wait
// CHECK: return
func.func @no_generic_write(%A: !tile.desc<64x64xbf16>, %i: i32) {
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %t = warp.acquire %free
      %v = warp.slot %t : !smem
      nv.tma.load %A[%i, %i] to %v : !tile.desc<64x64xbf16>, !smem
      warp.release %t to %ready tma
    }
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      %v = warp.slot %t : !smem
      %w = nv.memdesc.trans %v : !smem -> !smem
      %d = nv.wgmma %v, %w : !smem, !smem -> tensor<64x64xf32>
      nv.wgmma.wait pending(0)
      warp.release %t to %free wgmma
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16>

// Across roles the release orders the threads: a fence before it, no barrier. The reader sees the slot through a view.
// CHECK-LABEL: func.func @other_role_reads
func.func @other_role_reads(%x: tensor<64x64xbf16>) {
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    // CHECK: warp.role @fill
    warp.role @fill warps(4) {
      // CHECK: nv.local_store
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: warp.release
      // CHECK-NEXT: }
      %t = warp.acquire %free
      %v = warp.slot %t : !smem
      nv.local_store %x to %v : tensor<64x64xbf16>, !smem
      warp.release %t to %ready generic
    }
    // CHECK: warp.role @math
    // CHECK-NOT: nv.fence.proxy
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      %v = warp.slot %t : !smem
      %w = nv.memdesc.trans %v : !smem -> !smem
      %d = nv.wgmma %v, %w : !smem, !smem -> tensor<64x64xf32>
      nv.wgmma.wait pending(0)
      warp.release %t to %free wgmma
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16>

// A reader that loads with ordinary instructions needs none.
// CHECK-LABEL: func.func @generic_reader
// CHECK-NOT: nv.fence.proxy
// CHECK: return
func.func @generic_reader(%x: tensor<64x64xbf16>) {
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @fill warps(4) {
      %t = warp.acquire %free
      %v = warp.slot %t : !smem
      nv.local_store %x to %v : tensor<64x64xbf16>, !smem
      warp.release %t to %ready generic
    }
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      %v = warp.slot %t : !smem
      %y = nv.local_load %v : !smem -> tensor<64x64xbf16>
      warp.release %t to %free generic
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16>

// The side that does not store leaves the write unfenced for the code after the branch.
// CHECK-LABEL: func.func @branch
func.func @branch(%C: !tile.desc<64x64xbf16>, %x: tensor<64x64xbf16>, %i: i32, %p: i1) {
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %ring
      %v = warp.slot %t : !smem
      nv.local_store %x to %v : tensor<64x64xbf16>, !smem
      // CHECK: scf.if
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: nv.tma.store
      // CHECK-NEXT: }
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: nv.tma.store
      scf.if %p {
        nv.tma.store %v to %C[%i, %i] : !smem, !tile.desc<64x64xbf16>
      }
      nv.tma.store %v to %C[%i, %i] : !smem, !tile.desc<64x64xbf16>
      warp.release %t to %ring bulk_read
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16>

// The write at the end of an iteration comes before the product of the next one.
// CHECK-LABEL: func.func @around_the_loop
func.func @around_the_loop(%x: tensor<64x64xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %ring
      %v = warp.slot %t : !smem
      %w = nv.memdesc.trans %v : !smem -> !smem
      // CHECK: scf.for
      scf.for %k = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: nv.fence.proxy
        // CHECK-NEXT: nv.named_barrier
        // CHECK-NEXT: nv.wgmma
        // CHECK: nv.local_store
        // CHECK-NEXT: }
        %d = nv.wgmma %v, %w : !smem, !smem -> tensor<64x64xf32>
        nv.wgmma.wait pending(0)
        nv.local_store %x to %v : tensor<64x64xbf16>, !smem
      }
      // CHECK: warp.release
      warp.release %t to %ring generic
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16>

// A token that the loop carries may be of the slot written in the iteration before.
// CHECK-LABEL: func.func @carried
func.func @carried(%x: tensor<64x64xbf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @fill warps(4) {
      %t0 = warp.acquire %free
      %v0 = warp.slot %t0 : !smem
      nv.local_store %x to %v0 : tensor<64x64xbf16>, !smem
      // CHECK: scf.for
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: warp.release
      // CHECK-NEXT: warp.acquire
      // CHECK: }
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: warp.release
      %last = scf.for %k = %c1 to %n step %c1 iter_args(%before = %t0) -> (!warp.token) : i32 {
        warp.release %before to %ready generic
        %t = warp.acquire %free
        %v = warp.slot %t : !smem
        nv.local_store %x to %v : tensor<64x64xbf16>, !smem
        scf.yield %t : !warp.token
      }
      warp.release %last to %ready generic
    }
    // The reader sees the slots through carried tokens only.
    warp.role @math warps(4) {
      %t0 = warp.acquire %ready
      %last = scf.for %k = %c1 to %n step %c1 iter_args(%before = %t0) -> (!warp.token) : i32 {
        %v = warp.slot %before : !smem
        %w = nv.memdesc.trans %v : !smem -> !smem
        %d = nv.wgmma %v, %w : !smem, !smem -> tensor<64x64xf32>
        nv.wgmma.wait pending(0)
        warp.release %before to %free wgmma
        %t = warp.acquire %ready
        scf.yield %t : !warp.token
      }
      warp.release %last to %free wgmma
    }
  }
  return
}

// -----

!scalars = !nv.memdesc<4xi32>

// A role of one thread writes and fences alone.
// CHECK-LABEL: func.func @single_thread
func.func @single_thread(%C: !tile.desc<4xi32>, %i: i32) {
  %b = warp.buffer : !warp.buffer<1 x [4xi32]>
  %ring = warp.ring released %b : !warp.buffer<1 x [4xi32]>
  warp.specialize {
    warp.role @one warps(1) {
      // CHECK: nv.scalar_store
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: nv.tma.store
      %t = warp.acquire %ring
      %v = warp.slot %t : !scalars
      nv.scalar_store %i to %v[%i] : i32, !scalars
      nv.tma.store %v to %C[%i] : !scalars, !tile.desc<4xi32>
      warp.release %t to %ring bulk_read
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16>
!places = tensor<64x64xi64>

// Copies are under way when their issuer releases the slot: the reader fences, once for each time that a slot comes.
// CHECK-LABEL: func.func @copies
func.func @copies(%p: i64, %at: !places, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    // CHECK: warp.role @fill
    // CHECK-NOT: nv.fence.proxy
    // CHECK: warp.role @math
    warp.role @fill warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !smem
        nv.cp_async %p[%at] to %v : !places, !smem
        warp.release %t to %ready cp_async
      }
    }
    // CHECK: warp.acquire
    // CHECK: nv.memdesc.trans
    // CHECK-NEXT: nv.fence.proxy
    // CHECK-NEXT: nv.wgmma
    // CHECK-NEXT: nv.wgmma
    // CHECK-NOT: nv.fence.proxy
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        %v = warp.slot %t : !smem
        %w = nv.memdesc.trans %v : !smem -> !smem
        %d = nv.wgmma %v, %w : !smem, !smem -> tensor<64x64xf32>
        %e = nv.wgmma %v, %v : !smem, !smem -> tensor<64x64xf32>
        nv.wgmma.wait pending(0)
        warp.release %t to %free wgmma
      }
    }
  }
  return
}

// -----

!rows = !nv.memdesc<64x32xi8>

// What a transposition writes is ordinary, what it reads needs no fence.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%v: !rows, %a: !nv.memdesc<64x64xi8>) {
  %b = warp.buffer : !warp.buffer<1 x [32x64xi8]>
  %free = warp.ring released %b : !warp.buffer<1 x [32x64xi8]>
  %ready = warp.ring %b : !warp.buffer<1 x [32x64xi8]>
  warp.specialize {
    warp.role @gather warps(2) {
      %t = warp.acquire %free
      %to = warp.slot %t : !nv.memdesc<32x64xi8>
      // CHECK: nv.local_transpose
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: warp.release
      nv.local_transpose %v to %to : !rows, !nv.memdesc<32x64xi8>
      warp.release %t to %ready generic
    }
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      %x = warp.slot %t : !nv.memdesc<32x64xi8>
      %y = nv.memdesc.trans %x : !nv.memdesc<32x64xi8> -> !nv.memdesc<64x32xi8>
      // CHECK: warp.role @math
      // CHECK-NOT: nv.fence.proxy
      %d = nv.wgmma %a, %y : !nv.memdesc<64x64xi8>, !nv.memdesc<64x32xi8> -> tensor<64x32xi32>
      nv.wgmma.wait pending(0)
      warp.release %t to %free wgmma
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xf32>

// What ordinary loads read is fenced before a role copies over it by TMA: an arrival does not wait for them. A slot that stores
// fill again, and one that products alone read, need none.
// CHECK-LABEL: func.func @read_before_copies
func.func @read_before_copies(%A: !tile.desc<64x64xf32>, %p: i1, %x: tensor<64x64xf32>) {
  %c0 = arith.constant 0 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xf32]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xf32]>
  %s = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %stored_free = warp.ring released %s : !warp.buffer<2 x [64x64xf32]>
  %stored = warp.ring %s : !warp.buffer<2 x [64x64xf32]>
  warp.specialize {
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      %v = warp.slot %t : !smem
      // CHECK: nv.local_load
      // CHECK-NEXT: nv.fence.proxy
      // CHECK-NEXT: warp.release
      %y = nv.local_load %v : !smem -> tensor<64x64xf32>
      warp.release %t to %free generic
      // Read on one way only: fenced on both.
      %t1 = warp.acquire %ready
      %v1 = warp.slot %t1 : !smem
      scf.if %p {
        %y1 = nv.local_load %v1 : !smem -> tensor<64x64xf32>
      }
      // CHECK: scf.if
      // CHECK: nv.fence.proxy
      // CHECK-NEXT: warp.release
      warp.release %t1 to %free generic
      // CHECK: warp.acquire
      // CHECK-NOT: nv.fence.proxy
      // CHECK: warp.role @load
      %u = warp.acquire %stored
      %w = warp.slot %u : !smem
      %z = nv.local_load %w : !smem -> tensor<64x64xf32>
      warp.release %u to %stored_free generic
      %t2 = warp.acquire %ready
      warp.release %t2 to %free generic
    }
    warp.role @load warps(1) {
      %t = warp.acquire %free
      %v = warp.slot %t : !smem
      nv.tma.load %A[%c0, %c0] to %v : !tile.desc<64x64xf32>, !smem
      warp.release %t to %ready tma
    }
    warp.role @gather warps(4) {
      %u = warp.acquire %stored_free
      %w = warp.slot %u : !smem
      nv.local_store %x to %w : tensor<64x64xf32>, !smem
      warp.release %u to %stored generic
    }
  }
  return
}
