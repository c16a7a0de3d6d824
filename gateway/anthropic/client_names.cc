#include "gateway/anthropic/client_names.h"

#include <algorithm>
#include <charconv>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/api/field_names.h"

namespace inferd::gateway {
namespace {

constexpr FieldName kNames[] = {
    {"prompt", "messages"},
    {"chat.messages", "messages"},
    {"chat.tools_json", "tools"},
    {"chat.tool_choice_json", "tool_choice"},
    {"chat.template_arguments_json", "thinking"},
    {"chat", "messages"},
    {"stop", "stop_sequences"},
};

// "chat.messages[3].reasoning_content: ..." with the place of that message. All but the role is in its content.
std::string NameMessage(std::string_view message, const std::vector<std::string>& places) {
  constexpr std::string_view kStart = "chat.messages[";
  size_t index = 0;
  const char* end = message.data() + message.size();
  const auto parsed = std::from_chars(message.data() + kStart.size(), end, index);
  if (parsed.ec != std::errc() || index >= places.size() || parsed.ptr == end || *parsed.ptr != ']') return "";
  std::string_view rest(parsed.ptr + 1, static_cast<size_t>(end - parsed.ptr - 1));
  const std::string_view field = rest.substr(0, rest.find(": "));
  rest.remove_prefix(field.size());
  if (field.empty() || places[index] == "system") return fmt::format("{}{}", places[index], rest);
  return fmt::format("{}.{}{}", places[index], field == ".role" ? "role" : "content", rest);
}

// "chat.tools_json[3].function.parameters.a: ..." with the names that the client's form of a tool has.
std::string NameTool(std::string_view message) {
  constexpr std::string_view kStart = "chat.tools_json";
  constexpr FieldName kParts[] = {{".function.parameters", ".input_schema"}, {".function", ""}};
  message.remove_prefix(kStart.size());
  const size_t bracket = std::min(message.find(']'), message.size() - 1) + 1;
  std::string_view rest = message.substr(bracket);
  std::string_view renamed;
  for (const FieldName& part : kParts) {
    if (!rest.starts_with(part.ours)) continue;
    rest.remove_prefix(part.ours.size());
    renamed = part.theirs;
    break;
  }
  return fmt::format("tools{}{}{}", message.substr(0, bracket), renamed, rest);
}

}  // namespace

absl::Status ClientNames::Rename(const absl::Status& status) const {
  const std::string_view message = MessageOf(status);
  std::string renamed;
  if (message.starts_with("chat.messages[")) renamed = NameMessage(message, messages);
  if (message.starts_with("chat.tools_json[")) renamed = NameTool(message);
  if (!renamed.empty()) return WithDetailsOf(status, absl::Status(status.code(), renamed));
  return WithFieldNames(WithConstraintName(status, constraint), kNames);
}

}  // namespace inferd::gateway
