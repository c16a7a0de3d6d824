// A GGUF model file, mapped read-only and checked before use. Tensors are views into the mapping.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<const GgufFile> file, GgufFile::Open("model.gguf"));
//   ASSIGN_OR_RETURN(uint64_t layers, file->GetUint("llama.block_count"));
//   const Tensor* tensor = file->FindTensor("blk.0.attn_q.weight");
//
// Format: github.com/ggml-org/ggml docs/gguf.md, versions 2 and 3, little-endian. Nothing in the file is trusted: every
// count, size, offset and string is bounded by the file's length before memory is taken for it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/mapped_file.h"
#include "kernels/quant_types.h"

namespace inferd::gguf {

constexpr uint64_t kDefaultAlignment = 32;  // of tensor data, bytes

enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};
std::string_view ValueTypeName(ValueType type);
// Bytes of one value; 0 for strings, arrays and unknown types.
uint64_t ValueTypeBytes(ValueType type);

// An array of one element type. Numbers and booleans are unaligned little-endian bytes, strings are views.
struct Array {
  ValueType element_type;
  uint64_t size;                          // elements
  const uint8_t* bytes;                   // of numbers and booleans
  std::vector<std::string_view> strings;  // of strings
};

// Integers are held in the widest type of their sign.
using Value = std::variant<uint64_t, int64_t, double, bool, std::string_view, Array>;

struct Entry {
  std::string_view key;
  ValueType type;
  Value value;
};

struct Tensor {
  std::string_view name;
  kernels::TensorType type;
  uint32_t n_dims;
  std::array<uint64_t, 4> dims;  // fastest first; unused ones are 1
  const uint8_t* data;           // in the mapping, aligned to the file's alignment
  uint64_t bytes;
  uint64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

class GgufFile {
 public:
  // Opens and checks a file; for a model in several parts (NAME-00001-of-0000N.gguf, given the first) all of them.
  // INVALID_ARGUMENT names the file and the field at fault; NOT_FOUND, PERMISSION_DENIED, ... as the system says.
  static absl::StatusOr<std::shared_ptr<const GgufFile>> Open(const std::string& path);
  // For tests and fuzzing: one part in memory. The bytes must outlive the file.
  static absl::StatusOr<std::shared_ptr<const GgufFile>> Parse(std::span<const uint8_t> bytes, std::string name);

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  uint64_t size_bytes() const { return size_bytes_; }           // of all parts
  uint64_t alignment() const { return alignment_; }             // bytes
  std::span<const Entry> entries() const { return entries_; }   // of the first part, in file order
  std::span<const Tensor> tensors() const { return tensors_; }  // of all parts, in file order
  size_t parts() const { return mappings_.empty() ? 1 : mappings_.size(); }
  const Entry* Find(std::string_view key) const;          // nullptr: absent
  const Tensor* FindTensor(std::string_view name) const;  // nullptr: absent

  // A key of a type that converts without loss. NOT_FOUND or INVALID_ARGUMENT name file, key and what was expected.
  absl::StatusOr<uint64_t> GetUint(std::string_view key) const;
  absl::StatusOr<int64_t> GetInt(std::string_view key) const;
  absl::StatusOr<double> GetFloat(std::string_view key) const;  // any number
  absl::StatusOr<bool> GetBool(std::string_view key) const;
  absl::StatusOr<std::string_view> GetString(std::string_view key) const;
  absl::StatusOr<std::vector<float>> GetFloats(std::string_view key) const;  // array of any number type
  absl::StatusOr<std::vector<int64_t>> GetInts(std::string_view key) const;  // array of any integer type or booleans
  absl::StatusOr<std::span<const std::string_view>> GetStrings(std::string_view key) const;
  // The same with a default for an absent key; a present key of a wrong type is still an error.
  absl::StatusOr<uint64_t> GetUintOr(std::string_view key, uint64_t fallback) const;
  absl::StatusOr<int64_t> GetIntOr(std::string_view key, int64_t fallback) const;
  absl::StatusOr<double> GetFloatOr(std::string_view key, double fallback) const;
  absl::StatusOr<bool> GetBoolOr(std::string_view key, bool fallback) const;
  absl::StatusOr<std::string_view> GetStringOr(std::string_view key, std::string_view fallback) const;

 private:
  GgufFile() = default;
  absl::Status AddPart(std::span<const uint8_t> bytes);
  absl::Status OpenOtherParts();
  absl::StatusOr<const Entry*> Require(std::string_view key, std::string_view expected) const;
  absl::Status WrongType(const Entry& entry, std::string_view expected) const;

  std::string path_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 0, size_bytes_ = 0;
  std::vector<MappedFile> mappings_;
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, size_t> entry_index_, tensor_index_;
};

}  // namespace inferd::gguf
