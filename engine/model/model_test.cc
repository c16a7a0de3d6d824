#include "engine/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "config/base/status.h"
#include "engine/model/tensor_names.h"
#include "engine/model/testing_model.h"

namespace inferd::model {
namespace {

using testing::HasSubstr;

struct Damage {
  const char* name;
  std::function<TestingModel()> make;
  absl::StatusCode code;
  std::vector<std::string> said;
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class DamagedModel : public testing::TestWithParam<Damage> {};

TEST_P(DamagedModel, IsRefusedByName) {
  const std::string bytes = GetParam().make().Bytes();
  const auto model = LoadBytes(bytes);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), GetParam().code) << model.status();
  EXPECT_THAT(std::string(MessageOf(model.status())), testing::StartsWith("test.gguf: "));
  for (const std::string& part : GetParam().said) EXPECT_THAT(std::string(MessageOf(model.status())), HasSubstr(part));
}

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Long because it is one table: every damage that a model file can have.
std::vector<Damage> Damages() {
  using M = TestingModel;
  return {
      {"UnknownArchitecture",
       [] { return M::Llama().architecture("llamb"); },
       absl::StatusCode::kUnimplemented,
       {"llamb", "known: ", "llama", "qwen3"}},
      {"NoBlockCount", [] { return M::Llama().Without("block_count"); }, kInvalid, {"llama.block_count", "missing"}},
      {"BlockCountZero",
       [] { return M::Llama().Set("block_count", uint32_t{0}); },
       kInvalid,
       {"llama.block_count", "0"}},
      {"BlockCountHuge",
       [] { return M::Llama().Set("block_count", uint32_t{1} << 31); },
       kInvalid,
       {"llama.block_count"}},
      {"BlockCountAsText",
       [] { return M::Llama().Set("block_count", std::string_view("3")); },
       kInvalid,
       {"llama.block_count"}},
      {"MoreLayersThanTensors",
       [] { return M::Llama().Set("block_count", uint32_t{4}); },
       kInvalid,
       {"blk.3.", "missing"}},
      {"FewerLayersThanTensors",
       [] { return M::Llama().Set("block_count", uint32_t{2}); },
       kInvalid,
       {"blk.2.", "not used"}},
      {"WidthHuge",
       [] { return M::Llama().Set("embedding_length", uint32_t{1} << 30); },
       kInvalid,
       {"llama.embedding_length"}},
      {"WidthOther",
       [] { return M::Llama().Set("embedding_length", uint32_t{32}); },
       kInvalid,
       {"token_embd.weight", "64 x 96"}},
      {"HeadsThree",
       [] { return M::Llama().Set("attention.head_count", uint32_t{3}); },
       kInvalid,
       {"head_count 3", "2"}},
      {"KvHeadsZero",
       [] { return M::Llama().Set("attention.head_count_kv", uint32_t{0}); },
       kInvalid,
       {"head_count_kv 0"}},
      {"KeyLengthHuge",
       [] { return M::Llama().Set("attention.key_length", uint32_t{1} << 31); },
       kInvalid,
       {"key_length"}},
      {"NoEpsilon",
       [] { return M::Llama().Without("attention.layer_norm_rms_epsilon"); },
       kInvalid,
       {"layer_norm_rms_epsilon"}},
      {"EpsilonNan",
       [] { return M::Llama().Set("attention.layer_norm_rms_epsilon", std::nanf("")); },
       kInvalid,
       {"epsilon", "finite"}},
      {"EpsilonNegative",
       [] { return M::Llama().Set("attention.layer_norm_rms_epsilon", -1e-5f); },
       kInvalid,
       {"layer_norm_rms_epsilon -1e-05"}},
      {"ContextAsText",
       [] { return M::Llama().Set("context_length", std::string_view("512")); },
       kInvalid,
       {"llama.context_length"}},
      {"HeadsAsFraction",
       [] { return M::Llama().Set("attention.head_count", 4.5f); },
       kInvalid,
       {"llama.attention.head_count"}},
      {"EpsilonAsFlag",
       [] { return M::Llama().Set("attention.layer_norm_rms_epsilon", true); },
       kInvalid,
       {"llama.attention.layer_norm_rms_epsilon"}},
      {"WindowAsText",
       [] { return M::Gemma2().Set("attention.sliding_window", std::string_view("wide")); },
       kInvalid,
       {"gemma2.attention.sliding_window"}},
      {"CausalAsNumber",
       [] { return M::Bert().Set("attention.causal", uint32_t{0}); },
       kInvalid,
       {"bert.attention.causal"}},
      {"VocabularySizeOther",
       [] { return M::Llama().Set("vocab_size", uint32_t{95}); },
       kInvalid,
       {"test.gguf: llama.vocab_size: 95, expected 96"}},
      {"RopeOdd",
       [] { return M::Llama().Set("rope.dimension_count", uint32_t{7}); },
       kInvalid,
       {"rope.dimension_count 7"}},
      {"RopeTooWide",
       [] { return M::Llama().Set("rope.dimension_count", uint32_t{32}); },
       kInvalid,
       {"rope.dimension_count 32"}},
      {"RopeBaseZero", [] { return M::Llama().Set("rope.freq_base", 0.0f); }, kInvalid, {"rope.freq_base 0"}},
      {"RopeScalingUnknown",
       [] { return M::Llama().Set("rope.scaling.type", std::string_view("spiral")); },
       absl::StatusCode::kUnimplemented,
       {"rope.scaling.type", "spiral", "yarn"}},
      {"TensorMissing",
       [] { return M::Llama().Drop("blk.1.ffn_down.weight"); },
       kInvalid,
       {"blk.1.ffn_down.weight", "missing"}},
      {"TensorOfWrongShape",
       [] {
         return M::Llama().Reshape("blk.1.attn_k.weight", {64, 16});
       },
       kInvalid,
       {"blk.1.attn_k.weight", "64 x 16", "64 x 32"}},
      {"TensorUnused",
       [] { return M::Llama().Tensor("blk.0.attn_q_norm.weight", {16}); },
       kInvalid,
       {"blk.0.attn_q_norm.weight", "not used"}},
      {"NormWithBias",
       [] { return M::Llama().Tensor("blk.0.attn_norm.bias", {64}); },
       kInvalid,
       {"blk.0.attn_norm.bias", "no bias"}},
      {"VocabularyOther",
       [] {
         return M::Llama().Reshape("token_embd.weight", {64, 95});
       },
       kInvalid,
       {"token_embd.weight", "64 x 95", "64 x 96"}},
      {"ExpertsUsedTooMany",
       [] { return M::Qwen3Moe().Set("expert_used_count", uint32_t{5}); },
       kInvalid,
       {"expert_used_count", "5"}},
      {"ExpertsHuge", [] { return M::Qwen3Moe().Set("expert_count", uint32_t{1} << 20); }, kInvalid, {"expert_count"}},
      {"ExpertTensorShort",
       [] {
         return M::Qwen3Moe().Reshape("blk.2.ffn_up_exps.weight", {64, 32, 3});
       },
       kInvalid,
       {"blk.2.ffn_up_exps.weight", "64 x 32 x 3", "64 x 32 x 4"}},
      {"LatentWithoutNope",
       [] { return M::Deepseek2().Set("attention.key_length_mla", uint32_t{8}); },
       kInvalid,
       {"key_length_mla"}},
      {"StateHuge", [] { return M::Mamba2().Set("ssm.state_size", uint32_t{1} << 30); }, kInvalid, {"ssm.state_size"}},
      {"GroupsThree", [] { return M::Mamba2().Set("ssm.group_count", uint32_t{3}); }, kInvalid, {"3 groups"}},
      {"OneTap", [] { return M::Lfm2().Set("shortconv.l_cache", uint32_t{1}); }, kInvalid, {"1 convolution taps"}},
      {"PoolingUnknown",
       [] { return M::Bert().Set("pooling_type", uint32_t{9}); },
       absl::StatusCode::kUnimplemented,
       {"pooling_type"}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, DamagedModel, testing::ValuesIn(Damages()),
                         [](const auto& info) { return info.param.name; });

// What products need room for is found by this list.
TEST(Model, ListsEveryMatrixOnce) {
  for (const TestingModel& source : {TestingModel::Llama(), TestingModel::Qwen3Moe(), TestingModel::Deepseek2(),
                                     TestingModel::Mamba2(), TestingModel::Falcon(), TestingModel::Bert()}) {
    const std::string bytes = source.Bytes();
    const auto model = *LoadBytes(bytes);
    std::set<const void*> listed, matrices;
    for (const kernels::WeightMatrix& matrix : model->weights().linears) {
      EXPECT_TRUE(listed.insert(matrix.data).second);
    }
    // Of two dimensions or more, but for what is bound as a vector: taps and decays of recurrent layers.
    for (const gguf::Tensor& tensor : model->file().tensors()) {
      const bool vector = tensor.elements() == tensor.dims[0] || tensor.name.find("ssm_") != std::string::npos;
      if (!vector) matrices.insert(tensor.data);
    }
    for (const void* matrix : matrices) EXPECT_EQ(listed.count(matrix), 1u) << model->spec().architecture;
  }
}

struct Oddity {
  const char* name;
  std::function<TestingModel()> make;
  const char* warning;
};
void PrintTo(const Oddity& oddity, std::ostream* out) { *out << oddity.name; }

class OddModel : public testing::TestWithParam<Oddity> {};

TEST_P(OddModel, IsLoadedWithAWarning) {
  const std::string bytes = GetParam().make().Bytes();
  const auto model = LoadBytes(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->warnings(), testing::ElementsAre(HasSubstr(GetParam().warning)));
}

INSTANTIATE_TEST_SUITE_P(
    All, OddModel,
    testing::Values(Oddity{"PoolingUnspecified", [] { return TestingModel::Bert().Set("pooling_type", int32_t{-1}); },
                           "bert.pooling_type: -1"},
                    Oddity{"PoolingUnspecifiedUnsigned",
                           [] { return TestingModel::Llama().Set("pooling_type", 0xFFFFFFFFu); },
                           "llama.pooling_type: 4294967295"},
                    Oddity{"TensorOfNoFamily", [] { return TestingModel::Llama().Tensor("blk.0.colour.weight", {16}); },
                           "tensor blk.0.colour.weight: no family uses it"},
                    Oddity{"TensorsOfNoFamily",
                           [] { return TestingModel::Llama().Tensor("colour", {16}).Tensor("taste.bias", {16}); },
                           "tensor colour and 1 others"},
                    Oddity{"WindowThatTheFamilyLacks",
                           [] { return TestingModel::Llama().Set("attention.sliding_window", uint32_t{40}); },
                           "llama.attention.sliding_window: 40 is ignored"},
                    Oddity{"ContextHuge", [] { return TestingModel::Llama().Set("context_length", uint32_t{1} << 31); },
                           "llama.context_length: 2147483648"}),
    [](const auto& info) { return info.param.name; });

// Every tensor of the families that tests make has a name with a meaning, or its absence elsewhere would go unseen.
TEST(Model, KnowsTheNamesOfItsTensors) {
  for (const TestingModel& made :
       {TestingModel::Llama(), TestingModel::Gemma2(), TestingModel::Qwen3Moe(), TestingModel::Deepseek2(),
        TestingModel::Lfm2(), TestingModel::Mamba(), TestingModel::Mamba2(), TestingModel::Qwen35(),
        TestingModel::Falcon(), TestingModel::Mpt(), TestingModel::Bert()}) {
    const std::string bytes = made.Bytes();
    const auto model = LoadBytes(bytes);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE((*model)->warnings().empty());
    for (const gguf::Tensor& tensor : (*model)->file().tensors()) {
      EXPECT_TRUE(IsTensorOfSomeFamily(tensor.name)) << tensor.name;
    }
  }
}

TEST(Model, SaysWhatItIs) {
  const std::string bytes = TestingModel::Llama().Bytes();
  const auto model = LoadBytes(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->vocabulary_size(), 96);
  EXPECT_EQ((*model)->context_length(), 512);
  // Two of 96 x 64, a norm of 64, and for each layer 2 x 64 of norms, 64 x (64 + 32 + 32 + 64) and 3 x 64 x 128.
  EXPECT_EQ((*model)->parameter_count(), 2u * 6144 + 64 + 3u * (128 + 12288 + 24576));
  EXPECT_THAT((*model)->description(), HasSubstr("llama"));
}

TEST(Model, FingerprintFollowsTheWeights) {
  const std::string bytes = TestingModel::Llama().Bytes(), same = bytes;
  std::string other = bytes;
  other.back() ^= 1;
  EXPECT_EQ((*LoadBytes(bytes))->fingerprint(), (*LoadBytes(same))->fingerprint());
  EXPECT_NE((*LoadBytes(bytes))->fingerprint(), (*LoadBytes(other))->fingerprint());
}

TEST(Model, TiesTheHeadToTheEmbedding) {
  const std::string bytes = TestingModel::Llama().Drop("output.weight").Bytes();
  const auto model = LoadBytes(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->weights().head.weights.data, (*model)->weights().embedding.weights.data);
}

TEST(Model, KnowsItsArchitecturesInOrder) {
  const std::vector<std::string> names = KnownArchitectures();
  EXPECT_THAT(names, testing::IsSupersetOf({"llama", "qwen2", "gemma3", "gpt-oss", "deepseek2", "mamba", "bert"}));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

}  // namespace
}  // namespace inferd::model
