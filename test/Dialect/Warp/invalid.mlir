// RUN: kernel-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{buffer depth: expected at least 1, found 0}}
func.func private @depth(!warp.buffer<0 x [64x64xbf16]>)

// -----

// expected-error@+1 {{buffer view element type: expected an integer or float, found 'index'}}
func.func private @element(!warp.buffer<2 x [64x64xindex]>)

// -----

// expected-error@+1 {{cluster size: expected 1 to 8 CTAs (16 need a non-portable launch), found 16}}
func.func @cluster() attributes {warp.launch = #warp.launch<cluster = 16>} {
  return
}

// -----

// expected-error@+1 {{per_sm: expected at least 1 CTA, found 0}}
func.func @per_sm() attributes {warp.launch = #warp.launch<perSm = 0>} {
  return
}

// -----

// expected-error@+1 {{'warp.launch' expected a #warp.launch attribute on a function}}
func.func @launch() attributes {warp.launch = 1} {
  return
}

// -----

// expected-error@+1 {{failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 2 whose maximum value is 4}}
%turn = warp.order 5

// -----

func.func @stage_without_phase(%stage: i32) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{at: expected both stage and phase, or neither}}
  %t = "warp.acquire"(%ring, %stage) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!warp.ring, i32) -> !warp.token
  return
}

// -----

func.func @acquire_of_argument(%ring: !warp.ring) {
  // expected-error@+1 {{ring: expected the result of warp.ring or warp.channel, found another value}}
  %t = warp.acquire %ring
  return
}

// -----

func.func @slot_of_argument(%t: !warp.token) {
  // expected-error@+1 {{token: expected the result of warp.acquire or warp.take, found another value}}
  %v = warp.slot %t : !nv.memdesc<64x64xbf16>
  return
}

// -----

func.func @slot_count() {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16, 32x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16, 32x64xbf16]>
  %t = warp.acquire %ring
  // expected-error@+1 {{results: expected 2 (the views of '!warp.buffer<2 x [64x64xbf16, 32x64xbf16]>'), found 1}}
  %v = warp.slot %t : !nv.memdesc<64x64xbf16>
  return
}

// -----

func.func @slot_shape() {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %t = warp.acquire %ring
  // expected-error@+1 {{result 0: expected '!nv.memdesc<64x64xbf16>', found '!nv.memdesc<64x32xbf16>'}}
  %v = warp.slot %t : !nv.memdesc<64x32xbf16>
  return
}

// -----

func.func @slot_space() {
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32], tmem>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xf32], tmem>
  %t = warp.acquire %ring
  // expected-error@+1 {{result 0: expected '!nv.memdesc<64x64xf32, tmem>', found '!nv.memdesc<64x64xf32>'}}
  %v = warp.slot %t : !nv.memdesc<64x64xf32>
  return
}

// -----

func.func @release_of_argument(%t: !warp.token) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{token: expected the result of warp.acquire or warp.take, found another value}}
  warp.release %t to %ring tma
  return
}

// -----

func.func @release_to_argument(%to: !warp.ring) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %t = warp.acquire %ring
  // expected-error@+1 {{ring: expected the result of warp.ring or warp.channel, found another value}}
  warp.release %t to %to tma
  return
}

// -----

func.func @release_to_another_buffer() {
  %a = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %from = warp.ring released %a : !warp.buffer<2 x [64x64xbf16]>
  %to = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %t = warp.acquire %from
  // expected-error@+1 {{ring: expected one over the buffer that the token was acquired from}}
  warp.release %t to %to tma
  return
}

// -----

func.func @store_through_argument(%v: tensor<64x64xbf16>, %d: !tile.desc<64x64xbf16>, %i: i32, %ring: !warp.ring) {
  // expected-error@+1 {{ring: expected the result of warp.ring or warp.channel, found another value}}
  warp.store %v to %d[%i, %i] through %ring : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
  return
}

// -----

func.func @store_shape(%v: tensor<64x32xbf16>, %d: !tile.desc<64x32xbf16>, %i: i32) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{ring: expected one over a buffer of 'tensor<64x32xbf16>', found '!warp.buffer<2 x [64x64xbf16]>'}}
  warp.store %v to %d[%i, %i] through %ring : tensor<64x32xbf16>, !tile.desc<64x32xbf16>
  return
}

// -----

func.func @store_not_released(%v: tensor<64x64xbf16>, %d: !tile.desc<64x64xbf16>, %i: i32) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{ring: expected one that starts released}}
  warp.store %v to %d[%i, %i] through %ring : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
  return
}

// -----

func.func @not_a_role() {
  warp.specialize {
    // expected-error@+1 {{in warp.specialize: expected only warp.role operations}}
    %c = arith.constant 0 : i32
  }
  return
}

// -----

func.func @registers_on_some() {
  // expected-error@+1 {{register budgets: expected on all roles or on none}}
  warp.specialize {
    warp.role @a warps(4) registers(40) {
    }
    warp.role @b warps(4) {
    }
  }
  return
}

// -----

