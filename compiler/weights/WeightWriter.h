// Writes weights one after the other: each aligned, equal ones once, with a
// hash per chunk.
#ifndef STINT_COMPILER_WEIGHTS_WEIGHTWRITER_H
#define STINT_COMPILER_WEIGHTS_WEIGHTWRITER_H

#include "compiler/weights/Recipe.h"
#include "llvm/Support/Error.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace stint::weights {

using Hash = std::array<uint8_t, 32>;

/// Where bytes of a section go: `offset` counts from the section's start.
using Write = llvm::function_ref<llvm::Error(uint64_t offset, llvm::ArrayRef<uint8_t> bytes)>;

/// Lays out one section of weights. The order of calls is the order in the
/// file. Memory use does not grow with the weights.
class WeightWriter {
public:
  /// Evaluates `recipe` to the end of the section and returns its offset; if
  /// an earlier weight has the same bytes, that one's offset, and nothing is
  /// added.
  llvm::Expected<uint64_t> add(const Recipe &recipe, Write write);
  /// The same for bytes in memory.
  llvm::Expected<uint64_t> add(llvm::ArrayRef<uint8_t> bytes, Write write);

  uint64_t size() const { return end; }
  /// Bytes that equal weights did not take.
  uint64_t shared() const { return saved; }

private:
  using Produce = llvm::function_ref<void(llvm::function_ref<void(llvm::ArrayRef<uint8_t>)>)>;
  llvm::Expected<uint64_t> add(uint64_t size, Produce produce, Write write);

  std::map<std::pair<uint64_t, Hash>, uint64_t> known; // size and hash to offset
  uint64_t end = 0, saved = 0;
};

Hash hash(llvm::ArrayRef<uint8_t> bytes);

} // namespace stint::weights

#endif
