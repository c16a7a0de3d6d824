// Strings with places for values: the % operator and str.format.
//
//   ASSIGN_OR_RETURN(Value text, FormatPercent(heap, heap.String("%s: %d"), heap.Tuple({name, count})));
//   ASSIGN_OR_RETURN(Value text, FormatBraces(heap, heap.String("{}: {:>4}"), arguments));
#pragma once

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

// `format % values`: a tuple gives several, a dict the named ones.
absl::StatusOr<Value> FormatPercent(Heap& heap, const Value& format, const Value& values);
absl::StatusOr<Value> FormatBraces(Heap& heap, const Value& format, const Arguments& arguments);

}  // namespace inferd::chat_template
