// The target table and what a user may write to choose from it.
#include "compiler/target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

#include <algorithm>
#include <memory>
#include <mutex>

using namespace llvm;
using namespace stint::target;

namespace {

struct FeatureRow {
  uint16_t id;
  Machine machine;
  StringRef name;
};
struct FamilyRow {
  StringRef name;
  Machine machine;
  StringRef triple;
};
struct VariantRow {
  StringRef family, name;
  int64_t vectorBytes, vectorRegisters, l1, l2;
  StringRef tune, features, leaf;
};

constexpr Machine X86_64 = Machine::x86_64, AARCH64 = Machine::aarch64;
const FeatureRow featureRows[] = {
#define STINT_CPU_FEATURE(id, machine, identifier, name) {id, machine, name},
#include "runtime/schema/cpu_features.def"
};
const FamilyRow familyRows[] = {
#define STINT_FAMILY(name, machine, triple) {name, Machine::machine, triple},
#include "compiler/target/targets.def"
};
const VariantRow variantRows[] = {
#define STINT_VARIANT(family, name, vectorBytes, vectorRegisters, l1, l2, tune, features, leaf)                        \
  {family, name, vectorBytes, vectorRegisters, l1, l2, tune, features, leaf},
#include "compiler/target/targets.def"
};

const FamilyRow *findFamily(StringRef name) {
  for (const FamilyRow &row : familyRows)
    if (row.name == name)
      return &row;
  return nullptr;
}

const FeatureRow *findFeature(Machine machine, StringRef name) {
  for (const FeatureRow &row : featureRows)
    if (row.machine == machine && row.name == name)
      return &row;
  return nullptr;
}

/// Fills what follows from the feature ids.
void derive(Variant &variant) {
  llvm::sort(variant.featureIds);
  variant.featureIds.erase(std::unique(variant.featureIds.begin(), variant.featureIds.end()), variant.featureIds.end());
  variant.features.clear();
  for (uint16_t id : variant.featureIds)
    for (const FeatureRow &row : featureRows)
      if (row.id == id)
        variant.features += (variant.features.empty() ? "+" : ",+") + row.name.str();
  bool arm = variant.machine == Machine::aarch64;
  variant.hasFma = arm || variant.has("fma");
  variant.hasF16Conversions = arm || variant.has("f16c");
  if (arm) {
    variant.vectorBytes = 16;
    variant.vectorRegisters = 32;
  } else {
    bool wide = variant.has("avx512f") && variant.has("avx512vl") && variant.has("avx512dq") && variant.has("avx512bw");
    variant.vectorBytes = wide ? 64 : variant.has("avx2") ? 32 : 16;
    variant.vectorRegisters = wide ? 32 : 16;
  }
}

Variant fromRow(const VariantRow &row) {
  const FamilyRow &family = *findFamily(row.family);
  Variant variant;
  variant.name = row.name.str();
  variant.family = row.family.str();
  variant.machine = family.machine;
  variant.triple = family.triple.str();
  variant.cpu = family.machine == Machine::x86_64 ? "x86-64" : "generic";
  variant.tune = row.tune.str();
  variant.onlyFor = row.leaf.str();
  variant.l1Bytes = row.l1 * 1024;
  variant.l2Bytes = row.l2 * 1024;
  SmallVector<StringRef> names;
  row.features.split(names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    const FeatureRow *feature = findFeature(family.machine, name);
    assert(feature && "targets.def names a feature that cpu_features.def lacks");
    variant.featureIds.push_back(feature->id);
  }
  derive(variant);
  assert(variant.vectorBytes == row.vectorBytes && variant.vectorRegisters == row.vectorRegisters &&
         "targets.def disagrees with the features");
  return variant;
}

Error failure(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// A variant made from an LLVM CPU name: the table's features that this CPU
/// has, its scheduling model, caches of the family's best variant below it.
std::optional<Variant> fromCpu(const FamilyRow &family, StringRef cpu) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeAArch64TargetMC();
  });
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(family.triple.str(), error);
  if (!target)
    return std::nullopt;
  std::unique_ptr<MCSubtargetInfo> generic(target->createMCSubtargetInfo(family.triple, "", ""));
  if (!generic || !generic->isCPUStringValid(cpu))
    return std::nullopt;
  std::unique_ptr<MCSubtargetInfo> info(target->createMCSubtargetInfo(family.triple, cpu, ""));
  std::vector<uint16_t> ids;
  for (const FeatureRow &row : featureRows)
    if (row.machine == family.machine && info->checkFeatures("+" + row.name.str()))
      ids.push_back(row.id);
  std::optional<Variant> result;
  for (const VariantRow &row : variantRows) {
    if (row.family != family.name)
      continue;
    Variant candidate = fromRow(row);
    if (!result || llvm::all_of(candidate.featureIds, [&](uint16_t id) { return llvm::is_contained(ids, id); }))
      result = candidate;
  }
  result->name = cpu.str();
  result->tune = cpu.str();
  result->featureIds = ids;
  derive(*result);
  return result;
}

} // namespace

