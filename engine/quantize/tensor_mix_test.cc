// The mixes. The expected types are those that llama.cpp gives tensors of these roles, worked out by hand from its
// rules.
#include "engine/quantize/tensor_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/gguf/gguf_writer.h"

namespace inferd::quantize {
namespace {

using gguf::GgufFile;
using gguf::GgufWriter;
using kernels::TensorType;
using enum kernels::TensorType;

struct Shape {
  const char* architecture = "llama";
  uint32_t layers = 32, heads = 32, kv_heads = 8, experts = 0;
  uint64_t columns = 256;
  bool own_head = true;
};

class Model {
 public:
  explicit Model(const Shape& shape = {}) {
    const std::string prefix = std::string(shape.architecture) + ".";
    GgufWriter writer;
    writer.Add("general.architecture", shape.architecture);
    writer.Add(prefix + "block_count", shape.layers);
    writer.Add(prefix + "attention.head_count", shape.heads);
    writer.Add(prefix + "attention.head_count_kv", shape.kv_heads);
    if (shape.experts > 0) writer.Add(prefix + "expert_count", shape.experts);
    std::vector<std::string> data;
    const auto add = [&](const std::string& name, std::initializer_list<uint64_t> dims) {
      writer.AddTensor(name, kF32, dims);
      data.emplace_back(writer.tensor_bytes(writer.tensor_count() - 1), '\0');
    };
    add("token_embd.weight", {shape.columns, 1});
    if (shape.own_head) add("output.weight", {shape.columns, 1});
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
      for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
        add("blk." + std::to_string(layer) + "." + part + ".weight", {shape.columns, 1});
      }
      if (shape.experts > 0)
        add("blk." + std::to_string(layer) + ".ffn_up_exps.weight", {shape.columns, 1, shape.experts});
    }
    bytes_ = writer.ToBytes(data);
    file_ = *GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}, "a model");
  }

  TensorType TypeOf(const char* file_type, const std::string& tensor, bool importance = false) const {
    return TensorMix::Create(*file_, *FindFileType(file_type), importance)->TypeOf(*file_->FindTensor(tensor));
  }
  // The layers whose tensor gets a type, as "0 1 5".
  std::string LayersWith(const char* file_type, const std::string& part, TensorType type,
                         bool importance = false) const {
    const TensorMix mix = *TensorMix::Create(*file_, *FindFileType(file_type), importance);
    std::string layers;
    for (int i = 0; file_->FindTensor("blk." + std::to_string(i) + "." + part + ".weight") != nullptr; ++i) {
      if (mix.TypeOf(*file_->FindTensor("blk." + std::to_string(i) + "." + part + ".weight")) != type) continue;
      layers += (layers.empty() ? "" : " ") + std::to_string(i);
    }
    return layers;
  }

 private:
  std::string bytes_;
  std::shared_ptr<const GgufFile> file_;
};

// i < n/8, i >= 7n/8, or every third between, for 32 layers.
constexpr const char* kMoreBits = "0 1 2 3 6 9 12 15 18 21 24 27 28 29 30 31";

TEST(TensorMix, GivesTheMediumFilesBetterValuesAndDownProjectionsInHalfOfTheLayers) {
  const Model model;
  for (const char* part : {"attn_v", "ffn_down"}) {
    EXPECT_EQ(model.LayersWith("Q4_K_M", part, kQ6_K), kMoreBits) << part;
    EXPECT_EQ(model.LayersWith("Q5_K_M", part, kQ6_K), kMoreBits) << part;
    EXPECT_EQ(model.LayersWith("Q4_K_S", part, kQ5_K), "0 1 2 3") << part;
    EXPECT_EQ(model.LayersWith("Q5_K_S", part, kQ6_K), "") << part;
  }
  EXPECT_EQ(model.LayersWith("Q3_K_M", "attn_v", kQ5_K), "0 1");
  EXPECT_EQ(model.LayersWith("Q3_K_M", "ffn_down", kQ5_K), "0 1");
  EXPECT_EQ(model.LayersWith("IQ4_XS", "ffn_down", kQ5_K), "0 1 2 3");
  EXPECT_EQ(model.LayersWith("IQ4_XS", "ffn_down", kQ5_K, /*importance=*/true), "");
  EXPECT_EQ(model.LayersWith("Q4_0", "ffn_down", kQ4_1), "");
  EXPECT_EQ(model.LayersWith("Q4_0", "ffn_down", kQ4_1, /*importance=*/true), "0 1 2 3");
  EXPECT_EQ(model.LayersWith("IQ3_XS", "ffn_up", kIQ3_S), "0 1 2 3 28 29 30 31");
}

