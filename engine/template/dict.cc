#include "engine/template/dict.h"

#include <algorithm>
#include <string>

#include "absl/hash/hash.h"
#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

// The place of the key with this hash for which equal(key) holds; size() if there is none.
template <typename Equal>
absl::StatusOr<size_t> Dict::IndexOf(size_t hash, Equal equal) const {
  if (entries_.size() < kIndexedSize) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (hashes_[i] != hash) continue;
      ASSIGN_OR_RETURN(const bool same, equal(entries_[i].first));
      if (same) return i;
    }
    return entries_.size();
  }
  const auto [begin, end] = indexed_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    ASSIGN_OR_RETURN(const bool same, equal(entries_[candidate->second].first));
    if (same) return candidate->second;
  }
  return entries_.size();
}

void Dict::Append(size_t hash, Value key, Value value) {
  depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
  entries_.emplace_back(std::move(key), std::move(value));
  hashes_.push_back(hash);
  if (entries_.size() == kIndexedSize) {
    for (uint32_t i = 0; i < kIndexedSize; ++i) indexed_.emplace(hashes_[i], i);
  } else if (entries_.size() > kIndexedSize) {
    indexed_.emplace(hash, static_cast<uint32_t>(entries_.size() - 1));
  }
}

absl::Status Dict::Set(Heap& heap, Value key, Value value) {
  ASSIGN_OR_RETURN(const size_t hash, HashOf(heap, key));
  ASSIGN_OR_RETURN(const size_t place, IndexOf(hash, [&](const Value& other) { return AreEqual(heap, other, key); }));
  if (place == entries_.size()) {
    Append(hash, std::move(key), std::move(value));
  } else {
    depth_ = std::max(depth_, value.depth() + 1);
    entries_[place].second = std::move(value);
  }
  return absl::OkStatus();
}

void Dict::SetNew(Value string_key, Value value) {
  const size_t hash = absl::HashOf(std::string_view(string_key.bytes()));
  Append(hash, std::move(string_key), std::move(value));
}

absl::StatusOr<const Value*> Dict::Find(Heap& heap, const Value& key) const {
  ASSIGN_OR_RETURN(const size_t hash, HashOf(heap, key));
  ASSIGN_OR_RETURN(const size_t place, IndexOf(hash, [&](const Value& other) { return AreEqual(heap, other, key); }));
  return place == entries_.size() ? nullptr : &entries_[place].second;
}

const Value* Dict::Find(std::string_view key) const {
  const auto equal = [key](const Value& other) -> absl::StatusOr<bool> {
    return other.is_string() && other.bytes() == key;
  };
  const size_t place = IndexOf(absl::HashOf(key), equal).value_or(entries_.size());
  return place == entries_.size() ? nullptr : &entries_[place].second;
}

void Dict::CountMemory(Heap& heap) { charge_ = std::make_unique<Charge>(heap, sizeof(Dict) + memory_bytes()); }

}  // namespace inferd::chat_template
