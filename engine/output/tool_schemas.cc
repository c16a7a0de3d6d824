#include "engine/output/tool_schemas.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <optional>

namespace inferd::output {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::optional<boost::json::value> ParseJson(std::string_view text) {
  boost::json::error_code error;
  boost::json::value json = boost::json::parse({text.data(), text.size()}, error);
  if (error) return std::nullopt;
  return json;
}

const boost::json::value* Member(const boost::json::value* value, const char* key) {
  return value != nullptr && value->is_object() ? value->get_object().if_contains(key) : nullptr;
}

}  // namespace

struct ToolSchemas::Data {
  std::map<std::string, std::map<std::string, JsonTypes, std::less<>>, std::less<>> types;  // tool, parameter: types
};

ToolSchemas::ToolSchemas() : data_(std::make_shared<const Data>()) {}
ToolSchemas::ToolSchemas(const ToolSchemas&) = default;
ToolSchemas& ToolSchemas::operator=(const ToolSchemas&) = default;
ToolSchemas::~ToolSchemas() = default;

ToolSchemas ToolSchemas::Parse(std::string_view tools_json) {
  auto data = std::make_shared<Data>();
  const std::optional<boost::json::value> json = ParseJson(tools_json);
  if (json && json->is_array()) {
    for (const boost::json::value& tool : json->get_array()) {
      const boost::json::value* function = Member(&tool, "function");
      const boost::json::value* name = Member(function, "name");
      if (name == nullptr || !name->is_string()) continue;
      auto& types = data->types[std::string(name->get_string())];
      const boost::json::value* parameters = Member(function, "parameters");
      const boost::json::value* properties = Member(parameters, "properties");
      if (properties == nullptr || !properties->is_object()) continue;
      for (const auto& [key, schema] : properties->get_object()) {
        types[std::string(key)] = TypesOfSchema(schema, parameters->get_object());
      }
    }
  }
  ToolSchemas schemas;
  schemas.data_ = std::move(data);
  return schemas;
}

bool ToolSchemas::empty() const { return data_->types.empty(); }
bool ToolSchemas::Has(std::string_view name) const { return data_->types.find(name) != data_->types.end(); }
bool ToolSchemas::HasNameThatBegins(std::string_view beginning) const {
  const auto found = data_->types.lower_bound(beginning);
  return found != data_->types.end() && found->first.starts_with(beginning);
}

JsonTypes ToolSchemas::TypesOf(std::string_view tool, std::string_view parameter) const {
  const auto found = data_->types.find(tool);
  if (found == data_->types.end()) return kJsonString;
  const auto known = found->second.find(parameter);
  return known != found->second.end() ? known->second : kJsonString;
}

std::string ToolSchemas::ToJson(std::string_view tool, std::string_view parameter, std::string_view text,
                                bool says_json) const {
  const JsonTypes types = TypesOf(tool, parameter);
  const auto quoted = [&] {
    return boost::json::serialize(boost::json::value(boost::json::string_view(text.data(), text.size())));
  };
  const std::string_view trimmed = Trimmed(text);
  // Strings are written as they are.
  if (!says_json && (types | kJsonNull) == (kJsonString | kJsonNull)) {
    return (types & kJsonNull) != 0 && trimmed == "null" ? "null" : quoted();
  }
  if (const std::optional<boost::json::value> value = ParseJson(trimmed)) {
    if ((TypeOfValue(*value) & types) != 0 || (types & kJsonString) == 0) return std::string(trimmed);
  }
  const bool is_boolean = (types & kJsonBoolean) != 0 && (trimmed == "True" || trimmed == "False");
  return is_boolean ? (trimmed == "True" ? "true" : "false") : quoted();
}

}  // namespace inferd::output
