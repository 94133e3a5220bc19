// RUN: stint-opt --stint-quantise-activations --stint-simplify-graph %s | FileCheck %s
// Two products of one value share its numbers: 3 blocks of 16 + 32 bytes.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = graph.leaf "quantise_rows"(%arg0) params [32, 4] leading 1 {{.*}} -> !graph.tensor<[s0, 144] x i8>
// CHECK-NOT: "quantise_rows"
// CHECK: graph.leaf "block_matmul_int8"(%[[ROWS]], %{{.*}}, %{{.*}}) params [4, 32, 0, 0] leading 1 {{.*}} -> !graph.tensor<[s0, 40] x f32>
// CHECK-NOT: "quantise_rows"
// CHECK: graph.leaf "block_matmul_int8"(%[[ROWS]],
// CHECK-NOT: "block_matmul"
// CHECK: return
module attributes {graph.symbols = [#graph.symbol<"tokens", 0, 8>], graph.files = ["m.onnx"]} {
  func.func @main(%x: !graph.tensor<[s0, 96] x f32>) -> (!graph.tensor<[s0, 40] x f32>, !graph.tensor<[s0, 40] x f32>) {
    %a = graph.weight "a" <0, 0, 1920, ui32, [40, 12]> : <[40, 12] x ui32>
    %b = graph.weight "b" <0, 1920, 1920, ui32, [40, 12]> : <[40, 12] x ui32>
    %s = graph.weight "s" <0, 3840, 480, f32, [40, 3]> : <[40, 3] x f32>
    %y = graph.leaf "block_matmul"(%x, %a, %s) params [4, 32, 0, 0] leading 1 : (!graph.tensor<[s0, 96] x f32>, !graph.tensor<[40, 12] x ui32>, !graph.tensor<[40, 3] x f32>) -> !graph.tensor<[s0, 40] x f32>
    %z = graph.leaf "block_matmul"(%x, %b, %s) params [4, 32, 0, 0] leading 1 : (!graph.tensor<[s0, 96] x f32>, !graph.tensor<[40, 12] x ui32>, !graph.tensor<[40, 3] x f32>) -> !graph.tensor<[s0, 40] x f32>
    return %y, %z : !graph.tensor<[s0, 40] x f32>, !graph.tensor<[s0, 40] x f32>
  }
}
