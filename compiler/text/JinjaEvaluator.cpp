// Renders a template: walks the tree, with a scope for each run of a loop's body.
// Whatever goes wrong first stays; everything after it does nothing.
#include "compiler/text/JinjaTree.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/STLExtras.h"

namespace stint::text::jinja {
namespace {

constexpr uint64_t maxSteps = 50000;
constexpr size_t maxOutput = 1 << 20;

class Evaluator {
public:
  explicit Evaluator(const std::map<std::string, Value> &variables) {
    scopes.push_back(variables);
    for (const char *name : {"raise_exception", "namespace", "range"})
      scopes[0].try_emplace(name, Value::function(name));
  }

  Rendering run(const Body &body) {
    execute(body);
    if (result.kind == Rendering::Done)
      result.text = std::move(output);
    return std::move(result);
  }

private:
  enum Flow { Next, Break, Continue };

  bool failed() const { return result.kind != Rendering::Done; }
  Value fail(Rendering::Kind kind, unsigned line, const llvm::Twine &message) {
    if (!failed())
      result = {kind, message.str(), line};
    return Value();
  }
  Value take(Outcome outcome, unsigned line) {
    if (auto *problem = std::get_if<Problem>(&outcome))
      return fail(problem->kind, line, problem->message);
    return std::move(std::get<Value>(outcome));
  }
  bool step(unsigned line) {
    if (++steps > maxSteps || output.size() > maxOutput)
      fail(Rendering::NotUnderstood, line, "the template runs too long");
    return !failed();
  }

