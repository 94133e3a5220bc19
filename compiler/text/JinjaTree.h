// A parsed template, and the tokens it is parsed from.
#ifndef STINT_COMPILER_TEXT_JINJATREE_H
#define STINT_COMPILER_TEXT_JINJATREE_H

#include "compiler/text/Jinja.h"

#include <optional>
#include <variant>

namespace stint::text::jinja {

struct Token {
  enum Kind { Text, BlockBegin, BlockEnd, PrintBegin, PrintEnd, Name, Integer, String, Operator, End };
  Kind kind;
  std::string text;
  unsigned line;
};

/// Cuts a template into tokens. Errors name a line.
llvm::Expected<std::vector<Token>> tokenize(llvm::StringRef source);

struct Expression {
  enum Kind {
    Literal,   // value
    Name,      // text
    ListOf,    // operands
    DictOf,    // operands: key, value, key, value, …
    Attribute, // operands[0].text
    Item,      // operands[0][operands[1]]
    Slice,     // operands[0][operands[1]:operands[2]:operands[3]], each but the first may be null
    Call,      // operands[0](operands[1…]), the last `names` of them by name
    Filter,    // operands[0] | text(operands[1…])
    Test,      // operands[0] is text(operands[1…])
    Not,
    Minus,
    And,
    Or,
    Binary,      // operands[0] text operands[1]
    Compare,     // operands[0] names[0] operands[1] names[1] …
    Conditional, // operands[0] if operands[1] else operands[2], which may be null
  };
  Kind kind;
  unsigned line;
  std::string text;
  Value value;
  std::vector<std::unique_ptr<Expression>> operands;
  std::vector<std::string> names;
};

struct Statement {
  enum Kind {
    Text,  // text
    Print, // expression
    If,    // branches
    For,   // names in expression, if condition; body, or otherwise where nothing is iterated
    Set,   // names, or the member names[0] of text if that isn't empty, = expression, or = what body writes
    Block, // body
    Break,
    Continue,
    Macro, // names[0]: can't be called
  };
  Kind kind;
  unsigned line;
  std::string text;
  std::vector<std::string> names;
  std::unique_ptr<Expression> expression, condition;
  std::vector<std::unique_ptr<Statement>> body, otherwise;
  /// Of If: conditions and bodies, the one without condition last.
  std::vector<std::pair<std::unique_ptr<Expression>, std::vector<std::unique_ptr<Statement>>>> branches;
};

using Body = std::vector<std::unique_ptr<Statement>>;

llvm::Expected<Body> parseTokens(std::vector<Token> tokens);

// JinjaBuiltins.cpp. Each returns nothing where there is no such thing.
/// Why something went wrong while rendering.
struct Problem {
  Rendering::Kind kind;
  std::string message;
};
struct Arguments {
  ValueList values;
  std::vector<std::pair<std::string, Value>> named;
  /// The argument at that place or of that name; `otherwise` if it isn't given.
  Value get(size_t index, llvm::StringRef name, Value otherwise = Value()) const;
};
using Outcome = std::variant<Value, Problem>;
Outcome applyFilter(llvm::StringRef name, const Value &value, const Arguments &arguments);
Outcome applyTest(llvm::StringRef name, const Value &value, const Arguments &arguments);
Outcome callMethod(const Value &object, llvm::StringRef name, const Arguments &arguments);
Outcome binary(llvm::StringRef op, const Value &a, const Value &b);
Outcome compare(llvm::StringRef op, const Value &a, const Value &b);
Outcome subscript(const Value &object, const Value &key);
Outcome slice(const Value &object, const Value &start, const Value &stop, const Value &step);
/// Elements of a value that `for` can walk over.
std::variant<ValueList, Problem> elements(const Value &value);

/// Python's str.strip(), and what takes one side only.
llvm::StringRef stripped(llvm::StringRef text, bool start = true, bool end = true);

} // namespace stint::text::jinja

#endif
