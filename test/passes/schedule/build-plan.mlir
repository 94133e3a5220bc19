// RUN: stint-opt --stint-build-plan %s | FileCheck %s
!x = !graph.tensor<[s0, s1 - 2] x f32>
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>, #graph.symbol<"w", 0, 9>], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: plan.entry @main
  // CHECK: %[[W:.*]] = plan.symbol 1
  // CHECK: %[[D:.*]] = plan.add %[[W]]
  // CHECK: %[[L:.*]] = plan.less %{{.*}}, %[[D]]
  // CHECK: plan.check %[[L]], "dimension 1 of x is negative
  // CHECK: %[[N:.*]] = plan.symbol 0
  // CHECK: %[[X:.*]] = plan.input "x" dims(%[[N]], %[[D]]) size
  // CHECK: %[[Y:.*]] = plan.output "y" dims(%[[N]], %[[D]])
  // CHECK: %[[Z:.*]] = plan.output "z"
  // CHECK: %[[F:.*]] = plan.output "flat"
  // CHECK: %[[T:.*]] = plan.buffer
  // CHECK: plan.dispatch @neg(%[[X]]) -> (%[[T]]) dims(%[[N]], %[[W]])
  // The last value is written into the first output that returns it; the
  // second gets a copy, and so does the view of an input.
  // CHECK: plan.dispatch @neg(%[[T]]) -> (%[[Y]]) {{.*}} {nodes = ["Neg_1 (Neg)"]}
  // CHECK: plan.copy %[[Z]], %[[Y]]
  // CHECK: plan.copy %[[F]], %[[X]]
  // CHECK-NOT: func.func @main
  func.func @main(%x: !x {graph.name = "x"}) -> (!x {graph.name = "y"}, !x {graph.name = "z"}, !graph.tensor<[s0 * (s1 - 2)] x f32> {graph.name = "flat"}) {
    %a = graph.call @neg(%x) symbols [0, 1] : (!x) -> !x
    %b = graph.call @neg(%a) symbols [0, 1] : (!x) -> !x loc("Neg_1 (Neg)")
    %f = graph.reshape %x : (!x) -> !graph.tensor<[s0 * (s1 - 2)] x f32>
    return %b, %b, %f : !x, !x, !graph.tensor<[s0 * (s1 - 2)] x f32>
  }
  func.func private @neg(%x: !x) -> !x attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 4>, #graph.symbol<"s1", 0, 9>]} {
    %n = graph.neg %x : (!x) -> !x
    return %n : !x
  }
}
