// Remembers which tokens a word equal to their spelling becomes as a whole, so that merging a common word is one
// look-up.
//
//   if (memo.Get(id) == WordMemo::kWhole) ids.push_back(id);
//
// Merging "the" need not give the token "the": no chain of merges may lead there. The first word spelled like a token
// finds out; all threads then know. A byte a token, no locks: a lost update only means that a word is merged again.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace inferd::tokenizer {

class WordMemo {
 public:
  enum State : uint8_t { kUnknown, kWhole, kParts };

  explicit WordMemo(size_t tokens) : states_(tokens) {}

  State Get(int32_t id) const { return static_cast<State>(states_[id].load(std::memory_order_relaxed)); }
  void Set(int32_t id, State state) const { states_[id].store(state, std::memory_order_relaxed); }

 private:
  mutable std::vector<std::atomic<uint8_t>> states_;
};

}  // namespace inferd::tokenizer
