// The template language: white space, statements, expressions. What Jinja itself
// makes of templates is compared in test/end-to-end/test_chat.py.
#include "compiler/text/Jinja.h"
#include "gtest/gtest.h"

using namespace stint::text::jinja;

namespace {

Rendering render(llvm::StringRef source) {
  llvm::Expected<Template> parsed = Template::parse(source);
  if (!parsed) {
    ADD_FAILURE() << source.str() << ": " << llvm::toString(parsed.takeError());
    return {Rendering::NotUnderstood, "", 0};
  }
  Value message = Value::dict({{"role", Value::string("user")}, {"content", Value::string(" é x ")}});
  return parsed->render({{"x", Value::string("ab")},
                         {"n", Value::integer(-7)},
                         {"messages", Value::list({message, message, message})},
                         {"nothing", Value::none()}});
}

std::string text(llvm::StringRef source) {
  Rendering rendering = render(source);
  EXPECT_EQ(rendering.kind, Rendering::Done) << source.str() << ": " << rendering.text;
  return rendering.text;
}

TEST(JinjaTest, WhiteSpace) {
  EXPECT_EQ(text("a\n"), "a");
  EXPECT_EQ(text("a\n\n"), "a\n");
  EXPECT_EQ(text("a \n  {% if x %}\nb\n  {% endif %}\nc"), "a \nb\nc");
  EXPECT_EQ(text("  {{ x }}\n"), "  ab");
  EXPECT_EQ(text("a  {{- x -}}\n\n  b"), "aabb");
  EXPECT_EQ(text("a\n {%- if x -%} \n b {%- endif %} c"), "ab c");
  EXPECT_EQ(text("a\n  {#- note #}\nb\n  {# note #}\nc"), "ab\nc");
  EXPECT_EQ(text("a\n  {%+ if x +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(text("a\r\nb\rc"), "a\nb\nc");
  EXPECT_EQ(text("{{ '}}' }}{{ {'a': {'b': '%}'}}['a']['b'] }}"), "}}%}");
}

TEST(JinjaTest, Statements) {
  EXPECT_EQ(
      text("{% for m in messages %}{{ loop.index0 }}{{ loop.index }}{% if loop.first %}F{% endif %}{% if loop.last "
           "%}L{% endif %}{% endfor %}"),
      "01F1223L");
  EXPECT_EQ(text("{% for m in [] %}a{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(text("{% for i in range(5) if i % 2 %}{{ i }}{{ loop.length }},{% endfor %}"), "12,32,");
  EXPECT_EQ(text("{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %}"), "3 7 ");
  EXPECT_EQ(text("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 3 %}{% break %}{% endif %}{{ i }}{% "
                 "endfor %}"),
            "02");
  EXPECT_EQ(text("{% set y = 1 %}{% for i in range(3) %}{% set y = i + 5 %}{% endfor %}{{ y }}"), "1");
  EXPECT_EQ(text("{% set ns = namespace(y=1) %}{% for i in range(3) %}{% set ns.y = i + 5 %}{% endfor %}{{ ns.y }}"),
            "7");
  EXPECT_EQ(text("{% set y %}<{{ x }}>{% endset %}{{ y }}{{ y | length }}"), "<ab>4");
  EXPECT_EQ(text("{% if nothing %}a{% elif x == 'a' %}b{% else %}c{% endif %}"), "c");
  EXPECT_EQ(text("{% macro f(a) %}{{ a | tojson }}{% endmacro %}{% generation %}x{% endgeneration %}"), "x");
}

TEST(JinjaTest, Expressions) {
  EXPECT_EQ(text("{{ n // 2 }} {{ n % 4 }} {{ 2 + 3 * 4 - -1 }} {{ 'a' ~ 1 + 2 ~ 'b' }}"), "-4 1 15 a12b");
  EXPECT_EQ(text("{{ 'a' + messages[0].content | trim + 'b' }}"), "aé xb");
  EXPECT_EQ(text("{{ messages[-1]['content'] | length }}{{ messages[1:] | length }}{{ x[::-1] }}{{ 'abc'[1:] }}"),
            "52babc");
  EXPECT_EQ(text("{{ 1 < 2 < 3 }} {{ 'b' in x }} {{ 'role' in messages[0] }} {{ 3 not in [1, 2] }}"),
            "True True True True");
  EXPECT_EQ(text("{{ x is defined and y is not defined }} {{ nothing is none }} {{ not y is defined }}"),
            "True True True");
  EXPECT_EQ(text("{{ y or 'z' }}{{ x and '' }}{{ 'p' if y else 'q' }}{{ 'p' if y }}{{ y | default('d') }}"), "zqd");
  EXPECT_EQ(text("{{ ' a '.strip() + 'b'.upper() + 'c,d'.split(',')[1] }}{{ x.startswith('a') }}"), "aBdTrue");
  EXPECT_EQ(text("{{ messages[0].get('role') }}{{ messages[0].get('x', 'y') }}{{ messages[0].x }}"), "usery");
  EXPECT_EQ(text("{{ '\\n\\x41\\u00e9\\'' 'b' }}"), "\nAé'b");
  EXPECT_EQ(text("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}"), "3");
  EXPECT_EQ(text("{{ true }}{{ none }}{{ y }}{{ n }}{{ [1, 2] | join('-') }}"), "TrueNone-71-2");
}

TEST(JinjaTest, WhatPythonWouldNotDoIsRefused) {
  for (const char *source : {"{{ y.z }}", "{{ y() }}", "{{ 'a' + 1 }}", "{{ raise_exception('no') }}", "{{ 1 // 0 }}",
                             "{{ 'a' < 1 }}", "{% for i in 3 %}{% endfor %}", "{{ [][1:2:0] }}", "{% set x.y = 1 %}"})
    EXPECT_EQ(render(source).kind, Rendering::Refused) << source;
  EXPECT_EQ(render("a\n{{ raise_exception('no') }}").text, "no");
  EXPECT_EQ(render("a\n{{ raise_exception('no') }}").line, 2u);
}

TEST(JinjaTest, WhatIsNotUnderstoodCountsWhereItIsReached) {
  for (const char *source :
       {"{{ x | tojson }}", "{{ x is callable }}", "{{ x.zfill(3) }}", "{{ 1 / 2 }}", "{{ 'é' | upper }}", "{{ [1] }}",
        "{% macro f() %}{% endmacro %}{{ f() }}", "{% for i in range(10000000) %}{% endfor %}"}) {
    EXPECT_EQ(render(source).kind, Rendering::NotUnderstood) << source;
    EXPECT_EQ(text("{% if y %}" + std::string(source) + "{% endif %}z"), "z");
  }
}

TEST(JinjaTest, SyntaxErrorsNameTheirLine) {
  for (const char *source : {"a\n{{ 1 +", "a\n{{ }}", "a\n{% if %}{% endif %}", "a\n{% endif %}", "a\n{{ 'x }}",
                             "a\n{% for i of x %}{% endfor %}", "a\n{{ x[ }}", "a\n{{ ? }}", "a\n{# x", "a\n{{ x is }}",
                             "a\n{{ f(a=1, 2) }}", "a\n{% filter upper %}{% endfilter %}", "a\n{{ 1.5 }}"}) {
    llvm::Expected<Template> parsed = Template::parse(source);
    ASSERT_FALSE(parsed) << source;
    EXPECT_EQ(llvm::toString(parsed.takeError()).find("line 2 "), 0u) << source;
  }
}

TEST(JinjaTest, DeepNestingIsRefused) {
  for (const char *part : {"(", "[", "{% if x %}", "{{ not "}) {
    std::string source = "{{ ";
    for (int i = 0; i < 5000; ++i)
      source += part;
    llvm::Expected<Template> parsed = Template::parse(source);
    EXPECT_FALSE(parsed);
    llvm::consumeError(parsed.takeError());
  }
}

} // namespace
