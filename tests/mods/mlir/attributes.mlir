// accepted --allow-unregistered-dialect
module attributes {
  my.set = affine_set<(d0, d1) : (d0 - d1 >= 0, d0 <= 8, d1 == 0)>,
  my.map = affine_map<(d0, d1)[s0] -> (d0 floordiv 3 + s0 mod 4, d1 ceildiv 2)>,
  my.own = #own.thing<a -> "b>c">,
  my.quiet = 0x7FC00000 : f32, my.loud = 0x7F800001 : f32, my.loud_half = 0x7C01 : f16,
  my.loud_bf = 0xFF81 : bf16, my.loud_wide = 0xFFF0000000000001 : f64, my.small = 0x0001 : f16,
  my.loud_array = array<f32: 1.0, 0x7FA00000, 0xFF800000>} {
}

// -----
// accepted
#one = 1 : i32
#map = affine_map<(d0) -> (d0)>
#deep = array<i32: 1, 2>
!t = f32
!p = !llvm.ptr<3>
#here = loc("a.c":1:2)
func.func private @f(tensor<2x!t>, tuple<!t, !p>, vector<2x4x!t>, memref<4x!t, #map>) attributes {
  some.thing = dense<1.0> : tensor<2x!t>, other.thing = distinct[0]<#deep>, third.thing = [#one, {a = !p}], a.place = #here}

// -----
// refused: undefined symbol alias id 'nothing'
func.func private @f(tensor<2x4xf32, #nothing>)

// -----
// refused: attribute names with a '.' are reserved for dialect-defined names
#a.b = 1 : i32

// -----
// refused: type names with a '.' are reserved for dialect-defined names
!a.b = i32

// -----
// refused: is of a dialect that is not known
module attributes {some.thing = #nowhere.thing<1>} {
}

// -----
// refused: is of a dialect that is not known
func.func private @f(!nowhere.thing)

// -----
// refused: is of a dialect that is not known
func.func private @f(tuple<i32, !nowhere.thing<i32>>)

// -----
// refused: can only contain attributes with dialect-prefixed names, found: 'plain'
module attributes {plain = 1 : i32} {
}

// -----
// refused: hexadecimal float constant out of range
module attributes {some.thing = 0x17F80 : f16} {
}

// -----
// refused: hexadecimal float literal should not have a leading minus
module attributes {some.thing = -0x7F80 : bf16} {
}

// -----
// accepted
func.func private @f(vector<4xf32>, vector<2x3xi8>, vector<[4]xi32>, vector<2x[4]xbf16>, vector<f32>, vector<3xindex>)

// -----
// refused: vector types must have positive constant sizes
func.func private @f(vector<2x0xf32>)

// -----
// refused: vector elements must be int/index/float type
func.func private @f(vector<1xvector<1xi32>>)

// -----
// refused: vector elements must be int/index/float type
func.func private @f(vector<2x2x!llvm.ptr>)
