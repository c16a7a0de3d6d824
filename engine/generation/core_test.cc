#include "engine/generation/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/status_details.h"
#include "engine/constraint/answer_constraint.h"
#include "engine/generation/refusal.h"
#include "engine/generation/testing_core.h"

namespace inferd::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(CoreTest, ARequestIsAcceptedGeneratesAndFinishes) {
  Create({});
  const Transcript transcript = Complete({.prompt = Prompt(10), .sampling = {.ignore_eos = true}, .max_tokens = 5});
  ASSERT_TRUE(transcript.accepted);
  EXPECT_EQ(transcript.accepted->prompt_tokens, 10u);
  const Transcript::Choice& choice = transcript.choices.at(0);
  EXPECT_EQ(choice.tokens.size(), 5u);
  EXPECT_EQ(choice.completion_tokens, 5u);
  EXPECT_EQ(choice.finish, FinishReason::kLength);
  EXPECT_EQ(transcript.end, absl::OkStatus());
  EXPECT_EQ(core_->statistics().cache.blocks_used, 0);
}

TEST_F(CoreTest, EndOfGenerationStops) {
  Create({});
  const Transcript transcript =
      Complete({.prompt = Prompt(10), .sampling = {.temperature = 0, .logit_bias = {{FakeModel::kEnd, 100.0f}}}});
  EXPECT_THAT(transcript.choices.at(0).tokens, IsEmpty());
  EXPECT_EQ(transcript.choices.at(0).finish, FinishReason::kStop);
}

TEST_F(CoreTest, MinTokensHoldsTheEndOff) {
  Create({});
  const Transcript transcript = Complete({.prompt = Prompt(10),
                                          .sampling = {.temperature = 0, .logit_bias = {{FakeModel::kEnd, 100.0f}}},
                                          .min_tokens = 3});
  EXPECT_EQ(transcript.choices.at(0).tokens.size(), 3u);
}

TEST_F(CoreTest, MaxTokensZeroEvaluatesThePromptAlone) {
  Create({});
  const Transcript transcript =
      Complete({.prompt = Prompt(100), .max_tokens = 0, .logprobs = 2, .prompt_logprobs = true});
  EXPECT_EQ(transcript.choices.at(0).finish, FinishReason::kLength);
  EXPECT_THAT(transcript.choices.at(0).tokens, IsEmpty());
  EXPECT_EQ(transcript.choices.at(0).prompt_logprobs.size(), 99u * 3);
  EXPECT_EQ(transcript.choices.at(0).first_prompt_token, Prompt(100).front());
}

TEST_F(CoreTest, TheContextsEndIsALength) {
  Create({});
  GenerationRequest request{.prompt = Prompt(4090), .sampling = {.ignore_eos = true}};
  const Transcript transcript = Complete(std::move(request));
  EXPECT_EQ(transcript.choices.at(0).tokens.size(), 6u);
  EXPECT_EQ(transcript.choices.at(0).finish, FinishReason::kLength);
}

// By the definition: each token is what the model gives for the first `keep` tokens and the newest of the others.
TEST_F(CoreTest, SlidingDropsTheOlderHalfAndComputesTheRestAnew) {
  constexpr int64_t kWindow = 128, kKeep = 10;
  Create({}, {}, /*pool_tokens=*/kWindow);
  GenerationRequest request{.prompt = Prompt(100),
                            .sampling = {.temperature = 0, .ignore_eos = true},
                            .max_tokens = 150,
                            .overflow = {.slide = true, .keep = kKeep}};
  const Transcript::Choice whole = Complete(request).choices.at(0);
  EXPECT_EQ(whole.finish, FinishReason::kLength);
  std::vector<int32_t> window = request.prompt, expected;
  uint32_t dropped = 0;
  for (int i = 0; i < 150; ++i) {
    if (static_cast<int64_t>(window.size()) == kWindow) {
      const long half = (kWindow - kKeep) / 2;
      window.erase(window.begin() + kKeep, window.begin() + kKeep + half);
      dropped += half;
    }
    const Transcript next = Complete({.prompt = window, .sampling = request.sampling, .max_tokens = 1});
    expected.push_back(next.choices.at(0).tokens.at(0));
    window.push_back(expected.back());
  }
  EXPECT_EQ(whole.tokens, expected);
  EXPECT_EQ(whole.dropped_tokens, dropped);
  EXPECT_EQ(whole.completion_tokens, 150u);
  for (size_t had : {1, 27, 28, 29, 100, 149}) {
    GenerationRequest resumed = request;
    resumed.resumed = {{.tokens = {whole.tokens.begin(), whole.tokens.begin() + static_cast<long>(had)}}};
    const Transcript::Choice rest = Complete(resumed).choices.at(0);
    EXPECT_EQ(rest.text, whole.text);
    EXPECT_EQ(rest.dropped_tokens, dropped);
  }
  request.max_tokens.reset();
  const Transcript::Choice bounded = Complete(request).choices.at(0);
  EXPECT_EQ(bounded.tokens.size(), 28u) << "without max_tokens, the context's end is the end";
  EXPECT_EQ(bounded.dropped_tokens, 0u);
  EXPECT_EQ(core_->statistics().preemptions, 0u);
}

