// RUN: stint-opt --stint-fuse-loop-nests --split-input-file %s | FileCheck %s
!t = !graph.tensor<[s0, 32] x f32>
!r = !graph.tensor<[s0, 1] x f32>
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>]} {
  // CHECK-LABEL: @softmax
  // CHECK: graph.kernel loopnest(%arg0)
  // CHECK-NOT: graph.kernel
  // CHECK: return
  func.func @softmax(%x: !t) -> !t {
    %m = graph.reduce max %x {axes = array<i64: 1>} : (!t) -> !r
    %d = graph.sub %x, %m : (!t, !r) -> !t
    %e = graph.exp %d : (!t) -> !t
    %s = graph.reduce sum %e {axes = array<i64: 1>} : (!t) -> !r
    %y = graph.div %e, %s : (!t, !r) -> !t
    return %y : !t
  }
  // CHECK-LABEL: @layer_norm
  // CHECK: graph.kernel loopnest(%arg0, %arg1)
  // CHECK-NOT: graph.kernel
  // CHECK: return
  func.func @layer_norm(%x: !t, %g: !graph.tensor<[32] x f32>) -> !t {
    %eps = graph.constant dense<1.0e-5> : tensor<f32> : !graph.tensor<[] x f32>
    %m = graph.reduce mean %x {axes = array<i64: 1>} : (!t) -> !r
    %d = graph.sub %x, %m : (!t, !r) -> !t
    %q = graph.mul %d, %d : (!t, !t) -> !t
    %v = graph.reduce mean %q {axes = array<i64: 1>} : (!t) -> !r
    %e = graph.add %v, %eps : (!r, !graph.tensor<[] x f32>) -> !r
    %s = graph.sqrt %e : (!r) -> !r
    %n = graph.div %d, %s : (!t, !r) -> !t
    %y = graph.mul %n, %g : (!t, !graph.tensor<[32] x f32>) -> !t
    return %y : !t
  }
  // An expensive producer is not computed in every loop of a softmax.
  // CHECK-LABEL: @expensive
  // CHECK: %[[T:.*]] = graph.kernel loopnest(%arg0)
  // CHECK: graph.tanh
  // CHECK: graph.yield
  // CHECK: graph.kernel loopnest(%[[T]])
  func.func @expensive(%x: !t) -> !t {
    %h = graph.tanh %x : (!t) -> !t
    %m = graph.reduce max %h {axes = array<i64: 1>} : (!t) -> !r
    %d = graph.sub %h, %m : (!t, !r) -> !t
    return %d : !t
  }
  // A reduction over rows' own index would be computed again for every
  // element: it stays alone.
  // CHECK-LABEL: @columns
  // CHECK: %[[R:.*]] = graph.kernel loopnest(%arg0)
  // CHECK: graph.reduce
  // CHECK: graph.yield
  // CHECK: graph.kernel loopnest(%arg0, %[[R]])
  func.func @columns(%x: !t) -> !t {
    %m = graph.reduce max %x {axes = array<i64: 0>} : (!t) -> !graph.tensor<[1, 32] x f32>
    %d = graph.sub %x, %m : (!t, !graph.tensor<[1, 32] x f32>) -> !t
    return %d : !t
  }
  // A value that is used elsewhere is computed once.
  // CHECK-LABEL: @shared
  // CHECK-COUNT-1: graph.exp
  // CHECK-NOT: graph.exp
  // CHECK: return
  func.func @shared(%x: !t) -> (!t, !t) {
    %e = graph.exp %x : (!t) -> !t
    %a = graph.neg %e : (!t) -> !t
    %b = graph.abs %e : (!t) -> !t
    return %a, %b : !t, !t
  }
  // Pooling has its epilogue, not its producer: taps overlap.
  // CHECK-LABEL: @pool
  // CHECK: graph.kernel loopnest
  // CHECK: graph.neg
  // CHECK: graph.yield
  // CHECK: graph.kernel loopnest
  // CHECK: graph.window_reduce
  // CHECK: graph.abs
  // CHECK: graph.yield
  func.func @pool(%x: !t) -> !t {
    %n = graph.neg %x : (!t) -> !t
    %p = graph.window_reduce max %n {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padLow = array<i64: 0, 1>, padHigh = array<i64: 0, 1>} : (!t) -> !t
    %a = graph.abs %p : (!t) -> !t
    return %a : !t
  }
  // Relayout and the elementwise work before it are one kernel.
  // CHECK-LABEL: @relayout
  // CHECK: graph.kernel loopnest(%arg0)
  // CHECK: graph.exp
  // CHECK: graph.relayout
  // CHECK-NOT: graph.kernel
  // CHECK: return
  func.func @relayout(%x: !graph.tensor<[s0, 32] x f32, #graph.layout<[1, 0]>>) -> !t {
    %e = graph.exp %x : (!graph.tensor<[s0, 32] x f32, #graph.layout<[1, 0]>>) -> !graph.tensor<[s0, 32] x f32, #graph.layout<[1, 0]>>
    %r = graph.relayout %e : (!graph.tensor<[s0, 32] x f32, #graph.layout<[1, 0]>>) -> !t
    return %r : !t
  }
  // Views stay outside kernels and cost nothing.
  // CHECK-LABEL: @view
  // CHECK-NOT: graph.kernel
  // CHECK: graph.reshape
  func.func @view(%x: !t) -> !graph.tensor<[s0, 4, 8] x f32> {
    %r = graph.reshape %x : (!t) -> !graph.tensor<[s0, 4, 8] x f32>
    return %r : !graph.tensor<[s0, 4, 8] x f32>
  }
  // A leaf is a kernel of its own; constants are operands and all results are
  // kept.
  // CHECK-LABEL: @leaf
  // CHECK: %[[ZERO:.*]] = graph.constant
  // CHECK: %[[E:.*]] = graph.kernel loopnest(%arg0)
  // CHECK: %[[S:.*]] = graph.kernel leaf(%[[ZERO]], %arg1, %[[E]])
  // CHECK: graph.leaf "scatter_elements"
  // CHECK: %[[K:.*]]:2 = graph.kernel leaf(%[[S]])
  // CHECK: graph.leaf "top_k"
  // CHECK: graph.kernel loopnest(%[[K]]#1)
  func.func @leaf(%x: !t, %i: !graph.tensor<[s0, 32] x i64>) -> !graph.tensor<[s0, 2] x i64> {
    %zero = graph.constant dense<0.0> : tensor<4x64xf32> : !graph.tensor<[4, 64] x f32>
    %e = graph.exp %x : (!t) -> !t
    %s = graph.leaf "scatter_elements"(%zero, %i, %e) params [1] leading 1 : (!graph.tensor<[4, 64] x f32>, !graph.tensor<[s0, 32] x i64>, !t) -> !graph.tensor<[4, 64] x f32>
    %k:2 = graph.leaf "top_k"(%s) params [1] leading 1 : (!graph.tensor<[4, 64] x f32>) -> (!graph.tensor<[s0, 2] x f32>, !graph.tensor<[s0, 2] x i64>)
    %n = graph.neg %k#1 : (!graph.tensor<[s0, 2] x i64>) -> !graph.tensor<[s0, 2] x i64>
    return %n : !graph.tensor<[s0, 2] x i64>
  }
}