bool Variant::has(StringRef feature) const {
  const FeatureRow *row = findFeature(machine, feature);
  return row && llvm::is_contained(featureIds, row->id);
}

std::vector<std::string> stint::target::familyNames() {
  std::vector<std::string> names;
  for (const FamilyRow &row : familyRows)
    names.push_back(row.name.str());
  return names;
}

std::string stint::target::hostFamily() {
#if defined(__x86_64__) && defined(__linux__)
  return "x86_64-linux";
#elif defined(__aarch64__) && defined(__linux__)
  return "aarch64-linux";
#else
  return "";
#endif
}

std::vector<Variant> stint::target::variantsOf(StringRef family) {
  std::string name = family == "host" ? hostFamily() : family.str();
  std::vector<Variant> variants;
  for (const VariantRow &row : variantRows)
    if (row.family == name)
      variants.push_back(fromRow(row));
  return variants;
}

Expected<Variant> stint::target::lookup(StringRef variant) {
  std::string known;
  for (const VariantRow &row : variantRows) {
    if (row.name == variant)
      return fromRow(row);
    known += (known.empty() ? "" : ", ") + row.name.str();
  }
  return failure("there is no variant '" + variant + "'; known are " + known);
}

static std::vector<std::string> variantNames(ArrayRef<const FamilyRow *> families) {
  std::vector<std::string> names;
  for (const FamilyRow *family : families)
    for (const VariantRow &row : variantRows)
      if (row.family == family->name)
        names.push_back(row.name.str());
  return names;
}

Expected<std::vector<Variant>> stint::target::resolve(StringRef targets, StringRef cpu, StringRef features) {
  SmallVector<StringRef> targetNames, cpuNames, featureNames;
  targets.split(targetNames, ',', -1, false);
  cpu.split(cpuNames, ',', -1, false);
  features.split(featureNames, ',', -1, false);
  if (targetNames.empty())
    return failure("--target names no machine; known are host, " + llvm::join(familyNames(), ", "));

  SmallVector<const FamilyRow *> families;
  for (StringRef name : targetNames) {
    name = name.trim();
    std::string resolved = name == "host" ? hostFamily() : name.str();
    const FamilyRow *family = findFamily(resolved);
    if (!family)
      return failure("unknown target '" + name + "'; known are host, " + llvm::join(familyNames(), ", "));
    if (!llvm::is_contained(families, family))
      families.push_back(family);
  }

  std::vector<Variant> result;
  SmallVector<bool> cpuUsed(cpuNames.size(), false);
  for (const FamilyRow *family : families) {
    std::vector<Variant> defaults = variantsOf(family->name), chosen;
    for (size_t i = 0; i < cpuNames.size(); ++i) {
      StringRef name = cpuNames[i].trim();
      auto known = llvm::find_if(defaults, [&](const Variant &v) { return v.name == name; });
      std::optional<Variant> variant;
      if (known != defaults.end()) {
        variant = *known;
        variant->onlyFor.clear();
      } else {
        variant = fromCpu(*family, name);
      }
      if (!variant)
        continue;
      cpuUsed[i] = true;
      if (llvm::none_of(chosen, [&](const Variant &v) { return v.name == variant->name; }))
        chosen.push_back(*variant);
    }
    // Plan order: the runtime takes the last variant that the machine has.
    llvm::sort(chosen, [](const Variant &a, const Variant &b) {
      return std::make_pair(a.featureIds.size(), a.name) < std::make_pair(b.featureIds.size(), b.name);
    });
    if (chosen.empty())
      chosen = defaults;
    for (Variant &variant : chosen)
      result.push_back(std::move(variant));
  }
  for (size_t i = 0; i < cpuNames.size(); ++i)
    if (!cpuUsed[i])
      return failure("--cpu '" + cpuNames[i] +
                     "' is neither a variant nor a CPU of the chosen targets; their variants are " +
                     llvm::join(variantNames(families), ", "));

  for (StringRef word : featureNames) {
    word = word.trim();
    bool add = word.consume_front("+");
    if (!add && !word.consume_front("-"))
      return failure("--features wants +name or -name, not '" + word + "'");
    bool known = false;
    for (Variant &variant : result) {
      const FeatureRow *row = findFeature(variant.machine, word);
      if (!row)
        continue;
      known = true;
      if (add)
        variant.featureIds.push_back(row->id);
      else
        llvm::erase(variant.featureIds, row->id);
      derive(variant);
    }
    if (!known) {
      std::string names;
      for (const FeatureRow &row : featureRows)
        if (llvm::any_of(families, [&](const FamilyRow *f) { return f->machine == row.machine; }))
          names += (names.empty() ? "" : ", ") + row.name.str();
      return failure("--features '" + word + "' is not known; known are " + names);
    }
  }
  return result;
}
