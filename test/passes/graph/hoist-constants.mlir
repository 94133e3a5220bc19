// RUN: stint-opt --stint-hoist-constants --split-input-file %s | FileCheck %s
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: func.func @constants() -> !graph.tensor<[4] x f32>
  // CHECK: %[[S:.*]] = graph.sqrt
  // CHECK: return %[[S]]
  // CHECK-LABEL: func.func @main(%arg0: !graph.tensor<[s0, 4] x f32>, %arg1: !graph.tensor<[4] x f32> {graph.constant_result = 0 : i64})
  // CHECK-NEXT: graph.mul %arg0, %arg1
  // CHECK-NEXT: return
  func.func @main(%x: !graph.tensor<[s0, 4] x f32>) -> !graph.tensor<[s0, 4] x f32> {
    %w = graph.weight "w" <0, 0, 16, f32, [4]> : !graph.tensor<[4] x f32>
    %e = graph.constant dense<1.0e-5> : tensor<f32> : !graph.tensor<[] x f32>
    %a = graph.add %w, %e : (!graph.tensor<[4] x f32>, !graph.tensor<[] x f32>) -> !graph.tensor<[4] x f32>
    %s = graph.sqrt %a : (!graph.tensor<[4] x f32>) -> !graph.tensor<[4] x f32>
    %m = graph.mul %x, %s : (!graph.tensor<[s0, 4] x f32>, !graph.tensor<[4] x f32>) -> !graph.tensor<[s0, 4] x f32>
    return %m : !graph.tensor<[s0, 4] x f32>
  }
}

// -----

// What a broadcast reads is stored, the broadcast is not.
module attributes {graph.symbols = [], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: func.func @constants() -> !graph.tensor<[4] x f32>
  // CHECK: graph.sqrt
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[S:[^:]*]]: !graph.tensor<[4] x f32> {graph.constant_result = 0 : i64}
  // CHECK-NEXT: %[[B:.*]] = graph.broadcast %[[S]]
  // CHECK-NEXT: graph.mul %[[X]], %[[B]]
  func.func @main(%x: !graph.tensor<[3, 4] x f32>) -> !graph.tensor<[3, 4] x f32> {
    %w = graph.weight "w" <0, 0, 16, f32, [4]> : !graph.tensor<[4] x f32>
    %s = graph.sqrt %w : (!graph.tensor<[4] x f32>) -> !graph.tensor<[4] x f32>
    %b = graph.broadcast %s : (!graph.tensor<[4] x f32>) -> !graph.tensor<[3, 4] x f32>
    %m = graph.mul %x, %b : (!graph.tensor<[3, 4] x f32>, !graph.tensor<[3, 4] x f32>) -> !graph.tensor<[3, 4] x f32>
    return %m : !graph.tensor<[3, 4] x f32>
  }
}

// -----

// A slice whose start is a symbol is no constant; what it reads is.
module attributes {graph.symbols = [#graph.symbol<"n", 0, 3>], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: func.func @constants() -> !graph.tensor<[8] x f32>
  // CHECK-LABEL: func.func @main
  // CHECK-NEXT: graph.slice
  func.func @main() -> !graph.tensor<[4] x f32> {
    %w = graph.weight "w" <0, 0, 32, f32, [8]> : !graph.tensor<[8] x f32>
    %s = graph.sqrt %w : (!graph.tensor<[8] x f32>) -> !graph.tensor<[8] x f32>
    %m = graph.slice %s {starts = affine_map<()[s0] -> (s0)>, steps = array<i64: 1>} : (!graph.tensor<[8] x f32>) -> !graph.tensor<[4] x f32>
    return %m : !graph.tensor<[4] x f32>
  }
}

// -----

// 4 MiB made from 4 KiB: the table is stored, its sums are computed.
module attributes {graph.symbols = [], graph.files = ["m.onnx"]} {
  // CHECK-LABEL: func.func @constants() -> !graph.tensor<[1024] x f32>
  // CHECK: graph.cos
  // CHECK-LABEL: func.func @main
  // CHECK: graph.add {{.*}} -> !graph.tensor<[1024, 1024] x f32>
  func.func @main(%x: !graph.tensor<[1024, 1024] x f32>) -> !graph.tensor<[1024, 1024] x f32> {
    %i = graph.iota {axis = 0 : i64} : !graph.tensor<[1024] x f32>
    %c = graph.cos %i : (!graph.tensor<[1024] x f32>) -> !graph.tensor<[1024] x f32>
    %r = graph.reshape %c : (!graph.tensor<[1024] x f32>) -> !graph.tensor<[1024, 1] x f32>
    %b = graph.add %c, %r : (!graph.tensor<[1024] x f32>, !graph.tensor<[1024, 1] x f32>) -> !graph.tensor<[1024, 1024] x f32>
    %m = graph.mul %x, %b : (!graph.tensor<[1024, 1024] x f32>, !graph.tensor<[1024, 1024] x f32>) -> !graph.tensor<[1024, 1024] x f32>
    return %m : !graph.tensor<[1024, 1024] x f32>
  }
}

// -----

// 2^40 additions are left to whoever runs the model, and so are 4 GiB made
// from nothing.
module attributes {graph.symbols = [], graph.files = ["m.onnx"]} {
  // CHECK-NOT: @constants
  // CHECK-LABEL: func.func @main
  // CHECK: graph.reduce
  // CHECK: graph.cos
  func.func @main() -> (!graph.tensor<[1] x f32>, !graph.tensor<[1] x f32>) {
    %c = graph.constant dense<1.0> : tensor<1099511627776xf32> : !graph.tensor<[1099511627776] x f32>
    %s = graph.reduce sum %c {axes = array<i64: 0>} : (!graph.tensor<[1099511627776] x f32>) -> !graph.tensor<[1] x f32>
    %i = graph.iota {axis = 0 : i64} : !graph.tensor<[1073741824] x f32>
    %e = graph.cos %i : (!graph.tensor<[1073741824] x f32>) -> !graph.tensor<[1073741824] x f32>
    %t = graph.reduce sum %e {axes = array<i64: 0>} : (!graph.tensor<[1073741824] x f32>) -> !graph.tensor<[1] x f32>
    return %s, %t : !graph.tensor<[1] x f32>, !graph.tensor<[1] x f32>
  }
}
