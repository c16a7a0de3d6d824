#include "engine/conversation/rendering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "config/base/status.h"
#include "engine/conversation/testing_templates.h"

namespace inferd::conversation {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The prompt, or the error.
std::string Render(const TestTemplate& test, std::string_view request) {
  const json::value parsed = json::parse({request.data(), request.size()});
  const absl::StatusOr<Rendering> rendering =
      RenderConversation(*test.chat, *test.abilities, parsed.as_object(), {}, chat_template::TestTime());
  if (rendering.ok()) return rendering->prompt.Text();
  return fmt::format("{}: {}", std::string(absl::StatusCodeToString(rendering.status().code())),
                     MessageOf(rendering.status()));
}

std::string RenderMessages(std::string_view source, const std::string& messages) {
  return Render(MakeTestTemplate(source), R"({"messages": )" + messages + "}");
}

// As Mistral's and Gemma's: turns alternate, and there is no system.
constexpr char kAlternating[] = R"({%- for m in messages -%}
{%- if m.role not in ['user', 'assistant'] %}{{ raise_exception('no role ' + m.role) }}{% endif -%}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif -%}
<{{ m.role }}>{{ m.content }}
{%- endfor -%})";

// As Qwen2.5's: a role that it does not know is left out.
constexpr char kForgetful[] = R"({%- for m in messages -%}
{%- if m.role in ['system', 'user', 'assistant'] -%}<{{ m.role }}>{{ m.content }}{%- endif -%}
{%- endfor -%})";

TEST(Rendering, FoldsASystemTextIntoTheUsersNextTurn) {
  EXPECT_EQ(RenderMessages(kAlternating, R"([{"role":"system","content":"s"},{"role":"user","content":"u"}])"),
            "<user>s\n\nu");
  EXPECT_EQ(RenderMessages(kAlternating,
                           R"([{"role":"user","content":"u"},{"role":"assistant","content":"a"},
                               {"role":"system","content":"s"},{"role":"user","content":"v"}])"),
            "<user>u<assistant>a<user>s\n\nv");
}

TEST(Rendering, JoinsNeighboursWhereTurnsMustAlternate) {
  constexpr char kMessages[] = R"([{"role":"user","content":"a"},{"role":"user","content":"b"},
      {"role":"assistant","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}])";
  EXPECT_EQ(RenderMessages(kAlternating, kMessages), "<user>a\n\nb<assistant>c\n\nd<user>e");
  EXPECT_EQ(RenderMessages(kForgetful, kMessages), "<user>a<user>b<assistant>c<assistant>d<user>e") << "as it is";
}

TEST(Rendering, OpensWithAnEmptyUsersTurnWhereTheAssistantMayNot) {
  EXPECT_EQ(RenderMessages(kAlternating, R"([{"role":"assistant","content":"hello"},{"role":"user","content":"u"}])"),
            "<user><assistant>hello<user>u");
}

TEST(Rendering, MakesDeveloperSystemWhereItIsNotShown) {
  constexpr char kMessages[] = R"([{"role":"developer","content":"d"},{"role":"user","content":"u"}])";
  EXPECT_EQ(RenderMessages(kForgetful, kMessages), "<system>d<user>u");
  EXPECT_EQ(RenderMessages(kAlternating, kMessages), "<user>d\n\nu");
  EXPECT_EQ(RenderMessages("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", kMessages),
            "<developer>d<user>u")
      << "as it is";
}

TEST(Rendering, WritesCallsAndResultsAsTextWhereTheyAreNotShown) {
  constexpr char kMessages[] = R"([{"role":"user","content":"u"},
      {"role":"assistant","content":"I look.","tool_calls":[
          {"id":"1","function":{"name":"f","arguments":"{\"x\": 1}"}},{"id":"2","function":{"name":"g","arguments":"{"}}]},
      {"role":"tool","tool_call_id":"2","content":"r"},{"role":"function","name":"f","content":"s"}])";
  constexpr char kExpected[] =
      "<user>u<assistant>I look.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1}}</tool_call>\n"
      "<tool_call>{\"name\": \"g\", \"arguments\": \"{\"}</tool_call>"
      "<user>Result of g:\n<tool_response>\nr\n</tool_response>\nResult of f:\n<tool_response>\ns\n</tool_response>";
  EXPECT_EQ(RenderMessages(kForgetful, kMessages), kExpected);
  EXPECT_EQ(RenderMessages(kAlternating, kMessages), kExpected);
}

