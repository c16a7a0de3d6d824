#include "gateway/anthropic/content_blocks.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "config/base/status.h"
#include "gateway/json/valid_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr size_t kMaxTextBytes = size_t{1} << 31;
constexpr size_t kMaxNameBytes = 256;

void AddLine(std::string_view text, std::string& content) {
  if (!content.empty() && !text.empty()) content.push_back('\n');
  content.append(text);
}

absl::StatusOr<std::string> Required(Fields& fields, std::string_view name, size_t most) {
  ASSIGN_OR_RETURN(auto text, fields.String(name, most));
  if (!text) return InvalidField(fields.PathOf(name), "is missing");
  return *std::move(text);
}

absl::Status WrongType(const std::string& path, std::string_view type, std::string_view expected) {
  return InvalidField(fmt::format("{}.type", path), "'{}' is not supported, expected {}", ValidText(type, 64),
                      expected);
}

absl::Status ReadTextBlock(Fields& block, std::string& content) {
  ASSIGN_OR_RETURN(const std::string text, Required(block, "text", kMaxTextBytes));
  const json::value* citations = block.Peek("citations");
  if (citations != nullptr && citations->is_array() && citations->get_array().empty()) block.Ignore("citations");
  AddLine(text, content);
  return absl::OkStatus();
}

// Calls `read(block, type, path)` for each block of an array; a text stands for one block of it.
template <typename Read>
absl::Status ForEachBlock(const Fields& parent, const json::value& content, const std::string& path, Read read) {
  if (content.is_string()) {
    Fields block = parent.Within(json::object{{"type", "text"}, {"text", content}}, path);
    block.Ignore("type");
    return read(block, "text", path);
  }
  if (!content.is_array()) return InvalidField(path, "{} is not a string or an array of blocks", Shown(content));
  size_t index = 0;
  for (const json::value& value : content.get_array()) {
    const std::string place = fmt::format("{}[{}]", path, index++);
    if (!value.is_object()) return InvalidField(place, "{} is not an object", Shown(value));
    Fields block = parent.Within(value.get_object(), place);
    ASSIGN_OR_RETURN(const std::string type, Required(block, "type", 64));
    RETURN_IF_ERROR(ReadCacheControl(block));
    RETURN_IF_ERROR(read(block, type, place));
  }
  return absl::OkStatus();
}

absl::Status ReadTexts(const Fields& parent, const json::value& content, const std::string& path, std::string& into) {
  return ForEachBlock(parent, content, path,
                      [&](Fields& block, std::string_view type, const std::string& place) -> absl::Status {
                        return type == "text" ? ReadTextBlock(block, into) : WrongType(place, type, "text");
                      });
}

// That a tool failed is told by the text, as chat templates have no other way.
absl::Status ReadToolResult(Fields& block, v1::Message& message) {
  ASSIGN_OR_RETURN(*message.mutable_tool_call_id(), Required(block, "tool_use_id", kMaxNameBytes));
  ASSIGN_OR_RETURN(const auto failed, block.Boolean("is_error"));
  std::string text;
  const json::value* content = block.Raw("content");
  if (content != nullptr) RETURN_IF_ERROR(ReadTexts(block, *content, block.PathOf("content"), text));
  message.set_content(failed.value_or(false) ? "Error: " + text : text);
  return absl::OkStatus();
}

absl::Status ReadUserTurn(const Fields& turn, const json::value& content, const std::string& path,
                          Conversation& conversation) {
  v1::Message* user = nullptr;
  const size_t before = conversation.places.size();
  RETURN_IF_ERROR(ForEachBlock(turn, content, path + ".content",
                               [&](Fields& block, std::string_view type, const std::string& place) -> absl::Status {
                                 if (type == "tool_result") {
                                   user = nullptr;
                                   return ReadToolResult(block, conversation.Add(place, "tool"));
                                 }
                                 if (type != "text") return WrongType(place, type, "text or tool_result");
                                 if (user == nullptr) user = &conversation.Add(path, "user");
                                 return ReadTextBlock(block, *user->mutable_content());
                               }));
  if (conversation.places.size() == before) {
    return InvalidField(fmt::format("{}.content", path), "is empty, expected at least one block");
  }
  return absl::OkStatus();
}

absl::Status ReadToolUse(Fields& block, json::array& calls) {
  ASSIGN_OR_RETURN(const std::string id, Required(block, "id", kMaxNameBytes));
  ASSIGN_OR_RETURN(const std::string name, Required(block, "name", kMaxNameBytes));
  ASSIGN_OR_RETURN(const auto input, block.Object("input"));
  if (!input) return InvalidField(block.PathOf("input"), "is missing");
  json::object function{{"name", name}, {"arguments", json::serialize(*input)}};
  calls.push_back(json::object{{"id", id}, {"type", "function"}, {"function", std::move(function)}});
  return absl::OkStatus();
}