  // ---- Statements

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the parser lets blocks nest
  Flow execute(const Body &body) {
    Flow flow = Next;
    for (const auto &statement : body) {
      if (!step(statement->line))
        break;
      flow = execute(*statement);
      if (flow != Next)
        break;
    }
    return flow;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Flow execute(const Statement &s) {
    switch (s.kind) {
    case Statement::Text:
      output += s.text;
      return Next;
    case Statement::Print: {
      Value value = evaluate(*s.expression);
      if (!value.isString() && !value.isNumber() && value.kind != Value::None && value.kind != Value::Undefined)
        fail(Rendering::NotUnderstood, s.line, "what isn't a text is printed");
      else
        output += value.print();
      return Next;
    }
    case Statement::If:
      for (const auto &[condition, body] : s.branches)
        if (!condition || evaluate(*condition).truth())
          return failed() ? Next : execute(body);
      return Next;
    case Statement::For:
      loop(s);
      return Next;
    case Statement::Set:
      set(s);
      return Next;
    case Statement::Block:
      return execute(s.body);
    case Statement::Break:
      return Break;
    case Statement::Continue:
      return Continue;
    case Statement::Macro:
      scopes.back()[s.names[0]] = Value::function("macro");
      return Next;
    }
    return Next;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void loop(const Statement &s) {
    Value walked = evaluate(*s.expression);
    if (failed())
      return;
    std::variant<ValueList, Problem> found = elements(walked);
    if (auto *problem = std::get_if<Problem>(&found)) {
      fail(problem->kind, s.line, problem->message);
      return;
    }
    ValueList items = std::move(std::get<ValueList>(found));
    if (s.condition) {
      ValueList kept;
      for (const Value &item : items) {
        scopes.emplace_back();
        bindNames(s, item);
        if (step(s.line) && evaluate(*s.condition).truth())
          kept.push_back(item);
        scopes.pop_back();
      }
      items = std::move(kept);
    }
    if (items.empty() && !failed()) {
      execute(s.otherwise);
      return;
    }
    auto count = static_cast<int64_t>(items.size());
    for (int64_t i = 0; i < count && step(s.line); ++i) {
      scopes.emplace_back();
      bindNames(s, items[i]);
      scopes.back()["loop"] = Value::dict({{"index0", Value::integer(i)},
                                           {"index", Value::integer(i + 1)},
                                           {"revindex0", Value::integer(count - 1 - i)},
                                           {"revindex", Value::integer(count - i)},
                                           {"first", Value::boolean(i == 0)},
                                           {"last", Value::boolean(i == count - 1)},
                                           {"length", Value::integer(count)},
                                           {"previtem", i ? items[i - 1] : Value()},
                                           {"nextitem", i + 1 < count ? items[i + 1] : Value()}});
      Flow flow = execute(s.body);
      scopes.pop_back();
      if (flow == Break)
        break;
    }
  }

  void bindNames(const Statement &s, const Value &value) {
    if (s.names.size() == 1) {
      scopes.back()[s.names[0]] = value;
      return;
    }
    if (value.kind != Value::List || value.items->size() != s.names.size()) {
      fail(Rendering::Refused, s.line, "not as many values as names");
      return;
    }
    for (auto [name, item] : llvm::zip(s.names, *value.items))
      scopes.back()[name] = item;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void set(const Statement &s) {
    Value value;
    if (s.expression) {
      value = evaluate(*s.expression);
    } else {
      std::string outer = std::move(output);
      output.clear();
      scopes.emplace_back();
      execute(s.body);
      scopes.pop_back();
      value = Value::string(std::move(output));
      output = std::move(outer);
    }
    if (failed())
      return;
    if (s.text.empty()) {
      bindNames(s, value);
      return;
    }
    Value space = lookUp(s.text);
    if (space.kind != Value::Namespace)
      fail(Rendering::Refused, s.line, "'" + s.text + "' is no namespace");
    else
      space.setMember(s.names[0], value);
  }

  // ---- Expressions

  Value lookUp(const std::string &name) const {
    for (const auto &scope : llvm::reverse(scopes))
      if (auto found = scope.find(name); found != scope.end())
        return found->second;
    return Value();
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the parser lets expressions nest
  Value evaluate(const Expression &e) {
    if (!step(e.line))
      return Value();
    auto operand = [&](size_t i) { return e.operands[i] ? evaluate(*e.operands[i]) : Value(); };
    switch (e.kind) {
    case Expression::Literal:
      return e.value;
    case Expression::Name:
      return lookUp(e.text);
    case Expression::ListOf: {
      ValueList items;
      for (size_t i = 0; i < e.operands.size(); ++i)
        items.push_back(operand(i));
      return Value::list(std::move(items));
    }
    case Expression::DictOf: {
      Value result = Value::dict({});
      for (size_t i = 0; i + 1 < e.operands.size(); i += 2) {
        Value key = operand(i);
        if (!key.isString())
          return fail(Rendering::NotUnderstood, e.line, "a key that isn't a text isn't understood");
        result.setMember(key.text, operand(i + 1));
      }
      return result;
    }
    case Expression::Attribute:
    case Expression::Item: {
      Value object = operand(0), key = e.kind == Expression::Item ? operand(1) : Value::string(e.text);
      return failed() ? Value() : take(subscript(object, key), e.line);
    }
    case Expression::Slice: {
      Value object = operand(0), start = operand(1), stop = operand(2), by = operand(3);
      return failed() ? Value() : take(slice(object, start, stop, by), e.line);
    }
    case Expression::Call:
      return call(e);
    case Expression::Filter: {
      Value value = operand(0);
      Arguments arguments = argumentsOf(e);
      return failed() ? Value() : take(applyFilter(e.text, value, arguments), e.line);
    }
    case Expression::Test: {
      Value value = operand(0);
      Arguments arguments = argumentsOf(e);
      return failed() ? Value() : take(applyTest(e.text, value, arguments), e.line);
    }
    case Expression::Not:
      return Value::boolean(!operand(0).truth());
    case Expression::Minus: {
      Value value = operand(0);
      return failed() ? Value() : take(binary("-", Value::integer(0), value), e.line);
    }
    case Expression::And:
    case Expression::Or: {
      Value left = operand(0);
      return left.truth() == (e.kind == Expression::And) ? operand(1) : left;
    }
    case Expression::Binary: {
      Value left = operand(0), right = operand(1);
      return failed() ? Value() : take(binary(e.text, left, right), e.line);
    }
    case Expression::Compare: {
      Value left = operand(0), holds = Value::boolean(true);
      for (size_t i = 0; i < e.names.size() && holds.truth() && !failed(); ++i) {
        Value right = operand(i + 1);
        if (!failed())
          holds = take(compare(e.names[i], left, right), e.line);
        left = std::move(right);
      }
      return holds;
    }
    case Expression::Conditional:
      return operand(1).truth() ? operand(0) : operand(2);
    }
    return Value();
  }

  /// Operands but the first; the last of them have names.
  // NOLINTNEXTLINE(misc-no-recursion)
  Arguments argumentsOf(const Expression &e) {
    Arguments result;
    size_t unnamed = e.operands.size() - e.names.size();
    for (size_t i = 1; i < e.operands.size(); ++i) {
      Value value = evaluate(*e.operands[i]);
      if (i < unnamed)
        result.values.push_back(std::move(value));
      else
        result.named.push_back({e.names[i - unnamed], std::move(value)});
    }
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Value call(const Expression &e) {
    const Expression &callee = *e.operands[0];
    if (callee.kind == Expression::Attribute) {
      Value object = evaluate(*callee.operands[0]);
      Arguments arguments = argumentsOf(e);
      return failed() ? Value() : take(callMethod(object, callee.text, arguments), e.line);
    }
    Value function = evaluate(callee);
    Arguments arguments = argumentsOf(e);
    if (failed())
      return Value();
    if (function.kind == Value::Undefined)
      return fail(Rendering::Refused, e.line, "'" + callee.text + "' is undefined");
    if (function.kind != Value::Function)
      return fail(Rendering::Refused, e.line, "what isn't a function is called");
    if (function.text == "raise_exception")
      return fail(Rendering::Refused, e.line, arguments.get(0, "message").print());
    if (function.text == "namespace") {
      Value result = Value::dict({}, Value::Namespace);
      for (const auto &[name, value] : arguments.named)
        result.setMember(name, value);
      return result;
    }
    if (function.text == "range")
      return range(e, arguments);
    return fail(Rendering::NotUnderstood, e.line, "calling a macro isn't understood");
  }

  Value range(const Expression &e, const Arguments &arguments) {
    size_t given = arguments.values.size();
    for (const Value &value : arguments.values)
      if (!value.isNumber())
        given = 0;
    if (given < 1 || given > 3)
      return fail(Rendering::Refused, e.line, "'range' wants one to three numbers");
    int64_t start = given > 1 ? arguments.values[0].number : 0, stop = arguments.values[given > 1].number,
            by = given > 2 ? arguments.values[2].number : 1;
    ValueList items;
    if (by == 0)
      return fail(Rendering::Refused, e.line, "'range' with step 0");
    for (int64_t i = start; by > 0 ? i < stop : i > stop;) {
      if (!step(e.line) || __builtin_add_overflow(i, by, &i))
        return Value();
      items.push_back(Value::integer(i - by));
    }
    return Value::list(std::move(items));
  }

  std::vector<std::map<std::string, Value>> scopes;
  std::string output;
  Rendering result;
  uint64_t steps = 0;
};

// ---- Literals of a template

void collect(const Body &body, std::vector<std::string> &texts);

void add(const std::string &text, std::vector<std::string> &texts) {
  if (!text.empty() && !llvm::is_contained(texts, text))
    texts.push_back(text);
}

// NOLINTNEXTLINE(misc-no-recursion)
void collect(const Expression *e, std::vector<std::string> &texts) {
  if (!e)
    return;
  if (e->value.isString())
    add(e->value.text, texts);
  for (const auto &operand : e->operands)
    collect(operand.get(), texts);
}

// NOLINTNEXTLINE(misc-no-recursion)
void collect(const Body &body, std::vector<std::string> &texts) {
  for (const auto &s : body) {
    if (s->kind == Statement::Text)
      add(s->text, texts);
    collect(s->expression.get(), texts);
    collect(s->condition.get(), texts);
    collect(s->body, texts);
    collect(s->otherwise, texts);
    for (const auto &[condition, branch] : s->branches) {
      collect(condition.get(), texts);
      collect(branch, texts);
    }
  }
}

} // namespace

Template::Template() = default;
Template::Template(Template &&) = default;
Template::~Template() = default;

llvm::Expected<Template> Template::parse(llvm::StringRef source) {
  llvm::Expected<std::vector<Token>> tokens = tokenize(source);
  if (!tokens)
    return tokens.takeError();
  llvm::Expected<Body> body = parseTokens(std::move(*tokens));
  if (!body)
    return body.takeError();
  Template result;
  result.body = std::move(*body);
  collect(result.body, result.texts);
  return std::move(result);
}

Rendering Template::render(const std::map<std::string, Value> &variables) const {
  return Evaluator(variables).run(body);
}

} // namespace stint::text::jinja
