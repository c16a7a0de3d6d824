#include "engine/template/json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/number.h"
#include "engine/template/sorting.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

Value FromJsonString(Heap& heap, std::string_view text, bool trusted) {
  return heap.String(Text(std::string(text), trusted));
}

// `depth` is checked here as well as by the heap: this function recurses before the containers are made.
absl::StatusOr<Value> Convert(Heap& heap, const boost::json::value& json, bool trusted, uint32_t depth) {
  RETURN_IF_ERROR(heap.Step());
  if (depth > Heap::kMaxValueDepth) {
    return ResourceExhausted("values are nested more than {} deep", Heap::kMaxValueDepth);
  }
  switch (json.kind()) {
    case boost::json::kind::null:
      return Value::None();
    case boost::json::kind::bool_:
      return Value::Bool(json.get_bool());
    case boost::json::kind::int64:
      return Value::Integer(json.get_int64());
    case boost::json::kind::uint64:
      if (json.get_uint64() > static_cast<uint64_t>(INT64_MAX)) {
        return InvalidArgument("the integer {} needs more than 64 bits", json.get_uint64());
      }
      return Value::Integer(static_cast<int64_t>(json.get_uint64()));
    case boost::json::kind::double_:
      return Value::Float(json.get_double());
    case boost::json::kind::string:
      return FromJsonString(heap, {json.get_string().data(), json.get_string().size()}, trusted);
    case boost::json::kind::array: {
      std::vector<Value> items;
      items.reserve(json.get_array().size());
      for (const boost::json::value& item : json.get_array()) {
        ASSIGN_OR_RETURN(Value value, Convert(heap, item, trusted, depth + 1));
        items.push_back(std::move(value));
      }
      return heap.List(std::move(items));
    }
    case boost::json::kind::object: {
      Dict dict;
      for (const auto& [key, item] : json.get_object()) {
        ASSIGN_OR_RETURN(Value value, Convert(heap, item, trusted, depth + 1));
        dict.SetNew(FromJsonString(heap, {key.data(), key.size()}, trusted), std::move(value));
      }
      return heap.OfDict(std::move(dict));
    }
  }
  return Value::None();
}

class JsonWriter {
 public:
  JsonWriter(Heap& heap, const JsonStyle& style) : heap_(heap), style_(style) {}

  absl::Status Write(const Value& value) {
    RETURN_IF_ERROR(heap_.Step());
    RETURN_IF_ERROR(heap_.CheckSize(out_.size()));
    switch (value.kind()) {
      case Kind::kNone:
        out_.Append("null", true);
        return absl::OkStatus();
      case Kind::kBool:
        out_.Append(value.boolean() ? "true" : "false", true);
        return absl::OkStatus();
      case Kind::kInteger:
        out_.Append(fmt::format_int(value.integer()).c_str(), true);
        return absl::OkStatus();
      case Kind::kFloat:
        out_.Append(FloatSpelling(value.number()), true);
        return absl::OkStatus();
      case Kind::kString:
        return WriteString(value.text());
      case Kind::kList:
      case Kind::kTuple:
        return WriteItems(value.items());
      case Kind::kDict:
        return WriteDict(value.dict());
      default:
        return InvalidArgument("Object of type {} is not JSON serializable", value.TypeName());
    }
  }
  Text Take() { return std::move(out_); }

 private:
  static std::string FloatSpelling(double number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    return FormatFloat(number);
  }

  std::string EscapeOf(char32_t point) const {
    constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b";
    constexpr std::string_view kLetters = "\"\\nrtfb";
    if (point < 0x80) {
      const size_t found = kEscaped.find(static_cast<char>(point));
      if (found != kEscaped.npos) return std::string("\\") + kLetters[found];
      if (point < 0x20 || (style_.ascii && point == 0x7F))
        return fmt::format("\\u{:04x}", static_cast<uint32_t>(point));
      return "";
    }
    if (!style_.ascii) return "";
    const auto number = static_cast<uint32_t>(point);
    if (number <= 0xFFFF) return fmt::format("\\u{:04x}", number);
    const uint32_t offset = number - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
  }

  absl::Status WriteString(const Text& text) {
    RETURN_IF_ERROR(heap_.CheckString(text.size()));
    out_.Append("\"", true);
    const std::string& bytes = text.bytes();
    size_t copied = 0;
    for (size_t offset = 0; offset < bytes.size();) {
      const size_t begin = offset;
      const std::string escape = EscapeOf(NextCodePoint(bytes, offset));
      if (escape.empty()) continue;
      out_.AppendSlice(text, copied, begin);
      out_.Append(escape, text.TrustedAt(begin));
      copied = offset;
    }
    out_.AppendSlice(text, copied, bytes.size());
    out_.Append("\"", true);
    return absl::OkStatus();
  }

  // Between two elements, and with indentation before the first and after the last.
  absl::Status Break() {
    if (!style_.indent) return absl::OkStatus();
    out_.Append("\n", true);
    RETURN_IF_ERROR(heap_.CheckString(style_.indent->size() * level_));
    RETURN_IF_ERROR(heap_.CheckSize(out_.size() + style_.indent->size() * level_));
    for (size_t i = 0; i < level_; ++i) out_.Append(*style_.indent);
    return absl::OkStatus();
  }

  absl::Status WriteItems(const std::vector<Value>& items) {
    out_.Append("[", true);
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.Append(style_.item_separator);
      RETURN_IF_ERROR(Break());
      RETURN_IF_ERROR(Write(items[i]));
    }
    --level_;
    if (!items.empty()) RETURN_IF_ERROR(Break());
    out_.Append("]", true);
    return absl::OkStatus();
  }

  absl::Status WriteKey(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        return WriteString(key.text());
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInteger:
      case Kind::kFloat:
        out_.Append("\"", true);
        RETURN_IF_ERROR(Write(key));
        out_.Append("\"", true);
        return absl::OkStatus();
      default:
        return InvalidArgument("keys must be str, int, float, bool or None, not {}", key.TypeName());
    }
  }

  absl::Status WriteDict(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sorted) {
      RETURN_IF_ERROR(SortStably(
          entries, [this](const Dict::Entry* a, const Dict::Entry* b) { return IsLess(heap_, a->first, b->first); }));
    }
    out_.Append("{", true);
    ++level_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.Append(style_.item_separator);
      RETURN_IF_ERROR(Break());
      RETURN_IF_ERROR(WriteKey(entries[i]->first));
      out_.Append(style_.key_separator);
      RETURN_IF_ERROR(Write(entries[i]->second));
    }
    --level_;
    if (!entries.empty()) RETURN_IF_ERROR(Break());
    out_.Append("}", true);
    return absl::OkStatus();
  }

  Heap& heap_;
  const JsonStyle& style_;
  Text out_;
  size_t level_ = 0;
};

}  // namespace

absl::StatusOr<Value> FromJson(Heap& heap, const boost::json::value& json, bool trusted) {
  return Convert(heap, json, trusted, 0);
}

absl::StatusOr<Text> ToJson(Heap& heap, const Value& value, const JsonStyle& style) {
  JsonWriter writer(heap, style);
  RETURN_IF_ERROR(writer.Write(value));
  return writer.Take();
}

}  // namespace inferd::chat_template
