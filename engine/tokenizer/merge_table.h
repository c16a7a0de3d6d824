// The merges of a byte-pair vocabulary: which two tokens join, to which third, and in which order.
//
//   ASSIGN_OR_RETURN(MergeTable merges, MergeTable::Create({"h e", "he l"}, vocabulary));
//   Join join = merges.Find(h, e);   // {rank 0, id of "he"}
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "engine/tokenizer/pair_merger.h"
#include "engine/tokenizer/vocabulary.h"

namespace inferd::tokenizer {

class MergeTable {
 public:
  // Each merge is "LEFT RIGHT"; its index is its rank; of equal ones the first counts.
  // INVALID_ARGUMENT if left, right or both together are no token.
  static absl::StatusOr<MergeTable> Create(std::span<const std::string_view> merges, const Vocabulary& vocabulary);

  Join Find(int32_t left, int32_t right) const { return slots_[Locate(KeyOf(left, right))].join; }

 private:
  // Merges that are looked up together.
  struct Batch {
    static constexpr size_t kSize = 32;
    size_t first_rank, size;
    std::string wholes;                                 // left and right of all merges without the spaces
    std::array<std::string_view, 3 * kSize> spellings;  // left, right and whole of each merge
    std::array<int32_t, 3 * kSize> ids;
  };
  static absl::Status SplitMerges(std::span<const std::string_view> merges, Batch& batch);
  absl::Status AddMerges(std::span<const std::string_view> merges, const Batch& batch);

  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Join join;
  };

  static uint64_t KeyOf(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t Home(uint64_t key) const { return absl::HashOf(key) & (slots_.size() - 1); }
  size_t Locate(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = Home(key);
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;  // a power of two, at most three quarters full
};

}  // namespace inferd::tokenizer
