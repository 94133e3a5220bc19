// RUN: stint-opt --stint-build-plan %s | FileCheck %s
// What a loop only appends to grows where it is, also in a branch: only what is
// new is copied. A kernel that only did that is gone.
!flag = !graph.tensor<[] x i64>
!x = !graph.tensor<[2] x f32>
!g = !graph.tensor<[s1] x f32>
!longer = !graph.tensor<[s1 + 2] x f32>
!perhaps = !graph.tensor<[s2] x f32>
module attributes {graph.symbols = [#graph.symbol<"i", 0, 8>, #graph.symbol<"g", 0, 20>, #graph.symbol<"p", 0, 20>], graph.files = []} {
  // CHECK-LABEL: plan.entry @main
  // CHECK: %[[X:.*]] = plan.input "x"
  // CHECK: %[[Y:.*]] = plan.output "y"
  // CHECK: %[[SIZE:.*]] = plan.const 0
  // CHECK: %[[G:.*]] = plan.buffer size(%[[SIZE]])
  // CHECK: plan.assign %[[SIZE]],
  // CHECK: plan.copy %[[G]], %[[X]]
  // CHECK: plan.loop
  // CHECK: plan.if
  // CHECK: plan.check
  // CHECK-NEXT: plan.assign %[[SIZE]],
  // CHECK: plan.copy %[[G]] at %{{.*}}, %[[X]]
  // CHECK: plan.else
  // CHECK-NOT: plan.copy
  // CHECK: plan.end
  // CHECK-NOT: plan.copy
  // CHECK: plan.end
  // CHECK: plan.copy %[[Y]], %[[G]]
  // CHECK-NOT: @join
  func.func @main(%c: !flag {graph.name = "c"}, %x: !x {graph.name = "x"}) -> (!g {graph.name = "y"}) {
    %r = graph.loop @body iteration 0 trip_count %c inits(%x) captures(%x, %c) {carried = array<i64: 1>, carriedInits = affine_map<() -> (2)>} : (!flag, !x, !x, !flag) -> !g
    return %r : !g
  }
  func.func private @body(%g: !g, %x: !x, %c: !flag) -> !perhaps {
    %r = graph.if %c then @then(%g, %x) else @else(%g) : (!flag, !g, !x, !g) -> !perhaps
    graph.bind 1 to affine_map<()[s0, s1, s2] -> (s2)>
    return %r : !perhaps
  }
  func.func private @then(%g: !g, %x: !x) -> !longer {
    %j = graph.call @join(%g, %x) symbols [1] : (!g, !x) -> !longer
    graph.bind 2 to affine_map<()[s0, s1] -> (s1 + 2)>
    return %j : !longer
  }
  func.func private @else(%g: !g) -> !g {
    graph.bind 2 to affine_map<()[s0, s1] -> (s1)>
    return %g : !g
  }
  func.func private @join(%g: !graph.tensor<[s0] x f32>, %x: !x) -> !graph.tensor<[s0 + 2] x f32> attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 0, 20>]} {
    %j = graph.concat %g, %x {axis = 0 : i64} : (!graph.tensor<[s0] x f32>, !x) -> !graph.tensor<[s0 + 2] x f32>
    return %j : !graph.tensor<[s0 + 2] x f32>
  }
}
