// Prompts with a beginning in common, of models with and without a recurrent state: what is computed of them, and what
// is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/generation/testing_core.h"

namespace inferd::engine {
namespace {

class PromptSharing : public CoreTest {};

TEST_F(PromptSharing, ChoicesGoOnFromTheFirstWhereItHasComputedAllButTheLastTokenOfThePrompt) {
  struct Case {
    int32_t prompt;
    uint32_t choices;
    bool recurrent;
    int64_t max_sequences, tokens;
  };
  const Case cases[] = {
      {100, 4, false, 32, 100 + 3},
      {100, 4, true, 32, 100 + 3},
      {40, 16, true, 32, 40 + 15},      // no page is full
      {200, 4, true, 32, 200 + 3 * 8},  // the last page is not worth a step of waiting
      {10, 4, true, 32, 4 * 10},
      {100, 4, true, 2, 100 + 1 + 2 * 36},  // the others come when the first has gone on
      {100, 4, true, 1, 100 + 3 * 36},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.prompt << " tokens, " << c.choices << " choices, recurrent " << c.recurrent);
    GenerationRequest request{.prompt = Prompt(c.prompt), .seed = 5, .choices = c.choices, .max_tokens = 1};
    Create({.prefix_reuse = false, .recurrent = c.recurrent});
    const Transcript alone = Complete(request);
    EXPECT_EQ(model_->tokens, c.prompt * static_cast<int64_t>(c.choices));
    Create({.recurrent = c.recurrent},
           {.max_sequences = c.max_sequences, .state_page_tokens = c.recurrent ? kernels::kPageTokens : 0});
    EXPECT_EQ(Complete(request).choices, alone.choices);
    EXPECT_EQ(model_->tokens, c.tokens);
    EXPECT_EQ(core_->statistics().cache.blocks_used, 0);
  }
}

TEST_F(PromptSharing, OnlyEqualTextsOfOneTenantGoOnFromEachOther) {
  Create({});
  std::vector<std::shared_ptr<EventQueue>> queues;
  GenerationRequest request{.prompt = Prompt(50), .max_tokens = 1};
  queues.push_back(Submit(1, request));
  queues.push_back(Submit(2, request));  // goes on from the first
  request.cache_salt = 9;
  queues.push_back(Submit(3, request));
  request.prompt[20] = 3;
  queues.push_back(Submit(4, request));
  while (core_->Step()) {
  }
  EXPECT_EQ(model_->tokens, 50 + 1 + 50 + 50);
  std::vector<uint32_t> cached;
  for (const auto& queue : queues) {
    Transcript transcript;
    transcript.Read(*queue);
    cached.push_back(transcript.cached_prompt_tokens);
  }
  EXPECT_THAT(cached, testing::ElementsAre(0, 49, 0, 0));
}

TEST_F(PromptSharing, IfTheFirstOfEqualPromptsIsCancelledTheNextComputesItForTheOthers) {
  GenerationRequest request{.prompt = Prompt(100), .sampling = {.ignore_eos = true}, .seed = 5, .max_tokens = 3};
  Create({.prefix_reuse = false});
  const Transcript alone = Complete(request);
  request.choices = 2;
  for (const bool recurrent : {false, true}) {
    Create({.recurrent = recurrent}, {.prefill_tokens = 10, .state_page_tokens = recurrent ? kernels::kPageTokens : 0});
    Submit(1, request);
    request.choices = 1;
    std::vector<std::shared_ptr<EventQueue>> queues;
    for (RequestId id = 2; id < 6; ++id) queues.push_back(Submit(id, request));
    for (int i = 0; i < 3; ++i) core_->Step();
    core_->Cancel(1, absl::OkStatus());
    while (core_->Step()) {
    }
    // What the first has computed is the beginning of a page, from which the next goes on.
    EXPECT_EQ(model_->tokens, 30 + 70 + 3 + 4 * 2) << "recurrent " << recurrent;
    for (const auto& queue : queues) {
      Transcript transcript;
      transcript.Read(*queue);
      EXPECT_EQ(transcript.choices, alone.choices);
    }
  }
}

TEST_F(PromptSharing, WhatTheCacheKnowsIsNotGivenUpForAShorterBeginning) {
  Create({}, {.prefill_tokens = 64});
  const GenerationRequest known{.prompt = Prompt(328), .max_tokens = 1};
  Complete(known);
  GenerationRequest fresh{.prompt = Prompt(200), .max_tokens = 1};
  for (size_t i = 128; i < 200; ++i) fresh.prompt[i] = 3;
  model_->tokens = 0;
  const std::shared_ptr<EventQueue> first = Submit(1, fresh), second = Submit(2, known);
  while (core_->Step()) {
  }
  Transcript transcript;
  transcript.Read(*second);
  EXPECT_GE(transcript.cached_prompt_tokens, 320u);
}

// The next turn goes on where the answer ended, but for its last token, which was never computed. A repeated prompt
// lies before that end, and goes on from its own last whole page.
TEST_F(PromptSharing, ARecurrentModelFindsARepeatedPromptAndTheNextTurn) {
  for (const int64_t prefill_tokens : {7, 90, 256}) {
    SCOPED_TRACE(testing::Message() << "chunks of " << prefill_tokens);
    Create({.recurrent = true}, {.prefill_tokens = prefill_tokens, .state_page_tokens = kernels::kPageTokens});
    GenerationRequest request{.prompt = Prompt(100), .sampling = {.ignore_eos = true}, .seed = 1, .max_tokens = 10};
    const Transcript first = Complete(request), second = Complete(request);
    EXPECT_EQ(first.cached_prompt_tokens, 0u);
    EXPECT_EQ(second.cached_prompt_tokens, 64u);
    EXPECT_EQ(second.choices, first.choices);
    for (int32_t token : first.choices.at(0).tokens) request.prompt.push_back(token);
    for (int32_t token : Prompt(90)) request.prompt.push_back(token);
    const Transcript turn = Complete(request), again = Complete(request);
    EXPECT_EQ(turn.cached_prompt_tokens, 109u);
    EXPECT_EQ(again.cached_prompt_tokens, 192u);
    EXPECT_EQ(again.choices, turn.choices);
    request.prompt[105] ^= 1;  // in the page where the first answer ended
    EXPECT_EQ(Complete(request).cached_prompt_tokens, 64u);
  }
}

TEST_F(PromptSharing, ARecurrentModelGoesOnWhereItWasStopped) {
  Create({.recurrent = true}, {.prefill_tokens = 100, .state_page_tokens = kernels::kPageTokens});
  GenerationRequest request{.prompt = Prompt(150), .sampling = {.ignore_eos = true}, .max_tokens = 100};
  Submit(1, request);
  for (int step = 0; step < 4; ++step) core_->Step();  // 100, 128 and 150 tokens, then one of the answer
  core_->Cancel(1, absl::CancelledError("by the test"));
  GenerationRequest longer = request;
  longer.prompt.push_back(9);
  EXPECT_EQ(Complete(longer).cached_prompt_tokens, 128u) << "another token than the answer's";
  Submit(2, request);
  core_->Step();  // 128 are known
  core_->Cancel(2, absl::CancelledError("by the test"));
  EXPECT_EQ(Complete(longer).cached_prompt_tokens, 150u);
}

// Nothing is computed twice, though the step that was planned for it has reserved room.
TEST_F(PromptSharing, APreemptedRecurrentSequenceGoesOnWhereItWas) {
  const GenerationRequest batch{.prompt = Prompt(100),
                                .sampling = {.ignore_eos = true},
                                .max_tokens = 60,
                                .priority = scheduler::Priority::kBatch};
  const GenerationRequest urgent{.prompt = Prompt(50, 20), .max_tokens = 1};
  Create({.recurrent = true}, {.max_sequences = 1, .state_page_tokens = kernels::kPageTokens});
  const auto queue = Submit(1, batch);
  for (int step = 0; step < 20; ++step) core_->Step();
  Submit(2, urgent);
  while (core_->Step()) clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(core_->statistics().preemptions, 1u);
  EXPECT_EQ(model_->tokens, 100 + 59 + 50);
  Transcript transcript;
  transcript.Read(*queue);
  Create({.prefix_reuse = false, .recurrent = true});
  EXPECT_EQ(transcript.choices, Complete(batch).choices);
}

TEST_F(PromptSharing, ARecurrentModelLeavesAStateWhereAWaitingPromptParts) {
  Create({.recurrent = true}, {.state_page_tokens = kernels::kPageTokens});
  GenerationRequest request{.prompt = Prompt(500), .max_tokens = 1};
  Submit(1, request);
  request.prompt.resize(150);
  for (int32_t& token : std::span(request.prompt).subspan(140)) token = 3;
  const auto queue = Submit(2, request);
  while (core_->Step()) {
  }
  Transcript transcript;
  transcript.Read(*queue);
  EXPECT_EQ(transcript.cached_prompt_tokens, 128u);
}

}  // namespace
}  // namespace inferd::engine
