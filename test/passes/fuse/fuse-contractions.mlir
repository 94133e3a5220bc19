// RUN: stint-opt --stint-fuse-contractions %s | FileCheck %s
!t = !graph.tensor<[s0, 32] x f32>
!w = !graph.tensor<[32, 32] x f32, #graph.layout<[1, 0], tile = 1 : 16>>
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>], graph.files = ["m.onnx"]} {
  // Bias, activation with two uses, and residual join; the softmax's reduction does not.
  // CHECK-LABEL: @epilogue
  // CHECK: %[[K:.*]] = graph.kernel contraction(%arg0, %{{.*}}, %{{.*}}, %arg1)
  // CHECK: graph.matmul
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: graph.sigmoid
  // CHECK-NEXT: graph.mul
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: graph.yield
  // CHECK: graph.reduce max %[[K]]
  func.func @epilogue(%x: !t, %skip: !t) -> !graph.tensor<[s0, 1] x f32> {
    %w = graph.weight "w" <0, 0, 4096, f32, [32, 32]> : !w
    %b = graph.weight "b" <0, 4096, 128, f32, [32]> : !graph.tensor<[32] x f32>
    %m = graph.matmul %x, %w : (!t, !w) -> !t
    %a = graph.add %m, %b : (!t, !graph.tensor<[32] x f32>) -> !t
    %s = graph.sigmoid %a : (!t) -> !t
    %u = graph.mul %a, %s : (!t, !t) -> !t
    %r = graph.add %skip, %u : (!t, !t) -> !t
    %y = graph.reduce max %r {axes = array<i64: 1>} : (!t) -> !graph.tensor<[s0, 1] x f32>
    return %y : !graph.tensor<[s0, 1] x f32>
  }
  // An operand that depends on the kernel ends its growth: no cycle.
  // CHECK-LABEL: @cycle
  // CHECK: %[[K:.*]] = graph.kernel contraction
  // CHECK: %[[R:.*]] = graph.reduce sum %[[K]]
  // CHECK: graph.sub %[[K]], %[[R]]
  func.func @cycle(%x: !t) -> !t {
    %w = graph.weight "w" <0, 0, 4096, f32, [32, 32]> : !w
    %m = graph.matmul %x, %w : (!t, !w) -> !t
    %r = graph.reduce sum %m {axes = array<i64: 1>} : (!t) -> !graph.tensor<[s0, 1] x f32>
    %y = graph.sub %m, %r : (!t, !graph.tensor<[s0, 1] x f32>) -> !t
    return %y : !t
  }
  // Depthwise convolutions are left to loop nests.
  // CHECK-LABEL: @depthwise
  // CHECK-NOT: graph.kernel
  // CHECK: return
  func.func @depthwise(%x: !graph.tensor<[s0, 8, 4] x f32>, %w: !graph.tensor<[8, 1, 1, 1] x f32>) -> !graph.tensor<[s0, 8, 4] x f32> {
    %c = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, padLow = array<i64: 0>, padHigh = array<i64: 0>} : (!graph.tensor<[s0, 8, 4] x f32>, !graph.tensor<[8, 1, 1, 1] x f32>) -> !graph.tensor<[s0, 8, 4] x f32>
    return %c : !graph.tensor<[s0, 8, 4] x f32>
  }
}
