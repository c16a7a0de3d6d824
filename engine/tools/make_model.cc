#include "engine/tools/make_model.h"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "config/base/status.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/tools/random_blocks.h"

namespace inferd::tools {
namespace {

using gguf::GgufWriter;
using gguf::TensorSink;
using kernels::TensorType;

constexpr std::string_view kChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

struct Key {
  std::string_view name;
  int64_t ModelShape::*field;
  int64_t smallest, largest;
};
constexpr Key kKeys[] = {
    {"width", &ModelShape::width, 32, 1 << 17},
    {"layers", &ModelShape::layers, 1, 1024},
    {"heads", &ModelShape::heads, 1, 1024},
    {"kv_heads", &ModelShape::kv_heads, 1, 1024},
    {"head_dim", &ModelShape::head_dim, 2, 1024},
    {"feed_forward", &ModelShape::feed_forward, 32, 1 << 20},
    {"vocabulary", &ModelShape::vocabulary, 512, 1 << 20},
    {"context", &ModelShape::context, 64, 1 << 24},
};

absl::Status SetKey(std::string_view key, std::string_view value, ModelShape& shape) {
  if (key == "tied_head") {
    if (value != "0" && value != "1") return InvalidArgument("shape: tied_head is {}, expected 0 or 1", value);
    shape.tied_head = value == "1";
    return absl::OkStatus();
  }
  for (const Key& candidate : kKeys) {
    if (candidate.name != key) continue;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < candidate.smallest ||
        number > candidate.largest) {
      return InvalidArgument("shape: {} is '{}', expected {}..{}", key, value, candidate.smallest, candidate.largest);
    }
    shape.*candidate.field = number;
    return absl::OkStatus();
  }
  return InvalidArgument(
      "shape: unknown key '{}', expected llama-1b, llama-tiny, or width, layers, heads, kv_heads, "
      "head_dim, feed_forward, vocabulary, context, tied_head with =VALUE",
      key);
}

// The byte-pair alphabet of GPT-2: each byte has a printable character of its own.
std::array<std::string, 256> ByteSpellings() {
  std::array<std::string, 256> out;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const uint32_t code = printable ? byte : next++;
    if (code < 0x80) {
      out[byte] = std::string(1, static_cast<char>(code));
    } else {
      out[byte] = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    }
  }
  return out;
}

// 256 bytes, then pairs and triples of them as merges, then the chat's control tokens.
void AddVocabulary(int64_t size, GgufWriter& writer) {
  const std::array<std::string, 256> bytes = ByteSpellings();
  std::vector<std::string> tokens(bytes.begin(), bytes.end());
  std::vector<std::string> merges;
  const size_t merged = static_cast<size_t>(size) - 3;
  for (size_t length = 1, begin = 0; tokens.size() < merged; ++length) {
    const size_t end = tokens.size();
    for (size_t left = begin; left < end && tokens.size() < merged; ++left) {
      for (size_t right = 0; right < 256 && tokens.size() < merged; ++right) {
        merges.push_back(tokens[left] + " " + bytes[right]);
        tokens.push_back(tokens[left] + bytes[right]);
      }
    }
    begin = end;
  }
  const auto first_control = static_cast<uint32_t>(tokens.size());
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) tokens.emplace_back(control);
  std::vector<int32_t> kinds(tokens.size(), 1);
  std::fill(kinds.begin() + first_control, kinds.end(), 3);
  writer.Add("tokenizer.ggml.model", "gpt2");
  writer.Add("tokenizer.ggml.pre", "gpt-2");
  writer.Add("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  writer.Add("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  writer.Add("tokenizer.ggml.merges", std::span<const std::string>(merges));
  writer.Add("tokenizer.ggml.bos_token_id", first_control);
  writer.Add("tokenizer.ggml.eos_token_id", first_control + 2);
  writer.Add("tokenizer.ggml.add_bos_token", false);
  writer.Add("tokenizer.chat_template", kChatTemplate);
}

void AddMetadata(const ModelShape& shape, GgufWriter& writer) {
  const auto add = [&](const char* key, int64_t value) {
    writer.Add(fmt::format("llama.{}", key), static_cast<uint32_t>(value));
  };
  writer.Add("general.architecture", "llama");
  writer.Add("general.name", "random weights");
  add("block_count", shape.layers);
  add("context_length", shape.context);
  add("embedding_length", shape.width);
  add("feed_forward_length", shape.feed_forward);
  add("attention.head_count", shape.heads);
  add("attention.head_count_kv", shape.kv_heads);
  add("attention.key_length", shape.head_dim);
  add("attention.value_length", shape.head_dim);
  add("rope.dimension_count", shape.head_dim);
  add("vocab_size", shape.vocabulary);
  writer.Add("llama.rope.freq_base", 500000.0f);
  writer.Add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
}

