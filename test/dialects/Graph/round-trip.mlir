// Types, attributes and operators print and parse again.
// RUN: stint-opt %s | stint-opt | FileCheck %s
// CHECK-DAG: #[[$START:.*]] = affine_map<()[s0, s1] -> (0, 1, s1 - 1)>
// CHECK-DAG: #[[$LOW:.*]] = affine_map<() -> (0, 1, 0)>
// CHECK: graph.symbols = [#graph.symbol<"n", 1, 4>, #graph.symbol<"w", 8, 640>]
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>, #graph.symbol<"w", 8, 640>], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: @types
  // CHECK-SAME: !graph.tensor<[] x i1>
  // CHECK-SAME: !graph.tensor<[s0, (s1 - 1) floordiv 2 + 1] x f16, #graph.layout<[1, 0]>>
  // CHECK-SAME: !graph.tensor<[32, 40] x ui8, #graph.layout<[1, 0], tile = 1 : 16>>
  func.func private @types(!graph.tensor<[] x i1>, !graph.tensor<[s0, (s1 - 1) floordiv 2 + 1] x f16, #graph.layout<[1, 0]>>,
                           !graph.tensor<[32, 40] x ui8, #graph.layout<[1, 0], tile = 1 : 16>>)
  // CHECK-LABEL: @ops
  func.func @ops(%x: !graph.tensor<[s0, 4, s1] x f32>, %i: !graph.tensor<[2] x i64>) -> !graph.tensor<[s0, 4, s1] x f32> {
    // CHECK: graph.constant dense<5.000000e-01> : tensor<f32> : <[] x f32>
    %half = graph.constant dense<0.5> : tensor<f32> : !graph.tensor<[] x f32>
    // CHECK: graph.weight "w" <0, 64, 16, f32, [4]> {steps = [#graph.step<reshape, [4, 1]>, #graph.step<cast, f16>]}
    %w = graph.weight "w" <0, 64, 16, f32, [4]> {steps = [#graph.step<reshape, [4, 1]>, #graph.step<cast, f16>]} : !graph.tensor<[4, 1] x f16>
    // CHECK: graph.cast
    %wf = graph.cast %w : (!graph.tensor<[4, 1] x f16>) -> !graph.tensor<[4, 1] x f32>
    // CHECK: graph.mul
    %m = graph.mul %x, %wf : (!graph.tensor<[s0, 4, s1] x f32>, !graph.tensor<[4, 1] x f32>) -> !graph.tensor<[s0, 4, s1] x f32>
    // CHECK: graph.compare gt
    %c = graph.compare gt %m, %half : (!graph.tensor<[s0, 4, s1] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[s0, 4, s1] x i1>
    // CHECK: graph.select
    %s = graph.select %c, %m, %x : (!graph.tensor<[s0, 4, s1] x i1>, !graph.tensor<[s0, 4, s1] x f32>, !graph.tensor<[s0, 4, s1] x f32>) -> !graph.tensor<[s0, 4, s1] x f32>
    // CHECK: graph.slice %{{.*}} {starts = #[[$START]], steps = array<i64: 1, 1, -1>}
    %sl = graph.slice %s {starts = affine_map<()[s0, s1] -> (0, 1, s1 - 1)>, steps = array<i64: 1, 1, -1>} : (!graph.tensor<[s0, 4, s1] x f32>) -> !graph.tensor<[s0, 2, s1] x f32>
    // CHECK: graph.pad constant %{{.*}}, %{{.*}} {low = #[[$LOW]]}
    %p = graph.pad constant %sl, %half {low = affine_map<() -> (0, 1, 0)>} : (!graph.tensor<[s0, 2, s1] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[s0, 4, s1] x f32>
    // CHECK: graph.gather
    %g = graph.gather %p, %i {axis = 1 : i64} : (!graph.tensor<[s0, 4, s1] x f32>, !graph.tensor<[2] x i64>) -> !graph.tensor<[s0, 2, s1] x f32>
    // CHECK: graph.concat
    %cc = graph.concat %g, %sl {axis = 1 : i64} : (!graph.tensor<[s0, 2, s1] x f32>, !graph.tensor<[s0, 2, s1] x f32>) -> !graph.tensor<[s0, 4, s1] x f32>
    // CHECK: graph.kernel loopnest(%{{.*}})
    %k = graph.kernel loopnest(%cc) : (!graph.tensor<[s0, 4, s1] x f32>) -> !graph.tensor<[s0, 4, s1] x f32> {
    ^bb0(%a: !graph.tensor<[s0, 4, s1] x f32>):
      // CHECK: graph.exp
      %e = graph.exp %a : (!graph.tensor<[s0, 4, s1] x f32>) -> !graph.tensor<[s0, 4, s1] x f32>
      graph.yield %e : !graph.tensor<[s0, 4, s1] x f32>
    }
    return %k : !graph.tensor<[s0, 4, s1] x f32>
  }
  // CHECK-LABEL: @leaf
  func.func @leaf(%x: !graph.tensor<[1, 2, s0, 5] x f32>, %r: !graph.tensor<[s1, 5] x f32>) -> !graph.tensor<[s1, 2, 3, 3] x f32> {
    // CHECK: graph.leaf "max_roi_pool"(%arg0, %arg1) fparams [5.000000e-01] leading 2 : (
    %y = graph.leaf "max_roi_pool"(%x, %r) fparams [0.5] leading 2 : (!graph.tensor<[1, 2, s0, 5] x f32>, !graph.tensor<[s1, 5] x f32>) -> !graph.tensor<[s1, 2, 3, 3] x f32>
    return %y : !graph.tensor<[s1, 2, 3, 3] x f32>
  }
}
