// What a pass refuses, and what it gives back.
#include "engine/forward/forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "config/base/status.h"
#include "engine/device/factory/device_factory.h"
#include "engine/model/testing_model.h"

namespace inferd::forward {
namespace {

using device::Device;
using device::DeviceOptions;
using model::TestingModel;
using testing::HasSubstr;

class ForwardTest : public testing::Test {
 protected:
  void Load(const TestingModel& source, int64_t result_rows = 8) {
    bytes_ = source.Bytes();
    auto model = model::LoadBytes(bytes_);
    ASSERT_TRUE(model.ok()) << model.status();
    DeviceOptions options{.context_tokens = 100, .max_batch_tokens = 64, .max_result_rows = result_rows};
    options.cache.bytes = 4 << 20;
    device_ = *device::CreateDevice(*model, options, {.cpu = {.threads = 1}});
    sequence_ = *device_->cache().NewSequence({});
  }
  absl::Status Run(std::vector<int32_t> tokens, Rows rows = Rows::kLast) {
    const SequenceStep step{sequence_.get(), tokens, rows};
    return Forward(*device_, {&step, 1}).status();
  }

  std::string bytes_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<cache::Sequence> sequence_;
};

TEST_F(ForwardTest, RefusesWhatDoesNotFit) {
  Load(TestingModel::Llama());
  ASSERT_TRUE(device_->cache().Reserve(*sequence_, 100).ok());
  const auto refused = [&](std::vector<int32_t> tokens, Rows rows, const char* said) {
    const absl::Status status = Run(std::move(tokens), rows);
    EXPECT_THAT(std::string(MessageOf(status)), HasSubstr(said));
    EXPECT_EQ(sequence_->length(), 0);
  };
  refused({}, Rows::kLast, "no tokens");
  refused({1, 96}, Rows::kLast, "token 96 is outside the vocabulary of 96");
  refused({-1}, Rows::kLast, "token -1");
  refused(std::vector<int32_t>(101, 1), Rows::kNone, "exceeds the context of 100");
  refused(std::vector<int32_t>(65, 1), Rows::kNone, "65 tokens, the device takes 64");
  refused(std::vector<int32_t>(9, 1), Rows::kAll, "9 wanted rows, the device gives 8");
}

TEST_F(ForwardTest, RefusesTokensThatAreNotReserved) {
  Load(TestingModel::Llama());
  EXPECT_EQ(Run({1}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ForwardTest, GivesTheRowsAskedForAndCommits) {
  Load(TestingModel::Llama());
  auto other = *device_->cache().NewSequence({});
  ASSERT_TRUE(device_->cache().Reserve(*sequence_, 3).ok());
  ASSERT_TRUE(device_->cache().Reserve(*other, 2).ok());
  const int32_t a[] = {1, 2, 3}, b[] = {4, 5};
  const SequenceStep steps[] = {{sequence_.get(), a, Rows::kLast}, {other.get(), b, Rows::kAll}};
  auto result = Forward(*device_, steps);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rows(), 3);
  EXPECT_EQ(result->row_elements(), TestingModel::kVocabulary);
  EXPECT_EQ(result->Row(2)->size(), TestingModel::kVocabulary);
  EXPECT_EQ(sequence_->length(), 3);
  EXPECT_EQ(other->length(), 2);
}

TEST_F(ForwardTest, RowsMayBeSkippedOverWhatIsComputedAtOnce) {
  Load(TestingModel::Llama(), /*result_rows=*/64);
  std::vector<int32_t> tokens(64);
  for (int32_t i = 0; i < 64; ++i) tokens[static_cast<size_t>(i)] = (7 * i + 3) % 96;
  const auto run = [&](cache::Sequence& sequence) {
    EXPECT_TRUE(device_->cache().Reserve(sequence, 64).ok());
    const SequenceStep step{&sequence, tokens, Rows::kAll};
    return *Forward(*device_, {&step, 1});
  };
  const std::vector<float> all = *run(*sequence_).Copy();
  const auto other = *device_->cache().NewSequence({});
  ForwardResult result = run(*other);
  for (const int64_t row : {0, 31, 31, 40, 63}) {
    const std::span<const float> logits = *result.Row(row);
    ASSERT_TRUE(std::equal(logits.begin(), logits.end(), all.begin() + row * TestingModel::kVocabulary)) << row;
  }
}

TEST_F(ForwardTest, EncodersGiveHiddenStatesOfWholeTexts) {
  Load(TestingModel::Bert());
  ASSERT_TRUE(device_->cache().Reserve(*sequence_, 4).ok());
  EXPECT_EQ(Run({1, 2}).code(), absl::StatusCode::kFailedPrecondition);
  const int32_t tokens[] = {5, 6, 7, 8};
  const SequenceStep step{sequence_.get(), tokens, Rows::kAll};
  auto result = ForwardHidden(*device_, {&step, 1});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->row_elements(), TestingModel::kWidth);
  // Mean pooling is the mean of the rows.
  const std::vector<float> rows = *result->Copy();
  std::vector<float> pooled(TestingModel::kWidth);
  ASSERT_TRUE(Pool(*device_, rows, 4, pooled).ok());
  for (uint32_t i = 0; i < TestingModel::kWidth; ++i) {
    double sum = 0;
    for (int row = 0; row < 4; ++row) sum += rows[row * TestingModel::kWidth + i];
    EXPECT_NEAR(pooled[i], sum / 4, 1e-6);
  }
  ASSERT_TRUE(device_->cache().Reserve(*sequence_, 4).ok());
  const auto again = ForwardHidden(*device_, {&step, 1});
  EXPECT_THAT(std::string(MessageOf(again.status())), HasSubstr("whole text at once"));
}

// output(tanh(dense(first token))) by hand.
TEST_F(ForwardTest, RanksByTheHeadOfTheFirstToken) {
  TestingModel source = TestingModel::Bert().Set("pooling_type", uint32_t{4});
  source.Tensor("cls.weight", {TestingModel::kWidth, TestingModel::kWidth})
      .Tensor("cls.bias", {TestingModel::kWidth}, 0.25f);
  source.Tensor("cls.output.weight", {TestingModel::kWidth, 1}).Tensor("cls.output.bias", {1}, 0.25f);
  Load(source);
  ASSERT_TRUE(device_->cache().Reserve(*sequence_, 3).ok());
  const int32_t tokens[] = {5, 6, 7};
  const SequenceStep step{sequence_.get(), tokens, Rows::kAll};
  auto result = ForwardHidden(*device_, {&step, 1});
  ASSERT_TRUE(result.ok()) << result.status();
  float score = 0;
  ASSERT_TRUE(Pool(*device_, *result->Copy(), 3, {&score, 1}).ok());
  const model::ModelWeights& w = device_->model().weights();
  double expected = w.rank_output.bias[0];
  for (uint32_t row = 0; row < TestingModel::kWidth; ++row) {
    double sum = w.rank_dense.bias[row];
    const float* weights = static_cast<const float*>(w.rank_dense.weights.data) + row * TestingModel::kWidth;
    for (uint32_t i = 0; i < TestingModel::kWidth; ++i) sum += static_cast<double>(weights[i]) * (*result->Row(0))[i];
    expected += std::tanh(sum) * static_cast<const float*>(w.rank_output.weights.data)[row];
  }
  EXPECT_NEAR(score, expected, 1e-5);
}

TEST_F(ForwardTest, ASlidingWindowHoldsOnlyItsPages) {
  Load(TestingModel::Gemma2());  // windows of 40 tokens in layers 0 and 2
  for (int64_t done = 0; done < 100; done += 20) {
    ASSERT_TRUE(device_->cache().Reserve(*sequence_, 20).ok());
    ASSERT_TRUE(Run(std::vector<int32_t>(20, 3)).ok());
  }
  ASSERT_TRUE(device_->cache().Reserve(*sequence_, 1).ok());
  EXPECT_GE(sequence_->pages(1)[0], 0);
  EXPECT_GE(sequence_->pages(0)[0], 0);  // a query at 100 sees 61 and what follows
}

TEST_F(ForwardTest, TheLargestLogitsAndTheSumOfAllAreThoseOfTheRows) {
  Load(TestingModel::Llama());
  ASSERT_TRUE(device_->cache().Reserve(*sequence_, 5).ok());
  ASSERT_TRUE(Run({1, 2, 3, 4, 5}, Rows::kAll).ok());
  const std::vector<int32_t> rows = {4, 1, 2};
  constexpr int32_t kMost = 7;
  const auto top = device_->TopK(rows, kMost);
  ASSERT_TRUE(top.ok() && top->size() == rows.size() * kMost);
  const std::vector<kernels::TopEntry> got(top->begin(), top->end());
  const auto sums = device_->LogSumExp(rows);
  ASSERT_TRUE(sums.ok() && sums->size() == rows.size());
  const std::vector<float> got_sums(sums->begin(), sums->end());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> logits = *device_->Logits(std::span(rows).subspan(i, 1));
    double sum = 0;
    for (float logit : logits) sum += std::exp(static_cast<double>(logit));
    EXPECT_NEAR(got_sums[i], std::log(sum), 1e-5);
    std::vector<float> sorted(logits.begin(), logits.end());
    std::sort(sorted.rbegin(), sorted.rend());
    for (int32_t k = 0; k < kMost; ++k) {
      const kernels::TopEntry& entry = got[i * kMost + static_cast<size_t>(k)];
      EXPECT_EQ(entry.logit, sorted[static_cast<size_t>(k)]);
      EXPECT_EQ(entry.logit, logits[static_cast<size_t>(entry.id)]);
    }
  }
}

TEST(DeviceCreate, RefusesSharesThatAreNotTheLayers) {
  const std::string bytes = TestingModel::Llama().Bytes();
  const auto model = *model::LoadBytes(bytes);
  const auto refused = [&](const std::vector<device::LayerShare>& shares, const char* said) {
    EXPECT_THAT(std::string(MessageOf(device::CreateSplitDevice(model, {}, shares).status())), HasSubstr(said));
  };
  refused({{.layers = 1}}, "have none");
  refused({{.layers = 99}}, "device \"cpu\": layers 0..98, the model has");
  refused({{.name = "abacus"}}, "device \"abacus\": unknown");
}

TEST(DeviceCreate, RefusesOptionsByName) {
  const std::string bytes = TestingModel::Llama().Bytes();
  const auto model = *model::LoadBytes(bytes);
  const auto refused = [&](DeviceOptions options, const char* said, device::DeviceChoice choice = {}) {
    EXPECT_THAT(std::string(MessageOf(device::CreateDevice(model, options, choice).status())), HasSubstr(said));
  };
  refused({}, "device \"abacus\": unknown, expected cpu", {.name = "abacus"});
  refused({}, "threads: -1", {.cpu = {.threads = -1}});
  refused({.context_tokens = -5}, "context: -5");
  refused({.max_batch_tokens = 0}, "prefill_tokens: 0");
  refused({}, "instruction set \"mmx\": not a kernel variant that this processor runs (reference",
          {.cpu = {.isa = "mmx"}});
  refused({.cache = {.bytes = 100}}, "kv_cache.bytes: 100");
  refused({.cache = {.type = kernels::CacheType::kQ8_0}}, "q8_0 needs head dimensions that are multiples of 32");
}

}  // namespace
}  // namespace inferd::forward