TEST(Rendering, GivesEachCallAMessageWhereATemplateTakesOne) {
  constexpr char kSingle[] = R"({%- for m in messages -%}
{%- if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one at a time') }}{% endif -%}
<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}[{{ c.function.name }}{{ c.function.arguments | tojson }}]{% endfor -%}
{%- endfor -%})";
  EXPECT_EQ(RenderMessages(kSingle, R"([{"role":"user","content":"u"},
      {"role":"assistant","content":"I look.","tool_calls":[
          {"id":"1","function":{"name":"f","arguments":{}}},{"id":"2","function":{"name":"g","arguments":null}}]},
      {"role":"tool","tool_call_id":"2","content":"r2"},{"role":"tool","tool_call_id":"1","content":"r1"}])"),
            "<user>u<assistant>I look.[f{}]<tool>r1<assistant>[g{}]<tool>r2");
}

TEST(Rendering, GivesContentBesideCallsAMessageWhereItIsNotShown) {
  constexpr char kEither[] = R"({%- for m in messages -%}<{{ m.role }}>
{%- if m.tool_calls %}{% for c in m.tool_calls %}[{{ c.function.name }}{{ c.function.arguments | tojson }}]{% endfor %}
{%- else %}{{ m.content }}{% endif -%}
{%- endfor -%})";
  EXPECT_EQ(RenderMessages(kEither, R"([{"role":"user","content":"u"},
      {"role":"assistant","content":"I look.","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"1","content":"r"}])"),
            "<user>u<assistant>I look.<assistant>[f{}]<tool>r");
}

TEST(Rendering, ShortensIdsWhereATemplateCountsTheirLetters) {
  constexpr char kNine[] = R"({%- for m in messages -%}<{{ m.role }}>{{ m.content }}
{%- for c in m.tool_calls %}
{%- if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif -%}
[{{ c.id }}{{ c.function.name }}{{ c.function.arguments | tojson }}]{% endfor -%}
{%- if m.role == 'tool' %}={{ m.tool_call_id }}{% endif -%}
{%- endfor -%})";
  EXPECT_EQ(RenderMessages(kNine, R"([{"role":"user","content":"u"},
      {"role":"assistant","content":"","tool_calls":[{"id":"call_123456","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"call_123456","content":"r"}])"),
            "<user>u<assistant>[call00001f{}]<tool>r=call00001");
}

TEST(Rendering, ArgumentsHaveTheFormThatATemplateTakes) {
  const auto message = [](const std::string& arguments) {
    return R"([{"role":"user","content":"u"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":)" +
           arguments + "}}]}]";
  };
  constexpr char kItems[] =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}[{{ c.function.name }}"
      "{% for k, v in c.function.arguments | items %} {{ k }}={{ v }}{% endfor %}]{% endfor %}{% endfor %}";
  constexpr char kText[] =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}[{{ c.function.name + c.function.arguments }}]"
      "{% endfor %}{% endfor %}";
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"({"x": 1})", "u[f x=1]", "u[f{\"x\":1}]"},
      {R"("{\"x\": 1}")", "u[f x=1]", "u[f{\"x\": 1}]"},
      {R"("")", "u[f]", "u[f{}]"},
      {"null", "u[f]", "u[f{}]"},
      {R"("{\"x\"")", "u[f arguments={\"x\"]", "u[f{\"x\"]"},
      {"[1]", "u[f arguments=[1]]", "u[f[1]]"}};
  for (const auto& [arguments, items, text] : cases) {
    EXPECT_EQ(RenderMessages(kItems, message(arguments)), items) << arguments;
    EXPECT_EQ(RenderMessages(kText, message(arguments)), text) << arguments;
  }
}

TEST(Rendering, CompletesToolsForATemplateThatAsksForAllOfThem) {
  const TestTemplate test = MakeTestTemplate(
      "{% for t in tools %}[{{ t.function.name + ': ' + t.function.description }}"
      "{% for k, p in t.function.parameters.properties | items %} {{ k + ' ' + p.type }}{% endfor %}]{% endfor %}"
      "{{ messages[0].content }}");
  const auto rendered = [&](const std::string& function) {
    return Render(test, R"({"messages": [{"role":"user","content":"u"}], "tools": [{"type":"function","function":)" +
                            function + "}]}");
  };
  EXPECT_EQ(rendered(R"({"name":"f"})"), "[f: ]u");
  EXPECT_EQ(rendered(R"({"name":"f","description":"d","parameters":{}})"), "[f: d]u");
  EXPECT_EQ(rendered(R"({"name":"f","parameters":{"properties":{"a":{"type":["null","string"]},"b":{"enum":[1]},
      "c":{"anyOf":[{"type":"null"},{"type":"array"}]},"d":{"$ref":"#/$defs/x"},"e":{}}}})"),
            "[f:  a string b integer c array d object e string]u");
}

