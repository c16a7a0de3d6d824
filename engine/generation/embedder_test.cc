#include "engine/generation/embedder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "config/base/testing_paths.h"
#include "engine/device/factory/device_factory.h"
#include "engine/generation/refusal.h"
#include "engine/model/testing_model.h"

namespace inferd::engine {
namespace {

TEST(ValidateEmbedding, TellsTheLimitThatAnInputIsBeyond) {
  EmbeddingRequest request;
  request.inputs = {std::vector<int32_t>(5, 1), std::vector<int32_t>(41, 1)};
  const RequestLimits small_pool{.vocabulary_size = 100, .context_tokens = 50, .pool_tokens = 40};
  const absl::Status status = Validate(request, small_pool);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(MessageOf(status), "inputs[1]: the KV cache holds 40 tokens, but the input has 41 tokens");
  const RequestLimits small_context{.vocabulary_size = 100, .context_tokens = 40, .pool_tokens = 40};
  EXPECT_EQ(MessageOf(Validate(request, small_context)),
            "inputs[1]: this model's maximum context length is 40 tokens, but the input has 41 tokens");
  request.inputs[1].pop_back();
  EXPECT_TRUE(Validate(request, small_pool).ok());
}

class EmbedderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(TestModelPath())) GTEST_SKIP() << TestModelPath() << " is not on this machine";
    device_ = *device::CreateDevice(*model::Model::Load(*gguf::GgufFile::Open(TestModelPath())),
                                    {.context_tokens = 512,
                                     .max_batch_tokens = 32,
                                     .max_result_rows = 16,
                                     .cache = {.bytes = 12 << 20, .max_sequences = 16, .prefix_reuse = false}},
                                    {.cpu = {.threads = 2}});
  }

  // The vectors of two texts; `between` is called after each pass.
  Vectors Embed(const std::function<void(Embedder&, int passes)>& between) {
    std::vector<std::vector<int32_t>> inputs(2);
    for (int32_t i = 0; i < 100; ++i) inputs[0].push_back(500 + 7 * i);
    for (int32_t i = 0; i < 40; ++i) inputs[1].push_back(900 + 11 * i);
    Embedder embedder(*device_);
    Vectors vectors;
    embedder.Submit({.inputs = std::move(inputs), .done = [&](absl::StatusOr<Vectors> result) { vectors = *result; }},
                    clock_.Now());
    EXPECT_EQ(embedder.LoadBeside({}, clock_.Now()).embedding_tokens, 140);
    for (int passes = 1; embedder.Step(clock_.Now(), {}, {}, 32) > 0; ++passes) between(embedder, passes);
    EXPECT_TRUE(embedder.idle());
    EXPECT_EQ(embedder.LoadBeside({}, clock_.Now()).embedding_tokens, 0);
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
    EXPECT_TRUE(embedder.Release(scheduler::kBestPriority, clock_.Now()));
    EXPECT_EQ(embedder.LoadBeside({}, clock_.Now()).embedding_tokens, passes == 2 ? 140 : 40)
        << "what was begun is computed again";
    EXPECT_EQ(device_->cache().Stats().blocks_used, 0);
    EXPECT_FALSE(embedder.Release(scheduler::kBestPriority, clock_.Now()));
  });
  EXPECT_EQ(disturbed, undisturbed);
}

// As forward::Pool of all rows of one pass, although a pass takes a few tokens and one row is kept.
TEST(Embedder, PoolsAsItGoes) {
  for (const uint32_t pooling : {1u, 2u, 3u}) {  // mean, first, last
    const std::string bytes = model::TestingModel::Llama().Set("pooling_type", pooling).Bytes();
    const auto device = *device::CreateDevice(
        *model::LoadBytes(bytes),
        {.context_tokens = 256, .max_batch_tokens = 64, .max_result_rows = 64, .cache = {.bytes = 1 << 20}},
        {.cpu = {.threads = 1}});
    std::vector<int32_t> text(50);
    for (int32_t i = 0; i < 50; ++i) text[static_cast<size_t>(i)] = (7 + 13 * i) % 96;
    std::vector<float> expected(static_cast<size_t>(forward::PooledSize(device->model().spec())));
    {
      const auto sequence = *device->cache().NewSequence({.tenant_salt = 1});
      ASSERT_TRUE(device->cache().Reserve(*sequence, 50).ok());
      const forward::SequenceStep step{sequence.get(), text, forward::Rows::kAll};
      auto result = *forward::ForwardHidden(*device, {&step, 1});
      ASSERT_TRUE(forward::Pool(*device, *result.Copy(), 50, expected).ok());
    }
    Embedder embedder(*device);
    Vectors vectors;
    embedder.Submit({.inputs = {text, text}, .done = [&](absl::StatusOr<Vectors> result) { vectors = *result; }}, {});
    while (embedder.Step({}, {}, {}, 8) > 0) {
    }
    EXPECT_EQ(vectors, (Vectors{expected, expected})) << pooling;
  }
}

TEST_F(EmbedderTest, WhatHasWaitedTooLongIsRefusedAndWhatHasBegunIsNot) {
  Embedder embedder(*device_, {.max_wait_seconds = 1});
  std::vector<absl::Status> ends(2, absl::UnknownError("not yet"));
  std::vector<int> begun(2, 0);
  for (size_t i = 0; i < 2; ++i) {
    embedder.Submit({.inputs = {std::vector<int32_t>(100, 5)},
                     .begun = [&begun, i] { ++begun[i]; },
                     .done = [&ends, i](absl::StatusOr<Vectors> result) { ends[i] = result.status(); }},
                    clock_.Now());
  }
  EXPECT_EQ(embedder.Step(clock_.Now(), {}, {}, 8), 8);
  EXPECT_EQ(embedder.LoadBeside({}, clock_.Now()).waiting_requests, 1);
  clock_.Advance(std::chrono::milliseconds(1001));
  while (embedder.Step(clock_.Now(), scheduler::Rates::OfPasses({8, 0.08, 0.05}), {}, 8) > 0) {
  }
  EXPECT_EQ(begun, (std::vector<int>{1, 0}));
  EXPECT_EQ(ends[0], absl::OkStatus());
  EXPECT_EQ(ends[1].code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NEAR(*RetryAfterSeconds(ends[1]), (92 + 100) * 0.01, 1e-6);
  EXPECT_EQ(embedder.rejections().at("queue_full"), 1u);
}

}  // namespace
}  // namespace inferd::engine
