// Repeats are found by the Z-function of the reversed tokens (Gusfield, "Algorithms on Strings, Trees, and Sequences",
// 1997, section 1.3), in time linear in the tokens looked at.
#include "engine/sampling/dry.h"

#include <algorithm>
#include <map>

namespace inferd::sampling {
namespace {

constexpr double kMostPenalty = 1e20;  // far below any logit, and finite after a division by the smallest temperature

// z[k]: how many tokens before the k-th from the end equal those before the end; z[0] is not set.
std::vector<int32_t> RepeatLengths(std::span<const int32_t> tokens) {
  const auto size = static_cast<int64_t>(tokens.size());
  const auto back = [&](int64_t i) { return tokens[static_cast<size_t>(size - 1 - i)]; };
  std::vector<int32_t> z(tokens.size());
  int64_t left = 0, right = 0;  // the match that reaches farthest back covers [left, right)
  for (int64_t k = 1; k < size; ++k) {
    int64_t length = k < right ? std::min<int64_t>(right - k, z[static_cast<size_t>(k - left)]) : 0;
    while (k + length < size && back(length) == back(k + length)) ++length;
    z[static_cast<size_t>(k)] = static_cast<int32_t>(length);
    if (k + length > right) {
      left = k;
      right = k + length;
    }
  }
  return z;
}

}  // namespace

std::vector<std::pair<int32_t, int32_t>> Repeats(std::span<const int32_t> tokens, int64_t limit, int64_t least) {
  const std::vector<int32_t> z = RepeatLengths(tokens);
  std::map<int32_t, int32_t> longest;
  for (size_t k = 1; k < z.size(); ++k) {
    const auto length = static_cast<int32_t>(std::min<int64_t>(z[k], limit));
    if (length < least) continue;
    int32_t& known = longest[tokens[tokens.size() - k]];
    known = std::max(known, length);
  }
  return {longest.begin(), longest.end()};
}

// The power by multiplication: the C library's pow does not promise the same bits everywhere.
float DryPenalty(const DryOptions& options, int32_t length) {
  double penalty = options.multiplier;
  if (options.base == 1) return options.multiplier;
  for (int32_t i = options.allowed_length; i < length && penalty < kMostPenalty; ++i) penalty *= options.base;
  return static_cast<float>(std::min(penalty, kMostPenalty));
}

DryHistory::DryHistory(DryOptions options, std::shared_ptr<const ByteAutomaton> breakers,
                       std::shared_ptr<const TokenTexts> texts)
    : options_(std::move(options)), breakers_(std::move(breakers)), texts_(std::move(texts)) {}

void DryHistory::PushPrompt(std::span<const int32_t> prompt) {
  if (!options_.on()) return;
  prompt_ = prompt;
  for (int32_t token : prompt) Spell(token);
}

void DryHistory::Push(int32_t token) {
  if (!options_.on()) return;
  tokens_.push_back(token);
  Spell(token);
}

void DryHistory::Spell(int32_t token) {
  ++since_breaker_;
  for (char byte : texts_->spelled(token)) {
    state_ = breakers_->Next(state_, byte);
    if (breakers_->MatchEndsAt(state_)) since_breaker_ = 0;
  }
}

void DryHistory::Penalize(std::span<float> logits) const {
  if (!options_.on() || since_breaker_ < options_.allowed_length) return;
  const size_t all = prompt_.size() + tokens_.size();
  const size_t window = options_.penalty_last_n < 0 ? all : std::min(all, static_cast<size_t>(options_.penalty_last_n));
  const size_t own = std::min(window, tokens_.size());
  std::vector<int32_t> tokens(prompt_.end() - static_cast<std::ptrdiff_t>(window - own), prompt_.end());
  tokens.insert(tokens.end(), tokens_.end() - static_cast<std::ptrdiff_t>(own), tokens_.end());
  if (static_cast<int64_t>(tokens.size()) <= options_.allowed_length) return;
  for (const auto& [token, length] : Repeats(tokens, since_breaker_, options_.allowed_length)) {
    float& logit = logits[static_cast<size_t>(token)];
    if (logit > kBannedLogit) logit -= DryPenalty(options_, length);
  }
}

}  // namespace inferd::sampling
