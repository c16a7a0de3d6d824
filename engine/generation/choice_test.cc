#include "engine/generation/choice.h"

#include <gtest/gtest.h>

#include <memory>

#include "config/base/status.h"
#include "engine/constraint/answer_constraint.h"
#include "engine/generation/fake_model.h"

namespace inferd::engine {
namespace {

TEST(Choice, SharesTheStopTextsOfItsRequest) {
  const GenerationRequest request{.prompt = {4}, .choices = 2, .stop = {"END"}};
  const Vocabulary vocabulary = FakeModel::Vocabulary();
  const kernels::Kernels& kernels = *kernels::SelectKernels(nullptr);
  const std::shared_ptr<const output::StopTexts> stops = *output::StopTexts::Create(request.stop);
  const Choice first(request, 0, stops, {.most_tokens = 8, .window = 64}, vocabulary, kernels);
  const Choice second(request, 1, stops, {.most_tokens = 8, .window = 64}, vocabulary, kernels);
  EXPECT_EQ(stops.use_count(), 3) << "no choice has an automaton of its own";
}

// A choice of the fake vocabulary ("<t> " for token t, 0 ends) whose text matches a regular expression.
class ConstrainedChoiceTest : public testing::Test {
 protected:
  void Begin(const char* regex) {
    constraint::ConstraintCache cache(
        std::make_shared<const sampling::TokenTexts>(FakeModel::kVocabulary, vocabulary_.token_bytes),
        vocabulary_.end_of_generation);
    request_.constraint = *cache.Get(constraint::SourceOf({.kind = constraint::OutputKind::kRegex, .text = regex}));
    choice_ = std::make_unique<Choice>(request_, 0, *output::StopTexts::Create(request_.stop),
                                       ChoiceLimits{.most_tokens = 8, .window = 64}, vocabulary_, kernels_);
  }

  // With logits that rise with the token.
  std::optional<Finish> Advance() {
    std::vector<float> logits(FakeModel::kVocabulary);
    for (size_t token = 0; token < logits.size(); ++token) logits[token] = 0.1f * static_cast<float>(token);
    delta_ = {};
    return choice_->Advance(logits, delta_);
  }

  const Vocabulary vocabulary_ = FakeModel::Vocabulary();
  const kernels::Kernels& kernels_ = *kernels::SelectKernels(nullptr);
  GenerationRequest request_{.prompt = {4}, .sampling = {.temperature = 0}};
  std::unique_ptr<Choice> choice_;
  Delta delta_;
};

TEST_F(ConstrainedChoiceTest, TakesTheBestTokenThatIsAllowedAndEndsWhereNothingMoreCanCome) {
  Begin("[1-4][0-9] 7 ");
  EXPECT_FALSE(Advance());
  EXPECT_EQ(delta_.tokens, (std::vector<int32_t>{49}));
  const std::optional<Finish> finish = Advance();
  EXPECT_EQ(delta_.tokens, (std::vector<int32_t>{7}));
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, FinishReason::kStop);
}

TEST_F(ConstrainedChoiceTest, TheEndComesOnlyWhereTheTextIsComplete) {
  request_.sampling.logit_bias = {{0, 100}};
  Begin("(5 ){2,}");
  EXPECT_FALSE(Advance());
  EXPECT_FALSE(Advance());
  const std::optional<Finish> finish = Advance();
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, FinishReason::kStop);
  EXPECT_EQ(choice_->generated(), 2u);
}

TEST_F(ConstrainedChoiceTest, EndsWhereAllElseIsBanned) {
  request_.sampling.bad_words = {"6"};
  request_.sampling.ignore_eos = true;
  const auto texts = std::make_shared<const sampling::TokenTexts>(FakeModel::kVocabulary, vocabulary_.token_bytes);
  request_.text_rules = sampling::TextRules(request_.sampling, texts);
  Begin("5 (6 )*");
  EXPECT_FALSE(Advance());
  const std::optional<Finish> finish = Advance();
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, FinishReason::kStop);
}

