#include "worker/event_writer.h"

#include <gtest/gtest.h>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"
#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

class EventWriterTest : public testing::Test {
 protected:
  EventWriterTest() { model_.tokenizer = std::make_unique<FakeTokenizer>(); }

  static engine::Delta Text(uint32_t choice, std::vector<int32_t> tokens, const std::string& text) {
    engine::Delta delta{.choice = choice, .tokens = std::move(tokens)};
    if (!text.empty()) delta.parts = {{.kind = output::PartKind::kContent, .text = text}};
    return delta;
  }

  LoadedModel model_;
  EventWriter writer_{model_};
  std::deque<v1::GenerateEvent> outgoing_;
};

TEST_F(EventWriterTest, JoinsDeltasOfAChoiceThatNobodyHasReadYet) {
  writer_.Append(Text(0, {1}, "a"), outgoing_);
  writer_.Append(Text(0, {2}, ""), outgoing_);
  writer_.Append(Text(0, {3}, "b"), outgoing_);
  writer_.Append(Text(1, {4}, "c"), outgoing_);
  ASSERT_EQ(outgoing_.size(), 2u);
  EXPECT_EQ(outgoing_[0].delta().text(), "ab");
  EXPECT_EQ(outgoing_[0].delta().token_ids_size(), 3);
  EXPECT_EQ(outgoing_[1].delta().choice(), 1u);
}

TEST_F(EventWriterTest, ATokenWithoutTextIsStillSent) {
  writer_.Append(Text(0, {1}, ""), outgoing_);
  ASSERT_EQ(outgoing_.size(), 1u);
  EXPECT_EQ(outgoing_[0].delta().token_ids(0), 1);
  EXPECT_EQ(outgoing_[0].delta().kind(), v1::Delta::KIND_CONTENT);
}

TEST_F(EventWriterTest, PartsOfOtherKindsAreDeltasOfTheirOwn) {
  engine::Delta delta{.choice = 0, .tokens = {1}};
  delta.parts = {
      {.kind = output::PartKind::kReasoning, .text = "think"},
      {.kind = output::PartKind::kContent, .text = "say"},
      {.kind = output::PartKind::kToolCall, .tool_call = {.index = 1, .id = "call_1", .name = "f", .arguments = "{}"}}};
  writer_.Append(std::move(delta), outgoing_);
  ASSERT_EQ(outgoing_.size(), 3u);
  EXPECT_EQ(outgoing_[0].delta().kind(), v1::Delta::KIND_REASONING);
  EXPECT_EQ(outgoing_[0].delta().token_ids_size(), 1);
  EXPECT_EQ(outgoing_[1].delta().text(), "say");
  EXPECT_EQ(outgoing_[1].delta().token_ids_size(), 0) << "a token is sent once";
  EXPECT_EQ(outgoing_[2].delta().tool_call().name(), "f");
  EXPECT_EQ(outgoing_[2].delta().tool_call().arguments(), "{}");
}

TEST_F(EventWriterTest, LogprobsCarryTheTokensBytes) {
  engine::Delta delta = Text(0, {'\xC3'}, "");
  delta.logprobs = {
      {.token = 0xC3, .logprob = -0.5f, .top = {{.token = 'a', .logprob = -1}, {.token = 258, .logprob = -2}}}};
  writer_.Append(std::move(delta), outgoing_);
  const v1::TokenLogprob& entry = outgoing_[0].delta().logprobs(0);
  EXPECT_EQ(entry.token(), "\xC3");
  EXPECT_EQ(entry.logprob(), -0.5f);
  EXPECT_EQ(entry.top(0).token(), "a");
  EXPECT_EQ(entry.top(1).token(), "<|x|>");
}

TEST_F(EventWriterTest, PromptLogprobsAreADeltaOfTheirKind) {
  writer_.Append(
      engine::Delta{.choice = 0, .first_prompt_token = 'b', .prompt_logprobs = {{.token = 'a', .logprob = -1}}},
      outgoing_);
  ASSERT_EQ(outgoing_.size(), 1u);
  EXPECT_EQ(outgoing_[0].delta().kind(), v1::Delta::KIND_PROMPT);
  ASSERT_EQ(outgoing_[0].delta().logprobs_size(), 2);
  EXPECT_EQ(outgoing_[0].delta().logprobs(0).token(), "b");
  EXPECT_FALSE(outgoing_[0].delta().logprobs(0).has_logprob());
  EXPECT_EQ(outgoing_[0].delta().logprobs(1).logprob(), -1);
}

TEST_F(EventWriterTest, APromptOfOneTokenIsReportedToo) {
  writer_.Append(engine::Delta{.choice = 0, .first_prompt_token = 'b'}, outgoing_);
  ASSERT_EQ(outgoing_.size(), 1u);
  EXPECT_EQ(outgoing_[0].delta().logprobs_size(), 1);
}

TEST_F(EventWriterTest, AFailedChoiceTellsWhoseFaultItIs) {
  writer_.Append(engine::Finished{.reason = engine::FinishReason::kError, .error = InvalidField("logit_bias", "bad")},
                 outgoing_);
  EXPECT_EQ(outgoing_[0].finished().error_code(), static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(outgoing_[0].finished().error(), "bad");
  EXPECT_EQ(outgoing_[0].finished().error_field(), "logit_bias");
}

TEST_F(EventWriterTest, FinishedTellsReasonUsageAndTimings) {
  writer_.Append(engine::Finished{.choice = 2,
                                  .reason = engine::FinishReason::kStop,
                                  .stop_text = "END",
                                  .usage = {.prompt_tokens = 3, .completion_tokens = 4, .cached_prompt_tokens = 1},
                                  .timings = {.queue_seconds = 0.5, .first_token_seconds = 0.75}},
                 outgoing_);
  const v1::Finished& finished = outgoing_[0].finished();
  EXPECT_EQ(finished.choice(), 2u);
  EXPECT_EQ(finished.reason(), v1::Finished::REASON_STOP);
  EXPECT_EQ(finished.stop_text(), "END");
  EXPECT_EQ(finished.usage().prompt_tokens(), 3u);
  EXPECT_EQ(finished.usage().completion_tokens(), 4u);
  EXPECT_EQ(finished.usage().cached_prompt_tokens(), 1u);
  EXPECT_EQ(finished.timings().queue_seconds(), 0.5);
  EXPECT_EQ(finished.timings().first_token_seconds(), 0.75);
}

}  // namespace
}  // namespace inferd::worker
