func.func @until(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xf32>, %m: i32, %k: i32, %p: i64 {tile.pointer = i32})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  tile.for_each_tile (%i) in (%m) {
    scf.while : () -> () {
      %x = tile.gather %p[%i] : i32 -> i32
      %c = arith.cmpi slt, %x, %k : i32
      scf.condition(%c)
    } do {
      %a = tile.load %A[%i, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%c0, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%zero) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      tile.store %d to %C[%i, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
      scf.yield
    }
  }
  return
}
