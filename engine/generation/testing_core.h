// A core over a fake model and a fake clock, for tests.
//
//   Create({.blocks = 8}, {.max_sequences = 2});
//   const Transcript transcript = Complete({.prompt = Prompt(10), .max_tokens = 5});
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/generation/core.h"
#include "engine/generation/fake_model.h"
#include "engine/generation/transcript.h"

namespace inferd::engine {

class CoreTest : public testing::Test {
 protected:
  void Create(
      const FakeModel::Options& model, const scheduler::SchedulerOptions& options = {}, int64_t pool_tokens = 0,
      std::function<bool(int)> release_others = [](int) { return false; }, double max_wait_seconds = 0) {
    if (pool_tokens == 0) pool_tokens = model.blocks * kernels::kPageTokens;
    model_ = std::make_unique<FakeModel>(model);
    core_ = std::make_unique<Core>(
        CoreOptions{
            .scheduler = options,
            .limits = {.vocabulary_size = FakeModel::kVocabulary, .context_tokens = 4096, .pool_tokens = pool_tokens},
            .queue = {.max_wait_seconds = max_wait_seconds, .max_sequences = options.max_sequences},
            .rates = scheduler::Rates::OfPasses({.tokens = 8, .pass_seconds = 0.08, .step_seconds = 0.02}),
            .prefix_reuse = model.prefix_reuse,
            .release_others = std::move(release_others)},
        *model_, model_->cache(), vocabulary_, *kernels::SelectKernels(nullptr), clock_);
  }
  std::shared_ptr<EventQueue> Submit(RequestId id, GenerationRequest request, size_t capacity = 1 << 20) {
    auto queue = std::make_shared<EventQueue>(capacity, [] {});
    core_->Submit(id, std::move(request), queue, clock_.Now());
    return queue;
  }
  Transcript Complete(GenerationRequest request) {
    const auto queue = Submit(++last_id_, std::move(request));
    while (core_->Step()) clock_.Advance(std::chrono::milliseconds(1));
    Transcript transcript;
    transcript.Read(*queue);
    EXPECT_TRUE(core_->idle());
    return transcript;
  }
  static std::vector<int32_t> Prompt(int32_t tokens, int32_t first = 3) {
    std::vector<int32_t> prompt;
    for (int32_t i = 0; i < tokens; ++i) prompt.push_back(3 + (first + 7 * i) % 60);
    return prompt;
  }

  FakeClock clock_;
  const Vocabulary vocabulary_ = FakeModel::Vocabulary();
  std::unique_ptr<FakeModel> model_;
  std::unique_ptr<Core> core_;
  RequestId last_id_ = 1000;
};

}  // namespace inferd::engine
