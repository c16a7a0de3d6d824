#include "gateway/anthropic/messages_request.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "config/base/status.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

// A request of one question with these fields instead.
std::string Body(const char* changes = "{}") {
  json::object body{{"model", "m"}, {"max_tokens", 9}, {"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
  const json::value changed = json::parse(changes);
  for (const auto& field : changed.as_object()) {
    if (field.value().is_null()) body.erase(field.key());
    if (!field.value().is_null()) body[field.key()] = field.value();
  }
  return json::serialize(body);
}

MessagesRequest Parsed(const std::string& body) {
  absl::StatusOr<MessagesRequest> parsed = ParseMessagesRequest(body);
  EXPECT_TRUE(parsed.ok()) << parsed.status() << body;
  return parsed.ok() ? *std::move(parsed) : MessagesRequest();
}

// "user: Hi; assistant: (thought) text [calls]; tool 1: result"
std::string Shown(const MessagesRequest& messages) {
  std::string text;
  for (const v1::Message& message : messages.generate.chat().messages()) {
    if (!text.empty()) text += "; ";
    text += message.role();
    if (!message.tool_call_id().empty()) text += " " + message.tool_call_id();
    text += ": ";
    if (!message.reasoning_content().empty()) text += "(" + message.reasoning_content() + ") ";
    text += message.has_content() ? message.content() : "-";
    if (!message.tool_calls_json().empty()) text += " " + message.tool_calls_json();
  }
  return text;
}

TEST(MessagesRequest, ReadsTurnsAsTextAndBlocks) {
  const MessagesRequest messages = Parsed(Body(R"json({
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
               {"type": "text", "text": "Be kind.", "citations": []}],
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "Weather?"}, {"type": "text", "text": "In Bonn."}]},
      {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Look.", "signature": "fp_1"}, {"type": "text", "text": "A moment."},
        {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "2", "name": "g", "input": {}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "Rain"}]},
        {"type": "tool_result", "tool_use_id": "2", "content": "lost", "is_error": true},
        {"type": "text", "text": "So?"}]},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "3", "name": "f", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "3"}]}]})json"));
  EXPECT_EQ(
      Shown(messages),
      "system: Be brief.\nBe kind.; user: Weather?\nIn Bonn.; "
      R"(assistant: (Look.) A moment. [{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
      R"({"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]; )"
      "tool 1: Rain; tool 2: Error: lost; user: So?; "
      R"(assistant: - [{"id":"3","type":"function","function":{"name":"f","arguments":"{}"}}]; tool 3: )");
  EXPECT_EQ(
      messages.names.messages,
      (std::vector<std::string>{"system", "messages[0]", "messages[1]", "messages[2].content[0]",
                                "messages[2].content[1]", "messages[2]", "messages[3]", "messages[4].content[0]"}));
  EXPECT_TRUE(messages.warnings.empty());
}

TEST(MessagesRequest, TextsAreAsTheyAre) {
  EXPECT_EQ(Shown(Parsed(Body())), "user: Hi");
  EXPECT_EQ(Shown(Parsed(Body(R"({"system": "Be brief."})"))), "system: Be brief.; user: Hi");
  EXPECT_EQ(Shown(Parsed(Body(R"({"system": []})"))), "user: Hi");
}

TEST(MessagesRequest, ReadsToolsAndTheirChoice) {
  const MessagesRequest messages = Parsed(Body(R"json({
    "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": null},
              {"type": "custom", "name": "g", "input_schema": {}, "strict": true}]})json"));
  EXPECT_EQ(json::parse(messages.generate.chat().tools_json()), json::parse(R"([
    {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "g", "parameters": {}, "strict": true}}])"));
  EXPECT_TRUE(messages.generate.chat().parallel_tool_calls());
  struct Case {
    const char* given;
    const char* ours;
    bool parallel;
  };
  const Case cases[] = {
      {R"({"type": "auto"})", R"("auto")", true},
      {R"({"type": "auto", "disable_parallel_tool_use": true})", R"("auto")", false},
      {R"({"type": "any", "disable_parallel_tool_use": false})", R"("required")", true},
      {R"({"type": "none"})", R"("none")", true},
      {R"({"type": "tool", "name": "f"})", R"({"type":"function","function":{"name":"f"}})", true},
  };
  for (const Case& one : cases) {
    const v1::ChatPrompt chat =
        Parsed(Body((R"({"tools": [{"name": "f", "input_schema": {}}], "tool_choice": )" + std::string(one.given) + "}")
                        .c_str()))
            .generate.chat();
    EXPECT_EQ(chat.tool_choice_json(), one.ours) << one.given;
    EXPECT_EQ(chat.parallel_tool_calls(), one.parallel) << one.given;
  }
}

