#include "worker/generic_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

namespace inferd::worker {
namespace {

namespace json = boost::json;

// Each message as "role: content", and "TOOLS" where the template would see them.
std::string Shown(const char* variables_json) {
  json::object variables = json::parse(variables_json).get_object();
  WriteGenericCalls(variables);
  std::string text = variables.contains("tools") ? "TOOLS\n" : "";
  for (const json::value& message : variables.at("messages").get_array()) {
    EXPECT_FALSE(message.get_object().contains("tool_calls"));
    text +=
        std::string(message.at("role").get_string()) + ": " + std::string(message.at("content").get_string()) + "\n";
  }
  return text;
}

constexpr char kFunction[] = R"({"name":"f","description":"Does it.","parameters":{"type":"object"}})";

TEST(GenericCalls, FunctionsAreDescribedInTheSystemText) {
  const std::string tools =
      R"("tools": [{"type": "function", "function": {"name": "f", "description": "Does it.", "strict": true,
      "parameters": {"type": "object"}}}])";
  const std::string alone =
      Shown(("{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], " + tools + "}").c_str());
  EXPECT_TRUE(alone.starts_with("system: You can call")) << alone;
  EXPECT_NE(alone.find(std::string("\n") + kFunction + "\n"), alone.npos) << alone;
  EXPECT_NE(alone.find("<tool_call>{\"name\": "), alone.npos) << alone;
  EXPECT_TRUE(alone.ends_with("\nuser: Hi\n")) << alone;
  for (const char* role : {"system", "developer"}) {
    const std::string beside = Shown(fmt::format(R"({{"messages": [{{"role": "{}", "content": "Be kind."}},
        {{"role": "user", "content": "Hi"}}], {}}})",
                                                 role, tools)
                                         .c_str());
    EXPECT_TRUE(beside.starts_with(std::string(role) + ": Be kind.\n\nYou can call")) << beside;
    EXPECT_EQ(beside.find("system: ", 1), beside.npos) << beside;
  }
}

TEST(GenericCalls, CallsAndResultsOfEarlierTurnsBecomeText) {
  EXPECT_EQ(Shown(R"({"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1.50}"}},
        {"id": "2", "type": "function", "function": {"name": "g", "arguments": {"b": [2]}}}]},
      {"role": "tool", "tool_call_id": "1", "content": "one"}, {"role": "tool", "tool_call_id": "2", "content": "two"},
      {"role": "assistant", "content": "Done.", "tool_calls": [{"function": {"name": "h", "arguments": ""}}]},
      {"role": "tool", "content": "three"}]})"),
            "user: Hi\n"
            "assistant: <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1.50}}</tool_call>\n"
            "<tool_call>{\"name\": \"g\", \"arguments\": {\"b\":[2]}}</tool_call>\n"
            "user: Result of f:\n<tool_response>\none\n</tool_response>\n"
            "Result of g:\n<tool_response>\ntwo\n</tool_response>\n"
            "assistant: Done.\n<tool_call>{\"name\": \"h\", \"arguments\": {}}</tool_call>\n"
            "user: Result of h:\n<tool_response>\nthree\n</tool_response>\n");
}

TEST(GenericCalls, ArgumentsThatAreNoJsonStayText) {
  EXPECT_EQ(
      Shown(R"({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a"}},
      {"function": {"name": "g", "arguments": "null"}}, {"function": {"name": "h"}}]}]})"),
      "assistant: <tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\"}</tool_call>\n"
      "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>\n"
      "<tool_call>{\"name\": \"h\", \"arguments\": {}}</tool_call>\n");
}

}  // namespace
}  // namespace inferd::worker
