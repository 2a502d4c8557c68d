// RUN: valid --allow-unregistered-dialect
// Operations that nobody knows, in the generic form.
func.func @f(%a: i32) {
  %0:2 = "other.op"(%a) ({
  ^bb0(%x: !other.type<4>):
    "other.end"(%x)[^bb1] : (!other.type<4>) -> ()
  ^bb1:
    "other.stop"() {tag = #other<"attr">} : () -> ()
  }) : (i32) -> (i32, tensor<4x?xf32>)
  func.return
}
