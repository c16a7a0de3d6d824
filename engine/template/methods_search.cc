// String methods that search, cut, join and fill in.
#include <algorithm>
#include <optional>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/format.h"
#include "engine/template/methods.h"
#include "engine/template/print.h"
#include "engine/template/text_functions.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

Value Like(Heap& heap, const Value& self, Text text) { return heap.String(std::move(text), self.string().markup); }

absl::StatusOr<Value> ListLike(Heap& heap, const Value& self, absl::StatusOr<std::vector<Text>> split) {
  ASSIGN_OR_RETURN(std::vector<Text> pieces, std::move(split));
  std::vector<Value> values;
  values.reserve(pieces.size());
  for (Text& piece : pieces) values.push_back(Like(heap, self, std::move(piece)));
  return heap.List(std::move(values));
}

absl::Status CountWork(Heap& heap, const Value& self) { return heap.CheckString(self.text().size()); }

absl::StatusOr<const Value*> NeedString(const Bound& arguments, size_t place) {
  ASSIGN_OR_RETURN(const Value* value, arguments.String(place));
  if (value == nullptr) return InvalidArgument("expected a str, not 'NoneType'");
  return value;
}

// The bytes that a search with start and end (in code points, negative from the end) looks at.
struct Window {
  size_t begin = 0;
  size_t end = 0;
  bool empty_range = false;  // start lies behind end: not even "" is found
};

absl::StatusOr<Window> WindowOf(const Value& self, const Bound& arguments) {
  Window window{0, self.bytes().size()};
  const bool has_begin = arguments.Has(1) && !arguments[1].is_none();
  const bool has_end = arguments.Has(2) && !arguments[2].is_none();
  if (!has_begin && !has_end) return window;
  const auto length = static_cast<int64_t>(CountCodePoints(self.bytes()));
  int64_t begin = 0;
  int64_t end = length;
  if (has_begin) {
    ASSIGN_OR_RETURN(begin, arguments.Integer(1));
  }
  if (has_end) {
    ASSIGN_OR_RETURN(end, arguments.Integer(2));
  }
  begin = begin < 0 ? std::max<int64_t>(begin + length, 0) : begin;
  end = end < 0 ? std::max<int64_t>(end + length, 0) : std::min(end, length);
  window.empty_range = begin > end;
  window.begin = OffsetOfCodePoint(self.bytes(), static_cast<size_t>(begin));
  window.end = std::max(window.begin, OffsetOfCodePoint(self.bytes(), static_cast<size_t>(end)));
  return window;
}

absl::StatusOr<std::optional<size_t>> Search(Heap& heap, const Value& self, const Bound& arguments, bool last) {
  RETURN_IF_ERROR(CountWork(heap, self));
  ASSIGN_OR_RETURN(const Value* wanted, NeedString(arguments, 0));
  ASSIGN_OR_RETURN(const Window window, WindowOf(self, arguments));
  if (window.empty_range) return std::optional<size_t>();
  const std::string_view view = std::string_view(self.bytes()).substr(window.begin, window.end - window.begin);
  const size_t found = last ? view.rfind(wanted->bytes()) : view.find(wanted->bytes());
  return found == view.npos ? std::optional<size_t>() : std::optional<size_t>(window.begin + found);
}

absl::StatusOr<Value> PlaceOf(Heap& heap, const Value& self, const Bound& arguments, bool last, bool must) {
  ASSIGN_OR_RETURN(const std::optional<size_t> found, Search(heap, self, arguments, last));
  if (!found && must) return InvalidArgument("substring not found");
  if (!found) return Value::Integer(-1);
  return Value::Integer(static_cast<int64_t>(CountCodePoints(std::string_view(self.bytes()).substr(0, *found))));
}

absl::StatusOr<Value> Find(Heap& heap, const Value& self, const Bound& arguments) {
  return PlaceOf(heap, self, arguments, false, false);
}
absl::StatusOr<Value> FindLast(Heap& heap, const Value& self, const Bound& arguments) {
  return PlaceOf(heap, self, arguments, true, false);
}
absl::StatusOr<Value> Index(Heap& heap, const Value& self, const Bound& arguments) {
  return PlaceOf(heap, self, arguments, false, true);
}
absl::StatusOr<Value> IndexLast(Heap& heap, const Value& self, const Bound& arguments) {
  return PlaceOf(heap, self, arguments, true, true);
}