TEST_F(CoreTest, AStopTextEndsAndIsNotGiven) {
  Create({});
  GenerationRequest request{.prompt = Prompt(10), .sampling = {.temperature = 0, .ignore_eos = true}, .max_tokens = 20};
  const Transcript whole = Complete(request);
  const std::string& text = whole.choices.at(0).text;
  request.stop = {text.substr(10, 4)};
  const Transcript stopped = Complete(request);
  EXPECT_EQ(stopped.choices.at(0).finish, FinishReason::kStop);
  EXPECT_EQ(stopped.choices.at(0).stop_text, request.stop[0]);
  EXPECT_EQ(stopped.choices.at(0).text, text.substr(0, text.find(request.stop[0])));
}

TEST_F(CoreTest, ChoicesDifferAndShareThePrompt) {
  Create({});
  const Transcript transcript =
      Complete({.prompt = Prompt(200), .sampling = {.ignore_eos = true}, .seed = 5, .choices = 4, .max_tokens = 10});
  ASSERT_EQ(transcript.choices.size(), 4u);
  EXPECT_NE(transcript.choices.at(0).tokens, transcript.choices.at(1).tokens);
  EXPECT_NE(transcript.choices.at(1).tokens, transcript.choices.at(2).tokens);
  const Statistics statistics = core_->statistics();
  EXPECT_EQ(statistics.cache.prefix_tokens_reused, 3u * 192);
  EXPECT_EQ(statistics.prefix_queries, 4u);
  EXPECT_EQ(statistics.prefix_hits, 3u);
  EXPECT_EQ(statistics.cached_prompt_tokens, 0u) << "the request's prompt was computed once";
}

TEST_F(CoreTest, ThePromptOfManyChoicesIsOneLoad) {
  Create({});
  Submit(1, {.prompt = Prompt(200), .choices = 16});
  EXPECT_EQ(core_->load().prefill_tokens, 200 + 15 * 8) << "the page that is not full is computed for each";
}

TEST_F(CoreTest, ARepeatedPromptComesFromThePrefixCacheUnlessTheSaltDiffers) {
  Create({});
  GenerationRequest request{.prompt = Prompt(200), .seed = 1, .max_tokens = 10, .logprobs = 3};
  const Transcript first = Complete(request), second = Complete(request);
  EXPECT_EQ(first.cached_prompt_tokens, 0u);
  EXPECT_EQ(second.cached_prompt_tokens, 199u) << "all but the last, whose logits are needed";
  EXPECT_EQ(first.choices, second.choices);
  request.cache_salt = 77;
  EXPECT_EQ(Complete(request).cached_prompt_tokens, 0u);
}

TEST_F(CoreTest, CancellationTakesEffectBeforeTheNextStepAndFreesThePages) {
  Create({});
  const auto queue = Submit(1, {.prompt = Prompt(600), .sampling = {.ignore_eos = true}});
  core_->Step();
  core_->Cancel(1, absl::CancelledError("gone"));
  const int64_t runs = model_->runs;
  EXPECT_FALSE(core_->Step());
  EXPECT_EQ(model_->runs, runs);
  Transcript transcript;
  transcript.Read(*queue);
  EXPECT_EQ(transcript.end, absl::CancelledError("gone"));
  EXPECT_EQ(core_->statistics().cache.blocks_used, 0);
}