// Without a constraint, the last of the fake vocabulary comes first.
class StoppedChoiceTest : public ConstrainedChoiceTest {
 protected:
  void BeginFree() {
    choice_ = std::make_unique<Choice>(request_, 0, *output::StopTexts::Create(request_.stop),
                                       ChoiceLimits{.most_tokens = 8, .window = 64}, vocabulary_, kernels_);
  }
};

TEST_F(StoppedChoiceTest, AStopTokenEndsItAsTheEndOfGenerationDoes) {
  request_.stop_tokens = {7, 63};
  BeginFree();
  const std::optional<Finish> finish = Advance();
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, FinishReason::kStop);
  EXPECT_TRUE(delta_.tokens.empty());
  EXPECT_EQ(choice_->generated(), 0u);
}

TEST_F(StoppedChoiceTest, AStopTokenMayBeShown) {
  request_.stop_tokens = {63};
  request_.include_stop = true;
  BeginFree();
  ASSERT_TRUE(Advance());
  EXPECT_EQ(delta_.tokens, (std::vector<int32_t>{63}));
  request_.resumed = {{.choice = 0, .tokens = {63}}};
  BeginFree();
  Delta delta;
  EXPECT_TRUE(choice_->Replay(delta)) << "it was complete";
}

TEST_F(StoppedChoiceTest, StopTokensAreHeldOffBeforeTheLeastNumber) {
  request_.stop_tokens = {63};
  request_.min_tokens = 1;
  BeginFree();
  EXPECT_FALSE(Advance());
  EXPECT_EQ(delta_.tokens, (std::vector<int32_t>{62}));
  EXPECT_TRUE(Advance());
}

TEST_F(StoppedChoiceTest, OnlyAllowedTokensAreDrawn) {
  request_.sampling.allowed_tokens = {5, 9};
  BeginFree();
  EXPECT_FALSE(Advance());
  EXPECT_EQ(delta_.tokens, (std::vector<int32_t>{9}));
  request_.sampling.logit_bias = {{5, -100}, {9, -100}};
  BeginFree();
  const std::optional<Finish> finish = Advance();
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->error.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ConstrainedChoiceTest, ATextThatNoTokenGoesOnIsAnError) {
  Begin("5 x");
  EXPECT_FALSE(Advance());
  const std::optional<Finish> finish = Advance();
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, FinishReason::kError);
  EXPECT_EQ(finish->error, InvalidField("constraint", "no token of the vocabulary goes on as it asks"));
}

TEST_F(ConstrainedChoiceTest, LogprobsAreThoseOfTheUnmodifiedLogits) {
  request_.logprobs = 1;
  Begin("7 ");
  Advance();
  ASSERT_EQ(delta_.logprobs.size(), 1u);
  EXPECT_EQ(delta_.logprobs[0].token, 7);
  EXPECT_EQ(delta_.logprobs[0].top[0].token, 63);
  EXPECT_NEAR(delta_.logprobs[0].top[0].logprob - delta_.logprobs[0].logprob, 5.6, 1e-4) << "0.1 * (63 - 7)";
}

TEST_F(ConstrainedChoiceTest, GoesOnAfterTheTokensOfAResumedRequest) {
  request_.resumed = {{.choice = 0, .tokens = {5, 6}}};
  Begin("5 6 7 (8 )?");
  Delta delta;
  EXPECT_FALSE(choice_->Replay(delta));
  EXPECT_FALSE(Advance());
  EXPECT_EQ(delta_.tokens, (std::vector<int32_t>{7}));
  request_.resumed = {{.choice = 0, .tokens = {5, 5}}};
  Begin("5 6 7 ");
  const std::optional<Finish> finish = choice_->Replay(delta);
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->error, InvalidField("constraint", "token 5 is not allowed here"));
}

TEST_F(ConstrainedChoiceTest, CountsTheGuessesThatArePossible) {
  Begin("5 6 (7 )*");
  EXPECT_EQ(choice_->CountPossible(std::vector<int32_t>{5, 6, 7, 8}), 3u);
  EXPECT_EQ(choice_->CountPossible(std::vector<int32_t>{6}), 0u);
}

}  // namespace
}  // namespace inferd::engine
