// Of three replicas the order with a late product is taken where it is no slower by the model, if its registers can be enough: fewer than the model counts.
// RUN: sed 's/replicas(2) registers(232)/replicas(3) registers(160)/' %S/../../programs/sequential/running_scale.mlir | kernel-opt \
// RUN:   --pass-pipeline='builtin.module(warp-guard-scales{min-registers=16},warp-pipeline-role{report=true})' 2>%t | FileCheck %s --check-prefix=LATE
// RUN: FileCheck %s --check-prefix=WHY < %t
// RUN: sed 's/replicas(2) registers(232)/replicas(3) registers(144)/' %S/../../programs/sequential/running_scale.mlir | kernel-opt \
// RUN:   --pass-pipeline='builtin.module(warp-guard-scales{min-registers=16},warp-pipeline-role)' | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/replicas(2) registers(232)/replicas(2) registers(160)/' %S/../../programs/sequential/running_scale.mlir | kernel-opt \
// RUN:   --pass-pipeline='builtin.module(warp-guard-scales{min-registers=16},warp-pipeline-role)' | FileCheck %s --check-prefix=ORDER

// WHY: schedule of role 'math': in order: [[CLOCKS:[0-9]+]] clocks {{.*}}; late from product level 1: [[CLOCKS]] clocks {{.*}}, 164 registers of 160
// LATE: nv.wgmma.wait {{.*}} pending(1)
// ORDER-NOT: pending(1)
