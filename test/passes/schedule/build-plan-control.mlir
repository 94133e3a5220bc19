// RUN: stint-opt --stint-build-plan %s | FileCheck %s
// RUN: stint-opt --stint-build-plan --stint-plan-memory %s | FileCheck %s --check-prefix=MEMORY
!x = !graph.tensor<[s0] x f32>
!flag = !graph.tensor<[] x i64>
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>, #graph.symbol<"i", 0, 8>, #graph.symbol<"t", 0, 9>, #graph.symbol<"k", 0, 4>], graph.files = []} {
  // CHECK-LABEL: plan.entry @main
  // CHECK: %[[C:.*]] = plan.input "c"
  // CHECK: %[[F:.*]] = plan.output "f"
  // CHECK: %[[S:.*]] = plan.output "s" dims(%[[T:.*]], %{{.*}}) size(%[[SIZE:.*]]) :
  // CHECK: %[[I:.*]] = plan.symbol 1
  // CHECK: %[[LIMIT:.*]] = plan.load %[[C]][0]
  // The count and what depends on it begin at 0.
  // CHECK: plan.assign %[[T]],
  // CHECK: plan.assign %[[SIZE]],
  // CHECK: plan.copy %[[F]], %{{.*}}
  // CHECK: plan.loop %[[I]] below %[[LIMIT]]
  // CHECK: plan.assign %[[T]],
  // CHECK: plan.assign %[[SIZE]],
  // CHECK: plan.dispatch @neg(%[[F]]) -> (%[[B:.*]]) dims
  // The branch computes right into the result of the if.
  // CHECK: plan.load %[[C]][0]
  // CHECK: plan.if
  // CHECK: plan.dispatch @neg(%[[B]]) -> (%[[R:.*]]) dims
  // CHECK: plan.else
  // CHECK: plan.copy %[[R]], %[[B]]
  // CHECK: plan.end
  // CHECK: plan.copy %[[S]] at %{{.*}}, %[[B]]
  // CHECK: plan.copy %[[F]], %[[R]]
  // CHECK: plan.end
  // CHECK-NOT: func.func private @body
  // MEMORY: #plan.profile<
  func.func @main(%c: !flag {graph.name = "c"}, %x: !x {graph.name = "x"}) -> (!x {graph.name = "f"}, !graph.tensor<[s2, s0] x f32> {graph.name = "s"}) {
    %r:2 = graph.loop @body iteration 1 trip_count %c inits(%x) captures(%c) {count = 2 : i64} : (!flag, !x, !flag) -> (!x, !graph.tensor<[s2, s0] x f32>)
    return %r#0, %r#1 : !x, !graph.tensor<[s2, s0] x f32>
  }
  func.func private @body(%x: !x, %c: !flag) -> (!x, !x) {
    %a = graph.call @neg(%x) symbols [0] : (!x) -> !x
    %r = graph.if %c then @then(%a) else @else(%a) : (!flag, !x, !x) -> !x
    return %r, %a : !x, !x
  }
  func.func private @then(%x: !x) -> !x {
    %a = graph.call @neg(%x) symbols [0] : (!x) -> !x
    return %a : !x
  }
  func.func private @else(%x: !x) -> !x {
    return %x : !x
  }
  func.func private @neg(%x: !x) -> !x attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 4>]} {
    %n = graph.neg %x : (!x) -> !x
    return %n : !x
  }

  // A dimension that data decides: everything that names it comes after the
  // load, and the output follows.
  // CHECK-LABEL: plan.entry @bind
  // CHECK: %[[K:.*]] = plan.symbol 3
  // CHECK: plan.output "y" dims(%[[K]]) size(%[[BYTES:.*]]) :
  // CHECK: %[[L:.*]] = plan.load
  // CHECK-NEXT: plan.assign %[[K]], %[[L]]
  // CHECK: %[[NOW:.*]] = plan.mul %[[K]]
  // CHECK: plan.assign %[[BYTES]], %[[NOW]]
  // CHECK: plan.dispatch
  func.func @bind(%c: !flag {graph.name = "c"}) -> (!graph.tensor<[s3] x i64> {graph.name = "y"}) {
    graph.bind 3 from %c : !flag
    %i = graph.call @iota() symbols [3] : () -> !graph.tensor<[s3] x i64>
    return %i : !graph.tensor<[s3] x i64>
  }
  func.func private @iota() -> !graph.tensor<[s0] x i64> attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 0, 4>]} {
    %i = graph.iota {axis = 0 : i64} : <[s0] x i64>
    return %i : !graph.tensor<[s0] x i64>
  }
}
