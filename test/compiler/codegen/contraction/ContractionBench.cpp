// GFLOP/s of one thread for some contractions, run as the plan would cut them:
//   contraction-bench [variant [substring of a name]]
//   contraction-bench variant gemm M K N [element]
//   contraction-bench variant asm M K N [element]     prints its code
#include "compiler/codegen/contraction/Contraction.h"
#include "dialects/Graph/KernelGrid.h"
#include "test/compiler/codegen/contraction/KernelText.h"
#include "test/compiler/codegen/harness/Execute.h"
#include "test/compiler/codegen/harness/Harness.h"
#include "test/compiler/codegen/harness/Layout.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <random>
#include <time.h>

using namespace stint;
using namespace stint::test;

namespace {
struct Benchmark {
  std::string name, text;
  double flops;
};

Benchmark gemm(int64_t m, int64_t k, int64_t n, Epilogue epilogue = Epilogue::biasRelu, std::string element = "f32") {
  auto text = [](int64_t v) { return std::to_string(v); };
  return {"gemm " + text(m) + "x" + text(k) + "x" + text(n) + " " + element,
          textOf(MatMul{{text(m), text(k)}, {text(k), text(n)}, element, epilogue}), 2.0 * m * k * n};
}

Benchmark conv(int64_t size, int64_t channels, int64_t outputs, int64_t kernel, int64_t stride = 1,
               Epilogue epilogue = Epilogue::biasRelu, std::string element = "f32") {
  int64_t pad = kernel / 2, to = (size + 2 * pad - kernel) / stride + 1;
  Conv c;
  c.channels = channels, c.outputs = outputs, c.size = {size, size}, c.kernel = {kernel, kernel};
  c.strides = {stride, stride}, c.padLow = c.padHigh = {pad, pad}, c.epilogue = epilogue, c.element = element;
  auto text = [](int64_t v) { return std::to_string(v); };
  return {"conv " + text(kernel) + "x" + text(kernel) + "s" + text(stride) + " " + text(channels) + "->" +
              text(outputs) + "@" + text(size) + " " + element,
          textOf(c), 2.0 * to * to * kernel * kernel * channels * outputs};
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The best of many runs.
double measure(const Benchmark &benchmark, const target::Variant &variant) {
  Compiled compiled = compileKernels({benchmark.text}, codegen::lowerContraction, variant);
  if (!compiled.error.empty()) {
    llvm::errs() << benchmark.name << ": " << compiled.error << "\n";
    exit(1);
  }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(benchmark.text, mlir::ParserConfig(&context()));
  mlir::func::FuncOp kernel = *module->getOps<mlir::func::FuncOp>().begin();
  std::vector<std::vector<float>> memory;
  std::vector<stint_kernel_buffer> buffers;
  std::mt19937 random(1);
  auto add = [&](mlir::Type type) {
    uint64_t bytes = bufferBytes(mlir::cast<graph::GraphTensorType>(type), {});
    memory.emplace_back(bytes / 4 + 32);
    for (float &value : memory.back())
      value = (random() % 1000) / 1000.0f - 0.5f;
    uintptr_t address = (reinterpret_cast<uintptr_t>(memory.back().data()) + 63) / 64 * 64;
    buffers.push_back({reinterpret_cast<void *>(address), bytes});
  };
  for (mlir::Type type : kernel.getArgumentTypes())
    add(type);
  for (mlir::Type type : kernel.getResultTypes())
    add(type);
  std::vector<char> scratch(compiled.scratch[0] + 64);
  void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  const char *code = mapCode(compiled.code.bytes.data(), compiled.code.bytes.size());
  auto entry = reinterpret_cast<stint_kernel>(const_cast<char *>(code) + compiled.code.entries[0]);
  graph::KernelGrid grid = graph::gridOf(graph::KernelKind::contraction, kernel.getBody().front());
  int64_t units[3], tile[3];
  for (int axis = 0; axis < 3; ++axis) {
    units[axis] = graph::Symbols::evaluate(grid.units[axis], {});
    tile[axis] = graph::Symbols::evaluate(grid.tile[axis], {});
  }
  stint_dispatch dispatch = {buffers.data(), nullptr, static_cast<uint32_t>(buffers.size()), 0};
  auto run = [&] {
    stint_workgroup group = {};
    group.scratch = aligned;
    group.scratch_size = compiled.scratch[0];
    for (int64_t a = 0; a < units[0]; a += tile[0])
      for (int64_t b = 0; b < units[1]; b += tile[1])
        for (int64_t c = 0; c < units[2]; c += tile[2]) {
          int64_t begin[] = {a, b, c};
          for (int axis = 0; axis < 3; ++axis) {
            group.begin[axis] = begin[axis];
            group.end[axis] = std::min(begin[axis] + tile[axis], units[axis]);
          }
          entry(&dispatch, &group);
        }
  };
  run();
  double best = 1e9, start = seconds();
  while (seconds() - start < 0.6) {
    double t = seconds();
    run();
    best = std::min(best, seconds() - t);
  }
  unmapCode(code, compiled.code.bytes.size());
  return best;
}

void printAssembly(const std::string &text, const target::Variant &variant) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context()));
  mlir::OwningOpRef<mlir::ModuleOp> into = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context()));
  llvm::cantFail(codegen::lowerContraction(*module->getOps<mlir::func::FuncOp>().begin(), variant, *into));
  llvm::outs() << llvm::cantFail(codegen::emitText(*into, variant, codegen::TextKind::assembly));
}
} // namespace

int main(int argc, char **argv) {
  target::Variant variant = llvm::cantFail(target::lookup(argc > 1 ? argv[1] : "v3"));
  std::string only = argc > 2 ? argv[2] : "";
  std::vector<Benchmark> all = {
      gemm(1024, 1024, 1024),
      gemm(128, 768, 3072),
      conv(56, 64, 64, 3),
      conv(14, 256, 256, 3),
      conv(56, 96, 24, 1),
      conv(224, 3, 64, 7, 2),
      conv(224, 3, 32, 3, 2),
      gemm(1, 4096, 4096),
      gemm(1, 256, 256),
      gemm(3, 512, 512),
      gemm(16, 768, 768),
      gemm(197, 64, 197, Epilogue::none),
      conv(112, 16, 96, 1),
      conv(28, 128, 512, 1, 1, Epilogue::residual),
      conv(7, 512, 512, 3),
      conv(56, 64, 128, 1, 2),
      gemm(512, 512, 512, Epilogue::biasRelu, "f16"),
      gemm(512, 512, 512, Epilogue::biasRelu, "f64"),
  };
  if (argc > 5) {
    all = {gemm(atol(argv[3]), atol(argv[4]), atol(argv[5]), Epilogue::biasRelu, argc > 6 ? argv[6] : "f32")};
  }
  if (only == "asm") {
    printAssembly(all.front().text, variant);
    return 0;
  }
  for (const Benchmark &benchmark : all) {
    if (benchmark.name.find(only) == std::string::npos)
      continue;
    double time = measure(benchmark, variant);
    llvm::outs() << llvm::format("%-32s %8.1f us %7.1f GFLOP/s\n", benchmark.name.c_str(), time * 1e6,
                                 benchmark.flops / time * 1e-9);
    llvm::outs().flush();
  }
  return 0;
}
