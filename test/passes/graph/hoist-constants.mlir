// RUN: stint-opt --stint-hoist-constants %s | FileCheck %s
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: func.func @constants() -> !graph.tensor<[4] x f32>
  // CHECK: %[[S:.*]] = graph.sqrt
  // CHECK: return %[[S]]
  // CHECK-LABEL: func.func @main(%arg0: !graph.tensor<[s0, 4] x f32>, %arg1: !graph.tensor<[4] x f32> {stint.constant = 0 : i64})
  // CHECK-NEXT: graph.mul %arg0, %arg1
  // CHECK-NEXT: return
  func.func @main(%x: !graph.tensor<[s0, 4] x f32>) -> !graph.tensor<[s0, 4] x f32> {
    %w = graph.weight "w" <0, 0, 16, f32, [4]> : !graph.tensor<[4] x f32>
    %e = graph.constant dense<1.0e-5> : tensor<f32> : !graph.tensor<[] x f32>
    %a = graph.add %w, %e : (!graph.tensor<[4] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[4] x f32>
    %s = graph.sqrt %a : (!graph.tensor<[4] x f32>) -> !graph.tensor<[4] x f32>
    %m = graph.mul %x, %s : (!graph.tensor<[s0, 4] x f32>, !graph.tensor<[4] x f32>) -> !graph.tensor<[s0, 4] x f32>
    return %m : !graph.tensor<[s0, 4] x f32>
  }
}
