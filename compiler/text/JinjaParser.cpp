// From tokens to a tree, by recursive descent, as Jinja's own parser goes about it:
//
//   conditional > or > and > not > comparison > + - > ~ > * / // % > - > postfix
//
// where postfix is attributes, subscripts, calls, filters and tests.
#include "compiler/text/JinjaTree.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/STLExtras.h"

namespace stint::text::jinja {
namespace {

using ExpressionPtr = std::unique_ptr<Expression>;
using StatementPtr = std::unique_ptr<Statement>;

constexpr unsigned maxDepth = 100;

/// Parses until the first error, which stays; every function then returns null or nothing.
class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  llvm::Expected<Body> run() {
    Body body = statements({});
    if (!failed && peek().kind != Token::End)
      fail("'" + peek(1).text + "' closes nothing");
    if (failed)
      return isUnsupported ? unsupported(message) : malformed(message);
    return std::move(body);
  }

private:
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  const Token &take() { return tokens[at + 1 < tokens.size() ? at++ : at]; }
  bool isOperator(llvm::StringRef text) const { return peek().kind == Token::Operator && peek().text == text; }
  bool isName(llvm::StringRef text) const { return peek().kind == Token::Name && peek().text == text; }
  bool accept(llvm::StringRef text) {
    if (failed || !(isOperator(text) || isName(text)))
      return false;
    take();
    return true;
  }
  void expect(llvm::StringRef text) {
    if (!failed && !accept(text))
      fail("'" + text + "' is missing");
  }
  void expect(Token::Kind kind, llvm::StringRef what) {
    if (failed)
      return;
    if (peek().kind != kind)
      return fail(what + " is missing");
    take();
  }
  std::string name() {
    if (failed || peek().kind != Token::Name) {
      fail("a name is missing");
      return "";
    }
    return take().text;
  }
  void fail(const llvm::Twine &what) {
    if (!failed)
      message = ("line " + llvm::Twine(peek().line) + " of the chat template: " + what).str();
    failed = true;
  }

  /// Jinja has it, this parser doesn't.
  void notUnderstood(const llvm::Twine &what) {
    isUnsupported |= !failed;
    fail(what);
  }

  ExpressionPtr make(Expression::Kind kind, unsigned line) const {
    auto result = std::make_unique<Expression>();
    result->kind = kind;
    result->line = line;
    return result;
  }
  template <typename... Operands> ExpressionPtr make(Expression::Kind kind, unsigned line, Operands... operands) const {
    ExpressionPtr result = make(kind, line);
    (result->operands.push_back(std::move(operands)), ...);
    return result;
  }

  // ---- Statements

  /// Up to a block that begins with one of `ends`, which stands at `at` then.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as blocks nest, at most maxDepth
  Body statements(llvm::ArrayRef<llvm::StringRef> ends) {
    Body body;
    if (++depth > maxDepth)
      fail("blocks nest too deep");
    while (!failed && peek().kind != Token::End) {
      unsigned line = peek().line;
      auto statement = std::make_unique<Statement>();
      statement->line = line;
      if (peek().kind == Token::Text) {
        statement->kind = Statement::Text;
        statement->text = take().text;
      } else if (peek().kind == Token::PrintBegin) {
        take();
        statement->kind = Statement::Print;
        statement->expression = tuple();
        expect(Token::PrintEnd, "'}}'");
      } else {
        if (peek(1).kind == Token::Name && (llvm::is_contained(ends, peek(1).text) ||
                                            (ends.empty() && llvm::StringRef(peek(1).text).starts_with("end"))))
          break;
        expect(Token::BlockBegin, "a block");
        block(*statement);
      }
      body.push_back(std::move(statement));
    }
    --depth;
    if (!failed && !ends.empty() && peek().kind == Token::End)
      fail("'{% " + ends.back() + " %}' is missing");
    return body;
  }