TEST(MessagesRequest, ReadsWhatBindsTheAnswer) {
  const MessagesRequest messages = Parsed(Body(R"json({
    "max_tokens": 50, "stop_sequences": ["a", "b"], "temperature": 0.5, "top_k": 3, "top_p": 0.25, "stream": true,
    "seed": 4, "metadata": {"user_id": "u"}, "service_tier": "auto", "deadline_ms": 700, "priority": "batch",
    "cache_salt": "s", "cache_control": {"type": "ephemeral"}, "logit_bias": {"7": -1}})json"));
  const v1::GenerateRequest& request = messages.generate;
  EXPECT_EQ(request.limits().max_tokens(), 50u);
  EXPECT_EQ(std::vector<std::string>(request.stop().begin(), request.stop().end()),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_FLOAT_EQ(request.sampling().temperature(), 0.5f);
  EXPECT_EQ(request.sampling().top_k(), 3);
  EXPECT_FLOAT_EQ(request.sampling().top_p(), 0.25f);
  EXPECT_FLOAT_EQ(request.sampling().logit_bias().at(7), -1);
  EXPECT_EQ(request.seed(), 4u);
  EXPECT_EQ(request.user(), "u");
  EXPECT_EQ(messages.options.user, "u");
  EXPECT_TRUE(messages.options.stream);
  EXPECT_EQ(messages.options.deadline, std::chrono::milliseconds(700));
  EXPECT_EQ(request.priority(), v1::PRIORITY_BATCH);
  EXPECT_EQ(request.cache_salt(), "s");
  EXPECT_TRUE(messages.warnings.empty());
}

TEST(MessagesRequest, ReadsThinking) {
  struct Case {
    const char* given;
    const char* arguments;
    bool omits;
    size_t warnings;
  };
  const Case cases[] = {
      {R"({"type": "enabled", "budget_tokens": 2000})", R"({"enable_thinking":true,"thinking":true})", false, 1},
      {R"({"type": "adaptive", "display": "omitted"})", R"({"enable_thinking":true,"thinking":true})", true, 0},
      {R"({"type": "adaptive", "display": "summarized"})", R"({"enable_thinking":true,"thinking":true})", false, 0},
      {R"({"type": "disabled"})", R"({"enable_thinking":false,"thinking":false})", false, 0},
  };
  for (const Case& one : cases) {
    const MessagesRequest messages = Parsed(Body((R"({"thinking": )" + std::string(one.given) + "}").c_str()));
    EXPECT_EQ(messages.generate.chat().template_arguments_json(), one.arguments) << one.given;
    EXPECT_EQ(messages.omits_thinking, one.omits) << one.given;
    EXPECT_EQ(messages.warnings.size(), one.warnings) << one.given;
  }
  EXPECT_EQ(Parsed(Body(R"({"output_config": {"effort": "low"}})")).generate.chat().template_arguments_json(),
            R"({"reasoning_effort":"low"})");
}

TEST(MessagesRequest, ReadsTheFormatByBothNames) {
  const char* format = R"({"type": "json_schema", "schema": {"type": "object"}})";
  const MessagesRequest newer = Parsed(Body((R"({"output_config": {"format": )" + std::string(format) + "}}").c_str()));
  const MessagesRequest older = Parsed(Body((R"({"output_format": )" + std::string(format) + "}").c_str()));
  for (const MessagesRequest* messages : {&newer, &older}) {
    EXPECT_EQ(messages->generate.constraint().json_schema(), R"({"type":"object"})");
  }
  EXPECT_EQ(newer.names.constraint, "output_config.format");
  EXPECT_EQ(older.names.constraint, "output_format");
}

TEST(MessagesRequest, NamesUnknownFieldsAtEveryDepth) {
  const MessagesRequest messages = Parsed(Body(R"json({
    "x1": 1, "container": null, "metadata": {"x2": 1}, "thinking": {"type": "disabled", "x3": 1},
    "output_config": {"x4": 1, "format": {"type": "json_schema", "schema": {"free": 1}, "x5": 1}},
    "cache_control": {"type": "ephemeral", "x6": 1},
    "tools": [{"name": "f", "input_schema": {"free": 1}, "x7": 1, "cache_control": {"type": "ephemeral", "x8": 1}}],
    "tool_choice": {"type": "auto", "x9": 1}, "system": [{"type": "text", "text": "a", "x10": 1}],
    "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "x11": 1,
                                               "content": [{"type": "text", "text": "a", "x12": 1}]}], "x13": 1}]})json"));
  std::vector<std::string> warnings = messages.warnings;
  std::sort(warnings.begin(), warnings.end());
  std::vector<std::string> expected;
  for (const char* path :
       {"x1", "metadata.x2", "thinking.x3", "output_config.x4", "output_config.format.x5", "cache_control.x6",
        "tools[0].x7", "tools[0].cache_control.x8", "tool_choice.x9", "system[0].x10", "messages[0].content[0].x11",
        "messages[0].content[0].content[0].x12", "messages[0].x13"}) {
    expected.push_back(fmt::format("unknown field '{}' was ignored", path));
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(warnings, expected);
}