absl::StatusOr<Value> Count(Heap& heap, const Value& self, const Bound& arguments) {
  RETURN_IF_ERROR(CountWork(heap, self));
  ASSIGN_OR_RETURN(const Value* wanted, NeedString(arguments, 0));
  ASSIGN_OR_RETURN(const Window window, WindowOf(self, arguments));
  if (window.empty_range) return Value::Integer(0);
  const std::string_view view = std::string_view(self.bytes()).substr(window.begin, window.end - window.begin);
  if (wanted->bytes().empty()) return Value::Integer(static_cast<int64_t>(CountCodePoints(view)) + 1);
  int64_t count = 0;
  for (size_t at = view.find(wanted->bytes()); at != view.npos;
       at = view.find(wanted->bytes(), at + wanted->bytes().size())) {
    ++count;
  }
  return Value::Integer(count);
}

// startswith and endswith take one string or a tuple of them.
absl::StatusOr<Value> Touches(Heap& heap, const Value& self, const Bound& arguments, bool at_start) {
  ASSIGN_OR_RETURN(const Window window, WindowOf(self, arguments));
  const std::string_view view = std::string_view(self.bytes()).substr(window.begin, window.end - window.begin);
  const auto touches = [&](const Value& affix) {
    return !window.empty_range && (at_start ? view.starts_with(affix.bytes()) : view.ends_with(affix.bytes()));
  };
  if (!arguments[0].is_tuple()) {
    ASSIGN_OR_RETURN(const Value* affix, NeedString(arguments, 0));
    return Value::Bool(touches(*affix));
  }
  for (const Value& affix : arguments[0].items()) {
    RETURN_IF_ERROR(heap.Step());
    if (!affix.is_string()) return InvalidArgument("a tuple of str is needed, not of {}", affix.TypeName());
    if (touches(affix)) return Value::Bool(true);
  }
  return Value::Bool(false);
}
absl::StatusOr<Value> StartsWith(Heap& heap, const Value& self, const Bound& arguments) {
  return Touches(heap, self, arguments, true);
}
absl::StatusOr<Value> EndsWith(Heap& heap, const Value& self, const Bound& arguments) {
  return Touches(heap, self, arguments, false);
}

absl::StatusOr<Value> StripEnds(Heap& heap, const Value& self, const Bound& arguments, Ends ends) {
  RETURN_IF_ERROR(CountWork(heap, self));
  ASSIGN_OR_RETURN(const Value* characters, arguments.String(0));
  if (characters == nullptr) return Like(heap, self, Strip(self.text(), std::nullopt, ends));
  RETURN_IF_ERROR(heap.Step(characters->bytes().size() * (1 + self.bytes().size() / 64)));
  return Like(heap, self, Strip(self.text(), characters->bytes(), ends));
}
absl::StatusOr<Value> StripBoth(Heap& heap, const Value& self, const Bound& arguments) {
  return StripEnds(heap, self, arguments, Ends::kBoth);
}
absl::StatusOr<Value> StripLeft(Heap& heap, const Value& self, const Bound& arguments) {
  return StripEnds(heap, self, arguments, Ends::kLeft);
}
absl::StatusOr<Value> StripRight(Heap& heap, const Value& self, const Bound& arguments) {
  return StripEnds(heap, self, arguments, Ends::kRight);
}

absl::StatusOr<Value> RemovePrefix(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Value* prefix, NeedString(arguments, 0));
  if (!self.bytes().starts_with(prefix->bytes())) return self;
  return Like(heap, self, self.text().Slice(prefix->bytes().size(), self.bytes().size()));
}
absl::StatusOr<Value> RemoveSuffix(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Value* suffix, NeedString(arguments, 0));
  if (!self.bytes().ends_with(suffix->bytes())) return self;
  return Like(heap, self, self.text().Slice(0, self.bytes().size() - suffix->bytes().size()));
}

absl::StatusOr<Value> SplitText(Heap& heap, const Value& self, const Bound& arguments, bool from_right) {
  RETURN_IF_ERROR(CountWork(heap, self));
  ASSIGN_OR_RETURN(const Value* separator, arguments.String(0));
  ASSIGN_OR_RETURN(const int64_t limit, arguments.Integer(1, -1));
  RETURN_IF_ERROR(heap.Step(self.bytes().size() / 8));  // as many pieces may come of it
  if (separator == nullptr) return ListLike(heap, self, SplitWords(heap, self.text(), limit, from_right));
  if (separator->bytes().empty()) return InvalidArgument("empty separator");
  return ListLike(heap, self, SplitAt(heap, self.text(), separator->bytes(), limit, from_right));
}
absl::StatusOr<Value> Split(Heap& heap, const Value& self, const Bound& arguments) {
  return SplitText(heap, self, arguments, false);
}
absl::StatusOr<Value> SplitRight(Heap& heap, const Value& self, const Bound& arguments) {
  return SplitText(heap, self, arguments, true);
}

absl::StatusOr<Value> Lines(Heap& heap, const Value& self, const Bound& arguments) {
  RETURN_IF_ERROR(heap.Step(1 + self.bytes().size() / 8));
  return ListLike(heap, self, SplitLines(heap, self.text(), arguments.Truth(0, false)));
}

