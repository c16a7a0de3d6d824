// A set of byte strings that tells which of them begin at a place of a text.
//
//   PrefixSet set({{"<|a|>", 7}, {"<|ab|>", 8}});
//   set.ForEachPrefix(text, [&](int32_t id, size_t bytes) { ... });   // shortest first
//
// A sorted array walked by binary search: 24 bytes a string, no nodes. The strings must outlive the set.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace inferd::tokenizer {

class PrefixSet {
 public:
  struct Member {
    std::string_view bytes;  // not empty
    int32_t id;
  };

  PrefixSet() = default;
  explicit PrefixSet(std::vector<Member> members) : members_(std::move(members)) {
    std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.bytes < b.bytes; });
    for (const Member& member : members_) ++first_[static_cast<uint8_t>(member.bytes[0]) + 1];
    for (int byte = 0; byte < 256; ++byte) first_[byte + 1] += first_[byte];
  }

  bool empty() const { return members_.empty(); }

  // Whether any member begins with this byte.
  bool MayBegin(char byte) const {
    const uint8_t index = static_cast<uint8_t>(byte);
    return first_[index] != first_[index + 1];
  }

  template <typename Visit>
  void ForEachPrefix(std::string_view text, const Visit& visit) const {
    if (text.empty()) return;
    const uint8_t lead = static_cast<uint8_t>(text[0]);
    auto low = members_.begin() + first_[lead], high = members_.begin() + first_[lead + 1];
    for (size_t depth = 1; low != high; ++depth) {
      if (low->bytes.size() == depth) {
        visit(low->id, depth);
        ++low;
      }
      if (depth == text.size()) return;
      const uint8_t next = static_cast<uint8_t>(text[depth]);
      const auto byte = [depth](const Member& member) { return static_cast<uint8_t>(member.bytes[depth]); };
      low = std::partition_point(low, high, [&](const Member& member) { return byte(member) < next; });
      high = std::partition_point(low, high, [&](const Member& member) { return byte(member) == next; });
    }
  }

 private:
  std::vector<Member> members_;        // sorted as unsigned bytes
  std::array<uint32_t, 257> first_{};  // where members that begin with a byte begin
};

}  // namespace inferd::tokenizer
