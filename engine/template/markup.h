// Filters that know HTML and URLs.
//
//   StripTags(Text("<b>a  b</b>", true)).bytes() == "a b"
#pragma once

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

// Without tags and comments, whitespace as single spaces, the common entities resolved.
absl::StatusOr<Text> StripTags(Heap& heap, const Text& text);
// A string percent-encoded; a mapping or pairs as a query.
absl::StatusOr<Text> UrlEncode(Heap& heap, const Value& value);
// A dict as attributes: key="value" with spaces between, and one before if `leading_space`.
absl::StatusOr<Text> XmlAttributes(Heap& heap, const Value& value, bool leading_space);

}  // namespace inferd::chat_template
