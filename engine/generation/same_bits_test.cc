// A request's answer is the same alone and in company: hundreds of random requests with all kinds of sampling, arrivals
// and cancellations, by models with and without a recurrent state, in pools so small that they preempt each other, with
// chunks of 1 to 512 tokens, with and without prefix reuse and guesses, token for token and log-probability bit for
// bit. Some requests are the next turn of another, and go on where its answer ended.
#include <gtest/gtest.h>

#include <map>

#include "engine/generation/core.h"
#include "engine/generation/fake_model.h"
#include "engine/generation/ngram_drafter.h"
#include "engine/generation/random_requests.h"
#include "engine/generation/transcript.h"

namespace inferd::engine {
namespace {

const kernels::Kernels& kKernels = *kernels::SelectKernels(nullptr);

struct Engine {
  Engine(int64_t blocks, int64_t prefill_tokens, int64_t max_sequences, bool prefix_reuse, bool guesses, bool recurrent)
      : model({.blocks = blocks, .max_sequences = max_sequences, .prefix_reuse = prefix_reuse, .recurrent = recurrent}),
        core({.scheduler = {.max_sequences = max_sequences,
                            .prefill_tokens = prefill_tokens,
                            .max_result_rows = max_sequences + 3,
                            .draft_tokens = guesses ? 9 : 0,
                            .state_page_tokens = recurrent ? kernels::kPageTokens : 0},
              .limits = {.vocabulary_size = FakeModel::kVocabulary,
                         .context_tokens = 512,
                         .pool_tokens = blocks * kernels::kPageTokens},
              .prefix_reuse = prefix_reuse,
              .speculation = {.max_tokens = 4, .max_batch = 5}},
             model, model.cache(), vocabulary, kKernels, clock, guesses ? std::make_unique<NgramDrafter>() : nullptr) {}

  FakeClock clock;
  const Vocabulary vocabulary = FakeModel::Vocabulary();
  FakeModel model;
  Core core;
};

Transcript Alone(const GenerationRequest& request) {
  Engine engine(/*blocks=*/64, /*prefill_tokens=*/512, /*max_sequences=*/8, /*prefix_reuse=*/false, /*guesses=*/false,
                /*recurrent=*/false);
  auto queue = std::make_shared<EventQueue>(1 << 24, [] {});
  engine.core.Submit(1, request, queue, engine.clock.Now());
  while (engine.core.Step()) {
  }
  Transcript transcript;
  transcript.Read(*queue);
  return transcript;
}

struct Submitted {
  GenerationRequest request;
  std::shared_ptr<EventQueue> queue;
  Transcript alone;
  bool next_turn = false;
};

struct Counts {
  uint64_t preemptions = 0;
  uint64_t recurrent_turns = 0;  // that went on from within a page
};

void RunTogether(uint32_t seed, int64_t prefill_tokens, bool prefix_reuse, bool recurrent, Counts& counts) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", chunks of " << prefill_tokens
                                  << (recurrent ? ", recurrent" : ""));
  constexpr RequestId kRequests = 60;
  RandomRequests random(seed, {.vocabulary = FakeModel::Vocabulary(), .slides_at = 512});
  Engine engine(/*blocks=*/8, prefill_tokens, /*max_sequences=*/6, prefix_reuse,
                /*guesses=*/!recurrent && seed % 3 != 0, recurrent);
  std::map<RequestId, Submitted> submitted;
  RequestId next = 1;
  while (next <= kRequests || !engine.core.idle()) {
    if (next <= kRequests && (random.Chance(4) || engine.core.idle())) {
      Submitted entry{.request = random.Next(), .queue = std::make_shared<EventQueue>(1 << 24, [] {})};
      if (random.Chance(3) && !submitted.empty()) {
        const Submitted& before = std::next(submitted.begin(), random.Below(submitted.size()))->second;
        entry.next_turn = random.GoOn(before.request, before.alone, /*most_tokens=*/300, entry.request);
      }
      entry.alone = Alone(entry.request);
      engine.core.Submit(next, entry.request, entry.queue, engine.clock.Now());
      if (random.Chance(12)) {
        engine.core.Step();
        engine.core.Cancel(next, absl::CancelledError("by the test"));
      } else {
        submitted[next] = std::move(entry);
      }
      ++next;
    }
    engine.core.Step();
    engine.clock.Advance(std::chrono::milliseconds(5));
  }
  for (auto& [id, entry] : submitted) {
    Transcript together;
    together.Read(*entry.queue);
    EXPECT_EQ(together.end, entry.alone.end) << "request " << id;
    EXPECT_EQ(together.choices, entry.alone.choices) << "request " << id;
    if (recurrent && entry.next_turn) counts.recurrent_turns += together.cached_prompt_tokens % 64 != 0 ? 1 : 0;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(engine.core.statistics().cache.blocks_used, 0) << "pages were lost";
  counts.preemptions += engine.core.statistics().preemptions;
}

TEST(SameBits, ARequestGetsTheSameAnswerAloneAndInCompany) {
  Counts counts;
  uint32_t seed = 0;
  for (int64_t prefill_tokens : {1, 7, 64, 130, 512}) {
    for (bool prefix_reuse : {false, true}) {
      for (bool recurrent : {false, true}) {
        RunTogether(++seed, prefill_tokens, prefix_reuse, recurrent, counts);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(counts.preemptions, 20u) << "the pool was too large to test anything";
  EXPECT_GT(counts.recurrent_turns, 10u) << "hardly a turn went on from the end of another";
}

}  // namespace
}  // namespace inferd::engine
