// Who is computed when: among requests to embed, and beside streams.
#include <gtest/gtest.h>

#include <map>

#include "config/base/status_details.h"
#include "engine/device/factory/device_factory.h"
#include "engine/generation/embedder.h"
#include "engine/generation/refusal.h"
#include "engine/model/testing_model.h"

namespace inferd::engine {
namespace {

using scheduler::Priority;
using std::chrono::seconds;

constexpr int64_t kPassTokens = 64;

class EmbedderTurns : public testing::Test {
 protected:
  void Create(const model::TestingModel& model, const scheduler::QueueLimits& limits = {.max_wait_seconds = 0},
              bool prefix_reuse = false) {
    bytes_ = model.Bytes();
    device_ = *device::CreateDevice(*model::LoadBytes(bytes_),
                                    {.context_tokens = 256,
                                     .max_batch_tokens = kPassTokens,
                                     .max_result_rows = kPassTokens,
                                     .cache = {.bytes = 4 << 20, .prefix_reuse = prefix_reuse}},
                                    {.cpu = {.threads = 1}});
    embedder_ = std::make_unique<Embedder>(*device_, limits);
  }
  // As many texts of so many tokens; its number.
  int Submit(size_t texts, size_t tokens, EmbeddingRequest request = {}) {
    request.inputs.assign(texts, std::vector<int32_t>(tokens, 5));
    request.done = [this, number = ++last_](const absl::StatusOr<Vectors>& vectors) {
      EXPECT_TRUE(ends_.emplace(number, vectors.status()).second) << "a second answer";
    };
    embedder_->Submit(std::move(request), clock_.Now());
    return last_;
  }
  int64_t Step(const scheduler::Load& others = {}) { return embedder_->Step(clock_.Now(), {}, others, kPassTokens); }
  // Passes until this request is answered.
  int PassesUntil(int number) {
    int passes = 0;
    while (!ends_.contains(number) && Step() > 0) ++passes;
    EXPECT_EQ(ends_.at(number), absl::OkStatus());
    return passes;
  }
  void FinishAll() {
    while (Step() > 0) {
    }
    EXPECT_TRUE(embedder_->idle());
    EXPECT_EQ(static_cast<int>(ends_.size()), last_);
    EXPECT_EQ(device_->cache().Stats().blocks_used, 0);
  }
  int64_t TokensLeft() const { return embedder_->LoadBeside({}, clock_.Now()).embedding_tokens; }

  FakeClock clock_;
  std::string bytes_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Embedder> embedder_;
  std::map<int, absl::Status> ends_;

