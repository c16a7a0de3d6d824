#include "engine/gguf/metadata.h"

#include <unordered_set>

#include "config/base/status.h"
#include "engine/gguf/parse.h"

namespace inferd::gguf {
namespace {

constexpr uint64_t kSmallestEntry = 8 + 1 + 4 + 1;  // length, one byte of key, type, one byte of value
constexpr uint64_t kLongestKey = 65535;

absl::Status Truncated(std::string_view what) {
  return InvalidArgument("metadata {}: value reaches beyond the end of the file", Printable(what));
}

template <typename Stored, typename Held>
absl::StatusOr<Value> ReadNumber(ByteReader& reader, std::string_view key) {
  Stored stored;
  if (!reader.Read(&stored)) return Truncated(key);
  return Value(static_cast<Held>(stored));
}

absl::StatusOr<Value> ReadBool(ByteReader& reader, std::string_view key) {
  uint8_t stored;
  if (!reader.Read(&stored)) return Truncated(key);
  if (stored > 1) return InvalidArgument("metadata {}: boolean is {}, expected 0 or 1", Printable(key), stored);
  return Value(stored == 1);
}

absl::StatusOr<Value> ReadStrings(ByteReader& reader, std::string_view key, uint64_t size) {
  if (!reader.Has(size, 8)) {
    return InvalidArgument("metadata {}: array of {} strings, but only {} bytes follow", Printable(key), size,
                           reader.remaining());
  }
  Array array{.element_type = ValueType::kString, .size = size, .bytes = nullptr, .strings = {}};
  array.strings.resize(size);
  for (uint64_t i = 0; i < size; ++i) {
    if (!reader.ReadString(&array.strings[i])) {
      return InvalidArgument("metadata {}: string {} of {} reaches beyond the end of the file", Printable(key), i,
                             size);
    }
  }
  return Value(std::move(array));
}

absl::StatusOr<Value> ReadArray(ByteReader& reader, std::string_view key) {
  uint32_t type_number;
  uint64_t size;
  if (!reader.Read(&type_number) || !reader.Read(&size)) return Truncated(key);
  const auto type = static_cast<ValueType>(type_number);
  if (type == ValueType::kString) return ReadStrings(reader, key, size);
  if (type == ValueType::kArray) {
    return InvalidArgument("metadata {}: arrays of arrays are not supported, expected numbers, booleans or strings",
                           Printable(key));
  }
  const uint64_t element_bytes = ValueTypeBytes(type);
  if (element_bytes == 0) {
    return InvalidArgument("metadata {}: array element type {} is unknown, expected 0..12", Printable(key),
                           type_number);
  }
  if (!reader.Has(size, element_bytes)) {
    return InvalidArgument("metadata {}: array of {} elements of {} bytes, but only {} bytes follow", Printable(key),
                           size, element_bytes, reader.remaining());
  }
  return Value(Array{.element_type = type, .size = size, .bytes = reader.Take(size * element_bytes), .strings = {}});
}

absl::StatusOr<Value> ReadValue(ByteReader& reader, std::string_view key, uint32_t type_number) {
  switch (static_cast<ValueType>(type_number)) {
    case ValueType::kUint8:
      return ReadNumber<uint8_t, uint64_t>(reader, key);
    case ValueType::kUint16:
      return ReadNumber<uint16_t, uint64_t>(reader, key);
    case ValueType::kUint32:
      return ReadNumber<uint32_t, uint64_t>(reader, key);
    case ValueType::kUint64:
      return ReadNumber<uint64_t, uint64_t>(reader, key);
    case ValueType::kInt8:
      return ReadNumber<int8_t, int64_t>(reader, key);
    case ValueType::kInt16:
      return ReadNumber<int16_t, int64_t>(reader, key);
    case ValueType::kInt32:
      return ReadNumber<int32_t, int64_t>(reader, key);
    case ValueType::kInt64:
      return ReadNumber<int64_t, int64_t>(reader, key);
    case ValueType::kFloat32:
      return ReadNumber<float, double>(reader, key);
    case ValueType::kFloat64:
      return ReadNumber<double, double>(reader, key);
    case ValueType::kBool:
      return ReadBool(reader, key);
    case ValueType::kString: {
      std::string_view text;
      if (!reader.ReadString(&text)) return Truncated(key);
      return Value(text);
    }
    case ValueType::kArray:
      return ReadArray(reader, key);
  }
  return InvalidArgument("metadata {}: value type {} is unknown, expected 0..12", Printable(key), type_number);
}

absl::StatusOr<Entry> ReadEntry(ByteReader& reader, uint64_t index) {
  Entry entry;
  uint32_t type_number;
  if (!reader.ReadString(&entry.key)) {
    return InvalidArgument("metadata entry {}: key reaches beyond the end of the file", index);
  }
  if (entry.key.empty() || entry.key.size() > kLongestKey) {
    return InvalidArgument("metadata entry {}: key has {} bytes, expected 1..{}", index, entry.key.size(), kLongestKey);
  }
  if (!reader.Read(&type_number)) return Truncated(entry.key);
  entry.type = static_cast<ValueType>(type_number);
  ASSIGN_OR_RETURN(entry.value, ReadValue(reader, entry.key, type_number));
  return entry;
}

}  // namespace

absl::StatusOr<std::vector<Entry>> ReadMetadata(ByteReader& reader, uint64_t count) {
  if (!reader.Has(count, kSmallestEntry)) {
    return InvalidArgument("header: {} metadata entries declared, but only {} bytes follow", count, reader.remaining());
  }
  std::vector<Entry> entries;
  std::unordered_set<std::string_view> keys;
  for (uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(reader, i));
    if (!keys.insert(entry.key).second) {
      return InvalidArgument("metadata {}: key occurs twice", Printable(entry.key));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace inferd::gguf
