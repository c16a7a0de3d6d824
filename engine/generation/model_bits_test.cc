// The promise of the same bits on real passes: small models with attention over everything, with windows, with experts
// and with recurrent layers. Threads, chunks, company, a pool that holds one request and prefix reuse change no token
// and no bit of a log-probability.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "engine/device/device.h"
#include "engine/generation/core.h"
#include "engine/generation/transcript.h"
#include "engine/model/testing_model.h"

namespace inferd::engine {
namespace {

using model::TestingModel;

struct Setting {
  int32_t threads;
  int64_t prefill_tokens;
  bool small_pool, prefix_reuse;
};

constexpr Setting kAlone{.threads = 2, .prefill_tokens = 512, .small_pool = false, .prefix_reuse = false};
constexpr Setting kTogether[] = {
    {.threads = 1, .prefill_tokens = 1, .small_pool = false, .prefix_reuse = true},
    {.threads = 3, .prefill_tokens = 7, .small_pool = false, .prefix_reuse = true},
    {.threads = 2, .prefill_tokens = 64, .small_pool = true, .prefix_reuse = true},
    {.threads = 3, .prefill_tokens = 130, .small_pool = true, .prefix_reuse = false},
    {.threads = 1, .prefill_tokens = 512, .small_pool = true, .prefix_reuse = true},
};
constexpr int64_t kSequences = 6, kRows = kSequences + 4, kContext = 320;

struct Case {
  const char* name;
  std::function<TestingModel()> make;
  kernels::CacheType cache = kernels::CacheType::kF16;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<GenerationRequest> Requests() {
  std::mt19937 random(4);
  std::vector<GenerationRequest> requests;
  for (int i = 0; i < 24; ++i) {
    GenerationRequest request{.sampling = {.temperature = i % 3 == 0 ? 0.0f : 0.9f, .ignore_eos = true},
                              .seed = static_cast<uint64_t>(i),
                              .max_tokens = 4 + random() % 40,
                              .logprobs = 3};
    if (i % 4 == 1) request.sampling.top_k = 20;
    if (i % 5 == 1) request.sampling.repeat_penalty = 1.2f;
    for (uint32_t n = i % 2 == 0 ? 60 + random() % 70 : 0; n > 0; --n) {  // a beginning in common
      request.prompt.push_back(static_cast<int32_t>(n % TestingModel::kVocabulary));
    }
    for (uint32_t n = 1 + random() % (i % 6 == 0 ? 150 : 20); n > 0; --n) {
      request.prompt.push_back(static_cast<int32_t>(random() % TestingModel::kVocabulary));
    }
    if (i % 7 == 3) request.choices = 3;
    request.prompt_logprobs = i % 8 == 5;
    request.priority = static_cast<scheduler::Priority>(random() % 4);
    requests.push_back(std::move(request));
  }
  return requests;
}

class ModelBits : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    bytes_ = GetParam().make().Bytes();
    model_ = *model::LoadBytes(bytes_);
  }

  absl::StatusOr<std::unique_ptr<device::Device>> MakeDevice(const Setting& setting, uint64_t cache_bytes) {
    return device::Device::Create(model_, {.threads = setting.threads,
                                           .context_tokens = kContext,
                                           .max_batch_tokens = setting.prefill_tokens + kSequences,
                                           .max_result_rows = kRows,
                                           .cache = {.bytes = cache_bytes,
                                                     .type = GetParam().cache,
                                                     .max_sequences = kSequences,
                                                     .step_tokens = setting.prefill_tokens,
                                                     .prefix_reuse = setting.prefix_reuse}});
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

  // The requests' answers, given all at once or one after the other.
  std::vector<Transcript> Run(const Setting& setting, const std::vector<GenerationRequest>& requests, bool at_once) {
    const auto device = MakeDevice(setting);
    DeviceRunner runner(*device);
    FakeClock clock;
    const Vocabulary vocabulary{.size = model_->vocabulary_size(),
                                .token_bytes = [](int32_t token, bool) { return std::to_string(token) + " "; }};
    Core core(
        {.scheduler = {.max_sequences = kSequences, .prefill_tokens = setting.prefill_tokens, .max_result_rows = kRows},
         .limits = {.vocabulary_size = vocabulary.size, .context_tokens = kContext, .pool_tokens = kContext},
         .prefix_reuse = setting.prefix_reuse},
        runner, device->cache(), vocabulary, *kernels::SelectKernels(nullptr), clock);
    std::vector<std::shared_ptr<EventQueue>> queues;
    for (const GenerationRequest& request : requests) {
      queues.push_back(std::make_shared<EventQueue>(1 << 24, [] {}));
      core.Submit(queues.size(), request, queues.back(), clock.Now());
      for (int steps = at_once ? 2 : 1 << 20; steps > 0 && core.Step(); --steps) {
        clock.Advance(std::chrono::milliseconds(10));
      }
    }
    while (core.Step()) clock.Advance(std::chrono::milliseconds(10));
    std::vector<Transcript> transcripts(queues.size());
    for (size_t i = 0; i < queues.size(); ++i) transcripts[i].Read(*queues[i]);
    preemptions_ += core.statistics().preemptions;
    reused_tokens_ += core.statistics().cache.prefix_tokens_reused;
    EXPECT_EQ(core.statistics().cache.blocks_used, 0) << "pages were lost";
    return transcripts;
  }

  std::string bytes_;
  std::shared_ptr<const model::Model> model_;
  uint64_t preemptions_ = 0, reused_tokens_ = 0;
};

TEST_P(ModelBits, ThreadsChunksCompanyAndMemoryChangeNothing) {
  const std::vector<GenerationRequest> requests = Requests();
  const std::vector<Transcript> alone = Run(kAlone, requests, /*at_once=*/false);
  for (const Setting& setting : kTogether) {
    SCOPED_TRACE(testing::Message() << setting.threads << " threads, chunks of " << setting.prefill_tokens);
    const std::vector<Transcript> together = Run(setting, requests, /*at_once=*/true);
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_EQ(together[i].end, absl::OkStatus());
      ASSERT_EQ(together[i].choices, alone[i].choices) << "request " << i;
      EXPECT_EQ(together[i].choices.at(0).tokens.size(), *requests[i].max_tokens);
    }
  }
  EXPECT_GT(preemptions_, 5u) << "the small pool was too large to test anything";
  EXPECT_GT(reused_tokens_, 500u) << "nothing was found in the prefix cache";
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
