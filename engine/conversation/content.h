// The content of messages in JSON: a string, or null.
//
//   std::string_view text = TextOf(message);
//   AppendText(message, "more", "\n\n");
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace inferd::conversation {

inline std::string_view StringAt(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

inline std::string_view TextOf(const boost::json::object& message) { return StringAt(message, "content"); }
inline std::string_view RoleOf(const boost::json::object& message) { return StringAt(message, "role"); }

inline bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

// The calls of an assistant message; null if it has none.
inline boost::json::array* CallsOf(boost::json::object& message) {
  boost::json::value* calls = message.if_contains("tool_calls");
  return calls != nullptr && calls->is_array() && !calls->get_array().empty() ? &calls->get_array() : nullptr;
}
inline const boost::json::array* CallsOf(const boost::json::object& message) {
  return CallsOf(const_cast<boost::json::object&>(message));
}

// Where name and arguments of a call are: its "function", or the call itself.
inline boost::json::object* FunctionOf(boost::json::value& call) {
  boost::json::object* object = call.if_object();
  if (object == nullptr) return nullptr;
  boost::json::value* function = object->if_contains("function");
  return function != nullptr && function->is_object() ? &function->get_object() : object;
}

inline void AppendText(boost::json::object& message, std::string_view text, std::string_view separator) {
  if (text.empty()) return;
  std::string joined(TextOf(message));
  if (!joined.empty()) joined += separator;
  message["content"] = joined.append(text);
}

// For templates that know no other form.
inline void ContentAsParts(boost::json::array& messages) {
  for (boost::json::value& value : messages) {
    boost::json::object& message = value.get_object();
    boost::json::value* content = message.if_contains("content");
    if (content == nullptr || !content->is_string()) continue;
    boost::json::object part{{"type", "text"}, {"text", std::move(*content)}};
    *content = boost::json::array{std::move(part)};
  }
}

}  // namespace inferd::conversation
