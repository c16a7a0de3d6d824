// Guesses change no token and no bit of a log-probability: right ones, wrong ones and mixtures, by each drafter, with
// all kinds of sampling and constraints, in a pool so small that sequences preempt each other.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/constraint/answer_constraint.h"
#include "engine/generation/core.h"
#include "engine/generation/fake_model.h"
#include "engine/generation/model_drafter.h"
#include "engine/generation/ngram_drafter.h"
#include "engine/generation/transcript.h"

namespace inferd::engine {
namespace {

const kernels::Kernels& kKernels = *kernels::SelectKernels(nullptr);

// Knows the answers, and errs now and then.
class TellingDrafter : public Drafter {
 public:
  std::vector<std::vector<int32_t>> Draft(std::span<const Wanted> wanted) override {
    std::vector<std::vector<int32_t>> drafts(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (const std::vector<int32_t>& text : texts) {
        std::vector<int32_t> scratch;
        const auto tokens = wanted[i].tokens.All(scratch);
        if (text.size() <= tokens.size() || !std::equal(tokens.begin(), tokens.end(), text.begin())) continue;
        const size_t most = std::min<size_t>(text.size() - tokens.size(), static_cast<size_t>(wanted[i].most));
        drafts[i].assign(text.begin() + static_cast<long>(tokens.size()),
                         text.begin() + static_cast<long>(tokens.size() + most));
        if (random_() % 3 == 0) drafts[i][random_() % most] = static_cast<int32_t>(random_() % FakeModel::kVocabulary);
        break;
      }
    }
    return drafts;
  }
  void Forget(scheduler::SequenceId) override {}

  std::vector<std::vector<int32_t>> texts;  // prompt and answer

 private:
  std::mt19937 random_{1};
};

class SpeculationBitsTest : public testing::Test {
 protected:
  SpeculationBitsTest() {
    const auto texts = std::make_shared<const sampling::TokenTexts>(FakeModel::kVocabulary, vocabulary_.token_bytes);
    constraint::ConstraintCache constraints(texts, vocabulary_.end_of_generation);
    std::mt19937 random(2);
    for (int i = 0; i < 40; ++i) {
      GenerationRequest request{.seed = random(), .choices = i % 7 == 0 ? 3u : 1u, .max_tokens = 30 + random() % 130};
      for (uint32_t n = 1 + random() % 90; n > 0; --n)
        request.prompt.push_back(3 + static_cast<int32_t>(random() % 60));
      sampling::SamplingOptions& sampling = request.sampling;
      sampling.temperature = i % 2 == 0 ? 0.0f : 0.8f;
      sampling.ignore_eos = i % 3 != 0;
      if (i % 5 == 1) sampling.repeat_penalty = 1.3f;
      if (i % 5 == 2) sampling.mirostat = true, sampling.mirostat_tau = 3;
      if (i % 5 == 3) sampling.dry.multiplier = 2;
      if (i % 6 == 3) sampling.bad_words = {"7 ", "31"};
      if (i % 6 == 4) sampling.xtc_probability = 0.5f;
      if (sampling::TextRules::NeededBy(sampling)) request.text_rules = sampling::TextRules(sampling, texts);
      if (i % 4 == 0) request.logprobs = 2;
      if (i % 4 == 1) request.stop = {std::to_string(random() % 60) + " 1"};
      if (i % 8 == 5) {
        request.constraint = *constraints.Get(
            constraint::SourceOf({.kind = constraint::OutputKind::kRegex,
                                  .text = i % 3 == 0 ? "([1-5][0-9]? ){5,200}" : "((3|4|12) (5[0-9] )*)+"}));
      }
      request.prompt_logprobs = i % 9 == 0;
      if (i % 10 == 9) {  // slides
        request.prompt.resize(500, 8);
        request.overflow.slide = true;
      }
      requests_.push_back(std::move(request));
    }
    alone_ = Run(nullptr, /*blocks=*/64, /*together=*/1, /*draft_tokens=*/0);
  }

