#include "engine/template/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace inferd::chat_template {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

utf8proc_category_t CategoryOf(char32_t point) { return utf8proc_category(static_cast<utf8proc_int32_t>(point)); }

// Code points whose upper case or title case is longer than one code point (Unicode's SpecialCasing.txt, the rows
// without a condition, but for the Greek letters with iota below, which are made from their parts).
struct SpecialCase {
  char32_t point;
  std::string_view upper;
  std::string_view title;
};
constexpr std::array kSpecialCases = {
    SpecialCase{0x00DF, "SS", "Ss"},
    SpecialCase{0x0149, "\u02BCN", "\u02BCN"},
    SpecialCase{0x01F0, "J\u030C", "J\u030C"},
    SpecialCase{0x0390, "\u0399\u0308\u0301", "\u0399\u0308\u0301"},
    SpecialCase{0x03B0, "\u03A5\u0308\u0301", "\u03A5\u0308\u0301"},
    SpecialCase{0x0587, "\u0535\u0552", "\u0535\u0582"},
    SpecialCase{0x1E96, "H\u0331", "H\u0331"},
    SpecialCase{0x1E97, "T\u0308", "T\u0308"},
    SpecialCase{0x1E98, "W\u030A", "W\u030A"},
    SpecialCase{0x1E99, "Y\u030A", "Y\u030A"},
    SpecialCase{0x1E9A, "A\u02BE", "A\u02BE"},
    SpecialCase{0xFB00, "FF", "Ff"},
    SpecialCase{0xFB01, "FI", "Fi"},
    SpecialCase{0xFB02, "FL", "Fl"},
    SpecialCase{0xFB03, "FFI", "Ffi"},
    SpecialCase{0xFB04, "FFL", "Ffl"},
    SpecialCase{0xFB05, "ST", "St"},
    SpecialCase{0xFB06, "ST", "St"},
};

const SpecialCase* FindSpecialCase(char32_t point) {
  if (point < 0x80) return nullptr;
  const auto* found = std::find_if(kSpecialCases.begin(), kSpecialCases.end(),
                                   [point](const SpecialCase& special) { return special.point == point; });
  return found == kSpecialCases.end() ? nullptr : found;
}

bool IsAsciiLetter(char32_t point) { return (point | 0x20) >= 'a' && (point | 0x20) <= 'z'; }
bool IsAsciiDigit(char32_t point) { return point >= '0' && point <= '9'; }

}  // namespace

char32_t NextCodePoint(std::string_view bytes, size_t& offset) {
  const auto first = static_cast<unsigned char>(bytes[offset]);
  if (first < 0x80) {
    ++offset;
    return first;
  }
  utf8proc_int32_t point = -1;
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data() + offset),
                       static_cast<utf8proc_ssize_t>(std::min<size_t>(bytes.size() - offset, 4)), &point);
  if (length <= 0 || point < 0) {
    ++offset;
    return kReplacement;
  }
  offset += static_cast<size_t>(length);
  return static_cast<char32_t>(point);
}

char32_t PreviousCodePoint(std::string_view bytes, size_t& offset) {
  // The start lies at most four bytes back and its code point must end exactly here; else the byte is invalid.
  for (size_t length = 1; length <= 4 && length <= offset; ++length) {
    size_t at = offset - length;
    const char32_t point = NextCodePoint(bytes, at);
    if (at == offset && (length == 1 ? point != kReplacement : true)) {
      offset -= length;
      return point;
    }
  }
  --offset;
  return kReplacement;
}

void AppendUtf8(std::string& out, char32_t point) {
  utf8proc_uint8_t buffer[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), buffer);
  if (length <= 0) {
    AppendUtf8(out, kReplacement);
  } else {
    out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(length));
  }
}

size_t FindInvalidUtf8(std::string_view bytes) {
  size_t offset = 0;
  while (offset < bytes.size()) {
    const size_t begin = offset;
    const char32_t point = NextCodePoint(bytes, offset);
    if (point == kReplacement && offset == begin + 1) return begin;
  }
  return std::string_view::npos;
}

size_t CountCodePoints(std::string_view bytes) {
  size_t count = 0;
  for (size_t offset = 0; offset < bytes.size(); ++count) NextCodePoint(bytes, offset);
  return count;
}

size_t OffsetOfCodePoint(std::string_view bytes, size_t index) {
  size_t offset = 0;
  while (index > 0 && offset < bytes.size()) {
    NextCodePoint(bytes, offset);
    --index;
  }
  return offset;
}

