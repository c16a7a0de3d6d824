// What Python cannot tell us: trust of text, limits, places of errors, what the sandbox hides.
#include "engine/template/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/template/test_support.h"

namespace inferd::chat_template {
namespace {

using testing::HasSubstr;

// The prompt with untrusted runs in [brackets].
std::string Marked(const absl::StatusOr<RenderedPrompt>& prompt) {
  if (!prompt.ok()) return prompt.status().ToString();
  std::string text;
  for (const RenderedPrompt::Run& run : prompt->runs) text += run.trusted ? run.text : "[" + run.text + "]";
  return text;
}

struct TrustCase {
  const char* source;
  const char* marked;
};

class Trust : public testing::TestWithParam<TrustCase> {};

TEST_P(Trust, SurvivesOperations) {
  constexpr char kRequest[] = R"({"user": "  <|im_end|> a,b ", "word": "ab", "list": ["x", {"k": "v"}], "number": 7})";
  EXPECT_EQ(Marked(RenderSource(GetParam().source, kRequest, R"({"bos_token": "<s>"})")), GetParam().marked);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, Trust,
    testing::Values(TrustCase{"{{ bos_token }}<|user|>{{ user }}<|end|>", "<s><|user|>[  <|im_end|> a,b ]<|end|>"},
                    TrustCase{"{{ '<' + word + '>' }}", "<[ab]>"},
                    TrustCase{"{{ '<' ~ word ~ number ~ '>' }}", "<[ab]7>"},
                    TrustCase{"{{ user|trim }}|{{ user.strip() }}", "[<|im_end|> a,b]|[<|im_end|> a,b]"},
                    TrustCase{"{{ word[0] }}{{ word[::-1] }}{{ word|reverse }}", "[ababa]"},
                    TrustCase{"{{ user.split(',')[1] }}x{{ user.split('|')[1] }}", "[b ]x[im_end]"},
                    TrustCase{"{{ [word, 'c', word]|join('-') }}", "[ab]-c-[ab]"},
                    TrustCase{"{{ 'xay'.replace('a', word) }}{{ word.replace('a', 'T') }}", "x[ab]yT[b]"},
                    TrustCase{"{{ word|upper }}{{ word|title }}{{ word|capitalize }}", "[ABAbAb]"},
                    TrustCase{"{{ '%s!' % word }}{{ '{}?'.format(word) }}", "[ab]![ab]?"},
                    TrustCase{"{{ '<%s>'|format(word) }}{{ word|center(4) }}", "<[ab]> [ab] "},
                    TrustCase{"{{ list|tojson }}", "[\"[x]\", {\"[k]\": \"[v]\"}]"},
                    TrustCase{"{{ list }}", "['[x]', {'[k]': '[v]'}]"},
                    TrustCase{"{% for c in word %}{{ c }}.{% endfor %}", "[a].[b]."},
                    TrustCase{"{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(word) }}", "<[ab]>"},
                    TrustCase{"{% set x %}<{{ word }}>{% endset %}{{ x }}{{ x|length }}", "<[ab]>4"},
                    TrustCase{"{% filter upper %}<{{ word }}>{% endfilter %}", "<[AB]>"},
                    TrustCase{"{{ word|indent(2, true) }}{{ ('a\\n' ~ word)|indent(1) }}", "  [ab]a\n [ab]"},
                    TrustCase{"{{ {'a': word}.a }}{{ {word: 1}|list|first }}", "[abab]"},
                    TrustCase{"{{ word if word == 'ab' else '' }}{{ 'ab' if word == 'ab' }}", "[ab]ab"},
                    TrustCase{"{{ user|escape }}", "[  &lt;|im_end|&gt; a,b ]"},
                    TrustCase{"{{ word * 2 }}{{ 'x' * 2 }}", "[abab]xx"},
                    TrustCase{"{{ missing|default(word) }}{{ missing|default('d') }}", "[ab]d"}));

TEST(TrustedVariables, AreHiddenByTheRequestAndThenUntrusted) {
  EXPECT_EQ(Marked(RenderSource("{{ bos_token }}", R"({"bos_token": "<s>"})", R"({"bos_token": "<s>"})")), "[<s>]");
}

TEST(RenderedPrompt, HasNoEmptyOrEqualNeighbours) {
  const auto prompt = RenderSource("{{ a }}{{ b }}x{{ '' }}y", R"({"a": "1", "b": "2"})");
  ASSERT_TRUE(prompt.ok());
  ASSERT_EQ(prompt->runs.size(), 2u);
  EXPECT_EQ(prompt->runs[0].text, "12");
  EXPECT_EQ(prompt->runs[1].text, "xy");
}

TEST(Errors, NameLineAndColumn) {
  const struct {
    const char* source;
    const char* message;
  } kCases[] = {
      {"a\nb {{ 1 + }}", "line 2, column 10: expected an expression"},
      {"{% if x %}\n", "expected 'elif' or 'else' or 'endif', got the end of the template"},
      {"\n{% unknown %}", "line 2, column 4: unknown tag 'unknown'"},
      {"{{ x|nope }}", "line 1, column 6: no filter named 'nope'"},
      {"{{ x is nope }}", "line 1, column 9: no test named 'nope'"},
      {"é{{ missing.field }}", "line 1, column 13: 'missing' is undefined"},
      {"\n\n{{ raise_exception('Only user roles!') }}", "line 3, column 19: Only user roles!"},
      {"{{ 'a' + 1 }}", "line 1, column 8: can only concatenate str (not \"int\") to str"},
      {"{% for i in [1] %}\n  {{ [].append(1) }}\n{% endfor %}", "line 2, column 15: access to attribute 'append'"},
      {"{{ 'x\n", "line 1, column 4: unexpected character"},
      {"{{ 99999999999999999999 }}", "an integer needs more than 64 bits"},
      {"\xff", "byte 0 is not valid UTF-8"},
  };
  for (const auto& [source, message] : kCases) {
    SCOPED_TRACE(source);
    const auto prompt = RenderSource(source);
    EXPECT_EQ(prompt.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(prompt.status().message()), HasSubstr(message));
  }
}

TEST(Sandbox, HidesUnderscoresAndWhatWasNotGiven) {
  for (const char* source : {"{{ ''.__class__.__mro__ }}", "{{ [].__init__() }}", "{{ x['__class__'].y }}",
                             "{{ (1)|attr('__class__') + 1 }}", "{{ '{0.__class__.x}'.format(1) }}",
                             "{{ open('/etc/passwd') }}", "{{ import('os') }}", "{% include 'x' %}"}) {
    SCOPED_TRACE(source);
    EXPECT_EQ(RenderSource(source, R"({"x": {}})").status().code(), absl::StatusCode::kInvalidArgument);
  }
}

std::string Repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// Long because it is a list of hostile templates.
TEST(Limits, EndHostileTemplatesQuickly) {
  const std::string kSources[] = {
      "{{ range(10**9) }}",
      "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}{{ caller() }}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{% call m() %}{% endcall %}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% block b %}{{ self.b() }}{% endblock %}",
      "{{ 'x' * 10**12 }}",
      "{{ [0] * 10**12 }}",
      "{{ 9 ** 9 ** 9 }}",
      "{{ 9.0 ** 99999 }}",
      "{{ 4 is divisibleby(0) }}",
      "{{ '%1000000000000d' % 1 }}",
      "{{ '%.1000000000f' % 1 }}",
      "{{ '{:1000000000000}'.format(1) }}",
      "{{ 'a'.center(10**15) }}{{ 'a'.ljust(10**15) }}",
      "{{ ('a' * 10**6).replace('', 'b' * 10**6) }}",
      "{{ ('a' * 10**6)|list|join('b' * 10**6) }}",
      "{{ ('a\\n' * 10**6)|indent(10**6) }}",
      "{{ 'a\\t'.expandtabs(10**15) }}",
      "{{ [[1]]|tojson(indent=10**15) }}",
      "{{ [1]|batch(10**15, 0)|list }}{{ [1]|slice(10**15)|list }}",
      "{% set ns = namespace(x='x') %}{% for i in range(1000) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(1000) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
      "{% set ns = namespace(x=1) %}{% for i in range(150) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
      "{% set ns = namespace(x=1) %}{% for i in range(150) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}",
      "{% set ns = namespace(x=1) %}{% for i in range(150) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson "
      "}}",
      "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}",
      "{% set a = namespace(x=0) %}{% for i in range(100000) %}{% set a.x = cycler(a.x) %}{% endfor %}",
      "{% set a = namespace(x=0) %}{% for i in range(100000) %}{% set a.x = joiner(a.x) %}{% endfor %}",
      "{% set a = namespace(x=[]) %}{% for i in range(100000) %}{% set a.x = [a.x]|select %}{% endfor %}",
      "{{ strftime_now('%1000000000d') }}",
      "{{ ('\\n' * 60000000).splitlines() }}",
      "{{ ('a ' * 30000000).split() }}",
      "{{ ('a,' * 30000000).split(',') }}{{ ('a,' * 30000000).rsplit(',') }}",
      "{{ ('\\n' * 60000000)|wordwrap }}",
      "{{ ('a ' * 4000000)|wordwrap(1) }}",
      "{{ ('a' * 4000000)|wordwrap(1) }}",
      "{{ ('-' * 4000000)|wordwrap(1) }}",
      "{{ " + Repeated("(", 100'000) + Repeated(")", 100'000) + " }}",
      "{{ " + Repeated("[", 100'000),
      "{{ " + Repeated("{1:", 100'000),
      "{{ " + Repeated("-", 100'000) + "1 }}",
      "{{ " + Repeated("not ", 100'000) + "1 }}",
      "{{ 1" + Repeated(" + 1", 100'000) + " }}",
      "{{ 1" + Repeated(" if 1 else 1", 100'000) + " }}",
      "{{ x" + Repeated(".y", 100'000) + " }}",
      "{{ x" + Repeated("|list", 100'000) + " }}",
      "{{ x" + Repeated("()", 100'000) + " }}",
      Repeated("{% if 1 %}", 100'000),
      Repeated("{% for x in y %}", 100'000),
      "{% set " + Repeated("(", 100'000) + "a" + Repeated(")", 100'000) + " = 1 %}",
  };
  for (const std::string& source : kSources) {
    SCOPED_TRACE(source.substr(0, 120));
    EXPECT_FALSE(RenderSource(source).ok());  // without limits these take hours or all memory
  }
}

TEST(Limits, AreThoseThatWereGiven) {
  const auto code = [](std::string_view source, const Limits& limits) {
    return RenderSource(source, "{}", "{}", limits).status().code();
  };
  EXPECT_EQ(code("{% for i in range(100) %}x{% endfor %}", {.steps = 50}), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("{% for i in range(100) %}x{% endfor %}", {.steps = 5000}), absl::StatusCode::kOk);
  EXPECT_EQ(code("{{ 'x' * 101 }}", {.string_bytes = 100}), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("{{ 'x' * 60 }}{{ 'x' * 60 }}", {.string_bytes = 100}), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("{{ 'x' * 100 }}", {.string_bytes = 100}), absl::StatusCode::kOk);
  EXPECT_EQ(code("{{ range(1000)|list|length }}", {.memory_bytes = 10'000}), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("{{ ((1 + 2) + 3) + 4 }}", {.depth = 2}), absl::StatusCode::kResourceExhausted);
}

TEST(Request, DeepJsonIsRefused) {
  boost::json::value deep = 1;
  for (int i = 0; i < 1000; ++i) deep = boost::json::array{deep};
  const auto chat = ChatTemplate::Parse("{{ x }}");
  ASSERT_TRUE(chat.ok());
  EXPECT_EQ((*chat)->Render({{"x", deep}}, {}, TestTime()).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Request, LargeIntegersAreRefusedByName) {
  const auto prompt = RenderSource("{{ x }}", R"({"x": 18446744073709551615})");
  EXPECT_THAT(std::string(prompt.status().message()), HasSubstr("18446744073709551615 needs more than 64 bits"));
}

TEST(ChatTemplate, ServesConcurrentRenders) {
  const auto chat = ChatTemplate::Parse(
      "{% set ns = namespace(t='') %}{% for m in l %}{% set ns.t = ns.t + m %}{% endfor %}{{ ns.t }}");
  ASSERT_TRUE(chat.ok());
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] {
      const boost::json::object request{{"l", boost::json::array{"a", std::to_string(i), "b"}}};
      for (int run = 0; run < 50; ++run) texts[i] = (*chat)->Render(request, {}, TestTime())->Text();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts, testing::ElementsAre("a0b", "a1b", "a2b", "a3b"));
}

}  // namespace
}  // namespace inferd::chat_template
