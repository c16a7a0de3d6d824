#include "gateway/json/fields.h"

#include <boost/json/serialize.hpp>
#include <cmath>

#include "config/base/status.h"
#include "gateway/json/valid_text.h"

namespace inferd::gateway {

namespace json = boost::json;

std::string_view TypeName(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "a value";
}

std::string Shown(const json::value& value) {
  if (!value.is_primitive()) return std::string(TypeName(value));
  if (value.is_string()) return "a string";
  if (value.is_double()) return fmt::format("{}", value.get_double());
  std::string text = json::serialize(value);
  if (text.size() > 40) text.replace(40, std::string::npos, "...");
  return text;
}

std::optional<int64_t> AsInteger(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return std::nullopt;  // a uint64 that is not an int64 is out of every range
  double number = value.get_double();
  if (number != std::floor(number) || std::abs(number) > 9e15) return std::nullopt;
  return static_cast<int64_t>(number);
}

Fields::Fields(json::object object)
    : object_(std::move(object)), warnings_(std::make_shared<std::vector<std::string>>()) {}

Fields::~Fields() {
  if (warnings_ != nullptr) AddUnknown(*warnings_);
}

Fields Fields::Within(json::object object, std::string_view path) const {
  Fields inner(std::move(object));
  inner.prefix_ = std::string(path) + ".";
  inner.warnings_ = warnings_;
  return inner;
}

absl::Status Fields::WrongType(std::string_view name, const json::value& value, std::string_view expected) const {
  return InvalidField(PathOf(name), "{} is not {}", Shown(value), expected);
}

const json::value* Fields::Raw(std::string_view name) {
  known_.emplace(name);
  return Peek(name);
}

const json::value* Fields::Peek(std::string_view name) const {
  const json::value* value = object_.if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

void Fields::Ignore(std::string_view name) { known_.emplace(name); }

absl::StatusOr<std::optional<double>> Fields::Number(std::string_view name, Bounds bounds) {
  const json::value* value = Raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) return WrongType(name, *value, "a number");
  double number = value->to_number<double>();
  bool within = number >= bounds.least && number <= bounds.most && number > bounds.above;
  if (!within) {
    bool open = bounds.above >= bounds.least;
    return InvalidField(PathOf(name), "{} is not in {}{}, {}]", Shown(*value), open ? "(" : "[",
                        open ? bounds.above : bounds.least, bounds.most);
  }
  return number;
}

absl::StatusOr<std::optional<int64_t>> Fields::Integer(std::string_view name, int64_t least, int64_t most) {
  const json::value* value = Raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) return WrongType(name, *value, "an integer");
  std::optional<int64_t> number = AsInteger(*value);
  if (!number || *number < least || *number > most) {
    return InvalidField(PathOf(name), "{} is not an integer in {}..{}", Shown(*value), least, most);
  }
  return number;
}

absl::StatusOr<std::optional<bool>> Fields::Boolean(std::string_view name) {
  const json::value* value = Raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) return WrongType(name, *value, "a boolean");
  return value->get_bool();
}

absl::StatusOr<std::optional<std::string>> Fields::String(std::string_view name, size_t most) {
  const json::value* value = Raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return WrongType(name, *value, "a string");
  const json::string& text = value->get_string();
  if (text.size() > most) {
    return InvalidField(PathOf(name), "{} bytes are more than the {} allowed", text.size(), most);
  }
  return std::string(text.data(), text.size());
}

absl::StatusOr<std::vector<std::string>> Fields::Strings(std::string_view name, size_t most, size_t most_bytes) {
  std::vector<std::string> texts;
  const json::value* value = Raw(name);
  if (value == nullptr) return texts;
  if (!value->is_array()) return WrongType(name, *value, "an array of strings");
  const json::array& array = value->get_array();
  if (array.size() > most) {
    return InvalidField(PathOf(name), "{} texts are more than the {} allowed", array.size(), most);
  }
  for (const json::value& element : array) {
    if (!element.is_string()) return WrongType(name, element, "a string");
    const json::string& text = element.get_string();
    if (text.empty() || text.size() > most_bytes) {
      return InvalidField(PathOf(name), "a text of {} bytes, expected 1..{}", text.size(), most_bytes);
    }
    texts.emplace_back(text.data(), text.size());
  }
  return texts;
}

absl::StatusOr<std::optional<json::object>> Fields::Object(std::string_view name) {
  const json::value* value = Raw(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) return WrongType(name, *value, "an object");
  return value->get_object();
}

std::vector<std::string> Fields::Warnings() const {
  std::vector<std::string> warnings = *warnings_;
  AddUnknown(warnings);
  return warnings;
}

std::vector<std::string> Fields::Unknown() const {
  std::vector<std::string> names;
  for (const auto& field : object_) {
    std::string key(field.key().data(), field.key().size());
    if (!field.value().is_null() && !known_.contains(key)) names.push_back(std::move(key));
  }
  return names;
}

void Fields::AddUnknown(std::vector<std::string>& warnings) const {
  constexpr size_t kMaxWarnings = 16;
  for (const std::string& key : Unknown()) {
    if (warnings.size() >= kMaxWarnings) break;
    warnings.push_back(fmt::format("unknown field '{}{}' was ignored", prefix_, ValidText(key, 64)));
  }
}

}  // namespace inferd::gateway
