// RUN: kernel-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{descriptor rank: expected 1 to 5, found 6}}
func.func private @rank(!tile.desc<1x1x1x1x1x1xf32>)

// -----

// expected-error@+1 {{descriptor rank: expected 1 to 5, found 0}}
func.func private @scalar(!tile.desc<f32>)

// -----

// expected-error@+1 {{descriptor box extents: expected positive values}}
func.func private @extents(!tile.desc<4x0xf32>)

// -----

// expected-error@+1 {{descriptor element type: expected an integer or float, found 'index'}}
func.func private @element(!tile.desc<4x4xindex>)

// -----

func.func @not_on_a_function() {
  // expected-error@+1 {{'tile.kernel' expected on a function, found on 'arith.constant'}}
  %c = arith.constant {tile.kernel} 0 : i32
  return
}

// -----

// expected-error@+1 {{'tile.kernel' expected a unit attribute, found 1 : i64}}
func.func @not_unit() attributes {tile.kernel = 1} {
  return
}

// -----

func.func @nested_tiles(%n: i32) {
  tile.for_each_tile (%i) in (%n) {
    // expected-error@+1 {{place: expected no loop over tiles around it, found one; give one loop all extents}}
    tile.for_each_tile (%j) in (%n) {
    }
  }
  return
}