struct Case {
  const char* file_type;
  TensorType embedding, head, query, key, value, output, down;  // of layer 5
};

TEST(TensorMix, GivesEachRoleItsType) {
  const Model model;
  for (const Case& c : {
           Case{"F16", kF16, kF16, kF16, kF16, kF16, kF16, kF16},
           Case{"Q8_0", kQ8_0, kQ8_0, kQ8_0, kQ8_0, kQ8_0, kQ8_0, kQ8_0},
           Case{"Q4_0", kQ4_0, kQ6_K, kQ4_0, kQ4_0, kQ4_0, kQ4_0, kQ4_0},
           Case{"Q2_K", kQ2_K, kQ6_K, kQ2_K, kQ2_K, kQ4_K, kQ3_K, kQ3_K},
           Case{"Q2_K_S", kQ2_K, kQ6_K, kQ2_K, kQ2_K, kQ4_K, kQ2_K, kQ2_K},
           Case{"Q3_K_S", kQ3_K, kQ6_K, kQ3_K, kQ3_K, kQ3_K, kQ3_K, kQ3_K},
           Case{"Q3_K_M", kQ3_K, kQ6_K, kQ3_K, kQ3_K, kQ4_K, kQ4_K, kQ4_K},
           Case{"Q3_K_L", kQ3_K, kQ6_K, kQ3_K, kQ3_K, kQ5_K, kQ5_K, kQ5_K},
           Case{"Q4_K_M", kQ4_K, kQ6_K, kQ4_K, kQ4_K, kQ4_K, kQ4_K, kQ4_K},
           Case{"Q6_K", kQ6_K, kQ6_K, kQ6_K, kQ6_K, kQ6_K, kQ6_K, kQ6_K},
           Case{"IQ4_NL", kIQ4_NL, kQ6_K, kIQ4_NL, kIQ4_NL, kQ5_K, kIQ4_NL, kIQ4_NL},
           Case{"IQ3_M", kIQ3_S, kQ6_K, kIQ3_S, kIQ3_S, kQ4_K, kQ4_K, kIQ3_S},
           Case{"IQ3_XXS", kIQ3_S, kQ5_K, kIQ2_S, kIQ2_S, kQ4_K, kIQ3_S, kQ3_K},
           Case{"IQ2_M", kIQ3_S, kQ5_K, kIQ2_S, kIQ2_S, kQ4_K, kIQ3_S, kIQ2_S},
           Case{"IQ2_XXS", kQ2_K, kQ5_K, kIQ2_XXS, kIQ2_XXS, kQ4_K, kIQ2_XXS, kIQ2_XXS},
           Case{"IQ1_S", kQ2_K, kQ5_K, kIQ1_S, kIQ1_S, kQ4_K, kIQ2_XXS, kIQ1_S},
           Case{"TQ2_0", kQ4_K, kQ6_K, kTQ2_0, kTQ2_0, kTQ2_0, kTQ2_0, kTQ2_0},
       }) {
    SCOPED_TRACE(c.file_type);
    EXPECT_EQ(model.TypeOf(c.file_type, "token_embd.weight"), c.embedding);
    EXPECT_EQ(model.TypeOf(c.file_type, "output.weight"), c.head);
    EXPECT_EQ(model.TypeOf(c.file_type, "blk.5.attn_q.weight"), c.query);
    EXPECT_EQ(model.TypeOf(c.file_type, "blk.5.attn_k.weight"), c.key);
    EXPECT_EQ(model.TypeOf(c.file_type, "blk.5.attn_v.weight"), c.value);
    EXPECT_EQ(model.TypeOf(c.file_type, "blk.5.attn_output.weight"), c.output);
    EXPECT_EQ(model.TypeOf(c.file_type, "blk.5.ffn_down.weight"), c.down);
  }
}

