#include "worker/generic_calls.h"

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "engine/output/answer_format.h"

namespace inferd::worker {
namespace {

namespace json = boost::json;

std::string TextOf(const json::object& message) {
  const json::value* content = message.if_contains("content");
  if (content == nullptr || !content->is_string()) return "";
  return std::string(content->get_string());
}

std::string Joined(std::string text, std::string_view separator, std::string_view added) {
  if (!text.empty()) text += separator;
  return text.append(added);
}

bool IsRole(const json::value& message, std::string_view role) {
  const json::object* object = message.if_object();
  const json::value* value = object != nullptr ? object->if_contains("role") : nullptr;
  return value != nullptr && value->is_string() && std::string_view(value->get_string()) == role;
}

std::string Described(const json::array& tools) {
  const output::CallSyntax& form = output::GenericCalls();
  std::string text = "You can call the following functions. Each line describes one as JSON:\n";
  for (const json::value& tool : tools) {
    const json::object* object = tool.if_object();
    const json::value* function = object != nullptr ? object->if_contains("function") : nullptr;
    json::value described = function != nullptr ? *function : tool;
    if (described.is_object()) described.get_object().stable_erase("strict");
    text += json::serialize(described) + "\n";
  }
  text += "\nTo call a function, write a JSON object with its name and its arguments between ";
  text.append(form.open).append(" and ").append(form.close).append(", and nothing behind it:\n").append(form.open);
  text.append("{\"name\": \"the function's name\", \"arguments\": {\"parameter\": \"value\"}}").append(form.close);
  text += "\nThe results come in the next message, between <tool_response> and </tool_response>.";
  return text;
}

// {"name": ..., "arguments": ...} of a call in OpenAI's form, whose arguments may be a text that holds JSON.
std::string WrittenCall(const json::value& call) {
  const json::object* object = call.if_object();
  const json::value* inside = object != nullptr ? object->if_contains("function") : nullptr;
  const json::object* function = inside != nullptr ? inside->if_object() : object;
  const json::value* name = function != nullptr ? function->if_contains("name") : nullptr;
  const json::value* arguments = function != nullptr ? function->if_contains("arguments") : nullptr;
  std::string written = "{}";
  if (arguments != nullptr && arguments->is_string()) {
    json::error_code error;
    const json::value parsed = json::parse(arguments->get_string(), error);
    // What is no JSON stays the text that it is.
    if (!error && !parsed.is_null()) written = std::string(arguments->get_string());
    if (error && !arguments->get_string().empty()) written = json::serialize(*arguments);
  } else if (arguments != nullptr && !arguments->is_null()) {
    written = json::serialize(*arguments);
  }
  return "{\"name\": " + json::serialize(name != nullptr ? *name : json::value("")) + ", \"arguments\": " + written +
         "}";
}

void WriteCalls(json::object& message) {
  const output::CallSyntax& form = output::GenericCalls();
  const json::value calls = message.at("tool_calls");
  message.stable_erase("tool_calls");
  std::string text = TextOf(message);
  if (calls.is_array()) {
    for (const json::value& call : calls.get_array()) {
      text = Joined(std::move(text), "\n", std::string(form.open) + WrittenCall(call) + std::string(form.close));
    }
  }
  message["content"] = text;
}

// The messages with their calls and results as text.
json::array Written(json::array messages) {
  json::array written;
  bool after_result = false;
  for (json::value& message : messages) {
    const bool is_result = IsRole(message, "tool") || IsRole(message, "function");
    if (is_result) {
      const std::string text = "<tool_response>\n" + TextOf(message.get_object()) + "\n</tool_response>";
      if (after_result) {
        json::object& last = written.back().get_object();
        last["content"] = Joined(TextOf(last), "\n", text);
      } else {
        written.push_back({{"role", "user"}, {"content", text}});
      }
    } else {
      if (json::object* object = message.if_object(); object != nullptr && object->contains("tool_calls")) {
        WriteCalls(*object);
      }
      written.push_back(std::move(message));
    }
    after_result = is_result;
  }
  return written;
}

}  // namespace

void WriteGenericCalls(json::object& variables) {
  json::value* messages = variables.if_contains("messages");
  if (messages == nullptr || !messages->is_array()) return;
  json::array written = Written(std::move(messages->get_array()));
  json::value* tools = variables.if_contains("tools");
  if (tools != nullptr && tools->is_array() && !tools->get_array().empty()) {
    const std::string text = Described(tools->get_array());
    variables.stable_erase("tools");
    const bool has_system =
        !written.empty() && (IsRole(written.front(), "system") || IsRole(written.front(), "developer"));
    if (!has_system) written.insert(written.begin(), json::object{{"role", "system"}, {"content", ""}});
    json::object& system = written.front().get_object();
    system["content"] = Joined(TextOf(system), "\n\n", text);
  }
  variables["messages"] = std::move(written);
}

}  // namespace inferd::worker