TEST_F(CoreTest, APassedDeadlineEndsTheRequest) {
  Create({});
  const auto queue = Submit(1, {.prompt = Prompt(10),
                                .sampling = {.ignore_eos = true},
                                .deadline = clock_.Now() + std::chrono::milliseconds(500)});
  for (int i = 0; i < 10; ++i) core_->Step();
  clock_.Advance(std::chrono::milliseconds(500));
  core_->Step();
  Transcript transcript;
  transcript.Read(*queue);
  EXPECT_EQ(transcript.end->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(transcript.choices.at(0).tokens.size(), 10u);
}

TEST_F(CoreTest, ARequestThatHasWaitedTooLongIsRefusedBeforeItIsAccepted) {
  Create(
      {}, {.max_sequences = 1}, 0, [](int) { return false; }, /*max_wait_seconds=*/1);
  model_->while_running = [this] { clock_.Advance(std::chrono::milliseconds(100)); };
  const auto first = Submit(1, {.prompt = Prompt(10), .sampling = {.ignore_eos = true}, .max_tokens = 50});
  const auto second = Submit(2, {.prompt = Prompt(10), .sampling = {.ignore_eos = true}, .max_tokens = 50});
  while (core_->Step()) {
  }
  Transcript served, refused;
  served.Read(*first);
  refused.Read(*second);
  EXPECT_EQ(served.choices.at(0).tokens.size(), 50u) << "what has begun goes on";
  EXPECT_FALSE(refused.accepted);
  ASSERT_EQ(refused.end->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.end->message(), "the request has waited 1.1 s, the limit is 1 s");
  EXPECT_NEAR(*RetryAfterSeconds(*refused.end), 3.9, 0.3) << "39 tokens of the first are left, and a short prompt";
  EXPECT_EQ(core_->statistics().rejections.at("queue_full"), 1u);
  EXPECT_EQ(core_->statistics().requests_waiting, 0u);
}

TEST_F(CoreTest, AWaitingRequestThatCannotMeetItsDeadlineIsRefused) {
  Create({}, {.max_sequences = 1});
  const auto first = Submit(1, {.prompt = Prompt(40), .sampling = {.ignore_eos = true}, .max_tokens = 50});
  const auto second = Submit(2, {.prompt = Prompt(900), .deadline = clock_.Now() + std::chrono::seconds(3)});
  const MonotonicTime begin = clock_.Now();
  model_->while_running = [this] { clock_.Advance(std::chrono::milliseconds(100)); };
  Transcript refused;
  while (!refused.end && core_->Step()) refused.Read(*second);
  ASSERT_TRUE(refused.end);
  EXPECT_EQ(refused.end->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LT(clock_.Now() - begin, std::chrono::seconds(2)) << "known long before the deadline";
  EXPECT_EQ(core_->statistics().rejections.at("deadline_too_short"), 1u);
}

TEST_F(CoreTest, NobodyIsRefusedForTheGuessThatWasMadeAtTheStart) {
  Create({}, {.max_sequences = 1});
  EXPECT_TRUE(
      Complete({.prompt = Prompt(900), .max_tokens = 1, .deadline = clock_.Now() + std::chrono::seconds(3)}).end->ok())
      << "at 10 ms a token, as guessed, it would take 9 s";
}

TEST_F(CoreTest, AResumedRequestWaitsAsLongAsItMust) {
  Create(
      {}, {.max_sequences = 1}, 0, [](int) { return false; }, /*max_wait_seconds=*/1);
  const auto first = Submit(1, {.prompt = Prompt(10), .sampling = {.ignore_eos = true}, .max_tokens = 50});
  GenerationRequest resumed{.prompt = Prompt(10), .sampling = {.ignore_eos = true}, .max_tokens = 5};
  resumed.resumed = {{.choice = 0, .tokens = {5, 6}, .delivered_bytes = 4}};
  const auto second = Submit(2, std::move(resumed));
  ASSERT_TRUE(core_->Step());
  EXPECT_FALSE(second->Pop()) << "it has not begun: who hears nothing knows that a crash was not its doing";
  while (core_->Step()) clock_.Advance(std::chrono::milliseconds(100));
  Transcript transcript;
  transcript.Read(*second);
  EXPECT_TRUE(transcript.accepted);
  EXPECT_EQ(transcript.end, absl::OkStatus());
  EXPECT_EQ(transcript.choices.at(0).tokens.size(), 3u);
}

// The second choice gives way to the first, which outgrows the pool: its end makes room for the second, in the plan of
// the very step that ends their request.
TEST_F(CoreTest, AChoiceThatOutgrowsThePoolEndsItsRequestWithTheOtherChoices) {
  Create({.blocks = 4}, {}, /*pool_tokens=*/4096);
  const auto queue = Submit(1, {.prompt = Prompt(10), .sampling = {.ignore_eos = true}, .choices = 2});
  while (core_->Step()) clock_.Advance(std::chrono::milliseconds(1));
  Transcript transcript;
  transcript.Read(*queue);
  EXPECT_EQ(transcript.end->code(), absl::StatusCode::kOutOfRange);  // no time mends it
  EXPECT_EQ(transcript.choices.at(0).tokens.size(), 256u - 10 + 1);
  EXPECT_GT(core_->statistics().preemptions, 0u);
  EXPECT_EQ(core_->statistics().steps, static_cast<uint64_t>(model_->runs));
  EXPECT_TRUE(core_->idle());
  EXPECT_EQ(core_->statistics().cache.blocks_used, 0);
}

TEST_F(CoreTest, ALoneRequestTakesThePagesOfOthersWhoShareTheCache) {
  std::unique_ptr<cache::Sequence> other;
  Create({.blocks = 4}, {}, 0, [&other](int) { return std::exchange(other, nullptr) != nullptr; });
  other = *model_->cache().NewSequence({});
  ASSERT_TRUE(model_->cache().Reserve(*other, 128).ok());
  const Transcript transcript = Complete({.prompt = Prompt(10), .sampling = {.ignore_eos = true}, .max_tokens = 240});
  EXPECT_EQ(transcript.end, absl::OkStatus());
  EXPECT_EQ(transcript.choices.at(0).tokens.size(), 240u);
  EXPECT_EQ(other, nullptr);
}

TEST_F(CoreTest, LogitsThatAreNotFiniteEndTheirChoiceAlone) {
  Create({});
  model_->poison = 9;
  const auto good =
      Submit(1, {.prompt = {4, 5}, .sampling = {.logit_bias = {{9, -100.0f}}, .ignore_eos = true}, .max_tokens = 4});
  GenerationRequest poisoned{.prompt = {4, 9}, .max_tokens = 4};
  const Transcript bad = Complete(std::move(poisoned));
  EXPECT_EQ(bad.choices.at(0).finish, FinishReason::kError);
  EXPECT_EQ(bad.choices.at(0).error, "the model's logits are not finite");
  EXPECT_EQ(core_->statistics().nonfinite_logits, 1u);
  Transcript transcript;
  transcript.Read(*good);
  EXPECT_EQ(transcript.choices.at(0).finish, FinishReason::kLength);
}

TEST_F(CoreTest, AReaderThatNeverReadsLosesItsRequestAndHoldsNobodyUp) {
  Create({});
  const auto unread = Submit(1, {.prompt = Prompt(10), .sampling = {.ignore_eos = true}}, /*capacity=*/4096);
  const Transcript other = Complete({.prompt = Prompt(20), .sampling = {.ignore_eos = true}, .max_tokens = 300});
  EXPECT_EQ(other.choices.at(0).tokens.size(), 300u);
  Transcript transcript;
  transcript.Read(*unread);
  EXPECT_EQ(transcript.end->code(), absl::StatusCode::kCancelled);
}

TEST_F(CoreTest, AResumedRequestGoesOnWithTheSameBytesAfterAnyToken) {
  Create({});
  const GenerationRequest request{.prompt = Prompt(30),
                                  .sampling = {.presence_penalty = 1, .repeat_penalty = 1.2f, .ignore_eos = true},
                                  .seed = 11,
                                  .max_tokens = 40,
                                  .stop = {"no such text", "1 2 3 4"},
                                  .logprobs = 1};
  const Transcript::Choice whole = Complete(request).choices.at(0);
  for (size_t had = 0; had <= whole.tokens.size(); had += 7) {
    for (size_t delivered : {size_t{0}, had, had * 2}) {
      GenerationRequest resumed = request;
      resumed.resumed = {{.choice = 0,
                          .tokens = {whole.tokens.begin(), whole.tokens.begin() + static_cast<long>(had)},
                          .delivered_bytes = delivered}};
      const Transcript::Choice rest = Complete(resumed).choices.at(0);
      EXPECT_EQ(rest.text, whole.text.substr(delivered));
      EXPECT_EQ(rest.tokens, std::vector<int32_t>(whole.tokens.begin() + static_cast<long>(had), whole.tokens.end()));
      EXPECT_EQ(rest.finish, whole.finish);
      EXPECT_EQ(rest.completion_tokens, whole.completion_tokens);
    }
  }
}

// Mirostat's state depends on logits that only the process that died had.
TEST_F(CoreTest, AResumedRequestDrawsAsBeforeWithEverySamplerAndConstraint) {
  Create({}, {.draft_tokens = 8});
  const auto texts = std::make_shared<const sampling::TokenTexts>(vocabulary_.size, vocabulary_.token_bytes);
  const sampling::SamplingOptions cases[] = {
      {.ignore_eos = true, .mirostat = true, .mirostat_tau = 3},
      {.temperature = 0.7f, .ignore_eos = true, .mirostat = true, .mirostat_tau = 2, .mirostat_eta = 0.3f},
      {.xtc_probability = 0.5f, .xtc_threshold = 0.05f, .ignore_eos = true},
      {.temperature = 0, .ignore_eos = true, .dry = {.multiplier = 4, .allowed_length = 1}},
      {.ignore_eos = true, .bad_words = {"1 4", "5", "22 "}},
  };
  constraint::ConstraintCache constraints(texts, vocabulary_.end_of_generation);
  const constraint::Constraint some_digits =
      *constraints.Get(constraint::SourceOf({.kind = constraint::OutputKind::kRegex, .text = "([0-9]*[1368] )*"}));
  for (size_t i = 0; i < 2 * std::size(cases); ++i) {
    const sampling::SamplingOptions& sampling = cases[i / 2];
    GenerationRequest request{.prompt = Prompt(30),
                              .sampling = sampling,
                              .seed = 3,
                              .max_tokens = 40,
                              .logprobs = 2,
                              .prompt_logprobs = true};
    if (i % 2 == 1) request.constraint = some_digits;
    if (sampling::TextRules::NeededBy(sampling)) request.text_rules = sampling::TextRules(sampling, texts);
    const Transcript::Choice whole = Complete(request).choices.at(0);
    ASSERT_EQ(whole.tokens.size(), 40u);
    for (const std::string& word : sampling.bad_words) EXPECT_EQ(whole.text.find(word), std::string::npos) << word;
    for (size_t had : {1, 13, 39, 40}) {
      GenerationRequest resumed = request;
      resumed.resumed = {{.tokens = {whole.tokens.begin(), whole.tokens.begin() + static_cast<long>(had)}}};
      const uint64_t before = core_->statistics().steps;
      const Transcript::Choice rest = Complete(resumed).choices.at(0);
      EXPECT_LE(core_->statistics().steps - before, 1 + (had + 8) / 9 + 40 - had) << "nine known tokens a step";
      EXPECT_EQ(rest.text, whole.text);
      EXPECT_EQ(rest.tokens, std::vector<int32_t>(whole.tokens.begin() + static_cast<long>(had), whole.tokens.end()));
      EXPECT_EQ(rest.logprobs,
                std::vector<float>(whole.logprobs.begin() + static_cast<long>(3 * had), whole.logprobs.end()));
      EXPECT_TRUE(rest.prompt_logprobs.empty()) << "they were delivered";
      EXPECT_EQ(rest.finish, whole.finish);
    }
  }
}

TEST_F(CoreTest, AResumedChoiceThatHadFinishedGivesNothing) {
  Create({});
  GenerationRequest request{.prompt = Prompt(30), .sampling = {.ignore_eos = true}, .choices = 2, .max_tokens = 4};
  request.resumed = {{.choice = 1, .tokens = {5, 6, 7, 8}, .delivered_bytes = 8, .finished = true}};
  const Transcript transcript = Complete(request);
  EXPECT_TRUE(transcript.choices.contains(0));
  EXPECT_FALSE(transcript.choices.contains(1));
  EXPECT_EQ(transcript.end, absl::OkStatus());
}

}  // namespace
}  // namespace inferd::engine