TEST(Rendering, GivesPartsToATemplateThatTakesNothingElse) {
  constexpr char kParts[] = "{% for m in messages %}<{{ m.role }}>{{ m.content[0].text }}{% endfor %}";
  EXPECT_EQ(RenderMessages(kParts, R"([{"role":"system","content":"s"},{"role":"user","content":"u"}])"),
            "<system>s<user>u");
}

TEST(Rendering, TellsWhatATemplateLeavesOut) {
  const TestTemplate test = MakeTestTemplate(kForgetful);
  const json::value request = json::parse(R"({"messages":[{"role":"user","content":"u","name":"Ann"},
      {"role":"assistant","content":"a","reasoning_content":"r"},{"role":"user","content":"v"}]})");
  const absl::StatusOr<Rendering> rendering =
      RenderConversation(*test.chat, *test.abilities, request.as_object(), {}, chat_template::TestTime());
  ASSERT_EQ(rendering.status(), absl::OkStatus());
  EXPECT_THAT(rendering->left_out, ElementsAre("messages[0].name", "messages[1].reasoning_content"));
}

TEST(Rendering, FindsTheFieldOfReasoning) {
  constexpr char kThinking[] =
      "{% for m in messages %}{% if m.thinking %}({{ m.thinking }}){% endif %}{{ m.content }}{% endfor %}";
  EXPECT_EQ(RenderMessages(kThinking, R"([{"role":"user","content":"u"},
      {"role":"assistant","content":"a","reasoning_content":"r"}])"),
            "u(r)a");
}

TEST(Rendering, NamesTheMessageThatNoFormTakes) {
  constexpr char kShort[] =
      "{% for m in messages %}{% if loop.index0 > 3 %}{{ raise_exception('too long') }}{% endif %}"
      "<{{ m.role }}>{{ m.content }}{% endfor %}";
  const std::string turns = R"({"role":"user","content":"u"},{"role":"assistant","content":"a"})";
  EXPECT_THAT(RenderMessages(kShort, "[" + turns + "," + turns + "," + turns + "]"),
              StartsWith("INVALID_ARGUMENT: messages[4]: the model's template refuses it: chat template: line 1"));
  constexpr char kLastOnly[] = "{{ messages[-1].content }}";
  EXPECT_EQ(RenderMessages(kLastOnly, "[" + turns + "," + turns + "]"),
            "INVALID_ARGUMENT: messages[0].content: the model's template does not show this text of role user");
}

TEST(Abilities, ATemplateMustShowAUsersText) {
  EXPECT_EQ(MessageOf(MakeTestTemplate("{{ bos_token }}").abilities.status()),
            "chat template: the text of a user's message is not in the prompt");
  EXPECT_THAT(std::string(MessageOf(MakeTestTemplate("{{ raise_exception('no') }}").abilities.status())),
              HasSubstr("no"));
}

TEST(Abilities, ATemplateThatPassesALimitIsNoneToServe) {
  constexpr char kEndless[] =
      "{{ messages[0].content }}{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
  const absl::Status status = MakeTestTemplate(kEndless).abilities.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("more than 10000000 steps"));
  constexpr char kLater[] =
      "{{ messages[0].content }}{% macro f() %}{{ f() }}{% endmacro %}{% if messages | length > 2 %}{{ f() }}{% endif "
      "%}";
  EXPECT_EQ(MakeTestTemplate(kLater).abilities.status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace inferd::conversation
