// A model for tests whose logits are a hash of all tokens of the sequence, read back from the KV cache's pages: a page
// that is lost, shared wrongly or not copied changes the answer. A recurrent one has them in its state, too.
//
//   FakeModel model({.blocks = 8});
//   Core core(options, model, model.cache(), FakeModel::Vocabulary(), kernels, clock);
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "engine/cache/host_page_memory.h"
#include "engine/cache/kv_cache.h"
#include "engine/generation/step_runner.h"
#include "engine/generation/vocabulary.h"

namespace inferd::engine {

class FakeModel : public StepRunner {
 public:
  static constexpr int32_t kVocabulary = 64;
  static constexpr int32_t kEnd = 0;  // the only end-of-generation token

  struct Options {
    int64_t blocks = 64;
    int64_t max_sequences = 32;
    bool prefix_reuse = true;
    bool recurrent = false;
  };

  explicit FakeModel(const Options& options) {
    cache::CacheLayout layout;
    layout.groups = {{.window = 0, .layers = {0}}};
    layout.page_bytes = {kPageBytes};
    layout.state_bytes = {options.recurrent ? kStateBytes : 0};
    const int64_t states = options.recurrent ? (options.max_sequences + (options.prefix_reuse ? 16 : 0)) : 0;
    cache_ =
        *cache::KvCache::Create(layout,
                                {.bytes = static_cast<uint64_t>(options.blocks * kPageBytes + states * kStateBytes),
                                 .max_sequences = options.max_sequences,
                                 .prefix_reuse = options.prefix_reuse},
                                memory_);
  }

  cache::KvCache& cache() { return *cache_; }

  // Token t reads "<t> "; 1 is the byte C3 and 2 the byte A4, which make one character together.
  static engine::Vocabulary Vocabulary() {
    return {.size = kVocabulary, .end_of_generation = {kEnd}, .token_bytes = [](int32_t token, bool) {
              if (token == 1) return std::string("\xC3");
              if (token == 2) return std::string("\xA4");
              return std::to_string(token) + " ";
            }};
  }

  absl::StatusOr<forward::ForwardResult> Run(std::span<const forward::SequenceStep> steps) override {
    ++runs;
    while_running();
    rows_.clear();
    int64_t count = 0;
    for (const forward::SequenceStep& step : steps) {
      tokens += std::ssize(step.tokens);
      for (size_t i = 0; i < step.tokens.size(); ++i) {
        const int64_t position = step.sequence->length() + static_cast<int64_t>(i);
        Slot(*step.sequence, position) = step.tokens[i];
        if (uint64_t* const state = StateOf(*step.sequence)) {
          if (position == 0) *state ^= kHashBegin;
          *state = Extend(*state, step.tokens[i]);
        }
        const bool last = i + 1 == step.tokens.size();
        if (step.wanted == forward::Rows::kAll || (step.wanted == forward::Rows::kLast && last)) {
          AddRow(*step.sequence, position);
          ++count;
        }
      }
      cache_->Commit(*step.sequence, step.tokens.first(step.tokens.size() - static_cast<size_t>(step.drafts)));
    }
    return forward::ForwardResult(count, kVocabulary, rows_);
  }

  int64_t runs = 0, tokens = 0;  // passes, and what they computed
  std::function<void()> while_running = [] {};
  int32_t poison = -1;  // a sequence that ends with this token gives NaN

 private:
  static constexpr int64_t kPageBytes = kernels::kPageTokens * sizeof(int32_t), kStateBytes = 64;
  static constexpr uint64_t kHashBegin = 1469598103934665603u;

  static uint64_t Extend(uint64_t hash, int32_t token) {
    return (hash ^ static_cast<uint64_t>(token)) * 1099511628211u;
  }

  int32_t& Slot(const cache::Sequence& sequence, int64_t position) const {
    uint8_t* const page = memory_.Page(sequence.pages(0)[position / kernels::kPageTokens], 0);
    return reinterpret_cast<int32_t*>(page)[position % kernels::kPageTokens];
  }
  uint64_t* StateOf(const cache::Sequence& sequence) const {
    return reinterpret_cast<uint64_t*>(memory_.State(sequence.slot(), 0));
  }

  uint64_t HashOf(const cache::Sequence& sequence, int64_t position) const {
    uint64_t hash = kHashBegin;
    for (int64_t i = 0; i <= position; ++i) hash = Extend(hash, Slot(sequence, i));
    const uint64_t* const state = StateOf(sequence);
    EXPECT_TRUE(state == nullptr || *state == hash) << "the state and the pages are of different texts";
    return hash;
  }

  void AddRow(const cache::Sequence& sequence, int64_t position) {
    const uint64_t hash = HashOf(sequence, position);
    for (int32_t token = 0; token < kVocabulary; ++token) {
      const uint64_t mixed = (hash ^ static_cast<uint64_t>(token)) * 0x9E3779B97F4A7C15u;
      float logit = static_cast<float>(mixed >> 40) / static_cast<float>(1 << 24) * 8 - 4;
      if (token == kEnd) logit -= 2;
      rows_.push_back(Slot(sequence, position) == poison ? std::nanf("") : logit);
    }
  }

  cache::HostPageMemory memory_;
  std::unique_ptr<cache::KvCache> cache_;
  std::vector<float> rows_;
};

}  // namespace inferd::engine
