// GetItem, GetAttribute and GetSlice of operators.h.
#include <algorithm>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/format.h"
#include "engine/template/methods.h"
#include "engine/template/objects.h"
#include "engine/template/operators.h"
#include "engine/template/print.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

absl::StatusOr<Value> Absent(Heap& heap, const Value& value, const Value& key) {
  if (key.is_string()) {
    return heap.Undefined(fmt::format("'{}{}' has no attribute '{}'", value.TypeName(),
                                      value.is_object() ? "" : " object", key.bytes().substr(0, 80)));
  }
  Text repr;
  RETURN_IF_ERROR(AppendRepr(heap, key, repr));
  return heap.Undefined(fmt::format("{} has no element {}", value.TypeName(), repr.bytes().substr(0, 80)));
}

Value CodePointAt(Heap& heap, const StringBox& string, size_t index) {
  const std::string& bytes = string.text.bytes();
  const size_t begin = OffsetOfCodePoint(bytes, index);
  size_t end = begin;
  NextCodePoint(bytes, end);
  return heap.String(string.text.Slice(begin, end), string.markup);
}

// value[key] without attributes; nullopt where Python raises a TypeError or a LookupError.
absl::StatusOr<std::optional<Value>> GetOwnItem(Heap& heap, const Value& value, const Value& key) {
  if (value.is_undefined()) return UndefinedError(value);
  if (value.is_dict()) {
    if (key.is_list() || key.is_dict()) return std::optional<Value>();
    ASSIGN_OR_RETURN(const Value* found, value.dict().Find(heap, key));
    return found == nullptr ? std::optional<Value>() : std::optional<Value>(*found);
  }
  if (value.is_object()) return value.object().Item(heap, key);
  if (!key.is_whole() || !(value.is_string() || value.is_sequence())) return std::optional<Value>();
  ASSIGN_OR_RETURN(const int64_t length, LengthOf(value));
  RETURN_IF_ERROR(heap.Step(value.is_string() ? 1 + value.text().size() / 64 : 1));
  const int64_t index = key.integer() < 0 ? key.integer() + length : key.integer();
  if (index < 0 || index >= length) return std::optional<Value>();
  if (value.is_string()) return std::optional<Value>(CodePointAt(heap, value.string(), static_cast<size_t>(index)));
  return std::optional<Value>(value.items()[static_cast<size_t>(index)]);
}

struct Range {
  int64_t begin;
  int64_t end;
  int64_t step;
  int64_t count;
};

absl::StatusOr<std::optional<int64_t>> SliceBound(const Value& bound) {
  if (bound.is_none()) return std::optional<int64_t>();
  if (bound.is_undefined()) return UndefinedError(bound);
  if (!bound.is_whole()) return InvalidArgument("slice indices must be integers or None, not '{}'", bound.TypeName());
  return std::optional<int64_t>(bound.integer());
}

// Python's slice.indices(): bounds below zero count from the end, bounds outside are moved to the ends.
absl::StatusOr<Range> ResolveSlice(int64_t length, const Value& begin_value, const Value& end_value,
                                   const Value& step_value) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> begin_bound, SliceBound(begin_value));
  ASSIGN_OR_RETURN(const std::optional<int64_t> end_bound, SliceBound(end_value));
  ASSIGN_OR_RETURN(const std::optional<int64_t> step_bound, SliceBound(step_value));
  // A larger stride than any sequence is long takes the same elements.
  constexpr int64_t kMaxStep = int64_t{1} << 40;
  const int64_t step = std::clamp(step_bound.value_or(1), -kMaxStep, kMaxStep);
  if (step == 0) return InvalidArgument("slice step cannot be zero");
  const int64_t lowest = step < 0 ? -1 : 0;
  const int64_t highest = step < 0 ? length - 1 : length;
  const auto place = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    const int64_t counted = *bound < 0 ? *bound + length : *bound;
    return std::clamp(counted, lowest, highest);
  };
  const int64_t begin = place(begin_bound, step < 0 ? highest : lowest);
  const int64_t end = place(end_bound, step < 0 ? lowest : highest);
  const int64_t span = step < 0 ? begin - end : end - begin;
  const int64_t stride = step < 0 ? -step : step;
  return Range{begin, end, step, span <= 0 ? 0 : (span - 1) / stride + 1};
}

