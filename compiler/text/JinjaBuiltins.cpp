// Filters, tests, methods and operators. An operation that Python would raise an
// exception for is Refused, one that isn't here NotUnderstood.
#include "compiler/text/JinjaTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace stint::text::jinja {
namespace {

Problem refused(const llvm::Twine &message) { return {Rendering::Refused, message.str()}; }
Problem notUnderstood(const llvm::Twine &message) { return {Rendering::NotUnderstood, message.str()}; }

constexpr size_t maxSize = 1 << 20; // of a text, bytes, and of a list

bool isAscii(llvm::StringRef text) {
  return llvm::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
}

/// The characters of a text.
ValueList characters(llvm::StringRef text) {
  ValueList result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && (text[end] & 0xc0) == 0x80)
      ++end;
    result.push_back(Value::string(text.slice(begin, end).str()));
    begin = end;
  }
  return result;
}

std::string joined(const ValueList &items, llvm::StringRef between) {
  std::string result;
  for (size_t i = 0; i < items.size(); ++i)
    result += (i ? between.str() : "") + items[i].print();
  return result;
}

bool isPrintable(const Value &value) {
  return value.isString() || value.isNumber() || value.kind == Value::None || value.kind == Value::Undefined;
}

std::string replaced(llvm::StringRef text, llvm::StringRef from, llvm::StringRef to) {
  std::string result;
  while (!text.empty()) {
    auto [before, after] = text.split(from);
    result += before;
    if (before.size() == text.size())
      break;
    result += to;
    text = after;
  }
  return result;
}

Outcome changeCase(const Value &value, llvm::StringRef how) {
  std::string text = value.print();
  if (!isAscii(text))
    return notUnderstood("'" + how + "' of anything but ASCII isn't understood");
  bool first = true;
  for (char &c : text) {
    bool upper = how == "upper" || (first && (how == "capitalize" || how == "title"));
    c = upper ? llvm::toUpper(c) : llvm::toLower(c);
    first = how == "title" ? !llvm::isAlpha(c) : false;
  }
  return Value::string(text);
}

std::optional<size_t> lengthOf(const Value &value) {
  if (value.kind == Value::Undefined)
    return 0;
  if (value.isString())
    return characters(value.text).size();
  if (value.kind == Value::List)
    return value.items->size();
  if (value.kind == Value::Dict)
    return value.members->size();
  return std::nullopt;
}

/// selectattr, rejectattr: (name), (name, test) or (name, test, argument).
Outcome selectByMember(llvm::StringRef name, const Value &value, const Arguments &arguments) {
  std::variant<ValueList, Problem> items = elements(value);
  if (auto *problem = std::get_if<Problem>(&items))
    return *problem;
  ValueList kept;
  for (const Value &item : std::get<ValueList>(items)) {
    const Value *member = item.member(arguments.get(0, "").text);
    Value tested = member ? *member : Value();
    bool holds = tested.truth();
    if (arguments.values.size() > 1) {
      Arguments rest;
      rest.values.assign(arguments.values.begin() + 2, arguments.values.end());
      Outcome outcome = applyTest(arguments.values[1].text, tested, rest);
      if (auto *problem = std::get_if<Problem>(&outcome))
        return *problem;
      holds = std::get<Value>(outcome).truth();
    }
    if (holds == (name == "selectattr"))
      kept.push_back(item);
  }
  return Value::list(kept);
}

} // namespace

Value Arguments::get(size_t index, llvm::StringRef name, Value otherwise) const {
  if (index < values.size())
    return values[index];
  for (const auto &[key, value] : named)
    if (key == name)
      return value;
  return otherwise;
}

std::variant<ValueList, Problem> elements(const Value &value) {
  if (value.kind == Value::List)
    return *value.items;
  if (value.kind == Value::Undefined)
    return ValueList();
  if (value.isString())
    return characters(value.text);
  if (value.kind == Value::Dict) {
    ValueList keys;
    for (const auto &[key, member] : *value.members)
      keys.push_back(Value::string(key));
    return keys;
  }
  return refused("'" + value.print() + "' can't be iterated");
}

