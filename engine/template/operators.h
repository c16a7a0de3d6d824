// The operators of the language on values: arithmetic, subscripts, slices and attributes, with Python's meanings.
//
//   ASSIGN_OR_RETURN(Value sum, Calculate(heap, Operator::kAdd, left, right));
//   ASSIGN_OR_RETURN(Value role, GetItem(heap, message, key));     // undefined if there is none
//   ASSIGN_OR_RETURN(Value role, GetAttribute(heap, message, "role"));
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/template/ast.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

absl::StatusOr<Value> Calculate(Heap& heap, Operator operation, const Value& left, const Value& right);
absl::StatusOr<Value> Negate(const Value& value);
absl::StatusOr<bool> Compare(Heap& heap, Operator comparison, const Value& left, const Value& right);

// value[key]; where the key is a string that finds nothing, also the attribute of that name.
absl::StatusOr<Value> GetItem(Heap& heap, const Value& value, const Value& key);
// value.name: a method or a field of its type, else value[name]. Names with a leading underscore are keys alone.
absl::StatusOr<Value> GetAttribute(Heap& heap, const Value& value, std::string_view name);
// A method or field of the value's type alone; nullopt: none.
absl::StatusOr<std::optional<Value>> GetOwnAttribute(Heap& heap, const Value& value, std::string_view name);
// value[begin:end:step]; none or undefined bounds are left out.
absl::StatusOr<Value> GetSlice(Heap& heap, const Value& value, const Value& begin, const Value& end, const Value& step);

// base ** exponent of integers, exact; nullopt: needs more than 64 bits.
std::optional<int64_t> IntegerPower(int64_t base, int64_t exponent);

}  // namespace inferd::chat_template
