// RUN: stint-opt --stint-sink-rows --split-input-file --verify-diagnostics %s | FileCheck %s
// What only logits are computed from is computed for the rows alone; what
// something else reads too, of all tokens.
// CHECK-LABEL: func.func @main
// CHECK: %[[ALL:.*]] = graph.exp %arg0
// CHECK: graph.leaf "paged_append"(%arg1, %[[ALL]],
// CHECK: %[[SOME:.*]] = graph.gather %[[ALL]], %arg5 {axis = 0 : i64} {{.*}} -> !graph.tensor<[s2, 2, 4] x f32>
// CHECK: graph.reshape %[[SOME]] {{.*}} -> !graph.tensor<[s2, 8] x f32>
// CHECK: %[[NORM:.*]] = graph.reduce sum %{{.*}} -> !graph.tensor<[s2, 1] x f32>
// CHECK: graph.matmul {{.*}} -> !graph.tensor<[s2, 16] x f32>
// CHECK-NOT: graph.gather
// CHECK: return
module attributes {graph.decoder = {context = 32 : i64, page_size = 32 : i64, page_count = 1 : i64, token_ids = "x", logits = "y"},
                   graph.symbols = [#graph.symbol<"tokens", 0, 8>, #graph.symbol<"sequences", 0, 2>, #graph.symbol<"logit_rows", 0, 2>], graph.files = ["m.onnx"]} {
  func.func @main(%x: !graph.tensor<[s0, 2, 4] x f32>, %cache: !graph.tensor<[1, 2, 4, 32] x f32> {graph.state = 0 : i64},
                  %positions: !graph.tensor<[s0] x i32> {graph.name = "step.positions"}, %sequences: !graph.tensor<[s0] x i32> {graph.name = "step.sequences"},
                  %pages: !graph.tensor<[s1, 1] x i32> {graph.name = "step.pages"}, %rows: !graph.tensor<[s2] x i32> {graph.name = "step.rows"})
      -> (!graph.tensor<[s2, 16] x f32>, !graph.tensor<[1, 2, 4, 32] x f32> {graph.state = 0 : i64}) {
    %e = graph.exp %x : (!graph.tensor<[s0, 2, 4] x f32>) -> !graph.tensor<[s0, 2, 4] x f32>
    %after = graph.leaf "paged_append"(%cache, %e, %positions, %sequences, %pages) params [1] leading 1 : (!graph.tensor<[1, 2, 4, 32] x f32>, !graph.tensor<[s0, 2, 4] x f32>, !graph.tensor<[s0] x i32>, !graph.tensor<[s0] x i32>, !graph.tensor<[s1, 1] x i32>) -> !graph.tensor<[1, 2, 4, 32] x f32>
    %flat = graph.reshape %e : (!graph.tensor<[s0, 2, 4] x f32>) -> !graph.tensor<[s0, 8] x f32>
    %sum = graph.reduce sum %flat {axes = array<i64: 1>} : (!graph.tensor<[s0, 8] x f32>) -> !graph.tensor<[s0, 1] x f32>
    %norm = graph.div %flat, %sum : (!graph.tensor<[s0, 8] x f32>, !graph.tensor<[s0, 1] x f32>) -> !graph.tensor<[s0, 8] x f32>
    %w = graph.weight "w" <0, 0, 512, f32, [8, 16]> : <[8, 16] x f32>
    %y = graph.matmul %norm, %w : (!graph.tensor<[s0, 8] x f32>, !graph.tensor<[8, 16] x f32>) -> !graph.tensor<[s0, 16] x f32>
    %logits = graph.gather %y, %rows {axis = 0 : i64} : (!graph.tensor<[s0, 16] x f32>, !graph.tensor<[s2] x i32>) -> !graph.tensor<[s2, 16] x f32>
    return %logits, %after : !graph.tensor<[s2, 16] x f32>, !graph.tensor<[1, 2, 4, 32] x f32>
  }
}

// -----

// A mean over tokens is no decoder's.
module attributes {graph.decoder = {context = 32 : i64, page_size = 32 : i64, page_count = 1 : i64, token_ids = "x", logits = "y"},
                   graph.symbols = [#graph.symbol<"tokens", 0, 8>, #graph.symbol<"logit_rows", 0, 2>], graph.files = ["m.onnx"]} {
  func.func @main(%x: !graph.tensor<[s0, 4] x f32>, %rows: !graph.tensor<[s1] x i32> {graph.name = "step.rows"}) -> !graph.tensor<[s1, 4] x f32> {
    // expected-error @+1 {{computes tokens from each other (graph.reduce), outside attention}}
    %mean = graph.reduce mean %x {axes = array<i64: 0>} : (!graph.tensor<[s0, 4] x f32>) -> !graph.tensor<[1, 4] x f32>
    %y = graph.sub %x, %mean : (!graph.tensor<[s0, 4] x f32>, !graph.tensor<[1, 4] x f32>) -> !graph.tensor<[s0, 4] x f32>
    %logits = graph.gather %y, %rows {axis = 0 : i64} : (!graph.tensor<[s0, 4] x f32>, !graph.tensor<[s1] x i32>) -> !graph.tensor<[s1, 4] x f32>
    return %logits : !graph.tensor<[s1, 4] x f32>
  }
}

// -----

// Two tokens in one row are none apart.
module attributes {graph.decoder = {context = 32 : i64, page_size = 32 : i64, page_count = 1 : i64, token_ids = "x", logits = "y"},
                   graph.symbols = [#graph.symbol<"tokens", 0, 8>, #graph.symbol<"logit_rows", 0, 2>], graph.files = ["m.onnx"]} {
  func.func @main(%x: !graph.tensor<[s0, 4] x f32>, %rows: !graph.tensor<[s1] x i32> {graph.name = "step.rows"}) -> !graph.tensor<[s1, 4] x f32> {
    // expected-error @+1 {{computes tokens from each other (graph.reshape), outside attention}}
    %mixed = graph.reshape %x : (!graph.tensor<[s0, 4] x f32>) -> !graph.tensor<[4, s0] x f32>
    %y = graph.transpose %mixed {permutation = array<i64: 1, 0>} : (!graph.tensor<[4, s0] x f32>) -> !graph.tensor<[s0, 4] x f32>
    %logits = graph.gather %y, %rows {axis = 0 : i64} : (!graph.tensor<[s0, 4] x f32>, !graph.tensor<[s1] x i32>) -> !graph.tensor<[s1, 4] x f32>
    return %logits : !graph.tensor<[s1, 4] x f32>
  }
}
