// The last token's logits of a tiny model of each family against those of an independent implementation
// (tests/golden/families).
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/factory/device_factory.h"
#include "engine/forward/forward.h"
#include "engine/forward/testing_families.h"
#include "engine/forward/testing_oracles.h"

namespace inferd::forward {
namespace {

using device::Device;
namespace json = boost::json;

std::vector<std::string> Families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFamilies)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// With `first_layers`, so many of the layers are on one device, the others on a second one. The first one is `name`.
absl::StatusOr<std::unique_ptr<device::Device>> MakeDevice(std::shared_ptr<const model::Model> model, int32_t threads,
                                                           int32_t first_layers, const std::string& name) {
  const device::DeviceOptions options{
      .max_batch_tokens = 64, .max_result_rows = 64, .cache = {.bytes = 16 << 20, .type = kernels::CacheType::kF32}};
  const device::CpuOptions cpu{.threads = threads};
  if (first_layers == 0) return device::CreateDevice(std::move(model), options, {.name = name, .cpu = cpu});
  std::vector<device::LayerShare> shares(2);
  shares[0] = {.name = name, .cpu = cpu, .layers = first_layers};
  shares[1].cpu = cpu;
  return device::CreateSplitDevice(std::move(model), options, shares);
}

class Family : public testing::TestWithParam<std::string> {
 protected:
  Family() : golden_(json::parse(ReadFile((kFamilies / (GetParam() + ".json")).string()))), bytes_(MakeFile(golden_)) {
    tokens_ = json::value_to<std::vector<int32_t>>(golden_.at("tokens"));
  }

  bool encoder() const { return golden_.at("encoder").as_bool(); }

  // The last token's row, of a pass of all tokens or of several passes of `chunk` tokens; empty after a failure.
  std::shared_ptr<const model::Model> Load() const {
    return *model::Model::Load(
        *gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}, GetParam()));
  }

  std::vector<float> LastRow(int32_t threads, size_t chunk, int32_t first_layers = 0,
                             const std::string& name = "cpu") const {
    std::vector<float> row;
    const auto run = [&] {
      const auto file =
          gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}, GetParam());
      ASSERT_TRUE(file.ok()) << file.status();
      const auto model = model::Model::Load(*file);
      ASSERT_TRUE(model.ok()) << model.status();
      const auto device = MakeDevice(*model, threads, first_layers, name);
      ASSERT_TRUE(device.ok()) << device.status();
      const auto sequence = (*device)->cache().NewSequence({});
      ASSERT_TRUE((*device)->cache().Reserve(**sequence, static_cast<int64_t>(tokens_.size())).ok());
      for (size_t begin = 0; begin < tokens_.size(); begin += chunk) {
        const auto part = std::span(tokens_).subspan(begin, std::min(chunk, tokens_.size() - begin));
        const SequenceStep step{sequence->get(), part, encoder() ? Rows::kAll : Rows::kLast};
        auto result = encoder() ? ForwardHidden(**device, {&step, 1}) : Forward(**device, {&step, 1});
        ASSERT_TRUE(result.ok()) << result.status();
        const std::span<const float> last = *result->Row(result->rows() - 1);
        row.assign(last.begin(), last.end());
      }
    };
    run();
    return row;
  }

  const json::value golden_;
  const std::string bytes_;
  std::vector<int32_t> tokens_;
};

TEST_P(Family, GivesTheLogitsOfTheReference) {
  const auto expected = json::value_to<std::vector<float>>(golden_.at("expected"));
  const std::vector<float> got = LastRow(1, tokens_.size());
  ASSERT_EQ(got.size(), expected.size());
  const double error = RelativeError(got, expected);
  RecordProperty("error", std::to_string(error));
  // Float arithmetic in another order. The reference's GELU is a table in half precision, whose rounding another order
  // of sums turns by a unit here and there.
  EXPECT_LE(error, encoder() ? 5e-3 : 1e-3);
}

TEST_P(Family, GivesTheSameBitsInChunksAndThreads) {
  EXPECT_EQ(LastRow(1, tokens_.size()), LastRow(3, encoder() ? tokens_.size() : 7));
}

TEST_P(Family, GivesTheBitsOfOneDeviceOnTwo) {
  EXPECT_EQ(LastRow(1, tokens_.size()), LastRow(1, encoder() ? tokens_.size() : 7, /*first_layers=*/1));
}

// What GPUs do not run yet is refused by name.
bool RunsOnGpus(const model::DecoderSpec& spec) {
  const auto runs = [](const model::LayerSpec& layer) {
    return layer.recurrent.kind == model::RecurrentKind::kNone && layer.attention.latent.kv_rank == 0 &&
           layer.feed_forward.experts.count == 0 && !layer.feed_forward.xielu && layer.feed_forward.sparsity == 0;
  };
  return spec.layer_input_width == 0 && std::all_of(spec.layers.begin(), spec.layers.end(), runs);
}

TEST_P(Family, GivesTheBitsOfTheCpuOnAGpu) {
  const std::vector<std::string> names = device::DeviceNames();
  if (std::find(names.begin(), names.end(), "emulated") == names.end()) GTEST_SKIP() << "a build without the emulator";
  const std::shared_ptr<const model::Model> model = Load();
  if (!RunsOnGpus(model->spec())) {
    const absl::Status status = MakeDevice(model, 1, 0, "emulated").status();
    EXPECT_NE(status.message().find("does not run on GPUs yet"), std::string::npos) << status;
    return;
  }
  constexpr size_t kEnough = 24;  // more than the windows see; each takes long
  if (tokens_.size() > kEnough) tokens_.resize(kEnough);
  const size_t chunk = encoder() ? tokens_.size() : 7;
  EXPECT_EQ(LastRow(1, tokens_.size()), LastRow(1, chunk, 0, "emulated"));
}

// Keys that only these families have, each with a value that does not fit.
TEST(FamilyKeys, AreRefusedByNameWhereTheyDoNotFit) {
  struct Case {
    const char *family, *key, *value, *said;
  };
  for (const Case& c :
       {Case{"gemma4", "gemma4.attention.shared_kv_layers", "5", "gemma4.attention.shared_kv_layers"},
        Case{"gemma4", "gemma4.attention.sliding_window_pattern", "[1,0,1,1,1,0]", "shared_kv_layers"},
        Case{"apertus", "xielu.alpha_n", "[0.5]", "xielu.alpha_n: 1 elements, expected one for each of 2"},
        Case{"grok", "grok.expert_count", "0", "grok.expert_count: 0 or missing, expected experts"}}) {
    json::value golden = json::parse(ReadFile((kFamilies / (std::string(c.family) + ".json")).string()));
    golden.at("keys").as_object()[c.key] = json::parse(c.value);
    const std::string bytes = MakeFile(golden);
    const auto file = gguf::GgufFile::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x.gguf");
    ASSERT_TRUE(file.ok()) << file.status();
    const auto model = model::Model::Load(*file);
    EXPECT_NE(model.status().message().find(c.said), std::string::npos) << model.status();
    EXPECT_EQ(model.status().message().find("x.gguf: "), 0u) << model.status();
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Family, testing::ValuesIn(Families()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace inferd::forward
