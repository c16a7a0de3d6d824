// The promise of the same bits on real passes, all at once: small models with attention over everything, with windows,
// with experts and with recurrent layers; requests of all kinds that come and go; threads, chunks, a pool that holds
// one request, prefix reuse, turns that go on from answers, guesses from the text and by a draft model. Nothing of it
// changes a token, or a bit of a log-probability, of what a request gets alone. INFERD_TEST_ROUNDS adds as many rounds
// with settings drawn at random.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "config/base/testing_paths.h"
#include "engine/device/factory/device_factory.h"
#include "engine/generation/core.h"
#include "engine/generation/model_drafter.h"
#include "engine/generation/ngram_drafter.h"
#include "engine/generation/random_requests.h"
#include "engine/generation/transcript.h"
#include "engine/model/testing_model.h"

namespace inferd::engine {
namespace {

using model::TestingModel;

enum class Guesses { kNone, kText, kModel };

struct Setting {
  int32_t threads;
  int64_t prefill_tokens;
  bool small_pool, prefix_reuse;
  Guesses guesses = Guesses::kNone;
};

constexpr Setting kAlone{.threads = 2, .prefill_tokens = 512, .small_pool = false, .prefix_reuse = false};
constexpr Setting kTogether[] = {
    {.threads = 1, .prefill_tokens = 1, .small_pool = false, .prefix_reuse = true, .guesses = Guesses::kText},
    {.threads = 3, .prefill_tokens = 7, .small_pool = false, .prefix_reuse = true, .guesses = Guesses::kModel},
    {.threads = 2, .prefill_tokens = 64, .small_pool = true, .prefix_reuse = true, .guesses = Guesses::kModel},
    {.threads = 3, .prefill_tokens = 130, .small_pool = true, .prefix_reuse = false, .guesses = Guesses::kText},
    {.threads = 1, .prefill_tokens = 512, .small_pool = true, .prefix_reuse = true},
};
constexpr int64_t kSequences = 6, kGuesses = 12, kRows = kSequences + 4 + kGuesses, kContext = 320;
constexpr size_t kRequests = 24, kTurns = 16;

Setting RandomSetting(std::mt19937& random) {
  const auto below = [&](uint32_t bound) { return random() % bound; };
  return {.threads = 1 + static_cast<int32_t>(below(3)),
          .prefill_tokens = 1 + static_cast<int64_t>(below(2u << below(9))),
          .small_pool = below(2) == 0,
          .prefix_reuse = below(3) != 0,
          .guesses = static_cast<Guesses>(below(3))};
}

struct Case {
  const char* name;
  std::function<TestingModel()> make;
  kernels::CacheType cache = kernels::CacheType::kF16;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Vocabulary Words() {
  return {.size = static_cast<int32_t>(TestingModel::kVocabulary),
          .end_of_generation = {2},
          .token_bytes = [](int32_t token, bool) { return std::to_string(token) + " "; }};
}

class ModelBits : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    bytes_ = GetParam().make().Bytes();
    model_ = *model::LoadBytes(bytes_);
  }

  absl::StatusOr<std::unique_ptr<device::Device>> MakeDevice(const Setting& setting, uint64_t cache_bytes) {
    return device::CreateDevice(model_,
                                {.context_tokens = kContext,
                                 .max_batch_tokens = setting.prefill_tokens + kSequences + kGuesses,
                                 .max_result_rows = kRows,
                                 .cache = {.bytes = cache_bytes,
                                           .type = GetParam().cache,
                                           .max_sequences = kSequences,
                                           .step_tokens = setting.prefill_tokens + kGuesses,
                                           .prefix_reuse = setting.prefix_reuse}},
                                {.cpu = {.threads = setting.threads}});
  }

  // With a small pool, the smallest that holds one sequence of the whole context.
  std::unique_ptr<device::Device> MakeDevice(const Setting& setting) {
    if (!setting.small_pool) return *MakeDevice(setting, 32 << 20);
    for (uint64_t bytes = 1 << 14;; bytes += bytes / 8) {
      auto device = MakeDevice(setting, bytes);
      if (device.ok() && (*device)->cache().BlocksFor(kContext) <= (*device)->cache().AvailableBlocks()) {
        return *std::move(device);
      }
    }
  }