  std::vector<Transcript> Run(std::unique_ptr<Drafter> drafter, int64_t blocks, size_t together, int64_t draft_tokens) {
    FakeClock clock;
    FakeModel model({.blocks = blocks, .max_sequences = 6});
    Core core(
        {.scheduler = {.max_sequences = 6, .prefill_tokens = 40, .max_result_rows = 9, .draft_tokens = draft_tokens},
         .limits = {.vocabulary_size = FakeModel::kVocabulary,
                    .context_tokens = 512,
                    .pool_tokens = blocks * kernels::kPageTokens},
         .speculation = {.max_tokens = 5, .max_batch = 5}},
        model, model.cache(), vocabulary_, kKernels, clock, std::move(drafter));
    std::vector<std::shared_ptr<EventQueue>> queues;
    while (queues.size() < requests_.size() || !core.idle()) {
      if (queues.size() < requests_.size() && core.requests() < together) {
        queues.push_back(std::make_shared<EventQueue>(1 << 24, [] {}));
        core.Submit(queues.size(), requests_[queues.size() - 1], queues.back(), clock.Now());
      }
      core.Step();
      clock.Advance(std::chrono::milliseconds(5));
    }
    std::vector<Transcript> transcripts(queues.size());
    for (size_t i = 0; i < queues.size(); ++i) transcripts[i].Read(*queues[i]);
    statistics_ = core.statistics();
    EXPECT_EQ(statistics_.cache.blocks_used, 0) << "pages were lost";
    return transcripts;
  }

  void ExpectSame(std::unique_ptr<Drafter> drafter) {
    const std::vector<Transcript> guessed = Run(std::move(drafter), /*blocks=*/8, /*together=*/5, /*draft_tokens=*/12);
    for (size_t i = 0; i < requests_.size(); ++i) {
      EXPECT_EQ(guessed[i].end, alone_[i].end);
      EXPECT_EQ(guessed[i].choices, alone_[i].choices) << "request " << i;
    }
    EXPECT_GE(statistics_.draft_tokens_proposed, statistics_.draft_tokens_accepted);
  }

  const Vocabulary vocabulary_ = FakeModel::Vocabulary();
  std::vector<GenerationRequest> requests_;
  std::vector<Transcript> alone_;
  Statistics statistics_;
};

TEST_F(SpeculationBitsTest, GuessesThatAreMostlyRight) {
  auto drafter = std::make_unique<TellingDrafter>();
  for (size_t i = 0; i < requests_.size(); ++i) {
    for (const auto& [index, choice] : alone_[i].choices) {
      drafter->texts.push_back(requests_[i].prompt);
      drafter->texts.back().insert(drafter->texts.back().end(), choice.tokens.begin(), choice.tokens.end());
    }
  }
  ExpectSame(std::move(drafter));
  EXPECT_GT(statistics_.draft_tokens_accepted, 400u);
  EXPECT_GT(statistics_.draft_tokens_proposed, statistics_.draft_tokens_accepted + 50);
  EXPECT_GT(statistics_.preemptions, 3u) << "the pool was too large to test anything";
}

TEST_F(SpeculationBitsTest, GuessesFromTheText) {
  ExpectSame(std::make_unique<NgramDrafter>());
  EXPECT_GT(statistics_.draft_tokens_proposed, 20u);
}

TEST_F(SpeculationBitsTest, GuessesOfADraftModel) {
  for (int64_t blocks : {20, 5}) {  // room for all, and not even for each
    SCOPED_TRACE(blocks);
    FakeModel draft({.blocks = blocks, .max_sequences = 12, .prefix_reuse = false});
    ExpectSame(std::make_unique<ModelDrafter>(
        draft, draft.cache(), kKernels,
        ModelDrafter::Options{.vocabulary_size = FakeModel::kVocabulary, .context_tokens = 512, .pass_tokens = 32}));
    EXPECT_GT(statistics_.draft_tokens_accepted, 100u);
    EXPECT_EQ(draft.cache().Stats().blocks_used, 0) << "pages were lost";
  }
}

TEST_F(SpeculationBitsTest, OneSequenceNeedsFewerPassesWhereGuessesAreRight) {
  requests_ = {{.prompt = {4, 5, 6}, .sampling = {.temperature = 0, .ignore_eos = true}, .max_tokens = 60}};
  FakeModel draft({.prefix_reuse = false});
  const std::vector<Transcript> guessed = Run(
      std::make_unique<ModelDrafter>(
          draft, draft.cache(), kKernels,
          ModelDrafter::Options{.vocabulary_size = FakeModel::kVocabulary, .context_tokens = 512, .pass_tokens = 32}),
      64, 1, 12);
  EXPECT_EQ(guessed[0].choices.at(0).tokens.size(), 60u);
  EXPECT_EQ(statistics_.steps, 1u + 10) << "the prompt, then six tokens a step but for the last";
  EXPECT_EQ(statistics_.draft_tokens_accepted, statistics_.draft_tokens_proposed);
}

}  // namespace
}  // namespace inferd::engine
