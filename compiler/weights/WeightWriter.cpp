// Writes weight entries into their section, equal ones once.
#include "compiler/weights/WeightWriter.h"

#include "runtime/schema/plan_file.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stint;
using namespace stint::weights;

Hash weights::hash(ArrayRef<uint8_t> bytes) { return llvm::SHA256::hash(bytes); }

llvm::Expected<uint64_t> WeightWriter::add(const Recipe &recipe, Write write) {
  return add(recipe.size(), [&](llvm::function_ref<void(ArrayRef<uint8_t>)> sink) { recipe.evaluate(sink); }, write);
}

llvm::Expected<uint64_t> WeightWriter::add(ArrayRef<uint8_t> bytes, Write write) {
  return add(bytes.size(), [&](llvm::function_ref<void(ArrayRef<uint8_t>)> sink) { sink(bytes); }, write);
}

llvm::Expected<uint64_t> WeightWriter::add(uint64_t size, Produce produce, Write write) {
  // Written where a new weight would go and hashed on the way; a duplicate is
  // taken back.
  uint64_t start = llvm::alignTo(end, STINT_WEIGHT_ALIGNMENT), position = start;
  llvm::SHA256 sha;
  llvm::Error error = llvm::Error::success();
  produce([&](ArrayRef<uint8_t> bytes) {
    if (error)
      return;
    sha.update(bytes);
    if (llvm::Error failed = write(position, bytes)) {
      llvm::consumeError(std::move(error));
      error = std::move(failed);
    }
    position += bytes.size();
  });
  if (error)
    return std::move(error);
  assert(position == start + size && "a recipe gave another size than it said");
  auto [entry, isNew] = known.try_emplace({size, sha.final()}, start);
  if (isNew) {
    end = position;
    return start;
  }
  saved += size;
  // Gaps between weights stay zero.
  static const std::vector<uint8_t> zeros(Recipe::kTileBytes);
  while (position > start) {
    uint64_t piece = std::min<uint64_t>(position - start, zeros.size());
    position -= piece;
    if (llvm::Error failed = write(position, ArrayRef<uint8_t>(zeros.data(), piece)))
      return std::move(failed);
  }
  return entry->second;
}
