#include "engine/model/testing_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace inferd::model {
namespace {

using kernels::TensorType;

std::string Block(uint32_t layer) { return "blk." + std::to_string(layer) + "."; }

std::string FloatBytes(uint64_t n, float magnitude, float centre, std::mt19937& random) {
  std::string bytes(n * sizeof(float), '\0');
  for (uint64_t i = 0; i < n; ++i) {
    const float uniform = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;
    const float value = centre + magnitude * uniform;
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof value);
  }
  return bytes;
}

// The floats of a type's blocks: halves, a scale and what lies behind it (Q4_K: the scale of minimums).
struct BlockFloats {
  TensorType type;
  size_t at, count;
  uint16_t halves[2];
};
constexpr BlockFloats kBlockFloats[] = {{TensorType::kQ8_0, 0, 1, {0x1400}},          // 2^-10
                                        {TensorType::kQ4_0, 0, 1, {0x2400}},          // 2^-6
                                        {TensorType::kQ4_K, 0, 2, {0x1000, 0x1C00}},  // 2^-11, 2^-8
                                        {TensorType::kQ6_K, 208, 1, {0x0800}}};       // 2^-13

// Blocks with those floats, all else random.
std::string QuantizedBytes(TensorType type, uint64_t n, std::mt19937& random) {
  const BlockFloats& floats = *std::find_if(std::begin(kBlockFloats), std::end(kBlockFloats),
                                            [&](const BlockFloats& candidate) { return candidate.type == type; });
  const kernels::TypeTraits& traits = kernels::TraitsOf(type);
  std::string bytes(n / traits.block_elements * traits.block_bytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (size_t block = 0; block < bytes.size(); block += traits.block_bytes) {
    std::memcpy(bytes.data() + block + floats.at, floats.halves, floats.count * sizeof(uint16_t));
  }
  return bytes;
}

}  // namespace

TestingModel::TestingModel(std::string architecture) : architecture_(std::move(architecture)) {
  Set("block_count", kLayers).Set("context_length", kContext).Set("embedding_length", kWidth);
  Set("feed_forward_length", kInner)
      .Set("attention.head_count", uint32_t{4})
      .Set("attention.head_count_kv", uint32_t{2});
  Set("attention.layer_norm_rms_epsilon", 1e-5f).Set("attention.layer_norm_epsilon", 1e-5f);
}

TestingModel& TestingModel::Tensor(std::string name, std::vector<uint64_t> dims, float magnitude, float centre) {
  if (magnitude == 0) magnitude = 2.0f / std::sqrt(static_cast<float>(dims[0]));
  tensors_.push_back({std::move(name), std::move(dims), magnitude, centre});
  return *this;
}

TestingModel& TestingModel::Drop(std::string_view tensor) {
  std::erase_if(tensors_, [&](const Item& item) { return item.name == tensor; });
  return *this;
}

TestingModel& TestingModel::Reshape(std::string_view tensor, std::vector<uint64_t> dims) {
  for (Item& item : tensors_) {
    if (item.name == tensor) item.dims = dims;
  }
  return *this;
}

TestingModel& TestingModel::Without(std::string_view key) {
  std::erase_if(keys_, [&](const Key& k) { return k.name == key; });
  return *this;
}

void TestingModel::Ends() {
  Tensor("token_embd.weight", {width_, kVocabulary}, 1.0f);
  Norm("output_norm");
  Matrix("output", width_, kVocabulary);
}

void TestingModel::Attention(const std::string& block, uint64_t heads, uint64_t kv_heads, uint64_t dim) {
  Norm(block + "attn_norm");
  Matrix(block + "attn_q", width_, heads * dim);
  Matrix(block + "attn_k", width_, kv_heads * dim);
  Matrix(block + "attn_v", width_, kv_heads * dim);
  Matrix(block + "attn_output", heads * dim, width_);
}

