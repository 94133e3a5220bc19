// RUN: stint-opt --stint-assign-layouts %s | FileCheck %s
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>, #graph.symbol<"t", 1, 64>], graph.files = ["m.onnx"]} {
  // An NHWC input is a view, the weight is packed; only the output moves.
  // CHECK-LABEL: @conv
  // CHECK: graph.transpose {{.*}} -> !graph.tensor<[s0, 8, 32, 32] x f32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK: graph.weight {{.*}} #graph.layout<[0, 1, 3, 4, 2], tile = 1 : 16>>
  // CHECK-NOT: graph.relayout
  // CHECK: graph.conv
  // CHECK: graph.add {{.*}} -> !graph.tensor<[s0, 16, 32, 32] x f32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK: %[[R:.*]] = graph.relayout {{.*}} -> !graph.tensor<[s0, 16, 32, 32] x f32>
  // CHECK: return %[[R]]
  func.func @conv(%x: !graph.tensor<[s0, 32, 32, 8] x f32>) -> !graph.tensor<[s0, 16, 32, 32] x f32> {
    %t = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (!graph.tensor<[s0, 32, 32, 8] x f32>) -> !graph.tensor<[s0, 8, 32, 32] x f32>
    %w = graph.weight "w" <0, 0, 512, f32, [1, 16, 8, 1, 1]> : !graph.tensor<[1, 16, 8, 1, 1] x f32>
    %b = graph.weight "b" <0, 512, 64, f32, [16, 1, 1]> : !graph.tensor<[16, 1, 1] x f32>
    %c = graph.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padLow = array<i64: 0, 0>, padHigh = array<i64: 0, 0>} : (!graph.tensor<[s0, 8, 32, 32] x f32>, !graph.tensor<[1, 16, 8, 1, 1] x f32>) -> !graph.tensor<[s0, 16, 32, 32] x f32>
    %d = graph.add %b, %c : (!graph.tensor<[16, 1, 1] x f32>, !graph.tensor<[s0, 16, 32, 32] x f32>) -> !graph.tensor<[s0, 16, 32, 32] x f32>
    return %d : !graph.tensor<[s0, 16, 32, 32] x f32>
  }
  // Depthwise weights have channels innermost.
  // CHECK-LABEL: @depthwise
  // CHECK: graph.weight {{.*}} #graph.layout<[1, 2, 3, 4, 0]>>
  func.func @depthwise(%x: !graph.tensor<[s0, 8, 32, 32] x f32>) -> !graph.tensor<[s0, 8, 32, 32] x f32> {
    %w = graph.weight "w" <0, 0, 32, f32, [8, 1, 1, 1, 1]> : !graph.tensor<[8, 1, 1, 1, 1] x f32>
    // CHECK: graph.relayout %arg0
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padLow = array<i64: 0, 0>, padHigh = array<i64: 0, 0>} : (!graph.tensor<[s0, 8, 32, 32] x f32>, !graph.tensor<[8, 1, 1, 1, 1] x f32>) -> !graph.tensor<[s0, 8, 32, 32] x f32>
    return %c : !graph.tensor<[s0, 8, 32, 32] x f32>
  }
  // Channels-last to tokens: reshape and transpose are views, nothing moves.
  // CHECK-LABEL: @tokens
  // CHECK-NOT: graph.relayout
  // CHECK: graph.reshape {{.*}} -> !graph.tensor<[s0, 8, s1 * 4] x f32, #graph.layout<[0, 2, 1]>>
  // CHECK: graph.transpose {{.*}} -> !graph.tensor<[s0, s1 * 4, 8] x f32>
  // CHECK-NOT: graph.relayout
  // CHECK: return
  func.func @tokens(%x: !graph.tensor<[s0, s1, 4, 8] x f32>) -> !graph.tensor<[s0, s1 * 4, 8] x f32> {
    %t = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (!graph.tensor<[s0, s1, 4, 8] x f32>) -> !graph.tensor<[s0, 8, s1, 4] x f32>
    %m = graph.window_reduce max %t {window = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, padLow = array<i64: 0, 0, 0, 0>, padHigh = array<i64: 0, 0, 0, 0>} : (!graph.tensor<[s0, 8, s1, 4] x f32>) -> !graph.tensor<[s0, 8, s1, 4] x f32>
    %r = graph.reshape %m : (!graph.tensor<[s0, 8, s1, 4] x f32>) -> !graph.tensor<[s0, 8, s1 * 4] x f32>
    %y = graph.transpose %r {permutation = array<i64: 0, 2, 1>} : (!graph.tensor<[s0, 8, s1 * 4] x f32>) -> !graph.tensor<[s0, s1 * 4, 8] x f32>
    return %y : !graph.tensor<[s0, s1 * 4, 8] x f32>
  }
  // CHECK-LABEL: @matmul
  // CHECK: %[[T:.*]] = graph.transpose {{.*}} #graph.layout<[1, 0]>>
  // CHECK: %[[P:.*]] = graph.relayout %[[T]] {{.*}} #graph.layout<[1, 0], tile = 1 : 16>>
  // CHECK: graph.matmul %arg0, %[[P]] {{.*}} -> !graph.tensor<[s1, s1] x f32>
  func.func @matmul(%x: !graph.tensor<[s1, 8] x f32>, %y: !graph.tensor<[s1, 8] x f32>) -> !graph.tensor<[s1, s1] x f32> {
    %t = graph.transpose %y {permutation = array<i64: 1, 0>} : (!graph.tensor<[s1, 8] x f32>) -> !graph.tensor<[8, s1] x f32>
    %m = graph.matmul %x, %t : (!graph.tensor<[s1, 8] x f32>, !graph.tensor<[8, s1] x f32>) -> !graph.tensor<[s1, s1] x f32>
    return %m : !graph.tensor<[s1, s1] x f32>
  }
  // A small constant is packed when the plan is written, as a weight is.
  // CHECK-LABEL: @constant
  // CHECK-NEXT: %[[C:.*]] = graph.constant {{.*}} : <[1, 2] x f32, #graph.layout<[1, 0], tile = 1 : 16>>
  // CHECK-NEXT: graph.matmul %arg0, %[[C]]
  func.func @constant(%x: !graph.tensor<[s1, 1] x f32>) -> !graph.tensor<[s1, 2] x f32> {
    %c = graph.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32> : !graph.tensor<[1, 2] x f32>
    %m = graph.matmul %x, %c : (!graph.tensor<[s1, 1] x f32>, !graph.tensor<[1, 2] x f32>) -> !graph.tensor<[s1, 2] x f32>
    return %m : !graph.tensor<[s1, 2] x f32>
  }
  // A leaf takes and gives row-major tensors.
  // CHECK-LABEL: @leaf
  // CHECK: graph.window_reduce {{.*}} #graph.layout<[0, 2, 3, 1]>>
  // CHECK: %[[R:.*]] = graph.relayout {{.*}} -> !graph.tensor<[s0, 8, s1, 4] x f32>
  // CHECK: graph.leaf "top_k"(%[[R]])
  func.func @leaf(%x: !graph.tensor<[s0, 8, s1, 4] x f32>) -> !graph.tensor<[s0, 8, s1, 1] x i64> {
    %m = graph.window_reduce max %x {window = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, padLow = array<i64: 0, 0, 0, 0>, padHigh = array<i64: 0, 0, 0, 0>} : (!graph.tensor<[s0, 8, s1, 4] x f32>) -> !graph.tensor<[s0, 8, s1, 4] x f32>
    %k:2 = graph.leaf "top_k"(%m) params [1] leading 3 : (!graph.tensor<[s0, 8, s1, 4] x f32>) -> (!graph.tensor<[s0, 8, s1, 1] x f32>, !graph.tensor<[s0, 8, s1, 1] x i64>)
    return %k#1 : !graph.tensor<[s0, 8, s1, 1] x i64>
  }
  // A table of embeddings lies as the matrix of its shape does: tied ones are the
  // same bytes then. A table that is also read otherwise stays as it is.
  // CHECK-LABEL: @tied
  // CHECK: graph.weight "embeddings" {{.*}} : <[512, 64] x f32, #graph.layout<[0, 1], tile = 0 : 16>>
  // CHECK: graph.weight "head" {{.*}} : <[64, 512] x f32, #graph.layout<[1, 0], tile = 1 : 16>>
  func.func @tied(%ids: !graph.tensor<[s1] x i64>) -> !graph.tensor<[s1, 512] x f32> {
    %e = graph.weight "embeddings" <0, 0, 131072, f32, [512, 64]> : <[512, 64] x f32>
    %w = graph.weight "head" <0, 131072, 131072, f32, [64, 512]> : <[64, 512] x f32>
    %x = graph.gather %e, %ids {axis = 0 : i64} : (!graph.tensor<[512, 64] x f32>, !graph.tensor<[s1] x i64>) -> !graph.tensor<[s1, 64] x f32>
    %m = graph.matmul %x, %w : (!graph.tensor<[s1, 64] x f32>, !graph.tensor<[64, 512] x f32>) -> !graph.tensor<[s1, 512] x f32>
    return %m : !graph.tensor<[s1, 512] x f32>
  }
  // CHECK-LABEL: @read_otherwise
  // CHECK: graph.weight "embeddings" {{.*}} : <[512, 64] x f32>
  func.func @read_otherwise(%ids: !graph.tensor<[s1] x i64>) -> (!graph.tensor<[s1, 512] x f32>, !graph.tensor<[512, 64] x f32>) {
    %e = graph.weight "embeddings" <0, 0, 131072, f32, [512, 64]> : <[512, 64] x f32>
    %w = graph.weight "head" <0, 131072, 131072, f32, [64, 512]> : <[64, 512] x f32>
    %x = graph.gather %e, %ids {axis = 0 : i64} : (!graph.tensor<[512, 64] x f32>, !graph.tensor<[s1] x i64>) -> !graph.tensor<[s1, 64] x f32>
    %m = graph.matmul %x, %w : (!graph.tensor<[s1, 64] x f32>, !graph.tensor<[64, 512] x f32>) -> !graph.tensor<[s1, 512] x f32>
    return %m, %e : !graph.tensor<[s1, 512] x f32>, !graph.tensor<[512, 64] x f32>
  }
}
