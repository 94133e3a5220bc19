// A message is read as a tree: a field of bytes that itself reads as a message
// is one. Mutations are of the tree; then it is written again.
#include "ProtoMutator.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);

namespace {

enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
constexpr int kDepth = 16;      // of the tree that is looked at
constexpr size_t kNodes = 4000; // and how much of it

struct Field {
  uint32_t number = 0, wire = 0;
  uint64_t value = 0;          // of a number
  std::string bytes;           // of a leaf
  std::vector<Field> children; // of a message
  bool message = false;
};
using Fields = std::vector<Field>;

using Random = std::minstd_rand;
size_t below(Random &random, size_t count) { return count ? random() % count : 0; }

bool readVarint(const uint8_t *&p, const uint8_t *end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && p != end; shift += 7) {
    uint8_t byte = *p++;
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

bool read(const uint8_t *p, const uint8_t *end, int depth, size_t &nodes, Fields &fields) {
  while (p != end) {
    uint64_t tag, length;
    if (!readVarint(p, end, tag) || tag >> 3 == 0 || tag >> 32 || ++nodes > kNodes)
      return false;
    Field field;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.wire = tag & 7;
    if (field.wire == Varint) {
      if (!readVarint(p, end, field.value))
        return false;
    } else if (field.wire == Fixed64 || field.wire == Fixed32) {
      size_t size = field.wire == Fixed64 ? 8 : 4;
      if (static_cast<size_t>(end - p) < size)
        return false;
      std::memcpy(&field.value, p, size);
      p += size;
    } else if (field.wire == Bytes) {
      if (!readVarint(p, end, length) || length > static_cast<size_t>(end - p))
        return false;
      field.message = length && depth < kDepth && read(p, p + length, depth + 1, nodes, field.children);
      if (!field.message) {
        field.children.clear();
        field.bytes.assign(reinterpret_cast<const char *>(p), length);
      }
      p += length;
    } else {
      return false;
    }
    fields.push_back(std::move(field));
  }
  return true;
}

void writeVarint(std::string &out, uint64_t value) {
  for (; value > 127; value >>= 7)
    out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

std::string write(const Fields &fields) {
  std::string out;
  for (const Field &field : fields) {
    writeVarint(out, static_cast<uint64_t>(field.number) << 3 | field.wire);
    if (field.wire == Varint) {
      writeVarint(out, field.value);
    } else if (field.wire == Bytes) {
      std::string content = field.message ? write(field.children) : field.bytes;
      writeVarint(out, content.size());
      out += content;
    } else {
      out.append(reinterpret_cast<const char *>(&field.value), field.wire == Fixed64 ? 8 : 4);
    }
  }
  return out;
}

// Every list of siblings, and every field.
struct Index {
  std::vector<Fields *> lists;
  std::vector<Field *> fields, leaves, numbers;
  explicit Index(Fields &root) { add(root); }
  void add(Fields &list) {
    lists.push_back(&list);
    for (Field &field : list) {
      fields.push_back(&field);
      if (field.message)
        add(field.children);
      else
        (field.wire == Bytes ? leaves : numbers).push_back(&field);
    }
  }
};

uint64_t number(Random &random, uint64_t old) {
  static const int64_t interesting[] = {0,  1,   -1,  2,     3,     4,       5,          6,         7,
                                        8,  9,   10,  11,    13,    16,      17,         32,        64,
                                        -2, 127, 255, 65535, 65536, 1 << 20, 0x7fffffff, INT64_MAX, INT64_MIN};
  switch (below(random, 6)) {
  case 0:
    return old + 1;
  case 1:
    return old - 1;
  case 2:
    return old * 2;
  case 3:
    return random();
  default:
    return static_cast<uint64_t>(interesting[below(random, std::size(interesting))]);
  }
}

void mutateBytes(Random &random, std::string &bytes) {
  size_t limit = bytes.size() + 16;
  std::vector<uint8_t> work(limit);
  std::memcpy(work.data(), bytes.data(), bytes.size());
  // Elements of eight bytes are as common as text.
  if (bytes.size() >= 8 && below(random, 3) == 0) {
    size_t at = below(random, bytes.size() / 8) * 8;
    uint64_t value;
    std::memcpy(&value, work.data() + at, 8);
    value = number(random, value);
    std::memcpy(work.data() + at, &value, 8);
  } else {
    limit = LLVMFuzzerMutate(work.data(), bytes.size(), limit);
    bytes.resize(limit);
  }
  std::memcpy(bytes.data(), work.data(), bytes.size());
}

void mutateOnce(Random &random, Fields &root) {
  Index index(root);
  if (index.fields.empty())
    return;
  Fields &list = *index.lists[below(random, index.lists.size())];
  size_t at = below(random, list.size());
  switch (below(random, 10)) {
  case 0: // leave one out
    if (!list.empty())
      list.erase(list.begin() + static_cast<ptrdiff_t>(at));
    break;
  case 1: // have one twice
    if (!list.empty()) {
      Field copy = list[at];
      list.insert(list.begin() + static_cast<ptrdiff_t>(at), std::move(copy));
    }
    break;
  case 2: // another order
    if (!list.empty())
      std::swap(list[at], list[below(random, list.size())]);
    break;
  case 3: { // one from elsewhere
    Field copy = *index.fields[below(random, index.fields.size())];
    list.insert(list.begin() + static_cast<ptrdiff_t>(below(random, list.size() + 1)), std::move(copy));
    break;
  }
  case 4: // another name: the edges of a graph are names
  case 5:
    if (!index.leaves.empty()) {
      std::string text = index.leaves[below(random, index.leaves.size())]->bytes;
      index.leaves[below(random, index.leaves.size())]->bytes = text;
    }
    break;
  case 6:
    if (!index.leaves.empty())
      mutateBytes(random, index.leaves[below(random, index.leaves.size())]->bytes);
    break;
  case 7: // a field's number
    if (!list.empty() && below(random, 2))
      list[at].number = 1 + static_cast<uint32_t>(below(random, 26));
    [[fallthrough]];
  default:
    if (!index.numbers.empty()) {
      Field &field = *index.numbers[below(random, index.numbers.size())];
      field.value = number(random, field.value);
    }
  }
}

} // namespace

size_t stint::fuzz::mutateProto(uint8_t *data, size_t size, size_t limit, unsigned seed) {
  Random random(seed);
  Fields root;
  size_t nodes = 0;
  if (below(random, 8) == 0 || !read(data, data + size, 0, nodes, root))
    return LLVMFuzzerMutate(data, size, limit);
  for (size_t i = below(random, 4) + 1; i > 0; --i)
    mutateOnce(random, root);
  std::string out = write(root);
  if (out.size() > limit)
    return LLVMFuzzerMutate(data, size, limit);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

size_t stint::fuzz::crossProto(const uint8_t *data, size_t size, const uint8_t *other, size_t otherSize, uint8_t *out,
                               size_t limit, unsigned seed) {
  Random random(seed);
  Fields root, from;
  size_t nodes = 0;
  if (!read(data, data + size, 0, nodes, root) || !read(other, other + otherSize, 0, nodes, from))
    return 0;
  for (size_t i = below(random, 3) + 1; i > 0; --i) {
    Index to(root), source(from);
    if (source.fields.empty())
      return 0;
    // Most often where a field of that number is already.
    Field copy = *source.fields[below(random, source.fields.size())];
    Fields *list = to.lists[below(random, to.lists.size())];
    for (int tries = 0; tries < 8; ++tries) {
      Fields *candidate = to.lists[below(random, to.lists.size())];
      bool same = false;
      for (const Field &field : *candidate)
        same |= field.number == copy.number && field.message == copy.message;
      if (same)
        list = candidate;
    }
    list->insert(list->begin() + static_cast<ptrdiff_t>(below(random, list->size() + 1)), std::move(copy));
  }
  std::string result = write(root);
  if (result.size() > limit)
    return 0;
  std::memcpy(out, result.data(), result.size());
  return result.size();
}
