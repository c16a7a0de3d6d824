// That calls of every form are bound to the schemas of their tools, and read back by the answer parser as what the
// schemas say: random walks through the automaton.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "absl/strings/str_replace.h"
#include "config/base/status.h"
#include "engine/constraint/answer_constraint.h"
#include "engine/constraint/bindable_tools.h"
#include "engine/constraint/machine.h"
#include "engine/output/answer_parser.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr const char* kTemplates[] = {"<tool_call>",
                                      "<tool_call>\n<function=example_function_name>",
                                      "<seed:tool_call>\n<function=example_function_name>",
                                      "<tool_call><arg_key>",
                                      "[TOOL_CALLS]",
                                      "[TOOL_CALLS][ARGS]",
                                      "<｜tool▁call▁begin｜>",
                                      "<|tool_call_begin|>",
                                      "<|tool_call|>",
                                      "\"parameters\": dictionary",
                                      "<|channel|><|message|>",
                                      "no form of its own",
                                      "｜DSML｜",
                                      "<minimax:tool_call>",
                                      "<tool_sep{}>",
                                      "<function=example_function_name>",
                                      "<|tool_call:begin|>",
                                      "<|START_ACTION|>",
                                      "<|tools_prefix|>",
                                      "<|tool_call>",
                                      "<|tool_call_start|>",
                                      "<|function_call|>",
                                      "<TOOLCALL>",
                                      "<tool_calls>[",
                                      "<tool_calls>"};

constexpr char kTools[] = R"([{"type": "function", "function": {"name": "f", "strict": true, "parameters": {
  "type": "object", "required": ["code", "k", "color", "n", "flag", "maybe", "point", "either"],
  "additionalProperties": false, "$defs": {"Color": {"enum": ["red", "green blue"], "type": "string"}},
  "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}, "k": {"const": "zz"},
    "color": {"$ref": "#/$defs/Color"}, "n": {"type": "integer", "minimum": 3, "maximum": 20},
    "flag": {"type": "boolean"}, "maybe": {"anyOf": [{"type": "string", "pattern": "^[a-c<\"]{1,3}$"}, {"type": "null"}]},
    "point": {"type": "object", "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}}, "required": ["x"],
      "additionalProperties": false},
    "either": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer", "minimum": 5, "maximum": 6}]}}}}}])";

std::unique_ptr<Machine> MachineOf(const OutputWish& wish) {
  absl::StatusOr<CompiledConstraint> compiled = SourceOf(wish).compile();
  EXPECT_EQ(compiled.status(), absl::OkStatus());
  return compiled.ok() ? std::make_unique<Machine>(compiled->program) : nullptr;
}

// A text that the machine takes, going on behind `text`; empty if it got too long.
std::string Walk(Machine& machine, std::string text, std::mt19937& random) {
  machine.AllowWork(10'000'000);
  Machine::StateId state = machine.start();
  for (const char byte : text) state = machine.Next(state, machine.program().ClassOf(static_cast<unsigned char>(byte)));
  while (text.size() < 4000) {
    if (machine.Accepts(state) && (!machine.GoesOn(state) || random() % 4 == 0)) return text;
    std::vector<unsigned char> bytes;
    for (int byte = 9; byte < 127; ++byte) {
      const auto code = static_cast<unsigned char>(byte);
      if (machine.Next(state, machine.program().ClassOf(code)) != Machine::kDead) bytes.push_back(code);
    }
    // Marks beyond ASCII.
    for (int byte = 127; byte < 256 && bytes.empty(); ++byte) {
      const auto code = static_cast<unsigned char>(byte);
      if (machine.Next(state, machine.program().ClassOf(code)) != Machine::kDead) bytes.push_back(code);
    }
    if (bytes.empty()) return "";
    const unsigned char taken = bytes[random() % bytes.size()];
    text += static_cast<char>(taken);
    state = machine.Next(state, machine.program().ClassOf(taken));
  }
  return "";
}

std::vector<output::ToolCallPart> CallsIn(const output::AnswerFormat& format, std::string_view text,
                                          std::string& content) {
  const auto parser = output::MakeAnswerParser(
      {.format = format, .tools = output::ToolSchemas::Parse(kTools), .call_id = [](uint32_t) { return "c"; }});
  std::vector<output::OutputPart> parts = parser->Push(text);
  for (output::OutputPart& part : parser->Finish()) parts.push_back(std::move(part));
  std::vector<output::ToolCallPart> calls;
  for (const output::OutputPart& part : parts) {
    if (part.kind == output::PartKind::kContent) content += part.text;
    if (part.kind != output::PartKind::kToolCall) continue;
    if (part.tool_call.index == calls.size()) calls.push_back({.name = part.tool_call.name});
    calls.back().arguments += part.tool_call.arguments;
  }
  return calls;
}

