// The typed getters of GgufFile: a metadata value as the type that a reader expects, or an error that says what it is.
#include <cstring>
#include <type_traits>

#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/parse.h"

namespace inferd::gguf {
namespace {

// Calls visit(element) for each number or boolean of the array, as its stored type.
template <typename Stored, typename Visitor>
void VisitAs(const Array& array, Visitor visit) {
  for (uint64_t i = 0; i < array.size; ++i) {
    Stored element;
    std::memcpy(&element, array.bytes + i * sizeof element, sizeof element);
    visit(element);
  }
}

// False for arrays of strings.
template <typename Visitor>
bool VisitNumbers(const Array& array, Visitor visit) {
  switch (array.element_type) {
    case ValueType::kUint8:
    case ValueType::kBool:
      return VisitAs<uint8_t>(array, visit), true;
    case ValueType::kInt8:
      return VisitAs<int8_t>(array, visit), true;
    case ValueType::kUint16:
      return VisitAs<uint16_t>(array, visit), true;
    case ValueType::kInt16:
      return VisitAs<int16_t>(array, visit), true;
    case ValueType::kUint32:
      return VisitAs<uint32_t>(array, visit), true;
    case ValueType::kInt32:
      return VisitAs<int32_t>(array, visit), true;
    case ValueType::kUint64:
      return VisitAs<uint64_t>(array, visit), true;
    case ValueType::kInt64:
      return VisitAs<int64_t>(array, visit), true;
    case ValueType::kFloat32:
      return VisitAs<float>(array, visit), true;
    case ValueType::kFloat64:
      return VisitAs<double>(array, visit), true;
    case ValueType::kString:
    case ValueType::kArray:
      return false;
  }
  return false;
}

template <typename T>
absl::StatusOr<T> OrFallback(absl::StatusOr<T> value, T fallback) {
  if (absl::IsNotFound(value.status())) return fallback;
  return value;
}

}  // namespace

absl::StatusOr<const Entry*> GgufFile::Require(std::string_view key, std::string_view expected) const {
  const Entry* entry = Find(key);
  if (entry == nullptr) return NotFound("{}: metadata {}: is missing, expected {}", path_, key, expected);
  return entry;
}

absl::Status GgufFile::WrongType(const Entry& entry, std::string_view expected) const {
  const Array* array = std::get_if<Array>(&entry.value);
  const std::string_view type = ValueTypeName(entry.type);
  return InvalidArgument("{}: metadata {}: {}, expected {}", path_, Printable(entry.key),
                         array ? fmt::format("array of {}", ValueTypeName(array->element_type)) : std::string(type),
                         expected);
}

absl::StatusOr<uint64_t> GgufFile::GetUint(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "an unsigned integer"));
  if (const uint64_t* value = std::get_if<uint64_t>(&entry->value)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&entry->value)) {
    if (*value >= 0) return static_cast<uint64_t>(*value);
    return InvalidArgument("{}: metadata {}: {}, expected at least 0", path_, key, *value);
  }
  return WrongType(*entry, "an unsigned integer");
}

absl::StatusOr<int64_t> GgufFile::GetInt(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "an integer"));
  if (const int64_t* value = std::get_if<int64_t>(&entry->value)) return *value;
  if (const uint64_t* value = std::get_if<uint64_t>(&entry->value)) {
    if (*value <= INT64_MAX) return static_cast<int64_t>(*value);
    return InvalidArgument("{}: metadata {}: {}, expected at most {}", path_, key, *value, INT64_MAX);
  }
  return WrongType(*entry, "an integer");
}

absl::StatusOr<double> GgufFile::GetFloat(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "a number"));
  if (const double* value = std::get_if<double>(&entry->value)) return *value;
  if (const uint64_t* value = std::get_if<uint64_t>(&entry->value)) return static_cast<double>(*value);
  if (const int64_t* value = std::get_if<int64_t>(&entry->value)) return static_cast<double>(*value);
  return WrongType(*entry, "a number");
}

absl::StatusOr<bool> GgufFile::GetBool(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "a boolean"));
  if (const bool* value = std::get_if<bool>(&entry->value)) return *value;
  return WrongType(*entry, "a boolean");
}

absl::StatusOr<std::string_view> GgufFile::GetString(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "a string"));
  if (const std::string_view* value = std::get_if<std::string_view>(&entry->value)) return *value;
  return WrongType(*entry, "a string");
}

absl::StatusOr<std::vector<float>> GgufFile::GetFloats(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "an array of numbers"));
  const Array* array = std::get_if<Array>(&entry->value);
  std::vector<float> out;
  const auto push = [&out](auto element) { out.push_back(static_cast<float>(element)); };
  if (array == nullptr || !VisitNumbers(*array, push)) return WrongType(*entry, "an array of numbers");
  return out;
}

absl::StatusOr<std::vector<int64_t>> GgufFile::GetInts(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "an array of integers"));
  const Array* array = std::get_if<Array>(&entry->value);
  std::vector<int64_t> out;
  bool integers = true;
  const auto push = [&](auto element) {
    if constexpr (std::is_floating_point_v<decltype(element)>) {
      integers = false;
    } else {
      integers = integers && std::in_range<int64_t>(element);
      out.push_back(static_cast<int64_t>(element));
    }
  };
  if (array == nullptr || !VisitNumbers(*array, push) || !integers) return WrongType(*entry, "an array of integers");
  return out;
}

absl::StatusOr<std::span<const std::string_view>> GgufFile::GetStrings(std::string_view key) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(key, "an array of strings"));
  const Array* array = std::get_if<Array>(&entry->value);
  if (array == nullptr || array->element_type != ValueType::kString) return WrongType(*entry, "an array of strings");
  return std::span<const std::string_view>(array->strings);
}

absl::StatusOr<uint64_t> GgufFile::GetUintOr(std::string_view key, uint64_t fallback) const {
  return OrFallback(GetUint(key), fallback);
}

absl::StatusOr<int64_t> GgufFile::GetIntOr(std::string_view key, int64_t fallback) const {
  return OrFallback(GetInt(key), fallback);
}

absl::StatusOr<double> GgufFile::GetFloatOr(std::string_view key, double fallback) const {
  return OrFallback(GetFloat(key), fallback);
}

absl::StatusOr<bool> GgufFile::GetBoolOr(std::string_view key, bool fallback) const {
  return OrFallback(GetBool(key), fallback);
}

absl::StatusOr<std::string_view> GgufFile::GetStringOr(std::string_view key, std::string_view fallback) const {
  return OrFallback(GetString(key), fallback);
}

}  // namespace inferd::gguf
