// RUN: stint-opt %s --split-input-file --verify-diagnostics
// expected-error@+1 {{element type 'i4' is not one of a graph tensor}}
func.func private @f(!graph.tensor<[2] x i4>)
// -----
// expected-error@+1 {{dimension -1 is negative}}
func.func private @f(!graph.tensor<[-1] x f32>)
// -----
// expected-error@+1 {{rank 9 is above 8}}
func.func private @f(!graph.tensor<[1, 1, 1, 1, 1, 1, 1, 1, 1] x f32>)
// -----
// expected-error@+1 {{layout orders 1 dimensions of a rank-2 tensor}}
func.func private @f(!graph.tensor<[1, 1] x f32, #graph.layout<[0]>>)
// -----
// expected-error@+1 {{layout order is not a permutation of the dimensions}}
func.func private @f(!graph.tensor<[1, 1] x f32, #graph.layout<[0, 0]>>)
// -----
func.func @f(%a: !graph.tensor<[2] x f32>, %b: !graph.tensor<[3] x f32>) {
  // expected-error@+1 {{operand shapes do not broadcast}}
  %c = graph.add %a, %b : (!graph.tensor<[2] x f32>, !graph.tensor<[3] x f32>) -> !graph.tensor<[3] x f32>
  return
}
// -----
func.func @f(%a: !graph.tensor<[2] x f32>, %b: !graph.tensor<[2] x f64>) {
  // expected-error@+1 {{operands and result must have one element type}}
  %c = graph.add %a, %b : (!graph.tensor<[2] x f32>, !graph.tensor<[2] x f64>) -> !graph.tensor<[2] x f32>
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>, %b: !graph.tensor<[4, 5] x f32>) {
  // expected-error@+1 {{K differs between the operands}}
  %c = graph.matmul %a, %b : (!graph.tensor<[2, 3] x f32>, !graph.tensor<[4, 5] x f32>) -> !graph.tensor<[2, 5] x f32>
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>) {
  // expected-error@+1 {{changes the number of elements}}
  %c = graph.reshape %a : (!graph.tensor<[2, 3] x f32>) -> !graph.tensor<[5] x f32>
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{extent has 8 bytes, not those of its shape and type}}
  %w = graph.weight "w" <0, 0, 8, f32, [4]> : !graph.tensor<[4] x f32>
  return
}
// -----
func.func @f() {
  // expected-error@+1 {{unknown step 'fold'}}
  %w = graph.weight "w" <0, 0, 16, f32, [4]> {steps = [#graph.step<fold, [4]>]} : !graph.tensor<[4] x f32>
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>) {
  // expected-error@+1 {{a contraction holds exactly one matmul or conv}}
  %k = graph.kernel contraction(%a) : (!graph.tensor<[2, 3] x f32>) -> !graph.tensor<[2, 3] x f32> {
  ^bb0(%x: !graph.tensor<[2, 3] x f32>):
    graph.yield %x : !graph.tensor<[2, 3] x f32>
  }
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>) {
  // expected-error@+1 {{names no kernel: missing}}
  %k = graph.call @missing(%a) symbols [] : (!graph.tensor<[2, 3] x f32>) -> !graph.tensor<[2, 3] x f32>
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>) {
  // expected-error@+1 {{there is no leaf 'bottom_k'}}
  %y = graph.leaf "bottom_k"(%a) : (!graph.tensor<[2, 3] x f32>) -> !graph.tensor<[2] x f32>
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>) {
  // expected-error@+1 {{'top_k' has 2 results, not 1}}
  %y = graph.leaf "top_k"(%a) params [1] leading 1 : (!graph.tensor<[2, 3] x f32>) -> !graph.tensor<[2, 1] x f32>
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>) {
  // expected-error@+1 {{'top_k' has 1 params, not 0}}
  %y, %i = graph.leaf "top_k"(%a) leading 1 : (!graph.tensor<[2, 3] x f32>) -> (!graph.tensor<[2, 1] x f32>, !graph.tensor<[2, 1] x i64>)
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x i1>) {
  // expected-error@+1 {{'top_k' is not made for this element type}}
  %y, %i = graph.leaf "top_k"(%a) params [1] leading 1 : (!graph.tensor<[2, 3] x i1>) -> (!graph.tensor<[2, 1] x i1>, !graph.tensor<[2, 1] x i64>)
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32>) {
  // expected-error@+1 {{has no 3 leading dimensions}}
  %y, %i = graph.leaf "top_k"(%a) params [1] leading 3 : (!graph.tensor<[2, 3] x f32>) -> (!graph.tensor<[2, 1] x f32>, !graph.tensor<[2, 1] x i64>)
  return
}
// -----
func.func @f(%a: !graph.tensor<[2, 3] x f32, #graph.layout<[1, 0]>>) {
  // expected-error@+1 {{operands and results must be row-major}}
  %y, %i = graph.leaf "top_k"(%a) params [1] leading 1 : (!graph.tensor<[2, 3] x f32, #graph.layout<[1, 0]>>) -> (!graph.tensor<[2, 1] x f32>, !graph.tensor<[2, 1] x i64>)
  return
}