  void endBlock() { expect(Token::BlockEnd, "'%}'"); }
  /// {% NAME %}, whose '{%' is next.
  void closeWith(llvm::StringRef name) {
    expect(Token::BlockBegin, "a block");
    expect(name);
    endBlock();
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void block(Statement &result) {
    std::string keyword = name();
    if (keyword == "if") {
      ifBlock(result);
    } else if (keyword == "for") {
      forBlock(result);
    } else if (keyword == "set") {
      setBlock(result);
    } else if (keyword == "break" || keyword == "continue") {
      result.kind = keyword == "break" ? Statement::Break : Statement::Continue;
      endBlock();
    } else if (keyword == "generation") {
      result.kind = Statement::Block;
      endBlock();
      result.body = statements({"endgeneration"});
      closeWith("endgeneration");
    } else if (keyword == "macro") {
      result.kind = Statement::Macro;
      result.names.push_back(name());
      while (!failed && peek().kind != Token::BlockEnd && peek().kind != Token::End)
        take();
      endBlock();
      result.body = statements({"endmacro"});
      closeWith("endmacro");
    } else {
      notUnderstood("'{% " + keyword + " %}' isn't understood");
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void ifBlock(Statement &result) {
    result.kind = Statement::If;
    ExpressionPtr condition = tuple();
    endBlock();
    while (!failed) {
      result.branches.push_back({std::move(condition), statements({"elif", "else", "endif"})});
      expect(Token::BlockBegin, "a block");
      if (accept("elif")) {
        condition = tuple();
        endBlock();
        continue;
      }
      if (accept("else")) {
        endBlock();
        result.branches.push_back({nullptr, statements({"endif"})});
        expect(Token::BlockBegin, "a block");
      }
      expect("endif");
      return endBlock();
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void forBlock(Statement &result) {
    result.kind = Statement::For;
    do
      result.names.push_back(name());
    while (accept(","));
    expect("in");
    result.expression = disjunction();
    if (accept("if"))
      result.condition = expression();
    if (accept("recursive"))
      notUnderstood("recursive loops aren't understood");
    endBlock();
    result.body = statements({"else", "endfor"});
    expect(Token::BlockBegin, "a block");
    if (accept("else")) {
      endBlock();
      result.otherwise = statements({"endfor"});
      expect(Token::BlockBegin, "a block");
    }
    expect("endfor");
    endBlock();
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void setBlock(Statement &result) {
    result.kind = Statement::Set;
    do {
      result.names.push_back(name());
      if (accept(".")) {
        result.text = result.names.back(); // of a namespace
        result.names.back() = name();
      }
    } while (accept(","));
    if (!result.text.empty() && result.names.size() > 1)
      notUnderstood("several members set at once aren't understood");
    if (accept("=")) {
      result.expression = tuple();
      return endBlock();
    }
    if (isOperator("|"))
      notUnderstood("a filter of a '{% set %}' block isn't understood");
    endBlock();
    result.body = statements({"endset"});
    closeWith("endset");
  }

  // ---- Expressions

  /// One expression, or several with commas.
  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr tuple() {
    ExpressionPtr first = expression();
    if (failed || !isOperator(","))
      return first;
    ExpressionPtr result = make(Expression::ListOf, first->line, std::move(first));
    while (accept(",") && peek().kind != Token::BlockEnd && peek().kind != Token::PrintEnd)
      result->operands.push_back(expression());
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr expression() {
    if (++depth > maxDepth)
      fail("expressions nest too deep");
    ExpressionPtr result = failed ? nullptr : disjunction();
    while (!failed && isName("if")) {
      unsigned line = take().line;
      ExpressionPtr condition = disjunction();
      ExpressionPtr otherwise = accept("else") ? expression() : nullptr;
      result = make(Expression::Conditional, line, std::move(result), std::move(condition), std::move(otherwise));
    }
    --depth;
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr disjunction() {
    ExpressionPtr result = conjunction();
    while (!failed && isName("or")) {
      unsigned line = take().line;
      result = make(Expression::Or, line, std::move(result), conjunction());
    }
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr conjunction() {
    ExpressionPtr result = negation();
    while (!failed && isName("and")) {
      unsigned line = take().line;
      result = make(Expression::And, line, std::move(result), negation());
    }
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr negation() {
    if (!isName("not"))
      return comparison();
    if (++depth > maxDepth)
      fail("expressions nest too deep");
    unsigned line = take().line;
    ExpressionPtr result = make(Expression::Not, line, failed ? nullptr : negation());
    --depth;
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr comparison() {
    ExpressionPtr first = sum(), result;
    while (!failed) {
      std::string op;
      if (isOperator("==") || isOperator("!=") || isOperator("<") || isOperator("<=") || isOperator(">") ||
          isOperator(">=") || isName("in"))
        op = take().text;
      else if (isName("not") && peek(1).kind == Token::Name && peek(1).text == "in")
        op = "not in", take(), take();
      else
        break;
      if (!result)
        result = make(Expression::Compare, peek().line, std::move(first));
      result->names.push_back(op);
      result->operands.push_back(sum());
    }
    return result ? std::move(result) : std::move(first);
  }

  /// A chain of operators of one rank.
  template <typename Next> ExpressionPtr chain(llvm::ArrayRef<llvm::StringRef> operators, Next next) {
    ExpressionPtr result = next();
    while (!failed && peek().kind == Token::Operator && llvm::is_contained(operators, peek().text)) {
      const Token &op = take();
      std::string text = op.text;
      result = make(Expression::Binary, op.line, std::move(result), next());
      result->text = text;
    }
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr sum() {
    return chain({"+", "-"},
                 [&] { return chain({"~"}, [&] { return chain({"*", "/", "//", "%"}, [&] { return power(); }); }); });
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr power() {
    ExpressionPtr result = unary();
    if (!failed && isOperator("**"))
      notUnderstood("powers aren't understood");
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr unary() {
    if (isOperator("-") || isOperator("+")) {
      const Token &sign = take();
      bool minus = sign.text == "-";
      unsigned line = sign.line;
      if (++depth > maxDepth)
        fail("expressions nest too deep");
      ExpressionPtr operand = failed ? nullptr : unary();
      --depth;
      return minus ? make(Expression::Minus, line, std::move(operand)) : std::move(operand);
    }
    return postfix(primary());
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr primary() {
    if (failed)
      return nullptr;
    const Token &token = peek();
    unsigned line = token.line;
    auto literal = [&](Value value) {
      take();
      ExpressionPtr result = make(Expression::Literal, line);
      result->value = std::move(value);
      return result;
    };
    if (token.kind == Token::String) {
      std::string text;
      while (peek().kind == Token::String)
        text += take().text;
      ExpressionPtr result = make(Expression::Literal, line);
      result->value = Value::string(text);
      return result;
    }
    if (token.kind == Token::Integer) {
      std::string digits;
      for (char c : token.text)
        if (c != '_')
          digits += c;
      int64_t number;
      if (llvm::StringRef(digits).getAsInteger(10, number)) {
        fail("the number " + token.text + " is too large");
        return nullptr;
      }
      return literal(Value::integer(number));
    }
    if (token.kind == Token::Name) {
      llvm::StringRef word = token.text;
      if (word == "true" || word == "True" || word == "false" || word == "False")
        return literal(Value::boolean(word.lower() == "true"));
      if (word == "none" || word == "None")
        return literal(Value::none());
      if (word == "in" || word == "is" || word == "if" || word == "else" || word == "and" || word == "or") {
        fail("a value is missing before '" + word + "'");
        return nullptr;
      }
      ExpressionPtr result = make(Expression::Name, line);
      result->text = take().text;
      return result;
    }
    if (accept("("))
      return parenthesised(line);
    if (accept("["))
      return listed(Expression::ListOf, line, "]");
    if (accept("{")) {
      ExpressionPtr result = make(Expression::DictOf, line);
      while (!failed && !isOperator("}")) {
        result->operands.push_back(expression());
        expect(":");
        result->operands.push_back(expression());
        if (!accept(","))
          break;
      }
      expect("}");
      return result;
    }
    fail("a value is missing");
    return nullptr;
  }

  /// What '(' begins: an expression, or a tuple.
  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr parenthesised(unsigned line) {
    if (accept(")"))
      return make(Expression::ListOf, line);
    ExpressionPtr first = expression();
    if (!isOperator(",")) {
      expect(")");
      return first;
    }
    ExpressionPtr result = make(Expression::ListOf, line, std::move(first));
    while (accept(",") && !isOperator(")"))
      result->operands.push_back(expression());
    expect(")");
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr listed(Expression::Kind kind, unsigned line, llvm::StringRef close) {
    ExpressionPtr result = make(kind, line);
    while (!failed && !isOperator(close)) {
      result->operands.push_back(expression());
      if (!accept(","))
        break;
    }
    expect(close);
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr postfix(ExpressionPtr value) {
    while (!failed) {
      unsigned line = peek().line;
      if (accept(".")) {
        if (peek().kind == Token::Integer) { // as in x.0
          auto index = make(Expression::Literal, line);
          int64_t number = 0;
          if (llvm::StringRef(take().text).getAsInteger(10, number))
            fail("not an index");
          index->value = Value::integer(number);
          value = make(Expression::Item, line, std::move(value), std::move(index));
          continue;
        }
        value = make(Expression::Attribute, line, std::move(value));
        value->text = name();
      } else if (accept("[")) {
        value = subscripted(std::move(value), line);
      } else if (isOperator("(")) {
        value = make(Expression::Call, line, std::move(value));
        arguments(*value);
      } else if (accept("|")) {
        value = make(Expression::Filter, line, std::move(value));
        value->text = name();
        if (isOperator("("))
          arguments(*value);
      } else if (accept("is")) {
        value = tested(std::move(value), line);
      } else {
        break;
      }
    }
    return value;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr subscripted(ExpressionPtr value, unsigned line) {
    ExpressionPtr bounds[3];
    unsigned colons = 0;
    while (!failed && !isOperator("]")) {
      if (accept(":")) {
        if (++colons > 2)
          fail("']' is missing");
      } else if (bounds[colons]) {
        fail("']' is missing");
      } else {
        bounds[colons] = expression();
      }
    }
    expect("]");
    if (colons)
      return make(Expression::Slice, line, std::move(value), std::move(bounds[0]), std::move(bounds[1]),
                  std::move(bounds[2]));
    if (!bounds[0])
      fail("an index is missing");
    return make(Expression::Item, line, std::move(value), std::move(bounds[0]));
  }

  /// (a, b, name=c)
  // NOLINTNEXTLINE(misc-no-recursion)
  void arguments(Expression &call) {
    expect("(");
    while (!failed && !isOperator(")")) {
      if (isOperator("*") || isOperator("**"))
        return notUnderstood("arguments with '*' aren't understood");
      if (peek().kind == Token::Name && peek(1).kind == Token::Operator && peek(1).text == "=") {
        call.names.push_back(take().text);
        take();
      } else if (!call.names.empty()) {
        return fail("an argument without a name behind one with a name");
      }
      call.operands.push_back(expression());
      if (!accept(","))
        break;
    }
    expect(")");
  }

  /// What 'is' begins.
  // NOLINTNEXTLINE(misc-no-recursion)
  ExpressionPtr tested(ExpressionPtr value, unsigned line) {
    bool negated = accept("not");
    ExpressionPtr result = make(Expression::Test, line, std::move(value));
    result->text = name();
    if (isOperator("(")) {
      arguments(*result);
    } else if (peek().kind == Token::String || peek().kind == Token::Integer || isOperator("[") || isOperator("{") ||
               (peek().kind == Token::Name &&
                !llvm::is_contained({"else", "or", "and", "is", "if", "in", "not"}, llvm::StringRef(peek().text)))) {
      result->operands.push_back(primary());
    }
    return negated ? make(Expression::Not, line, std::move(result)) : std::move(result);
  }

  std::vector<Token> tokens;
  size_t at = 0;
  unsigned depth = 0;
  bool failed = false, isUnsupported = false;
  std::string message;
};

} // namespace

llvm::Expected<Body> parseTokens(std::vector<Token> tokens) { return Parser(std::move(tokens)).run(); }

} // namespace stint::text::jinja
