// RUN: stint-opt --stint-plan-memory --split-input-file %s | FileCheck %s
!t = !graph.tensor<[s0, 32] x f32>
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>]} {
  // A chain of negations runs in one place; a reversal does not: it reads
  // elements that it has overwritten. A scatter takes its data's place.
  // CHECK: plan.entry @main attributes {profiles = [#plan.profile<maxima = [4], arena = 1024, bound = 1024, offsets = [0, 0, [[A:0|512]], [[A]], [[B:0|512]]], capacities = [0, 0, 512, 512, 512]>]}
  plan.entry @main {
    %n = plan.symbol 0
    %32 = plan.const 32
    %128 = plan.const 128
    %1 = plan.const 1
    %size = plan.mul %n, %128
    %x = plan.input "x" dims(%n, %32) size(%size) : !t
    %y = plan.output "y" dims(%n, %32) size(%size) : !t
    %a = plan.buffer size(%size) : !t
    %b = plan.buffer size(%size) : !t
    %c = plan.buffer size(%size) : !t
    plan.dispatch @neg(%x) -> (%a) dims(%n) grid(%n, %1, %1) tile(%1, %1, %1)
    plan.dispatch @neg(%a) -> (%b) dims(%n) grid(%n, %1, %1) tile(%1, %1, %1)
    plan.dispatch @reverse(%b) -> (%c) dims(%n) grid(%n, %1, %1) tile(%1, %1, %1)
    plan.dispatch @neg(%c) -> (%y) dims(%n) grid(%n, %1, %1) tile(%1, %1, %1)
  }
  // CHECK: @neg(%arg0: {{.*}} {graph.in_place = 0 : i64})
  func.func private @neg(%x: !t) -> !t attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 4>]} {
    %r = graph.neg %x : (!t) -> !t
    return %r : !t
  }
  // CHECK: @reverse(%arg0: !graph.tensor<[s0, 32] x f32>)
  func.func private @reverse(%x: !t) -> !t attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 4>]} {
    %r = graph.slice %x {starts = affine_map<() -> (0, 31)>, steps = array<i64: 1, -1>} : (!t) -> !t
    return %r : !t
  }
}
// -----
!t = !graph.tensor<[s0, 32] x f32>
!i = !graph.tensor<[s0, 8] x i64>
!u = !graph.tensor<[s0, 8] x f32>
module attributes {graph.symbols = [#graph.symbol<"n", 1, 4>]} {
  // CHECK: plan.entry @scatter attributes {profiles = [#plan.profile<maxima = [4], arena = 512, bound = 512, offsets = [0, 0, 0, 0, 0, 0], capacities = [0, 0, 0, 0, 512, 512]>]}
  plan.entry @scatter {
    %n = plan.symbol 0
    %32 = plan.const 32
    %8 = plan.const 8
    %64 = plan.const 64
    %128 = plan.const 128
    %1 = plan.const 1
    %size = plan.mul %n, %128
    %isize = plan.mul %n, %64
    %usize = plan.mul %n, %32
    %x = plan.input "x" dims(%n, %32) size(%size) : !t
    %at = plan.input "at" dims(%n, %8) size(%isize) : !i
    %by = plan.input "by" dims(%n, %8) size(%usize) : !u
    %y = plan.output "y" dims(%n, %32) size(%size) : !t
    %a = plan.buffer size(%size) : !t
    %b = plan.buffer size(%size) : !t
    plan.dispatch @neg(%x) -> (%a) dims(%n) grid(%n, %1, %1) tile(%1, %1, %1)
    plan.dispatch @put(%a, %at, %by) -> (%b) dims(%n) grid(%n, %1, %1) tile(%1, %1, %1)
    plan.dispatch @neg(%b) -> (%y) dims(%n) grid(%n, %1, %1) tile(%1, %1, %1)
  }
  func.func private @neg(%x: !t) -> !t attributes {graph.kind = #graph<kernel_kind loopnest>, graph.symbols = [#graph.symbol<"s0", 1, 4>]} {
    %r = graph.neg %x : (!t) -> !t
    return %r : !t
  }
  // CHECK: @put(%arg0: {{.*}} {graph.in_place = 0 : i64}, %arg1: {{[^{]*}}, %arg2: {{[^{]*}})
  func.func private @put(%x: !t, %i: !i, %u: !u) -> !t attributes {graph.kind = #graph<kernel_kind leaf>, graph.symbols = [#graph.symbol<"s0", 1, 4>]} {
    %r = graph.leaf "scatter_elements"(%x, %i, %u) params [1] leading 1 : (!t, !i, !u) -> !t
    return %r : !t
  }
}
