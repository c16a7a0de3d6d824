#include "engine/conversation/marks.h"

#include <charconv>
#include <utility>

#include "config/base/status.h"
#include "engine/conversation/content.h"

namespace inferd::conversation {
namespace {

namespace json = boost::json;

constexpr std::string_view kBegin = "Zqm";
constexpr char kEnd = 'z';
constexpr size_t kDigits = 8;

// A message without its texts, which may be long.
json::object WithoutTexts(const json::object& message) {
  json::object copy;
  for (const auto& [key, value] : message) {
    const bool is_text = key == "content" || key == "reasoning_content";
    copy[key] = is_text && value.is_string() && !IsBlank({value.get_string().data(), value.get_string().size()})
                    ? json::value("?")
                    : value;
  }
  return copy;
}

}  // namespace

MarkedConversation::MarkedConversation(const json::array& messages) {
  messages_.reserve(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    json::object message = WithoutTexts(messages[i].get_object());
    MarkField(message, i, "content", /*required=*/true);
    MarkField(message, i, "reasoning_content", /*required=*/false);
    if (RoleOf(message) != "tool") MarkField(message, i, "name", /*required=*/false);
    if (json::array* calls = CallsOf(message)) {
      for (json::value& call : *calls) {
        json::object* function = FunctionOf(call);
        json::value* arguments = function != nullptr ? function->if_contains("arguments") : nullptr;
        if (arguments != nullptr) MarkLeaves(*arguments, i);
      }
    }
    messages_.push_back(std::move(message));
  }
}

std::string MarkedConversation::Add(size_t message, std::string_view field, bool required) {
  marks_.push_back({message, std::string(field), required});
  return fmt::format("{}{:0{}}{}", kBegin, marks_.size() - 1, kDigits, kEnd);
}

void MarkedConversation::MarkField(json::object& message, size_t index, std::string_view field, bool required) {
  if (IsBlank(StringAt(message, field))) return;
  message[{field.data(), field.size()}] = Add(index, field, required);
}

void MarkedConversation::MarkLeaves(json::value& value, size_t index) {
  if (value.is_string()) {
    if (!IsBlank({value.get_string().data(), value.get_string().size()})) value = Add(index, "tool_calls", true);
  } else if (value.is_array()) {
    for (json::value& item : value.get_array()) MarkLeaves(item, index);
  } else if (value.is_object()) {
    for (auto& [key, item] : value.get_object()) MarkLeaves(item, index);
  }
}

std::vector<Mark> MarkedConversation::MissingIn(std::string_view prompt) const {
  std::vector<bool> seen(marks_.size());
  for (size_t at = prompt.find(kBegin); at != std::string_view::npos; at = prompt.find(kBegin, at + 1)) {
    const size_t digits = at + kBegin.size();
    if (digits + kDigits >= prompt.size() || prompt[digits + kDigits] != kEnd) continue;
    size_t number = 0;
    const char* const end = prompt.data() + digits + kDigits;
    const auto [stop, error] = std::from_chars(prompt.data() + digits, end, number);
    if (error == std::errc() && stop == end && number < seen.size()) seen[number] = true;
  }
  std::vector<Mark> missing;
  for (size_t i = 0; i < marks_.size(); ++i) {
    if (!seen[i]) missing.push_back(marks_[i]);
  }
  return missing;
}

}  // namespace inferd::conversation
