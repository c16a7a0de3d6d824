// See the header; each function is one loop over the tokens concerned.
#include "engine/sampling/penalties.h"

#include "engine/sampling/sampling_options.h"

namespace inferd::sampling {

void TokenWindow::Push(int32_t token) {
  if (size_ == 0) return;
  ++counts_[token];
  if (size_ < 0) return;
  tokens_.push_back(token);
  if (tokens_.size() <= static_cast<size_t>(size_)) return;
  const auto oldest = counts_.find(tokens_.front());
  if (--oldest->second == 0) counts_.erase(oldest);
  tokens_.pop_front();
}

void ApplyBias(std::span<const std::pair<int32_t, float>> biases, std::span<float> logits) {
  for (const auto& [token, bias] : biases) logits[token] = bias <= -100 ? kBannedLogit : logits[token] + bias;
}

void ApplyRepeatPenalty(const TokenWindow& window, float penalty, std::span<float> logits) {
  if (penalty == 1) return;
  for (const auto& [token, count] : window.counts()) {
    float& logit = logits[token];
    if (logit > kBannedLogit) logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

void ApplyCountPenalties(const TokenWindow& generated, float presence, float frequency, std::span<float> logits) {
  if (presence == 0 && frequency == 0) return;
  for (const auto& [token, count] : generated.counts()) {
    float& logit = logits[token];
    if (logit > kBannedLogit) logit -= presence + frequency * static_cast<float>(count);
  }
}

void Ban(std::span<const int32_t> tokens, std::span<float> logits) {
  for (int32_t token : tokens) logits[token] = kBannedLogit;
}

void BanOthers(std::span<const int32_t> tokens, std::span<float> logits) {
  if (tokens.empty()) return;
  size_t next = 0;
  for (size_t token = 0; token < logits.size(); ++token) {
    if (next < tokens.size() && static_cast<size_t>(tokens[next]) == token) {
      ++next;
    } else {
      logits[token] = kBannedLogit;
    }
  }
}

}  // namespace inferd::sampling
