// The first promise: a text's result is the same bits whatever the threads, chunks, neighbours and cache hits.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "engine/device/factory/device_factory.h"
#include "engine/forward/forward.h"
#include "engine/model/testing_model.h"

namespace inferd::forward {
namespace {

using device::Device;
using device::DeviceOptions;
using model::TestingModel;

struct Case {
  const char* name;
  std::function<TestingModel()> make;
  kernels::CacheType cache = kernels::CacheType::kF16;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<int32_t> Text(int64_t n, int32_t seed) {
  std::vector<int32_t> tokens(n);
  for (int64_t i = 0; i < n; ++i)
    tokens[i] = static_cast<int32_t>((i * i * 7 + i * 13 + seed * 29) % TestingModel::kVocabulary);
  return tokens;
}

class Invariance : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kTokens = 200;

  void SetUp() override {
    bytes_ = GetParam().make().Bytes();
    auto model = model::LoadBytes(bytes_);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *model;
  }

  std::unique_ptr<Device> MakeDevice(int32_t threads, const std::string& isa = "", int64_t context_tokens = 0) {
    DeviceOptions options{.context_tokens = context_tokens, .max_batch_tokens = 512, .max_result_rows = 512};
    options.cache.bytes = 32 << 20;
    options.cache.type = GetParam().cache;
    auto device = device::CreateDevice(model_, options, {.cpu = {.threads = threads, .isa = isa}});
    EXPECT_TRUE(device.ok()) << device.status();
    return *std::move(device);
  }

  // The layers on two devices.
  std::unique_ptr<Device> MakeSplitDevice(int32_t first_layers) {
    DeviceOptions options{.max_batch_tokens = 512, .max_result_rows = 512};
    options.cache.bytes = 32 << 20;
    options.cache.type = GetParam().cache;
    auto device = device::CreateSplitDevice(model_, options,
                                            {{.cpu = {.threads = 1}, .layers = first_layers}, {.cpu = {.threads = 2}}});
    EXPECT_TRUE(device.ok()) << device.status();
    return *std::move(device);
  }

  // The results of all rows of `text`, computed in chunks.
  static std::vector<float> Run(Device& device, std::span<const int32_t> text, std::vector<int64_t> chunks) {
    auto sequence = *device.cache().NewSequence({});
    std::vector<float> values;
    size_t next = 0;
    for (int64_t done = 0; done < static_cast<int64_t>(text.size());) {
      const int64_t n = std::min<int64_t>(chunks[next++ % chunks.size()], static_cast<int64_t>(text.size()) - done);
      Append(device, {{sequence.get(), text.subspan(done, n), Rows::kAll}}, values);
      done += n;
    }
    return values;
  }

  static void Append(Device& device, std::vector<SequenceStep> steps, std::vector<float>& values) {
    for (const auto& step : steps) {
      ASSERT_TRUE(device.cache().Reserve(*step.sequence, static_cast<int64_t>(step.tokens.size())).ok());
    }
    auto result = device.model().spec().encoder ? ForwardHidden(device, steps) : Forward(device, steps);
    ASSERT_TRUE(result.ok()) << result.status();
    const std::vector<float> rows = *result->Copy();
    values.insert(values.end(), rows.begin(), rows.end());
  }

  std::string bytes_;
  std::shared_ptr<const model::Model> model_;
};

// Encoders take a whole text at once and keep nothing: the rest is for decoders.
class DecoderInvariance : public Invariance {
 protected:
  void CheckForks(Device& on);  // two forks of a sequence give what two texts give
};

TEST_P(Invariance, NotOfThreads) {
  const std::vector<int32_t> text = Text(kTokens, 1);
  const std::vector<float> expected = Run(*MakeDevice(1), text, {kTokens});
  ASSERT_FALSE(expected.empty());
  for (float value : expected) ASSERT_TRUE(std::isfinite(value));
  for (int32_t threads : {2, 3, 4, 5}) EXPECT_EQ(Run(*MakeDevice(threads), text, {kTokens}), expected) << threads;
}

TEST_P(Invariance, NotOfInstructionSets) {
  const std::vector<int32_t> text = Text(kTokens, 2);
  const std::vector<float> expected = Run(*MakeDevice(2, "reference"), text, {kTokens});
  for (const char* const* name = kernels::KernelVariants(); *name != nullptr; ++name) {
    if (kernels::SelectKernels(*name) == nullptr) continue;
    EXPECT_EQ(Run(*MakeDevice(2, *name), text, {kTokens}), expected) << *name;
  }
}

TEST_P(DecoderInvariance, NotOfChunks) {
  const std::vector<int32_t> text = Text(kTokens, 3);
  auto device = MakeDevice(2);
  const std::vector<float> expected = Run(*device, text, {kTokens});
  const std::vector<std::vector<int64_t>> divisions = {{1}, {64}, {7, 33, 1, 100}, {63, 2}, {128, 17}};
  for (const auto& chunks : divisions) EXPECT_EQ(Run(*device, text, chunks), expected) << chunks[0];
}

TEST_P(Invariance, NotOfNeighbours) {
  auto device = MakeDevice(2);
  const std::vector<int32_t> a = Text(90, 4), b = Text(70, 5), c = Text(1, 6);
  std::vector<float> expected, together;
  for (const auto& text : {a, b, c}) {
    const std::vector<float> alone = Run(*device, text, {kTokens});
    expected.insert(expected.end(), alone.begin(), alone.end());
  }
  auto sa = *device->cache().NewSequence({}), sb = *device->cache().NewSequence({}),
       sc = *device->cache().NewSequence({});
  Append(*device, {{sa.get(), a, Rows::kAll}, {sb.get(), b, Rows::kAll}, {sc.get(), c, Rows::kAll}}, together);
  EXPECT_EQ(together, expected);
}

TEST_P(DecoderInvariance, NotOfPrefixHits) {
  const auto& layers = model_->spec().layers;
  const bool recurrent = std::any_of(layers.begin(), layers.end(), [](const model::LayerSpec& layer) {
    return layer.recurrent.kind != model::RecurrentKind::kNone;
  });
  const std::vector<int32_t> text = Text(kTokens, 7);
  std::vector<int32_t> other = text;  // the same for two pages and a part of the third
  other[150] = (other[150] + 1) % TestingModel::kVocabulary;
  auto device = MakeDevice(2);
  std::vector<int32_t> longer = text;
  longer.insert(longer.end(), 30, 5);
  Run(*device, text, {64});  // ends at pages, where recurrent states are kept, and with the text
  // All but the last token, or up to the difference; recurrent states stand at those ends alone.
  const std::pair<std::vector<int32_t>, int64_t> cases[] = {
      {longer, kTokens}, {text, recurrent ? 192 : 199}, {other, recurrent ? 128 : 150}};
  for (const auto& [prompt, reusable] : cases) {
    const std::vector<float> expected = Run(*MakeDevice(2), prompt, {64});
    auto sequence = *device->cache().NewSequence({});
    const int64_t reused = device->cache().AttachPrefix(*sequence, prompt);
    EXPECT_EQ(reused, reusable);
    std::vector<float> rest;
    Append(*device, {{sequence.get(), std::span(prompt).subspan(reused), Rows::kAll}}, rest);
    ASSERT_EQ(rest.size(), expected.size() / prompt.size() * (prompt.size() - static_cast<size_t>(reused)));
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), expected.end() - static_cast<int64_t>(rest.size())));
  }
}

