#include "engine/generation/embedder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "config/base/testing_paths.h"

namespace inferd::engine {
namespace {

class EmbedderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(TestModelPath())) GTEST_SKIP() << TestModelPath() << " is not on this machine";
    device_ = *device::Device::Create(*model::Model::Load(*gguf::GgufFile::Open(TestModelPath())),
                                      {.threads = 2,
                                       .context_tokens = 512,
                                       .max_batch_tokens = 32,
                                       .max_result_rows = 16,
                                       .cache = {.bytes = 12 << 20, .max_sequences = 16, .prefix_reuse = false}});
  }

  // The vectors of two texts; `between` is called after each pass.
  Vectors Embed(const std::function<void(Embedder&, int passes)>& between) {
    std::vector<std::vector<int32_t>> inputs(2);
    for (int32_t i = 0; i < 100; ++i) inputs[0].push_back(500 + 7 * i);
    for (int32_t i = 0; i < 40; ++i) inputs[1].push_back(900 + 11 * i);
    Embedder embedder(*device_);
    Vectors vectors;
    embedder.Submit({.inputs = std::move(inputs), .done = [&](absl::StatusOr<Vectors> result) { vectors = *result; }});
    for (int passes = 1; embedder.Step(clock_.Now()); ++passes) between(embedder, passes);
    EXPECT_TRUE(embedder.idle());
    return vectors;
  }

  FakeClock clock_;
  std::unique_ptr<device::Device> device_;
};

TEST_F(EmbedderTest, InputsThatLoseTheirPagesGiveTheSameVectors) {
  const Vectors undisturbed = Embed([](Embedder&, int) {});
  ASSERT_EQ(undisturbed.size(), 2u);
  const Vectors disturbed = Embed([this](Embedder& embedder, int passes) {
    if (passes != 2 && passes != 6) return;  // within the first text, and with the first text complete
    EXPECT_GT(device_->cache().Stats().blocks_used, 0);
    EXPECT_TRUE(embedder.ReleaseAll());
    EXPECT_EQ(device_->cache().Stats().blocks_used, 0);
    EXPECT_FALSE(embedder.ReleaseAll());
  });
  EXPECT_EQ(disturbed, undisturbed);
}

}  // namespace
}  // namespace inferd::engine
