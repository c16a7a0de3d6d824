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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/quant_types.h"

namespace inferd::gguf {

// An array of one element type. Numbers and booleans are views of unaligned little-endian bytes; strings are views too.
struct Array;
using Value = std::variant<uint64_t, int64_t, double, bool, std::string_view, Array>;

enum class ValueType : uint32_t {
  kUint8 = 0, kInt8, kUint16, kInt16, kUint32, kInt32, kFloat32, kBool, kString, kArray, kUint64, kInt64, kFloat64
};
std::string_view ValueTypeName(ValueType type);

struct Array {
  ValueType element_type;
  uint64_t size;                          // elements
  const uint8_t* bytes;                   // of numbers and booleans
  std::vector<std::string_view> strings;  // of strings
};

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
  // INVALID_ARGUMENT names the field at fault; NOT_FOUND, PERMISSION_DENIED as the system says.
  static absl::StatusOr<std::shared_ptr<const GgufFile>> Open(const std::string& path);
  // For tests and fuzzing: the bytes must outlive the file.
  static absl::StatusOr<std::shared_ptr<const GgufFile>> Parse(std::span<const uint8_t> bytes, std::string name);

  virtual ~GgufFile() = default;
  virtual const std::string& path() const = 0;
  virtual uint32_t version() const = 0;
  virtual uint64_t size_bytes() const = 0;
  virtual uint64_t alignment() const = 0;
  virtual std::span<const Entry> entries() const = 0;    // in file order
  virtual std::span<const Tensor> tensors() const = 0;   // in file order
  virtual const Entry* Find(std::string_view key) const = 0;
  virtual const Tensor* FindTensor(std::string_view name) const = 0;

  // A key of a type that converts without loss. NOT_FOUND or INVALID_ARGUMENT name the key and what was expected.
  absl::StatusOr<uint64_t> GetUint(std::string_view key) const;
  absl::StatusOr<int64_t> GetInt(std::string_view key) const;
  absl::StatusOr<double> GetFloat(std::string_view key) const;
  absl::StatusOr<bool> GetBool(std::string_view key) const;
  absl::StatusOr<std::string_view> GetString(std::string_view key) const;
  absl::StatusOr<std::vector<float>> GetFloats(std::string_view key) const;     // array of any number type
  absl::StatusOr<std::vector<int64_t>> GetInts(std::string_view key) const;     // array of any integer type
  absl::StatusOr<std::span<const std::string_view>> GetStrings(std::string_view key) const;
  // The same with a default for an absent key; a present key of a wrong type is still an error.
  absl::StatusOr<uint64_t> GetUintOr(std::string_view key, uint64_t fallback) const;
  absl::StatusOr<double> GetFloatOr(std::string_view key, double fallback) const;
  absl::StatusOr<bool> GetBoolOr(std::string_view key, bool fallback) const;
  absl::StatusOr<std::string_view> GetStringOr(std::string_view key, std::string_view fallback) const;
};

}  // namespace inferd::gguf