void TestingModel::GatedFeedForward(const std::string& block, uint64_t inner) {
  Norm(block + "ffn_norm");
  Matrix(block + "ffn_gate", width_, inner);
  Matrix(block + "ffn_up", width_, inner);
  Matrix(block + "ffn_down", inner, width_);
}

TestingModel TestingModel::Llama(TensorType type) {
  TestingModel m("llama");
  m.type_ = type;
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    m.Attention(Block(i), 4, 2, 16);
    m.GatedFeedForward(Block(i));
  }
  return m;
}

TestingModel TestingModel::LlamaK() {
  TestingModel m("llama");
  m.type_ = TensorType::kQ4_K;
  m.width_ = 256;
  m.Set("embedding_length", uint32_t{256}).Set("feed_forward_length", uint32_t{512});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    m.Attention(Block(i), 4, 2, 64);
    m.GatedFeedForward(Block(i), 512);
  }
  return m;
}

TestingModel TestingModel::Gemma2() {
  TestingModel m("gemma2");
  m.Set("attention.sliding_window", uint32_t{40});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    m.Attention(Block(i), 4, 2, 16);
    m.GatedFeedForward(Block(i));
    m.Norm(Block(i) + "post_attention_norm");
    m.Norm(Block(i) + "post_ffw_norm");
  }
  return m;
}

TestingModel TestingModel::Qwen3Moe() {
  TestingModel m("qwen3moe");
  m.Set("expert_count", uint32_t{4})
      .Set("expert_used_count", uint32_t{2})
      .Set("expert_feed_forward_length", uint32_t{32});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    m.Attention(Block(i), 4, 2, 16);
    m.Norm(Block(i) + "attn_q_norm", 16);
    m.Norm(Block(i) + "attn_k_norm", 16);
    m.Norm(Block(i) + "ffn_norm");
    m.Matrix(Block(i) + "ffn_gate_inp", kWidth, 4);
    m.Tensor(Block(i) + "ffn_gate_exps.weight", {kWidth, 32, 4});
    m.Tensor(Block(i) + "ffn_up_exps.weight", {kWidth, 32, 4});
    m.Tensor(Block(i) + "ffn_down_exps.weight", {32, kWidth, 4});
  }
  return m;
}

TestingModel TestingModel::Deepseek2() {
  TestingModel m("deepseek2");
  m.Set("attention.kv_lora_rank", uint32_t{32}).Set("attention.q_lora_rank", uint32_t{48});
  m.Set("attention.key_length", uint32_t{40}).Set("attention.value_length", uint32_t{32});
  m.Set("attention.key_length_mla", uint32_t{24}).Set("attention.value_length_mla", uint32_t{16});
  m.Set("rope.dimension_count", uint32_t{8}).Set("attention.head_count_kv", uint32_t{1});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string b = Block(i);
    m.Norm(b + "attn_norm");
    m.Matrix(b + "attn_q_a", kWidth, 48);
    m.Norm(b + "attn_q_a_norm", 48);
    m.Matrix(b + "attn_q_b", 48, 4 * 24);
    m.Matrix(b + "attn_kv_a_mqa", kWidth, 32 + 8);
    m.Norm(b + "attn_kv_a_norm", 32);
    m.Tensor(b + "attn_k_b.weight", {16, 32, 4});
    m.Tensor(b + "attn_v_b.weight", {32, 16, 4});
    m.Matrix(b + "attn_output", 4 * 16, kWidth);
    m.GatedFeedForward(b);
  }
  return m;
}

