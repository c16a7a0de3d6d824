#include "worker/generic_calls.h"

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "engine/conversation/calls.h"
#include "engine/conversation/content.h"
#include "engine/output/answer_format.h"

namespace inferd::worker {
namespace {

namespace json = boost::json;

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

}  // namespace

void WriteGenericCalls(json::object& variables) {
  json::array& messages = variables.at("messages").get_array();
  conversation::FoldResults(messages);
  conversation::FoldCalls(messages);
  json::value* tools = variables.if_contains("tools");
  if (tools == nullptr || tools->get_array().empty()) return;
  const std::string text = Described(tools->get_array());
  variables.stable_erase("tools");
  const std::string_view role = messages.empty() ? "" : conversation::RoleOf(messages.front().get_object());
  if (role != "system" && role != "developer") {
    messages.insert(messages.begin(), json::object{{"role", "system"}, {"content", ""}});
  }
  conversation::AppendText(messages.front().get_object(), text, "\n\n");
}

}  // namespace inferd::worker