  // By the model itself: right where the likeliest token is taken, wrong elsewhere.
  std::unique_ptr<Drafter> MakeDrafter(Guesses guesses) {
    if (guesses == Guesses::kText) return std::make_unique<NgramDrafter>();
    if (guesses == Guesses::kNone) return nullptr;
    draft_device_ =
        *device::CreateDevice(model_,
                              {.context_tokens = kContext,
                               .max_batch_tokens = 64,
                               .max_result_rows = kSequences,
                               .cache = {.bytes = 8 << 20, .max_sequences = 2 * kSequences, .prefix_reuse = false}},
                              {.cpu = {.threads = 1}});
    draft_runner_ = std::make_unique<DeviceRunner>(*draft_device_);
    return std::make_unique<ModelDrafter>(
        *draft_runner_, draft_device_->cache(), *kernels::SelectKernels(nullptr),
        ModelDrafter::Options{
            .vocabulary_size = model_->vocabulary_size(), .context_tokens = kContext, .pass_tokens = 64});
  }

  // The requests' answers. Given one after the other, or as they come and, some of them, go.
  std::vector<Transcript> Run(Setting setting, const std::vector<GenerationRequest>& requests, bool at_once) {
    if (model::HasRecurrentState(model_->spec())) setting.guesses = Guesses::kNone;
    const auto device = MakeDevice(setting);
    DeviceRunner runner(*device);
    FakeClock clock;
    const Vocabulary vocabulary = Words();
    Core core({.scheduler = {.max_sequences = kSequences,
                             .prefill_tokens = setting.prefill_tokens,
                             .max_result_rows = kRows - kGuesses,
                             .draft_tokens = setting.guesses == Guesses::kNone ? 0 : kGuesses,
                             .state_page_tokens = model::HasRecurrentState(model_->spec()) ? kernels::kPageTokens : 0},
               .limits = {.vocabulary_size = vocabulary.size, .context_tokens = kContext, .pool_tokens = kContext},
               .prefix_reuse = setting.prefix_reuse,
               .speculation = {.max_tokens = 4, .max_batch = 5}},
              runner, device->cache(), vocabulary, *kernels::SelectKernels(nullptr), clock,
              MakeDrafter(setting.guesses));
    std::vector<std::shared_ptr<EventQueue>> queues;
    while (queues.size() < requests.size() || !core.idle()) {
      if (queues.size() < requests.size() && (at_once ? random_() % 3 == 0 : core.idle())) {
        queues.push_back(std::make_shared<EventQueue>(1 << 24, [] {}));
        core.Submit(queues.size(), requests[queues.size() - 1], queues.back(), clock.Now());
      }
      if (at_once && random_() % 60 == 0 && !queues.empty()) {
        core.Cancel(1 + random_() % queues.size(), absl::CancelledError("by the test"));
      }
      core.Step();
      clock.Advance(std::chrono::milliseconds(10));
    }
    std::vector<Transcript> transcripts(queues.size());
    for (size_t i = 0; i < queues.size(); ++i) transcripts[i].Read(*queues[i]);
    Count(core.statistics());
    return transcripts;
  }

  void Count(const Statistics& statistics) {
    preemptions_ += statistics.preemptions;
    reused_tokens_ += statistics.cache.prefix_tokens_reused;
    accepted_ += statistics.draft_tokens_accepted;
    wrong_ += statistics.draft_tokens_proposed - statistics.draft_tokens_accepted;
    EXPECT_EQ(statistics.cache.blocks_used, 0) << "pages were lost";
  }