TestingModel TestingModel::Lfm2() {
  TestingModel m("lfm2");
  m.Without("attention.head_count_kv");
  m.keys_.push_back({"attention.head_count_kv", [](gguf::GgufWriter& w, std::string_view key) {
                       const int32_t counts[] = {2, 0, 2};
                       w.Add(key, std::span<const int32_t>(counts));
                     }});
  m.Set("shortconv.l_cache", uint32_t{3});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string b = Block(i);
    if (i == 1) {
      m.Norm(b + "attn_norm");
      m.Matrix(b + "shortconv.in_proj", kWidth, 3 * kWidth);
      m.Tensor(b + "shortconv.conv.weight", {3, kWidth});
      m.Matrix(b + "shortconv.out_proj", kWidth, kWidth);
    } else {
      m.Attention(b, 4, 2, 16);
      m.Norm(b + "attn_q_norm", 16);
      m.Norm(b + "attn_k_norm", 16);
    }
    m.GatedFeedForward(b);
  }
  return m;
}

TestingModel TestingModel::Mamba() {
  TestingModel m("mamba");
  m.Set("ssm.inner_size", uint32_t{128}).Set("ssm.conv_kernel", uint32_t{4}).Set("ssm.state_size", uint32_t{16});
  m.Set("ssm.time_step_rank", uint32_t{4});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string b = Block(i);
    m.Norm(b + "attn_norm");
    m.Matrix(b + "ssm_in", kWidth, 256);
    m.Tensor(b + "ssm_conv1d.weight", {4, 128}).Tensor(b + "ssm_conv1d.bias", {128}, 0.25f);
    m.Matrix(b + "ssm_x", 128, 4 + 32);
    m.Matrix(b + "ssm_dt", 4, 128);
    m.Tensor(b + "ssm_dt.bias", {128}, 0.25f)
        .Tensor(b + "ssm_a", {16, 128}, 0.4f, -0.5f)
        .Tensor(b + "ssm_d", {128}, 0.5f);
    m.Matrix(b + "ssm_out", 128, kWidth);
  }
  return m;
}

TestingModel TestingModel::Mamba2() {
  TestingModel m("mamba2");
  m.Set("ssm.inner_size", uint32_t{128}).Set("ssm.conv_kernel", uint32_t{4}).Set("ssm.state_size", uint32_t{16});
  m.Set("ssm.time_step_rank", uint32_t{4}).Set("ssm.group_count", uint32_t{2});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string b = Block(i);
    m.Norm(b + "attn_norm");
    m.Matrix(b + "ssm_in", kWidth, 2 * 128 + 2 * 2 * 16 + 4);
    m.Tensor(b + "ssm_conv1d.weight", {4, 192}).Tensor(b + "ssm_conv1d.bias", {192}, 0.25f);
    m.Tensor(b + "ssm_dt.bias", {4}, 0.25f).Tensor(b + "ssm_a", {1, 4}, 0.4f, -0.5f).Tensor(b + "ssm_d", {1, 4}, 0.5f);
    m.Tensor(b + "ssm_norm.weight", {64, 2}, 0.25f, 1);
    m.Matrix(b + "ssm_out", 128, kWidth);
  }
  return m;
}

TestingModel TestingModel::Qwen35() {
  TestingModel m("qwen35");
  m.Set("ssm.inner_size", uint32_t{64}).Set("ssm.conv_kernel", uint32_t{4}).Set("ssm.state_size", uint32_t{16});
  m.Set("ssm.time_step_rank", uint32_t{4})
      .Set("ssm.group_count", uint32_t{2})
      .Set("full_attention_interval", uint32_t{3});
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string b = Block(i);
    if (i == 2) {
      m.Attention(b, 4, 2, 16);
      m.Reshape(b + "attn_q.weight", {kWidth, 128});
      m.Norm(b + "attn_q_norm", 16);
      m.Norm(b + "attn_k_norm", 16);
    } else {
      m.Norm(b + "attn_norm");
      m.Matrix(b + "attn_qkv", kWidth, 2 * 2 * 16 + 64);
      m.Matrix(b + "attn_gate", kWidth, 64);
      m.Matrix(b + "ssm_alpha", kWidth, 4);
      m.Matrix(b + "ssm_beta", kWidth, 4);
      m.Tensor(b + "ssm_conv1d.weight", {4, 128})
          .Tensor(b + "ssm_dt.bias", {4}, 0.25f)
          .Tensor(b + "ssm_a", {4}, 0.4f, -0.5f);
      m.Norm(b + "ssm_norm", 16);
      m.Matrix(b + "ssm_out", 64, kWidth);
    }
    m.GatedFeedForward(b);
    m.Drop(b + "ffn_norm.weight");
    m.Norm(b + "post_attention_norm");
  }
  return m;
}

