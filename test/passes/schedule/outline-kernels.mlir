// RUN: stint-opt --stint-outline-kernels %s | FileCheck %s
module attributes {graph.symbols = [#graph.symbol<"a", 1, 4>, #graph.symbol<"b", 1, 9>, #graph.symbol<"c", 1, 9>]} {
  // Equal but for the symbols' numbers: one function. Other bounds: another.
  // CHECK-LABEL: @main
  // CHECK: graph.call @neg_[[N:[0-9]+]](%arg0) symbols [1]
  // CHECK: graph.call @neg_[[N]](%arg1) symbols [2]
  // CHECK: graph.call @neg_[[M:[0-9]+]](%arg2) symbols [0]
  func.func @main(%x: !graph.tensor<[s1] x f32>, %y: !graph.tensor<[s2] x f32>, %z: !graph.tensor<[s0] x f32>) -> (!graph.tensor<[s1] x f32>, !graph.tensor<[s2] x f32>, !graph.tensor<[s0] x f32>) {
    %a = graph.kernel loopnest(%x) : (!graph.tensor<[s1] x f32>) -> !graph.tensor<[s1] x f32> {
    ^bb0(%v: !graph.tensor<[s1] x f32>):
      %n = graph.neg %v : (!graph.tensor<[s1] x f32>) -> !graph.tensor<[s1] x f32>
      graph.yield %n : !graph.tensor<[s1] x f32>
    }
    %b = graph.kernel loopnest(%y) : (!graph.tensor<[s2] x f32>) -> !graph.tensor<[s2] x f32> {
    ^bb0(%v: !graph.tensor<[s2] x f32>):
      %n = graph.neg %v : (!graph.tensor<[s2] x f32>) -> !graph.tensor<[s2] x f32>
      graph.yield %n : !graph.tensor<[s2] x f32>
    }
    %c = graph.kernel loopnest(%z) : (!graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> {
    ^bb0(%v: !graph.tensor<[s0] x f32>):
      %n = graph.neg %v : (!graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32>
      graph.yield %n : !graph.tensor<[s0] x f32>
    }
    return %a, %b, %c : !graph.tensor<[s1] x f32>, !graph.tensor<[s2] x f32>, !graph.tensor<[s0] x f32>
  }
  // CHECK: func.func private @neg_[[N]](%arg0: !graph.tensor<[s0] x f32>) -> !graph.tensor<[s0] x f32> attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 9>]}
  // CHECK: func.func private @neg_[[M]]({{.*}}graph.symbols = [#graph.symbol<"s0", 1, 4>]
  // CHECK-NOT: func.func
}
