// RUN: stint-opt --stint-plan-memory %s | FileCheck %s
// RUN: sed 's/<i64: 1, 32>, array<i64: 64, 32>/<i64: 64, 32>, array<i64: 1, 32>/' %s | stint-opt --stint-plan-memory | FileCheck %s

// The smallest profile does not stand in for one that it does not cover, in
// whichever order they are asked for. Nearly the bounds are not worth a layout.
// CHECK: profiles = [#plan.profile<maxima = [256, 256], arena = 65536,
// CHECK-SAME: #plan.profile<maxima = [64, 32], arena = 2048,
// CHECK-SAME: #plan.profile<maxima = [1, 32], arena = 64,
// CHECK-NOT: #plan.profile
module attributes {graph.symbols = [#graph.symbol<"a", 1, 256>, #graph.symbol<"b", 1, 256>],
                   plan.profiles = [array<i64: 256, 256>, array<i64: 1, 32>, array<i64: 64, 32>, array<i64: 255, 256>]} {
  plan.entry @main {
    %a = plan.symbol 0
    %b = plan.symbol 1
    %size = plan.mul %a, %b
    %x = plan.input "x" dims(%a, %b) size(%size) : !graph.tensor<[s0, s1] x i8>
    %y = plan.output "y" dims(%a, %b) size(%size) : !graph.tensor<[s0, s1] x i8>
    %t = plan.buffer size(%size) : !graph.tensor<[s0, s1] x i8>
    plan.copy %t, %x size(%size)
    plan.copy %y, %t size(%size)
  }
}
