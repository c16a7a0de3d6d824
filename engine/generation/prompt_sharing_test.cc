// Prompts with a beginning in common, of models with and without a recurrent state: what is computed of them, and what
// is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/generation/testing_core.h"

namespace inferd::engine {
namespace {

class PromptSharing : public CoreTest {};

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
    EXPECT_EQ(turn.cached_prompt_tokens, 64u);
    EXPECT_EQ(again.cached_prompt_tokens, 192u);
    EXPECT_EQ(again.choices, turn.choices);
  }
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
