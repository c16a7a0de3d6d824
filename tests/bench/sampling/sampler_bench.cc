// Time to draw one token of a vocabulary of 262144, one sequence:
//   ninja sampler_bench && tests/bench/sampling/sampler_bench
// Goals: 0.3 ms with the default chain, 0.05 ms greedy (measured: 0.14 and 0.023 with AVX-512). Logits fall as those of
// a language model do: a few large ones and a normal crowd; the copy that gives each draw fresh logits is not counted.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "engine/sampling/sampler.h"
#include "tests/bench/thread_time.h"

namespace inferd::sampling {
namespace {

constexpr int32_t kVocabulary = 262144;
constexpr int32_t kPrompt = 4000;

struct Case {
  const char* name;
  SamplingOptions options;
};

std::vector<float> Logits() {
  std::vector<float> logits(kVocabulary);
  std::mt19937 random(1);
  std::normal_distribution<float> crowd(0, 2);
  for (float& logit : logits) logit = crowd(random);
  for (int i = 0; i < 40; ++i) logits[random() % kVocabulary] = 16 - 0.25f * static_cast<float>(i);
  return logits;
}

void Draw(benchmark::State& state, const Case& test, const TextRules& rules) {
  const kernels::Kernels& kernels = *kernels::SelectKernels(nullptr);
  const std::vector<float> fresh = Logits();
  std::vector<float> logits(fresh.size());
  Sampler sampler(test.options, rules, {.seed = 1}, {}, kernels);
  std::vector<int32_t> prompt(kPrompt);
  std::mt19937 random(2);
  for (int32_t& token : prompt) token = static_cast<int32_t>(random() % 5000);
  sampler.AcceptPrompt(prompt);
  for (auto _ : state) {
    logits = fresh;
    const double begin = ThreadSeconds();
    const int32_t token = sampler.Sample(logits);
    sampler.Accept(token);
    state.SetIterationTime(ThreadSeconds() - begin);
  }
}

void RegisterAll() {
  const auto texts = std::make_shared<const TokenTexts>(
      kVocabulary, [](int32_t token, bool) { return std::to_string(token * 7919 % kVocabulary); });
  const Case cases[] = {
      {"greedy", {.temperature = 0}},
      {"default", {}},
      {"temperature", {.temperature = 0.7f}},
      {"top_p", {.temperature = 0.8f, .top_p = 0.95f}},
      {"llama_cpp_defaults", {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f}},
      {"typical", {.typical_p = 0.9f}},
      {"penalties", {.presence_penalty = 0.5f, .repeat_penalty = 1.1f}},
      {"xtc", {.xtc_probability = 1, .xtc_threshold = 0.1f}},
      {"dry_4000_tokens", {.dry = {.multiplier = 0.8f}}},
      {"mirostat", {.mirostat = true}},
      {"bad_words_64", {.bad_words = std::vector<std::string>(64, "8888")}},
  };
  for (Case test : cases) {
    for (size_t i = 0; i < test.options.bad_words.size(); ++i) test.options.bad_words[i] += std::to_string(i);
    const TextRules rules(test.options, texts);
    benchmark::RegisterBenchmark(test.name, [test, rules](benchmark::State& state) { Draw(state, test, rules); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace inferd::sampling

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  inferd::sampling::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
