// JSON to values, and values to JSON as Python's json.dumps writes it.
//
//   ASSIGN_OR_RETURN(Value messages, FromJson(heap, request.at("messages"), /*trusted=*/false));
//   ASSIGN_OR_RETURN(Text text, ToJson(heap, value, {.indent = "  "}));   // {"a": [1, 2.0, null]}
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

absl::StatusOr<Value> FromJson(Heap& heap, const boost::json::value& json, bool trusted);

struct JsonStyle {
  bool ascii = false;               // escapes all else
  bool sorted = false;              // by key
  std::optional<Text> indent = {};  // of one level; none: all on one line
  Text item_separator{", ", true};
  Text key_separator{": ", true};
};

// INVALID_ARGUMENT: a value that JSON has no form for (undefined, iterators, keys that are not plain).
absl::StatusOr<Text> ToJson(Heap& heap, const Value& value, const JsonStyle& style);

}  // namespace inferd::chat_template