Outcome applyFilter(llvm::StringRef name, const Value &value, const Arguments &arguments) {
  if (name == "trim" || name == "upper" || name == "lower" || name == "capitalize" || name == "title" ||
      name == "string" || name == "safe" || name == "replace") {
    if (!isPrintable(value))
      return notUnderstood("the filter '" + name + "' of what isn't a text isn't understood");
    if (name == "trim")
      return arguments.values.empty() && arguments.named.empty()
                 ? Outcome(Value::string(stripped(value.print()).str()))
                 : Outcome(notUnderstood("the filter 'trim' with characters isn't understood"));
    if (name == "string" || name == "safe")
      return Value::string(value.print());
    if (name != "replace")
      return changeCase(value, name);
    Value from = arguments.get(0, "old"), to = arguments.get(1, "new");
    if (!from.isString() || !to.isString() || from.text.empty() || arguments.values.size() > 2 ||
        value.text.size() * (to.text.size() + 1) > maxSize)
      return notUnderstood("the filter 'replace' with these arguments isn't understood");
    return Value::string(replaced(value.print(), from.text, to.text));
  }
  if (name == "length" || name == "count") {
    std::optional<size_t> length = lengthOf(value);
    return length ? Outcome(Value::integer(*length)) : Outcome(refused("'" + value.print() + "' has no length"));
  }
  if (name == "default" || name == "d") {
    bool otherwise = value.kind == Value::Undefined || (arguments.get(1, "boolean").truth() && !value.truth());
    return otherwise ? arguments.get(0, "default_value", Value::string("")) : value;
  }
  if (name == "list" || name == "first" || name == "last" || name == "join" || name == "reverse") {
    if (name == "reverse" && value.isString()) {
      ValueList items = characters(value.text);
      std::reverse(items.begin(), items.end());
      return Value::string(joined(items, ""));
    }
    std::variant<ValueList, Problem> found = elements(value);
    if (auto *problem = std::get_if<Problem>(&found))
      return *problem;
    ValueList &items = std::get<ValueList>(found);
    if (name == "first" || name == "last")
      return items.empty() ? Value() : name == "first" ? items.front() : items.back();
    if (name == "reverse")
      std::reverse(items.begin(), items.end());
    if (name != "join")
      return Value::list(items);
    size_t size = 0;
    for (const Value &item : items)
      size += item.text.size() + arguments.get(0, "d").text.size();
    if (size > maxSize || !llvm::all_of(items, isPrintable) || arguments.values.size() > 1 || !arguments.named.empty())
      return notUnderstood("the filter 'join' of these values isn't understood");
    return Value::string(joined(items, arguments.get(0, "d").print()));
  }
  if (name == "selectattr" || name == "rejectattr")
    return selectByMember(name, value, arguments);
  return notUnderstood("the filter '" + name + "' isn't understood");
}

Outcome applyTest(llvm::StringRef name, const Value &value, const Arguments &arguments) {
  auto yes = [](bool holds) { return Value::boolean(holds); };
  if (name == "defined")
    return yes(value.kind != Value::Undefined);
  if (name == "undefined")
    return yes(value.kind == Value::Undefined);
  if (name == "none")
    return yes(value.kind == Value::None);
  if (name == "string")
    return yes(value.isString());
  if (name == "number" || name == "integer")
    return yes(value.isNumber() && (name == "number" || value.kind == Value::Int));
  if (name == "boolean")
    return yes(value.kind == Value::Bool);
  if (name == "true" || name == "false")
    return yes(value.kind == Value::Bool && value.number == (name == "true"));
  if (name == "mapping")
    return yes(value.isDict());
  if (name == "sequence" || name == "iterable")
    return yes(value.isString() || value.kind == Value::List || value.kind == Value::Dict ||
               value.kind == Value::Undefined);
  if (name == "equalto" || name == "eq" || name == "==")
    return yes(equal(value, arguments.get(0, "other")));
  if (name == "ne" || name == "!=")
    return yes(!equal(value, arguments.get(0, "other")));
  if (name == "in")
    return compare("in", value, arguments.get(0, "seq"));
  if ((name == "odd" || name == "even") && value.isNumber())
    return yes((value.number % 2 != 0) == (name == "odd"));
  return notUnderstood("the test 'is " + name + "' isn't understood");
}