absl::StatusOr<Value> SliceString(Heap& heap, const StringBox& string, const Range& range) {
  const std::string& bytes = string.text.bytes();
  RETURN_IF_ERROR(heap.CheckString(bytes.size()));
  if (range.step == 1) {
    const size_t begin = OffsetOfCodePoint(bytes, static_cast<size_t>(range.begin));
    const size_t size = OffsetOfCodePoint(std::string_view(bytes).substr(begin), static_cast<size_t>(range.count));
    return heap.String(string.text.Slice(begin, begin + size), string.markup);
  }
  std::vector<size_t> offsets;  // of all code points, and of the end
  for (size_t offset = 0; offset < bytes.size(); NextCodePoint(bytes, offset)) offsets.push_back(offset);
  offsets.push_back(bytes.size());
  RETURN_IF_ERROR(heap.Step(offsets.size() / 8));
  Text text;
  for (int64_t i = 0, at = range.begin; i < range.count; ++i, at += range.step) {
    text.AppendSlice(string.text, offsets[static_cast<size_t>(at)], offsets[static_cast<size_t>(at) + 1]);
  }
  return heap.String(std::move(text), string.markup);
}

}  // namespace

absl::StatusOr<Value> GetItem(Heap& heap, const Value& value, const Value& key) {
  ASSIGN_OR_RETURN(std::optional<Value> found, GetOwnItem(heap, value, key));
  if (found) return *std::move(found);
  if (key.is_string()) {
    ASSIGN_OR_RETURN(found, GetOwnAttribute(heap, value, key.bytes()));
    if (found) return *std::move(found);
  }
  return Absent(heap, value, key);
}

absl::StatusOr<std::optional<Value>> GetOwnAttribute(Heap& heap, const Value& value, std::string_view name) {
  if (value.is_undefined()) return UndefinedError(value);
  if (name.empty() || name[0] == '_') return std::optional<Value>();
  if (value.is_object()) return value.object().Attribute(heap, value, name);
  if (const Builtin* method = FindMethod(value.kind(), name)) {
    return std::optional<Value>(heap.OfObject(std::make_shared<BuiltinFunction>(*method, value)));
  }
  if (ModifiesValue(value.kind(), name)) {
    return std::optional<Value>(heap.Undefined(fmt::format(
        "access to attribute '{}' of '{}' object is unsafe: values cannot be changed", name, value.TypeName())));
  }
  if (value.is_tuple() && value.sequence()->group) {
    if (name == "grouper") return std::optional<Value>(value.items()[0]);
    if (name == "list") return std::optional<Value>(value.items()[1]);
  }
  return GetNumberField(value, name);
}

absl::StatusOr<Value> GetAttribute(Heap& heap, const Value& value, std::string_view name) {
  ASSIGN_OR_RETURN(std::optional<Value> found, GetOwnAttribute(heap, value, name));
  if (found) return *std::move(found);
  if (value.is_dict()) {
    if (const Value* item = value.dict().Find(name)) return *item;
  }
  if (value.is_object()) {
    ASSIGN_OR_RETURN(found, value.object().Item(heap, heap.String(name)));
    if (found) return *std::move(found);
  }
  return heap.Undefined(fmt::format("'{} object' has no attribute '{}'", value.TypeName(), name));
}

absl::StatusOr<Value> GetSlice(Heap& heap, const Value& value, const Value& begin, const Value& end,
                               const Value& step) {
  if (value.is_undefined()) return UndefinedError(value);
  auto* numbers = value.is_object() ? dynamic_cast<RangeObject*>(&value.object()) : nullptr;
  if (!value.is_string() && !value.is_sequence() && numbers == nullptr) {
    return InvalidArgument("'{}' object cannot be sliced", value.TypeName());
  }
  ASSIGN_OR_RETURN(const int64_t length, LengthOf(value));
  ASSIGN_OR_RETURN(const Range range, ResolveSlice(length, begin, end, step));
  if (numbers != nullptr) return numbers->Slice(heap, range.begin, range.end, range.step, range.count);
  if (value.is_string()) return SliceString(heap, value.string(), range);
  RETURN_IF_ERROR(heap.CheckElements(static_cast<uint64_t>(range.count)));
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(range.count));
  for (int64_t i = 0; i < range.count; ++i) {
    items.push_back(value.items()[static_cast<size_t>(range.begin + i * range.step)]);
  }
  return value.is_tuple() ? heap.Tuple(std::move(items)) : heap.List(std::move(items));
}

}  // namespace inferd::chat_template
