// Everything the plan dialect can say prints and parses again.
// RUN: stint-opt %s | stint-opt | FileCheck %s
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>], graph.files = ["m.onnx"]} {
  // CHECK: plan.entry @main attributes {profiles = [#plan.profile<maxima = [4], arena = 64, bound = 64, offsets = [0, 0, 0, 0, 0], capacities = [0, 0, 0, 0, 64]>]}
  plan.entry @main attributes {profiles = [#plan.profile<maxima = [4], arena = 64, bound = 64, offsets = [0, 0, 0, 0, 0], capacities = [0, 0, 0, 0, 64]>]} {
    // CHECK: %[[N:.*]] = plan.symbol 0
    %n = plan.symbol 0
    %4 = plan.const 4
    // CHECK: %[[SIZE:.*]] = plan.mul %[[N]], %{{.*}}
    %size = plan.mul %n, %4
    %a = plan.add %n, %4
    %b = plan.sub %n, %4
    // CHECK: plan.floor_div
    // CHECK: plan.ceil_div
    // CHECK: plan.mod
    // CHECK: plan.min
    // CHECK: plan.max
    %c = plan.floor_div %a, %b
    %d = plan.ceil_div %a, %b
    %e = plan.mod %a, %b
    %f = plan.min %a, %b
    %g = plan.max %a, %b
    %h = plan.equal %a, %b
    // CHECK: %[[LESS:.*]] = plan.less
    %i = plan.less %b, %a
    // CHECK: plan.check %[[LESS]], "n is too small"
    plan.check %i, "n is too small"
    // CHECK: plan.input "x" dims(%[[N]]) size(%[[SIZE]]) : !graph.tensor<[s0] x f32>
    %x = plan.input "x" dims(%n) size(%size) : !graph.tensor<[s0] x f32>
    // CHECK: plan.output "y"
    %y = plan.output "y" dims(%n) size(%size) : !graph.tensor<[s0] x f32>
    // CHECK: plan.weight "w" <0, 16, 4, f32, []> [#graph.step<reshape, [1]>] size(%{{.*}}) : !graph.tensor<[1] x f32>
    %w = plan.weight "w" <0, 16, 4, f32, []> [#graph.step<reshape, [1]>] size(%4) : !graph.tensor<[1] x f32>
    // CHECK: plan.constant dense<1.000000e+00> : tensor<1xf32>
    %k = plan.constant dense<1.0> : tensor<1xf32> size(%4) : !graph.tensor<[1] x f32>
    // CHECK: plan.buffer size(%[[SIZE]]) : !graph.tensor<[s0] x f32>
    %t = plan.buffer size(%size) : !graph.tensor<[s0] x f32>
    // CHECK: plan.dispatch @add(%{{.*}}, %{{.*}}) -> (%{{.*}}) dims(%[[N]]) grid({{.*}}) tile({{.*}}) {nodes = ["Add_0 (Add)"]}
    plan.dispatch @add(%x, %w) -> (%t) dims(%n) grid(%n, %4, %4) tile(%4, %4, %4) {nodes = ["Add_0 (Add)"]}
    // CHECK: plan.copy
    plan.copy %y, %t size(%size)
    // CHECK: plan.load %{{.*}}[0]
    %l = plan.load %y[0]
  }
  func.func private @add(%x: !graph.tensor<[s0] x f32>, %w: !graph.tensor<[1] x f32>) -> !graph.tensor<[s0] x f32>
      attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 4>]} {
    %r = graph.add %x, %w : (!graph.tensor<[s0] x f32>, !graph.tensor<[1] x f32>) -> !graph.tensor<[s0] x f32>
    return %r : !graph.tensor<[s0] x f32>
  }
}