TEST_P(DecoderInvariance, NotOfForks) { CheckForks(*MakeDevice(2)); }

// Of one query over many keys, threads take spans apart.
TEST_P(DecoderInvariance, NotOfHowManyKeysAreDivided) {
  if (model_->spec().learned_positions) return;
  const std::vector<int32_t> text = Text(1100, 13);
  const std::vector<float> expected = Run(*MakeDevice(1, "", 1100), text, {500});
  const std::vector<int64_t> steps = {500, 11, 1, 1, 1, 500, 1, 4, 8, 1};
  for (int32_t threads : {2, 3}) EXPECT_EQ(Run(*MakeDevice(threads, "", 1100), text, steps), expected) << threads;
}

// Forks copy pages and states of both devices, and prefixes are found in both.
TEST_P(DecoderInvariance, NotOfWhereTheLayersAre) {
  const std::vector<int32_t> text = Text(kTokens, 12);
  const std::vector<float> expected = Run(*MakeDevice(2), text, {kTokens});
  for (int32_t first_layers = 1; first_layers < static_cast<int32_t>(model_->spec().layers.size()); ++first_layers) {
    auto device = MakeSplitDevice(first_layers);
    EXPECT_EQ(Run(*device, text, {kTokens}), expected) << first_layers;
    device->cache().DropPrefixes();
    EXPECT_EQ(Run(*device, text, {50, 1, 77}), expected) << first_layers;
    CheckForks(*device);
  }
}

void DecoderInvariance::CheckForks(Device& on) {
  const std::vector<int32_t> text = Text(110, 8), one = Text(30, 9), other = Text(30, 10);
  Device* const device = &on;
  const auto whole = [&](Device& device, const std::vector<int32_t>& end) {
    std::vector<int32_t> all = text;
    all.insert(all.end(), end.begin(), end.end());
    std::vector<float> values = Run(device, all, {kTokens});
    values.erase(values.begin(), values.begin() + static_cast<int64_t>(values.size() / all.size() * text.size()));
    return values;
  };
  auto alone = MakeDevice(2);
  const std::vector<float> expected_one = whole(*alone, one), expected_other = whole(*alone, other);
  auto a = *device->cache().NewSequence({});
  std::vector<float> ignored, got_one, got_other;
  Append(*device, {{a.get(), text, Rows::kNone}}, ignored);
  auto b = *device->cache().Fork(*a);
  Append(*device, {{b.get(), other, Rows::kAll}}, got_other);
  Append(*device, {{a.get(), one, Rows::kAll}}, got_one);
  EXPECT_EQ(got_one, expected_one);
  EXPECT_EQ(got_other, expected_other);
}

std::vector<Case> Decoders() {
  using M = TestingModel;
  return {{"llama", [] { return M::Llama(); }},
          {"llama_q8_0", [] { return M::Llama(kernels::TensorType::kQ8_0); }},
          {"llama_q4_0", [] { return M::Llama(kernels::TensorType::kQ4_0); }, kernels::CacheType::kF32},
          {"llama_k", M::LlamaK},
          {"gemma2", M::Gemma2},
          {"qwen3moe", M::Qwen3Moe},
          {"deepseek2", M::Deepseek2},
          {"lfm2", M::Lfm2},
          {"mamba", M::Mamba},
          {"mamba2", M::Mamba2},
          {"qwen35", M::Qwen35},
          {"falcon", M::Falcon},
          {"mpt", M::Mpt}};
}

std::string NameOf(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Decoders, Invariance, testing::ValuesIn(Decoders()), NameOf);
INSTANTIATE_TEST_SUITE_P(Encoders, Invariance, testing::Values(Case{"bert", TestingModel::Bert}), NameOf);
INSTANTIATE_TEST_SUITE_P(Decoders, DecoderInvariance, testing::ValuesIn(Decoders()), NameOf);

}  // namespace
}  // namespace inferd::forward