absl::Status ReadAssistantTurn(const Fields& turn, const json::value& content, const std::string& path,
                               v1::Message& message) {
  message.set_has_content(false);
  json::array calls;
  RETURN_IF_ERROR(ForEachBlock(turn, content, path + ".content",
                               [&](Fields& block, std::string_view type, const std::string& place) -> absl::Status {
                                 if (type == "tool_use") return ReadToolUse(block, calls);
                                 if (type == "thinking") {
                                   block.Ignore("signature");  // told to clients alone, which send it back
                                   ASSIGN_OR_RETURN(const std::string thinking,
                                                    Required(block, "thinking", kMaxTextBytes));
                                   AddLine(thinking, *message.mutable_reasoning_content());
                                   return absl::OkStatus();
                                 }
                                 if (type != "text") return WrongType(place, type, "text, thinking or tool_use");
                                 message.set_has_content(true);
                                 return ReadTextBlock(block, *message.mutable_content());
                               }));
  if (!calls.empty()) message.set_tool_calls_json(json::serialize(calls));
  return absl::OkStatus();
}

absl::Status ReadTurn(const Fields& parent, const json::value& value, const std::string& path,
                      Conversation& conversation) {
  if (!value.is_object()) return InvalidField(path, "{} is not an object", Shown(value));
  Fields turn = parent.Within(value.get_object(), path);
  ASSIGN_OR_RETURN(const std::string role, Required(turn, "role", 64));
  const json::value* content = turn.Raw("content");
  if (content == nullptr) return InvalidField(fmt::format("{}.content", path), "is missing");
  if (role == "user") return ReadUserTurn(turn, *content, path, conversation);
  if (role == "assistant") return ReadAssistantTurn(turn, *content, path, conversation.Add(path, role));
  if (role != "system") {
    return InvalidField(fmt::format("{}.role", path), "'{}' is not user, assistant or system", ValidText(role, 64));
  }
  return ReadTexts(turn, *content, path + ".content", *conversation.Add(path, role).mutable_content());
}

}  // namespace

absl::Status ReadCacheControl(Fields& fields) {
  ASSIGN_OR_RETURN(auto control, fields.Object("cache_control"));
  if (!control) return absl::OkStatus();
  Fields inner = fields.Within(*std::move(control), fields.PathOf("cache_control"));
  ASSIGN_OR_RETURN(const auto type, inner.String("type", 64));
  if (type.value_or("") != "ephemeral") return InvalidField(inner.PathOf("type"), "expected ephemeral");
  ASSIGN_OR_RETURN(const auto ttl, inner.String("ttl", 16));
  if (ttl && *ttl != "5m" && *ttl != "1h") return InvalidField(inner.PathOf("ttl"), "expected 5m or 1h");
  return absl::OkStatus();
}

v1::Message& Conversation::Add(std::string place, std::string role) {
  places.push_back(std::move(place));
  v1::Message& message = *prompt.add_messages();
  message.set_role(std::move(role));
  message.set_has_content(true);
  return message;
}

absl::Status ReadSystem(Fields& fields, Conversation& conversation) {
  const json::value* system = fields.Raw("system");
  if (system == nullptr) return absl::OkStatus();
  std::string text;
  RETURN_IF_ERROR(ReadTexts(fields, *system, "system", text));
  if (!text.empty()) conversation.Add("system", "system").set_content(std::move(text));
  return absl::OkStatus();
}

absl::Status ReadTurns(Fields& fields, Conversation& conversation) {
  const json::value* messages = fields.Raw("messages");
  if (messages == nullptr) return InvalidField("messages", "is missing");
  if (!messages->is_array()) return InvalidField("messages", "{} is not an array", Shown(*messages));
  const json::array& turns = messages->get_array();
  if (turns.empty()) return InvalidField("messages", "is empty, expected at least one message");
  for (size_t i = 0; i < turns.size(); ++i) {
    RETURN_IF_ERROR(ReadTurn(fields, turns[i], fmt::format("messages[{}]", i), conversation));
  }
  if (conversation.prompt.messages().rbegin()->role() == "assistant") {
    return InvalidField(fmt::format("messages[{}].role", turns.size() - 1),
                        "the last turn is the assistant's, which cannot be continued, expected one of the user");
  }
  return absl::OkStatus();
}

}  // namespace inferd::gateway
