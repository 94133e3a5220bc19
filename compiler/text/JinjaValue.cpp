// Values of the template language: Python's, as far as templates tell them apart.
#include "compiler/text/JinjaTree.h"
#include "llvm/ADT/StringExtras.h"

namespace stint::text::jinja {

Value Value::boolean(bool value) {
  Value result(Bool);
  result.number = value;
  return result;
}
Value Value::integer(int64_t value) {
  Value result(Int);
  result.number = value;
  return result;
}
Value Value::string(std::string value) {
  Value result(String);
  result.text = std::move(value);
  return result;
}
Value Value::list(ValueList items) {
  Value result(List);
  result.items = std::make_shared<ValueList>(std::move(items));
  return result;
}
Value Value::dict(ValueDict members, Kind kind) {
  Value result(kind);
  result.members = std::make_shared<ValueDict>(std::move(members));
  return result;
}
Value Value::function(std::string name) {
  Value result(Function);
  result.text = std::move(name);
  return result;
}

bool Value::truth() const {
  switch (kind) {
  case Undefined:
  case None:
    return false;
  case Bool:
  case Int:
    return number != 0;
  case String:
    return !text.empty();
  case List:
    return !items->empty();
  case Dict:
    return !members->empty();
  default:
    return true;
  }
}

const Value *Value::member(llvm::StringRef name) const {
  if (isDict())
    for (const auto &[key, value] : *members)
      if (key == name)
        return &value;
  return nullptr;
}

void Value::setMember(llvm::StringRef name, Value value) {
  for (auto &[key, old] : *members)
    if (key == name) {
      old = std::move(value);
      return;
    }
  members->push_back({name.str(), std::move(value)});
}

std::string Value::print() const {
  switch (kind) {
  case Undefined:
    return "";
  case None:
    return "None";
  case Bool:
    return number ? "True" : "False";
  case Int:
    return std::to_string(number);
  case String:
    return text;
  default:
    return "<" + std::to_string(kind) + ">"; // nothing prints one: the evaluator refuses it
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as literals nest
bool equal(const Value &a, const Value &b) {
  if (a.isNumber() && b.isNumber())
    return a.number == b.number;
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case Value::String:
  case Value::Function:
    return a.text == b.text;
  case Value::List:
    return a.items == b.items || (a.items->size() == b.items->size() &&
                                  std::equal(a.items->begin(), a.items->end(), b.items->begin(), equal));
  case Value::Dict:
    if (a.members == b.members || a.members->size() != b.members->size())
      return a.members == b.members;
    for (const auto &[key, value] : *a.members)
      if (const Value *other = b.member(key); !other || !equal(value, *other))
        return false;
    return true;
  case Value::Namespace:
    return a.members == b.members;
  default:
    return true;
  }
}

/// Bytes of the white space that a text begins or ends with, 0: none.
static size_t spaceAt(llvm::StringRef text, bool atEnd) {
  if (text.empty())
    return 0;
  unsigned char c = atEnd ? text.back() : text.front();
  if (c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f))
    return 1;
  for (llvm::StringRef space :
       {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
        "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"})
    if (atEnd ? text.ends_with(space) : text.starts_with(space))
      return space.size();
  return 0;
}

llvm::StringRef stripped(llvm::StringRef text, bool start, bool end) {
  for (size_t length; start && (length = spaceAt(text, false));)
    text = text.drop_front(length);
  for (size_t length; end && (length = spaceAt(text, true));)
    text = text.drop_back(length);
  return text;
}

} // namespace stint::text::jinja
