// From spelling to id: one open-addressing table of 8 bytes a slot over spellings that live elsewhere.
//
//   TokenIndex index(tokens);
//   if (std::optional<int32_t> twin = index.Insert(7)) ...   // token *twin has the same spelling as token 7
//   int32_t id = index.Find("hello");                        // -1: none
//   index.FindAll({"he", "llo"}, ids);                       // several at once, several times as fast
//
// The spellings must outlive the index. Hashes are seeded, so that no file can choose its collisions.
#pragma once

#include <algorithm>
#include <array>
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

  // ids[i] = Find(wanted[i]). Memory is asked for all of a batch before it is needed: look-ups wait for little else.
  void FindAll(std::span<const std::string_view> wanted, std::span<int32_t> ids) const {
    constexpr size_t kBatch = 32;
    std::array<size_t, kBatch> hashes;
    for (size_t base = 0; base < wanted.size(); base += kBatch) {
      const size_t count = std::min(kBatch, wanted.size() - base);
      const auto slot = [&](size_t i) -> const Slot& { return slots_[hashes[i] & (slots_.size() - 1)]; };
      for (size_t i = 0; i < count; ++i) {
        hashes[i] = absl::HashOf(wanted[base + i]);
        __builtin_prefetch(&slot(i));
      }
      for (size_t i = 0; i < count; ++i) {
        if (slot(i).id >= 0) __builtin_prefetch(&spellings_[slot(i).id]);
      }
      for (size_t i = 0; i < count; ++i) {
        if (slot(i).id >= 0) __builtin_prefetch(spellings_[slot(i).id].data());
      }
      for (size_t i = 0; i < count; ++i) ids[base + i] = slots_[Locate(wanted[base + i], hashes[i])].id;
    }
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