TestingModel TestingModel::Falcon() {
  TestingModel m("falcon");
  m.Ends();
  m.Tensor("output_norm.bias", {kWidth}, 0.25f);
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string b = Block(i);
    m.Norm(b + "attn_norm");
    m.Tensor(b + "attn_norm.bias", {kWidth}, 0.25f);
    m.Matrix(b + "attn_qkv", kWidth, (4 + 2 + 2) * 16);
    m.Matrix(b + "attn_output", kWidth, kWidth);
    m.Matrix(b + "ffn_up", kWidth, kInner);
    m.Matrix(b + "ffn_down", kInner, kWidth);
  }
  return m;
}

TestingModel TestingModel::Mpt() {
  TestingModel m("mpt");
  m.Set("attention.max_alibi_bias", 8.0f).Set("attention.clamp_kqv", 4.0f);
  m.Ends();
  for (uint32_t i = 0; i < kLayers; ++i) {
    m.Attention(Block(i), 4, 2, 16);
    m.GatedFeedForward(Block(i));
    m.Drop(Block(i) + "ffn_gate.weight");
  }
  return m;
}

TestingModel TestingModel::Bert() {
  TestingModel m("bert");
  m.Set("attention.head_count_kv", uint32_t{4}).Set("attention.causal", false).Set("pooling_type", uint32_t{1});
  m.Tensor("token_embd.weight", {kWidth, kVocabulary}, 1.0f);
  m.Tensor("position_embd.weight", {kWidth, kContext}, 0.5f);
  m.Norm("token_embd_norm");
  m.Tensor("token_embd_norm.bias", {kWidth}, 0.25f);
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string b = Block(i);
    m.Attention(b, 4, 4, 16);
    m.Drop(b + "attn_norm.weight");
    m.Norm(b + "attn_output_norm");
    m.Matrix(b + "ffn_up", kWidth, kInner);
    m.Matrix(b + "ffn_down", kInner, kWidth);
    m.Norm(b + "layer_output_norm");
  }
  return m;
}

TensorType TestingModel::TypeOf(const Item& item) const {
  const auto has = [&](std::string_view part) { return item.name.find(part) != std::string::npos; };
  if (item.dims.size() < 2 || item.dims[0] % 32 != 0 || item.name == "token_embd.weight") return TensorType::kF32;
  return type_ == TensorType::kQ4_K && (has("attn_v") || has("ffn_down")) ? TensorType::kQ6_K : type_;
}

std::string TestingModel::Bytes() const {
  gguf::GgufWriter writer;
  writer.Add("general.architecture", std::string_view(architecture_));
  for (const Key& key : keys_) key.add(writer, architecture_ + "." + key.name);
  std::vector<std::string> tokens;
  for (uint32_t i = 0; i < kVocabulary; ++i) tokens.push_back("t" + std::to_string(i));
  writer.Add("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  std::vector<std::string> data;
  for (const Item& item : tensors_) {
    std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(item.name)));
    const TensorType type = TypeOf(item);
    uint64_t n = 1;
    for (uint64_t dim : item.dims) n *= dim;
    writer.AddTensor(item.name, type, item.dims);
    data.push_back(type == TensorType::kF32 ? FloatBytes(n, item.magnitude, item.centre, random)
                                            : QuantizedBytes(type, n, random));
  }
  return writer.ToBytes(data);
}

}  // namespace inferd::model
