// kernel-check FILE [VARIANT] [SUBSTRING]: compares every kernel of a model
// with the reference, one by one, on random operands. FILE is what
// `stint compile --emit schedule` (or plan: then with shared memory) wrote;
// SUBSTRING picks kernels by name. Symbols have the values of
// STINT_SYMBOLS=lower|upper (upper). A tool to find which kernel of a model is
// wrong; the reference takes minutes for large ones.
#include "compiler/codegen/Codegen.h"
#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "test/compiler/codegen/harness/Harness.h"
#include "test/compiler/codegen/harness/Layout.h"

#include "mlir/Parser/Parser.h"

#include <chrono>
#include <cstdlib>

using namespace mlir;
using namespace stint;
using namespace stint::test;

static Case caseOf(func::FuncOp kernel, bool upper, uint64_t seed) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.print(os, OpPrintingFlags().useLocalScope());
  std::vector<int64_t> symbols;
  graph::Symbols declared = graph::Symbols::of(kernel);
  for (size_t i = 0; i < declared.size(); ++i)
    symbols.push_back(upper ? declared[i].getUpper() : declared[i].getLower());
  Tolerance tolerance;
  tolerance.relative = 3e-5;
  return randomCase(kernel.getName().str(), text, symbols, Fill{-1, 1}, tolerance, seed);
}

int main(int count, char **arguments) {
  if (count < 2) {
    llvm::errs() << "usage: kernel-check FILE [VARIANT] [SUBSTRING]\n";
    return 2;
  }
  context().loadDialect<plan::PlanDialect>();
  auto variant = target::lookup(count > 2 ? arguments[2] : "v3");
  if (!variant) {
    llvm::errs() << llvm::toString(variant.takeError()) << "\n";
    return 2;
  }
  auto module = parseSourceFile<ModuleOp>(arguments[1], ParserConfig(&context()));
  if (!module)
    return 1;
  const char *symbols = getenv("STINT_SYMBOLS");
  bool upper = !symbols || StringRef(symbols) != "lower";
  size_t good = 0, bad = 0;
  for (auto kernel : module->getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(plan::kKindAttr) || (count > 3 && !kernel.getName().contains(arguments[3])))
      continue;
    Case test = caseOf(kernel, upper, good + bad);
    auto begin = std::chrono::steady_clock::now();
    test::Outcome outcome = runCases(test, codegen::lowerKernel, *variant)[0];
    auto middle = std::chrono::steady_clock::now();
    std::string wrong = judge(outcome, referenceOf(test), test.tolerance);
    auto end = std::chrono::steady_clock::now();
    ++(wrong.empty() ? good : bad);
    llvm::outs() << (wrong.empty() ? "ok    " : "WRONG ") << test.name << " ("
                 << std::chrono::duration_cast<std::chrono::milliseconds>(middle - begin).count() << " ms, reference "
                 << std::chrono::duration_cast<std::chrono::milliseconds>(end - middle).count() << " ms)";
    if (!wrong.empty())
      llvm::outs() << ": " << wrong << "\n" << test.text;
    llvm::outs() << "\n";
    llvm::outs().flush();
  }
  llvm::outs() << good << " kernels are right, " << bad << " wrong\n";
  return bad ? 1 : 0;
}