struct PlannedTensor {
  TensorType type;
  float deviation;  // 0: a norm, all ones
};

// Declares every tensor; the plan has their contents in the same order.
std::vector<PlannedTensor> AddTensors(const ModelShape& shape, TensorType type, TensorType head_type,
                                      GgufWriter& writer) {
  std::vector<PlannedTensor> plan;
  const auto matrix = [&](const std::string& name, TensorType kind, int64_t in, int64_t out) {
    writer.AddTensor(name, kind, {static_cast<uint64_t>(in), static_cast<uint64_t>(out)});
    plan.push_back({kind, 1.0f / std::sqrt(static_cast<float>(in))});
  };
  const auto norm = [&](const std::string& name) {
    writer.AddTensor(name, TensorType::kF32, {static_cast<uint64_t>(shape.width)});
    plan.push_back({TensorType::kF32, 0});
  };
  const int64_t q = shape.heads * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
  matrix("token_embd.weight", head_type, shape.width, shape.vocabulary);
  for (int64_t i = 0; i < shape.layers; ++i) {
    const std::string block = fmt::format("blk.{}.", i);
    norm(block + "attn_norm.weight");
    matrix(block + "attn_q.weight", type, shape.width, q);
    matrix(block + "attn_k.weight", type, shape.width, kv);
    matrix(block + "attn_v.weight", type, shape.width, kv);
    matrix(block + "attn_output.weight", type, q, shape.width);
    norm(block + "ffn_norm.weight");
    matrix(block + "ffn_gate.weight", type, shape.width, shape.feed_forward);
    matrix(block + "ffn_up.weight", type, shape.width, shape.feed_forward);
    matrix(block + "ffn_down.weight", type, shape.feed_forward, shape.width);
  }
  norm("output_norm.weight");
  if (!shape.tied_head) matrix("output.weight", head_type, shape.width, shape.vocabulary);
  return plan;
}

absl::Status WriteOnes(uint64_t bytes, TensorSink& sink) {
  const std::vector<float> ones(bytes / sizeof(float), 1.0f);
  return sink.Write({reinterpret_cast<const uint8_t*>(ones.data()), bytes});
}

absl::Status CheckShape(const ModelShape& shape, TensorType type, TensorType head_type) {
  if (shape.heads % shape.kv_heads != 0) {
    return InvalidArgument("shape: heads is {}, expected a multiple of kv_heads ({})", shape.heads, shape.kv_heads);
  }
  const int64_t block = kernels::TraitsOf(type).block_elements,
                head_block = kernels::TraitsOf(head_type).block_elements;
  for (const auto& [name, length, unit] : {std::tuple("width", shape.width, std::lcm(block, head_block)),
                                           std::tuple("feed_forward", shape.feed_forward, block),
                                           std::tuple("heads * head_dim", shape.heads * shape.head_dim, block)}) {
    if (length % unit != 0) {
      return InvalidArgument("shape: {} is {}, expected a multiple of {} for types {} and {}", name, length, unit,
                             kernels::TraitsOf(type).name, kernels::TraitsOf(head_type).name);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelShape> ParseShape(std::string_view text) {
  ModelShape shape;
  if (text == "llama-1b") return shape;
  if (text == "llama-tiny") return ModelShape{256, 2, 4, 2, 64, 512, 512, 512, true};
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    RETURN_IF_ERROR(SetKey(pair.substr(0, equals), value, shape));
  }
  return shape;
}

absl::Status MakeModel(const ModelShape& shape, TensorType type, TensorType head_type, const std::string& path) {
  RETURN_IF_ERROR(CheckShape(shape, type, head_type));
  GgufWriter writer;
  AddMetadata(shape, writer);
  AddVocabulary(shape.vocabulary, writer);
  const std::vector<PlannedTensor> plan = AddTensors(shape, type, head_type, writer);
  return writer.WriteFile(path, [&](size_t i, TensorSink& sink) -> absl::Status {
    if (plan[i].deviation == 0) return WriteOnes(writer.tensor_bytes(i), sink);
    return RandomBlocks(plan[i].type, plan[i].deviation, i).Fill(writer.tensor_bytes(i), sink);
  });
}

}  // namespace inferd::tools
