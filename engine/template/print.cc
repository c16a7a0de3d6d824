#include "engine/template/print.h"

#include <string>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/number.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

// The escape of a code point in the repr of a string that is quoted with `quote`; empty: it stands for itself.
std::string ReprEscape(char32_t point, char quote) {
  switch (point) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  if (point == static_cast<unsigned char>(quote)) return std::string("\\") + quote;
  if (IsPrintable(point)) return "";
  const auto number = static_cast<uint32_t>(point);
  if (number <= 0xFF) return fmt::format("\\x{:02x}", number);
  if (number <= 0xFFFF) return fmt::format("\\u{:04x}", number);
  return fmt::format("\\U{:08x}", number);
}

void AppendQuoted(const Text& text, Text& out) {
  const std::string& bytes = text.bytes();
  const bool has_single = bytes.find('\'') != std::string::npos;
  const char quote = has_single && bytes.find('"') == std::string::npos ? '"' : '\'';
  out.Append(std::string_view(&quote, 1), true);
  size_t copied = 0;
  for (size_t offset = 0; offset < bytes.size();) {
    const size_t begin = offset;
    const std::string escape = ReprEscape(NextCodePoint(bytes, offset), quote);
    if (escape.empty()) continue;
    out.AppendSlice(text, copied, begin);
    out.Append(escape, text.TrustedAt(begin));
    copied = offset;
  }
  out.AppendSlice(text, copied, bytes.size());
  out.Append(std::string_view(&quote, 1), true);
}

absl::Status AppendItems(Heap& heap, const std::vector<Value>& items, Text& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.Append(", ", true);
    RETURN_IF_ERROR(AppendRepr(heap, items[i], out));
  }
  return absl::OkStatus();
}

absl::Status AppendDict(Heap& heap, const Dict& dict, Text& out) {
  out.Append("{", true);
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out.Append(", ", true);
    first = false;
    RETURN_IF_ERROR(AppendRepr(heap, key, out));
    out.Append(": ", true);
    RETURN_IF_ERROR(AppendRepr(heap, value, out));
  }
  out.Append("}", true);
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendRepr(Heap& heap, const Value& value, Text& out) {
  const Heap::Level level(heap);  // namespaces may hold themselves
  RETURN_IF_ERROR(level.Check());
  RETURN_IF_ERROR(heap.Step());
  switch (value.kind()) {
    case Kind::kUndefined:
      out.Append("Undefined", true);
      break;
    case Kind::kNone:
      out.Append("None", true);
      break;
    case Kind::kBool:
      out.Append(value.boolean() ? "True" : "False", true);
      break;
    case Kind::kInteger:
      out.Append(fmt::format_int(value.integer()).c_str(), true);
      break;
    case Kind::kFloat:
      out.Append(FormatFloat(value.number()), true);
      break;
    case Kind::kString:
      RETURN_IF_ERROR(heap.CheckString(value.text().size()));
      if (value.string().markup) out.Append("Markup(", true);
      AppendQuoted(value.text(), out);
      if (value.string().markup) out.Append(")", true);
      break;
    case Kind::kList:
      out.Append("[", true);
      RETURN_IF_ERROR(AppendItems(heap, value.items(), out));
      out.Append("]", true);
      break;
    case Kind::kTuple:
      out.Append("(", true);
      RETURN_IF_ERROR(AppendItems(heap, value.items(), out));
      out.Append(value.items().size() == 1 ? ",)" : ")", true);
      break;
    case Kind::kDict:
      RETURN_IF_ERROR(AppendDict(heap, value.dict(), out));
      break;
    case Kind::kObject:
      RETURN_IF_ERROR(value.object().AppendRepr(heap, out));
      break;
  }
  return heap.CheckSize(out.size());
}

absl::Status AppendString(Heap& heap, const Value& value, Text& out) {
  if (value.is_string()) {
    RETURN_IF_ERROR(heap.CheckString(value.text().size()));
    out.Append(value.text());
  } else if (!value.is_undefined()) {
    RETURN_IF_ERROR(AppendRepr(heap, value, out));
  }
  return heap.CheckSize(out.size());
}

absl::StatusOr<Text> ToText(Heap& heap, const Value& value) {
  if (value.is_string()) return value.text();
  Text text;
  RETURN_IF_ERROR(AppendString(heap, value, text));
  return text;
}

Text EscapeHtml(const Text& text) {
  Text result;
  const std::string_view bytes = text.bytes();
  size_t copied = 0;
  for (size_t at = bytes.find_first_of("&<>\"'"); at != bytes.npos; at = bytes.find_first_of("&<>\"'", at + 1)) {
    result.AppendSlice(text, copied, at);
    const char character = bytes[at];
    result.Append(character == '&'   ? "&amp;"
                  : character == '<' ? "&lt;"
                  : character == '>' ? "&gt;"
                  : character == '"' ? "&#34;"
                                     : "&#39;",
                  text.TrustedAt(at));
    copied = at + 1;
  }
  result.AppendSlice(text, copied, text.size());
  return result;
}

absl::StatusOr<Text> ToMarkup(Heap& heap, const Value& value) {
  ASSIGN_OR_RETURN(Text text, ToText(heap, value));
  if (value.is_string() && value.string().markup) return text;
  RETURN_IF_ERROR(heap.CheckString(text.size() * 5));
  return EscapeHtml(text);
}

}  // namespace inferd::chat_template
