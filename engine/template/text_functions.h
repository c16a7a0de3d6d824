// What Python's str methods do, on Text: shared by the methods and the filters. All keep the trust of every byte.
//
//   Text stripped = Strip(text, std::nullopt, Ends::kBoth);
//   std::vector<Text> words = SplitWords(heap, text, -1, false);
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

// What a piece of a split text is counted with, beside its bytes, while the list of them is made: all that it takes as
// an element of a list of strings.
inline constexpr size_t kPieceBytes = sizeof(Text) + sizeof(StringBox) + sizeof(Value);
// Splitting fails with RESOURCE_EXHAUSTED when the pieces take more memory than the heap has left.
// Pieces between separators (not empty), cut at most `limit` times (negative: everywhere), from the left or the right.
absl::StatusOr<std::vector<Text>> SplitAt(Heap& heap, const Text& text, std::string_view separator, int64_t limit,
                                          bool from_right);
// Pieces between runs of whitespace, none empty.
absl::StatusOr<std::vector<Text>> SplitWords(Heap& heap, const Text& text, int64_t limit, bool from_right);
absl::StatusOr<std::vector<Text>> SplitLines(Heap& heap, const Text& text, bool keep_ends);

// Every code point through `append`, for example AppendUpper.
Text MapCodePoints(const Text& text, void (*append)(std::string& out, char32_t point));
Text Capitalize(const Text& text);
// Words of letters with the first in title case; `filter`: words as the filter `title` sees them, parted by
// whitespace, hyphens and opening brackets.
Text TitleWords(const Text& text, bool filter);
Text LowerText(const Text& text);  // str.lower(), which knows the final form of sigma

}  // namespace inferd::chat_template
