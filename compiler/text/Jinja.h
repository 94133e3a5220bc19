// Chat templates: the part of Jinja that they are written in.
//
// A template is parsed once and rendered with variables, as Hugging Face's
// `transformers` does: trim_blocks and lstrip_blocks are on, undefined names are
// empty, `break` and `continue` are there, {% generation %} is nothing. A construct
// that isn't understood is an error only where a rendering comes to it, since
// templates are full of branches for tools that a plain chat never takes.
#ifndef STINT_COMPILER_TEXT_JINJA_H
#define STINT_COMPILER_TEXT_JINJA_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stint::text::jinja {

class Value;
using ValueList = std::vector<Value>;
using ValueDict = std::vector<std::pair<std::string, Value>>; // in order of insertion

/// What an expression comes to. Lists and dictionaries are shared, as in Python.
class Value {
public:
  enum Kind { Undefined, None, Bool, Int, String, List, Dict, Namespace, Function };

  Value() = default;
  static Value none() { return Value(None); }
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value string(std::string value);
  static Value list(ValueList items);
  static Value dict(ValueDict items, Kind kind = Dict);
  static Value function(std::string name);

  Kind kind = Undefined;
  int64_t number = 0; // of Bool and Int
  std::string text;   // of String and Function
  std::shared_ptr<ValueList> items;
  std::shared_ptr<ValueDict> members;

  bool isString() const { return kind == String; }
  bool isNumber() const { return kind == Bool || kind == Int; }
  bool isDict() const { return kind == Dict || kind == Namespace; }
  bool truth() const;
  /// The member of that name, or nullptr.
  const Value *member(llvm::StringRef name) const;
  void setMember(llvm::StringRef name, Value value);
  /// As {{ }} prints it.
  std::string print() const;

private:
  explicit Value(Kind kind) : kind(kind) {}
};

bool equal(const Value &a, const Value &b);

/// What a rendering came to.
struct Rendering {
  enum Kind {
    Done,
    Refused,       // the template raised an exception, or Jinja itself would
    NotUnderstood, // it came to what this evaluator can't do
  };
  Kind kind = Done;
  std::string text; // what was written, or why it was not
  unsigned line = 0;
};

struct Statement;

class Template {
public:
  /// Errors are TextErrors that name a line.
  static llvm::Expected<Template> parse(llvm::StringRef source);
  Template(Template &&);
  ~Template();

  Rendering render(const std::map<std::string, Value> &variables) const;

  /// The texts that the template writes or compares with, each once.
  const std::vector<std::string> &literals() const { return texts; }

private:
  Template();
  std::vector<std::unique_ptr<Statement>> body;
  std::vector<std::string> texts;
};

} // namespace stint::text::jinja

#endif