void CheckArguments(const std::string& text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  ASSERT_FALSE(error) << text;
  const json::object& object = value.get_object();
  ASSERT_EQ(object.size(), 8u) << text;
  EXPECT_THAT(std::string(object.at("code").as_string()), testing::MatchesRegex("[A-Z]{3}"));
  EXPECT_EQ(object.at("k"), "zz");
  EXPECT_TRUE(object.at("color") == "red" || object.at("color") == "green blue") << text;
  EXPECT_TRUE(object.at("n").as_int64() >= 3 && object.at("n").as_int64() <= 20) << text;
  EXPECT_TRUE(object.at("flag").is_bool());
  EXPECT_TRUE(object.at("maybe").is_null() ||
              testing::Value(std::string(object.at("maybe").as_string()), testing::MatchesRegex("[a-c<\"]{1,3}")))
      << text;
  EXPECT_TRUE(object.at("point").at("x").as_int64() >= 0) << text;
  const json::value& either = object.at("either");
  EXPECT_TRUE(either == 5 || either == 6 || either.as_string().size() <= 24) << text;
}

TEST(CallBinding, EveryFormBindsEveryType) {
  std::mt19937 random(7);
  for (const char* chat_template : kTemplates) {
    SCOPED_TRACE(chat_template);
    const output::AnswerFormat format = output::RecognizeFormat(chat_template);
    const auto forced = MachineOf({.calls = CallDemand{.tools_json = kTools, .parallel = false}, .format = format});
    ASSERT_NE(forced, nullptr);
    int complete = 0;
    for (int i = 0; i < 200; ++i) {
      // Not into reasoning or messages before the call, which are without bounds.
      const std::string text = Walk(*forced, format.channels ? "<|channel|>commentary" : "", random);
      if (text.empty()) continue;
      ++complete;
      std::string content;
      const std::vector<output::ToolCallPart> calls = CallsIn(format, text, content);
      ASSERT_EQ(calls.size(), 1u) << text;
      EXPECT_EQ(content, "") << text;
      EXPECT_EQ(calls[0].name, "f");
      CheckArguments(calls[0].arguments);
    }
    EXPECT_GT(complete, 100);
  }
}

TEST(CallBinding, StrictCallsAreBoundInEveryFormOnceTheyBegin) {
  std::mt19937 random(8);
  for (const char* chat_template : kTemplates) {
    SCOPED_TRACE(chat_template);
    const output::AnswerFormat format = output::RecognizeFormat(chat_template);
    const auto free = MachineOf(
        {.calls = CallDemand{.tools_json = kTools, .parallel = false}, .calls_after_text = true, .format = format});
    ASSERT_NE(free, nullptr);
    std::string begun = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=";
    if (!format.channels) {
      const output::CallSyntax& syntax = *format.calls;
      const std::string_view mark = syntax.list_begin.empty() ? syntax.open : syntax.list_begin;
      begun = "I look {\"name\".\n" + std::string(mark);
    }
    std::vector<std::string> beginnings = {begun};
    if (!format.channels && format.calls->bare) beginnings.push_back("{\"name\"");
    for (const std::string& beginning : beginnings) {
      int complete = 0;
      for (int i = 0; i < 100; ++i) {
        const std::string text = Walk(*free, beginning, random);
        if (text.empty()) continue;
        ++complete;
        std::string content;
        const std::vector<output::ToolCallPart> calls = CallsIn(format, text, content);
        ASSERT_EQ(calls.size(), 1u) << text;
        CheckArguments(calls[0].arguments);
      }
      EXPECT_GT(complete, 50) << beginning;
    }
    // Any other text stays possible.
    const std::string before = format.channels ? "<|channel|>final<|message|>" : "";
    for (const char* text : {"", "Yes.", " {\"nam", "{\"age\": 3}", "{ x", "{{", " <", "<b>"}) {
      Machine::StateId state = free->start();
      for (const char byte : before + text) {
        state = free->Next(state, free->program().ClassOf(static_cast<unsigned char>(byte)));
      }
      EXPECT_TRUE(free->Accepts(state)) << text;
    }
  }
}

