#include "gateway/json/partial_json.h"

#include <boost/json/parse.hpp>
#include <optional>
#include <string>

namespace inferd::gateway {
namespace {

namespace json = boost::json;

struct Closings {
  // All of it, and the brackets that close what is open.
  std::string at_end;
  // The same up to the last place where a value is sure to be complete: behind a bracket, before a comma.
  std::string at_value;
};

Closings Close(std::string_view text) {
  std::string open;  // the brackets that close what is open
  size_t end = 0;
  std::string closing;
  bool in_string = false;
  const auto can_close_at = [&](size_t place) {
    end = place;
    closing.assign(open.rbegin(), open.rend());
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ',') can_close_at(i);
    if (c == '{' || c == '[') open.push_back(c == '{' ? '}' : ']');
    if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
    if (c == '{' || c == '[' || c == '}' || c == ']') can_close_at(i + 1);
  }
  return {.at_end = std::string(text).append(open.rbegin(), open.rend()),
          .at_value = std::string(text.substr(0, end)) + closing};
}

std::optional<json::object> ObjectOf(std::string_view text) {
  json::parse_options options;
  options.max_depth = 256;
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

}  // namespace

json::object ParsePartialObject(std::string_view text) {
  const Closings closings = Close(text);
  if (std::optional<json::object> object = ObjectOf(closings.at_end)) return *std::move(object);
  return ObjectOf(closings.at_value).value_or(json::object());
}

}  // namespace inferd::gateway
