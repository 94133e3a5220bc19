// Writes weight entries into their section, equal ones once.
#include "compiler/weights/WeightWriter.h"

#include "runtime/base/sha256.h"
#include "runtime/schema/plan_file.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace stint;
using namespace stint::weights;

/// The runtime's SHA-256: many times as fast as LLVM's where the processor has
/// instructions for it.
static Sha256 newHash() {
  static const bool instructions = [] {
    llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    return features.lookup("sha") || features.lookup("sha2");
  }();
  return Sha256(instructions);
}

static Hash finish(Sha256 &sha) {
  Hash digest;
  sha.finish(digest.data());
  return digest;
}

Hash weights::hash(ArrayRef<uint8_t> bytes) {
  Sha256 sha = newHash();
  sha.update(bytes.data(), bytes.size());
  return finish(sha);
}

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
  Sha256 sha = newHash();
  llvm::Error error = llvm::Error::success();
  produce([&](ArrayRef<uint8_t> bytes) {
    if (error)
      return;
    sha.update(bytes.data(), bytes.size());
    if (llvm::Error failed = write(position, bytes)) {
      llvm::consumeError(std::move(error));
      error = std::move(failed);
    }
    position += bytes.size();
  });
  if (error)
    return std::move(error);
  assert(position == start + size && "a recipe gave another size than it said");
  auto [entry, isNew] = known.try_emplace({size, finish(sha)}, start);
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
