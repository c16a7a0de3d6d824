// Tables by a hash of the n-gram: a collision makes a wrong guess.
#include "engine/generation/ngram_drafter.h"

#include <algorithm>
#include <optional>

namespace inferd::engine {
namespace {

constexpr int64_t kAfterPair = 2;  // guesses after only two known tokens

// Of the `size` tokens before `end`.
uint64_t Key(const TokenView& tokens, size_t end, size_t size) {
  uint64_t key = 0;
  for (size_t i = end - size; i < end; ++i) key = (key ^ static_cast<uint32_t>(tokens[i])) * 0x9E3779B97F4A7C15u;
  return key ^ key >> 32;
}

std::optional<size_t> Find(const absl::flat_hash_map<uint64_t, uint32_t>& after, uint64_t key) {
  const auto found = after.find(key);
  if (found == after.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::vector<std::vector<int32_t>> NgramDrafter::Draft(std::span<const Wanted> wanted) {
  std::vector<std::vector<int32_t>> drafts;
  for (const Wanted& one : wanted) drafts.push_back(DraftOne(one, texts_[one.id]));
  return drafts;
}

std::vector<int32_t> NgramDrafter::DraftOne(const Wanted& wanted, Text& text) {
  const TokenView tokens = wanted.tokens;
  // The n-grams at the very end have nothing after them yet.
  for (; text.indexed < tokens.size(); ++text.indexed) {
    const size_t end = text.indexed;
    if (end >= 2) text.after_pair[Key(tokens, end, 2)] = static_cast<uint32_t>(end);
    if (end >= 3) text.after_triple[Key(tokens, end, 3)] = static_cast<uint32_t>(end);
  }
  int64_t most = wanted.most;
  std::optional<size_t> place;
  if (tokens.size() >= 3) place = Find(text.after_triple, Key(tokens, tokens.size(), 3));
  if (!place && tokens.size() >= 2) {
    place = Find(text.after_pair, Key(tokens, tokens.size(), 2));
    most = std::min(most, kAfterPair);
  }
  if (!place) return {};
  const size_t after = tokens.size() - *place;
  // A text that repeats itself goes on with what is guessed.
  std::vector<int32_t> draft;
  for (size_t i = 0; static_cast<int64_t>(draft.size()) < most; ++i) {
    draft.push_back(i < after ? tokens[*place + i] : draft[i - after]);
  }
  return draft;
}

}  // namespace inferd::engine