constexpr std::pair<const char*, const char*> kRefusals[] = {
    {R"({"max_tokens": null})", "max_tokens: is missing"},
    {R"({"max_tokens": -1})", "max_tokens: -1 is not an integer in 0..2147483647"},
    {R"({"messages": null})", "messages: is missing"},
    {R"({"messages": {}})", "messages: an object is not an array"},
    {R"({"messages": []})", "messages: is empty"},
    {R"({"messages": [1]})", "messages[0]: 1 is not an object"},
    {R"({"messages": [{"content": "a"}]})", "messages[0].role: is missing"},
    {R"({"messages": [{"role": "bot", "content": "a"}]})", "messages[0].role: 'bot' is not user"},
    {R"({"messages": [{"role": "user"}]})", "messages[0].content: is missing"},
    {R"({"messages": [{"role": "user", "content": 3}]})", "messages[0].content: 3 is not a string or an array"},
    {R"({"messages": [{"role": "user", "content": []}]})", "messages[0].content: is empty"},
    {R"({"messages": [{"role": "user", "content": [{}]}]})", "messages[0].content[0].type: is missing"},
    {R"({"messages": [{"role": "user", "content": [{"type": "image"}]}]})",
     "messages[0].content[0].type: 'image' is not supported, expected text or tool_result"},
    {R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})", "messages[0].content[0].text: is missing"},
    {R"({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "a"}]}]})",
     "messages[0].content[0].tool_use_id: is missing"},
    {R"({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1",
                                                      "content": [{"type": "image"}]}]}]})",
     "messages[0].content[0].content[0].type: 'image' is not supported, expected text"},
    {R"({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f"}]}]})",
     "messages[0].content[0].input: is missing"},
    {R"({"messages": [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}]})",
     "messages[0].content[0].type: 'redacted_thinking' is not supported"},
    {R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "The"}]})",
     "messages[1].role: the last turn is the assistant's"},
    {R"({"system": 3})", "system: 3 is not a string or an array"},
    {R"({"system": [{"type": "image"}]})", "system[0].type: 'image' is not supported, expected text"},
    {R"({"system": [{"type": "text", "text": "a", "cache_control": {"type": "eternal"}}]})",
     "system[0].cache_control.type: expected ephemeral"},
    {R"({"cache_control": {"type": "ephemeral", "ttl": "1d"}})", "cache_control.ttl: expected 5m or 1h"},
    {R"({"tools": [{"type": "bash_20250124", "name": "bash"}]})",
     "tools[0].type: 'bash_20250124' is not supported, expected custom"},
    {R"({"tools": [{"input_schema": {}}]})", "tools[0].name: is missing"},
    {R"({"tools": [{"name": "f"}]})", "tools[0].input_schema: is missing"},
    {R"({"tool_choice": {"type": "any"}})", "tool_choice: needs tools"},
    {R"({"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "tool"}})",
     "tool_choice.name: is missing"},
    {R"({"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "some"}})",
     "tool_choice.type: expected auto, any, tool or none"},
    {R"({"thinking": {"type": "enabled"}})", "thinking.budget_tokens: is missing"},
    {R"({"thinking": {"type": "enabled", "budget_tokens": 5}})", "thinking.budget_tokens: 5 is not an integer in 1024"},
    {R"({"thinking": {"type": "adaptive", "budget_tokens": 2000}})", "thinking.budget_tokens: needs type enabled"},
    {R"({"thinking": {"type": "on"}})", "thinking.type: expected"},
    {R"({"thinking": {"type": "adaptive", "display": "full"}})", "thinking.display: 'full' is not"},
    {R"({"output_config": {"format": {"type": "text"}}})", "output_config.format.type: expected json_schema"},
    {R"({"output_config": {"format": {"type": "json_schema"}}})", "output_config.format.schema: is missing"},
    {R"({"output_config": {"format": {"type": "json_schema", "schema": {}}},
           "output_format": {"type": "json_schema", "schema": {}}})",
     "output_format: only one of this and output_config.format"},
    {R"({"stop_sequences": "a"})", "stop_sequences: a string is not an array of strings"},
    {R"({"service_tier": "best"})", "service_tier: expected"},
    {R"({"temperature": 3})", "temperature: 3 is not in [0, 2]"},
    {R"({"priority": "first"})", "priority: 'first' is not"},
};

TEST(MessagesRequest, RefusalsNameTheField) {
  for (const auto& [changes, message] : kRefusals) {
    const absl::Status status = ParseMessagesRequest(Body(changes)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << changes;
    EXPECT_TRUE(MessageOf(status).starts_with(message)) << changes << ": " << status;
  }
  EXPECT_FALSE(ParseMessagesRequest("[]").ok());
}

TEST(MessagesRequest, CountsWithoutTheFieldsOfAnAnswer) {
  const absl::StatusOr<MessagesRequest> counted = ParseCountTokensRequest(Body(R"({"max_tokens": null})"));
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_TRUE(counted->warnings.empty());
  const absl::StatusOr<MessagesRequest> warned = ParseCountTokensRequest(Body(R"({"deadline_ms": 5})"));
  ASSERT_TRUE(warned.ok());
  EXPECT_EQ(warned->warnings, std::vector<std::string>{"unknown field 'max_tokens' was ignored"});
  EXPECT_EQ(warned->options.deadline, std::chrono::milliseconds(5));
}

}  // namespace
}  // namespace inferd::gateway
