// DEFINE: %{split} = kernel-opt %s --warp-partition=chip=sm_100a --warp-insert-rings=chip=sm_100a --warp-split-roles --warp-split-replicas
// RUN: %{split} --split-input-file | FileCheck %s --check-prefix=SPLIT
// RUN: %{split} --warp-plan-buffers --warp-pipeline-role --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=ORDER
// RUN: %{split} --warp-plan-buffers --warp-pipeline-role --canonicalize --cse --warp-expand-stores --warp-verify-rings --split-input-file -o /dev/null
// RUN: kernel-opt %s --split-input-file --pass-pipeline='builtin.module(warp-partition{chip=sm_100a},warp-insert-rings{chip=sm_100a},warp-split-roles,warp-split-replicas,warp-plan-buffers,warp-pipeline-role{skew=false})' | FileCheck %s --check-prefix=OFF

// A tile of 256 rows in two blocks, one for each replica of math. Both products are issued once for each block, with its slots; operand B
// is taken and given back once. Columns for scores, operands and sums of both blocks are there: the scores of the next iteration are
// multiplied before the operands of this one are awaited.
// SPLIT-LABEL: func.func @side_by_side
// SPLIT-DAG: %[[O:.*]] = warp.buffer : <2 x [128x64xf32], tmem>
// SPLIT-DAG: %[[P:.*]] = warp.buffer : <2 x [128x64xbf16], tmem>
// SPLIT-DAG: %[[S:.*]] = warp.buffer : <2 x [128x64xf32], tmem>
// SPLIT: warp.role @math warps(4) replicas(2) {
// SPLIT: %[[R:.*]] = warp.replica_index
// SPLIT: warp.skip %{{.*}} by %[[R]]
// SPLIT: scf.for
// SPLIT: warp.acquire %[[SCORES:.*]] {warp.alternate}
// SPLIT: warp.skip %[[SCORES]] by %{{.*}}
// SPLIT: nv.tmem.load %{{.*}} : <128x64xf32, tmem> -> tensor<128x64xf32>
// SPLIT: nv.tmem.store %{{.*}} : tensor<128x64xbf16>, <128x64xbf16, tmem>
// SPLIT: warp.role @mma
// SPLIT: scf.for
// SPLIT-NEXT: %[[K:.*]] = warp.acquire
// SPLIT: nv.memdesc.slice %{{.*}}[%{{.*}}, %{{.*}}] : <256x64xbf16> -> <128x64xbf16>
// SPLIT: nv.tcgen05.mma {{.*}} : <128x64xbf16>, <64x64xbf16>, <128x64xf32, tmem>
// SPLIT: warp.release
// SPLIT: nv.memdesc.slice %{{.*}}[%{{.*}}, %{{.*}}] : <256x64xbf16> -> <128x64xbf16>
// SPLIT: nv.tcgen05.mma {{.*}} : <128x64xbf16>, <64x64xbf16>, <128x64xf32, tmem>
// SPLIT: warp.release %[[K]] to
// SPLIT-COUNT-2: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>, <64x64xbf16>, <128x64xf32, tmem>
// SPLIT-NOT: nv.tcgen05.mma

// ORDER-LABEL: func.func @side_by_side
// ORDER: warp.role @load
// ORDER: scf.if
// ORDER: nv.tma.load %arg1
// ORDER: scf.for
// ORDER: nv.tma.load %arg1
// ORDER: nv.tma.load %arg2
// ORDER: }
// ORDER: nv.tma.load %arg2
// ORDER: warp.role @mma
// ORDER: scf.if
// ORDER-COUNT-2: nv.tcgen05.mma {{.*}} : <128x64xbf16>, <64x64xbf16>,
// ORDER: scf.for
// ORDER-COUNT-2: nv.tcgen05.mma {{.*}} : <128x64xbf16>, <64x64xbf16>,
// ORDER-COUNT-2: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
// ORDER: }
// ORDER-COUNT-2: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
// ORDER-NOT: nv.tcgen05.mma

