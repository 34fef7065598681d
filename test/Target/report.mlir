// The report: what passes recorded, launch attributes, ptxas (played back) and times, as tables and as JSON.
// RUN: env FAKE_PTXAS=%S/Inputs/spill.txt kernel-opt %s --target=sm_90a --report --ptxas=%S/Inputs/fake-ptxas.sh 2>%t.err | FileCheck %s --strict-whitespace
// RUN: FileCheck %s --check-prefix=WARNING < %t.err
// RUN: env FAKE_PTXAS=%S/Inputs/serialized.txt kernel-opt %s --target=sm_90a --emit=ptx -o %t.ptx --report=json --ptxas=%S/Inputs/fake-ptxas.sh 2>/dev/null > %t.json
// RUN: %python -c "import json; r = json.load(open(r'%t.json')); k = r['kernels'][0]; print(r['version'], r['target'], [s['stage'] for s in r['stages']]); print(k['name'], k['rings'][0]['bytes'], k['launch']['threads'], k['ptxas']['registers'], k['ptxas']['messages'][0]['code'], r['ptxas']['state'])" | FileCheck %s --check-prefix=JSON
// RUN: env FAKE_PTXAS=%S/Inputs/spill.txt kernel-opt %s --target=sm_90a --emit=ptx --report --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 >/dev/null | FileCheck %s --strict-whitespace
// RUN: env FAKE_PTXAS=%S/Inputs/spill.txt kernel-opt %s --target=sm_90a --report-file=%t.file.json --ptxas=%S/Inputs/fake-ptxas.sh 2>/dev/null | count 0
// RUN: FileCheck %s --check-prefix=FILE < %t.file.json

// CHECK:      target sm_90a
// CHECK-NEXT: kernel k ({{.*}}report.mlir:{{[0-9]+}}:1)
// CHECK-NEXT:   launch: cluster 2 x 1 x 1, grid persistent, min_ctas 1, shared_bytes 229440, threads 384
// CHECK-NEXT:   roles
// CHECK-NEXT:     name  warps  replicas  registers  single_thread
// CHECK-NEXT:     load      1         1         40  yes
// CHECK-NEXT:     math      4         2        232  -
// CHECK-NEXT:   rings
// CHECK-NEXT:     name   depth   bytes  barriers
// CHECK-NEXT:     ready      4  196608         4
// CHECK-NEXT:   matrix multiplies
// CHECK-NEXT:     op     shape       a     count  extra
// CHECK-NEXT:     wgmma  m64n256k16  bf16      4  u=1
// CHECK-NEXT:   shared memory
// CHECK-NEXT:     name   bytes  offset
// CHECK-NEXT:     ab    196608       0
// CHECK-NEXT:   ptxas: 24 registers, 228 + 224 bytes spilled (stores + loads), 232 bytes stack, 1 barriers, 0 bytes static shared memory
// CHECK-NEXT: kernel bare (
// CHECK-NEXT: ptxas: assembled by {{.*}}fake-ptxas.sh, 4 bytes
// CHECK-NEXT:   milliseconds of wall time
// CHECK-NEXT:     stage {{ *}}ms
// CHECK-NEXT:     parse{{ +[0-9]+\.[0-9]$}}
// CHECK:          total{{ +[0-9]+\.[0-9]$}}
// WARNING: warning: ptxas: 'k' spills registers
// JSON: 1 sm_90a ['parse', 'tile', 'warp', 'rings', 'nv', 'emit', 'translate', 'llvm', 'codegen', 'ptxas']
// JSON: k 196608 384 30 C7509 assembled
// FILE: "version": 1

llvm.func @k(%out: !llvm.ptr<1>) attributes {
    nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.minctasm = 1 : i32,
    tileloom.report = {
      roles = [{name = "load", warps = 1, replicas = 1, registers = 40, single_thread = true},
               {name = "math", warps = 4, replicas = 2, registers = 232}],
      rings = [{name = "ready", depth = 4, bytes = 196608, barriers = 4}],
      shared = [{name = "ab", offset = 0, bytes = 196608}],
      tensor = [],
      mma = [{op = "wgmma", shape = "m64n256k16", a = "bf16", count = 4, extra = {u = 1}}],
      launch = {shared_bytes = 229440, grid = "persistent"}}} {
  %x = llvm.mlir.constant(1 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}

llvm.func @bare() attributes {nvvm.kernel, tileloom.report = "not a dictionary"} {
  llvm.return
}
