// RUN: stint-opt --stint-simplify-graph %s | FileCheck %s
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: @neutral
  // CHECK-NEXT: graph.constant dense<0.000000e+00>
  // CHECK-NEXT: %[[ADD:.*]] = graph.add
  // CHECK-NEXT: return %[[ADD]]
  func.func @neutral(%x: !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> {
    %one = graph.constant dense<1.0> : tensor<f32> : !graph.tensor<[] x f32>
    %zero = graph.constant dense<0.0> : tensor<f32> : !graph.tensor<[] x f32>
    %a = graph.mul %one, %x : (!graph.tensor<[] x f32>, !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32>
    %b = graph.div %a, %one : (!graph.tensor<[s0] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[s0] x f32>
    %c = graph.sub %b, %zero : (!graph.tensor<[s0] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[s0] x f32>
    // -0 + 0 is 0: an addition stays.
    %d = graph.add %c, %zero : (!graph.tensor<[s0] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[s0] x f32>
    return %d : !graph.tensor<[s0] x f32>
  }
  // 1 / x and 0 - x are not neutral.
  // CHECK-LABEL: @order
  // CHECK: graph.div
  // CHECK: graph.sub
  func.func @order(%x: !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> {
    %one = graph.constant dense<1.0> : tensor<f32> : !graph.tensor<[] x f32>
    %zero = graph.constant dense<0.0> : tensor<f32> : !graph.tensor<[] x f32>
    %a = graph.div %one, %x : (!graph.tensor<[] x f32>, !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32>
    %b = graph.sub %zero, %a : (!graph.tensor<[] x f32>, !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32>
    return %b : !graph.tensor<[s0] x f32>
  }
  // CHECK-LABEL: @square
  // CHECK: graph.mul %arg0, %arg0
  func.func @square(%x: !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> {
    %two = graph.constant dense<2.0> : tensor<f32> : !graph.tensor<[] x f32>
    %a = graph.pow %x, %two : (!graph.tensor<[s0] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[s0] x f32>
    return %a : !graph.tensor<[s0] x f32>
  }
  // CHECK-LABEL: @recipe
  // CHECK-NEXT: %[[W:.*]] = graph.weight "w" <0, 0, 24, f32, [2, 3]> {steps = [#graph.step<transpose, [1, 0]>, #graph.step<reshape, [6]>, #graph.step<cast, f16>]} : <[6] x f16>
  // CHECK-NEXT: return %[[W]]
  func.func @recipe() -> !graph.tensor<[6] x f16> {
    %w = graph.weight "w" <0, 0, 24, f32, [2, 3]> : !graph.tensor<[2, 3] x f32>
    %t = graph.transpose %w {permutation = array<i64: 1, 0>} : (!graph.tensor<[2, 3] x f32>) -> !graph.tensor<[3, 2] x f32>
    %r = graph.reshape %t : (!graph.tensor<[3, 2] x f32>) -> !graph.tensor<[6] x f32>
    %c = graph.cast %r : (!graph.tensor<[6] x f32>) -> !graph.tensor<[6] x f16>
    return %c : !graph.tensor<[6] x f16>
  }
  // CHECK-LABEL: @movement
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0
  // CHECK-NEXT: return %[[R]], %[[R]]
  func.func @movement(%x: !graph.tensor<[s0, 1, 3] x f32>) -> (!graph.tensor<[1, s0, 3] x f32>, !graph.tensor<[1, s0, 3] x f32>) {
    %t = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (!graph.tensor<[s0, 1, 3] x f32>) -> !graph.tensor<[1, s0, 3] x f32>
    %a = graph.reshape %x : (!graph.tensor<[s0, 1, 3] x f32>) -> !graph.tensor<[s0, 3] x f32>
    %b = graph.reshape %a : (!graph.tensor<[s0, 3] x f32>) -> !graph.tensor<[1, s0, 3] x f32>
    return %t, %b : !graph.tensor<[1, s0, 3] x f32>, !graph.tensor<[1, s0, 3] x f32>
  }
}
