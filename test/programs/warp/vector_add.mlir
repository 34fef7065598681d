// c = a + b for n elements of fp32, 1024 a CTA. Nothing is known of n, so each element has its own mask.

func.func @vector_add(%a: i64 {tile.name = "a", tile.pointer = f32, tile.divisibility = 16 : i32},
                      %b: i64 {tile.name = "b", tile.pointer = f32, tile.divisibility = 16 : i32},
                      %c: i64 {tile.name = "c", tile.pointer = f32, tile.divisibility = 16 : i32}, %n: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>,
                nv.grid = [{op = "ceildiv", of = [{argument = 3}, 1024]}]} {
  %c1024 = arith.constant 1024 : i32
  warp.specialize {
    warp.role @main warps(4) {
      %program = nv.program_id 0
      %begin = arith.muli %program, %c1024 : i32
      %i = nv.index dim(0) : tensor<1024xi32>
      %begins = nv.splat %begin : i32 -> tensor<1024xi32>
      %at = arith.addi %begins, %i overflow<nsw> : tensor<1024xi32>
      %limit = nv.splat %n : i32 -> tensor<1024xi32>
      %inside = arith.cmpi slt, %at, %limit : tensor<1024xi32>
      %x = nv.global_load %a[%at] mask(%inside : tensor<1024xi1>) : tensor<1024xi32> -> tensor<1024xf32>
      %y = nv.global_load %b[%at] mask(%inside : tensor<1024xi1>) : tensor<1024xi32> -> tensor<1024xf32>
      %z = arith.addf %x, %y : tensor<1024xf32>
      nv.global_store %z to %c[%at] mask(%inside : tensor<1024xi1>) : tensor<1024xf32>, tensor<1024xi32>
    }
  }
  return
}
