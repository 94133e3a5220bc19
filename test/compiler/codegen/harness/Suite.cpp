// Cases with random operands; outcomes against the reference as GoogleTest
// failures.
#include "test/compiler/codegen/harness/Harness.h"
#include "test/compiler/codegen/harness/Jobs.h"
#include "test/compiler/codegen/harness/Layout.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace stint;
using namespace stint::test;

Case stint::test::randomCase(std::string name, std::string text, std::vector<int64_t> symbols, ArrayRef<Fill> fills,
                             Tolerance tolerance, uint64_t seed) {
  Case test = {std::move(name), std::move(text), std::move(symbols), {}, tolerance, {}};
  ScopedDiagnosticHandler quiet(&context(), [](Diagnostic &) {}); // runCases says what is wrong
  auto module = parseSourceString<ModuleOp>(test.text, ParserConfig(&context()));
  if (!module)
    return test;
  func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto tensorType = cast<graph::GraphTensorType>(type);
    Fill fill = fills.empty() ? Fill() : fills[std::min(i, fills.size() - 1)];
    test.operands.push_back(
        randomTensor(shapeOf(tensorType, test.symbols), elementOf(tensorType.getElementType()), seed * 16 + i, fill));
  }
  return test;
}

Case &Suite::add(std::string name, std::string text, std::vector<int64_t> symbols, std::vector<Fill> fills,
                 Tolerance tolerance) {
  cases.push_back(randomCase(std::move(name), std::move(text), std::move(symbols), fills, tolerance, cases.size()));
  return cases.back();
}

std::string stint::test::judge(const test::Outcome &outcome, const test::Outcome &expected,
                               const Tolerance &tolerance) {
  if (!expected.error.empty())
    return expected.error;
  if (!outcome.error.empty())
    return outcome.error;
  std::string wrong;
  for (size_t r = 0; r < outcome.results.size(); ++r) {
    std::string difference = compare(outcome.results[r], expected.results[r], tolerance);
    if (!difference.empty())
      wrong += (wrong.empty() ? "result " : "; result ") + std::to_string(r) + ": " + difference;
  }
  return wrong;
}

/// The same in a process of its own: what it prints comes through a pipe.
static std::string judgeIsolated(const Case &test, const Lower &lower, const target::Variant &variant,
                                 const test::Outcome &expected) {
  int ends[2];
  if (pipe(ends))
    return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    std::string wrong = judge(runCases(test, lower, variant)[0], expected, test.tolerance);
    bool written = write(ends[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string wrong;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    wrong.append(buffer, n);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    wrong += "the generator crashed with signal " + std::to_string(WTERMSIG(status));
  return wrong;
}

void Suite::check(ArrayRef<StringRef> variants, size_t every) const {
  const char *only = getenv("STINT_KERNELS");
  bool isolate = getenv("STINT_ISOLATE");
  if (getenv("STINT_EVERY"))
    every = 1;
  std::vector<Case> chosen;
  llvm::StringMap<size_t> kernels;
  for (const Case &test : cases) {
    size_t number = kernels.try_emplace(test.text, kernels.size()).first->second;
    if (only ? StringRef(test.name).contains(only) : number % every == 0)
      chosen.push_back(test);
  }
  std::vector<test::Outcome> expected;
  for (const Case &test : chosen)
    expected.push_back(referenceOf(test));
  for (StringRef name : variants) {
    target::Variant variant = llvm::cantFail(target::lookup(name));
    std::string why = whyNotRunnable(variant);
    if (!why.empty()) {
      llvm::outs() << "[          ] " << name << ": compiled only, " << why << "\n";
      llvm::outs().flush();
    }
    std::vector<test::Outcome> outcomes;
    if (!why.empty())
      outcomes = compileCases(chosen, lower, variant);
    else if (!isolate)
      outcomes = runCases(chosen, lower, variant);
    for (size_t i = 0; i < chosen.size(); ++i) {
      std::string wrong = isolate && why.empty() ? judgeIsolated(chosen[i], lower, variant, expected[i])
                                                 : judge(outcomes[i], expected[i], chosen[i].tolerance);
      if (wrong.empty())
        continue;
      std::string symbols;
      for (int64_t value : chosen[i].symbols)
        symbols += " " + std::to_string(value);
      ADD_FAILURE() << name.str() << ": " << chosen[i].name << (symbols.empty() ? "" : ", symbols" + symbols) << ": "
                    << wrong << "\n"
                    << chosen[i].text;
    }
  }
}
