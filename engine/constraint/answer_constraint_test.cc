#include "engine/constraint/answer_constraint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "config/base/status.h"
#include "engine/constraint/machine.h"
#include "engine/output/answer_parser.h"

namespace inferd::constraint {
namespace {

constexpr char kTools[] = R"([
  {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {
    "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["city"]}}},
  {"type": "function", "function": {"name": "stop"}}])";

// What a chat template of each format contains, and a text with one and with two calls.
struct Format {
  const char* chat_template;
  std::vector<std::string> taken, refused;
};

const Format kFormats[] = {
    {"<tool_call> </tool_call>",
     {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}\n</tool_call>",
      "<tool_call>{\"name\": \"stop\", \"arguments\": {}}</tool_call>\n<tool_call>\n{\"name\": \"stop\", "
      "\"arguments\": {}}\n</tool_call>"},
     {"{\"name\": \"stop\", \"arguments\": {}}", "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>",
      "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"days\": 3}}</tool_call>", "Yes"}},
    {"<tool_call>\n<function=example_function_name>",
     {"<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo "
      "</p>\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
      "<tool_call>\n<function=stop>\n</function>\n</tool_call>"},
     {"<tool_call>\n<function=get_weather>\n</function>\n</tool_call>",
      "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\nx\n</parameter>\n</"
      "function>\n</tool_call>"}},
    {"<tool_call><arg_key>",
     {"<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
      "<tool_call>stop\n</tool_call>"},
     {"<tool_call>get_weather\n</tool_call>"}},
    {"[TOOL_CALLS]",
     {"[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}, {\"name\": \"stop\", "
      "\"arguments\": {}}]"},
     {"[TOOL_CALLS]{\"name\": \"stop\"}"}},
    {"[TOOL_CALLS][ARGS]",
     {"[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Oslo\"}", "[TOOL_CALLS]stop[ARGS]{}[TOOL_CALLS]stop[ARGS]{}"},
     {"[TOOL_CALLS]get_weather[ARGS]{}"}},
    {"<｜tool▁call▁begin｜>",
     {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": "
      "\"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>stop\n```json\n{}\n```<｜tool▁call▁end｜><"
      "｜tool▁calls▁end｜>"},
     {"<｜tool▁call▁begin｜>stop<｜tool▁sep｜>{}<｜tool▁call▁end｜>"}},
    {"<|tool_call_begin|>",
     {"<|tool_calls_section_begin|><|tool_call_begin|>functions.stop:0<|tool_call_argument_begin|>{}<|tool_call_end|><|"
      "tool_calls_section_end|>"},
     {"<|tool_call_begin|>functions.stop:0<|tool_call_argument_begin|>{}<|tool_call_end|>"}},
    {"<|tool_call|>", {"<|tool_call|>[{\"name\": \"stop\", \"arguments\": {}}]"}, {"[]"}},
    {"\"parameters\": dictionary",
     {"{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\"}}",
      "{\"name\": \"stop\", \"parameters\": {}}; {\"name\": \"stop\", \"parameters\": {}}"},
     {"{\"name\": \"stop\", \"arguments\": {}}"}},
    {"<|channel|><|message|>",
     {"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}",
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.stop "
      "<|message|>{}"},
     {"<|channel|>final<|message|>No"}}};

class Judge {
 public:
  explicit Judge(OutputWish wish) {
    absl::StatusOr<CompiledConstraint> compiled = SourceOf(std::move(wish)).compile();
    status = compiled.status();
    if (!compiled.ok()) return;
    for (const Warning& warning : compiled->warnings) warnings.push_back(ToString(warning));
    machine_ = std::make_unique<Machine>(std::move(compiled->program));
  }
  bool Takes(std::string_view text) {
    Machine::StateId state = machine_->start();
    for (char byte : text) state = machine_->Next(state, machine_->program().ClassOf(static_cast<unsigned char>(byte)));
    return machine_->Accepts(state);
  }
  absl::Status status;
  std::vector<std::string> warnings;

