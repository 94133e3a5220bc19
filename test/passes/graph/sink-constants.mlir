// RUN: stint-opt --stint-sink-constants %s | FileCheck %s
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>, #graph.symbol<"i", 0, 8>], graph.files = ["m.onnx"]} {
  // What a function can read itself is not handed to it, nor what it does not
  // read; through two levels.
  // CHECK-LABEL: func.func @main
  // CHECK: graph.loop @body iteration 1 trips #{{.*}} inits(%arg0) captures() :
  func.func @main(%x: !graph.tensor<[s0] x f32>, %unused: !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> {
    %w = graph.constant dense<2.0> : tensor<f32> : <[] x f32>
    %r = graph.loop @body iteration 1 trips affine_map<() -> (8)> inits(%x) captures(%w, %unused) : (!graph.tensor<[s0] x f32>, !graph.tensor<[] x f32>, !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32>
    return %r : !graph.tensor<[s0] x f32>
  }
  // CHECK-LABEL: func.func private @body(%arg0: !graph.tensor<[s0] x f32>) ->
  // CHECK: graph.if %{{.*}} then @then(%arg0) else @else(%arg0)
  func.func private @body(%x: !graph.tensor<[s0] x f32>, %w: !graph.tensor<[] x f32>, %unused: !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> {
    %c = graph.constant dense<1> : tensor<i64> : <[] x i64>
    %r = graph.if %c then @then(%x, %w) else @else(%x, %unused) : (!graph.tensor<[] x i64>, !graph.tensor<[s0] x f32>, !graph.tensor<[] x f32>, !graph.tensor<[s0] x f32>, !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32>
    return %r : !graph.tensor<[s0] x f32>
  }
  // CHECK-LABEL: func.func private @then(%arg0: !graph.tensor<[s0] x f32>) ->
  // CHECK: graph.constant dense<2.0
  func.func private @then(%x: !graph.tensor<[s0] x f32>, %w: !graph.tensor<[] x f32>) -> !graph.tensor<[s0] x f32> {
    %r = graph.mul %x, %w : (!graph.tensor<[s0] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[s0] x f32>
    return %r : !graph.tensor<[s0] x f32>
  }
  // CHECK-LABEL: func.func private @else(%arg0: !graph.tensor<[s0] x f32>) ->
  func.func private @else(%x: !graph.tensor<[s0] x f32>, %unused: !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> {
    return %x : !graph.tensor<[s0] x f32>
  }
}