Outcome callMethod(const Value &object, llvm::StringRef name, const Arguments &arguments) {
  Value first = arguments.get(0, "");
  if (object.isString()) {
    llvm::StringRef text = object.text;
    if ((name == "strip" || name == "lstrip" || name == "rstrip") && first.kind != Value::Undefined) {
      if (!first.isString() || !isAscii(first.text))
        return notUnderstood("'" + name + "' of characters beyond ASCII isn't understood");
      return Value::string((name == "strip"    ? text.trim(first.text)
                            : name == "lstrip" ? text.ltrim(first.text)
                                               : text.rtrim(first.text))
                               .str());
    }
    if (name == "strip" || name == "lstrip" || name == "rstrip")
      return Value::string(stripped(text, name != "rstrip", name != "lstrip").str());
    if (name == "startswith" && first.isString())
      return Value::boolean(text.starts_with(first.text));
    if (name == "endswith" && first.isString())
      return Value::boolean(text.ends_with(first.text));
    if (name == "upper" || name == "lower" || name == "capitalize" || name == "title")
      return changeCase(object, name);
    if (name == "replace" && arguments.values.size() == 2)
      return applyFilter("replace", object, arguments);
    if (name == "split" && first.isString() && !first.text.empty() && arguments.values.size() == 1) {
      ValueList parts;
      for (size_t at = 0; at != llvm::StringRef::npos;) {
        size_t end = text.find(first.text, at);
        parts.push_back(Value::string(text.slice(at, end).str()));
        at = end == llvm::StringRef::npos ? end : end + first.text.size();
      }
      return Value::list(parts);
    }
  }
  if (object.isDict()) {
    if (name == "get") {
      const Value *member = object.member(first.text);
      return member ? *member : arguments.get(1, "", Value::none());
    }
    if (name == "keys")
      return applyFilter("list", object, {});
    ValueList items;
    for (const auto &[key, value] : *object.members)
      items.push_back(name == "values" ? value : Value::list({Value::string(key), value}));
    if (name == "items" || name == "values")
      return Value::list(items);
  }
  if (object.kind == Value::Undefined)
    return refused("something undefined is called: '" + name + "'");
  return notUnderstood("the method '" + name + "' isn't understood");
}

Outcome binary(llvm::StringRef op, const Value &a, const Value &b) {
  // Nothing that doubles goes on for long.
  if (a.text.size() > maxSize || b.text.size() > maxSize || (a.items && a.items->size() > maxSize))
    return notUnderstood("a text or a list grows too long");
  if (op == "~")
    return isPrintable(a) && isPrintable(b) ? Outcome(Value::string(a.print() + b.print()))
                                            : Outcome(notUnderstood("'~' of what isn't a text isn't understood"));
  if (op == "+" && a.isString() && b.isString())
    return Value::string(a.text + b.text);
  if (op == "+" && a.kind == Value::List && b.kind == Value::List) {
    ValueList items = *a.items;
    items.insert(items.end(), b.items->begin(), b.items->end());
    return Value::list(items);
  }
  if (a.isNumber() && b.isNumber()) {
    int64_t x = a.number, y = b.number, result;
    if ((op == "+" && !__builtin_add_overflow(x, y, &result)) ||
        (op == "-" && !__builtin_sub_overflow(x, y, &result)) || (op == "*" && !__builtin_mul_overflow(x, y, &result)))
      return Value::integer(result);
    if (op == "//" || op == "%") {
      if (y == 0)
        return refused("a division by zero");
      if (y == -1)
        return op == "%" ? Value::integer(0) : binary("*", a, b);
      int64_t remainder = x % y, quotient = x / y;
      if (remainder && (remainder < 0) != (y < 0))
        remainder += y, --quotient;
      return Value::integer(op == "%" ? remainder : quotient);
    }
    return notUnderstood("'" + op + "' of these numbers isn't understood");
  }
  if ((op == "*" || op == "%") && (a.isString() || b.isString() || a.kind == Value::List || b.kind == Value::List))
    return notUnderstood("'" + op + "' of a text or a list isn't understood");
  return refused("'" + op + "' has no meaning for '" + a.print() + "' and '" + b.print() + "'");
}