absl::StatusOr<Value> PartitionAt(Heap& heap, const Value& self, const Bound& arguments, bool last) {
  RETURN_IF_ERROR(CountWork(heap, self));
  ASSIGN_OR_RETURN(const Value* separator, NeedString(arguments, 0));
  if (separator->bytes().empty()) return InvalidArgument("empty separator");
  const std::string& bytes = self.bytes();
  const size_t at = last ? bytes.rfind(separator->bytes()) : bytes.find(separator->bytes());
  const Value nothing = Like(heap, self, Text());
  if (at == bytes.npos) return last ? heap.Tuple({nothing, nothing, self}) : heap.Tuple({self, nothing, nothing});
  const size_t behind = at + separator->bytes().size();
  return heap.Tuple({Like(heap, self, self.text().Slice(0, at)), Like(heap, self, self.text().Slice(at, behind)),
                     Like(heap, self, self.text().Slice(behind, bytes.size()))});
}
absl::StatusOr<Value> Partition(Heap& heap, const Value& self, const Bound& arguments) {
  return PartitionAt(heap, self, arguments, false);
}
absl::StatusOr<Value> PartitionRight(Heap& heap, const Value& self, const Bound& arguments) {
  return PartitionAt(heap, self, arguments, true);
}

absl::StatusOr<Value> ReplaceAll(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Value* old, NeedString(arguments, 0));
  ASSIGN_OR_RETURN(const Value* replacement, NeedString(arguments, 1));
  ASSIGN_OR_RETURN(const int64_t count, arguments.Integer(2, -1));
  Text text = replacement->text();
  if (self.string().markup) {
    ASSIGN_OR_RETURN(text, ToMarkup(heap, *replacement));
  }
  ASSIGN_OR_RETURN(Text replaced, Replace(heap, self.text(), old->bytes(), text, count));
  return Like(heap, self, std::move(replaced));
}

absl::StatusOr<Value> JoinItems(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap, arguments[0]));
  Text text;
  for (size_t i = 0; i < items->items.size(); ++i) {
    const Value& item = items->items[i];
    if (!item.is_string()) {
      return InvalidArgument("sequence item {}: expected str instance, {} found", i, item.TypeName());
    }
    if (i > 0) text.Append(self.text());
    if (self.string().markup) {
      ASSIGN_OR_RETURN(const Text escaped, ToMarkup(heap, item));
      text.Append(escaped);
    } else {
      text.Append(item.text());
    }
    RETURN_IF_ERROR(heap.CheckSize(text.size()));
    RETURN_IF_ERROR(heap.Step(1 + (self.text().size() + item.text().size()) / 64));
  }
  return Like(heap, self, std::move(text));
}

absl::StatusOr<Value> Format(Heap& heap, const Value& self, const Bound& arguments) {
  return FormatBraces(heap, self, arguments.all());
}

absl::StatusOr<Value> FormatMap(Heap& heap, const Value& self, const Bound& arguments) {
  if (!arguments[0].is_dict()) return InvalidArgument("format_map() needs a mapping, not {}", arguments[0].TypeName());
  Arguments named;
  for (const auto& [key, value] : arguments[0].dict().entries()) {
    if (key.is_string()) named.named.emplace_back(key.bytes(), value);
  }
  return FormatBraces(heap, self, named);
}

constexpr Builtin kMethods[] = {
    {"find", "/ sub ?start ?end", Find},
    {"rfind", "/ sub ?start ?end", FindLast},
    {"index", "/ sub ?start ?end", Index},
    {"rindex", "/ sub ?start ?end", IndexLast},
    {"count", "/ sub ?start ?end", Count},
    {"startswith", "/ prefix ?start ?end", StartsWith},
    {"endswith", "/ suffix ?start ?end", EndsWith},
    {"strip", "/ ?chars", StripBoth},
    {"lstrip", "/ ?chars", StripLeft},
    {"rstrip", "/ ?chars", StripRight},
    {"removeprefix", "/ prefix", RemovePrefix},
    {"removesuffix", "/ suffix", RemoveSuffix},
    {"split", "?sep ?maxsplit", Split},
    {"rsplit", "?sep ?maxsplit", SplitRight},
    {"splitlines", "?keepends", Lines},
    {"partition", "/ sep", Partition},
    {"rpartition", "/ sep", PartitionRight},
    {"replace", "/ old new ?count", ReplaceAll},
    {"join", "/ iterable", JoinItems},
    {"format", "*", Format},
    {"format_map", "/ mapping", FormatMap},
};

}  // namespace

std::span<const Builtin> StringSearchMethods() { return kMethods; }

}  // namespace inferd::chat_template