  // Random ones, and next turns of some of them; `alone`: their answers.
  std::vector<GenerationRequest> Draw(uint32_t seed, std::vector<Transcript>& alone) {
    RandomRequests random(seed,
                          {.vocabulary = Words(), .longest_part = 120, .longest_answer = 70, .slides_at = kContext});
    std::vector<GenerationRequest> requests(kRequests), turns;
    for (GenerationRequest& request : requests) request = random.Next();
    alone = Run(kAlone, requests, /*at_once=*/false);
    for (size_t i = 0; i < kRequests; ++i) {
      GenerationRequest turn = random.Next();
      if (random.GoOn(requests[i], alone[i], kContext - 80, turn)) turns.push_back(std::move(turn));
    }
    turns.resize(std::min(turns.size(), kTurns));
    for (Transcript& answer : Run(kAlone, turns, /*at_once=*/false)) alone.push_back(std::move(answer));
    requests.insert(requests.end(), turns.begin(), turns.end());
    return requests;
  }

  void ExpectSame(const Setting& setting, const std::vector<GenerationRequest>& requests,
                  const std::vector<Transcript>& alone) {
    SCOPED_TRACE(testing::Message() << setting.threads << " threads, chunks of " << setting.prefill_tokens
                                    << ", guesses " << static_cast<int>(setting.guesses));
    const std::vector<Transcript> together = Run(setting, requests, /*at_once=*/true);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (together[i].end->code() == absl::StatusCode::kCancelled) {
        ++cancelled_;
        ASSERT_NO_FATAL_FAILURE(ExpectBeginning(together[i], alone[i])) << "request " << i;
        continue;
      }
      ASSERT_EQ(together[i].end, alone[i].end) << "request " << i;
      ASSERT_EQ(together[i].choices, alone[i].choices) << "request " << i;
      if (i >= kRequests) turns_within_a_page_ += together[i].cached_prompt_tokens % kernels::kPageTokens != 0 ? 1 : 0;
    }
  }

  static void ExpectBeginning(const Transcript& part, const Transcript& whole) {
    for (const auto& [index, choice] : part.choices) {
      const Transcript::Choice& other = whole.choices.at(index);
      ASSERT_LE(choice.tokens.size(), other.tokens.size());
      ASSERT_TRUE(std::equal(choice.tokens.begin(), choice.tokens.end(), other.tokens.begin()));
      ASSERT_TRUE(std::equal(choice.logprobs.begin(), choice.logprobs.end(), other.logprobs.begin()));
    }
  }

  std::string bytes_;
  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<device::Device> draft_device_;
  std::unique_ptr<DeviceRunner> draft_runner_;
  std::mt19937 random_{5};
  uint64_t preemptions_ = 0, reused_tokens_ = 0, accepted_ = 0, wrong_ = 0, cancelled_ = 0, turns_within_a_page_ = 0;
};

TEST_P(ModelBits, NothingAroundARequestChangesItsAnswer) {
  std::vector<Transcript> alone;
  std::vector<GenerationRequest> requests = Draw(4, alone);
  for (const Setting& setting : kTogether) {
    ExpectSame(setting, requests, alone);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(preemptions_, 5u) << "the small pool was too large to test anything";
  EXPECT_GT(reused_tokens_, 100u) << "nothing was found in the prefix cache";
  EXPECT_GT(turns_within_a_page_, 5u) << "hardly a turn went on from where an answer ended";
  EXPECT_GT(cancelled_, 2u);
  if (!model::HasRecurrentState(model_->spec())) {
    EXPECT_GT(accepted_, 50u);
    EXPECT_GT(wrong_, 50u);
  }
  for (uint32_t round = 0; round < TestRounds(0); ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    requests = Draw(1000 + round, alone);
    ExpectSame(RandomSetting(random_), requests, alone);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ModelBits,
                         testing::Values(Case{"Llama", [] { return TestingModel::Llama(); }},
                                         Case{"LlamaQ8Cache",
                                              [] {
                                                return TestingModel::Llama()
                                                    .Set("attention.head_count", uint32_t{2})
                                                    .Set("attention.head_count_kv", uint32_t{1});
                                              },
                                              kernels::CacheType::kQ8_0},
                                         Case{"Gemma2", [] { return TestingModel::Gemma2(); }},
                                         Case{"Qwen3Moe", [] { return TestingModel::Qwen3Moe(); }},
                                         Case{"Lfm2", [] { return TestingModel::Lfm2(); }},
                                         Case{"Qwen35", [] { return TestingModel::Qwen35(); }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace inferd::engine
