// The promise of the same bits on a real model: threads, chunks, company, a small pool and prefix reuse change no token
// and no bit of a log-probability.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "config/base/testing_paths.h"
#include "engine/device/device.h"
#include "engine/generation/core.h"
#include "engine/generation/transcript.h"

namespace inferd::engine {
namespace {

struct Setting {
  int32_t threads;
  int64_t prefill_tokens;
  uint64_t cache_bytes;
  bool prefix_reuse;
};

constexpr Setting kAlone{.threads = 2, .prefill_tokens = 256, .cache_bytes = 64 << 20, .prefix_reuse = false};
constexpr Setting kTogether[] = {
    {.threads = 1, .prefill_tokens = 7, .cache_bytes = 64 << 20, .prefix_reuse = true},
    {.threads = 2, .prefill_tokens = 64, .cache_bytes = 12 << 20, .prefix_reuse = true},  // 8 pages
    {.threads = 3, .prefill_tokens = 256, .cache_bytes = 12 << 20, .prefix_reuse = false},
};
constexpr int64_t kSequences = 6, kRows = kSequences + 4;

std::vector<GenerationRequest> Requests(int32_t vocabulary_size) {
  std::mt19937 random(4);
  std::vector<GenerationRequest> requests;
  for (int i = 0; i < 8; ++i) {
    GenerationRequest request{.sampling = {.temperature = i % 3 == 0 ? 0.0f : 0.9f, .ignore_eos = true},
                              .seed = static_cast<uint64_t>(i),
                              .max_tokens = 12,
                              .logprobs = 3};
    request.prompt.assign(i % 2 == 0 ? 70 : 0, 500);  // a page in common
    for (uint32_t n = 1 + random() % 60; n > 0; --n) {
      request.prompt.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocabulary_size)));
    }
    request.prompt_logprobs = i == 5;
    requests.push_back(std::move(request));
  }
  return requests;
}

class ModelBitsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(TestModelPath())) GTEST_SKIP() << TestModelPath() << " is not on this machine";
    model_ = *model::Model::Load(*gguf::GgufFile::Open(TestModelPath()));
    vocabulary_ = {.size = model_->vocabulary_size(), .end_of_generation = {}, .token_bytes = [](int32_t token, bool) {
                     return std::to_string(token) + " ";
                   }};
  }

  // The requests' answers, given all at once or one after the other.
  std::vector<Transcript> Run(const Setting& setting, const std::vector<GenerationRequest>& requests, bool at_once) {
    const auto device = *device::Device::Create(
        model_,
        {.threads = setting.threads,
         .context_tokens = 512,
         .max_batch_tokens = setting.prefill_tokens + kSequences,
         .max_result_rows = kRows,
         .cache = {.bytes = setting.cache_bytes, .max_sequences = kSequences, .prefix_reuse = setting.prefix_reuse}});
    DeviceRunner runner(*device);
    FakeClock clock;
    Core core(
        {.scheduler = {.max_sequences = kSequences, .prefill_tokens = setting.prefill_tokens, .max_result_rows = kRows},
         .limits = {.vocabulary_size = vocabulary_.size, .context_tokens = 512, .pool_tokens = 512},
         .prefix_reuse = setting.prefix_reuse},
        runner, device->cache(), vocabulary_, *kernels::SelectKernels(nullptr), clock);
    std::vector<std::shared_ptr<EventQueue>> queues;
    for (const GenerationRequest& request : requests) {
      queues.push_back(std::make_shared<EventQueue>(1 << 24, [] {}));
      core.Submit(queues.size(), request, queues.back(), clock.Now());
      while (!at_once && core.Step()) {
      }
    }
    while (core.Step()) clock.Advance(std::chrono::milliseconds(10));
    std::vector<Transcript> transcripts(queues.size());
    for (size_t i = 0; i < queues.size(); ++i) transcripts[i].Read(*queues[i]);
    return transcripts;
  }

  std::shared_ptr<const model::Model> model_;
  Vocabulary vocabulary_;
};

TEST_F(ModelBitsTest, ThreadsChunksCompanyAndMemoryChangeNothing) {
  const std::vector<GenerationRequest> requests = Requests(model_->vocabulary_size());
  const std::vector<Transcript> alone = Run(kAlone, requests, /*at_once=*/false);
  for (const Setting& setting : kTogether) {
    const std::vector<Transcript> together = Run(setting, requests, /*at_once=*/true);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(together[i].choices, alone[i].choices) << "request " << i << ", " << setting.threads << " threads";
      EXPECT_EQ(together[i].choices.at(0).tokens.size(), 12u);
    }
  }
}

}  // namespace
}  // namespace inferd::engine
