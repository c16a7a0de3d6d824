// String methods that change letters, pad, and ask what the characters are.
#include <algorithm>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/format_spec.h"
#include "engine/template/methods.h"
#include "engine/template/text_functions.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

Value Like(Heap& heap, const Value& self, Text text) { return heap.String(std::move(text), self.string().markup); }

void AppendSwapped(std::string& out, char32_t point) {
  if (IsUpper(point)) {
    AppendLower(out, point);
  } else {
    AppendUpper(out, point);
  }
}

template <void (*kAppend)(std::string&, char32_t)>
absl::StatusOr<Value> Mapped(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.text().size() * 3));
  return Like(heap, self, MapCodePoints(self.text(), kAppend));
}

absl::StatusOr<Value> Lower(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.text().size() * 3));
  return Like(heap, self, LowerText(self.text()));
}
absl::StatusOr<Value> Capitalized(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.text().size() * 3));
  return Like(heap, self, Capitalize(self.text()));
}
absl::StatusOr<Value> Titled(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.text().size() * 3));
  return Like(heap, self, TitleWords(self.text(), false));
}

// Whether all characters (and at least one) have the property.
template <bool (*kHas)(char32_t)>
absl::StatusOr<Value> All(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.bytes().size()));
  for (size_t at = 0; at < self.bytes().size();) {
    if (!kHas(NextCodePoint(self.bytes(), at))) return Value::Bool(false);
  }
  return Value::Bool(!self.bytes().empty());
}

bool IsAlphanumeric(char32_t point) { return IsAlphabetic(point) || IsNumeric(point); }

// Whether there is a cased character, and all of them have the property.
template <bool (*kHas)(char32_t)>
absl::StatusOr<Value> AllCased(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.bytes().size()));
  bool any = false;
  for (size_t at = 0; at < self.bytes().size();) {
    const char32_t point = NextCodePoint(self.bytes(), at);
    if (kHas(point)) {
      any = true;
    } else if (IsCased(point)) {
      return Value::Bool(false);
    }
  }
  return Value::Bool(any);
}

absl::StatusOr<Value> IsTitled(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.bytes().size()));
  bool any = false;
  bool after_cased = false;
  for (size_t at = 0; at < self.bytes().size();) {
    const char32_t point = NextCodePoint(self.bytes(), at);
    const bool starts = IsUpper(point) || IsTitle(point);
    if (starts ? after_cased : IsLower(point) && !after_cased) return Value::Bool(false);
    after_cased = starts || IsLower(point);
    any = any || after_cased;
  }
  return Value::Bool(any);
}

absl::StatusOr<Value> IsAscii(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.bytes().size()));
  return Value::Bool(std::all_of(self.bytes().begin(), self.bytes().end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

absl::StatusOr<Value> AllPrintable(Heap& heap, const Value& self, const Bound& arguments) {
  if (self.bytes().empty()) return Value::Bool(true);
  return All<IsPrintable>(heap, self, arguments);
}

absl::StatusOr<Value> IsIdentifier(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(heap.CheckString(self.bytes().size()));
  for (size_t at = 0; at < self.bytes().size();) {
    const bool first = at == 0;
    const char32_t point = NextCodePoint(self.bytes(), at);
    if (first ? !IsIdentifierStart(point) : !IsIdentifierPart(point)) return Value::Bool(false);
  }
  return Value::Bool(!self.bytes().empty());
}

absl::StatusOr<Value> Padded(Heap& heap, const Value& self, const Bound& arguments, char align) {
  FormatSpec spec;
  ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0));
  ASSIGN_OR_RETURN(const Value* fill, arguments.String(1));
  spec.width = std::max<int64_t>(width, 0);
  spec.align = align;
  if (fill != nullptr) spec.fill = fill->bytes();
  if (CountCodePoints(spec.fill) != 1) return InvalidArgument("the fill character must be exactly one character long");
  const size_t size = CountCodePoints(self.bytes());
  // Python's center puts the odd space before a text of even length in an odd field and behind otherwise.
  if (align == '^' && static_cast<size_t>(spec.width) > size && (static_cast<size_t>(spec.width) - size) % 2 == 1 &&
      spec.width % 2 == 1) {
    FormatSpec one = spec;
    one.width = static_cast<int64_t>(size) + 1;
    one.align = '>';
    ASSIGN_OR_RETURN(const Text shifted, Pad(heap, self.text(), one, '>'));
    ASSIGN_OR_RETURN(Text text, Pad(heap, shifted, spec, '^'));
    return Like(heap, self, std::move(text));
  }
  ASSIGN_OR_RETURN(Text text, Pad(heap, self.text(), spec, align));
  return Like(heap, self, std::move(text));
}
absl::StatusOr<Value> Center(Heap& heap, const Value& self, const Bound& arguments) {
  return Padded(heap, self, arguments, '^');
}
absl::StatusOr<Value> JustifyLeft(Heap& heap, const Value& self, const Bound& arguments) {
  return Padded(heap, self, arguments, '<');
}
absl::StatusOr<Value> JustifyRight(Heap& heap, const Value& self, const Bound& arguments) {
  return Padded(heap, self, arguments, '>');
}

