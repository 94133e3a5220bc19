// Reads a .stint file back as plain structs, for people and tools to look at.
// Only for files that the runtime has opened, and so checked, before.
#ifndef STINT_COMPILER_SERIALISE_PLANREADER_H
#define STINT_COMPILER_SERIALISE_PLANREADER_H

#include "runtime/schema/plan_file.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include "plan_generated.h"

#include <memory>
#include <vector>

namespace stint::serialise {

struct PlanContents {
  stint_file_header header;
  std::vector<stint_section> sections;
  plan::PlanT plan;
};

llvm::Expected<std::unique_ptr<PlanContents>> readPlan(llvm::StringRef path);

} // namespace stint::serialise

#endif
