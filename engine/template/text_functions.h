// What Python's str methods do, on Text: shared by the methods and the filters. All keep the trust of every byte.
//
//   Text stripped = Strip(text, std::nullopt, Ends::kBoth);
//   std::vector<Text> words = SplitWords(text, -1);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"
#include "engine/template/text.h"

namespace inferd::chat_template {

enum class Ends : uint8_t { kLeft, kRight, kBoth };
// Without these characters at the ends; nullopt: whitespace.
Text Strip(const Text& text, const std::optional<std::string_view>& characters, Ends ends);

// Replaces the first `count` places (negative: all). RESOURCE_EXHAUSTED: the result would be too long.
absl::StatusOr<Text> Replace(Heap& heap, const Text& text, std::string_view old, const Text& replacement,
                             int64_t count);

// Pieces between separators (not empty), cut at most `limit` times (negative: everywhere), from the left or the right.
std::vector<Text> SplitAt(const Text& text, std::string_view separator, int64_t limit, bool from_right);
// Pieces between runs of whitespace, none empty.
std::vector<Text> SplitWords(const Text& text, int64_t limit, bool from_right);
std::vector<Text> SplitLines(const Text& text, bool keep_ends);

// Every code point through `append`, for example AppendUpper.
Text MapCodePoints(const Text& text, void (*append)(std::string& out, char32_t point));
Text Capitalize(const Text& text);
// Words of letters with the first in title case; `filter`: words as the filter `title` sees them, parted by
// whitespace, hyphens and opening brackets.
Text TitleWords(const Text& text, bool filter);
Text LowerText(const Text& text);  // str.lower(), which knows the final form of sigma

}  // namespace inferd::chat_template
