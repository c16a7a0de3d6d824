// Writes GGUF files (version 3, little-endian), as a whole in memory or tensor by tensor into a file.
//
//   GgufWriter writer;
//   writer.Add("general.architecture", std::string_view("llama"));
//   writer.Add("llama.block_count", uint32_t{2});
//   writer.AddTensor("token_embd.weight", kernels::TensorType::kF32, {64, 256});
//   RETURN_IF_ERROR(writer.WriteFile("model.gguf", [&](size_t tensor, TensorSink& sink) { return sink.Write(bytes);
//   }));
//
// Keys and tensors come out in the order they were added. The writer does not check what a model needs.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/gguf/gguf_file.h"

namespace inferd::gguf {

// Takes the bytes of one tensor, in as many pieces as one likes.
class TensorSink {
 public:
  virtual ~TensorSink() = default;
  virtual absl::Status Write(std::span<const uint8_t> bytes) = 0;
};

class GgufWriter {
 public:
  // alignment: bytes, a power of two of at least 8; one other than the default is written as general.alignment.
  explicit GgufWriter(uint64_t alignment = kDefaultAlignment);

  void Add(std::string_view key, uint32_t value);
  void Add(std::string_view key, int32_t value);
  void Add(std::string_view key, uint64_t value);
  void Add(std::string_view key, uint16_t value);
  void Add(std::string_view key, float value);
  void Add(std::string_view key, bool value);
  void Add(std::string_view key, std::string_view value);
  void Add(std::string_view key, const char* value) { Add(key, std::string_view(value)); }
  void Add(std::string_view key, std::span<const std::string> values);
  void Add(std::string_view key, std::span<const float> values);
  void Add(std::string_view key, std::span<const int32_t> values);
  // An entry of another file as it is.
  void Add(const Entry& entry);

  // dims: fastest first; the row length must be a multiple of the type's block.
  void AddTensor(std::string_view name, kernels::TensorType type, std::span<const uint64_t> dims);
  void AddTensor(std::string_view name, kernels::TensorType type, std::initializer_list<uint64_t> dims) {
    AddTensor(name, type, std::span(dims.begin(), dims.size()));
  }
  size_t tensor_count() const { return tensors_.size(); }
  uint64_t tensor_bytes(size_t index) const { return tensors_[index].bytes; }

  // Everything before the tensor data, padded to the alignment.
  std::string Header() const;

  // Writes header and tensors to a temporary file beside `path` and renames it. `fill` is called for each tensor in
  // order and must write exactly its bytes. On any error `path` is as it was.
  absl::Status WriteFile(const std::string& path,
                         const std::function<absl::Status(size_t tensor, TensorSink& sink)>& fill) const;

  // The whole file in memory, for small ones; data[i] are the bytes of tensor i.
  std::string ToBytes(std::span<const std::string> data) const;

 private:
  struct TensorInfo {
    std::string name;
    kernels::TensorType type;
    std::vector<uint64_t> dims;
    uint64_t bytes, offset;
  };
  void AddHead(std::string_view key, ValueType type);
  uint64_t Padded(uint64_t size) const { return (size + alignment_ - 1) / alignment_ * alignment_; }

  uint64_t alignment_;
  uint64_t entry_count_ = 0;
  std::string entries_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace inferd::gguf
