// From spelling to id: one open-addressing table of 8 bytes a slot over spellings that live elsewhere.
//
//   TokenIndex index(tokens);
//   if (std::optional<int32_t> twin = index.Insert(7)) ...   // token *twin has the same spelling as token 7
//   int32_t id = index.Find("hello");                        // -1: none
//
// The spellings must outlive the index. Hashes are seeded, so that no file can choose its collisions.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/hash/hash.h"

namespace inferd::tokenizer {

class TokenIndex {
 public:
  TokenIndex() = default;
  explicit TokenIndex(std::span<const std::string_view> spellings)
      : spellings_(spellings), slots_(std::bit_ceil(spellings.size() * 3 / 2 + 1)) {}

  // The id that has the spelling of `id` already, if one has; the index then stays as it was.
  std::optional<int32_t> Insert(int32_t id) {
    const size_t hash = absl::HashOf(spellings_[id]);
    Slot& slot = slots_[Locate(spellings_[id], hash)];
    if (slot.id >= 0) return slot.id;
    slot = {TagOf(hash), id};
    return std::nullopt;
  }

  int32_t Find(std::string_view spelling) const {
    return slots_.empty() ? -1 : slots_[Locate(spelling, absl::HashOf(spelling))].id;
  }

 private:
  struct Slot {
    uint32_t tag = 0;  // upper half of the hash: most other spellings are told apart without a look at them
    int32_t id = -1;
  };

  static uint32_t TagOf(size_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // The slot that holds the spelling or the empty one where it belongs.
  size_t Locate(std::string_view spelling, size_t hash) const {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.id < 0 || (slot.tag == TagOf(hash) && spellings_[slot.id] == spelling)) return at;
    }
  }

  std::span<const std::string_view> spellings_;
  std::vector<Slot> slots_;  // a power of two, at most two thirds full
};

}  // namespace inferd::tokenizer
