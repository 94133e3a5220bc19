// RUN: stint-opt %s --split-input-file --verify-diagnostics
module attributes {graph.symbols = []} {
  plan.entry @main {
    // expected-error@+1 {{names symbol 0 of 0}}
    %n = plan.symbol 0
  }
}
// -----
module attributes {graph.symbols = []} {
  // expected-error@+1 {{needs one maximum per symbol}}
  plan.entry @main attributes {profiles = [#plan.profile<maxima = [4], arena = 0, bound = 0, offsets = [], capacities = []>]} {
  }
}
// -----
module {
  // expected-error@+1 {{not aligned to 64 bytes or lies outside the arena}}
  plan.entry @main attributes {profiles = [#plan.profile<maxima = [], arena = 64, bound = 4, offsets = [4], capacities = [4]>]} {
    %4 = plan.const 4
    %b = plan.buffer size(%4) : !graph.tensor<[1] x f32>
  }
}
// -----
module {
  // expected-error@+1 {{not aligned to 64 bytes or lies outside the arena}}
  plan.entry @main attributes {profiles = [#plan.profile<maxima = [], arena = 64, bound = 4, offsets = [64], capacities = [4]>]} {
    %4 = plan.const 4
    %b = plan.buffer size(%4) : !graph.tensor<[1] x f32>
  }
}
// -----
module {
  plan.entry @main {
    %4 = plan.const 4
    // expected-error@+1 {{must be row-major}}
    %x = plan.input "x" dims(%4, %4) size(%4) : !graph.tensor<[4, 4] x f32, #graph.layout<[1, 0]>>
  }
}
// -----
module {
  plan.entry @main {
    %4 = plan.const 4
    // expected-error@+1 {{needs one register per dimension}}
    %x = plan.output "x" dims(%4) size(%4) : !graph.tensor<[4, 4] x f32>
  }
}
// -----
module {
  func.func private @k(!graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
  plan.entry @main {
    %4 = plan.const 4
    %x = plan.input "x" dims(%4) size(%4) : !graph.tensor<[4] x f32>
    // expected-error@+1 {{writes a buffer that is read-only}}
    plan.dispatch @k(%x) -> (%x) dims() grid(%4, %4, %4) tile(%4, %4, %4)
  }
}
// -----
module {
  func.func private @k(!graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
  plan.entry @main {
    %4 = plan.const 4
    %b = plan.buffer size(%4) : !graph.tensor<[1] x f32>
    // expected-error@+1 {{needs three grid and three tile registers}}
    plan.dispatch @k(%b) -> (%b) dims() grid(%4, %4) tile(%4, %4, %4)
  }
}
// -----
module {
  func.func private @k(!graph.tensor<[1] x f32>) -> !graph.tensor<[1] x f32>
  plan.entry @main {
    %4 = plan.const 4
    %b = plan.buffer size(%4) : !graph.tensor<[1] x f32>
    // expected-error@+1 {{does not match the buffers of @k}}
    plan.dispatch @k(%b, %b) -> (%b) dims() grid(%4, %4, %4) tile(%4, %4, %4)
  }
}
// -----
module {
  plan.entry @main {
    %4 = plan.const 4
    %b = plan.buffer size(%4) : !graph.tensor<[1] x f32>
    // expected-error@+1 {{names no kernel: missing}}
    plan.dispatch @missing(%b) -> (%b) dims() grid(%4, %4, %4) tile(%4, %4, %4)
  }
}
