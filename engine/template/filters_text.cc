// Filters that make text.
#include <algorithm>
#include <string>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/filters.h"
#include "engine/template/format.h"
#include "engine/template/json.h"
#include "engine/template/markup.h"
#include "engine/template/methods.h"
#include "engine/template/print.h"
#include "engine/template/text_functions.h"
#include "engine/template/unicode.h"
#include "engine/template/wrap.h"

namespace inferd::chat_template {
namespace {

// The value as a string; markup stays markup.
absl::StatusOr<Value> Soft(Heap& heap, const Value& value) {
  if (value.is_string()) return value;
  ASSIGN_OR_RETURN(Text text, ToText(heap, value));
  return heap.String(std::move(text));
}

absl::StatusOr<Value> CallMethod(Heap& heap, const Value& self, std::string_view name,
                                 const Arguments& arguments = {}) {
  ASSIGN_OR_RETURN(const Value text, Soft(heap, self));
  return CallBuiltin(heap, *FindMethod(Kind::kString, name), text, arguments);
}

absl::StatusOr<Value> Upper(Heap& heap, const Value& self, const Bound&) { return CallMethod(heap, self, "upper"); }
absl::StatusOr<Value> Lower(Heap& heap, const Value& self, const Bound&) { return CallMethod(heap, self, "lower"); }
absl::StatusOr<Value> Capital(Heap& heap, const Value& self, const Bound&) {
  return CallMethod(heap, self, "capitalize");
}
absl::StatusOr<Value> Trim(Heap& heap, const Value& self, const Bound& arguments) {
  Arguments characters;
  if (arguments.Has(0)) characters.positional.push_back(arguments[0]);
  return CallMethod(heap, self, "strip", characters);
}
absl::StatusOr<Value> Center(Heap& heap, const Value& self, const Bound& arguments) {
  return CallMethod(heap, self, "center", {.positional = {arguments.Has(0) ? arguments[0] : Value::Integer(80)}});
}

absl::StatusOr<Value> Title(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(const Value text, Soft(heap, self));
  RETURN_IF_ERROR(heap.CheckString(text.text().size() * 3));
  return heap.String(TitleWords(text.text(), true));
}

absl::StatusOr<Value> String(Heap& heap, const Value& self, const Bound&) { return Soft(heap, self); }

absl::StatusOr<Value> ReplaceIn(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Text text, ToText(heap, self));
  ASSIGN_OR_RETURN(const Text old, ToText(heap, arguments[0]));
  ASSIGN_OR_RETURN(const Text replacement, ToText(heap, arguments[1]));
  const bool all = !arguments.Has(2) || arguments[2].is_none();
  ASSIGN_OR_RETURN(const int64_t count, all ? absl::StatusOr<int64_t>(-1) : arguments.Integer(2));
  ASSIGN_OR_RETURN(Text replaced, Replace(heap, text, old.bytes(), replacement, count));
  return heap.String(std::move(replaced));
}

absl::StatusOr<Value> Format(Heap& heap, const Value& self, const Bound& arguments) {
  const Arguments& all = arguments.all();
  if (!all.positional.empty() && !all.named.empty()) {
    return InvalidArgument("can't handle positional and keyword arguments at the same time");
  }
  ASSIGN_OR_RETURN(const Value format, Soft(heap, self));
  if (all.named.empty()) return FormatPercent(heap, format, heap.Tuple(all.positional));
  Dict dict;
  for (const auto& [name, value] : all.named) RETURN_IF_ERROR(dict.Set(heap, heap.String(name), value));
  return FormatPercent(heap, format, heap.OfDict(std::move(dict)));
}

absl::StatusOr<Value> NeedText(const Value& self) {
  if (self.is_undefined()) return UndefinedError(self);
  if (!self.is_string()) return InvalidArgument("expected a str, not '{}'", self.TypeName());
  return self;
}

// Every line behind a line break is indented, blank ones only if asked, the first one only if asked.
absl::StatusOr<Value> Indent(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Value value, NeedText(self));
  Text indentation(std::string(4, ' '), true);
  if (arguments.Has(0) && arguments[0].is_string()) {
    indentation = arguments[0].text();
  } else if (arguments.Has(0)) {
    ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0));
    RETURN_IF_ERROR(heap.CheckString(static_cast<uint64_t>(std::max<int64_t>(width, 0))));
    indentation = Text(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), true);
  }
  const bool first = arguments.Truth(1, false);
  const bool blank = arguments.Truth(2, false);
  Text text = value.text();
  text.Append("\n", true);  // so that a line break at the end makes an empty last line
  RETURN_IF_ERROR(heap.CheckString(text.size()));
  ASSIGN_OR_RETURN(const std::vector<Text> lines, SplitLines(heap, text, false));
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.Append("\n", true);
    if (i == 0 ? first : blank || !lines[i].empty()) out.Append(indentation);
    out.Append(lines[i]);
    RETURN_IF_ERROR(heap.CheckSize(out.size()));
    RETURN_IF_ERROR(heap.Step(1 + indentation.size() / 64));
  }
  return heap.String(std::move(out), value.string().markup);
}

