#include "engine/constraint/token_mask.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/sampling/sampling_options.h"

namespace inferd::constraint {
namespace {

using sampling::kBannedLogit;

template <typename Visit>
void ForEachBit(uint64_t word, const Visit& visit) {
  for (; word != 0; word &= word - 1) visit(static_cast<size_t>(std::countr_zero(word)));
}

// For each byte of bits, the floats of eight tokens: all bits set where the token stays.
constexpr auto kKept = [] {
  std::array<std::array<uint32_t, 8>, 256> kept{};
  for (size_t bits = 0; bits < 256; ++bits) {
    for (size_t i = 0; i < 8; ++i) kept[bits][i] = (bits >> i & 1) != 0 ? ~uint32_t{0} : 0;
  }
  return kept;
}();

void ApplyEight(uint8_t bits, float* logits) {
  constexpr auto kBanned = std::bit_cast<uint32_t>(kBannedLogit);
  const std::array<uint32_t, 8>& kept = kKept[bits];
  for (size_t i = 0; i < 8; ++i) {
    logits[i] = std::bit_cast<float>((std::bit_cast<uint32_t>(logits[i]) & kept[i]) | (kBanned & ~kept[i]));
  }
}

void ApplyBits(std::span<const uint64_t> bits, std::span<float> logits) {
  size_t token = 0;
  for (; token + 64 <= logits.size(); token += 64) {
    const uint64_t word = bits[token / 64];
    if (word == ~uint64_t{0}) continue;
    for (size_t i = 0; i < 64; i += 8) ApplyEight(static_cast<uint8_t>(word >> i), &logits[token + i]);
  }
  for (; token < logits.size(); ++token) {
    if ((bits[token / 64] >> (token % 64) & 1) == 0) logits[token] = kBannedLogit;
  }
}

}  // namespace

TokenMask TokenMask::Of(std::span<const uint64_t> bits, int32_t size) {
  TokenMask mask;
  for (uint64_t word : bits) mask.count_ += std::popcount(word);
  if (mask.count_ > size / 32 + 1) {
    mask.bits_.assign(bits.begin(), bits.end());
    return mask;
  }
  for (size_t word = 0; word < bits.size(); ++word) {
    ForEachBit(bits[word], [&](size_t bit) { mask.list_.push_back(static_cast<int32_t>(word * 64 + bit)); });
  }
  return mask;
}

bool TokenMask::Has(int32_t token) const {
  const auto id = static_cast<size_t>(token);
  if (bits_.empty()) return std::binary_search(list_.begin(), list_.end(), token);
  return (bits_[id / 64] >> (id % 64) & 1) != 0;
}

void TokenMask::AddTo(std::span<uint64_t> bits) const {
  for (size_t word = 0; word < bits_.size(); ++word) bits[word] |= bits_[word];
  for (int32_t token : list_) bits[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
}

void TokenMask::Apply(std::span<const int32_t> also, std::span<float> logits) const {
  std::vector<std::pair<int32_t, float>> kept;
  const auto keep = [&](int32_t token) { kept.emplace_back(token, logits[static_cast<size_t>(token)]); };
  std::for_each(also.begin(), also.end(), keep);
  if (bits_.empty()) {
    std::for_each(list_.begin(), list_.end(), keep);
    std::fill(logits.begin(), logits.end(), kBannedLogit);
  } else {
    ApplyBits(bits_, logits);
  }
  for (const auto& [token, logit] : kept) logits[static_cast<size_t>(token)] = logit;
}

}  // namespace inferd::constraint
