// Cuts a template into text and the tokens inside {{ }} and {% %}.
//
// White space, as Jinja with trim_blocks and lstrip_blocks has it: `-` beside a
// delimiter takes all white space on that side; a newline behind %} or #} goes;
// and so do blanks between the start of a line and {% or {#. `+` keeps them.
#include "compiler/text/JinjaTree.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

namespace stint::text::jinja {
namespace {

llvm::Error malformedAt(unsigned line, const llvm::Twine &what) {
  return malformed("line " + llvm::Twine(line) + " of the chat template: " + what);
}

class Lexer {
public:
  explicit Lexer(llvm::StringRef given) {
    // One kind of newline, and none at the end.
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] == '\r') {
        source += '\n';
        i += i + 1 < given.size() && given[i + 1] == '\n';
      } else {
        source += given[i];
      }
    }
    if (llvm::StringRef(source).ends_with("\n"))
      source.pop_back();
  }

  llvm::Expected<std::vector<Token>> run() {
    while (at < source.size())
      if (llvm::Error error = next())
        return std::move(error);
    add(Token::End, "");
    return std::move(tokens);
  }

private:
  llvm::StringRef rest(size_t from) const { return llvm::StringRef(source).drop_front(std::min(from, source.size())); }
  void add(Token::Kind kind, llvm::StringRef text) { tokens.push_back({kind, text.str(), line}); }
  /// Goes on to `position`, counting lines.
  void go(size_t position) {
    line += llvm::StringRef(source).slice(at, position).count('\n');
    at = position;
  }

  /// Text up to the next delimiter, and what it begins.
  llvm::Error next() {
    size_t begin = at;
    while (begin < source.size() &&
           !(source[begin] == '{' && begin + 1 < source.size() && llvm::StringRef("{%#").contains(source[begin + 1])))
      ++begin;
    llvm::StringRef text = llvm::StringRef(source).slice(at, begin);
    if (begin == source.size()) {
      addText(text);
      go(begin);
      return llvm::Error::success();
    }
    char kind = source[begin + 1], sign = begin + 2 < source.size() ? source[begin + 2] : '\0';
    bool isSigned = sign == '-' || sign == '+';
    if (sign == '-') {
      text = stripped(text, false, true);
    } else if (sign != '+' && kind != '{') {
      size_t lineStart = text.rfind('\n');
      lineStart = lineStart == llvm::StringRef::npos ? 0 : lineStart + 1;
      if ((lineStart || lineStarts) && stripped(text.drop_front(lineStart)).empty())
        text = text.take_front(lineStart);
    }
    addText(text);
    go(begin);
    if (kind == '#')
      return comment(begin + 2);
    add(kind == '{' ? Token::PrintBegin : Token::BlockBegin, "");
    go(begin + 2 + isSigned);
    if (llvm::Error error = inside(kind == '{' ? "}}" : "%}"))
      return error;
    add(kind == '{' ? Token::PrintEnd : Token::BlockEnd, "");
    closing(kind != '{');
    return llvm::Error::success();
  }

  void addText(llvm::StringRef text) {
    if (!text.empty())
      add(Token::Text, text);
  }

  llvm::Error comment(size_t from) {
    size_t end = source.find("#}", from);
    if (end == std::string::npos)
      return malformedAt(line, "a comment has no end");
    go(end);
    if (end > from && (source[end - 1] == '-' || source[end - 1] == '+'))
      closingSign = source[end - 1];
    closing(true);
    return llvm::Error::success();
  }

  /// Behind the closing delimiter at `at`: white space that it takes along.
  void closing(bool trimsNewline) {
    size_t end = at + 2;
    if (closingSign == '-') {
      llvm::StringRef after = rest(end);
      end += after.size() - stripped(after, true, false).size();
    } else if (closingSign != '+' && trimsNewline && end < source.size() && source[end] == '\n') {
      ++end;
    }
    lineStarts = source[end - 1] == '\n';
    closingSign = '\0';
    go(end);
  }

  /// Tokens up to the closing delimiter, which `at` then stands at.
  llvm::Error inside(llvm::StringRef close) {
    unsigned depth = 0;
    while (true) {
      size_t start = at;
      while (start < source.size() && llvm::isSpace(source[start]))
        ++start;
      go(start);
      if (at == source.size())
        return malformedAt(line, "'" + close + "' is missing");
      llvm::StringRef text = rest(at);
      if (!depth) {
        if (text.starts_with(close))
          return llvm::Error::success();
        if ((text[0] == '-' || text[0] == '+') && text.drop_front().starts_with(close)) {
          closingSign = text[0];
          go(at + 1);
          return llvm::Error::success();
        }
      }
      char c = text[0];
      if (llvm::isAlpha(c) || c == '_') {
        llvm::StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
        add(Token::Name, name);
        go(at + name.size());
      } else if (llvm::isDigit(c)) {
        llvm::StringRef number = text.take_while([](char c) { return llvm::isDigit(c) || c == '_'; });
        llvm::StringRef after = text.drop_front(number.size());
        if ((after.size() > 1 && after[0] == '.' && llvm::isDigit(after[1])) || after.starts_with_insensitive("e") ||
            after.starts_with_insensitive("x"))
          return unsupported("line " + llvm::Twine(line) +
                             " of the chat template: only whole decimal numbers are understood");
        add(Token::Integer, number);
        go(at + number.size());
      } else if (c == '\'' || c == '"') {
        if (llvm::Error error = string(c))
          return error;
      } else {
        size_t length = 0;
        for (llvm::StringRef op : {"==", "!=", "<=", ">=", "**", "//", "+", "-", "*", "/", "%", "~", "<",
                                   ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ".", ",", ":", "|"})
          if (!length && text.starts_with(op))
            length = op.size();
        if (!length)
          return malformedAt(line, "'" + text.take_front(1) + "' has no meaning here");
        if (llvm::StringRef("([{").contains(c))
          ++depth;
        if (llvm::StringRef(")]}").contains(c) && depth)
          --depth;
        add(Token::Operator, text.take_front(length));
        go(at + length);
      }
    }
  }

  llvm::Error string(char quote) {
    std::string value;
    size_t i = at + 1;
    for (; i < source.size() && source[i] != quote; ++i) {
      if (source[i] != '\\' || i + 1 == source.size()) {
        value += source[i];
        continue;
      }
      char c = source[++i];
      static const std::pair<char, char> escapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'\'', '\''},
                                                      {'"', '"'},  {'a', '\a'}, {'b', '\b'}, {'f', '\f'},  {'v', '\v'}};
      const auto *known = std::find_if(std::begin(escapes), std::end(escapes), [&](auto &e) { return e.first == c; });
      if (known != std::end(escapes)) {
        value += known->second;
      } else if (c == '\n') {
        continue;
      } else if (unsigned digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0) {
        unsigned character;
        llvm::StringRef hex = rest(i + 1).take_front(digits);
        char utf8[4], *end = utf8;
        if (hex.size() < digits || hex.getAsInteger(16, character) || !llvm::ConvertCodePointToUTF8(character, end))
          return malformedAt(line, "'\\" + llvm::Twine(c) + "' begins no character");
        value.append(utf8, end);
        i += digits;
      } else if (llvm::isDigit(c) || c == 'N') {
        return unsupported("line " + llvm::Twine(line) + " of the chat template: the escape '\\" + llvm::Twine(c) +
                           "' isn't understood");
      } else {
        (value += '\\') += c;
      }
    }
    if (i == source.size())
      return malformedAt(line, "a text in quotes has no end");
    add(Token::String, value);
    go(i + 1);
    return llvm::Error::success();
  }

  std::string source;
  size_t at = 0;
  unsigned line = 1;
  bool lineStarts = true; // what comes next begins a line
  char closingSign = '\0';
  std::vector<Token> tokens;
};

} // namespace

llvm::Expected<std::vector<Token>> tokenize(llvm::StringRef source) { return Lexer(source).run(); }

} // namespace stint::text::jinja
