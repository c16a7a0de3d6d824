// Which tokens may come next: a bit for each, or where few may, their list.
//
//   TokenMask mask = TokenMask::Of(bits, vocabulary_size);
//   mask.Apply(logits);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace inferd::constraint {

class TokenMask {
 public:
  // bits: [(size + 63) / 64], bit t % 64 of word t / 64 for token t.
  static TokenMask Of(std::span<const uint64_t> bits, int32_t size);

  bool Has(int32_t token) const;
  bool empty() const { return count_ == 0; }
  int64_t count() const { return count_; }
  // The only token that may come; -1 if there are more, or none.
  int32_t only() const { return count_ == 1 ? list_[0] : -1; }
  void AddTo(std::span<uint64_t> bits) const;
  // Bans the others, but for `also` where they may come too. logits [size] f32.
  void Apply(std::span<const int32_t> also, std::span<float> logits) const;
  size_t memory_bytes() const { return bits_.size() * 8 + list_.size() * 4 + sizeof(*this); }

 private:
  std::vector<uint64_t> bits_;  // empty if list_ says it
  std::vector<int32_t> list_;   // ascending
  int64_t count_ = 0;
};

}  // namespace inferd::constraint