func.func @registers() {
  warp.specialize {
    // expected-error@+1 {{registers: expected a multiple of 8 from 24 to 256 (setmaxnreg), found 100}}
    warp.role @a warps(4) registers(100) {
    }
  }
  return
}

// -----

func.func @warps() {
  warp.specialize {
    // expected-error@+1 {{warps: expected at most 32 in all replicas, found 36}}
    warp.role @a warps(12) replicas(3) {
    }
  }
  return
}

// -----

// expected-error@+1 {{expects parent op 'warp.specialize'}}
warp.role @outside warps(4) {
}

// -----

func.func @captures(%a: i32) {
  %sum = arith.addi %a, %a : i32
  warp.specialize {
    warp.role @a warps(4) {
      // expected-error@+1 {{in role @a: expected outside values to be kernel arguments, constants, buffers, rings or orders, found the result of 'arith.addi'}}
      %b = arith.addi %sum, %a : i32
    }
  }
  return
}

// -----

func.func @captures_loop(%n: index, %one: index) {
  scf.for %i = %one to %n step %one {
    warp.specialize {
      warp.role @a warps(4) {
        // expected-error@+1 {{in role @a: expected outside values to be kernel arguments, constants, buffers, rings or orders, found the result of 'block'}}
        %b = arith.addi %i, %n : index
      }
    }
  }
  return
}

// -----

func.func @tile_step(%m: i32) {
  // expected-error@+1 {{step: expected 'all' or 'replica', found 'some'}}
  warp.for_each_tile (%i, %j) in (%m, %m) step(some) {
  }
  return
}

// -----

func.func @tile_arguments(%m: i32) {
  // expected-error@+1 {{body arguments: expected 2 tile coordinates, found 1}}
  "warp.for_each_tile"(%m, %m) <{group = 1 : i64, step = 0 : i32}> ({
  ^bb0(%i: i32):
  }) : (i32, i32) -> ()
  return
}

// -----

func.func @hold_released(%v: tensor<64x64xf32>) {
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %x = arith.constant dense<0.0> : tensor<64x64xf32>
      %t = warp.acquire %ready
      warp.release %t to %free generic
      // expected-error@+1 {{token: expected a slot that the role still holds, found one released before}}
      %y = warp.hold %t, %x : tensor<64x64xf32>
    }
  }
  return
}

// -----

func.func @peek_ring(%ring: !warp.ring) {
  warp.specialize {
    warp.role @math warps(4) {
      // expected-error@+1 {{ring: expected the result of warp.ring or warp.channel, found another value}}
      %p = warp.peek %ring
    }
  }
  return
}

// -----

func.func @channel_without_rings() {
  // expected-error@+1 {{results: expected at least one ring, found none}}
  "warp.channel"() <{buffer = !warp.buffer<2 x [64x64xbf16]>}> : () -> ()
  return
}

// -----

func.func @take_views() {
  %free, %ready = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{result 0: expected '!nv.memdesc<64x64xbf16>', found '!nv.memdesc<64x32xbf16>'}}
  %t, %v = warp.take %ready : !nv.memdesc<64x32xbf16>
  return
}

// -----

func.func @load_of_two_views(%D: !tile.desc<64x64xbf16>, %i: i32) {
  %free, %ready = warp.channel : !warp.buffer<2 x [64x64xbf16, 64x64xbf16]>
  // expected-error@+1 {{ring: expected one over a buffer of one view, found '!warp.buffer<2 x [64x64xbf16, 64x64xbf16]>'}}
  warp.load %D[%i, %i] through %free to %ready : !tile.desc<64x64xbf16>
  return
}

// -----

func.func @put_shape(%v: tensor<64x32xbf16>) {
  %free, %ready = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{ring: expected one over a buffer of 'tensor<64x32xbf16>', found '!warp.buffer<2 x [64x64xbf16]>'}}
  warp.put %v through %free to %ready : tensor<64x32xbf16>
  return
}

// -----

func.func @get_to_another_buffer() {
  %free, %ready = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  %other = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{to: expected a ring over the same buffer}}
  %v = warp.get %ready to %other : tensor<64x64xbf16>
  return
}

// -----

func.func @group_twice(%m: i32) {
  // expected-error@+1 {{group: expected a number or a value, found both}}
  "warp.for_each_tile"(%m, %m, %m) <{group = 2 : i64, step = 0 : i32}> ({
  ^bb0(%i: i32, %j: i32):
  }) : (i32, i32, i32) -> ()
  return
}

// -----

func.func @load_of_a_tile(%v: tensor<64x64xbf16>, %i: i32) {
  %free, %ready = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{desc: expected a descriptor, found 'tensor<64x64xbf16>'}}
  warp.load %v[%i, %i] through %free to %ready : tensor<64x64xbf16>
  return
}

// -----

func.func @load_coordinates(%D: !tile.desc<64x64xbf16>, %i: i32) {
  %free, %ready = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{coordinates: expected 2 for '!tile.desc<64x64xbf16>', found 1}}
  warp.load %D[%i] through %free to %ready : !tile.desc<64x64xbf16>
  return
}