bool IsSpace(char32_t point) {
  if (point < 0x80) return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20);
  const utf8proc_category_t category = CategoryOf(point);
  return point == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool IsLineBreak(char32_t point) {
  return (point >= 0x0A && point <= 0x0D) || (point >= 0x1C && point <= 0x1E) || point == 0x85 || point == 0x2028 ||
         point == 0x2029;
}

bool IsAlphabetic(char32_t point) {
  if (point < 0x80) return IsAsciiLetter(point);
  switch (CategoryOf(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool IsDecimal(char32_t point) {
  return point < 0x80 ? IsAsciiDigit(point) : CategoryOf(point) == UTF8PROC_CATEGORY_ND;
}

bool IsDigit(char32_t point) {
  if (IsDecimal(point)) return true;
  // Superscripts, subscripts and circled digits: numbers (No) whose Numeric_Type is Digit.
  return point == 0xB2 || point == 0xB3 || point == 0xB9 || point == 0x2070 || (point >= 0x2074 && point <= 0x2079) ||
         (point >= 0x2080 && point <= 0x2089) || (point >= 0x2460 && point <= 0x2468) ||
         (point >= 0x2474 && point <= 0x247C) || (point >= 0x2488 && point <= 0x2490) || point == 0x24EA ||
         (point >= 0x24F5 && point <= 0x24FD) || point == 0x24FF || (point >= 0x2776 && point <= 0x277E) ||
         (point >= 0x2780 && point <= 0x2788) || (point >= 0x278A && point <= 0x2792) ||
         (point >= 0x1369 && point <= 0x1371) || (point >= 0x1F100 && point <= 0x1F10A);
}

bool IsNumeric(char32_t point) {
  if (IsDigit(point)) return true;
  const utf8proc_category_t category = CategoryOf(point);
  return category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
}

bool IsUpper(char32_t point) {
  if (point < 0x80) return point >= 'A' && point <= 'Z';
  return utf8proc_isupper(static_cast<utf8proc_int32_t>(point)) != 0;
}

bool IsLower(char32_t point) {
  if (point < 0x80) return point >= 'a' && point <= 'z';
  return utf8proc_islower(static_cast<utf8proc_int32_t>(point)) != 0;
}

bool IsTitle(char32_t point) { return CategoryOf(point) == UTF8PROC_CATEGORY_LT; }
bool IsCased(char32_t point) { return IsUpper(point) || IsLower(point) || IsTitle(point); }

bool IsPrintable(char32_t point) {
  if (point < 0x80) return point >= 0x20 && point != 0x7F;
  switch (CategoryOf(point)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool IsWord(char32_t point) { return point == '_' || IsAlphabetic(point) || IsNumeric(point); }

bool IsIdentifierStart(char32_t point) {
  return point == '_' || IsAlphabetic(point) || (point >= 0x80 && CategoryOf(point) == UTF8PROC_CATEGORY_NL);
}

bool IsIdentifierPart(char32_t point) {
  if (IsIdentifierStart(point) || IsDecimal(point)) return true;
  if (point < 0x80) return false;
  const utf8proc_category_t category = CategoryOf(point);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_PC;
}

void AppendUpper(std::string& out, char32_t point) {
  if (const SpecialCase* special = FindSpecialCase(point)) {
    out.append(special->upper);
  } else {
    AppendUtf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(point))));
  }
}

void AppendLower(std::string& out, char32_t point) {
  if (point == 0x0130) {
    out.append("i\u0307");
  } else {
    AppendUtf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))));
  }
}

void AppendTitle(std::string& out, char32_t point) {
  if (const SpecialCase* special = FindSpecialCase(point)) {
    out.append(special->title);
  } else {
    AppendUtf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(point))));
  }
}

void AppendFolded(std::string& out, char32_t point) {
  if (point < 0x80) {
    AppendLower(out, point);
    return;
  }
  utf8proc_int32_t folded[8];
  int last_boundclass = 0;
  const utf8proc_ssize_t length =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point), folded, 8, UTF8PROC_CASEFOLD, &last_boundclass);
  if (length <= 0 || length > 8) {
    AppendUtf8(out, point);
    return;
  }
  for (utf8proc_ssize_t i = 0; i < length; ++i) AppendUtf8(out, static_cast<char32_t>(folded[i]));
}

}  // namespace inferd::chat_template
