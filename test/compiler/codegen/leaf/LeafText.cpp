// Text of leaf kernels, and where they can be run.
#include "test/compiler/codegen/harness/Jobs.h"
#include "test/compiler/codegen/leaf/LeafTest.h"

#include <iostream>

using namespace stint::test;

static std::string join(const std::vector<TypeText> &types, const std::string &prefix) {
  std::string text;
  for (size_t i = 0; i < types.size(); ++i)
    text += (i ? ", " : "") + (prefix.empty() ? "" : prefix + std::to_string(i) + ": ") + "!graph.tensor<[" +
            types[i].dims + "] x " + types[i].element + ">";
  return text;
}

static std::string names(size_t count, const std::string &prefix) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + prefix + std::to_string(i);
  return text;
}

std::string stint::test::leafText(const std::string &name, const std::vector<TypeText> &operands,
                                  const std::vector<TypeText> &results, const std::string &rest, bool inPlace) {
  std::string arguments = join(operands, "%x"), resultTypes = join(results, "");
  if (inPlace)
    arguments.insert(arguments.find('>') + 1, " {graph.in_place = 0}");
  std::string symbols;
  for (int i = 0; i < 3; ++i)
    symbols += (i ? ", " : "") + std::string("#graph.symbol<\"s\", 0, 100000>");
  return "func.func @k(" + arguments + ") -> (" + resultTypes +
         ")\n    attributes {graph.kind = #graph<kernel_kind leaf>, graph.symbols = [" + symbols + "]} {\n  " +
         names(results.size(), "%y") + " = graph.leaf \"" + name + "\"(" + names(operands.size(), "%x") + ") " + rest +
         " : (" + join(operands, "") + ") -> (" + resultTypes + ")\n  return " + names(results.size(), "%y") + " : " +
         resultTypes + "\n}\n";
}

std::vector<std::string> stint::test::runnableVariants() {
  std::vector<std::string> names;
  for (const char *name : {"v3", "neon"}) {
    std::string why = whyNotRunnable(llvm::cantFail(target::lookup(name)));
    if (why.empty())
      names.push_back(name);
    else
      std::cout << "[          ] " << name << ": not run, " << why << std::endl;
  }
  return names;
}