TEST(CallBinding, WhatCannotBeBoundIsTakenOutOfFunctionsThatAreNotStrict) {
  const std::string tools = R"json([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
      "properties": {"a": {"type": "string", "pattern": "^(?=x)y$"}, "b": {"type": "integer", "minimum": 1},
        "c": {"$ref": "#/$defs/C"}}, "required": ["a", "b"],
      "$defs": {"C": {"type": "array", "items": {"type": "string", "pattern": "(?=x)"}, "maxItems": 2}}}}},
    {"type": "function", "function": {"name": "g", "strict": true, "parameters": {"pattern": "(?=x)"}}}])json";
  const BindableTools bindable = FindBindable(tools, output::RecognizeFormat("<tool_call>"));
  ASSERT_EQ(bindable.warnings.size(), 2u);
  EXPECT_EQ(bindable.warnings[0].field, "chat.tools_json[0].function.parameters");
  EXPECT_THAT(bindable.warnings[0].text, testing::StartsWith("at #/$defs/C/items: pattern was not bound"));
  EXPECT_EQ(bindable.warnings[1].field, "chat.tools_json[0].function.parameters");
  EXPECT_THAT(bindable.warnings[1].text, testing::StartsWith("at #/properties/a: pattern was not bound"));
  const json::value left = json::parse(bindable.tools_json);
  const json::value& parameters = left.at(0).at("function").at("parameters");
  EXPECT_EQ(parameters.at("properties").at("a"), json::value({{"type", "string"}}));
  EXPECT_EQ(parameters.at("properties").at("b").at("minimum"), 1);
  EXPECT_EQ(parameters.at("$defs").at("C").at("maxItems"), 2);
  EXPECT_EQ(left.at(1), json::parse(tools).at(1)) << "strict functions stay as they are";
}

TEST(CallBinding, LongStringsAreBoundInLength) {
  const std::string tools = R"([{"type": "function", "function": {"name": "f", "strict": true, "parameters": {
      "type": "object", "properties": {"a": {"type": "string", "minLength": 1000, "maxLength": 1001}},
      "required": ["a"]}}}])";
  const auto machine =
      MachineOf({.calls = CallDemand{.tools_json = tools}, .format = output::RecognizeFormat("<tool_call><arg_key>")});
  ASSERT_NE(machine, nullptr);
  for (const size_t size : {999, 1000, 1001, 1002}) {
    machine->AllowWork(10'000'000);
    Machine::StateId state = machine->start();
    for (const char byte :
         "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>" + std::string(size, 'x') + "</arg_value>\n</tool_call>") {
      state = machine->Next(state, machine->program().ClassOf(static_cast<unsigned char>(byte)));
    }
    EXPECT_EQ(machine->Accepts(state), size == 1000 || size == 1001) << size;
  }
}

TEST(CallBinding, SchemasThatAreBoundStayAsTheyAre) {
  for (const char* chat_template : kTemplates) {
    const BindableTools bindable = FindBindable(kTools, output::RecognizeFormat(chat_template));
    EXPECT_EQ(bindable.tools_json, kTools);
    EXPECT_TRUE(bindable.warnings.empty());
  }
}

TEST(CallBinding, FormsThatWriteParametersByThemselvesNameWhatTheyCannotKeep) {
  const std::string tools = R"([{"type": "function", "function": {"name": "f", "strict": false, "parameters": {
      "type": "object", "properties": {"a": {"type": "boolean"}}, "minProperties": 1}}}])";
  const output::AnswerFormat glm = output::RecognizeFormat("<tool_call><arg_key>");
  const auto loose = SourceOf({.calls = CallDemand{.tools_json = tools}, .format = glm}).compile();
  ASSERT_EQ(loose.status(), absl::OkStatus());
  ASSERT_EQ(loose->warnings.size(), 1u);
  EXPECT_THAT(loose->warnings[0].text, testing::HasSubstr("minProperties was not bound"));
  const std::string strict = absl::StrReplaceAll(tools, {{"false", "true"}});
  const absl::Status status = SourceOf({.calls = CallDemand{.tools_json = strict}, .format = glm}).compile().status();
  EXPECT_EQ(MessageOf(status),
            "chat.tools_json[0].function.parameters: at #: keyword minProperties is not supported in this model's form "
            "of calls");
}

}  // namespace
}  // namespace inferd::constraint
