// RUN: stint-opt --stint-build-plan %s | FileCheck %s
// A symbol with a step is a dimension in the plan: what counts its multiples is
// computed, and other dimensions end the run. So does a `graph.require`.
!x = !graph.tensor<[s0 * 32] x f32>
!y = !graph.tensor<[s1] x f32>
module attributes {graph.symbols = [#graph.symbol<"h", 1, 30 step 32>, #graph.symbol<"w", 1, 960>], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: plan.entry @main
  // CHECK: %[[H:.*]] = plan.symbol 0
  // CHECK: %[[R:.*]] = plan.mod %[[H]], %{{.*}}
  // CHECK: %[[E:.*]] = plan.equal %[[R]]
  // CHECK: plan.check %[[E]], "h must be a multiple of 32"
  // CHECK: %[[K:.*]] = plan.floor_div %[[H]]
  // CHECK: plan.input "x" dims(%[[H]])
  // CHECK: plan.input "y" dims(%[[W:.*]]) size
  // CHECK: %[[S:.*]] = plan.equal %[[W]], %[[H]]
  // CHECK: plan.check %[[S]], "w must be h"
  // CHECK: plan.dispatch @neg({{.*}}) dims(%[[K]])
  func.func @main(%x: !x {graph.name = "x"}, %y: !y {graph.name = "y"}) -> (!x {graph.name = "z"}) {
    graph.require affine_map<()[s0, s1] -> (s1, s0 * 32)> "w must be h"
    %a = graph.call @neg(%x) symbols [0] : (!x) -> !x
    return %a : !x
  }
  func.func private @neg(%x: !x) -> !x attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 30>]} {
    %n = graph.neg %x : (!x) -> !x
    return %n : !x
  }
}
