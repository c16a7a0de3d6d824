// Code points of UTF-8 text and their properties, as Python's str methods see them. Invalid bytes count as one code
// point each (U+FFFD), so every function is total.
//
//   for (size_t at = 0; at < bytes.size();) {
//     char32_t point = NextCodePoint(bytes, at);
//     if (IsSpace(point)) ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inferd::chat_template {

// The code point at `offset`, which moves behind it.
char32_t NextCodePoint(std::string_view bytes, size_t& offset);
// The code point that ends before `offset` (> 0), which moves to its start.
char32_t PreviousCodePoint(std::string_view bytes, size_t& offset);
void AppendUtf8(std::string& out, char32_t point);
// Offset of the first byte that is not valid UTF-8; npos if there is none.
size_t FindInvalidUtf8(std::string_view bytes);

size_t CountCodePoints(std::string_view bytes);
// Byte offset of the code point with this index; the size of `bytes` for an index at or beyond the end.
size_t OffsetOfCodePoint(std::string_view bytes, size_t index);

bool IsSpace(char32_t point);      // str.isspace, str.strip, \s
bool IsLineBreak(char32_t point);  // str.splitlines
bool IsAlphabetic(char32_t point);
bool IsDecimal(char32_t point);
bool IsDigit(char32_t point);
bool IsNumeric(char32_t point);
bool IsUpper(char32_t point);
bool IsLower(char32_t point);
bool IsTitle(char32_t point);
bool IsCased(char32_t point);
bool IsPrintable(char32_t point);  // what repr() writes as it is
bool IsWord(char32_t point);       // \w
bool IsIdentifierStart(char32_t point);
bool IsIdentifierPart(char32_t point);

// The full mappings: one code point may become several.
void AppendUpper(std::string& out, char32_t point);
void AppendLower(std::string& out, char32_t point);
void AppendTitle(std::string& out, char32_t point);
void AppendFolded(std::string& out, char32_t point);  // str.casefold

}  // namespace inferd::chat_template
