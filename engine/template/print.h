// Values as text: Python's str() and repr().
//
//   RETURN_IF_ERROR(AppendString(heap, value, out));   // {{ value }}
//   RETURN_IF_ERROR(AppendRepr(heap, value, out));     // inside of lists and dicts
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

absl::Status AppendString(Heap& heap, const Value& value, Text& out);
absl::Status AppendRepr(Heap& heap, const Value& value, Text& out);
absl::StatusOr<Text> ToText(Heap& heap, const Value& value);  // str(value)

// Replaces & < > " ' by their HTML entities.
Text EscapeHtml(const Text& text);
// The value as Markup: what is markup stays, all else is escaped.
absl::StatusOr<Text> ToMarkup(Heap& heap, const Value& value);

}  // namespace inferd::chat_template
