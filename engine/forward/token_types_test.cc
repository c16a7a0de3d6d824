// A second text's tokens have another type. Rounded sums of embedding and type are an embedding of twice as many
// tokens, so that a model without types must give the same bits.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "engine/device/factory/device_factory.h"
#include "engine/forward/forward.h"
#include "engine/forward/testing_families.h"
#include "engine/forward/testing_oracles.h"

namespace inferd::forward {
namespace {

namespace json = boost::json;

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class TokenTypes : public testing::TestWithParam<std::string> {
 protected:
  TokenTypes() : golden_(json::parse(ReadFile((kFamilies / (GetParam() + ".json")).string()))) {
    for (const json::value& token : golden_.at("tokens").as_array()) tokens_.push_back(token.to_number<int32_t>());
    for (const json::value& tensor : golden_.at("tensors").as_array()) {
      if (tensor.at(0) == "token_embd.weight") vocabulary_ = tensor.at(1).at(1).to_number<int32_t>();
    }
  }

  // The same model with a token of its own for each token of the second type, and no types.
  std::string WithoutTypes() const {
    const auto change = [](const std::string& name, std::vector<uint64_t>& dims, std::string& data) {
      if (name == "token_types.weight") return false;
      if (name != "token_embd.weight") return true;
      const std::vector<float> types = Floats(FillTensor("token_types.weight", {dims[0], 2}));
      const std::vector<float> embedding = Floats(data);
      std::vector<float> sums;
      for (size_t type = 0; type < 2; ++type) {
        for (size_t i = 0; i < embedding.size(); ++i)
          sums.push_back(embedding[i] + types[type * dims[0] + i % dims[0]]);
      }
      dims[1] *= 2;
      data.assign(reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(float));
      return true;
    };
    json::value golden = golden_;
    golden.at("keys").at(GetParam() + ".vocab_size") = 2 * vocabulary_;
    return MakeFile(golden, change);
  }

  static std::vector<float> Hidden(const std::string& bytes, std::vector<SequenceStep> steps) {
    const auto file = gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, GetParam());
    auto model = model::Model::Load(*file);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return {};
    const auto device = device::CreateDevice(*std::move(model),
                                             {.max_batch_tokens = 256,
                                              .max_result_rows = 256,
                                              .cache = {.bytes = 16 << 20, .type = kernels::CacheType::kF32}},
                                             {.cpu = {.threads = 2}});
    std::vector<std::unique_ptr<cache::Sequence>> sequences;
    for (SequenceStep& step : steps) {
      sequences.push_back(*(*device)->cache().NewSequence({}));
      step.sequence = sequences.back().get();
      EXPECT_TRUE((*device)->cache().Reserve(*step.sequence, static_cast<int64_t>(step.tokens.size())).ok());
    }
    auto result = ForwardHidden(**device, steps);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result->Copy() : std::vector<float>();
  }

  const json::value golden_;
  std::vector<int32_t> tokens_;
  int32_t vocabulary_ = 0;
};

TEST_P(TokenTypes, OfASecondTextAreTheSecondRow) {
  const auto end = static_cast<int64_t>(tokens_.size());
  const std::vector<int64_t> places = {0, 1, end / 2, end - 1, end, kOneText};
  std::vector<SequenceStep> typed, plain;
  std::vector<std::vector<int32_t>> ids(places.size(), tokens_);
  for (size_t i = 0; i < places.size(); ++i) {
    for (int64_t k = places[i]; k < end; ++k) ids[i][k] += vocabulary_;
    typed.push_back({.sequence = nullptr, .tokens = tokens_, .wanted = Rows::kAll, .second_text = places[i]});
    plain.push_back({.sequence = nullptr, .tokens = ids[i], .wanted = Rows::kAll});
  }
  const std::vector<float> got = Hidden(MakeFile(golden_), typed);
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got, Hidden(WithoutTypes(), plain));
  const size_t each = got.size() / places.size();
  EXPECT_NE(std::vector(got.begin(), got.begin() + each), std::vector(got.end() - each, got.end()));
}

INSTANTIATE_TEST_SUITE_P(Encoders, TokenTypes, testing::Values("bert", "nomic-bert"),
                         [](const auto& info) { return info.param == "bert" ? "bert" : "nomic_bert"; });

}  // namespace
}  // namespace inferd::forward
