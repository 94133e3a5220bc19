// RUN: stint-opt --stint-plan-memory=effort=0 %s | FileCheck %s --check-prefix=FIRST
// RUN: stint-opt --stint-plan-memory %s | FileCheck %s --check-prefix=SEARCH
// RUN: stint-opt --stint-plan-memory=seed=7 %s | FileCheck %s --check-prefix=SEARCH

// No simple order places these well; the search does, wherever it begins.
// FIRST: arena = 1920, bound = 1600
// SEARCH: arena = 1600, bound = 1600
module attributes {graph.symbols = []} {
  plan.entry @main {
    %s0 = plan.const 896
    %s1 = plan.const 640
    %s2 = plan.const 768
    %s3 = plan.const 640
    %s4 = plan.const 384
    %s5 = plan.const 576
    %s6 = plan.const 256
    %b0 = plan.buffer size(%s0) : !graph.tensor<[896] x i8>
    %b1 = plan.buffer size(%s1) : !graph.tensor<[640] x i8>
    %b2 = plan.buffer size(%s2) : !graph.tensor<[768] x i8>
    %b3 = plan.buffer size(%s3) : !graph.tensor<[640] x i8>
    %b4 = plan.buffer size(%s4) : !graph.tensor<[384] x i8>
    %b5 = plan.buffer size(%s5) : !graph.tensor<[576] x i8>
    %b6 = plan.buffer size(%s6) : !graph.tensor<[256] x i8>
    plan.copy %b0, %b0 size(%s0)
    plan.copy %b0, %b6 size(%s0)
    plan.copy %b4, %b0 size(%s4)
    plan.copy %b5, %b4 size(%s5)
    plan.copy %b6, %b5 size(%s6)
    plan.copy %b4, %b4 size(%s4)
    plan.copy %b2, %b6 size(%s2)
    plan.copy %b5, %b2 size(%s5)
    plan.copy %b6, %b5 size(%s6)
    plan.copy %b1, %b1 size(%s1)
    plan.copy %b2, %b2 size(%s2)
    plan.copy %b1, %b3 size(%s1)
    plan.copy %b3, %b1 size(%s3)
    plan.copy %b3, %b3 size(%s3)
  }
}