 private:
  int last_ = 0;
};

TEST_F(EmbedderTurns, AShortTextBesideABigRequestIsInTheNextPass) {
  for (const size_t tokens : {2u, 40u, 250u}) {
    SCOPED_TRACE(tokens);
    ends_.clear();
    Create(model::TestingModel::Llama());
    const int big = Submit(400, tokens);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Step(), std::min<int64_t>(kPassTokens, static_cast<int64_t>(16 * tokens)));
      clock_.Advance(seconds(8));  // what is served does not age
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(PassesUntil(Submit(1, 20)), 1);
    EXPECT_FALSE(ends_.contains(big));
    PassesUntil(big);
  }
}

TEST_F(EmbedderTurns, AnEncodersTextsAreComputedWholeAndNoneStarves) {
  Create(model::TestingModel::Bert());
  Submit(100, kPassTokens);
  int64_t left = 100 * kPassTokens;
  for (int i = 0; i < 20; ++i) {
    const int one = Submit(1, 8);
    EXPECT_LE(PassesUntil(one), 2);
    Submit(1, 9);  // and another that comes too late to be in the pass with it
  }
  Step();
  left -= 8 * kPassTokens;
  EXPECT_LE(TokensLeft(), left) << "the long texts wait for the short ones";
  const int several = Submit(3, 30), one = Submit(1, 1);
  EXPECT_LE(PassesUntil(one), 2);
  EXPECT_LE(PassesUntil(several), 6);
  FinishAll();
}

TEST_F(EmbedderTurns, ABetterPriorityGoesFirstUntilTheOthersHaveWaitedForLong) {
  Create(model::TestingModel::Llama());
  const int batch = Submit(1, 20, {.priority = Priority::kBatch});
  const int low = Submit(1, 20, {.priority = Priority::kLow});
  EXPECT_EQ(PassesUntil(Submit(1, kPassTokens)), 1);
  EXPECT_EQ(PassesUntil(Submit(1, kPassTokens, {.priority = Priority::kHigh})), 1);
  std::map<int, int> answered;  // after so many seconds
  for (int second = 0; second < 40; ++second) {
    Submit(1, kPassTokens, {.priority = Priority::kHigh});
    Step();
    clock_.Advance(seconds(1));
    for (const int number : {batch, low}) {
      if (ends_.contains(number)) answered.emplace(number, second);
    }
  }
  EXPECT_EQ(answered, (std::map<int, int>{{low, 20}, {batch, 30}}));
  FinishAll();
}

TEST_F(EmbedderTurns, LongTextsLeaveAPlaceForShortOnes) {
  Create(model::TestingModel::Llama());
  for (int i = 0; i < 20; ++i) Submit(2, 250);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(Step(), kPassTokens) << "what finds no place leaves its part to others";
    EXPECT_LE(device_->cache().Stats().sequences, static_cast<int64_t>(Embedder::kMostOpen));
  }
  EXPECT_EQ(PassesUntil(Submit(1, 10)), 1);
  FinishAll();
}

TEST_F(EmbedderTurns, ALongTextOfABetterPriorityTakesThePlaceOfAWorseOne) {
  Create(model::TestingModel::Llama());
  for (int i = 0; i < 10; ++i) Submit(1, 250, {.priority = Priority::kBatch});
  for (int i = 0; i < 12; ++i) Step();
  ASSERT_EQ(device_->cache().Stats().sequences, static_cast<int64_t>(Embedder::kMostOpen));
  EXPECT_EQ(PassesUntil(Submit(1, 250, {.priority = Priority::kHigh})), (250 + kPassTokens - 1) / kPassTokens);
  FinishAll();
}

TEST_F(EmbedderTurns, TheNextTextOfARequestTakesThePlaceOfItsLast) {
  Create(model::TestingModel::Llama());
  Submit(3, 100, {.priority = Priority::kHigh});
  for (size_t i = 1; i < Embedder::kMostOpen; ++i) Submit(1, 250, {.priority = Priority::kBatch});
  int64_t tokens = 0;
  while (const int64_t computed = Step()) tokens += computed;
  EXPECT_EQ(tokens, 3 * 100 + 7 * 250) << "nobody begins again";
  FinishAll();
}

TEST_F(EmbedderTurns, LeavesNothingInThePrefixCache) {
  Create(model::TestingModel::Llama(), {.max_wait_seconds = 0}, /*prefix_reuse=*/true);
  Submit(3, 100);
  FinishAll();
  EXPECT_EQ(device_->cache().Stats().prefix_pages, 0);
}

TEST_F(EmbedderTurns, RequestsThatHaveAllBegunAreBoundedAllTheSame) {
  Create(model::TestingModel::Llama());
  int begun = 0;
  for (int i = 0; i < 30; ++i) Submit(100, 3, {.begun = [&] { ++begun; }});
  const auto waiting = [&] { return embedder_->LoadBeside({}, clock_.Now()).waiting_requests; };
  EXPECT_EQ(waiting(), 30);
  while (begun < 30) Step();
  ASSERT_GT(embedder_->requests(), Embedder::kMostSequences);
  EXPECT_EQ(waiting(), static_cast<int64_t>(embedder_->requests() - Embedder::kMostSequences));
  FinishAll();
}

