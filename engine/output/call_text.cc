#include "engine/output/call_text.h"

#include <boost/json.hpp>
#include <map>

#include "engine/output/json_scan.h"

namespace inferd::output {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<boost::json::value> ParseJson(std::string_view text) {
  boost::json::error_code error;
  boost::json::value json = boost::json::parse({text.data(), text.size()}, error);
  if (error) return std::nullopt;
  return json;
}

// The value of a key in the text of an object, exactly as it was written: numbers keep their spelling.
std::optional<std::string_view> WrittenMember(std::string_view object, std::string_view wanted) {
  size_t at = object.find('{') + 1;
  while (true) {
    at = object.find('"', at);
    if (at == object.npos) return std::nullopt;
    const size_t key_end = EndOfJson(object, at);
    if (key_end == object.npos) return std::nullopt;
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    size_t begin = object.find_first_not_of(": \t\r\n", key_end);
    if (begin == object.npos) return std::nullopt;
    const bool is_long = object[begin] == '{' || object[begin] == '[' || object[begin] == '"';
    const size_t end = is_long ? EndOfJson(object, begin) : object.find_first_of(",}", begin);
    if (end == object.npos) return std::nullopt;
    if (key == wanted) return Trimmed(object.substr(begin, end - begin));
    at = end;
  }
}

// {"name": ..., "arguments" or "parameters": ...}, `text` being the object as it was written.
std::optional<Call> ReadObject(std::string_view text) {
  const std::optional<boost::json::value> json = ParseJson(text);
  if (!json || !json->is_object()) return std::nullopt;
  const boost::json::object& object = json->get_object();
  const boost::json::value* name = object.if_contains("name");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  for (const char* key : {"arguments", "parameters"}) {
    const boost::json::value* arguments = object.if_contains(key);
    if (arguments == nullptr) continue;
    Call call{std::string(name->get_string()), "{}"};
    if (arguments->is_string()) {
      call.arguments = std::string(arguments->get_string());
    } else if (const std::optional<std::string_view> written = WrittenMember(text, key);
               written && !arguments->is_null()) {
      call.arguments = std::string(*written);
    }
    return call;
  }
  return Call{std::string(name->get_string()), "{}"};
}

std::optional<std::vector<Call>> ReadJson(std::string_view text) {
  text = Trimmed(text);
  std::vector<Call> calls;
  if (text.starts_with('[')) {
    if (!ParseJson(text)) return std::nullopt;
    for (size_t at = text.find('{'); at != text.npos; at = text.find('{', at)) {
      const size_t end = EndOfJson(text, at);
      if (end == text.npos) return std::nullopt;
      std::optional<Call> call = ReadObject(text.substr(at, end - at));
      if (!call) return std::nullopt;
      calls.push_back(*std::move(call));
      at = end;
    }
  } else if (std::optional<Call> call = ReadObject(text)) {
    calls.push_back(*std::move(call));
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

// NAME mark JSON. DeepSeek R1 writes "function", the mark, the name and the JSON in a code block; Kimi writes
// "functions.NAME:0"; Mistral may put "[CALL_ID]id" behind the name.
std::optional<std::vector<Call>> ReadNamed(std::string_view text, std::string_view name_end) {
  const size_t mark = text.find(name_end);
  if (mark == text.npos) return std::nullopt;
  std::string_view name = Trimmed(text.substr(0, mark));
  std::string_view rest = Trimmed(text.substr(mark + name_end.size()));
  if (name == "function" && !rest.starts_with('{')) {
    name = Trimmed(rest.substr(0, rest.find('\n')));
    rest = rest.substr(std::min(rest.find('{'), rest.size()));
    const size_t end = rest.empty() ? rest.npos : EndOfJson(rest, 0);
    rest = rest.substr(0, end);
  }
  name = name.substr(0, name.find("[CALL_ID]"));
  if (name.starts_with("functions.")) {
    name.remove_prefix(10);
    name = name.substr(0, name.rfind(':'));
  }
  if (rest.empty()) rest = "{}";
  if (name.empty() || !ParseJson(rest)) return std::nullopt;
  return std::vector<Call>{{std::string(name), std::string(rest)}};
}

// The text between two marks, and where the second ends.
struct Span {
  std::string_view text;
  size_t end;
};
std::optional<Span> Between(std::string_view text, size_t from, std::string_view open, std::string_view close) {
  const size_t begin = text.find(open, from);
  if (begin == text.npos) return std::nullopt;
  const size_t end = text.find(close, begin + open.size());
  if (end == text.npos) return std::nullopt;
  return Span{text.substr(begin + open.size(), end - begin - open.size()), end + close.size()};
}

std::string WriteObject(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string json = "{";
  for (const auto& [key, value] : members) {
    if (json.size() > 1) json += ", ";
    json += boost::json::serialize(boost::json::value(boost::json::string_view(key.data(), key.size()))) + ": " + value;
  }
  return json + "}";
}

// A value in its own lines: without the line breaks next to the marks.
std::string_view WithoutOuterBreaks(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

std::optional<std::vector<Call>> ReadFunctions(std::string_view text, const ToolSchemas& tools) {
  std::vector<Call> calls;
  for (size_t at = 0;;) {
    const std::optional<Span> function = Between(text, at, "<function=", "</function>");
    if (!function) break;
    const size_t name_end = function->text.find('>');
    if (name_end == function->text.npos) return std::nullopt;
    const std::string name(function->text.substr(0, name_end));
    std::vector<std::pair<std::string, std::string>> members;
    for (size_t inner = name_end;;) {
      const std::optional<Span> parameter = Between(function->text, inner, "<parameter=", "</parameter>");
      if (!parameter) break;
      const size_t key_end = parameter->text.find('>');
      if (key_end == parameter->text.npos) return std::nullopt;
      const std::string key(parameter->text.substr(0, key_end));
      members.emplace_back(key, tools.ToJson(name, key, WithoutOuterBreaks(parameter->text.substr(key_end + 1))));
      inner = parameter->end;
    }
    calls.push_back({name, WriteObject(members)});
    at = function->end;
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

std::optional<std::vector<Call>> ReadArguments(std::string_view text, const ToolSchemas& tools) {
  const std::string name(Trimmed(text.substr(0, std::min(text.find('<'), text.find('\n')))));
  if (name.empty() || name.starts_with('{')) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> members;
  for (size_t at = 0;;) {
    const std::optional<Span> key = Between(text, at, "<arg_key>", "</arg_key>");
    if (!key) break;
    const std::optional<Span> value = Between(text, key->end, "<arg_value>", "</arg_value>");
    if (!value) return std::nullopt;
    const std::string key_name(Trimmed(key->text));
    members.emplace_back(key_name, tools.ToJson(name, key_name, WithoutOuterBreaks(value->text)));
    at = value->end;
  }
  return std::vector<Call>{{name, WriteObject(members)}};
}

}  // namespace

struct ToolSchemas::Data {
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> types;  // tool, parameter: type
};

ToolSchemas::ToolSchemas() : data_(std::make_shared<const Data>()) {}
ToolSchemas::ToolSchemas(const ToolSchemas&) = default;
ToolSchemas& ToolSchemas::operator=(const ToolSchemas&) = default;
ToolSchemas::~ToolSchemas() = default;

ToolSchemas ToolSchemas::Parse(std::string_view tools_json) {
  auto data = std::make_shared<Data>();
  const auto member = [](const boost::json::value* value, const char* key) -> const boost::json::value* {
    return value != nullptr && value->is_object() ? value->get_object().if_contains(key) : nullptr;
  };
  const std::optional<boost::json::value> json = ParseJson(tools_json);
  if (json && json->is_array()) {
    for (const boost::json::value& tool : json->get_array()) {
      const boost::json::value* function = member(&tool, "function");
      const boost::json::value* name = member(function, "name");
      if (name == nullptr || !name->is_string()) continue;
      auto& types = data->types[std::string(name->get_string())];
      const boost::json::value* properties = member(member(function, "parameters"), "properties");
      if (properties == nullptr || !properties->is_object()) continue;
      for (const auto& [key, schema] : properties->get_object()) {
        const boost::json::value* type = member(&schema, "type");
        types[std::string(key)] = type != nullptr && type->is_string() ? std::string(type->get_string()) : "";
      }
    }
  }
  ToolSchemas schemas;
  schemas.data_ = std::move(data);
  return schemas;
}

bool ToolSchemas::empty() const { return data_->types.empty(); }
bool ToolSchemas::Has(std::string_view name) const { return data_->types.find(name) != data_->types.end(); }

std::string ToolSchemas::ToJson(std::string_view tool, std::string_view parameter, std::string_view text) const {
  std::string type = "string";
  if (const auto found = data_->types.find(tool); found != data_->types.end()) {
    if (const auto known = found->second.find(parameter); known != found->second.end()) type = known->second;
  }
  if (type != "string") {
    const std::string_view trimmed = Trimmed(text);
    if (ParseJson(trimmed)) return std::string(trimmed);
    if (type == "boolean" && (trimmed == "True" || trimmed == "False")) return trimmed == "True" ? "true" : "false";
  }
  return boost::json::serialize(boost::json::value(boost::json::string_view(text.data(), text.size())));
}

std::optional<std::vector<Call>> ReadCalls(const CallSyntax& syntax, std::string_view text, const ToolSchemas& tools) {
  switch (syntax.body) {
    case CallBody::kJson:
      return ReadJson(text);
    case CallBody::kNamedJson:
      return ReadNamed(text, syntax.name_end);
    case CallBody::kFunctions:
      return ReadFunctions(text, tools);
    case CallBody::kArguments:
      return ReadArguments(text, tools);
  }
  return std::nullopt;
}

}  // namespace inferd::output