 private:
  std::unique_ptr<Machine> machine_;
};

TEST(AnswerConstraint, CallsAreWhatTheAnswerParserReads) {
  for (const Format& test : kFormats) {
    const output::AnswerFormat format = output::RecognizeFormat(test.chat_template);
    Judge judge({.calls = CallDemand{.tools_json = kTools}, .format = format});
    ASSERT_EQ(judge.status, absl::OkStatus()) << test.chat_template;
    for (const std::string& text : test.taken) {
      EXPECT_TRUE(judge.Takes(text)) << text;
      const auto parser = output::MakeAnswerParser(
          {.format = format, .tools = output::ToolSchemas::Parse(kTools), .call_id = [](uint32_t) { return "id"; }});
      std::vector<output::OutputPart> parts = parser->Push(text);
      for (output::OutputPart& part : parser->Finish()) parts.push_back(std::move(part));
      EXPECT_TRUE(parser->has_tool_calls()) << text;
      for (const output::OutputPart& part : parts) EXPECT_NE(part.kind, output::PartKind::kContent) << text;
    }
    for (const std::string& text : test.refused) EXPECT_FALSE(judge.Takes(text)) << text;
  }
}

TEST(AnswerConstraint, ANamedToolIsTheOnlyOneAndCalledOnce) {
  for (const Format& test : kFormats) {
    const output::AnswerFormat format = output::RecognizeFormat(test.chat_template);
    Judge judge({.calls = CallDemand{.tools_json = kTools, .name = "get_weather"}, .format = format});
    for (const std::string& text : test.taken) {
      EXPECT_EQ(judge.Takes(text), text.find("stop") == text.npos) << text;
    }
  }
  Judge unknown(
      {.calls = CallDemand{.tools_json = kTools, .name = "x"}, .format = output::RecognizeFormat("<tool_call>")});
  EXPECT_EQ(MessageOf(unknown.status), "chat.tool_choice_json: there is no tool x");
}

TEST(AnswerConstraint, OneCallWhereMoreAreNotAllowed) {
  const CallDemand demand{.tools_json = kTools, .parallel = false};
  Judge judge({.calls = demand, .format = output::RecognizeFormat(kFormats[0].chat_template)});
  EXPECT_TRUE(judge.Takes(kFormats[0].taken[0]));
  EXPECT_FALSE(judge.Takes(kFormats[0].taken[1]));
}

TEST(AnswerConstraint, ATemplateWithoutCallsCannotPromiseOne) {
  Judge judge({.calls = CallDemand{.tools_json = kTools}});
  EXPECT_EQ(judge.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MessageOf(judge.status),
            "chat.tool_choice_json: the model's chat template has no known form of tool calls");
}

TEST(AnswerConstraint, ASchemaOfAToolIsNamedWithItsPlace) {
  constexpr char kWords[] = "chat.tools_json[0].function.parameters: at #: keyword typ is not supported";
  for (const bool strict : {true, false}) {
    const std::string tools = fmt::format(
        R"([{{"type": "function", "function": {{"name": "f", "strict": {}, "parameters": {{"typ": {{}}}}}}}}])",
        strict);
    Judge judge({.calls = CallDemand{.tools_json = tools}, .format = output::RecognizeFormat("<tool_call>")});
    EXPECT_EQ(MessageOf(judge.status), strict ? kWords : "");
    EXPECT_THAT(judge.warnings, testing::Contains(testing::HasSubstr("typ")).Times(strict ? 0 : 1));
  }
}

TEST(AnswerConstraint, ReasoningComesBeforeTheContent) {
  const output::AnswerFormat format = output::RecognizeFormat("<think></think>");
  Judge may({.kind = OutputKind::kRegex, .text = "[0-9]+", .format = format});
  for (const char* text : {"12", "<think>Hm, 5 </th ink> <</think>\n\n12"}) EXPECT_TRUE(may.Takes(text)) << text;
  for (const char* text : {"<think>12", "<think></think>", "x12"}) EXPECT_FALSE(may.Takes(text)) << text;
  Judge begun({.kind = OutputKind::kRegex, .text = "[0-9]+", .format = format, .in_reasoning = true});
  for (const char* text : {"Hm.</think>12", "</think>\n12", "<</</think>1"}) EXPECT_TRUE(begun.Takes(text)) << text;
  for (const char* text : {"12", "Hm.</think>", "a</think>b</think>1"}) EXPECT_FALSE(begun.Takes(text)) << text;
  Judge channels({.kind = OutputKind::kJsonObject, .format = output::RecognizeFormat("<|channel|><|message|>")});
  EXPECT_TRUE(channels.Takes("<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>{}"));
  EXPECT_TRUE(channels.Takes("<|channel|>final<|message|>{}"));
  EXPECT_FALSE(channels.Takes("{}"));
}

TEST(AnswerConstraint, CallsMayComeInPlaceOfTheContent) {
  Judge judge({.kind = OutputKind::kJsonSchema,
               .text = R"({"type": "integer"})",
               .calls = CallDemand{.tools_json = kTools},
               .format = output::RecognizeFormat("<tool_call>")});
  EXPECT_TRUE(judge.Takes("5"));
  EXPECT_TRUE(judge.Takes(kFormats[0].taken[0]));
  EXPECT_FALSE(judge.Takes("five"));
  Judge without({.kind = OutputKind::kRegex, .text = "a", .calls = CallDemand{.tools_json = kTools}});
  EXPECT_TRUE(without.Takes("a"));
}

constexpr char kStrictTools[] = R"([
  {"type": "function", "function": {"name": "f", "strict": true, "parameters": {"type": "object", "properties": {
    "n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}}},
  {"type": "function", "function": {"name": "g"}}])";

TEST(AnswerConstraint, CallsAreBoundFromTheirMarkOn) {
  EXPECT_TRUE(AsksForStrictCalls(kStrictTools));
  EXPECT_FALSE(AsksForStrictCalls(kTools));
  EXPECT_FALSE(AsksForStrictCalls(R"([{"type": "function", "function": {"name": "strict", "strict": false}}])"));
  struct Case {
    const char *chat_template, *open, *arguments, *close, *more;
  };
  const Case cases[] = {
      {"<tool_call>", "<tool_call>\n{\"name\": \"", "\", \"arguments\": ", "}\n</tool_call>", "\n"},
      {"[TOOL_CALLS]", "[TOOL_CALLS] [{\"name\": \"", "\", \"arguments\": ", "}]", nullptr},
      {"[TOOL_CALLS][ARGS]", "[TOOL_CALLS]", "[ARGS]", "", ""},
      {"<｜tool▁call▁begin｜>", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>", nullptr},
      {"<|tool_call|>", "<|tool_call|>[{\"name\": \"", "\", \"arguments\": ", "}]", nullptr},
  };
  for (const Case& c : cases) {
    const output::AnswerFormat format = output::RecognizeFormat(c.chat_template);
    Judge judge({.calls = CallDemand{.tools_json = kStrictTools}, .calls_after_text = true, .format = format});
    ASSERT_EQ(judge.status, absl::OkStatus()) << c.chat_template;
    const auto call = [&](std::string_view name, std::string_view arguments) {
      return fmt::format("{}{}{}{}{}", c.open, name, c.arguments, arguments, c.close);
    };
    for (const std::string before : {"", "I look it up. < <tool [TOOL <｜tool <|tool\n"}) {
      EXPECT_TRUE(judge.Takes(before));
      EXPECT_TRUE(judge.Takes(before + call("f", "{\"n\": 3}"))) << before;
      EXPECT_TRUE(judge.Takes(before + call("g", "{}"))) << before;
      for (const std::string& wrong : {call("f", "{}"), call("f", "{\"n\": \"3\"}"), call("h", "{}"), call("g", "{"),
                                       std::string(c.open), call("f", "{\"n\": 3}") + "."}) {
        EXPECT_FALSE(judge.Takes(before + wrong)) << wrong;
      }
      if (c.more != nullptr) {
        EXPECT_TRUE(judge.Takes(before + call("f", "{\"n\": 3}") + c.more + call("g", "{}")));
      }
    }
  }
}

TEST(AnswerConstraint, IsOneOfSomeTexts) {
  Judge judge({.kind = OutputKind::kChoice, .text = R"(["a", "ab\n", "\"c\""])"});
  ASSERT_EQ(judge.status, absl::OkStatus());
  for (const char* text : {"a", "ab\n", "\"c\""}) EXPECT_TRUE(judge.Takes(text));
  for (const char* text : {"", "ab", "b", "c", "aa"}) EXPECT_FALSE(judge.Takes(text));
  EXPECT_EQ(MessageOf(Judge({.kind = OutputKind::kChoice, .text = "[]"}).status),
            "constraint.choice: is empty, expected a text at least");
  EXPECT_EQ(MessageOf(Judge({.kind = OutputKind::kChoice, .text = R"(["a", ""])"}).status),
            "constraint.choice: text 1 is empty, expected 1 byte at least");
}

TEST(AnswerConstraint, ErrorsNameTheField) {
  const std::tuple<OutputKind, const char*, const char*> cases[] = {
      {OutputKind::kRegex, "a(", "constraint.regex: at offset 1: the group has no end"},
      {OutputKind::kGrammar, "rot ::= \"a\"", "constraint.grammar: there is no rule root"},
      {OutputKind::kJsonSchema, "{\"typ\": 1}", "constraint.json_schema: at #: keyword typ is not supported"},
      {OutputKind::kJsonSchema, "false", "constraint.json_schema: no text is complete for rule content"}};
  for (const auto& [kind, text, message] : cases) {
    Judge judge({.kind = kind,
                 .text = text,
                 .calls = CallDemand{.tools_json = kTools},
                 .format = output::RecognizeFormat("<tool_call>")});
    EXPECT_EQ(judge.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(MessageOf(judge.status)), testing::HasSubstr(message));
  }
  Judge large({.kind = OutputKind::kRegex, .text = std::string(kMostSourceBytes + 1, 'a')});
  EXPECT_EQ(MessageOf(large.status), "constraint.regex: 1048577 bytes, expected at most 1048576");
}

TEST(AnswerConstraint, WhatIsNotKeptIsAWarningWithItsField) {
  Judge schema(
      {.kind = OutputKind::kJsonSchema, .text = R"({"properties": {"a": {"type": "string", "format": "x"}}})"});
  EXPECT_THAT(schema.warnings,
              testing::ElementsAre("constraint.json_schema: at #/properties/a: format x is not known and was ignored"));
  const std::string tools = R"([{"type": "function", "function": {"name": "f", "strict": true, "parameters":
      {"type": "object", "properties": {"a": {"type": "string", "format": "x"}}}}}])";
  Judge arguments({.calls = CallDemand{.tools_json = tools}, .format = output::RecognizeFormat("<tool_call>")});
  EXPECT_THAT(arguments.warnings,
              testing::ElementsAre("chat.tools_json[0].function.parameters: at #/properties/a: format x is "
                                   "not known and was ignored"));
  Judge plain({.calls = CallDemand{.tools_json = tools}, .format = output::RecognizeFormat("<tool_call><arg_key>")});
  EXPECT_THAT(plain.warnings,
              testing::ElementsAre("chat.tools_json[0].function.parameters.properties.a: at #: format x is not "
                                   "known and was ignored"));
}

TEST(ConstraintSource, KeysDifferWhereConstraintsDo) {
  std::set<std::string> keys;
  const output::AnswerFormat format = output::RecognizeFormat("<think></think><tool_call>");
  keys.insert(SourceOf({.kind = OutputKind::kRegex, .text = "a"}).key);
  keys.insert(SourceOf({.kind = OutputKind::kGrammar, .text = "a"}).key);
  keys.insert(SourceOf({.kind = OutputKind::kRegex, .text = "a", .format = format}).key);
  keys.insert(SourceOf({.kind = OutputKind::kRegex, .text = "a", .format = format, .in_reasoning = true}).key);
  keys.insert(SourceOf({.calls = CallDemand{.tools_json = kTools}, .format = format}).key);
  keys.insert(SourceOf({.calls = CallDemand{.tools_json = kTools, .name = "stop"}, .format = format}).key);
  keys.insert(SourceOf({.calls = CallDemand{.tools_json = kTools, .parallel = false}, .format = format}).key);
  keys.insert(SourceOf({.calls = CallDemand{.tools_json = kTools}, .calls_after_text = true, .format = format}).key);
  EXPECT_EQ(keys.size(), 8u);
}

}  // namespace
}  // namespace inferd::constraint
