// A request with many choices holds its long prompt once: memory does not grow with choices times prompt.
#include <gtest/gtest.h>
#include <malloc.h>

#include <random>

#include "engine/generation/core.h"
#include "engine/generation/fake_model.h"
#include "engine/generation/transcript.h"

namespace inferd::engine {
namespace {

constexpr int64_t kPromptTokens = 40'000;
constexpr int64_t kPromptBytes = kPromptTokens * static_cast<int64_t>(sizeof(int32_t));

int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// The most that the request takes at the end of any step, beyond its prompt.
int64_t MostHeapBytes(uint32_t choices, const sampling::SamplingOptions& sampling) {
  const Vocabulary vocabulary = FakeModel::Vocabulary();
  FakeModel model({.blocks = 1200, .max_sequences = 128});
  FakeClock clock;
  Core core({.scheduler = {.max_sequences = 128, .prefill_tokens = 8192, .max_result_rows = 130},
             .limits = {.vocabulary_size = vocabulary.size, .context_tokens = 50'000, .pool_tokens = 1200 * 64}},
            model, model.cache(), vocabulary, *kernels::SelectKernels(nullptr), clock);
  GenerationRequest request{.sampling = sampling, .choices = choices, .max_tokens = 3};
  if (sampling::TextRules::NeededBy(sampling)) {
    request.text_rules = sampling::TextRules(
        sampling, std::make_shared<const sampling::TokenTexts>(vocabulary.size, vocabulary.token_bytes));
  }
  std::mt19937 random(1);
  for (int64_t i = 0; i < kPromptTokens; ++i) request.prompt.push_back(3 + static_cast<int32_t>(random() % 60));
  auto queue = std::make_shared<EventQueue>(1 << 24, [] {});
  const int64_t before = HeapBytes();
  core.Submit(1, std::move(request), queue, clock.Now());
  int64_t most = HeapBytes();
  while (core.Step()) most = std::max(most, HeapBytes());
  Transcript transcript;
  transcript.Read(*queue);
  EXPECT_EQ(transcript.choices.size(), choices);
  for (const auto& [index, choice] : transcript.choices) EXPECT_EQ(choice.tokens.size(), 3u);
  // Each sequence has a table of the pages that it shares.
  const int64_t tables = choices * (kPromptTokens / 64 + 1) * static_cast<int64_t>(sizeof(int32_t) + sizeof(void*)) * 2;
  return most - before - tables;
}

TEST(ManyChoices, HoldALongPromptOnce) {
  const sampling::SamplingOptions plain{.ignore_eos = true};
  EXPECT_LT(MostHeapBytes(128, plain), 16 * kPromptBytes);
}

TEST(ManyChoices, HoldItOnceWithSamplersThatLookBackAtAllOfIt) {
  sampling::SamplingOptions sampling{.repeat_penalty = 1.1f, .repeat_last_n = -1, .ignore_eos = true};
  sampling.dry.multiplier = 1;
  EXPECT_LT(MostHeapBytes(128, sampling), 16 * kPromptBytes);
}

}  // namespace
}  // namespace inferd::engine
