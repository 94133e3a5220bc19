// Collecting and printing problems.
#include "compiler/import/Diagnostics.h"

#include <map>

using namespace stint::import;

void Diagnostics::report(UnsupportedNode node) {
  std::string text = "unsupported: " + (node.domain.empty() ? "" : node.domain + ".") + node.opType + " (opset " +
                     std::to_string(node.version) + ") at node '" + node.name + "'";
  if (!node.types.empty())
    text += " on " + node.types;
  entries.push_back({Problem::Unsupported, text + ": " + node.why});
  nodes.push_back(std::move(node));
}

int Diagnostics::exitCode() const {
  int code = 0;
  auto rank = [](int c) { return c == 4 ? 4 : c == 2 ? 3 : c == 3 ? 2 : c; };
  for (const Entry &entry : entries)
    if (int c = static_cast<int>(entry.problem); rank(c) > rank(code))
      code = c;
  return code;
}

void Diagnostics::print(llvm::raw_ostream &os) const {
  for (const Entry &entry : entries)
    os << "stint: " << entry.message << "\n";
}