TEST_F(EmbedderTurns, TheLastInRankGivesItsPagesBackFirst) {
  Create(model::TestingModel::Llama());
  Submit(1, 250, {.priority = Priority::kLow});
  Step();
  for (int i = 0; i < 2; ++i) {
    Submit(1, 250);
    Step();
  }
  Step();  // 64 tokens of the first are computed, 160 of the second, 32 of the third
  const auto gives = [&](int priority) {
    const int64_t before = TokensLeft();
    const bool gave = embedder_->Release(priority, clock_.Now());
    EXPECT_EQ(gave, TokensLeft() > before);
    return TokensLeft() - before;
  };
  EXPECT_EQ(gives(3), 0) << "all rank before a stream of the priority batch";
  EXPECT_EQ(gives(2), 64);
  EXPECT_EQ(gives(2), 0);
  EXPECT_EQ(gives(1), 32);
  EXPECT_EQ(gives(1), 160);
  EXPECT_EQ(gives(scheduler::kBestPriority), 0);
  FinishAll();
}

// Beside a stream that may need all pages but `free`.
scheduler::Load BesideAStream(int64_t free) {
  return {.running_sequences = 1, .decoding_sequences = 1, .free_blocks = free};
}

TEST_F(EmbedderTurns, ATextOfSeveralPassesWaitsForRoomBesideStreams) {
  Create(model::TestingModel::Llama());
  const int64_t room = device_->cache().BlocksFor(250);
  const int large = Submit(1, 250);
  EXPECT_EQ(Step(BesideAStream(room - 1)), 0);
  const int small = Submit(1, kPassTokens);
  EXPECT_EQ(Step(BesideAStream(0)), kPassTokens) << "it gives its page back with the pass";
  EXPECT_TRUE(ends_.contains(small));
  clock_.Advance(seconds(9));
  EXPECT_EQ(Step(BesideAStream(room - 1)), 0);
  clock_.Advance(seconds(1));
  EXPECT_GT(Step(BesideAStream(room - 1)), 0) << "after so long it takes what there is";
  EXPECT_FALSE(embedder_->Release(1, clock_.Now())) << "and ranks before what came later";
  EXPECT_FALSE(ends_.contains(large));
  FinishAll();
  Submit(2, 250);
  EXPECT_EQ(Step(BesideAStream(room)), kPassTokens);
}

TEST_F(EmbedderTurns, TheWaitOfARefusalCountsTheStreams) {
  Create(model::TestingModel::Llama(), {.max_wait_seconds = 1});
  for (int i = 0; i < 2; ++i) Submit(1, 100);
  const scheduler::Load streams{.running_sequences = 8, .decoding_sequences = 8, .free_blocks = 50};
  const auto rates = scheduler::Rates::OfPasses({.tokens = 8, .pass_seconds = 0.08, .step_seconds = 0.05});
  EXPECT_EQ(embedder_->Step(clock_.Now(), rates, streams, 8), 8);
  clock_.Advance(seconds(2));
  embedder_->Step(clock_.Now(), rates, streams, 8);
  ASSERT_TRUE(ends_.contains(2));
  EXPECT_EQ(ends_.at(2).code(), absl::StatusCode::kResourceExhausted);
  // A token takes 0.01 s. A step of 8 streams takes 0.05 + 7 * 0.01 s, and each comes with as many tokens as take half
  // of that: 6. So a token and its part of a step take 0.03 s.
  EXPECT_NEAR(*RetryAfterSeconds(ends_.at(2)), (92 + 100) * 0.03, 1e-6);
}

TEST_F(EmbedderTurns, WhatIsCancelledOrLateEndsBeforeTheNextPass) {
  Create(model::TestingModel::Llama());
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  const int running = Submit(100, 250, {.cancelled = cancelled});
  Step();
  const int late = Submit(1, 10, {.priority = Priority::kBatch, .deadline = clock_.Now() + seconds(1)});
  clock_.Advance(seconds(1));
  *cancelled = true;
  EXPECT_EQ(Step(), 0);
  EXPECT_EQ(ends_.at(running).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ends_.at(late).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(embedder_->idle());
  EXPECT_EQ(device_->cache().Stats().blocks_used, 0);
}

}  // namespace
}  // namespace inferd::engine