TEST(TensorMix, AsksTheModelForItsShape) {
  const Model tied({.own_head = false});
  EXPECT_EQ(tied.TypeOf("Q4_K_M", "token_embd.weight"), kQ6_K);
  const Model narrow({.columns = 64});
  EXPECT_EQ(narrow.TypeOf("Q4_K_M", "output.weight"), kQ8_0);
  const Model ungrouped({.kv_heads = 32});
  EXPECT_EQ(ungrouped.TypeOf("Q2_K", "blk.5.attn_v.weight"), kQ3_K);
  const Model deep({.layers = 80, .heads = 64});
  EXPECT_EQ(deep.TypeOf("Q4_K_S", "blk.40.attn_v.weight"), kQ5_K);
  const Model experts({.experts = 8});
  EXPECT_EQ(experts.TypeOf("Q4_K_M", "blk.5.attn_k.weight"), kQ8_0);
  EXPECT_EQ(experts.TypeOf("Q4_K_M", "blk.5.attn_output.weight"), kQ5_K);
  EXPECT_EQ(experts.TypeOf("MXFP4", "blk.5.ffn_up_exps.weight"), kMXFP4);
  EXPECT_EQ(experts.TypeOf("MXFP4", "blk.5.ffn_up.weight"), kQ8_0);
  const Model falcon({.architecture = "falcon"});
  EXPECT_EQ(falcon.TypeOf("Q4_K_M", "output.weight"), kQ8_0);
  EXPECT_EQ(falcon.LayersWith("Q4_K_M", "ffn_down", kQ6_K), "0 1");
}

TEST(TypeForRows, TakesSmallerBlocksWhereRowsAreNoMultipleOf256) {
  EXPECT_EQ(TypeForRows(kQ4_K, 512), kQ4_K);
  EXPECT_EQ(TypeForRows(kQ4_K, 576), kQ5_0);
  EXPECT_EQ(TypeForRows(kQ5_K, 576), kQ5_1);
  EXPECT_EQ(TypeForRows(kQ6_K, 576), kQ8_0);
  EXPECT_EQ(TypeForRows(kQ2_K, 576), kQ4_0);
  EXPECT_EQ(TypeForRows(kQ3_K, 576), kQ4_0);
  EXPECT_EQ(TypeForRows(kIQ2_S, 576), kIQ4_NL);
  EXPECT_EQ(TypeForRows(kIQ4_XS, 576), kIQ4_NL);
  EXPECT_EQ(TypeForRows(kTQ1_0, 576), kQ4_0);
  EXPECT_EQ(TypeForRows(kQ4_K, 100), kF16);
  EXPECT_EQ(TypeForRows(kQ8_0, 100), kF16);
}

TEST(IsQuantizable, LeavesSmallAndSensitiveWeights) {
  const auto of = [](std::string_view name, uint32_t dims) {
    return IsQuantizable(
        {.name = name, .type = kF32, .n_dims = dims, .dims = {256, 2, 1, 1}, .data = nullptr, .bytes = 0});
  };
  EXPECT_TRUE(of("blk.0.attn_q.weight", 2));
  EXPECT_TRUE(of("blk.0.ffn_up_exps.weight", 3));
  EXPECT_FALSE(of("blk.0.attn_norm.weight", 1));
  EXPECT_FALSE(of("blk.0.attn_q_norm.weight", 2));
  EXPECT_FALSE(of("blk.0.attn_q.bias", 2));
  EXPECT_FALSE(of("blk.0.ffn_gate_inp.weight", 2));
  EXPECT_FALSE(of("blk.0.ssm_conv1d.weight", 2));
  EXPECT_FALSE(of("position_embd.weight", 2));
  EXPECT_FALSE(of("token_types.weight", 2));
}

}  // namespace
}  // namespace inferd::quantize
