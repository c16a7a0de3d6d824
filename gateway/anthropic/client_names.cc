#include "gateway/anthropic/client_names.h"

#include <algorithm>
#include <charconv>

#include "config/base/status.h"
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

// "chat.messages[3].reasoning_content" with the place of that message. All but the role is in its content.
std::string NameMessage(std::string_view field, const std::vector<std::string>& places) {
  constexpr std::string_view kStart = "chat.messages[";
  size_t index = 0;
  const char* end = field.data() + field.size();
  const auto parsed = std::from_chars(field.data() + kStart.size(), end, index);
  if (parsed.ec != std::errc() || index >= places.size() || parsed.ptr == end || *parsed.ptr != ']') return "";
  const std::string_view rest(parsed.ptr + 1, static_cast<size_t>(end - parsed.ptr - 1));
  if (rest.empty() || places[index] == "system") return places[index];
  return fmt::format("{}.{}", places[index], rest == ".role" ? "role" : "content");
}

// "chat.tools_json[3].function.parameters.a" with the names that the client's form of a tool has.
std::string NameTool(std::string_view field) {
  constexpr std::string_view kStart = "chat.tools_json";
  constexpr FieldName kParts[] = {{".function.parameters", ".input_schema"}, {".function", ""}};
  field.remove_prefix(kStart.size());
  const size_t bracket = std::min(field.find(']'), field.size() - 1) + 1;
  std::string_view rest = field.substr(bracket);
  std::string_view renamed;
  for (const FieldName& part : kParts) {
    if (!rest.starts_with(part.ours)) continue;
    rest.remove_prefix(part.ours.size());
    renamed = part.theirs;
    break;
  }
  return fmt::format("tools{}{}{}", field.substr(0, bracket), renamed, rest);
}

}  // namespace

std::string ClientNames::NameOf(std::string_view field) const {
  std::string name;
  if (field.starts_with("chat.messages[")) name = NameMessage(field, messages);
  if (field.starts_with("chat.tools_json[")) name = NameTool(field);
  return name.empty() ? ClientName(ConstraintName(field, constraint), kNames) : name;
}

absl::Status ClientNames::Rename(const absl::Status& status) const {
  return WithField(status, NameOf(FieldOf(status)));
}

}  // namespace inferd::gateway