absl::StatusOr<Value> FillZeros(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const int64_t width, arguments.Integer(0));
  const bool has_sign = self.bytes().starts_with('+') || self.bytes().starts_with('-');
  Text text = self.text().Slice(0, has_sign ? 1 : 0);
  FormatSpec spec;
  spec.fill = "0";
  spec.width = std::max<int64_t>(width - static_cast<int64_t>(text.size()), 0);
  ASSIGN_OR_RETURN(const Text digits, Pad(heap, self.text().Slice(text.size(), self.bytes().size()), spec, '>'));
  text.Append(digits);
  return Like(heap, self, std::move(text));
}

absl::StatusOr<Value> ExpandTabs(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const int64_t tab, arguments.Integer(0, 8));
  Text out;
  int64_t column = 0;
  const Text& text = self.text();
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t point = NextCodePoint(text.bytes(), at);
    if (point == '\t') {
      const int64_t spaces = tab > 0 ? tab - column % tab : 0;
      RETURN_IF_ERROR(heap.CheckString(out.size() + static_cast<uint64_t>(spaces)));
      out.Append(std::string(static_cast<size_t>(spaces), ' '), text.TrustedAt(begin));
      column += spaces;
    } else {
      out.AppendSlice(text, begin, at);
      column = point == '\n' || point == '\r' ? 0 : column + 1;
    }
  }
  return Like(heap, self, std::move(out));
}

// A table of code points to strings, code points or None, as a dict.
absl::StatusOr<Value> Translate(Heap& heap, const Value& self, const Bound& arguments) {
  if (!arguments[0].is_dict()) return InvalidArgument("translate() needs a dict, not {}", arguments[0].TypeName());
  Text out;
  const Text& text = self.text();
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t point = NextCodePoint(text.bytes(), at);
    ASSIGN_OR_RETURN(const Value* found, arguments[0].dict().Find(heap, Value::Integer(static_cast<int64_t>(point))));
    if (found == nullptr) {
      out.AppendSlice(text, begin, at);
    } else if (found->is_string()) {
      RETURN_IF_ERROR(heap.CheckString(found->text().size()));
      out.Append(found->text());
    } else if (found->is_whole() && found->integer() >= 0 && found->integer() <= 0x10FFFF) {
      std::string character;
      AppendUtf8(character, static_cast<char32_t>(found->integer()));
      out.Append(character, text.TrustedAt(begin));
    } else if (!found->is_none()) {
      return InvalidArgument("character mapping must return integer, None or str");
    }
    RETURN_IF_ERROR(heap.CheckSize(out.size()));
  }
  return Like(heap, self, std::move(out));
}

constexpr Builtin kMethods[] = {
    {"upper", "", Mapped<AppendUpper>},
    {"lower", "", Lower},
    {"casefold", "", Mapped<AppendFolded>},
    {"swapcase", "", Mapped<AppendSwapped>},
    {"capitalize", "", Capitalized},
    {"title", "", Titled},
    {"isalpha", "", All<IsAlphabetic>},
    {"isalnum", "", All<IsAlphanumeric>},
    {"isdecimal", "", All<IsDecimal>},
    {"isdigit", "", All<IsDigit>},
    {"isnumeric", "", All<IsNumeric>},
    {"isspace", "", All<IsSpace>},
    {"isprintable", "", AllPrintable},
    {"isascii", "", IsAscii},
    {"isidentifier", "", IsIdentifier},
    {"isupper", "", AllCased<IsUpper>},
    {"islower", "", AllCased<IsLower>},
    {"istitle", "", IsTitled},
    {"center", "/ width ?fillchar", Center},
    {"ljust", "/ width ?fillchar", JustifyLeft},
    {"rjust", "/ width ?fillchar", JustifyRight},
    {"zfill", "/ width", FillZeros},
    {"expandtabs", "?tabsize", ExpandTabs},
    {"translate", "/ table", Translate},
};

}  // namespace

std::span<const Builtin> StringCaseMethods() { return kMethods; }

}  // namespace inferd::chat_template