absl::StatusOr<Value> Truncate(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const int64_t length, arguments.Integer(0, 255));
  ASSIGN_OR_RETURN(const Value* end_value, arguments.String(2));
  ASSIGN_OR_RETURN(const int64_t leeway,
                   arguments.Has(3) && !arguments[3].is_none() ? arguments.Integer(3) : absl::StatusOr<int64_t>(5));
  const Text end = end_value == nullptr ? Text("...", true) : end_value->text();
  const auto end_size = static_cast<int64_t>(CountCodePoints(end.bytes()));
  if (length < end_size) return InvalidArgument("expected length >= {}, got {}", end_size, length);
  if (leeway < 0) return InvalidArgument("expected leeway >= 0, got {}", leeway);
  ASSIGN_OR_RETURN(const int64_t size, LengthOf(self));  // what is short enough stays, whatever it is
  if (size <= length || size - length <= leeway) return self;
  ASSIGN_OR_RETURN(const Value value, NeedText(self));
  const Text& text = value.text();
  RETURN_IF_ERROR(heap.CheckString(text.size()));
  Text cut = text.Slice(0, OffsetOfCodePoint(text.bytes(), static_cast<size_t>(length - end_size)));
  if (!arguments.Truth(1, false)) {
    const size_t space = cut.bytes().rfind(' ');
    if (space != std::string::npos) cut = cut.Slice(0, space);
  }
  cut.Append(end);
  return heap.String(std::move(cut), value.string().markup);
}

absl::StatusOr<Value> WordWrap(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Value value, NeedText(self));
  WrapOptions options;
  ASSIGN_OR_RETURN(options.width, arguments.Integer(0, 79));
  options.break_long_words = arguments.Truth(1, true);
  ASSIGN_OR_RETURN(const Value* separator, arguments.String(2));
  options.break_on_hyphens = arguments.Truth(3, true);
  const Text between = separator == nullptr ? Text("\n", true) : separator->text();
  Text out;
  bool first = true;
  ASSIGN_OR_RETURN(const std::vector<Text> paragraphs, SplitLines(heap, value.text(), false));
  for (const Text& paragraph : paragraphs) {
    ASSIGN_OR_RETURN(std::vector<Text> lines, WrapLine(heap, paragraph, options));
    if (lines.empty()) lines.emplace_back();
    for (const Text& line : lines) {
      if (!first) out.Append(between);
      first = false;
      out.Append(line);
      RETURN_IF_ERROR(heap.CheckSize(out.size()));
      RETURN_IF_ERROR(heap.Step(1 + between.size() / 64));
    }
  }
  return heap.String(std::move(out));
}

