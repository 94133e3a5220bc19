// Which machines code is made for, and what each of them can do.
//
// A family (`x86_64-linux`) is what a plan is made for; a variant (`v3`) is a
// set of CPU features its kernels are compiled for. The tables are in
// targets.def; feature ids are those of runtime/schema/cpu_features.def.
#ifndef STINT_COMPILER_TARGET_TARGET_H
#define STINT_COMPILER_TARGET_TARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stint::target {

/// Values of plan.fbs' Machine.
enum class Machine : uint8_t { x86_64 = 1, aarch64 = 2 };

struct Variant {
  std::string name;   // unique among all families
  std::string family; // "x86_64-linux"
  Machine machine;
  std::string triple; // LLVM's
  std::string cpu;    // LLVM CPU that only sets the baseline
  std::string tune;   // LLVM CPU whose scheduling model is used
  /// LLVM's feature string ("+avx2,+fma"), without tuning flags.
  std::string features;
  /// Ids of cpu_features.def, ascending: all that the code may need.
  std::vector<uint16_t> featureIds;
  /// Bytes of a vector register and how many there are.
  int64_t vectorBytes;
  int64_t vectorRegisters;
  /// The leaf that a model must have for this variant to be worth its code, if any.
  std::string onlyFor;
  /// A fused multiply-add instruction exists.
  bool hasFma;
  /// Conversions between f16 and f32 are instructions.
  bool hasF16Conversions;
  /// Data caches of one core, in bytes.
  int64_t l1Bytes, l2Bytes;

  /// Elements of `bits` bits in a vector register.
  int64_t lanes(int64_t bits) const { return vectorBytes * 8 / bits; }
  bool has(llvm::StringRef feature) const;
};

/// Names of all families.
std::vector<std::string> familyNames();
/// The family of the machine this program runs on, or "" if there is none.
std::string hostFamily();
/// A family's default variants, worst first (the order in a plan). `host` is
/// the family of this machine. Empty if there is no such family.
std::vector<Variant> variantsOf(llvm::StringRef family);
/// A variant of any family by its name ("v3", "dotprod").
llvm::Expected<Variant> lookup(llvm::StringRef variant);

/// Turns what a user wrote into variants, in plan order without duplicates.
/// `targets`: comma-separated families or `host`. `cpu`: comma-separated
/// variant names or LLVM CPU names ("cortex-a76", "znver3"); each selects one
/// variant in place of its family's defaults. `features`: comma-separated
/// "+name" or "-name", applied to every variant of the family that knows the
/// feature. Errors name the word that is not understood and the choices.
llvm::Expected<std::vector<Variant>> resolve(llvm::StringRef targets, llvm::StringRef cpu = "",
                                             llvm::StringRef features = "");

} // namespace stint::target

#endif
