// A request's answer is the same alone and in company: hundreds of random requests with all kinds of sampling, arrivals
// and cancellations, in pools so small that they preempt each other, with chunks of 1 to 512 tokens, with and without
// prefix reuse, token for token and log-probability bit for bit.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/constraint/answer_constraint.h"
#include "engine/generation/core.h"
#include "engine/generation/fake_model.h"
#include "engine/generation/transcript.h"

namespace inferd::engine {
namespace {

const kernels::Kernels& kKernels = *kernels::SelectKernels(nullptr);

struct Engine {
  Engine(int64_t blocks, int64_t prefill_tokens, int64_t max_sequences, bool prefix_reuse)
      : model({.blocks = blocks, .max_sequences = max_sequences, .prefix_reuse = prefix_reuse}),
        core({.scheduler = {.max_sequences = max_sequences,
                            .prefill_tokens = prefill_tokens,
                            .max_result_rows = max_sequences + 3},
              .limits = {.vocabulary_size = FakeModel::kVocabulary,
                         .context_tokens = 512,
                         .pool_tokens = blocks * kernels::kPageTokens},
              .prefix_reuse = prefix_reuse},
             model, model.cache(), vocabulary, kKernels, clock) {}

  FakeClock clock;
  const Vocabulary vocabulary = FakeModel::Vocabulary();
  FakeModel model;
  Core core;
};

class RandomRequests {
 public:
  explicit RandomRequests(uint32_t seed) : random_(seed) {}

  uint32_t Below(uint32_t bound) { return random_() % bound; }
  bool Chance(uint32_t one_in) { return Below(one_in) == 0; }

  GenerationRequest Next() {
    GenerationRequest request;
    // A few beginnings in common, then tokens of their own.
    std::mt19937 beginning(Below(4));
    const uint32_t common = Chance(2) ? Below(200) : 0;
    for (uint32_t i = 0; i < common; ++i) request.prompt.push_back(3 + static_cast<int32_t>(beginning() % 60));
    for (uint32_t i = Chance(5) ? Below(200) : Below(20) + 1; i > 0; --i) {
      request.prompt.push_back(3 + static_cast<int32_t>(Below(60)));
    }
    if (request.prompt.empty()) request.prompt.push_back(5);
    request.sampling = Sampling();
    if (sampling::TextRules::NeededBy(request.sampling)) {
      request.text_rules = sampling::TextRules(request.sampling, texts_);
    }
    if (Chance(6)) request.constraint = constraint_;
    request.seed = random_();
    request.choices = Chance(6) ? 1 + Below(4) : 1;
    request.max_tokens = Below(Chance(4) ? 100 : 30);
    request.min_tokens = Chance(5) ? Below(*request.max_tokens + 1) : 0;
    if (Chance(4)) request.stop = {std::to_string(Below(60)) + " 1", "7 7"};
    if (Chance(3)) request.logprobs = static_cast<int32_t>(Below(4));
    request.prompt_logprobs = Chance(8);
    request.priority = static_cast<scheduler::Priority>(Below(4));
    request.cache_salt = Below(2);
    return request;
  }

 private:
  sampling::SamplingOptions Sampling() {
    sampling::SamplingOptions options{.temperature = Chance(3) ? 0.0f : 0.5f + 0.1f * static_cast<float>(Below(10))};
    if (Chance(4)) options.top_k = 1 + static_cast<int32_t>(Below(70));
    if (Chance(4)) options.top_p = 0.3f + 0.1f * static_cast<float>(Below(7));
    if (Chance(4)) options.min_p = 0.05f * static_cast<float>(Below(10));
    if (Chance(6)) options.typical_p = 0.5f;
    if (Chance(5)) options.presence_penalty = 0.7f;
    if (Chance(5)) options.frequency_penalty = -0.3f;
    if (Chance(5)) options.repeat_penalty = 1.3f;
    if (Chance(6)) options.repeat_last_n = -1;
    if (Chance(6)) options.logit_bias = {{static_cast<int32_t>(Below(64)), 3.0f}, {9, -100.0f}};
    options.ignore_eos = Chance(3);
    if (Chance(5)) options.xtc_probability = 0.5f, options.xtc_threshold = 0.02f * static_cast<float>(Below(20));
    if (Chance(5)) options.dry = {.multiplier = 3, .allowed_length = static_cast<int32_t>(Below(3))};
    if (Chance(6)) options.mirostat = true, options.mirostat_tau = 3;
    if (Chance(5)) options.bad_words = {std::to_string(Below(60)) + " " + std::to_string(Below(9)), "31"};
    return options;
  }

  std::mt19937 random_;
  const std::shared_ptr<const sampling::TokenTexts> texts_ =
      std::make_shared<const sampling::TokenTexts>(FakeModel::kVocabulary, FakeModel::Vocabulary().token_bytes);
  const constraint::Constraint constraint_ =
      *constraint::ConstraintCache(texts_, std::vector<int32_t>{FakeModel::kEnd})
           .Get(constraint::SourceOf({.kind = constraint::OutputKind::kRegex, .text = "([1-5][0-9] ){2,}(7 )*"}));
};

Transcript Alone(const GenerationRequest& request) {
  Engine engine(/*blocks=*/64, /*prefill_tokens=*/512, /*max_sequences=*/8, /*prefix_reuse=*/false);
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
};

// Returns how many preemptions there were.
uint64_t RunTogether(uint32_t seed, int64_t prefill_tokens, bool prefix_reuse) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", chunks of " << prefill_tokens);
  constexpr RequestId kRequests = 60;
  RandomRequests random(seed);
  Engine engine(/*blocks=*/8, prefill_tokens, /*max_sequences=*/6, prefix_reuse);
  std::map<RequestId, Submitted> submitted;
  RequestId next = 1;
  while (next <= kRequests || !engine.core.idle()) {
    if (next <= kRequests && (random.Chance(4) || engine.core.idle())) {
      Submitted entry{.request = random.Next(), .queue = std::make_shared<EventQueue>(1 << 24, [] {})};
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
    const Transcript alone = Alone(entry.request);
    EXPECT_EQ(together.end, alone.end) << "request " << id;
    EXPECT_EQ(together.choices, alone.choices) << "request " << id;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(engine.core.statistics().cache.blocks_used, 0) << "pages were lost";
  return engine.core.statistics().preemptions;
}

TEST(SameBits, ARequestGetsTheSameAnswerAloneAndInCompany) {
  uint64_t preemptions = 0;
  uint32_t seed = 0;
  for (int64_t prefill_tokens : {1, 7, 64, 130, 512}) {
    for (bool prefix_reuse : {false, true}) {
      preemptions += RunTogether(++seed, prefill_tokens, prefix_reuse);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(preemptions, 20u) << "the pool was too large to test anything";
}

}  // namespace
}  // namespace inferd::engine