absl::StatusOr<Value> WordCount(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(const Text text, ToText(heap, self));
  RETURN_IF_ERROR(heap.CheckString(text.size()));
  int64_t count = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const bool is_word = IsWord(NextCodePoint(text.bytes(), at));
    count += is_word && !in_word ? 1 : 0;
    in_word = is_word;
  }
  return Value::Integer(count);
}

// As the transformers library defines it: json.dumps with ensure_ascii=False.
absl::StatusOr<Value> Json(Heap& heap, const Value& self, const Bound& arguments) {
  JsonStyle style;
  style.ascii = arguments.Truth(0, false);
  style.sorted = arguments.Truth(3, false);
  if (arguments.Has(1) && arguments[1].is_string()) {
    style.indent = arguments[1].text();
  } else if (arguments.Has(1) && !arguments[1].is_none()) {
    ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(1));
    RETURN_IF_ERROR(heap.CheckString(static_cast<uint64_t>(std::max<int64_t>(width, 0))));
    style.indent = Text(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), true);
  }
  if (style.indent) style.item_separator = Text(",", true);
  if (arguments.Has(2) && !arguments[2].is_none()) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> pair, Iterate(heap, arguments[2]));
    if (pair->items.size() != 2 || !pair->items[0].is_string() || !pair->items[1].is_string()) {
      return InvalidArgument("tojson: separators must be two strings");
    }
    style.item_separator = pair->items[0].text();
    style.key_separator = pair->items[1].text();
  }
  ASSIGN_OR_RETURN(Text text, ToJson(heap, self, style));
  return heap.String(std::move(text));
}

absl::StatusOr<Value> Escape(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(Text text, ToMarkup(heap, self));
  return heap.String(std::move(text), true);
}

absl::StatusOr<Value> ForceEscape(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(const Text text, ToText(heap, self));
  RETURN_IF_ERROR(heap.CheckString(text.size() * 5));
  return heap.String(EscapeHtml(text), true);
}

absl::StatusOr<Value> Safe(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(Text text, ToText(heap, self));
  return heap.String(std::move(text), true);
}

absl::StatusOr<Value> StripTagsOf(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(const Text text, ToText(heap, self));
  RETURN_IF_ERROR(heap.CheckString(text.size()));
  ASSIGN_OR_RETURN(Text stripped, StripTags(heap, text));
  return heap.String(std::move(stripped));
}

absl::StatusOr<Value> UrlEncodeOf(Heap& heap, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(Text text, UrlEncode(heap, self));
  return heap.String(std::move(text));
}

absl::StatusOr<Value> XmlAttributesOf(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(Text text, XmlAttributes(heap, self, arguments.Truth(0, true)));
  return heap.String(std::move(text));
}

constexpr Builtin kFilters[] = {
    {"upper", "", Upper},
    {"lower", "", Lower},
    {"capitalize", "", Capital},
    {"title", "", Title},
    {"trim", "?chars", Trim},
    {"center", "?width", Center},
    {"string", "", String},
    {"replace", "old new ?count", ReplaceIn},
    {"format", "*", Format},
    {"indent", "?width ?first ?blank", Indent},
    {"truncate", "?length ?killwords ?end ?leeway", Truncate},
    {"wordwrap", "?width ?break_long_words ?wrapstring ?break_on_hyphens", WordWrap},
    {"wordcount", "", WordCount},
    {"tojson", "?ensure_ascii ?indent ?separators ?sort_keys", Json},
    {"escape", "", Escape},
    {"e", "", Escape},
    {"forceescape", "", ForceEscape},
    {"safe", "", Safe},
    {"striptags", "", StripTagsOf},
    {"urlencode", "", UrlEncodeOf},
    {"xmlattr", "?autospace", XmlAttributesOf},
};

}  // namespace

std::span<const Builtin> TextFilters() { return kFilters; }

}  // namespace inferd::chat_template
