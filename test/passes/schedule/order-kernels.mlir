// RUN: stint-opt --stint-order-kernels --split-input-file %s | FileCheck %s

// Two large values, each reduced to a small one: one after the other.
module attributes {graph.symbols = []} {
  // CHECK-LABEL: @main
  // CHECK-NEXT: %[[A:.*]] = graph.call @grow(%arg0)
  // CHECK-NEXT: %[[V:.*]] = graph.reshape %[[A]]
  // CHECK-NEXT: %[[C:.*]] = graph.call @shrink(%[[V]])
  // CHECK-NEXT: %[[B:.*]] = graph.call @grow(%arg1)
  // CHECK-NEXT: %[[D:.*]] = graph.call @shrink(%[[B]])
  // CHECK-NEXT: graph.call @join(%[[C]], %[[D]])
  func.func @main(%x: !graph.tensor<[1] x f32>, %y: !graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32> {
    %a = graph.call @grow(%x) symbols [] : (!graph.tensor<[1] x f32>) -> !graph.tensor<[10, 100] x f32>
    %b = graph.call @grow(%y) symbols [] : (!graph.tensor<[1] x f32>) -> !graph.tensor<[10, 100] x f32>
    %v = graph.reshape %a : (!graph.tensor<[10, 100] x f32>) -> !graph.tensor<[1000] x f32>
    %c = graph.call @shrink(%v) symbols [] : (!graph.tensor<[1000] x f32>) -> !graph.tensor<[1] x f32>
    %d = graph.call @shrink(%b) symbols [] : (!graph.tensor<[10, 100] x f32>) -> !graph.tensor<[1] x f32>
    %e = graph.call @join(%c, %d) symbols [] : (!graph.tensor<[1] x f32>, !graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
    return %e : !graph.tensor<[1] x f32>
  }
  func.func private @grow(!graph.tensor<[1] x f32>) -> !graph.tensor<[10, 100] x f32>
  func.func private @shrink(!graph.tensor<[1000] x f32>) -> !graph.tensor<[1] x f32>
  func.func private @join(!graph.tensor<[1] x f32>, !graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
}

// -----

// Nothing to win: the model's order stays.
module attributes {graph.symbols = []} {
  // CHECK-LABEL: @main
  // CHECK-NEXT: graph.call @one(%arg1)
  // CHECK-NEXT: graph.call @one(%arg0)
  // CHECK-NEXT: graph.call @join
  func.func @main(%x: !graph.tensor<[1] x f32>, %y: !graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32> {
    %a = graph.call @one(%y) symbols [] : (!graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
    %b = graph.call @one(%x) symbols [] : (!graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
    %c = graph.call @join(%a, %b) symbols [] : (!graph.tensor<[1] x f32>, !graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
    return %c : !graph.tensor<[1] x f32>
  }
  func.func private @one(!graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
  func.func private @join(!graph.tensor<[1] x f32>, !graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
}
