// Small models with random weights, for tests: files as bytes, of families that between them use every part of a pass.
//
//   std::string bytes = TestingModel::Llama().Bytes();
//   std::shared_ptr<const Model> model = LoadBytes(bytes);        // bytes must outlive it
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/model/model.h"

namespace inferd::model {

class TestingModel {
 public:
  static constexpr uint32_t kVocabulary = 96, kWidth = 64, kInner = 128, kLayers = 3, kContext = 512;

  static TestingModel Llama(kernels::TensorType type = kernels::TensorType::kF32);  // 4 heads, 2 KV heads
  static TestingModel LlamaK();     // the same of width 256 in Q4_K, values and ways down in Q6_K
  static TestingModel Gemma2();     // every other layer with a window of 40 tokens, norms after branches, soft caps
  static TestingModel Qwen3Moe();   // 4 experts, 2 used
  static TestingModel Deepseek2();  // latent attention, absorbed
  static TestingModel Lfm2();       // short convolutions and attention
  static TestingModel Mamba();
  static TestingModel Mamba2();
  static TestingModel Qwen35();  // gated delta nets and gated attention
  static TestingModel Falcon();  // branches side by side, one tensor for q, k and v
  static TestingModel Mpt();     // linear attention biases
  static TestingModel Bert();    // encoder

  TestingModel& Drop(std::string_view tensor);  // leaves a tensor out
  TestingModel& Reshape(std::string_view tensor, std::vector<uint64_t> dims);
  template <typename T>
  TestingModel& Set(std::string_view key, T value) {  // replaces a key of the architecture
    std::erase_if(keys_, [&](const Key& k) { return k.name == key; });
    keys_.push_back({std::string(key), [value](gguf::GgufWriter& w, std::string_view k) { w.Add(k, value); }});
    return *this;
  }
  TestingModel& Without(std::string_view key);
  TestingModel& Tensor(std::string name, std::vector<uint64_t> dims, float magnitude = 0, float centre = 0);
  TestingModel& architecture(std::string name) {
    architecture_ = std::move(name);
    return *this;
  }
  std::string Bytes() const;

 private:
  struct Key {
    std::string name;
    std::function<void(gguf::GgufWriter&, std::string_view)> add;
  };
  struct Item {
    std::string name;
    std::vector<uint64_t> dims;
    float magnitude, centre;  // weights are centre + magnitude * uniform(-1, 1)
  };
  explicit TestingModel(std::string architecture);
  void Ends();
  void Norm(const std::string& name) { Norm(name, width_); }
  void Norm(const std::string& name, uint64_t n) { Tensor(name + ".weight", {n}, 0.25f, 1); }
  void Matrix(const std::string& name, uint64_t k, uint64_t rows) { Tensor(name + ".weight", {k, rows}); }
  void Attention(const std::string& block, uint64_t heads, uint64_t kv_heads, uint64_t dim);
  void GatedFeedForward(const std::string& block, uint64_t inner = kInner);

  kernels::TensorType TypeOf(const Item& item) const;

  std::string architecture_;
  uint64_t width_ = kWidth;                               // of Ends, Norm, Attention and GatedFeedForward
  kernels::TensorType type_ = kernels::TensorType::kF32;  // of matrices
  std::vector<Key> keys_;
  std::vector<Item> tensors_;
};

inline absl::StatusOr<std::shared_ptr<const Model>> LoadBytes(const std::string& bytes) {
  auto file = gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "test.gguf");
  if (!file.ok()) return file.status();
  return Model::Load(*file);
}

}  // namespace inferd::model
