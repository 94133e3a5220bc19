// Profiles: see the header of that name.
#include "compiler/driver/Profiles.h"

#include "dialects/Graph/Shapes.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stint;
using namespace stint::driver;

/// Halvings of the bounds that are tried without being asked for.
static constexpr unsigned kHalvings = 3;

/// Symbols that the inputs' shapes give, by number. The others get their values
/// while the model runs.
static llvm::SmallVector<bool> givenByInputs(ModuleOp module, const graph::Symbols &symbols) {
  llvm::SmallVector<bool> given(symbols.size(), false);
  for (auto entry : module.getOps<plan::EntryOp>())
    for (auto input : entry.getOps<plan::InputOp>()) {
      auto type = cast<graph::GraphTensorType>(input.getType());
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        if (int64_t symbol = plan::symbolOf(symbols, type, axis); symbol >= 0)
          given[symbol] = true;
    }
  return given;
}

llvm::Error driver::addProfiles(ModuleOp module, llvm::ArrayRef<ProfileRequest> requests) {
  graph::Symbols symbols = graph::Symbols::of(module);
  llvm::SmallVector<bool> given = givenByInputs(module, symbols);
  llvm::SmallVector<llvm::SmallVector<int64_t>> profiles;
  auto add = [&](llvm::function_ref<int64_t(size_t)> mostOf) {
    llvm::SmallVector<int64_t> maxima;
    for (size_t i = 0; i < symbols.size(); ++i) {
      int64_t lower = symbols[i].getLower(), upper = symbols[i].getUpper(), most = upper;
      if (given[i])
        most = std::clamp(mostOf(i), lower, upper);
      else if (AffineMap bound = symbols[i].getBound())
        most = std::clamp(graph::Symbols::evaluate(bound.getResult(0), maxima), lower, upper);
      maxima.push_back(most);
    }
    if (!llvm::is_contained(profiles, maxima))
      profiles.push_back(maxima);
  };
  add([&](size_t i) { return symbols[i].getUpper(); });
  for (const ProfileRequest &request : requests) {
    for (const auto &[name, most] : request) {
      std::string names;
      bool found = false;
      for (size_t i = 0; i < symbols.size(); ++i)
        if (given[i]) {
          names += (names.empty() ? "" : ", ") + symbols[i].getName().str();
          found |= symbols[i].getName() == name;
          int64_t step = symbols[i].getStep(), least = symbols[i].getLower() * step,
                  largest = symbols[i].getUpper() * step;
          if (symbols[i].getName() == name && (most < least || most > largest))
            return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                           "--profile " + name + "=" + llvm::Twine(most) + ": its bounds are " +
                                               llvm::Twine(least) + ".." + llvm::Twine(largest));
        }
      if (!found)
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "--profile " + name + "=" + llvm::Twine(most) +
                                           ": the model has no dynamic dimension of that name" +
                                           (names.empty() ? "; all its sizes are fixed" : "; it has " + names));
    }
    add([&](size_t i) -> int64_t {
      for (const auto &[name, most] : request)
        if (symbols[i].getName() == name)
          return llvm::divideCeil(most, symbols[i].getStep());
      return symbols[i].getUpper();
    });
  }
  for (unsigned halvings = 1; requests.empty() && halvings <= kHalvings; ++halvings)
    add([&](size_t i) -> int64_t { return llvm::divideCeil(symbols[i].getUpper(), int64_t(1) << halvings); });
  Builder builder(module.getContext());
  llvm::SmallVector<Attribute> attributes;
  for (const auto &maxima : profiles)
    attributes.push_back(builder.getDenseI64ArrayAttr(maxima));
  module->setAttr(plan::kProfilesAttr, builder.getArrayAttr(attributes));
  return llvm::Error::success();
}
