// The metadata of a GGUF file: keys and values before its tensors.
//
//   "GGUF", version u32 (2 or 3), tensors u64, pairs u64, then for each pair:
//   key (length u64, bytes), type u32, value; a string is length u64 and bytes,
//   an array its elements' type u32, count u64, the elements. Little-endian.
//
// Nothing is copied: values lie in the file, which must outlive them. Every length
// is checked against what is left of the file when it is opened.
#ifndef STINT_COMPILER_TEXT_GGUF_H
#define STINT_COMPILER_TEXT_GGUF_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace stint::text {

class GgufValue {
public:
  enum Type : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

  Type type;
  Type elementType;   // of an Array
  uint64_t count = 1; // of an Array
  llvm::StringRef bytes;

  std::optional<int64_t> integer() const;
  std::optional<bool> boolean() const;
  std::optional<llvm::StringRef> string() const;
  /// Elements of an array of that type; nothing if it isn't one.
  std::optional<std::vector<llvm::StringRef>> strings() const;
  std::optional<std::vector<int64_t>> integers() const;
  std::optional<std::vector<float>> floats() const;
};

class GgufMetadata {
public:
  static llvm::Expected<GgufMetadata> read(llvm::MemoryBufferRef file);
  /// nullptr: no such key.
  const GgufValue *find(llvm::StringRef key) const;

private:
  llvm::StringMap<GgufValue> values;
};

} // namespace stint::text

#endif