// OFF-LABEL: func.func @side_by_side
// OFF: warp.role @mma
// OFF-NOT: scf.if
// OFF: scf.for
// OFF-COUNT-4: nv.tcgen05.mma
// OFF-NOT: nv.tcgen05.mma
func.func @side_by_side(%Q: !tile.desc<256x64xbf16>, %K: !tile.desc<64x64xbf16>, %V: !tile.desc<64x64xbf16>, %O: !tile.desc<256x64xf32>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<256x64xf32>
  %q = tile.load %Q[%c0, %c0] : !tile.desc<256x64xbf16> -> tensor<256x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<256x64xf32> : i32 {
    %k = tile.load %K[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %s = tile.dot %q, %k : tensor<256x64xbf16>, tensor<64x64xbf16> -> tensor<256x64xf32>
    %e = math.exp2 %s : tensor<256x64xf32>
    %p = arith.truncf %e : tensor<256x64xf32> to tensor<256x64xbf16>
    %v = tile.load %V[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %next = tile.dot %p, %v acc(%acc) : tensor<256x64xbf16>, tensor<64x64xbf16> -> tensor<256x64xf32>
    scf.yield %next : tensor<256x64xf32>
  }
  tile.store %sum to %O[%c0, %c0] : tensor<256x64xf32>, !tile.desc<256x64xf32>
  return
}

// -----

// Sums of 128 columns leave no room for operands beside scores of 128: they lie over them, with one ring more. The next scores of a block
// are multiplied right behind the product that reads the operand.
// SPLIT-LABEL: func.func @over
// OFF-LABEL: func.func @over
// ORDER-LABEL: func.func @over
// ORDER-NOT: 128x128xbf16], tmem
// ORDER: warp.role @math
// ORDER: scf.for
// ORDER: %[[TOKEN:.*]] = warp.acquire
// ORDER: %[[SLOT:.*]] = warp.slot %[[TOKEN]]
// ORDER: %[[P:.*]] = nv.memdesc.reinterpret %[[SLOT]] at 0 : <128x128xf32, tmem> -> <128x128xbf16, tmem>
// ORDER: nv.tmem.load %[[SLOT]]
// ORDER-NOT: warp.release
// ORDER: nv.tmem.store %{{.*}} to %[[P]]
// ORDER: warp.release %[[TOKEN]] to
// ORDER: warp.role @mma
// ORDER: scf.if
// ORDER-COUNT-2: nv.tcgen05.mma {{.*}} : <128x128xbf16>,
// ORDER: scf.for
// ORDER: nv.tcgen05.mma {{.*}} : <128x128xbf16, tmem>,
// ORDER: warp.release %{{.*}} to %[[FREE:.*]] tcgen05
// ORDER: warp.acquire %[[FREE]]
// ORDER: nv.tcgen05.mma {{.*}} : <128x128xbf16>,
// ORDER: nv.tcgen05.mma {{.*}} : <128x128xbf16, tmem>,
// ORDER: warp.release %{{.*}} to %[[FREE]] tcgen05
// ORDER: warp.acquire %[[FREE]]
// ORDER: nv.tcgen05.mma {{.*}} : <128x128xbf16>,
// ORDER: }
// ORDER-COUNT-2: nv.tcgen05.mma {{.*}} : <128x128xbf16, tmem>,
// ORDER-NOT: nv.tcgen05.mma
func.func @over(%Q: !tile.desc<256x128xbf16>, %K: !tile.desc<128x128xbf16>, %V: !tile.desc<128x128xbf16>, %O: !tile.desc<256x128xf32>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<256x128xf32>
  %q = tile.load %Q[%c0, %c0] : !tile.desc<256x128xbf16> -> tensor<256x128xbf16>
  %sum = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %zero) -> tensor<256x128xf32> : i32 {
    %k = tile.load %K[%i, %c0] : !tile.desc<128x128xbf16> -> tensor<128x128xbf16>
    %s = tile.dot %q, %k : tensor<256x128xbf16>, tensor<128x128xbf16> -> tensor<256x128xf32>
    %e = math.exp2 %s : tensor<256x128xf32>
    %p = arith.truncf %e : tensor<256x128xf32> to tensor<256x128xbf16>
    %v = tile.load %V[%i, %c0] : !tile.desc<128x128xbf16> -> tensor<128x128xbf16>
    %next = tile.dot %p, %v acc(%acc) : tensor<256x128xbf16>, tensor<128x128xbf16> -> tensor<256x128xf32>
    scf.yield %next : tensor<256x128xf32>
  }
  tile.store %sum to %O[%c0, %c0] : tensor<256x128xf32>, !tile.desc<256x128xf32>
  return
}
