// RUN: valid --allow-unregistered-dialect
// Aliases, and attributes of every kind.
#answer = 42 : i64
#target = #nvvm.target<chip = "sm_90a">
!real = f32
"other.op"() {a = 1 : i32, b = -7 : i64, c = true, d, e = "text \0A \22quoted\22 \\", f = 1.500000e+00 : f32, g = [1 : i8, "two", [3 : index]],
    h = {inner = @sym::@nested, "needs quotes" = unit}, i = array<i32: 1, -2>, j = array<i1: true, false>, k = array<f32: 1.0, 2.5>, l = #answer,
    m = #target, n = (i32, !real) -> (), o = !llvm.struct<(i32, array<4 x ptr<3>>)>, p = dense<[1, 2]> : tensor<2xi32>, q = i64,
    r = 0xFF800000 : f32, s = array<i8>, t = !other.type<with, "things"[1]>, u = vector<4xf32>, v = affine_map<(d0) -> (d0)>, w = {}, x = tensor<4x?xf32>,
    y = -0.0 : f64, z = 1.0e-40 : f64} : () -> ()