Outcome compare(llvm::StringRef op, const Value &a, const Value &b) {
  if (op == "==" || op == "!=")
    return Value::boolean(equal(a, b) == (op == "=="));
  if (op == "in" || op == "not in") {
    bool found = false;
    if (b.isString()) {
      if (!a.isString())
        return refused("'in' looks for what isn't a text in a text");
      found = llvm::StringRef(b.text).contains(a.text);
    } else {
      std::variant<ValueList, Problem> items = elements(b);
      if (auto *problem = std::get_if<Problem>(&items))
        return *problem;
      found = llvm::any_of(std::get<ValueList>(items), [&](const Value &item) { return equal(item, a); });
    }
    return Value::boolean(found == (op == "in"));
  }
  int order;
  if (a.isNumber() && b.isNumber())
    order = a.number < b.number ? -1 : a.number > b.number;
  else if (a.isString() && b.isString())
    order = llvm::StringRef(a.text).compare(b.text);
  else
    return refused("'" + a.print() + "' and '" + b.print() + "' have no order");
  return Value::boolean(op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0);
}

Outcome subscript(const Value &object, const Value &key) {
  if (object.kind == Value::Undefined)
    return refused("something undefined is looked into");
  if (object.isDict()) {
    const Value *member = key.isString() ? object.member(key.text) : nullptr;
    return member ? *member : Value();
  }
  if ((object.kind == Value::List || object.isString()) && key.isNumber()) {
    ValueList items = object.isString() ? characters(object.text) : *object.items;
    int64_t count = static_cast<int64_t>(items.size()), index = key.number < 0 ? key.number + count : key.number;
    return index >= 0 && index < count ? items[index] : Value();
  }
  return Value();
}

Outcome slice(const Value &object, const Value &start, const Value &stop, const Value &step) {
  if (object.kind != Value::List && !object.isString())
    return refused("what isn't a list is sliced");
  for (const Value *bound : {&start, &stop, &step})
    if (bound->kind != Value::Int && bound->kind != Value::None && bound->kind != Value::Undefined)
      return refused("a slice's bound isn't a number");
  ValueList items = object.isString() ? characters(object.text) : *object.items, kept;
  int64_t count = static_cast<int64_t>(items.size()), by = step.kind == Value::Int ? step.number : 1;
  if (by == 0)
    return refused("a slice with step 0");
  auto bound = [&](const Value &given, int64_t otherwise) {
    if (given.kind != Value::Int)
      return otherwise;
    int64_t at = given.number < 0 ? given.number + count : given.number;
    return by > 0 ? std::clamp<int64_t>(at, 0, count) : std::clamp<int64_t>(at, -1, count - 1);
  };
  int64_t end = bound(stop, by > 0 ? count : -1);
  by = std::clamp<int64_t>(by, -count - 1, count + 1); // more skips everything too
  for (int64_t i = bound(start, by > 0 ? 0 : count - 1); by > 0 ? i < end : i > end; i += by)
    kept.push_back(items[i]);
  return object.isString() ? Value::string(joined(kept, "")) : Value::list(kept);
}

} // namespace stint::text::jinja
